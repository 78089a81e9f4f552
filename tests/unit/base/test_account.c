/* test_account.c -- accounts: charges, refusals and refunds. */
#include "../alive.h"
#include "base/account.h"

static dp_error err;

static const dp_holder_limit limits[DP_HOLDERS] = {
    [0] = {.count = 2, .bytes = 100, .count_name = "COUNTS", .bytes_name = "BYTES"},
};

START_TEST(account_charges_up_to_its_limits)
{
    dp_account *a = NULL;
    dp_usage held[DP_HOLDERS];

    OK(dp_account_new(limits, &a, &err));
    OK(dp_account_charge(a, 0, 1, 60, &err));
    OK(dp_account_charge(a, 0, 1, 40, &err));
    FAILS(dp_account_charge(a, 0, 1, 0, &err), DP_ERESOURCE, "0 of 2 left (COUNTS)");
    dp_account_usage(a, held);
    ck_assert_uint_eq(held[0].count, 2);
    ck_assert_uint_eq(held[0].bytes, 100);
    dp_account_refund(a, 0, 2, 100);
    dp_account_usage(a, held);
    ck_assert_uint_eq(held[0].count, 0);
    ck_assert_uint_eq(held[0].bytes, 0);
    dp_account_close(a);
}
END_TEST

START_TEST(account_takes_a_refused_charge_back_whole)
{
    dp_account *a = NULL;
    dp_usage held[DP_HOLDERS];

    OK(dp_account_new(limits, &a, &err));
    OK(dp_account_charge(a, 0, 1, 60, &err));
    FAILS(dp_account_charge(a, 0, 1, 41, &err), DP_ERESOURCE, "41 bytes asked for, 40 of 100 left");
    dp_account_usage(a, held);
    ck_assert_uint_eq(held[0].count, 1);
    ck_assert_uint_eq(held[0].bytes, 60);
    dp_account_charge_anyway(a, 0, 1000);
    ck_assert(!dpi_account_add(a, 0, 1));
    dpi_account_sub(a, 0, 1000);
    ck_assert(dpi_account_add(a, 0, 40));
    dp_account_close(a);
}
END_TEST

UNIT_SUITE(account)
{
    tcase_add_test(tc, account_charges_up_to_its_limits);
    tcase_add_test(tc, account_takes_a_refused_charge_back_whole);
}
