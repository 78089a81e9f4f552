/* test_view.c -- other geometries on the same bytes. */
#include "tensors.h"

START_TEST(views_share_bytes_and_once_joined_version_and_root)
{
    int64_t sizes[] = {3, 4}, small[] = {2, 2}, strides[] = {4, 2};
    dp_tensor *t = floats(2, sizes), *v = NULL, *same = NULL;

    OK(dpi_as_strided(t, 2, small, strides, 5, &v, &err));
    assert_floats(v, 4, (float[]){5, 7, 9, 11});
    ck_assert_uint_eq(dp_tensor_storage_id(t), dp_tensor_storage_id(v));
    dp_tensor_bump_version(v);
    ck_assert_uint_eq(dp_tensor_version(t), 0);
    ck_assert_ptr_null(dp_tensor_root(v));
    dp_tensor_set_creation(v, DP_CREATED_CUSTOM); /* no view as yet */
    dpi_tensor_join(v, t, false, DP_CREATED_DEFAULT);
    OK(dp_tensor_alias(v, &same, &err));
    ck_assert_uint_eq(dp_tensor_version(v), 0);
    dp_tensor_bump_version(v);
    ck_assert_uint_eq(dp_tensor_version(t), 1);
    ck_assert_uint_eq(dp_tensor_version(same), 1);
    ck_assert_ptr_eq(dp_tensor_root(v), t);
    ck_assert_int_eq(dp_tensor_creation(v), DP_CREATED_DEFAULT);
    dp_tensor_set_creation(v, DP_CREATED_CUSTOM);
    dp_tensor_set_creation(v, DP_CREATED_END);
    ck_assert_int_eq(dp_tensor_creation(v), DP_CREATED_CUSTOM);
    ck_assert_int_eq(dp_tensor_offset(same), 5);
    dp_tensor_unref(t);
    assert_floats(same, 4, (float[]){5, 7, 9, 11});
    dp_tensor_unref(v);
    dp_tensor_unref(same);
}
END_TEST

START_TEST(as_strided_stays_within_the_storage)
{
    int64_t sizes[] = {3, 4}, past[] = {3, 4}, strides[] = {4, 1};
    dp_tensor *t = floats(2, sizes), *v = NULL;

    FAILS(dpi_as_strided(t, 2, past, strides, 1, &v, &err), DP_ERUNTIME,
          "sizes [3, 4], strides [4, 1], offset 1 and itemsize 4 require a storage of 52 bytes; it "
          "has 48");
    past[0] = 0;
    OK(dpi_as_strided(t, 2, past, strides, 1000, &v, &err)); /* nothing to reach */
    dp_tensor_unref(v);
    dp_tensor_unref(t);
}
END_TEST

UNIT_SUITE(view)
{
    tcase_add_checked_fixture(tc, alive_begin, alive_end);
    tcase_add_test(tc, views_share_bytes_and_once_joined_version_and_root);
    tcase_add_test(tc, as_strided_stays_within_the_storage);
}
