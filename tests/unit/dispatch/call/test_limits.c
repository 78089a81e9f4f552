/* test_limits.c -- limits of calls: the depth of recursion. */
#include "../calls.h"

START_TEST(call_recursion_has_a_limit)
{
    attach_as("cpu", "CPU", again, NULL, 0);
    expect_fail(DP_ERUNTIME, "recursion");
    attach_as("cpu2", "CPU", first, NULL, 0);
    expect_tensor(a);
}
END_TEST

UNIT_SUITE(call_limits)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, call_recursion_has_a_limit);
}
