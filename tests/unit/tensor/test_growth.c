/* test_growth.c -- the memory of a storage is replaced, for all tensors on it, or stays. */
#include "tensors.h"
#include <dispatchd/shared.h>

START_TEST(a_growth_keeps_the_bytes_of_all_tensors)
{
    int64_t few[] = {4}, many[] = {1000};
    dp_tensor *t = floats(1, few), *alias = NULL;

    OK(dp_tensor_alias(t, &alias, &err));
    OK(dpi_resize(NULL, t, 1, many, DP_PRESERVE, &err));
    assert_floats(alias, 4, (float[]){0, 1, 2, 3});
    ck_assert_uint_eq(dp_tensor_storage_bytes(alias), 4000);
    dp_tensor_unref(t);
    dp_tensor_unref(alias);
}
END_TEST

START_TEST(sharing_at_the_nth_allocation_that_fails)
{
    int rc = -1;

    for (int n = 1; rc != 0; n++) {
        int64_t sizes[] = {4};
        dp_tensor *t = floats(1, sizes);
        dp_shared *s = NULL;
        dp_fault_arm(n);
        rc = dp_tensor_share(t, NULL, &s, &err);
        dp_fault_arm(0);
        ck_assert(rc == 0 || rc == DP_ERESOURCE);
        assert_floats(t, 4, (float[]){0, 1, 2, 3});
        OK(rc == 0 ? 0 : dpi_resize(NULL, t, 1, (int64_t[]){100}, DP_PRESERVE, &err));
        dp_shared_unref(s);
        dp_tensor_unref(t);
        ck_assert_int_lt(n, 10);
    }
}
END_TEST

/* A named storage cannot grow, but other processes can still get its bytes. */
START_TEST(a_named_storage_moves_only_to_be_shared)
{
    int64_t few[] = {4}, many[] = {1000};
    dp_tensor *t = floats(1, few), *alias = NULL;
    dp_shared *s = NULL;

    OK(dp_tensor_alias(t, &alias, &err));
    dp_tensor_fix(alias);
    FAILS(dpi_resize(NULL, t, 1, many, DP_PRESERVE, &err), DP_ERUNTIME, "not resizable");
    ck_assert_uint_eq(dp_tensor_storage_bytes(t), 16);
    OK(dp_tensor_share(t, NULL, &s, &err));
    FAILS(dpi_resize(NULL, t, 1, many, DP_PRESERVE, &err), DP_ERUNTIME, "not resizable");
    assert_floats(alias, 4, (float[]){0, 1, 2, 3});
    dp_shared_unref(s);
    dp_tensor_unref(t);
    dp_tensor_unref(alias);
}
END_TEST

UNIT_SUITE(tensor_growth)
{
    tcase_add_test(tc, a_named_storage_moves_only_to_be_shared);
    tcase_add_test(tc, a_growth_keeps_the_bytes_of_all_tensors);
    tcase_add_test(tc, sharing_at_the_nth_allocation_that_fails);
}
