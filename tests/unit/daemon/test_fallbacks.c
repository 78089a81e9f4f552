/* test_fallbacks.c -- counts of fallbacks by operator and key: sums, the limit, the order, and who
 * sees them. */
#include "fallbacks.h"
#include "metrics.h"
#include "options.h"
#include "unit.h"
#include <string.h>

enum { MOST = 3 };

static metrics m;
static metric_table *own;
static dp_arena *arena;
static dp_fallback_count *got;
static size_t n;
static dp_error err;
static const char f[] = "t::f", g[] = "t::g", h[] = "t::h";

static void begin_with(int64_t most)
{
    int64_t limits[LIMITS];

    memcpy(limits, limit_defaults, sizeof(limits));
    limits[LIMIT_AT_METRIC_FALLBACKS] = most;
    limits_apply(limits);
    ck_assert_int_eq(metrics_init(&m, &err), 0);
    ck_assert_ptr_nonnull(own = metrics_table_new(&m, &err));
    arena = dp_arena_new();
}

static void begin(void)
{
    begin_with(MOST);
}

static void end(void)
{
    metrics_table_free(own);
    metrics_fini(&m);
    limits_apply(limit_defaults);
    dp_arena_free(arena);
}

static void add(metric_table *to, const char *op, const char *key, uint64_t calls, uint64_t bytes)
{
    dp_fallback_count c = {.op = op, .calls = calls, .bytes = bytes};

    strcpy(c.key, key);
    metrics_fallbacks(&m, to, &c, 1);
}

static void read_table(const metric_table *t, const char *op, size_t want)
{
    ck_assert_int_eq(metrics_fallbacks_copy(&m, t, op, arena, &got, &n, &err), 0);
    ck_assert_uint_eq(n, want);
}

static void row(size_t i, const char *op, const char *key, uint64_t calls, uint64_t bytes)
{
    ck_assert_str_eq(got[i].op, op);
    ck_assert_str_eq(got[i].key, key);
    ck_assert_uint_eq(got[i].calls, calls);
    ck_assert_uint_eq(got[i].bytes, bytes);
}

START_TEST(counts_are_sums_and_the_most_frequent_is_first)
{
    read_table(&m.all, NULL, 0);
    add(NULL, f, "npu", 1, 10);
    add(NULL, g, "npu", 2, 0);
    add(NULL, f, "npu", 2, 20);
    add(NULL, f, "gpu", 2, 1);
    read_table(&m.all, NULL, 3);
    row(0, f, "npu", 3, 30);
    row(1, f, "gpu", 2, 1);
    row(2, g, "npu", 2, 0);
    read_table(&m.all, f, 2);
    row(0, f, "npu", 3, 30);
    row(1, f, "gpu", 2, 1);
    read_table(&m.all, h, 0);
}
END_TEST

START_TEST(those_over_the_limit_are_counted_together)
{
    add(NULL, f, "a", 1, 1);
    add(NULL, f, "b", 1, 1);
    add(NULL, f, "c", 1, 1);
    add(NULL, f, "d", 4, 40);
    add(NULL, g, "a", 5, 50);
    add(NULL, "", "", 1, 5); /* of a request that had too many itself */
    add(NULL, f, "a", 1, 1);
    read_table(&m.all, NULL, MOST + 1);
    row(0, "(other)", "(other)", 10, 95);
    row(1, f, "a", 2, 2);
    row(2, f, "b", 1, 1);
    row(3, f, "c", 1, 1);
    read_table(&m.all, g, 0);
}
END_TEST

START_TEST(a_limit_of_none_leaves_the_sum)
{
    end();
    begin_with(0);
    add(NULL, f, "npu", 2, 20);
    read_table(&m.all, NULL, 1);
    row(0, "(other)", "(other)", 2, 20);
}
END_TEST

START_TEST(another_uid_sees_its_own)
{
    add(NULL, f, "npu", 5, 50);
    add(own, f, "npu", 1, 10);
    read_table(&m.all, NULL, 1);
    row(0, f, "npu", 6, 60);
    read_table(own, NULL, 1);
    row(0, f, "npu", 1, 10);
}
END_TEST

UNIT_SUITE(fallbacks)
{
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, counts_are_sums_and_the_most_frequent_is_first);
    tcase_add_test(tc, those_over_the_limit_are_counted_together);
    tcase_add_test(tc, a_limit_of_none_leaves_the_sum);
    tcase_add_test(tc, another_uid_sees_its_own);
}
