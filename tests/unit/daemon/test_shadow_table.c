/* test_shadow_table.c -- counts of shadow calls: sums, the limit, the order, and who sees them. */
#include "shadow_table.h"
#include "options.h"
#include "unit.h"
#include <string.h>

enum { MOST = 3 };

static shadow_table t;
static shadow_count got[MOST + 1];
static size_t n;
static const char f[] = "t::f", g[] = "t::g";
static const uid_t me = 1000, other = 1001;

static void begin(void)
{
    int64_t limits[LIMITS];

    memcpy(limits, limit_defaults, sizeof(limits));
    limits[LIMIT_AT_METRIC_SHADOWS] = MOST;
    limits_apply(limits);
}

static void end(void)
{
    shadow_table_fini(&t);
    ck_assert_uint_eq(t.n, 0);
    limits_apply(limit_defaults);
}

static void add(uid_t uid, const char *op, const char *device, uint64_t differs, double largest)
{
    shadow_count c = {.op = op, .calls = 1, .differs = differs, .dropped = 2, .largest = largest};

    strcpy(c.device, device);
    shadow_table_add(&t, uid, &c);
}

static void row(size_t i, const char *op, const char *device, uint64_t calls, uint64_t differs,
                double largest)
{
    ck_assert_uint_lt(i, n);
    ck_assert_str_eq(got[i].op, op);
    ck_assert_str_eq(got[i].device, device);
    ck_assert_uint_eq(got[i].calls, calls);
    ck_assert_uint_eq(got[i].dropped, 2 * calls);
    ck_assert_uint_eq(got[i].differs, differs);
    ck_assert(got[i].largest == largest);
}

START_TEST(sums_and_order)
{
    add(me, f, "npu:0", 0, 0.5);
    add(me, f, "npu:0", 0, 0.25);
    add(me, f, "npu:1", 0, 0);
    add(me, g, "npu:0", 1, 2);
    n = shadow_table_copy(&t, NULL, got);
    ck_assert_uint_eq(n, 3);
    row(0, g, "npu:0", 1, 1, 2);
    row(1, f, "npu:0", 2, 0, 0.5);
    row(2, f, "npu:1", 1, 0, 0);
}
END_TEST

START_TEST(a_uid_sees_its_own)
{
    add(me, f, "npu:0", 0, 1);
    add(other, f, "npu:0", 1, 3);
    n = shadow_table_copy(&t, &me, got);
    ck_assert_uint_eq(n, 1);
    row(0, f, "npu:0", 1, 0, 1);
    n = shadow_table_copy(&t, NULL, got);
    ck_assert_uint_eq(n, 1);
    row(0, f, "npu:0", 2, 1, 3);
}
END_TEST

START_TEST(over_the_limit)
{
    for (int i = 0; i < MOST; i++)
        add(me + (uid_t)i, f, "npu:0", 0, 0);
    add(me, g, "npu:0", 1, 1);
    add(other, g, "npu:0", 1, 4);
    ck_assert_uint_eq(t.n, MOST);
    n = shadow_table_copy(&t, NULL, got);
    ck_assert_uint_eq(n, 2);
    row(0, "(other)", "(other)", 2, 2, 4);
    row(1, f, "npu:0", MOST, 0, 0);
    n = shadow_table_copy(&t, &me, got);
    ck_assert_uint_eq(n, 1); /* (other) mixes the calls of all uids */
    row(0, f, "npu:0", 1, 0, 0);
}
END_TEST

START_TEST(no_memory)
{
    dp_fault_arm(1);
    add(me, f, "npu:0", 1, 1);
    ck_assert(dp_fault_hit());
    dp_fault_arm(0);
    n = shadow_table_copy(&t, NULL, got);
    ck_assert_uint_eq(n, 1);
    row(0, "(other)", "(other)", 1, 1, 1);
}
END_TEST

START_TEST(missed)
{
    shadow_table_miss(&t, 0);
    ck_assert_uint_eq(shadow_table_copy(&t, NULL, got), 0);
    shadow_table_miss(&t, 3);
    ck_assert_uint_eq(shadow_table_copy(&t, NULL, got), 1);
    ck_assert_str_eq(got[0].op, "(other)");
    ck_assert_uint_eq(got[0].dropped, 3);
}
END_TEST

UNIT_SUITE(shadow_table)
{
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, sums_and_order);
    tcase_add_test(tc, a_uid_sees_its_own);
    tcase_add_test(tc, over_the_limit);
    tcase_add_test(tc, no_memory);
    tcase_add_test(tc, missed);
}
