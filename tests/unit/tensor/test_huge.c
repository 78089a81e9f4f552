/* test_huge.c -- tensors with more elements than memory has. */
#include "huge.h"
#include <dispatchd/iter.h>

static dp_tensor *expanded(dp_dtype dtype, int64_t n)
{
    dp_tensor *t = NULL;
    int64_t stride = 0;

    ck_assert_int_eq(dp_tensor_new(dtype, 0, 1, &n, &stride, &t, &err), DP_OK);
    return t;
}

/* Their bytes are 2^64, or more than memory can have. */
START_TEST(elements_beyond_memory_are_neither_read_nor_written)
{
    static const struct {
        dp_dtype dtype;
        int64_t n;
    } rows[] = {
        {DP_FLOAT64, BIG}, {DP_FLOAT32, 2 * BIG}, {DP_COMPLEX128, BIG / 2},
        {DP_INT8, BIG},    {DP_FLOAT64, BIG / 4},
    };
    char untouched[64] = {0};

    for (size_t i = 0; i < DPI_COUNT(rows); i++) {
        dp_tensor *t = expanded(rows[i].dtype, rows[i].n), *packed = NULL;
        ck_assert_msg(dp_tensor_read(t, untouched, &err) == DP_ERESOURCE, "row %zu", i);
        ck_assert_msg(strstr(err.message, "DP_LIMIT_STORAGE_BYTES"), "row %zu: %s", i, err.message);
        for (int f = DP_CONTIGUOUS; f <= DP_PRESERVE; f++)
            ck_assert_msg(dpi_empty_like(t, DP_DTYPE_NONE, (dpi_target){0}, f, &packed, &err) ==
                              DP_ERESOURCE,
                          "row %zu, format %d", i, f);
        dp_tensor_unref(t);
    }
    int64_t sizes[32], ones[32]; /* elements that overlap, too many to count as such */
    for (int d = 0; d < 31; d++)
        sizes[d] = 4, ones[d] = 1;
    dp_tensor *t = NULL;
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT64, 0, 31, sizes, ones, &t, &err), DP_OK);
    ck_assert_int_eq(dp_tensor_write(t, untouched, &err), DP_ERESOURCE);
    dp_tensor_unref(t);
}
END_TEST

START_TEST(new_tensors_are_bounded_by_a_name)
{
    int64_t sizes[] = {1, BIG / 4, 1, 1};
    dp_tensor *t = NULL;

    for (int f = DP_CONTIGUOUS; f <= DP_CHANNELS_LAST; f += DP_CHANNELS_LAST) {
        ck_assert_int_eq(dpi_empty(DP_FLOAT64, (dpi_target){0}, 4, sizes, f, &t, &err),
                         DP_ERESOURCE);
        ck_assert_str_eq(err.message,
                         "sizes [1, 576460752303423488, 1, 1] with items of 8 bytes come to "
                         "4611686018427387904 bytes, the limit is 288230376151711744 "
                         "(DP_LIMIT_STORAGE_BYTES)");
    }
}
END_TEST

/* Of tensors without elements strides are any numbers: nothing is to be made of them. */
START_TEST(strides_without_elements_are_not_multiplied)
{
    int64_t sizes[] = {0, 8, 4, 2}, strides[] = {5, (int64_t)1 << 62, 3, 3}, n = 5, one = 1;
    dp_tensor *t = NULL, *v = NULL;

    ck_assert_int_eq(dp_tensor_new(DP_INT8, 0, 1, &n, &one, &t, &err), DP_OK);
    ck_assert_int_eq(dpi_as_strided(t, 4, sizes, strides, 0, &v, &err), DP_OK);
    ck_assert_int_eq(dp_tensor_suggest_format(v), DP_CONTIGUOUS);
    dp_tensor_unref(v);
    dp_tensor_unref(t);
}
END_TEST

/* 2^62 elements that are one, then two apart: what does not tile them is told without a product. */
START_TEST(view_strides_of_huge_views_do_not_wrap)
{
    int64_t sizes[] = {(int64_t)1 << 61, 2}, strides[] = {0, 8}, out[3];
    int64_t other[] = {2, 1, (int64_t)1 << 61}, same[] = {(int64_t)1 << 61, 1, 2};
    dp_tensor *t = NULL;

    ck_assert_int_eq(dp_tensor_new(DP_INT8, 0, 2, sizes, strides, &t, &err), DP_OK);
    ck_assert(!dp_view_strides(t, 3, other, out));
    ck_assert(dp_view_strides(t, 3, same, out));
    ck_assert_int_eq(out[0], 0);
    ck_assert_int_eq(out[2], 8);
    dp_tensor_unref(t);
}
END_TEST

/* One step past the end of the widest geometry, in bytes of the largest dtype. */
START_TEST(nests_of_the_widest_geometry_do_not_wrap)
{
    int64_t sizes[] = {2, 1, 2}, strides[] = {DP_LIMIT_STORAGE_BYTES - 2, INT64_MAX, 1};
    dp_arena *a = dp_arena_new();
    dp_device meta = DP_DEVICE(DP_B_Meta, 0);
    dp_tensor *x = NULL, *y = NULL;

    ck_assert_int_eq(dp_tensor_new(DP_COMPLEX128, meta, 3, sizes, strides, &x, &err), DP_OK);
    dp_tensor *ins[] = {x, x};
    dp_iter_config c = dp_iter_of(DP_ITER_BINARY, 1, &y, 2, ins);
    dp_iter it = {.size = sizeof(it)};
    ck_assert_int_eq(dpi_iter_init(&c, false, NULL, a, &it, &err), DP_OK);
    ck_assert_int_eq(it.numel, 4);
    dp_tensor_unref(y);
    strides[0]++;
    ck_assert_int_eq(dp_tensor_new(DP_COMPLEX128, meta, 3, sizes, strides, &y, &err), DP_ERUNTIME);
    dp_tensor_unref(x);
    dp_arena_free(a);
}
END_TEST

UNIT_SUITE(huge)
{
    tcase_add_test(tc, elements_beyond_memory_are_neither_read_nor_written);
    tcase_add_test(tc, new_tensors_are_bounded_by_a_name);
    tcase_add_test(tc, strides_without_elements_are_not_multiplied);
    tcase_add_test(tc, view_strides_of_huge_views_do_not_wrap);
    tcase_add_test(tc, nests_of_the_widest_geometry_do_not_wrap);
}
