/* test_fail.c -- what a failed call says. */
#include "../calls.h"

START_TEST(call_without_a_kernel_names_the_keys)
{
    dp_unit *u = attach_as("cuda", "CUDA", first, NULL, 0);

    expect_fail(DP_ENOTIMPL, "CPU");
    expect_fail(DP_ENOTIMPL, "CUDA");
    ck_assert_str_eq(dp_ctx_error(ctx)->op, "t::first");
    ck_assert_str_eq(dp_ctx_error(ctx)->key, "CPU");
    detach(u);
}
END_TEST

UNIT_SUITE(fail)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, call_without_a_kernel_names_the_keys);
}
