/* test_layout.c -- strides, flags, formats and views, against PyTorch's answers. */
#include "tensor_cases.h"

static dp_error err = DP_ERROR_INIT;

START_TEST(empty_like_preserves_as_pytorch_does)
{
    cases c = cases_open();
    int n = 0;

    for (; cases_next(&c, "like"); n++) {
        dp_tensor *out = NULL;
        dp_tensor *t = tensor_of(DP_FLOAT32, numbers_read(c.fields[1]), numbers_read(c.fields[2]));
        numbers flags = numbers_read(c.fields[4]);
        ck_assert_int_eq(dpi_empty_like(t, DP_DTYPE_NONE, (dpi_target){0}, DP_PRESERVE, &out, &err),
                         DP_OK);
        assert_strides(&c, out, c.fields[3]);
        ck_assert_int_eq(dp_tensor_is_contiguous(t, DP_CONTIGUOUS), flags.at[0]);
        ck_assert_int_eq(dp_tensor_is_contiguous(t, DP_CHANNELS_LAST), flags.at[1]);
        ck_assert_int_eq(dp_tensor_is_contiguous(t, DP_CHANNELS_LAST_3D), flags.at[2]);
        ck_assert(dp_tensor_is_dense(out));
        dp_tensor_unref(out);
        dp_tensor_unref(t);
    }
    ck_assert_int_eq(n, 250);
}
END_TEST

START_TEST(empty_has_the_formats_strides)
{
    cases c = cases_open();
    int n = 0;

    for (; cases_next(&c, "format"); n++) {
        numbers sizes = numbers_read(c.fields[2]);
        dp_tensor *t = NULL;
        int rc =
            dpi_empty(DP_UINT8, (dpi_target){0}, sizes.n, sizes.at, atoi(c.fields[1]), &t, &err);
        ck_assert_int_eq(rc, DP_OK);
        assert_strides(&c, t, c.fields[3]);
        dp_tensor_unref(t);
    }
    ck_assert_int_gt(n, 30);
}
END_TEST

START_TEST(unbatched_channels_last_is_without_n)
{
    int64_t sizes[] = {3, 4, 5};
    dp_tensor *t = NULL;

    ck_assert_int_eq(dpi_empty(DP_UINT8, (dpi_target){0}, 3, sizes, DP_CHANNELS_LAST, &t, &err),
                     DP_OK);
    ck_assert_int_eq(t->geometry->strides[0], 1);
    ck_assert_int_eq(t->geometry->strides[1], 15);
    ck_assert_int_eq(t->geometry->strides[2], 3);
    dp_tensor_unref(t);
}
END_TEST

START_TEST(suggest_format_is_pytorchs)
{
    cases c = cases_open();
    int n = 0;

    for (; cases_next(&c, "suggest"); n++) {
        dp_tensor *t = tensor_of(DP_FLOAT32, numbers_read(c.fields[1]), numbers_read(c.fields[2]));
        ck_assert_msg(dp_tensor_suggest_format(t) == atoi(c.fields[3]),
                      "line %d: %d, PyTorch has %s", c.line, dp_tensor_suggest_format(t),
                      c.fields[3]);
        dp_tensor_unref(t);
    }
    ck_assert_int_eq(n, 150);
}
END_TEST

START_TEST(view_strides_are_pytorchs)
{
    cases c = cases_open();
    int n = 0;

    for (; cases_next(&c, "view"); n++) {
        dp_tensor *t = tensor_of(DP_FLOAT32, numbers_read(c.fields[1]), numbers_read(c.fields[2]));
        numbers sizes = numbers_read(c.fields[3]);
        int64_t strides[DP_DIM_MAX];
        char buf[512];
        bool ok = dp_view_strides(t, sizes.n, sizes.at, strides);
        const char *got = ok ? numbers_print(sizes.n, strides, buf) : "none";
        ck_assert_msg(strcmp(got, c.fields[4]) == 0, "line %d: %s, PyTorch has %s", c.line, got,
                      c.fields[4]);
        dp_tensor *made;
        ck_assert_int_eq(dpi_view_sizes(t, sizes.n, sizes.at, &made, &err), 0);
        ck_assert_int_eq(made != NULL, ok);
        if (ok) {
            DP_VIEW(v, made);
            got = numbers_print(v.ndim, v.strides, buf);
            ck_assert_msg(strcmp(got, c.fields[4]) == 0,
                          "line %d: a view of strides %s, PyTorch has %s", c.line, got,
                          c.fields[4]);
            ck_assert_mem_eq(v.sizes, sizes.at, (size_t)v.ndim * sizeof(int64_t));
        }
        dp_tensor_unref(made);
        dp_tensor_unref(t);
    }
    ck_assert_int_eq(n, 350);
}
END_TEST

START_TEST(view_needs_as_many_elements)
{
    numbers six = {2, {2, 3}}, strides = {2, {3, 1}};
    dp_tensor *t = tensor_of(DP_INT8, six, strides);
    int64_t five[] = {5}, bad[] = {-6}, out[1];

    ck_assert(!dp_view_strides(t, 1, five, out));
    ck_assert(!dp_view_strides(t, 1, bad, out));
    dp_tensor_unref(t);
}
END_TEST

/* Strides of size-1 dimensions are free in a flag, and no two elements may share memory. */
START_TEST(dense_is_packed_in_some_order)
{
    static const struct {
        numbers sizes, strides;
        bool dense;
        int overlap;
    } rows[] = {
        {{0}, {0}, true, 0},
        {{1, {1}}, {1, {7}}, true, 0},
        {{2, {2, 3}}, {2, {1, 2}}, true, 0},
        {{2, {2, 3}}, {2, {4, 1}}, false, 2},
        {{2, {2, 3}}, {2, {0, 1}}, false, 1},
        {{3, {2, 1, 3}}, {3, {3, 99, 1}}, true, 0},
        {{2, {0, 3}}, {2, {8, 8}}, true, 0},
    };

    for (size_t i = 0; i < DPI_COUNT(rows); i++) {
        dp_tensor *t = tensor_of(DP_INT8, rows[i].sizes, rows[i].strides);
        ck_assert_msg(dp_tensor_is_dense(t) == rows[i].dense, "row %zu", i);
        ck_assert_msg(dp_internal_overlap(t) == rows[i].overlap, "row %zu", i);
        dp_tensor_unref(t);
    }
}
END_TEST

START_TEST(strides_wrap_where_there_are_no_elements)
{
    const int64_t large = (int64_t)1 << 40;
    const struct {
        int64_t sizes[3], strides[3];
    } rows[] = {
        {{0, large, large}, {0, large, 1}},
        {{0, INT64_MAX, INT64_MAX}, {1, INT64_MAX, 1}},
        {{4, (int64_t)1 << 61, 0}, {(int64_t)1 << 61, 1, 1}},
    };

    for (size_t i = 0; i < DPI_COUNT(rows); i++) {
        dp_tensor *t = NULL;
        ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, 0, 3, rows[i].sizes, NULL, &t, &err), DP_OK);
        const dpi_geometry *g = dpi_geometry_of(t);
        ck_assert_int_eq(g->numel, 0);
        for (int d = 0; d < 3; d++)
            ck_assert_msg(g->strides[d] == rows[i].strides[d],
                          "row %zu: stride %d is %lld, want %lld", i, d, (long long)g->strides[d],
                          (long long)rows[i].strides[d]);
        dp_tensor_unref(t);
    }
}
END_TEST

START_TEST(impossible_geometry_is_refused_by_name)
{
    static const struct {
        numbers sizes, strides;
        int64_t offset;
        int code;
        const char *message;
    } rows[] = {
        {{2, {2, -1}}, {2, {1, 1}}, 0, DP_ERUNTIME, "negative dimension -1: [2, -1]"},
        {{1, {2}}, {1, {-1}}, 0, DP_ERUNTIME, "negative strides are not supported, got [-1]"},
        {{1, {2}}, {1, {1}}, -3, DP_ERUNTIME, "storage offset -3 is negative"},
        {{2, {(int64_t)1 << 32, (int64_t)1 << 32}},
         {2, {1, 1}},
         0,
         DP_ERUNTIME,
         "more elements than"},
        {{3, {INT64_MAX, 3, 0}}, {3, {1, 1, 1}}, 0, DP_ERUNTIME, "more elements than"},
        {{1, {3}}, {1, {INT64_MAX}}, 0, DP_ERUNTIME, "reach beyond any storage"},
        {{1, {3}}, {1, {1}}, INT64_MAX, DP_ERUNTIME, "reach beyond any storage"},
    };

    for (size_t i = 0; i < DPI_COUNT(rows); i++) {
        dpi_layout l;
        int rc = dpi_layout_check(rows[i].sizes.n, rows[i].sizes.at, rows[i].strides.at,
                                  rows[i].offset, &l, &err);
        ck_assert_int_eq(rc, rows[i].code);
        ck_assert_msg(strstr(err.message, rows[i].message), "row %zu: %s", i, err.message);
    }
    int64_t ones[DP_DIM_MAX + 1];
    for (int i = 0; i <= DP_DIM_MAX; i++)
        ones[i] = 1;
    dp_tensor *t = NULL;
    ck_assert_int_eq(dp_tensor_new(DP_INT8, 0, DP_DIM_MAX, ones, NULL, &t, &err), DP_OK);
    dp_tensor_unref(t);
    ck_assert_int_eq(dp_tensor_new(DP_INT8, 0, DP_DIM_MAX + 1, ones, NULL, &t, &err), DP_EVALUE);
    ck_assert(strstr(err.message, "65 dimensions"));
}
END_TEST

START_TEST(formats_need_their_rank)
{
    int64_t sizes[] = {2, 3};
    dp_tensor *t = NULL;

    ck_assert_int_eq(dpi_empty(DP_INT8, (dpi_target){0}, 2, sizes, DP_CHANNELS_LAST, &t, &err),
                     DP_ERUNTIME);
    ck_assert_str_eq(err.message, "required rank 4 tensor to use channels_last format, got rank 2");
    ck_assert_int_eq(dpi_empty(DP_INT8, (dpi_target){0}, 2, sizes, DP_PRESERVE, &t, &err),
                     DP_ERUNTIME);
    ck_assert_int_eq(dpi_empty(DP_INT8, (dpi_target){0}, 2, sizes, 77, &t, &err), DP_ERUNTIME);
}
END_TEST

UNIT_SUITE(layout)
{
    tcase_add_test(tc, empty_like_preserves_as_pytorch_does);
    tcase_add_test(tc, empty_has_the_formats_strides);
    tcase_add_test(tc, unbatched_channels_last_is_without_n);
    tcase_add_test(tc, suggest_format_is_pytorchs);
    tcase_add_test(tc, view_strides_are_pytorchs);
    tcase_add_test(tc, view_needs_as_many_elements);
    tcase_add_test(tc, dense_is_packed_in_some_order);
    tcase_add_test(tc, strides_wrap_where_there_are_no_elements);
    tcase_add_test(tc, impossible_geometry_is_refused_by_name);
    tcase_add_test(tc, formats_need_their_rank);
}
