/* test_check.c -- steps that are refused. */
#include "programs.h"

START_TEST(program_refuses_a_wrong_step_before_any_runs)
{
    dp_ref in, y, ints, args[3];
    dp_builder *b = begin(&in);
    dp_value two = dp_int(2), text = {DP_TAG_STR, 1, {.s = "a"}};
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_CALL,
                 .name = "t::fresh",
                 .args = &in,
                 .n_args = 1,
                 .n_rets = 2,
                 .origin = 7};

    ck_assert_int_eq(dp_builder_constant(b, NULL, &two, &ints), 0);
    ck_assert_int_eq(dp_builder_constant(b, NULL, &text, &y), 0);
    for (uint32_t i = 0; i < 900; i++)
        ck_assert_int_eq(add(b, i, "t::fresh", &in, 1, NULL), 0);
    expect(add(b, 900, "t::frech", &in, 1, NULL), DP_ENOTFOUND, "step 900: no operator 't::frech'");
    args[0] = in, args[1] = y;
    expect(add(b, 901, "t::scaled", args, 2, NULL), DP_ETYPE,
           "step 901: t::scaled: argument 'by' (position 2) must be float, not str 'a'");
    args[0] = ints;
    expect(add(b, 902, "t::join", args, 1, NULL), DP_ETYPE, "must be Tensor[], not int");
    expect(add(b, 903, "t::fresh", args, 0, NULL), DP_ETYPE, "step 903: t::fresh: missing 1");
    args[0] = args[1] = in;
    expect(add(b, 904, "t::fresh", args, 2, NULL), DP_ETYPE, "takes 1 positional");
    expect(dp_builder_add(b, &s, NULL, NULL), DP_EVALUE,
           "step 7: as names 2 returns but t::fresh has 1");
    s.kwargs = (dp_ref_kwarg[]){{"nope", in}}, s.n_kwargs = 1;
    expect(dp_builder_add(b, &s, NULL, NULL), DP_ETYPE, "no argument named 'nope'");
    args[0] = DP_ERUNTIME;
    expect(add(b, 905, "t::fresh", args, 1, NULL), DP_EVALUE, "nothing made so far");
    s = (dp_step){.size = sizeof(s), .kind = DP_STEP_WHILE, .origin = 8};
    expect(dp_builder_add(b, &s, NULL, NULL), DP_ENOTIMPL, "step 8: step kind 'while' is reserved");
    s.kind = DP_STEP_COND;
    expect(dp_builder_add(b, &s, NULL, NULL), DP_ENOTIMPL, "'cond'");
    s = (dp_step){.size = sizeof(s),
                  .kind = DP_STEP_GET,
                  .name = "size",
                  .n_rets = -1,
                  .args = &in,
                  .n_args = 1};
    expect(dp_builder_add(b, &s, NULL, NULL), DP_ETYPE, "get 'size' takes 2 arguments");
    s.name = "shapes";
    expect(dp_builder_add(b, &s, NULL, NULL), DP_ENOTFOUND, "'shapes'; nearest: ");
    s.name = "len";
    expect(dp_builder_add(b, &s, NULL, NULL), DP_ETYPE, "of a list, which 'x' is not");
    s = (dp_step){.size = sizeof(s), .kind = DP_STEP_ITEM, .args = &in, .n_args = 1, .n_rets = 1};
    expect(dp_builder_add(b, &s, NULL, NULL), DP_ETYPE, "index 0 of 'x', which is no list");
    ck_assert_int_eq(runs, 0);
    dp_builder_free(b);
}
END_TEST

START_TEST(program_writes_to_no_constant)
{
    dp_ref in, k, list;
    dp_builder *b = begin(&in);
    dp_value v = dp_tensor_value(x);

    ck_assert_int_eq(dp_builder_constant(b, "k", &v, &k), 0);
    expect(add(b, 0, "t::same_", &k, 1, NULL), DP_EVALUE,
           "t::same_ writes to its argument 'x', which is a constant");
    dp_step s = {.size = sizeof(s), .kind = DP_STEP_LIST, .args = &k, .n_args = 1, .n_rets = 1};
    ck_assert_int_eq(dp_builder_add(b, &s, &list, NULL), 0);
    s = (dp_step){.size = sizeof(s), .kind = DP_STEP_ITEM, .args = &list, .n_args = 1, .n_rets = 1};
    ck_assert_int_eq(dp_builder_add(b, &s, &k, NULL), 0);
    expect(add(b, 1, "t::same_", &k, 1, NULL), DP_EVALUE, "which is a constant");
    dp_program *writes = chain("t::same_", 1);
    s = (dp_step){.size = sizeof(s),
                  .kind = DP_STEP_SUB,
                  .program = writes,
                  .n_rets = 1,
                  .kwargs = (dp_ref_kwarg[]){{"x", k}},
                  .n_kwargs = 1};
    expect(dp_builder_add(b, &s, NULL, NULL), DP_EVALUE, "its input 'x', which is a constant");
    dp_program_unref(writes);
    dp_builder_free(b);
}
END_TEST

START_TEST(program_checks_the_inputs_of_programs)
{
    dp_ref t, k;
    dp_builder *b = begin(&t);
    dp_program *p = chain("t::fresh", 1);
    dp_value two = {DP_TAG_STR, 1, {.s = "a"}};
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_SUB,
                 .program = p,
                 .n_rets = 1,
                 .kwargs = (dp_ref_kwarg[]){{"z", t}},
                 .n_kwargs = 1};

    expect(dp_builder_add(b, &s, NULL, NULL), DP_ENOTFOUND, "no input 'z'");
    s.n_kwargs = 0;
    expect(dp_builder_add(b, &s, NULL, NULL), DP_ETYPE, "missing input 'x'");
    ck_assert_int_eq(dp_builder_constant(b, NULL, &two, &k), 0);
    expect(add_sub(b, p, k, NULL), DP_ETYPE, "input 'x' must be Tensor, not str 'a'");
    dp_program_unref(p);
    dp_builder_free(b);
}
END_TEST

static uint32_t flags_of(const dp_program *p, uint32_t step)
{
    dp_step_info s = {.size = sizeof(s)};

    dp_program_step(p, step, &s);
    return s.flags;
}

START_TEST(steps_have_the_flags_of_their_operators)
{
    static const struct {
        const char *op;
        size_t n_args;
        uint32_t flags;
    } steps[] = {
        {"t::fresh", 1, 0},
        {"t::draws", 1, DP_STEP_FLAG_RANDOM},
        {"t::same_", 1, DP_STEP_FLAG_EFFECT},
        {"t::quiet", 1, DP_STEP_FLAG_EFFECT},
        {"t::counts", 2, DP_STEP_FLAG_EFFECT}, /* the tag says so, not the schema */
    };

    for (size_t i = 0; i < DPI_COUNT(steps); i++) {
        dp_ref t;
        dp_builder *b = begin(&t);
        ck_assert_int_eq(add(b, 0, steps[i].op, (dp_ref[]){t, t}, steps[i].n_args, NULL), 0);
        dp_program *p = around(end(b, t), 2);
        ck_assert_ptr_nonnull(p);
        dp_step_info sub = {.size = sizeof(sub)};
        dp_program_step(p, 1, &sub);
        ck_assert_msg(flags_of(sub.program, 0) == steps[i].flags, "%s", steps[i].op);
        ck_assert_msg(sub.flags == steps[i].flags, "a program of %s", steps[i].op);
        dp_program_unref(p);
    }
}
END_TEST

/* The overload depends on the value of the second argument, so any of them may run. */
START_TEST(an_undecided_step_has_the_flags_of_any_overload)
{
    dp_item items[] = {{.size = sizeof(dp_item),
                        .kind = DP_ITEM_DEF,
                        .name = "f.Tensor(Tensor x, Tensor y) -> Tensor",
                        .tags = "nondeterministic_seeded"},
                       REC_DEF("f.Scalar(Tensor x, Scalar y) -> Tensor")};
    dp_block block[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 1, "u", "", items)};
    dp_unit *u = rec_attach(reg, "u", block, 1);
    dp_ref t, any;
    dp_builder *b = begin(&t);

    ck_assert_int_eq(dp_builder_input(b, "any", NULL, &any), 0);
    ck_assert_int_eq(add(b, 0, "u::f", (dp_ref[]){t, any}, 2, NULL), 0);
    ck_assert_int_eq(add(b, 0, "t::over", (dp_ref[]){t, any}, 2, NULL), 0);
    dp_program *p = end(b, t);
    ck_assert_uint_eq(flags_of(p, 0), DP_STEP_FLAG_RANDOM | DP_STEP_FLAG_EFFECT);
    ck_assert_uint_eq(flags_of(p, 1), DP_STEP_FLAG_EFFECT);
    dp_program_unref(p);
    rec_detach(reg, u);
}
END_TEST

UNIT_SUITE(check)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, program_refuses_a_wrong_step_before_any_runs);
    tcase_add_test(tc, program_writes_to_no_constant);
    tcase_add_test(tc, program_checks_the_inputs_of_programs);
    tcase_add_test(tc, steps_have_the_flags_of_their_operators);
    tcase_add_test(tc, an_undecided_step_has_the_flags_of_any_overload);
}
