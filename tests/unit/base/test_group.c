/* test_group.c -- groups of accounts: one limit over all of them, whatever they were granted. */
#include "base/account.h"
#include "unit.h"
#include <string.h>

enum { LIMIT_BYTES = 1 << 20, ACCOUNTS = 3 };

static dp_holder_limit limits[DP_HOLDERS];
static dp_group_limits group_limits;
static dp_account_group *g;
static dp_account *a[ACCOUNTS];
static dp_error err;

static void setup(void)
{
    for (int h = 0; h < DP_HOLDERS; h++)
        limits[h] = (dp_holder_limit){"n", "bytes", 1000, 800 << 10};
    group_limits = (dp_group_limits){"uid_bytes", LIMIT_BYTES, {{0}}};
    group_limits.counts[DP_HOLDER_OBJECTS].name = "uid_objects";
    group_limits.counts[DP_HOLDER_OBJECTS].most = 5;
    ck_assert_int_eq(dp_account_group_new(&group_limits, &g, &err), 0);
    for (int i = 0; i < ACCOUNTS; i++) {
        ck_assert_int_eq(dp_account_new(limits, &a[i], &err), 0);
        dp_account_group_add(g, a[i]);
    }
}

static void teardown(void)
{
    for (int i = 0; i < ACCOUNTS; i++)
        a[i] = dp_account_close(a[i]);
    g = dp_account_group_close(g);
}

static int charge(int i, int holder, uint64_t bytes)
{
    dp_error_clear(&err);
    return dp_account_charge(a[i], holder, 0, bytes, &err);
}

/* An account reserves bytes of its group in advance.  The group takes unused reservations back
 * before it refuses a charge of another account. */
START_TEST(a_group_can_be_filled_to_its_last_byte)
{
    for (int i = 0; i < ACCOUNTS; i++)
        for (int h = 0; h < DP_HOLDERS; h++) {
            ck_assert_int_eq(charge(i, h, 1), 0);
            dp_account_refund(a[i], h, 0, 1);
        }
    ck_assert_int_eq(charge(0, DP_HOLDER_TENSORS, 700 << 10), 0);
    ck_assert_int_eq(charge(1, DP_HOLDER_PROGRAMS, (324 << 10) - 1), 0);
    ck_assert_int_eq(charge(2, DP_HOLDER_OBJECTS, 1), 0);
    ck_assert_int_eq(charge(2, DP_HOLDER_OBJECTS, 1), DP_ERESOURCE);
    ck_assert_str_eq(err.message, "objects: 1 bytes asked for, 0 of 1048576 left (uid_bytes)");
    ck_assert(!dpi_account_add(a[2], DP_HOLDER_OBJECTS, 1));
    dp_account_refund(a[0], DP_HOLDER_TENSORS, 0, 700 << 10);
    ck_assert(dpi_account_add(a[2], DP_HOLDER_OBJECTS, 699 << 10));
    ck_assert_int_eq(charge(1, DP_HOLDER_PROGRAMS, 2 << 10), DP_ERESOURCE);
    ck_assert_int_eq(charge(1, DP_HOLDER_PROGRAMS, 1 << 10), 0);
}
END_TEST

START_TEST(the_limit_of_a_holder_holds_in_a_group)
{
    ck_assert_int_eq(charge(0, DP_HOLDER_TENSORS, (800 << 10) + 1), DP_ERESOURCE);
    ck_assert_str_eq(err.message, "tensors: 819201 bytes asked for, 819200 of 819200 left (bytes)");
    ck_assert_int_eq(charge(0, DP_HOLDER_TENSORS, 800 << 10), 0);
    ck_assert(!dpi_account_add(a[0], DP_HOLDER_TENSORS, 1));
}
END_TEST

START_TEST(a_closed_account_gives_back_what_it_was_charged)
{
    dp_usage used[DP_HOLDERS];

    ck_assert_int_eq(charge(0, DP_HOLDER_TENSORS, 800 << 10), 0);
    ck_assert_int_eq(charge(1, DP_HOLDER_TENSORS, 800 << 10), DP_ERESOURCE);
    dp_account_group_usage(g, used);
    ck_assert_uint_eq(used[DP_HOLDER_TENSORS].bytes, 800 << 10);
    a[0] = dp_account_close(a[0]);
    ck_assert_int_eq(charge(1, DP_HOLDER_TENSORS, 800 << 10), 0);
}
END_TEST

START_TEST(limits_can_change)
{
    ck_assert_int_eq(charge(0, DP_HOLDER_TENSORS, 600 << 10), 0);
    limits[DP_HOLDER_TENSORS].bytes = 100 << 10;
    dp_account_limits_changed(a[0]);
    ck_assert(!dpi_account_add(a[0], DP_HOLDER_TENSORS, 1));
    dp_account_refund(a[0], DP_HOLDER_TENSORS, 0, 550 << 10);
    ck_assert(dpi_account_add(a[0], DP_HOLDER_TENSORS, 50 << 10));
    ck_assert(!dpi_account_add(a[0], DP_HOLDER_TENSORS, 1));
    limits[DP_HOLDER_TENSORS].bytes = 800 << 10;
    dp_account_limits_changed(a[0]);
    group_limits.bytes = 200 << 10;
    dp_account_group_limits_changed(g);
    ck_assert(dpi_account_add(a[0], DP_HOLDER_TENSORS, 100 << 10));
    ck_assert(!dpi_account_add(a[0], DP_HOLDER_TENSORS, 1));
    group_limits.bytes = LIMIT_BYTES;
    dp_account_group_limits_changed(g);
    ck_assert(dpi_account_add(a[0], DP_HOLDER_TENSORS, 600 << 10));
}
END_TEST

START_TEST(charges_anyway_count_in_the_group)
{
    dp_account_charge_anyway(a[0], DP_HOLDER_TENSORS, 2 << 20);
    ck_assert_int_eq(charge(1, DP_HOLDER_TENSORS, 1), DP_ERESOURCE);
    ck_assert(!dpi_account_add(a[0], DP_HOLDER_TENSORS, 1));
    dp_account_refund(a[0], DP_HOLDER_TENSORS, 0, 2 << 20);
    ck_assert_int_eq(charge(1, DP_HOLDER_TENSORS, 800 << 10), 0);
}
END_TEST

START_TEST(things_of_some_holders_are_limited)
{
    ck_assert_int_eq(dp_account_charge(a[0], DP_HOLDER_OBJECTS, 3, 0, &err), 0);
    ck_assert_int_eq(dp_account_charge(a[1], DP_HOLDER_OBJECTS, 3, 10, &err), DP_ERESOURCE);
    ck_assert_str_eq(err.message, "objects: 3 more asked for, 2 of 5 left (uid_objects)");
    ck_assert_int_eq(dp_account_charge(a[1], DP_HOLDER_OBJECTS, 2, 10, &err), 0);
    ck_assert_int_eq(dp_account_charge(a[2], DP_HOLDER_OBJECTS, 1, 0, &err), DP_ERESOURCE);
    ck_assert_int_eq(dp_account_charge(a[2], DP_HOLDER_TENSORS, 900, 0, &err), 0);
    dp_account_refund(a[0], DP_HOLDER_OBJECTS, 1, 0);
    ck_assert_int_eq(dp_account_charge(a[2], DP_HOLDER_OBJECTS, 1, 0, &err), 0);
    a[0] = dp_account_close(a[0]); /* which gives back its two */
    ck_assert_int_eq(dp_account_charge(a[2], DP_HOLDER_OBJECTS, 2, 0, &err), 0);
    /* nothing is charged when the bytes do not fit */
    dp_account_refund(a[2], DP_HOLDER_OBJECTS, 3, 0);
    ck_assert_int_eq(dp_account_charge(a[2], DP_HOLDER_OBJECTS, 3, 900 << 10, &err), DP_ERESOURCE);
    ck_assert_int_eq(dp_account_charge(a[2], DP_HOLDER_OBJECTS, 3, 0, &err), 0);
}
END_TEST

/* Threads charge and refund, and the group takes grants back from them all the time: the sum never
 * exceeds the limit, and in the end nothing is charged. */
static atomic_uint_fast64_t held, most;

static void *churn(void *arg)
{
    dp_account *account = a[(intptr_t)arg];
    unsigned seed = (unsigned)(intptr_t)arg + 1;

    for (int i = 0; i < 20000; i++) {
        seed = seed * 1664525 + 1013904223;
        uint64_t bytes = (seed >> 8) % (500 << 10);
        int holder = (int)(seed >> 28) % DP_HOLDERS;
        if (!dpi_account_add(account, holder, bytes))
            continue;
        uint64_t now = atomic_fetch_add(&held, bytes) + bytes, top = atomic_load(&most);
        while (now > top && !atomic_compare_exchange_weak(&most, &top, now))
            ;
        atomic_fetch_sub(&held, bytes);
        dpi_account_sub(account, holder, bytes);
    }
    return NULL;
}

START_TEST(threads_never_exceed_the_limit)
{
    pthread_t threads[ACCOUNTS];
    dp_usage used[DP_HOLDERS];

    for (intptr_t i = 0; i < ACCOUNTS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, (void *)i), 0);
    for (int i = 0; i < ACCOUNTS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_le(atomic_load(&most), LIMIT_BYTES);
    ck_assert_uint_gt(atomic_load(&most), 0);
    dp_account_group_usage(g, used);
    for (int h = 0; h < DP_HOLDERS; h++)
        ck_assert_uint_eq(used[h].bytes, 0);
    ck_assert_int_eq(charge(0, DP_HOLDER_TENSORS, 700 << 10), 0);
    ck_assert_int_eq(charge(1, DP_HOLDER_TENSORS, 324 << 10), 0);
}
END_TEST

UNIT_SUITE(account_group)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_group_can_be_filled_to_its_last_byte);
    tcase_add_test(tc, the_limit_of_a_holder_holds_in_a_group);
    tcase_add_test(tc, a_closed_account_gives_back_what_it_was_charged);
    tcase_add_test(tc, limits_can_change);
    tcase_add_test(tc, charges_anyway_count_in_the_group);
    tcase_add_test(tc, things_of_some_holders_are_limited);
    tcase_add_test(tc, threads_never_exceed_the_limit);
}
