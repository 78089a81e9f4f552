/* test_dead.c -- steps that no output needs are left out. */
#include "cases.h"

static const pass_case cases[] = {
    {CASES_IN "a = aten::neg(x)\nb = aten::abs(x)\nout b b", 1},
    {CASES_IN "a = aten::neg(x)\nb = aten::abs(a)\nout y y", 0},
    {CASES_IN "a = aten::neg(x)\nb = aten::add_(x, 1)\nout y y", 1}, /* an input is written */
    {CASES_IN "a = aten::neg(x)\nb = aten::add_(a, 1)\nout y y", 0}, /* nothing reads a */
    {CASES_IN "a = aten::neg(x)\nv = aten::t(a)\nb = aten::add_(a, 1)\nout v v", 3},
    {CASES_IN "a = aten::neg(x)\nv = aten::abs(a)\nb = aten::add_(a, 1)\nout v v", 2},
    {CASES_IN "a = aten::neg(x)\nl = [a, x]\nb = aten::add_(a, 1)\nout l l", 3},
    {CASES_IN "a = aten::bernoulli(x, 0.5)\nb = aten::bernoulli(y, 0.5)\nout b b", 2}, /* random */
    {CASES_IN "a = aten::neg(x)\nb = when c: aten::abs(x)\nn = get ndim(a)\nout b b", 1},
    {CASES_IN "aten::_assert_tensor_metadata(x, [4, 3])\nout y y", 1},
};

START_TEST(only_needed_steps_stay)
{
    check_cases("dead", cases, DPI_COUNT(cases));
}
END_TEST

UNIT_SUITE(dead)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, only_needed_steps_stay);
}
