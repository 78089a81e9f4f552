/* test_fake.c -- tensors without memory. */
#include "fakes.h"

static void is_fake(const dp_tensor *t, dp_device device, int ndim, const int64_t *sizes,
                    const int64_t *strides)
{
    DP_VIEW(v, t);

    ck_assert_int_eq(v.device, device);
    ck_assert_int_eq(v.ndim, ndim);
    ck_assert_mem_eq(v.sizes, sizes, (size_t)ndim * sizeof(*sizes));
    ck_assert_mem_eq(v.strides, strides, (size_t)ndim * sizeof(*strides));
    ck_assert_ptr_null(v.data);
    ck_assert(dp_keyset_has(dp_tensor_keys(t), DP_KEY(DP_F_Fake)));
}

static const dp_keyset fake_mode = {DPI_BIT(Fake), 0}, nothing = {0, 0};

START_TEST(a_fake_is_its_tensor_without_memory)
{
    int64_t sizes[] = {2}, strides[] = {2};
    dp_tensor_stats with, now;
    dp_tensor *v, *f;
    char keys[256];
    float first;

    OK(dp_as_strided(ctx, x, 1, sizes, strides, 3, &v));
    dp_tensor_stats_get(&with);
    f = fake_of(v);
    dp_tensor_stats_get(&now);
    ck_assert_uint_eq(now.bytes, with.bytes);
    is_fake(f, DP_DEVICE_CPU, 1, sizes, strides);
    ck_assert_int_eq(dp_tensor_offset(f), 3);
    ck_assert_uint_eq(dp_tensor_storage_bytes(f), 6 * sizeof(float));
    ck_assert_uint_ne(dp_tensor_storage_id(f), dp_tensor_storage_id(v));
    ck_assert_str_eq(dp_keyset_print(dp_tensor_keys(f), keys, sizeof(keys)),
                     "AutogradCPU, ADInplaceOrView, Fake, CPU");
    ck_assert_int_eq(dp_tensor_read(f, &first, &err), DP_ENOTIMPL);
    ck_assert_str_eq(err.message,
                     "Cannot copy out of a tensor on cpu that has no memory; no data!");
    failed(dp_copy(ctx, v, f), DP_ENOTIMPL, "Cannot copy out of a tensor on cpu");
    dp_tensor_unref(f);
    dp_tensor_unref(v);
}
END_TEST

START_TEST(calls_of_fakes_make_fakes)
{
    int64_t square[] = {2, 2}, rows[] = {2, 1}, sizes[] = {2, 3}, strides[] = {1, 2}, flat = -1;
    int64_t six = 6, one = 1;
    dp_tensor *f = fake_of(x), *t, *product, *sum, *view;

    OK(dp_invoke(ctx, "aten::t", "T>T", f, &t));
    OK(dp_invoke(ctx, "aten::matmul", "TT>T", f, t, &product)); /* a composite */
    is_fake(product, DP_DEVICE_CPU, 2, square, rows);
    OK(dp_invoke(ctx, "aten::add.Tensor", "TT>T", f, x, &sum)); /* with memory and without */
    is_fake(sum, DP_DEVICE_CPU, 2, sizes, strides);
    OK(dp_invoke(ctx, "aten::reshape", "Tli>T", t, &flat, (size_t)1, &view));
    is_fake(view, DP_DEVICE_CPU, 1, &six, &one);
    ck_assert_uint_eq(dp_tensor_storage_id(view), dp_tensor_storage_id(f));
    OK(dp_invoke(ctx, "aten::add_.Tensor", "TT>", f, x));
    ck_assert_uint_eq(dp_tensor_version(f), 1);
    dp_tensor_unref(view);
    dp_tensor_unref(sum);
    dp_tensor_unref(product);
    dp_tensor_unref(t);
    dp_tensor_unref(f);
}
END_TEST

START_TEST(in_fake_mode_factories_make_fakes)
{
    int64_t sizes[] = {2, 3}, rows[] = {3, 1}, strides[] = {1, 2};
    dp_tensor *made, *sum, *real, *pinned;
    int depth = dp_guard_enter(ctx, fake_mode, nothing);

    ck_assert(dp_memoryless(ctx));
    OK(dp_invoke(ctx, "aten::ones", "li>T", sizes, (size_t)2, &made));
    is_fake(made, DP_DEVICE_CPU, 2, sizes, rows);
    OK(dp_invoke(ctx, "aten::add.Tensor", "TT>T", x, x, &sum)); /* of what has memory */
    is_fake(sum, DP_DEVICE_CPU, 2, sizes, strides);
    OK(dp_empty_pinned(ctx, DP_FLOAT32, DP_DEVICE_CPU, 2, sizes, &pinned));
    is_fake(pinned, DP_DEVICE_CPU, 2, sizes, rows);
    dp_tensor_unref(pinned);
    dp_guard_leave(ctx, depth);
    ck_assert(!dp_memoryless(ctx));
    OK(dp_invoke(ctx, "aten::ones", "li>T", sizes, (size_t)2, &real));
    DP_VIEW(v, real);
    ck_assert_ptr_nonnull(v.data);
    dp_tensor_unref(made);
    dp_tensor_unref(sum);
    dp_tensor_unref(real);
}
END_TEST

START_TEST(what_reads_values_is_refused_by_name)
{
    dp_tensor *f = fake_of(x), *one;
    dp_value v;

    OK(dp_invoke(ctx, "aten::sum", "T>T", f, &one));
    failed(dp_invoke(ctx, "aten::item", "T>s", one, &v), DP_ENOTIMPL,
           "aten::_local_scalar_dense: no kernel for Meta");
    failed(dp_invoke(ctx, "aten::item", "T>s", one, &v), DP_ENOTIMPL,
           "the one for CPU needs the bytes of its tensors");
    dp_tensor_unref(one);
    dp_tensor_unref(f);
}
END_TEST

/* It would keep what it held before. */
START_TEST(what_has_memory_is_not_written)
{
    int64_t sizes[] = {3}, stride[] = {1};
    dp_tensor *f = fake_of(x), *mean, *in, *out[3];

    failed(dp_invoke(ctx, "aten::add_.Tensor", "TT>", x, f), DP_ERUNTIME,
           "argument 'self' of aten::add_.Tensor has memory: a fake call cannot write to it");
    failed(dp_invoke(ctx, "aten::add.out", "TTsT>", f, f, dp_int(1), x), DP_ERUNTIME,
           "argument 'out' of aten::add.out has memory");
    ck_assert_uint_eq(dp_tensor_version(x), 0);
    /* and where a tag alone says that it is written */
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, sizes, stride, &mean, &err), 0);
    OK(dp_empty(ctx, DP_FLOAT32, DP_DEVICE_CPU, 2, (int64_t[]){4, 3}, DP_CONTIGUOUS, &in));
    dp_tensor *batch = fake_of(in);
    failed(dp_invoke(ctx, "aten::native_batch_norm", "ToToToToTbff>TTT", batch, NULL, NULL, mean,
                     mean, true, 0.1, 1e-5, &out[0], &out[1], &out[2]),
           DP_ERUNTIME, "argument 'running_mean' of aten::native_batch_norm has memory");
    dp_tensor_unref(batch);
    dp_tensor_unref(in);
    dp_tensor_unref(mean);
    dp_tensor_unref(f);
}
END_TEST

/* Else a kernel below would get what has no bytes. */
START_TEST(nothing_excludes_fake)
{
    dp_tensor *f = fake_of(x), *sum = NULL;
    int64_t sizes[] = {2, 3}, strides[] = {1, 2};

    dp_guard_enter(ctx, nothing, fake_mode);
    OK(dp_invoke(ctx, "aten::add.Tensor", "TT>T", f, f, &sum));
    is_fake(sum, DP_DEVICE_CPU, 2, sizes, strides);
    dp_tensor_unref(sum);
    dp_ctx_set_state(ctx, nothing, fake_mode, NULL);
    OK(dp_invoke(ctx, "aten::add.Tensor", "TT>T", f, f, &sum));
    is_fake(sum, DP_DEVICE_CPU, 2, sizes, strides);
    dp_tensor_unref(sum);
    dp_tensor_unref(f);
}
END_TEST

/* The kernels are the CPU's, the device is not; nor need it be there. */
START_TEST(fakes_of_another_backend_stay_there)
{
    int64_t sizes[] = {2, 3}, rows[] = {3, 1}, square[] = {2, 2}, pair[] = {2, 1};
    dp_tensor *real = NULL, *f, *t, *product, *zeros;
    static const dp_block b[] = {REC_PLAIN(DP_BLOCK_BACKEND, 0, 1, "fakenpu", "", NULL)};
    dp_unit *unit = rec_attach(reg, "npu", b, 1);
    dp_device npu = DP_DEVICE(dpi_backend_find("fakenpu"), 2);

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, npu, 2, sizes, NULL, &real, &err), DP_ERUNTIME);
    ck_assert_str_eq(err.message, "backend fakenpu has 1 device, there is no fakenpu:2");
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, npu | DPI_FAKE, 2, sizes, NULL, &real, &err), 0);
    f = fake_of(real);
    is_fake(f, npu, 2, sizes, rows);
    OK(dp_invoke(ctx, "aten::t", "T>T", f, &t));
    OK(dp_invoke(ctx, "aten::mm", "TT>T", f, t, &product));
    is_fake(product, npu, 2, square, pair);
    OK(dp_invoke(ctx, "aten::zeros_like", "T>T", f, &zeros));
    is_fake(zeros, npu, 2, sizes, rows);
    dp_tensor *all[] = {real, f, t, product, zeros};
    for (size_t i = 0; i < DPI_COUNT(all); i++)
        dp_tensor_unref(all[i]);
    rec_detach(reg, unit);
}
END_TEST

START_TEST(explain_goes_on_below_fake)
{
    dp_tensor *f = fake_of(x);
    dp_value args[] = {dp_tensor_value(f), dp_tensor_value(f)};
    dp_explanation e;
    dp_bound b;

    OK(dp_bind(ctx, "aten::mm", args, 2, NULL, 0, &b));
    OK(dp_explain(ctx, &b, arena, &e));
    ck_assert_uint_eq(e.n_path, 2);
    ck_assert_uint_eq(e.path[0].key, DP_KEY(DP_F_Fake));
    ck_assert_str_eq(e.path[0].from.plugin, "composite");
    ck_assert_uint_eq(e.path[1].key, DP_KEY_OF(DP_F_Dense, DP_B_Meta));
    ck_assert_str_eq(e.path[1].provenance, "cpu kernel without memory");
    ck_assert_str_eq(e.path[1].from.plugin, "cpu");
    dp_tensor_unref(f);
}
END_TEST

UNIT_SUITE(fake)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_fake_is_its_tensor_without_memory);
    tcase_add_test(tc, calls_of_fakes_make_fakes);
    tcase_add_test(tc, in_fake_mode_factories_make_fakes);
    tcase_add_test(tc, what_reads_values_is_refused_by_name);
    tcase_add_test(tc, what_has_memory_is_not_written);
    tcase_add_test(tc, nothing_excludes_fake);
    tcase_add_test(tc, fakes_of_another_backend_stay_there);
    tcase_add_test(tc, explain_goes_on_below_fake);
}
