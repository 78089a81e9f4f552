/* test_general_make.c -- a captured program is made one for any sizes. */
#include "../program/programs.h"
#include "autograd/symbol.h"

static const dp_input_place place = {0, -1, 0};
static const int64_t five = 5;
static const dpi_dynamic dynamic = {&place, &five, 1};

/* Make the program of `text`, in which number 0 is `expr`: *out. */
static int general(const dp_program *p, dpi_expr expr, uint32_t as, dp_program **out)
{
    const uint32_t symbol = 0;
    const int64_t least = 1;
    dpi_varying varying = {.arg = 1, .as = as, .expr = expr};
    const dpi_general g = {&varying, 1, 1};

    return dpi_general_make(ctx, p, &g, &dynamic, &symbol, &least, out);
}

static const struct {
    const char *text, *want;
    dpi_expr expr;
    uint32_t as;
} cases[] = {
    {"in x Tensor; a = t::shaped(x, [5, 3]); out y a\n", "[s0, 3]", {.a = 1, .first = 1}, 0},
    {"in x Tensor; a = t::shaped(x, [11, 3]); out y a\n",
     "[2*s0+1, 3]",
     {.a = 2, .first = 1, .c = 1},
     0},
    {"in x Tensor; a = t::shaped(x, [3, 3]); out y a\n",
     "[((s0+1)//2), 3]",
     {.a = 1, .first = 1, .c = 1, .d = 2, .outer = DPI_EXPR_FLOORDIV},
     0},
    {"in x Tensor; a = t::scaled(x, 0.2); out y a\n",
     "scalar div(1, s0)",
     {.a = 1, .first = 1},
     DPI_AS_RECIPROCAL},
};

START_TEST(steps_compute_the_numbers)
{
    dp_program *p = read_program(cases[_i].text), *q = NULL;
    dp_arena *a = dp_arena_new();
    dp_value out;
    dp_run r;

    ck_assert_int_eq(general(p, cases[_i].expr, cases[_i].as, &q), 0);
    const char *text = dp_program_text(q, a);
    ck_assert_msg(strstr(text, cases[_i].want) != NULL, "no '%s' in\n%s", cases[_i].want, text);
    ck_assert_msg(strstr(text, "guard x.size(0) >= 1") != NULL, "no guard in\n%s", text);
    int rc = run1(q, &out, &r);
    ck_assert_msg(rc == 0, "%s", dp_ctx_error(ctx)->message);
    dp_values_release(&out, 1);
    dp_arena_free(a);
    dp_program_unref(p);
    dp_program_unref(q);
}
END_TEST

START_TEST(making_at_the_nth_allocation_that_fails)
{
    dp_program *p = read_program(cases[1].text), *q = NULL;
    int rc = DP_ERESOURCE;

    for (uint64_t n = 1; rc == DP_ERESOURCE; n++) {
        dp_fault_arm(n);
        rc = general(p, cases[1].expr, 0, &q);
        dp_fault_arm(0);
        ck_assert_uint_lt(n, 200);
    }
    ck_assert_msg(rc == 0, "%s", dp_ctx_error(ctx)->message);
    dp_program_unref(p);
    dp_program_unref(q);
}
END_TEST

UNIT_SUITE(general_make)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, steps_compute_the_numbers, 0, (int)DPI_COUNT(cases));
    tcase_add_test(tc, making_at_the_nth_allocation_that_fails);
}
