/* test_truth.c -- the newest kernel of a key. */
#include "../calls.h"

START_TEST(call_newest_kernel_wins_and_removal_restores)
{
    dp_unit *one = attach_as("one", "CPU", first, NULL, 0),
            *two = attach_as("two", "CPU", second, NULL, 0);

    expect_tensor(b);
    detach(two);
    expect_tensor(a);
    two = attach_as("two", "CPU", second, NULL, 0);
    detach(one);
    expect_tensor(b);
    detach(two);
    expect_fail(DP_ENOTIMPL, "no kernel");
}
END_TEST

UNIT_SUITE(truth)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, call_newest_kernel_wins_and_removal_restores);
}
