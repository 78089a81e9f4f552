/* test_storage.c -- bytes on one device. */
#include "tensors.h"

START_TEST(whole_storages_come_zeroed)
{
    int64_t sizes[] = {2, 2}, strides[] = {1, 3};
    dp_tensor *t = NULL;

    OK(dp_tensor_new_storage(DP_FLOAT32, 0, 10, 2, sizes, strides, 4, &t, &err));
    assert_floats(t, 4, (float[]){0, 0, 0, 0});
    ck_assert_uint_eq(dp_tensor_storage_bytes(t), 40);
    dp_tensor_unref(t);
    FAILS(dp_tensor_new_storage(DP_FLOAT32, 0, 8, 2, sizes, strides, 4, &t, &err), DP_ERUNTIME,
          "require a storage of 36 bytes; it has 32");
    FAILS(dp_tensor_new_storage(DP_FLOAT32, 0, -1, 2, sizes, strides, 4, &t, &err), DP_EVALUE,
          "-1");
}
END_TEST

static void count_release(void *arg)
{
    ++*(int *)arg;
}

START_TEST(foreign_memory_is_released_once_by_the_last)
{
    int released = 0;
    int64_t sizes[] = {4}, many[] = {5};
    _Alignas(16) float memory[4] = {1, 2, 3, 4};
    dp_tensor *t = NULL, *alias = NULL;

    FAILS(dp_tensor_wrap(DP_FLOAT32, 1, many, NULL, memory, sizeof(memory), count_release,
                         &released, &t, &err),
          DP_ERUNTIME, "require a storage of 20 bytes; it has 16");
    FAILS(dp_tensor_wrap(DP_FLOAT32, 1, sizes, NULL, (char *)memory + 2, 16, count_release,
                         &released, &t, &err),
          DP_EVALUE, "not aligned for float32");
    ck_assert_int_eq(released, 0);
    OK(dp_tensor_wrap(DP_FLOAT32, 1, sizes, NULL, memory, sizeof(memory), count_release, &released,
                      &t, &err));
    OK(dp_tensor_alias(t, &alias, &err));
    dp_tensor_unref(t);
    ck_assert_int_eq(released, 0);
    assert_floats(alias, 4, memory);
    dp_tensor_unref(alias);
    ck_assert_int_eq(released, 1);
    OK(dp_tensor_wrap(DP_FLOAT32, 1, sizes, NULL, memory, 16, NULL, NULL, &t, &err));
    dp_tensor_unref(t);
}
END_TEST

/* As in PyTorch: torch.empty(1, device="cpu:1").device is cpu. */
START_TEST(cpu_and_meta_have_no_index)
{
    const int bits[] = {DP_B_CPU, DP_B_Meta};

    for (int i = 0; i < 2; i++) {
        dp_tensor *t = NULL;
        OK(dp_tensor_new(DP_INT8, DP_DEVICE(bits[i], 7), 0, NULL, NULL, &t, &err));
        DP_VIEW(v, t);
        ck_assert_int_eq(v.device, DP_DEVICE(bits[i], 0));
        dp_tensor_unref(t);
    }
}
END_TEST

START_TEST(meta_tensors_have_no_data)
{
    int64_t sizes[] = {1 << 20, 1 << 20}, none[] = {0};
    dp_tensor *m = make(DP_FLOAT64, DP_DEVICE(DP_B_Meta, 0), 2, sizes), *z = floats(0, NULL);
    dp_tensor *empty = make(DP_FLOAT64, DP_DEVICE(DP_B_Meta, 0), 1, none);
    dp_tensor_stats now;
    float x = 7;

    ck_assert_ptr_null(dpi_tensor_data(m));
    ck_assert(dpi_is_memoryless(m) && dpi_is_memoryless(empty) && !dpi_is_memoryless(z));
    ck_assert_uint_eq(dp_tensor_storage_bytes(m), (uint64_t)1 << 43);
    dp_tensor_stats_get(&now);
    ck_assert_uint_eq(now.bytes, alive_before.bytes + sizeof(x));
    ck_assert_uint_eq(now.storages, alive_before.storages + 3);
    FAILS(dp_tensor_read(m, &x, &err), DP_ENOTIMPL, "Cannot copy out of meta tensor; no data!");
    OK(dp_tensor_read(empty, &x, &err));
    OK(dpi_copy(m, z, 0, &err));
    dp_tensor *small = make(DP_FLOAT64, DP_DEVICE(DP_B_Meta, 0), 0, NULL);
    FAILS(dpi_copy(z, small, 0, &err), DP_ENOTIMPL, "Cannot copy out of meta tensor; no data!");
    OK(dp_tensor_write(small, &x, &err));
    ck_assert_float_eq(x, 7);
    dp_tensor_unref(empty);
    dp_tensor_unref(small);
    dp_tensor_unref(m);
    dp_tensor_unref(z);
}
END_TEST

/* The device is a true one; it may go meanwhile, since the storage has nothing of it. */
START_TEST(storages_without_memory_know_a_size_alone)
{
    dpi_device *d;
    int64_t sizes[] = {1 << 18};
    dp_tensor_stats now;

    open_device(0);
    dp_tensor *t = make(DP_FLOAT32, DP_DEVICE(device_bit, 1) | DPI_MEMORYLESS, 1, sizes);
    const dpi_storage *s = dpi_storage_of(t);
    ck_assert_ptr_null(s->data);
    ck_assert_uint_eq(s->bytes, 1 << 20);
    ck_assert_int_eq(s->device, DP_DEVICE(device_bit, 1));
    ck_assert_uint_eq(faultdev.live, 0);
    dp_tensor_stats_get(&now);
    ck_assert_uint_eq(now.bytes, alive_before.bytes);
    FAILS(dpi_storage_enter(s, &d, &err), DP_ENOTIMPL,
          "Cannot copy out of a tensor on faultdev:1 that has no memory; no data!");
    dpi_device_end(the_device);
    FAILS(dpi_storage_enter(s, &d, &err), DP_ENOTIMPL, "faultdev:1 that has no memory");
    ck_assert_uint_eq(dpi_backend_storages(device_bit), 1);
    FAILS(dp_tensor_new(DP_FLOAT32, DP_DEVICE(70, 0) | DPI_MEMORYLESS, 1, sizes, NULL, &t, &err),
          DP_ERUNTIME, "no backend has number 70");
    dp_tensor_unref(t);
    ck_assert_uint_eq(dpi_backend_storages(device_bit), 0);
    faultdev_close();
}
END_TEST

UNIT_SUITE(storage)
{
    tcase_add_checked_fixture(tc, alive_begin, alive_end);
    tcase_add_test(tc, whole_storages_come_zeroed);
    tcase_add_test(tc, foreign_memory_is_released_once_by_the_last);
    tcase_add_test(tc, cpu_and_meta_have_no_index);
    tcase_add_test(tc, meta_tensors_have_no_data);
    tcase_add_test(tc, storages_without_memory_know_a_size_alone);
}
