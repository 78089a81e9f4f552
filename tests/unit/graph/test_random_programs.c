/* test_random_programs.c -- programs made at random, with views, writes, lists and conditions,
 * before and after the passes: the same results, writes and shared memory. */
#include "passes_fixture.h"
#include "random_programs.h"
#include <time.h>

enum { PROGRAMS = 2000, STEPS = 14 };

static const char *const orders[][5] = {
    {"functionalize"},
    {"functionalize", "dead"},
    {"functionalize", "common", "dead"},
    {"dead", "functionalize", "fold", "common", "dead"},
    {"common", "dead", "fold"},
};

/* Return the program of `m`, or NULL if the builder refuses a step. */
static dp_program *build(const maker *m)
{
    dp_builder *b;
    dp_program *p = NULL;

    ck_assert_int_eq(dp_builder_new(ctx, &b), 0);
    int rc = dp_builder_text(b, m->text);
    if (rc == 0)
        rc = dp_builder_finish(b, &p);
    if (rc < 0 && getenv("SHOW"))
        printf("%s\n%s\n", dp_ctx_error(ctx)->message, m->text);
    dp_builder_free(b);
    return p;
}

static void check(const maker *m, const dp_program *p, uint32_t flags, const outcome *a,
                  uint64_t seed)
{
    for (size_t k = 0; k < DPI_COUNT(orders); k++) {
        dp_program *q = dp_program_ref((dp_program *)(uintptr_t)p), *next;
        outcome b;
        for (size_t i = 0; i < 5 && orders[k][i] != NULL; i++) {
            int rc = dp_program_pass(ctx, q, orders[k][i], &next);
            unit_each(rc == 0, "seed %llu, %s: %s\n%s", (unsigned long long)seed, orders[k][i],
                      dp_ctx_error(ctx)->message, m->text);
            dp_program_unref(q);
            q = next;
        }
        run_program(q, flags, &b);
        const char *how = difference(a, &b);
        unit_each(how == NULL, "seed %llu, flags %u, passes from '%s' on: %s\n%s\n%s\n%s",
                  (unsigned long long)seed, flags, orders[k][0], how, m->text, text_of(p),
                  text_of(q));
        release(q, &b);
        dp_program_unref(q);
    }
}

static void check_programs(uint64_t first)
{
    maker *m = malloc(sizeof(*m));
    int good = 0, refused = 0, failed = 0;

    ck_assert_ptr_nonnull(m);
    for (uint64_t seed = first; good < PROGRAMS; seed++) {
        outcome a;
        make_program(m, seed, STEPS);
        dp_program *p = build(m);
        if (p == NULL) {
            refused++;
            continue;
        }
        run_program(p, (uint32_t)seed & 3, &a);
        if (a.rc == 0) {
            check(m, p, (uint32_t)seed & 3, &a, seed);
            good++;
        } else {
            if (getenv("SHOW"))
                printf("%s\n", a.message);
            failed++;
        }
        release(p, &a);
        dp_program_unref(p);
        dp_ctx_reset(ctx);
        ck_assert_msg(refused + failed < 20 * PROGRAMS, "%d programs refused, %d failed", refused,
                      failed);
    }
    printf("random programs from seed %llu: %d the same, %d refused, %d failed\n",
           (unsigned long long)first, good, refused, failed);
    free(m);
}

START_TEST(a_fixed_seed)
{
    check_programs(1);
}
END_TEST

START_TEST(a_seed_from_outside)
{
    const char *seed = getenv("DP_SEED");

    check_programs(seed != NULL ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL) * 100000);
}
END_TEST

UNIT_SUITE(random_programs)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, a_fixed_seed);
    tcase_add_test(tc, a_seed_from_outside);
}
