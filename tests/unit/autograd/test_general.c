/* test_general.c -- programs of captures with several sizes are compared. */
#include "../program/programs.h"
#include "autograd/symbol.h"

enum { N = 17 };
static int64_t sizes[N];
static dp_program *programs[N];
static const dpi_probes probes = {sizes, N, 1};

/* Make a program for each size s0 from `format`, which prints s0, and 2 * s0 + 1. */
static void make(const char *format)
{
    char text[300];

    for (int k = 0; k < N; k++) {
        sizes[k] = 5 + k;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof(text), format, (int)sizes[k], 2 * (int)sizes[k] + 1);
#pragma GCC diagnostic pop
        programs[k] = read_program(text);
    }
}

static void drop(void)
{
    for (int k = 0; k < N; k++)
        programs[k] = dp_program_unref(programs[k]);
}

START_TEST(numbers_that_differ_are_found)
{
    dpi_general g = {0};
    char text[DPI_EXPR_TEXT];

    make("in x Tensor; a = t::shaped(x, [%d, 3, %d]); out y a\n");
    ck_assert_int_eq(dpi_general_find(ctx, programs, &probes, &g), 0);
    ck_assert_uint_eq(g.n, 2);
    ck_assert_uint_eq(g.varying[0].item, 0);
    ck_assert_str_eq(dpi_expr_text(&g.varying[0].expr, text), "s0");
    ck_assert_uint_eq(g.varying[1].item, 2);
    ck_assert_str_eq(dpi_expr_text(&g.varying[1].expr, text), "2*s0+1");
    const int64_t good = 9, bad = 10;
    ck_assert_int_eq(dpi_general_check(ctx, programs[0], programs[4], &g, &good), 0);
    expect(dpi_general_check(ctx, programs[0], programs[4], &g, &bad), DP_EVALUE,
           "step 0, t::shaped: argument 'sizes' is 9, where other sizes make one expect 10");
    drop();
}
END_TEST

START_TEST(floats_that_are_quotients_are_found)
{
    dpi_general g = {0};
    char text[300];

    for (int k = 0; k < N; k++) {
        sizes[k] = 5 + k;
        snprintf(text, sizeof(text), "in x Tensor; a = t::scaled(x, %.17g); out y a\n",
                 1.0 / (double)(3 * sizes[k]));
        programs[k] = read_program(text);
    }
    ck_assert_int_eq(dpi_general_find(ctx, programs, &probes, &g), 0);
    ck_assert_uint_eq(g.n, 1);
    ck_assert_uint_eq(g.varying[0].as, DPI_AS_RECIPROCAL);
    ck_assert_str_eq(dpi_expr_text(&g.varying[0].expr, text), "3*s0");
    drop();
}
END_TEST

START_TEST(programs_that_differ_otherwise)
{
    dpi_general g = {0};

    make("in x Tensor; a = t::shaped(x, [%d]); out y a\n");
    dp_program_unref(programs[3]);
    programs[3] = read_program("in x Tensor; a = t::fresh(x); out y a\n");
    expect(dpi_general_find(ctx, programs, &probes, &g), DP_EVALUE,
           "step 0 depends on the sizes: it is t::shaped for some sizes and t::fresh for others");
    dp_program_unref(programs[3]);
    programs[3] = read_program("in x Tensor; a = t::shaped(x, [8]); b = t::fresh(a); out y a\n");
    expect(dpi_general_find(ctx, programs, &probes, &g), DP_EVALUE, "1 steps for some, and 2");
    dp_program_unref(programs[3]);
    programs[3] = read_program("in x Tensor; a = t::shaped(x, [8, 8]); out y a\n");
    expect(dpi_general_find(ctx, programs, &probes, &g), DP_EVALUE,
           "step 0, t::shaped: argument 'sizes' depends on the sizes");
    dp_program_unref(programs[3]);
    programs[3] = read_program("in x Tensor; a = t::shaped(x, [5]); out y a\n");
    expect(dpi_general_find(ctx, programs, &probes, &g), DP_EVALUE,
           "argument 'sizes' is 5 where s0=5, and 6 where s0=6: no expression");
    drop();
}
END_TEST

UNIT_SUITE(general)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, numbers_that_differ_are_found);
    tcase_add_test(tc, floats_that_are_quotients_are_found);
    tcase_add_test(tc, programs_that_differ_otherwise);
}
