/* test_fold.c -- steps on constants run once, when the pass runs. */
#include "cases.h"

static const pass_case cases[] = {
    {CASES_IN "n = scalar add(2, 3)\na = aten::mul(x, n)\nout a a", 1},
    {CASES_IN "k = aten::ones([3])\nl = aten::mul(k, 2)\na = aten::add(x, l)\nout a a", 1},
    {CASES_IN "k = aten::ones([3])\nl = [k, k]\nm = l[1]\na = aten::add(x, m)\nout a a", 1},
    {CASES_IN "k = aten::ones([3])\nout k k", 1}, /* it leaves */
    {CASES_IN "k = aten::ones([3])\nw = aten::add_(k, 1)\na = aten::add(x, k)\nout a a", 3},
    {CASES_IN "k = aten::rand([3])\na = aten::add(x, k)\nout a a", 2}, /* random */
    {CASES_IN "k = aten::ones([3])\nm = when c: aten::neg(k)\nl = [m, x]\nout l l", 2},
    {CASES_IN "k = aten::ones([3])\nl = aten::view(k, [2])\na = aten::add(x, l)\nout a a",
     2}, /* fails */
    {CASES_IN "k = aten::ones([5000000])\nl = aten::sum(k)\na = aten::add(x, l)\nout a a",
     3}, /* large */
    {CASES_IN "k = aten::ones([2])\ns = get size(k, 0)\na = aten::mul(x, s)\nout a a", 1},
};

START_TEST(steps_on_constants_are_constants)
{
    check_cases("fold", cases, DPI_COUNT(cases));
}
END_TEST

START_TEST(a_constant_with_a_gradient_stays)
{
    dp_tensor *t = tensor_of(0);
    dp_value v = dp_tensor_value(t);
    dp_builder *b;
    dp_program *p = NULL, *q;
    dp_ref k;

    ck_assert_int_eq(dp_tensor_set_requires_grad(ctx, t, true), 0);
    ck_assert_int_eq(dp_builder_new(ctx, &b), 0);
    ck_assert_int_eq(dp_builder_text(b, "in x Tensor"), 0);
    ck_assert_int_eq(dp_builder_constant(b, "k", &v, &k), 0);
    ck_assert_int_eq(dp_builder_text(b, "a = aten::t(k)\nz = aten::mm(x, a)\nout z z"), 0);
    ck_assert_int_eq(dp_builder_finish(b, &p), 0);
    dp_builder_free(b);
    q = pass(dp_program_ref(p), "fold");
    ck_assert_uint_eq(count(q, NULL), 2);
    dp_program_unref(p);
    dp_program_unref(q);
    dp_tensor_unref(t);
}
END_TEST

UNIT_SUITE(fold)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, steps_on_constants_are_constants);
    tcase_add_test(tc, a_constant_with_a_gradient_stays);
}
