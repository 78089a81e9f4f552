/* test_common.c -- one step serves for several that do the same. */
#include "cases.h"

static const pass_case cases[] = {
    {CASES_IN "a = aten::neg(x)\nb = aten::neg(x)\nz = aten::add(a, b)\nout z z", 2},
    {CASES_IN "a = aten::neg(x)\nb = aten::neg(x)\nout a a\nout b b", 2}, /* two outputs */
    {CASES_IN "a = aten::neg(x)\nb = aten::neg(x)\nz = aten::abs(a)\nout b b\nout z z", 2},
    {CASES_IN "a = aten::add(x, 2)\nb = aten::add(x, 2)\nz = aten::add(a, b)\nout z z", 2},
    {CASES_IN "a = aten::add(x, 2)\nb = aten::add(x, 2.0)\nz = aten::add(a, b)\nout z z", 3},
    {CASES_IN
     "a = aten::neg(x)\nw = aten::add_(x, 1)\nb = aten::neg(x)\nz = aten::add(a, b)\nout z z",
     4},
    {CASES_IN
     "a = aten::neg(x)\nb = aten::neg(x)\nw = aten::add_(a, 1)\nz = aten::add(a, b)\nout z z",
     4},
    {CASES_IN
     "a = aten::bernoulli(x, 0.5)\nb = aten::bernoulli(x, 0.5)\nz = aten::add(a, b)\nout z z",
     3},
    {CASES_IN "a = when c: aten::neg(x)\nb = when d: aten::neg(x)\ne = when c: aten::neg(x)\n"
              "l = [a, b, e]\nout l l",
     4},
    {CASES_IN "a = aten::neg(x)\nb = aten::neg(x)\ne = aten::abs(a)\nf = aten::abs(b)\n"
              "s = get size(e, 0)\nt = get size(f, 0)\nu = scalar add(s, t)\nout u u",
     4},
};

START_TEST(equal_steps_are_one)
{
    static const pass_case transposed[] = {
        {CASES_IN "a = aten::t(x)\nb = aten::t(x)\nz = aten::add(a, b)\nout z z", 2}};

    check_cases("common", cases, DPI_COUNT(cases));
    check_cases("common", transposed, 1);
}
END_TEST

/* The step that stays has the origins of all. */
START_TEST(origins_are_those_of_all)
{
    dp_program *p =
        read_program("in x Tensor\na = aten::neg(x)\nb = aten::neg(x)\nc = aten::neg(x)\n"
                     "l = [a, b, c]\nd = aten::cat(l)\nout d d");
    dp_program *q = pass(p, "common");
    dp_step_info s = {.size = sizeof(s)};

    dp_program_step(q, 0, &s);
    ck_assert_msg(s.n_origins == 3 && s.origins[0] == 2 && s.origins[1] == 3 && s.origins[2] == 4,
                  "%s", text_of(q));
    dp_program_unref(q);
}
END_TEST

UNIT_SUITE(common)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, equal_steps_are_one);
    tcase_add_test(tc, origins_are_those_of_all);
}
