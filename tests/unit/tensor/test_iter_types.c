/* test_iter_types.c -- which dtypes and which device a loop has. */
#include "loops.h"

/* 1000 elements are several chunks; the second operand is broadcast, so converted once a run. */
START_TEST(operands_of_other_dtypes_are_converted)
{
    static const dp_dtype dtypes[] = {DP_UINT8, DP_INT16, DP_INT64, DP_FLOAT16, DP_BFLOAT16};
    int64_t sizes[] = {10, 100}, column[] = {10, 1};

    for (size_t i = 0; i < DPI_COUNT(dtypes); i++) {
        dp_tensor *in[2] = {counting(DP_FLOAT32, 2, sizes), counting(dtypes[i], 2, column)};
        dp_tensor *out[1] = {NULL};
        dp_iter it;
        ck_assert_int_eq(init(out, 1, in, 2, DP_ITER_PROMOTE, DP_DTYPE_NONE, &it), DP_OK);
        ck_assert_int_eq(it.dtype, DP_FLOAT32);
        ck_assert_int_eq(it.numel, 1000);
        ck_assert_int_eq(dpi_iter_run_1d(&it, 0, add_float, NULL, NULL, &err), DP_OK);
        for (int64_t k = 0; k < 1000; k += 37)
            ck_assert_double_eq(element(out[0], k), (double)(k + k / 100));
        dp_tensor_unref(in[0]);
        dp_tensor_unref(in[1]);
        dp_tensor_unref(out[0]);
    }
}
END_TEST

START_TEST(integers_become_float32_when_asked)
{
    int64_t sizes[] = {4};
    dp_tensor *in[2] = {counting(DP_INT32, 1, sizes), counting(DP_BOOL, 1, sizes)},
              *out[1] = {NULL};
    dp_iter it;

    ck_assert_int_eq(
        init(out, 1, in, 2, DP_ITER_PROMOTE | DP_ITER_INT_TO_FLOAT, DP_DTYPE_NONE, &it), DP_OK);
    ck_assert_int_eq(out[0]->dtype, DP_FLOAT32);
    ck_assert_int_eq(dpi_iter_run_1d(&it, 1, add_float, NULL, NULL, &err), DP_OK);
    ck_assert_double_eq(element(out[0], 3), 4);
    for (int i = 0; i < 2; i++)
        dp_tensor_unref(in[i]);
    dp_tensor_unref(out[0]);
}
END_TEST

/* int16 += float32 would lose; float16 += float32 is rounded back, in place. */
START_TEST(given_outputs_are_cast_when_they_can_be)
{
    int64_t sizes[] = {600};
    dp_tensor *out[1] = {counting(DP_FLOAT16, 1, sizes)};
    dp_tensor *in[2] = {out[0], counting(DP_FLOAT32, 1, sizes)};
    uint32_t flags = DP_ITER_PROMOTE | DP_ITER_CAST_OUTPUTS;
    dp_iter it;

    ck_assert_int_eq(init(out, 1, in, 2, DP_ITER_PROMOTE, DP_DTYPE_NONE, &it), DP_ERUNTIME);
    ck_assert_int_eq(init(out, 1, in, 2, flags, DP_DTYPE_NONE, &it), DP_OK);
    ck_assert_int_eq(dpi_iter_run_1d(&it, 1, add_float, NULL, NULL, &err), DP_OK);
    ck_assert_double_eq(element(out[0], 599), 1198);
    dp_tensor_unref(out[0]);

    out[0] = counting(DP_INT64, 1, sizes);
    in[0] = in[1];
    ck_assert_int_eq(init(out, 1, in, 2, flags, DP_DTYPE_NONE, &it), DP_ERUNTIME);
    ck_assert_str_eq(err.message,
                     "result type float32 can't be cast to the desired output type int64");
    dp_tensor_unref(out[0]);
    dp_tensor_unref(in[1]);
}
END_TEST

static void less(char *const *data, const int64_t *s, int64_t n, void *user)
{
    (void)user;
    for (int64_t i = 0; i < n; i++)
        *(bool *)(data[0] + i * s[0]) =
            *(float *)(data[1] + i * s[1]) < *(float *)(data[2] + i * s[2]);
}

START_TEST(a_loop_may_write_another_dtype_than_it_reads)
{
    int64_t sizes[] = {2, 300};
    dp_tensor *in[2] = {counting(DP_INT64, 2, sizes), counting(DP_FLOAT32, 0, NULL)};
    dp_tensor *out[1] = {NULL}, *given[1] = {counting(DP_FLOAT64, 2, sizes)};
    uint32_t flags = DP_ITER_PROMOTE | DP_ITER_CAST_OUTPUTS;
    dp_iter it;

    ck_assert_int_eq(init(out, 1, in, 2, flags, DP_BOOL, &it), DP_OK);
    ck_assert_int_eq(out[0]->dtype, DP_BOOL);
    ck_assert_int_eq(dpi_iter_run_1d(&it, 1, less, NULL, NULL, &err), DP_OK);
    ck_assert_double_eq(element(out[0], 0), 0);
    ck_assert_int_eq(init(given, 1, in, 2, flags, DP_BOOL, &it), DP_OK);
    ck_assert_int_eq(dpi_iter_run_1d(&it, 1, less, NULL, NULL, &err), DP_OK);
    ck_assert_double_eq(element(given[0], 599), 0);
    dp_tensor_unref(in[0]);
    dp_tensor_unref(in[1]);
    dp_tensor_unref(out[0]);
    dp_tensor_unref(given[0]);
}
END_TEST

START_TEST(dtypes_there_are_none_of_are_refused_with_their_part)
{
    dp_tensor *a = counting(DP_FLOAT32, 0, NULL), *ins[2] = {a, a}, *outs[1] = {NULL};
    dp_arena *own = dp_arena_new();
    dp_iter it;
    dp_iter_config c = dp_iter_of(0, 1, outs, 2, ins);

    it.size = sizeof(it);
    c.common_dtype = dp_some_dtype(77);

    ck_assert_int_eq(dpi_iter_init(&c, false, NULL, own, &it, &err), DP_ETYPE);
    ck_assert_str_eq(err.message, "a loop is to compute in dtype number 77, which no dtype has");
    c.common_dtype = dp_some_dtype(DP_FLOAT32);
    c.out_dtype = dp_some_dtype(8);
    ck_assert_int_eq(dpi_iter_init(&c, false, NULL, own, &it, &err), DP_ETYPE);
    ck_assert_str_eq(err.message,
                     "a loop over float32 is to write dtype number 8, which no dtype has");
    ck_assert_ptr_null(outs[0]);
    dp_tensor_unref(a);
    dp_arena_free(own);
}
END_TEST

START_TEST(dtypes_must_agree_when_asked)
{
    dp_tensor *a = counting(DP_FLOAT32, 0, NULL), *b = counting(DP_INT8, 0, NULL);

    refused(NULL, a, b, DP_ITER_UNARY, DP_ERUNTIME, "Found dtype int8 but expected float32");
    dp_tensor_unref(a);
    dp_tensor_unref(b);
}
END_TEST

START_TEST(loops_stay_on_one_device_that_the_host_can_reach)
{
    int64_t sizes[] = {3};
    int near, far;
    dp_tensor *a = NULL, *b = NULL, *x = counting(DP_FLOAT32, 1, sizes), *outs[1] = {NULL};
    dp_tensor *scalar = counting(DP_FLOAT32, 0, NULL), *ins[2], *meta = NULL;
    dp_iter it;

    ck_assert_int_eq(dpi_backend_register("nearby", "test", NULL, &near, &err), DP_OK);
    ck_assert_int_eq(dpi_backend_register("faultdev", "test", &faultdev_ops, &far, &err), DP_OK);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE(near, 0), 1, sizes, NULL, &a, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE(far, 1), 1, sizes, NULL, &b, &err), 0);
    ck_assert_int_eq(
        dp_tensor_new(DP_FLOAT32, DP_DEVICE(DP_B_Meta, 0), 1, sizes, NULL, &meta, &err), 0);
    ck_assert_int_eq(dpi_copy(a, x, 0, &err), DP_OK);
    refused(NULL, a, b, 0, DP_ERUNTIME,
            "Expected all tensors to be on the same device, but found at least two devices, "
            "nearby:0 and faultdev:1!");
    refused(NULL, x, a, 0, DP_ERUNTIME,
            "Expected all tensors to be on the same device, but found at least two devices, "
            "nearby:0 and cpu!");
    refused(NULL, b, b, 0, DP_ERUNTIME,
            "elementwise loops run on the host, which cannot reach the memory of faultdev:1; for a "
            "loop on the device, dp_result_type(), dp_broadcast_shapes() and dp_set_output() "
            "give dtype, sizes and output");
    ins[0] = scalar;
    ins[1] = a;
    ck_assert_int_eq(init(outs, 1, ins, 2, 0, DP_DTYPE_NONE, &it), DP_ERUNTIME);
    ck_assert_int_eq(init(outs, 1, ins, 2, DP_ITER_CPU_SCALARS, DP_DTYPE_NONE, &it), DP_OK);
    ck_assert_int_eq(outs[0]->geometry->storage->device, DP_DEVICE(near, 0));
    ck_assert_int_eq(dpi_iter_run_1d(&it, 1, add_float, NULL, NULL, &err), DP_OK);
    ck_assert_double_eq(element(outs[0], 2), 2);
    outs[0] = dp_tensor_unref(outs[0]);
    ins[0] = ins[1] = meta;
    ck_assert_int_eq(init(outs, 1, ins, 2, 0, DP_DTYPE_NONE, &it), DP_OK);
    ck_assert_int_eq(dpi_iter_run_1d(&it, 1, add_float, NULL, NULL, &err), DP_OK);
    outs[0] = dp_tensor_unref(outs[0]);
    ins[0] = ins[1] = a;
    ck_assert_int_eq(init(outs, 1, ins, 2, 0, DP_DTYPE_NONE, &it), DP_OK);
    dpi_backend_unregister(near);
    ck_assert_int_eq(dpi_iter_run_1d(&it, 1, add_float, NULL, NULL, &err), DP_ERUNTIME);
    ck_assert_str_eq(err.message, "backend nearby was unloaded");
    dp_tensor *all[] = {a, b, x, scalar, meta, outs[0]};
    for (size_t i = 0; i < DPI_COUNT(all); i++)
        dp_tensor_unref(all[i]);
    dpi_backend_unregister(far);
    ck_assert_uint_eq(faultdev.live, 0);
    faultdev_close();
}
END_TEST

UNIT_SUITE(iter_types)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, operands_of_other_dtypes_are_converted);
    tcase_add_test(tc, integers_become_float32_when_asked);
    tcase_add_test(tc, given_outputs_are_cast_when_they_can_be);
    tcase_add_test(tc, a_loop_may_write_another_dtype_than_it_reads);
    tcase_add_test(tc, dtypes_must_agree_when_asked);
    tcase_add_test(tc, loops_stay_on_one_device_that_the_host_can_reach);
    tcase_add_test(tc, dtypes_there_are_none_of_are_refused_with_their_part);
}
