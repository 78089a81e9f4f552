/* test_block.c -- memory of devices. */
#include "tensors.h"

START_TEST(device_memory_is_reached_by_the_device_alone)
{
    dp_device device = open_device(0);
    int64_t sizes[] = {2, 3}, inner[] = {2, 2}, strides[] = {3, 1}, turned[] = {1, 2};
    dp_tensor *host = floats(2, sizes), *there = make(DP_FLOAT32, device, 2, sizes), *part = NULL;
    dp_tensor *ints = make(DP_INT64, device, 2, sizes), *back = make(DP_FLOAT32, 0, 2, sizes);
    dp_tensor *columns = NULL, *other = make(DP_FLOAT32, open_device(1), 2, sizes);

    OK(dpi_copy(there, host, 0, &err)); /* down */
    OK(dpi_copy(back, there, 0, &err)); /* up */
    assert_floats(back, 6, (float[]){0, 1, 2, 3, 4, 5});
    OK(dp_tensor_new(DP_FLOAT32, device, 2, sizes, turned, &columns, &err));
    OK(dpi_copy(columns, there, 0, &err)); /* another layout, same device */
    assert_floats(columns, 6, (float[]){0, 1, 2, 3, 4, 5});
    OK(dpi_copy(ints, columns, 0, &err)); /* another dtype */
    OK(dpi_copy(other, ints, 0, &err));   /* another device */
    assert_floats(other, 6, (float[]){0, 1, 2, 3, 4, 5});
    OK(dpi_as_strided(there, 2, inner, strides, 1, &part, &err));
    OK(dp_tensor_write(part, (float[]){10, 20, 30, 40}, &err)); /* what lies between stays */
    assert_floats(there, 6, (float[]){0, 10, 20, 3, 30, 40});
    OK(dpi_copy(other, there, 0, &err));
    OK(dpi_copy(there, other, 0, &err));
    dp_tensor *again = make(DP_FLOAT32, device, 2, sizes);
    OK(dpi_copy(again, there, 0, &err)); /* alike: moved by the device */
    assert_floats(again, 6, (float[]){0, 10, 20, 3, 30, 40});
    dp_tensor *all[] = {host, there, part, ints, back, columns, other, again};
    for (size_t i = 0; i < DPI_COUNT(all); i++)
        dp_tensor_unref(all[i]);
    close_device();
}
END_TEST

START_TEST(device_failures_are_told_with_the_backends_name)
{
    dp_device device = open_device(0);
    int64_t sizes[] = {2}, huge[] = {1 << 30};
    dp_tensor *host = floats(1, sizes), *there = make(DP_FLOAT32, device, 1, sizes), *t = NULL;

    FAILS(dp_tensor_new(DP_INT8, DP_DEVICE(device_bit, 2), 1, sizes, NULL, &t, &err), DP_ERUNTIME,
          "backend faultdev has 2 devices, there is no faultdev:2");
    FAILS(dp_tensor_new(DP_INT8, device, 1, huge, NULL, &t, &err), DP_ERESOURCE,
          "backend faultdev: allocate failed: no room on the device");
    faultdev.refuse = DP_EBUSY;
    FAILS(dpi_copy(there, host, 0, &err), DP_EBUSY,
          "backend faultdev: copy failed: told to refuse");
    faultdev.refuse = 12345;
    FAILS(dp_tensor_read(there, &sizes, &err), DP_EPLUGIN,
          "backend faultdev: copy returned 12345, which is no error code");
    FAILS(dp_tensor_new(DP_INT8, device, 1, sizes, NULL, &t, NULL), DP_EPLUGIN, "");
    faultdev.refuse = 0;
    faultdev.off = 16;
    FAILS(dp_tensor_new(DP_INT8, device, 1, sizes, NULL, &t, &err), DP_EPLUGIN,
          "which is not aligned to 64 bytes");
    ck_assert_uint_eq(faultdev.live, 1); /* it has it back */
    faultdev.off = 0;
    dp_tensor_unref(host);
    dp_tensor_unref(there);
    close_device();
}
END_TEST

START_TEST(tensors_of_a_device_that_ends_are_released_by_it)
{
    dp_device device = open_device(0);
    int64_t sizes[] = {2}, none[] = {0};
    dp_tensor *old = make(DP_FLOAT32, device, 1, sizes), *gone = make(DP_INT8, device, 1, sizes),
              *empty = make(DP_INT8, device, 1, none);
    dp_tensor_stats start, end;
    float x[2];

    dp_tensor_stats_get(&start);
    dp_tensor_unref(gone);
    ck_assert_uint_eq(faultdev.live, 1);
    dpi_device_end(the_device);
    ck_assert_uint_eq(faultdev.live, 0);
    dp_tensor_stats_get(&end);
    ck_assert_uint_eq(end.bytes, start.bytes - 10);
    FAILS(dp_tensor_read(old, x, &err), DP_ERUNTIME, "backend faultdev was unloaded");
    FAILS(dpi_tensor_check_device(empty, &err), DP_ERUNTIME, "backend faultdev was unloaded");
    open_device(0);
    dp_tensor *fresh = make(DP_FLOAT32, device, 1, sizes);
    OK(dp_tensor_read(fresh, x, &err));
    FAILS(dpi_tensor_check_device(old, &err), DP_ERUNTIME, "backend faultdev was unloaded");
    dp_tensor_unref(old);
    dp_tensor_unref(empty);
    ck_assert_uint_eq(faultdev.live, 1);
    dp_tensor_unref(fresh);
    close_device();
}
END_TEST

/* The device goes first; what it had is its own to lose, and a later one of that name has other
 * memory. */
START_TEST(tensors_of_an_unloaded_backend_answer_by_name)
{
    dp_device device = open_device(0);
    int64_t sizes[] = {2};
    dp_tensor *old = make(DP_FLOAT32, device, 1, sizes), *host = floats(1, sizes), *t = NULL;
    float x[2];

    dpi_backend_unregister(device_bit);
    ck_assert_uint_eq(dpi_backend_storages(device_bit), 1);
    FAILS(dp_tensor_read(old, x, &err), DP_ERUNTIME, "backend faultdev was unloaded");
    FAILS(dpi_copy(old, host, 0, &err), DP_ERUNTIME, "backend faultdev was unloaded");
    FAILS(dpi_copy(host, old, 0, &err), DP_ERUNTIME, "backend faultdev was unloaded");
    FAILS(dpi_empty_like(old, DP_DTYPE_NONE, (dpi_target){dpi_storage_of(old)->device, 0, NULL},
                         DP_PRESERVE, &t, &err),
          DP_ERUNTIME, "backend faultdev was unloaded");
    ck_assert_int_eq(open_device(0), device);
    FAILS(dp_tensor_read(old, x, &err), DP_ERUNTIME, "backend faultdev was unloaded");
    dp_tensor *fresh = make(DP_FLOAT32, device, 1, sizes);
    FAILS(dpi_copy(fresh, old, 0, &err), DP_ERUNTIME, "backend faultdev was unloaded");
    dp_tensor_unref(fresh);
    ck_assert_uint_eq(faultdev.live, 1); /* the old block: nobody gave it back */
    dp_tensor_unref(old);
    ck_assert_uint_eq(faultdev.live, 1);
    ck_assert_uint_eq(dpi_backend_storages(device_bit), 0);
    dp_tensor_unref(host);
    faultdev.live = 0;
    close_device();
}
END_TEST

UNIT_SUITE(block)
{
    tcase_add_checked_fixture(tc, alive_begin, alive_end);
    tcase_add_test(tc, device_memory_is_reached_by_the_device_alone);
    tcase_add_test(tc, device_failures_are_told_with_the_backends_name);
    tcase_add_test(tc, tensors_of_a_device_that_ends_are_released_by_it);
    tcase_add_test(tc, tensors_of_an_unloaded_backend_answer_by_name);
}
