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

UNIT_SUITE(check)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, program_refuses_a_wrong_step_before_any_runs);
    tcase_add_test(tc, program_writes_to_no_constant);
    tcase_add_test(tc, program_checks_the_inputs_of_programs);
}
