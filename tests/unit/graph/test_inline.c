/* test_inline.c -- programs that run programs, and the same without inner programs. */
#include "passes_fixture.h"

/* Return a program with inputs c, x and y that runs `inner` on them, twice, the second time if c is
 * true; `inner` is released. */
static dp_program *around(dp_program *inner, uint32_t flags)
{
    static const char *const names[] = {"c", "x", "y"};
    static const char *const types[] = {"int", "Tensor", "Tensor"};
    dp_builder *b;
    dp_program *p = NULL;
    dp_ref_kwarg args[3];
    dp_ref out, rets[2];
    int rc = dp_builder_new(ctx, &b);

    for (int i = 0; i < 3 && rc == 0; i++) {
        args[i].name = names[i];
        rc = dp_builder_input(b, names[i], types[i], &args[i].value);
    }
    dp_ref c = args[0].value;
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_SUB,
                 .program = inner,
                 .n_rets = 2,
                 .kwargs = args,
                 .n_kwargs = 3,
                 .origin = 5,
                 .flags = flags};
    if (rc == 0)
        rc = dp_builder_add(b, &s, &rets[0], NULL);
    args[1].value = rets[0];
    s.when = &c;
    if (rc == 0)
        rc = dp_builder_add(b, &s, &out, NULL);
    for (uint32_t i = 0; i < 2 && rc == 0; i++) {
        rc = dp_builder_output(b, NULL, rets[0] + i);
        if (rc == 0)
            rc = dp_builder_output(b, NULL, out + i);
    }
    if (rc == 0)
        rc = dp_builder_finish(b, &p);
    ck_assert_msg(rc == 0, "%s", dp_ctx_error(ctx)->message);
    dp_builder_free(b);
    dp_program_unref(inner);
    return p;
}

static const char *const inners[] = {
    "in c int\nin x Tensor\nin y Tensor\na = aten::add(x, y)\nb = when c: aten::neg(a)\nout a "
    "a\nout b b",
    "in c int\nin x Tensor\nin y Tensor\na = aten::add_(x, y)\nout a a\nout y y",
    "in c int\nin x Tensor\nin y Tensor\na = aten::t(x)\nout a x\nout b 7",
};

START_TEST(steps_replace_programs)
{
    for (size_t i = 0; i < DPI_COUNT(inners); i++)
        for (int deep = 0; deep < 2; deep++) {
            dp_program *p = around(read_program(inners[i]), 0), *q;
            q = pass(dp_program_ref(p), "inline");
            ck_assert_uint_eq(q->depth, 1);
            check_same(p, q);
            for (uint32_t k = 0; k < q->n_steps; k++)
                ck_assert_uint_eq(q->steps[k].origin, 5);
            dp_program_unref(q);
            q = pass(dp_program_ref(p), "functionalize");
            check_same(p, q);
            dp_program_unref(q);
            dp_program_unref(p);
        }
}
END_TEST

START_TEST(a_constant_that_leaves_an_inner_program_is_a_copy)
{
    dp_tensor *t = tensor_of(3);
    dp_value v = dp_tensor_value(t);
    dp_builder *b;
    dp_program *inner = NULL;
    dp_ref c, x, y, k;

    ck_assert_int_eq(dp_builder_new(ctx, &b), 0);
    ck_assert_int_eq(dp_builder_input(b, "c", "int", &c), 0);
    ck_assert_int_eq(dp_builder_input(b, "x", "Tensor", &x), 0);
    ck_assert_int_eq(dp_builder_input(b, "y", "Tensor", &y), 0);
    ck_assert_int_eq(dp_builder_constant(b, "k", &v, &k), 0);
    ck_assert_int_eq(dp_builder_output(b, "k", k), 0);
    ck_assert_int_eq(dp_builder_output(b, "x", x), 0);
    ck_assert_int_eq(dp_builder_finish(b, &inner), 0);
    dp_builder_free(b);
    dp_program *p = around(inner, 0), *q = pass(dp_program_ref(p), "inline");
    ck_assert_uint_eq(count(q, "aten::clone"), 2);
    check_same(p, q);
    dp_program_unref(p);
    dp_program_unref(q);
    dp_tensor_unref(t);
}
END_TEST

START_TEST(what_runs_again_in_backward_stays)
{
    dp_program *p = around(read_program(inners[0]), DP_STEP_FLAG_RECOMPUTE), *q, *out = NULL;

    q = pass(dp_program_ref(p), "inline");
    ck_assert_uint_eq(q->depth, 2);
    check_same(p, q);
    dp_program_unref(p);
    dp_program_unref(q);
    p = around(read_program(inners[1]), DP_STEP_FLAG_RECOMPUTE);
    ck_assert_int_eq(dp_program_functionalize(ctx, p, &out), DP_ENOTIMPL);
    ck_assert_str_eq(
        dp_ctx_error(ctx)->message,
        "step 5: a step cannot be made functional: it runs a program that writes to its "
        "input 'x' and cannot be inlined");
    dp_program_unref(p);
    p = around(read_program("in c int\nin x Tensor\nin y Tensor\na = aten::add(x, y)\n"
                            "v = aten::select(a, 0, 1)\nb = aten::relu_(v)\n"
                            "d = aten::dropout_(a, 0.5, true)\ne = aten::abs(a)\nout a a\nout e e"),
               DP_STEP_FLAG_RECOMPUTE);
    q = pass(dp_program_ref(p), "functionalize");
    ck_assert_uint_eq(count(q->subs[0], "aten::relu"), 1);
    ck_assert_uint_eq(count(q->subs[1], "aten::select_scatter"), 1);
    check_same(p, q);
    dp_program_unref(p);
    dp_program_unref(q);
}
END_TEST

UNIT_SUITE(inline)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, steps_replace_programs);
    tcase_add_test(tc, a_constant_that_leaves_an_inner_program_is_a_copy);
    tcase_add_test(tc, what_runs_again_in_backward_stays);
}
