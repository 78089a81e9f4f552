/* test_expression.c -- expressions of sizes that are found from numbers. */
#include "../unit.h"
#include "autograd/symbol.h"

enum { N = 17 };
static int64_t sizes[N * 2];

static void fill(void)
{
    for (int k = 0; k < N; k++) {
        sizes[2 * k] = 5 + k;
        sizes[2 * k + 1] = 24 + 2 * k % N;
    }
}

/* The expression of numbers[k] = s0, s1 -> the expression given here. */
static const struct {
    dpi_expr from;
    const char *text;
} cases[] = {
    {{.c = 7}, "7"},
    {{.a = 1, .first = 1}, "s0"},
    {{.a = 1, .first = 2}, "s1"},
    {{.a = 6, .first = 1}, "6*s0"},
    {{.a = 1, .first = 1, .c = -2}, "s0-2"},
    {{.a = 3, .first = 2, .c = 4}, "3*s1+4"},
    {{.a = 1, .first = 3}, "s0*s1"},
    {{.a = 12, .first = 3, .c = 1}, "12*s0*s1+1"},
    {{.a = 1, .first = 1, .b = 1, .second = 2}, "s0+s1"},
    {{.a = 2, .first = 1, .b = -1, .second = 2, .c = 3}, "2*s0-1*s1+3"},
    {{.a = 1, .first = 1, .c = 1, .d = 2, .outer = DPI_EXPR_FLOORDIV}, "((s0+1)//2)"},
    {{.a = 1, .first = 2, .d = 3, .outer = DPI_EXPR_FLOORDIV}, "((s1)//3)"},
    {{.a = 1, .first = 1, .c = 1, .d = 2, .outer = DPI_EXPR_FLOORDIV, .times = 20},
     "20*((s0+1)//2)"},
    {{.a = 1, .first = 1, .d = 4, .outer = DPI_EXPR_MOD}, "((s0)%4)"},
    {{.a = 1, .first = 1, .d = 9, .outer = DPI_EXPR_MIN}, "min(s0,9)"},
    {{.a = 1, .first = 1, .d = 9, .outer = DPI_EXPR_MAX}, "max(s0,9)"},
};

START_TEST(an_expression_is_found)
{
    const dpi_probes p = {sizes, N, 2};
    int64_t values[N];
    char text[DPI_EXPR_TEXT];
    dpi_expr e;

    fill();
    for (int k = 0; k < N; k++)
        values[k] = dpi_expr_eval(&cases[_i].from, &sizes[2 * k]);
    ck_assert_msg(dpi_expr_solve(&p, values, &e), "none found, want %s", cases[_i].text);
    ck_assert_str_eq(dpi_expr_text(&e, text), cases[_i].text);
    for (int64_t s = 0; s < 200; s++) {
        const int64_t other[2] = {s, 3 * s + 1};
        ck_assert_int_eq(dpi_expr_eval(&e, other), dpi_expr_eval(&cases[_i].from, other));
    }
}
END_TEST

START_TEST(no_expression_is_found)
{
    const dpi_probes p = {sizes, N, 2};
    int64_t values[N];
    dpi_expr e;

    fill();
    for (int k = 0; k < N; k++)
        values[k] = sizes[2 * k] * sizes[2 * k] - (k == 3);
    ck_assert(!dpi_expr_solve(&p, values, &e));
}
END_TEST

UNIT_SUITE(expression)
{
    tcase_add_loop_test(tc, an_expression_is_found, 0, (int)DPI_COUNT(cases));
    tcase_add_test(tc, no_expression_is_found);
}
