/* test_resize.c -- one tensor gets another shape, another storage, more bytes. */
#include "calling.h"
#include "tensor_cases.h"
#include "../../plugins/faulting_device.h"
#include "../alive.h"
#include <pthread.h>

static dp_error err;

static dp_tensor *floats(dp_device device, int64_t n) /* 0, 1, 2 ... */
{
    dp_tensor *t = NULL;
    float values[2000];

    ck_assert_int_le(n, 2000);
    for (int64_t i = 0; i < n; i++)
        values[i] = (float)i;
    OK(dp_tensor_new(DP_FLOAT32, device, 1, &n, NULL, &t, &err));
    OK(dp_tensor_write(t, values, &err));
    return t;
}

static void assert_floats(const dp_tensor *t, int n, const float *expected)
{
    float got[256];

    ck_assert_int_eq(t->geometry->numel, n);
    OK(dp_tensor_read(t, got, &err));
    for (int i = 0; i < n; i++)
        ck_assert_msg(got[i] == expected[i], "element %d: %g, expected %g", i, (double)got[i],
                      (double)expected[i]);
}

static void lies(const dp_tensor *t, const int64_t *strides)
{
    for (int d = 0; d < t->geometry->ndim; d++)
        ck_assert_int_eq(t->geometry->strides[d], strides[d]);
}

START_TEST(resized_elements_stay_in_memory_order)
{
    dp_tensor *t = floats(0, 6), *turned = NULL;
    uint64_t storage = dp_tensor_storage_id(t), version = dp_tensor_version(t);

    OK(dpi_resize(NULL, t, 2, SIZES(2, 2), DP_PRESERVE, &err));
    assert_floats(t, 4, (float[]){0, 1, 2, 3});
    OK(dpi_resize(NULL, t, 2, SIZES(2, 3), DP_PRESERVE,
                  &err)); /* what was left out is still there */
    assert_floats(t, 6, (float[]){0, 1, 2, 3, 4, 5});
    ck_assert_uint_eq(dp_tensor_storage_bytes(t), 24);
    OK(dpi_resize(NULL, t, 1, SIZES(300), DP_PRESERVE, &err));
    ck_assert_uint_eq(dp_tensor_storage_bytes(t), 1200);
    ck_assert_uint_eq(dp_tensor_storage_id(t), storage);
    OK(dpi_resize(NULL, t, 1, SIZES(3), DP_PRESERVE, &err));
    assert_floats(t, 3, (float[]){0, 1, 2});
    ck_assert_uint_eq(dp_tensor_version(t), version);
    dp_tensor_unref(t);

    OK(dp_tensor_new(DP_FLOAT32, 0, 2, SIZES(3, 2), SIZES(1, 3), &turned, &err));
    OK(dpi_resize(NULL, turned, 2, SIZES(3, 2), DP_PRESERVE, &err));
    lies(turned, SIZES(1, 3));
    OK(dpi_resize(NULL, turned, 2, SIZES(3, 2), DP_CONTIGUOUS, &err));
    lies(turned, SIZES(2, 1));
    OK(dpi_resize(NULL, turned, 4, SIZES(2, 3, 4, 5), DP_CHANNELS_LAST, &err));
    lies(turned, SIZES(60, 1, 15, 3));
    dp_tensor_unref(turned);
}
END_TEST

/* at::set_ shares one storage; a view that outgrows it takes the others along. */
START_TEST(views_take_part_in_a_growing_storage)
{
    dp_tensor *t = floats(0, 4), *view = NULL, *later = NULL;

    OK(dpi_as_strided(t, 1, SIZES(2), NULL, 1, &view, &err));
    OK(dpi_resize(NULL, view, 1, SIZES(500), DP_PRESERVE, &err));
    ck_assert_int_eq(dp_tensor_offset(view), 1);
    ck_assert_uint_eq(dp_tensor_storage_bytes(t), 501 * sizeof(float));
    OK(dpi_resize(NULL, view, 1, SIZES(2), DP_PRESERVE, &err));
    OK(dp_tensor_write(view, (float[]){10, 20}, &err));
    assert_floats(t, 4, (float[]){0, 10, 20, 3});
    OK(dpi_as_strided(t, 1, SIZES(1), NULL, 500, &later, &err));
    dp_tensor_unref(t);
    dp_tensor_unref(later);
    assert_floats(view, 2, (float[]){10, 20});
    dp_tensor_unref(view);
}
END_TEST

START_TEST(set_storage_swaps_storage_and_geometry)
{
    dp_tensor *t = floats(0, 2), *other = floats(0, 6), *doubles = NULL, *meta = NULL;
    uint64_t version = dp_tensor_version(t);

    dp_tensor_bump_version(other);

    OK(dpi_set_storage(NULL, t, other, 1, 2, SIZES(2, 2), SIZES(1, 2), &err));
    assert_floats(t, 4, (float[]){1, 3, 2, 4});
    ck_assert_uint_eq(dp_tensor_storage_id(t), dp_tensor_storage_id(other));
    ck_assert_uint_eq(dp_tensor_version(t), version);
    OK(dpi_set_storage(NULL, t, t, 0, 1, SIZES(3), NULL, &err)); /* its own */
    assert_floats(t, 3, (float[]){0, 1, 2});
    OK(dpi_set_storage(NULL, t, other, 5, 1, SIZES(3), NULL,
                       &err)); /* which grows, as in PyTorch */
    ck_assert_uint_eq(dp_tensor_storage_bytes(other), 32);
    OK(dp_tensor_new(DP_FLOAT64, 0, 0, NULL, NULL, &doubles, &err));
    FAILS(dpi_set_storage(NULL, t, doubles, 0, 0, NULL, NULL, &err), DP_ERUNTIME,
          "Expected a Storage of type float32, but got type float64");
    OK(dp_tensor_new(DP_FLOAT32, DP_DEVICE(DP_B_Meta, 0), 0, NULL, NULL, &meta, &err));
    FAILS(dpi_set_storage(NULL, t, meta, 0, 0, NULL, NULL, &err), DP_ERUNTIME, "different device");
    dp_tensor *fake = NULL;
    OK(dp_tensor_new(DP_FLOAT32, DPI_MEMORYLESS, 0, NULL, NULL, &fake, &err));
    FAILS(dpi_set_storage(NULL, t, fake, 0, 0, NULL, NULL, &err), DP_ERUNTIME, "to one without");
    OK(dpi_resize(NULL, fake, 1, SIZES(1000), DP_PRESERVE, &err));
    ck_assert_uint_eq(dp_tensor_storage_bytes(fake), 4000);
    dp_tensor *all[] = {t, other, doubles, meta, fake};
    for (size_t i = 0; i < DPI_COUNT(all); i++)
        dp_tensor_unref(all[i]);
}
END_TEST

START_TEST(what_cannot_be_is_refused_and_changes_nothing)
{
    float memory[] = {0, 1, 2, 3};
    dp_tensor *t = NULL;

    OK(dp_tensor_wrap(DP_FLOAT32, 1, SIZES(4), NULL, memory, sizeof(memory), NULL, NULL, &t, &err));
    FAILS(dpi_resize(NULL, t, 1, SIZES(5), DP_PRESERVE, &err), DP_ERUNTIME,
          "Trying to resize storage that is not resizable: 20 bytes are needed, it has 16");
    OK(dpi_resize(NULL, t, 1, SIZES(2), DP_PRESERVE, &err));
    FAILS(dpi_resize(NULL, t, 1, SIZES(-1), DP_PRESERVE, &err), DP_ERUNTIME,
          "negative dimension -1");
    FAILS(dpi_resize(NULL, t, 2, SIZES(INT64_MAX, 2), DP_PRESERVE, &err), DP_ERUNTIME, "int64");
    FAILS(dpi_resize(NULL, t, 1, SIZES((int64_t)1 << 57), DP_PRESERVE, &err), DP_ERESOURCE,
          "DP_LIMIT_STORAGE_BYTES");
    FAILS(dpi_resize(NULL, t, 2, SIZES(1, 1), DP_CHANNELS_LAST, &err), DP_ERUNTIME, "rank 4");
    assert_floats(t, 2, memory);
    dp_tensor_unref(t);
    t = floats(0, 2);
    for (int n = 3; n < 3 + DP_LIMIT_RESIZES; n++)
        OK(dpi_resize(NULL, t, 1, SIZES(n), DP_PRESERVE, &err));
    FAILS(dpi_resize(NULL, t, 1, SIZES(100), DP_PRESERVE, &err), DP_ERUNTIME, "DP_LIMIT_RESIZES");
    dp_tensor_unref(t);
}
END_TEST

START_TEST(no_memory_changes_nothing)
{
    dp_tensor *t = floats(0, 2);
    int failed = 0;

    for (uint64_t n = 1; n < 10; n++) {
        dp_fault_arm(n);
        int rc = dpi_resize(NULL, t, 1, SIZES(1000 * (int64_t)n), DP_PRESERVE, &err);
        dp_fault_arm(0);
        if (rc < 0) {
            failed++;
            ck_assert_int_eq(rc, DP_ERESOURCE);
            assert_floats(t, 2, (float[]){0, 1});
            continue;
        }
        ck_assert_int_eq(t->geometry->numel, 1000 * (int64_t)n);
        break;
    }
    ck_assert_int_gt(failed, 1);
    dp_tensor_unref(t);
}
END_TEST

START_TEST(memory_of_a_device_and_none_at_all)
{
    dpi_device *on;
    int bit;
    dp_tensor *t, *meta = NULL;

    OK(dpi_device_new("faultdev", &faultdev_ops, &on, &err));
    OK(dpi_backend_install("faultdev", "test", on, &bit, &err));
    t = floats(DP_DEVICE(bit, 0), 2);
    OK(dpi_resize(NULL, t, 1, SIZES(2000), DP_PRESERVE, &err));
    OK(dpi_resize(NULL, t, 1, SIZES(2), DP_PRESERVE, &err));
    assert_floats(t, 2, (float[]){0, 1});
    OK(dp_tensor_write(t, (float[]){5, 6}, &err));
    assert_floats(t, 2, (float[]){5, 6});
    faultdev.refuse = DP_EBUSY;
    FAILS(dpi_resize(NULL, t, 1, SIZES(4000), DP_PRESERVE, &err), DP_EBUSY, "told to refuse");
    faultdev.refuse = 0;
    dpi_device_end(on); /* what it was before it grew goes, too */
    dpi_device_unref(on);
    ck_assert_uint_eq(faultdev.live, 0);
    FAILS(dpi_resize(NULL, t, 1, SIZES(4000), DP_PRESERVE, &err), DP_ERUNTIME, "was unloaded");
    dp_tensor_unref(t);
    faultdev_close();
    OK(dp_tensor_new(DP_FLOAT32, DP_DEVICE(DP_B_Meta, 0), 1, SIZES(2), NULL, &meta, &err));
    OK(dpi_resize(NULL, meta, 1, SIZES((int64_t)1 << 40), DP_PRESERVE, &err));
    ck_assert_uint_eq(dp_tensor_storage_bytes(meta), (size_t)4 << 40);
    dp_tensor_unref(meta);
}
END_TEST

static void *grow(void *t)
{
    dp_error mine = DP_ERROR_INIT;
    int rc = dpi_resize(NULL, t, 1, SIZES(1000), DP_PRESERVE, &mine);

    ck_assert_msg(rc == DP_OK, "%s", mine.message);
    return NULL;
}

/* Of the same bytes, too: who writes with one view and reads with another sees what it wrote. */
START_TEST(a_call_keeps_the_bytes_it_began_with)
{
    dp_tensor *t = floats(0, 4), *view = NULL, *wide = NULL;
    pthread_t thread;

    OK(dpi_as_strided(t, 1, SIZES(2), NULL, 2, &view, &err));
    call_begins();
    const char *data = dpi_tensor_data(t);
    ck_assert_int_eq(pthread_create(&thread, NULL, grow, view), 0);
    pthread_join(thread, NULL);
    ck_assert_ptr_eq(dpi_tensor_data(t), data);
    ck_assert_ptr_eq(dpi_tensor_data(view), data + 8);
    ck_assert_uint_eq(dp_tensor_storage_bytes(t), 16);
    FAILS(dpi_as_strided(t, 1, SIZES(5), NULL, 0, &wide, &err), DP_ERUNTIME, "it has 16");
    FAILS(dpi_resize(NULL, view, 1, SIZES(3), DP_PRESERVE, &err), DP_ERUNTIME, "by another call");
    FAILS(dpi_resize(NULL, t, 1, SIZES(5), DP_PRESERVE, &err), DP_ERUNTIME,
          "a storage of 16 bytes was grown to 4008 by another call, since this one began");
    OK(dpi_resize(NULL, t, 1, SIZES(3), DP_PRESERVE, &err));
    call_ends();
    ck_assert_ptr_ne(dpi_tensor_data(t), data);
    assert_floats(t, 3, (float[]){0, 1, 2});
    ck_assert_uint_eq(dp_tensor_storage_bytes(t), 4008);
    dp_tensor_unref(t);
    dp_tensor_unref(view);
}
END_TEST

UNIT_SUITE(resize)
{
    tcase_add_checked_fixture(tc, alive_begin, alive_end);
    tcase_add_test(tc, resized_elements_stay_in_memory_order);
    tcase_add_test(tc, views_take_part_in_a_growing_storage);
    tcase_add_test(tc, set_storage_swaps_storage_and_geometry);
    tcase_add_test(tc, what_cannot_be_is_refused_and_changes_nothing);
    tcase_add_test(tc, no_memory_changes_nothing);
    tcase_add_test(tc, memory_of_a_device_and_none_at_all);
    tcase_add_test(tc, a_call_keeps_the_bytes_it_began_with);
}
