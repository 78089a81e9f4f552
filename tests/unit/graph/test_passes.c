/* test_passes.c -- passes by name, on programs of 10,000 steps, and without memory. */
#include "passes_fixture.h"
#include <time.h>

static const char all[] =
    "in c int\nin d int\nin x Tensor\nin y Tensor\nk = aten::ones([3])\nm = aten::mul(k, 2)\n"
    "a = aten::add(x, m)\nb = aten::add(x, m)\nv = aten::select(a, 0, 1)\nw = aten::mul_(v, 3)\n"
    "l = aten::split(y, 2)\ni = l[1]\nj = when c: aten::zero_(i)\nn = [a, "
    "x]\naten::_foreach_add_(n, 1)\n"
    "u = aten::unfold(b, 0, 2, 2)\nt = aten::exp_(u)\no = aten::empty([0])\np = aten::add(x, b, "
    "out=o)\n"
    "r = aten::normal_(y)\nout a a\nout l l\nout p p\nout v v\nout r r";

START_TEST(a_pass_has_a_name)
{
    dp_program *p = read_program(all), *out = NULL;

    for (size_t i = 0; dp_program_pass_name(i) != NULL; i++) {
        dp_program *q = pass(dp_program_ref(p), dp_program_pass_name(i));
        check_same(p, q);
        dp_program_unref(q);
    }
    ck_assert_int_eq(dp_program_pass(ctx, p, "flod", &out), DP_ENOTFOUND);
    ck_assert_msg(strstr(dp_ctx_error(ctx)->message, "no pass is called 'flod'; nearest: 'fold'") !=
                      NULL,
                  "%s", dp_ctx_error(ctx)->message);
    ck_assert_int_eq(dp_program_pass(ctx, p, NULL, &out), DP_EVALUE);
    dp_program_unref(p);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    dp_program *p = read_program(all);

    for (size_t i = 0; dp_program_pass_name(i) != NULL; i++) {
        const char *name = dp_program_pass_name(i);
        dp_program *q = NULL;
        int rc = DP_ERESOURCE;
        uint64_t n = 0;
        dp_program_unref(pass(dp_program_ref(p), name)); /* caches of the context are filled */
        while (rc != 0) {
            dp_fault_arm(++n);
            rc = dp_program_pass(ctx, p, name, &q);
            bool hit = dp_fault_hit();
            dp_fault_arm(0);
            unit_each(rc == 0 || (rc == DP_ERESOURCE && q == NULL), "%s: allocation %llu: %d %s",
                      name, (unsigned long long)n, rc, dp_ctx_error(ctx)->message);
            unit_each(rc == 0 || hit, "%s: %s", name, dp_ctx_error(ctx)->message);
            if (rc == 0 && hit) { /* the allocation was not needed */
                dp_program_unref(q);
                q = NULL;
                rc = DP_ERESOURCE;
            }
            dp_ctx_reset(ctx);
        }
        ck_assert_msg(n > 20, "%s: %llu allocations", name, (unsigned long long)n);
        check_same(p, q);
        dp_program_unref(q);
    }
    dp_program_unref(p);
}
END_TEST

static double milliseconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Return the text of a program of about `n` steps, three of five of which write. */
static char *long_text(int n)
{
    char *text = malloc((size_t)n * 60 + 200), *at = text;

    at += sprintf(at, "in x Tensor\nin y Tensor\na0 = aten::add(x, y)\n");
    for (int i = 1; 5 * i < n; i++)
        at += sprintf(at,
                      "v%d = aten::select(a%d, 0, 1)\nw%d = aten::mul_(v%d, 0.5)\n"
                      "u%d = aten::relu_(a%d)\na%d = aten::add(a%d, y)\nz%d = aten::add_(x, a%d)\n",
                      i, i - 1, i, i, i, i - 1, i, i - 1, i, i);
    sprintf(at, "out a a0\nout x x");
    return text;
}

START_TEST(long_programs_pass)
{
    for (int n = 1000; n <= 10000; n *= 10) {
        char *text = long_text(n);
        dp_program *p = read_program(text);
        for (size_t i = 0; dp_program_pass_name(i) != NULL; i++) {
            double best = 1e9;
            dp_program *q = NULL;
            for (int k = 0; k < 5; k++) {
                double begun = milliseconds(), ms;
                dp_program_unref(q);
                q = pass(dp_program_ref(p), dp_program_pass_name(i));
                ms = milliseconds() - begun;
                best = ms < best ? ms : best;
            }
            printf("%s of %u steps: %.2f ms, %u steps\n", dp_program_pass_name(i), p->n_steps, best,
                   q->n_steps);
            if (n == 10000)
                check_same(p, q);
            dp_program_unref(q);
        }
        dp_program_unref(p);
        free(text);
    }
}
END_TEST

/* 10,000 views of views, a write through the last and one to the first: the views are made again
 * once. */
START_TEST(deep_views_pass)
{
    enum { DEEP = 10000 };
    char *text = malloc(DEEP * 80), *at = text;

    at += sprintf(at, "in x Tensor\nv0 = aten::neg(x)\n");
    for (int i = 1; i < DEEP; i++)
        at += sprintf(at, "v%d = aten::t(v%d)\n", i, i - 1);
    sprintf(at,
            "w = aten::mul_(v%d, 2)\nu = aten::mul_(v0, 3)\nz = aten::neg(v%d)\nout z z\nout v v0",
            DEEP - 1, DEEP - 1);
    dp_program *p = read_program(text), *q = pass(dp_program_ref(p), "functionalize");
    ck_assert_uint_lt(q->n_steps, 4 * DEEP);
    check_same(p, q);
    dp_program_unref(p);
    dp_program_unref(q);
    free(text);
}
END_TEST

UNIT_SUITE(passes)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_pass_has_a_name);
    tcase_add_test(tc, every_allocation_may_fail);
    tcase_add_test(tc, long_programs_pass);
    tcase_add_test(tc, deep_views_pass);
}
