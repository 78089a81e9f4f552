/* test_about.c -- what is known of a tensor. */
#include "tensors.h"

START_TEST(view_writes_no_more_than_its_size)
{
    dp_tensor *t = make(DP_INT8, DP_DEVICE_CPU, 0, NULL);
    dp_view v;

    memset(&v, 0x55, sizeof(v));
    v.size = offsetof(dp_view, data);
    dp_tensor_view(t, &v);
    ck_assert_int_eq(v.dtype, DP_INT8);
    ck_assert_int_eq(v.ndim, 0);
    ck_assert_int_eq(v.numel, 0x5555555555555555);
    dp_tensor_unref(t);
}
END_TEST

START_TEST(only_zero_dim_tensors_are_wrapped_numbers)
{
    int64_t one[] = {1};
    dp_tensor *a = make(DP_INT8, DP_DEVICE_CPU, 0, NULL), *b = make(DP_INT8, DP_DEVICE_CPU, 1, one);

    dp_tensor_set_wrapped(a, true);
    dp_tensor_set_wrapped(b, true);
    ck_assert(dp_tensor_is_wrapped(a));
    ck_assert(!dp_tensor_is_wrapped(b));
    dp_tensor_set_wrapped(a, false);
    ck_assert(!dp_tensor_is_wrapped(a));
    dp_tensor_unref(a);
    dp_tensor_unref(b);
}
END_TEST

/* Of the object, not of its bytes; of the tensor, not of its memory, which the next one may get. */
START_TEST(ids_are_of_tensors_and_never_reused)
{
    int64_t sizes[] = {2};
    dp_tensor *t = floats(1, sizes), *view = NULL, *saved = NULL, *second = NULL;
    uint64_t id = dp_tensor_id(t);

    ck_assert_uint_ne(id, 0);
    ck_assert_uint_eq(dp_tensor_id(t), id);
    OK(dpi_as_strided(t, 1, sizes, NULL, 0, &view, &err));
    ck_assert_uint_ne(dp_tensor_id(view), id);
    OK(dp_tensor_alias(t, &saved, &err));
    ck_assert_uint_eq(dp_tensor_id(saved), id);
    OK(dp_tensor_alias(view, &second, &err));
    ck_assert_uint_eq(dp_tensor_id(second), dp_tensor_id(view));
    dp_tensor_unref(t);
    dp_tensor_unref(view);
    dp_tensor_unref(saved);
    uint64_t last = dp_tensor_id(second);
    dp_tensor_unref(second);
    for (int i = 0; i < 100; i++) {
        t = floats(1, sizes);
        ck_assert_uint_gt(dp_tensor_id(t), last);
        last = dp_tensor_id(t);
        dp_tensor_unref(t);
    }
}
END_TEST

UNIT_SUITE(about)
{
    tcase_add_checked_fixture(tc, alive_begin, alive_end);
    tcase_add_test(tc, view_writes_no_more_than_its_size);
    tcase_add_test(tc, only_zero_dim_tensors_are_wrapped_numbers);
    tcase_add_test(tc, ids_are_of_tensors_and_never_reused);
}
