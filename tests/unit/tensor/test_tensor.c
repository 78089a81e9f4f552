/* test_tensor.c -- making tensors, and what fails. */
#include "tensors.h"

START_TEST(new_has_keys_geometry_and_zero_version)
{
    int64_t sizes[] = {2, 3};
    dp_tensor *t = make(DP_INT16, DP_DEVICE_CPU, 2, sizes);
    dp_view v = {.size = sizeof(v)};
    char keys[256];

    dp_tensor_view(t, &v);
    ck_assert_int_eq(v.dtype, DP_INT16);
    ck_assert_int_eq(v.ndim, 2);
    ck_assert_int_eq(v.numel, 6);
    ck_assert_int_eq(v.strides[0], 3);
    ck_assert_uint_eq((uintptr_t)v.data % 64, 0);
    ck_assert_uint_eq(dp_tensor_storage_bytes(t), 12);
    ck_assert_int_eq(dp_tensor_offset(t), 0);
    ck_assert_uint_eq(dp_tensor_version(t), 0);
    ck_assert_str_eq(dp_keyset_print(dp_tensor_keys(t), keys, sizeof(keys)),
                     "AutogradCPU, ADInplaceOrView, CPU");
    ck_assert_ptr_eq(dp_tensor_ref(t), t);
    ck_assert_ptr_null(dp_tensor_unref(t));
    ck_assert_ptr_null(dp_tensor_unref(t));
    ck_assert_ptr_null(dp_tensor_unref(NULL));
}
END_TEST

START_TEST(empty_and_zero_dim_tensors_work)
{
    int64_t none[] = {3, 0, 2};
    dp_tensor *e = make(DP_FLOAT32, DP_DEVICE_CPU, 3, none), *z = floats(0, NULL);

    ck_assert_uint_eq(dp_tensor_storage_bytes(e), 0);
    OK(dp_tensor_read(e, NULL, &err));
    OK(dp_tensor_write(e, NULL, &err));
    assert_floats(z, 1, (float[]){0});
    OK(dpi_copy(e, z, 0, &err)); /* broadcast to nothing */
    dp_tensor_unref(e);
    dp_tensor_unref(z);
}
END_TEST

START_TEST(strangers_are_named)
{
    int64_t huge[] = {(int64_t)1 << 50};
    dp_tensor *t = NULL;

    FAILS(dp_tensor_new(8, 0, 0, NULL, NULL, &t, &err), DP_ETYPE, "dtype complex32 is PyTorch");
    FAILS(dp_tensor_new(DP_INT8, DP_DEVICE(DP_B_CUDA, 0), 0, NULL, NULL, &t, &err), DP_ERUNTIME,
          "CUDA");
    FAILS(dp_tensor_new(DP_INT8, DP_DEVICE(40, 0), 0, NULL, NULL, &t, &err), DP_ERUNTIME, "");
    FAILS(dp_tensor_new(DP_INT8, 0, 1, huge, NULL, &t, &err), DP_ERESOURCE,
          "out of memory: 1125899906842624 bytes for a tensor on cpu");
    ck_assert_ptr_null(t);
}
END_TEST

static int do_new(const dp_tensor *t, dp_tensor **out)
{
    return dp_tensor_new(DP_INT8, 0, t->geometry->ndim, t->geometry->sizes, NULL, out, &err);
}
static int do_empty_like(const dp_tensor *t, dp_tensor **out)
{
    return dpi_empty_like(t, DP_INT8, (dpi_target){0}, DP_PRESERVE, out, &err);
}
static int do_view(const dp_tensor *t, dp_tensor **out)
{
    return dpi_as_strided(t, 2, t->geometry->sizes, t->geometry->strides, 0, out, &err);
}
static int do_alias(const dp_tensor *t, dp_tensor **out)
{
    return dp_tensor_alias(t, out, &err);
}
static int do_detached(const dp_tensor *t, dp_tensor **out)
{
    return dp_tensor_detached(t, out, &err);
}
static int do_scalar(const dp_tensor *t, dp_tensor **out)
{
    (void)t;
    return dpi_scalar_tensor(NULL, dp_int(1), DP_DTYPE_NONE, out, &err);
}
static int do_wrap(const dp_tensor *t, dp_tensor **out)
{
    static _Alignas(64) char memory[64];
    return dp_tensor_wrap(DP_INT8, t->geometry->ndim, t->geometry->sizes, NULL, memory,
                          sizeof(memory), NULL, NULL, out, &err);
}
static int do_device(const dp_tensor *t, dp_tensor **out)
{
    dp_tensor *there = NULL;
    int rc = dp_tensor_new(DP_INT8, DP_DEVICE(device_bit, 0), t->geometry->ndim, t->geometry->sizes,
                           NULL, &there, &err);
    if (rc == DP_OK)
        rc = dpi_copy(there, t, 0, &err);
    if (rc == DP_OK)
        *out = there;
    else
        dp_tensor_unref(there);
    return rc;
}

/* Every allocation in turn fails. */
START_TEST(no_memory_is_an_error_and_changes_nothing)
{
    static int (*const makers[])(const dp_tensor *, dp_tensor **) = {
        do_new, do_empty_like, do_view, do_alias, do_detached, do_scalar, do_wrap, do_device};
    int64_t sizes[] = {3, 2};
    dp_tensor *t = floats(2, sizes);
    dp_tensor_stats start, now;

    open_device(0);
    dp_tensor_stats_get(&start);
    for (uint64_t n = 1;; n++) {
        dp_tensor *out = NULL;
        dp_error_clear(&err);
        dp_fault_arm(n);
        int rc = makers[_i](t, &out);
        bool hit = dp_fault_hit();
        dp_fault_arm(0);
        dp_tensor_unref(out);
        dp_tensor_stats_get(&now);
        ck_assert_uint_eq(now.tensors, start.tensors);
        ck_assert_uint_eq(now.bytes, start.bytes);
        ck_assert_int_eq(rc, hit ? DP_ERESOURCE : DP_OK);
        if (!hit)
            break;
        ck_assert_ptr_null(out);
        ck_assert(strstr(err.message, "out of memory"));
    }
    dp_tensor_unref(t);
    close_device();
}
END_TEST

static void *ref_and_make(void *arg)
{
    dp_tensor *t = arg;

    for (int i = 0; i < 2000; i++) {
        dp_tensor *mine = NULL;
        dp_error local = DP_ERROR_INIT;
        dp_tensor_ref(t);
        if (dpi_empty_like(t, DP_DTYPE_NONE, (dpi_target){0}, DP_PRESERVE, &mine, &local) == DP_OK)
            dpi_copy(mine, t, 0, &local);
        dp_tensor_unref(mine);
        dp_tensor_unref(t);
    }
    return NULL;
}

START_TEST(threads_share_tensors)
{
    int64_t sizes[] = {5, 5};
    dp_tensor *t = floats(2, sizes);
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, ref_and_make, t);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(t->refs, 1);
    dp_tensor_unref(t);
}
END_TEST

START_TEST(a_detached_tensor_shares_memory_and_version_alone)
{
    int64_t sizes[] = {2, 2}, row[] = {2}, step[] = {1}, other[] = {4};
    dp_tensor *t = floats(2, sizes), *view = NULL, *d = NULL;

    OK(dpi_as_strided(t, 1, row, step, 2, &view, &err));
    dpi_tensor_join(view, t, false, DP_CREATED_DEFAULT);
    view->keys.functionality |= DPI_MATH_BITS; /* as a view of conj() and of neg() */
    OK(dp_tensor_detached(view, &d, &err));
    ck_assert_ptr_null(dp_tensor_root(d));
    ck_assert_uint_eq(dpi_math_bits(d), DPI_MATH_BITS);
    d->keys.functionality &= ~DPI_MATH_BITS;
    assert_floats(d, 2, (float[]){2, 3});
    OK(dp_tensor_write(d, (float[]){8, 9}, &err));
    ck_assert_uint_eq(dp_tensor_version(t), 1);
    assert_floats(t, 4, (float[]){0, 1, 8, 9});
    OK(dpi_resize(NULL, t, 1, other, DP_PRESERVE, &err));
    assert_floats(d, 2, (float[]){8, 9});
    dp_tensor_unref(t);
    dp_tensor_unref(view);
    dp_tensor_unref(d);
}
END_TEST

UNIT_SUITE(tensor)
{
    tcase_add_checked_fixture(tc, alive_begin, alive_end);
    tcase_add_test(tc, new_has_keys_geometry_and_zero_version);
    tcase_add_test(tc, empty_and_zero_dim_tensors_work);
    tcase_add_test(tc, strangers_are_named);
    tcase_add_loop_test(tc, no_memory_is_an_error_and_changes_nothing, 0, 8);
    tcase_add_test(tc, a_detached_tensor_shares_memory_and_version_alone);
    tcase_add_test(tc, threads_share_tensors);
}
