/* test_iter_layout.c -- how outputs of loops lie in memory. */
#include "loops.h"

static void add_double(char *const *data, const int64_t *s, int64_t n, void *user)
{
    (void)user;
    for (int64_t i = 0; i < n; i++) {
        double a, b;
        memcpy(&a, data[1] + i * s[1], sizeof(a));
        memcpy(&b, data[2] + i * s[2], sizeof(b));
        a += b;
        memcpy(data[0] + i * s[0], &a, sizeof(a));
    }
}

/* Row-major position in a of position i of `shape`, a broadcast. */
static int64_t broadcast_index(const dp_tensor *a, const dp_tensor *out, int64_t i)
{
    int64_t at = 0, scale = 1;

    for (int d = out->geometry->ndim - 1, e = a->geometry->ndim - 1; d >= 0; d--, e--) {
        int64_t x = i % out->geometry->sizes[d];
        i /= out->geometry->sizes[d];
        if (e < 0)
            continue;
        at += (a->geometry->sizes[e] == 1 ? 0 : x) * scale;
        scale *= a->geometry->sizes[e];
    }
    return at;
}

START_TEST(outputs_lie_as_pytorchs_do_and_hold_the_sum)
{
    cases c = cases_open();
    int n = 0;

    for (; cases_next(&c, "iter"); n++) {
        dp_tensor *in[2], *out[1] = {NULL};
        dp_iter it;
        char shape[512];
        for (int k = 0; k < 2; k++) {
            in[k] = tensor_of(DP_FLOAT64, numbers_read(c.fields[1 + 2 * k]),
                              numbers_read(c.fields[2 + 2 * k]));
            double *x = in[k]->geometry->storage->data;
            for (size_t i = 0; i < in[k]->geometry->storage->bytes / sizeof(*x); i++)
                x[i] = (double)(i * (size_t)(k ? 1000 : 1));
        }
        ck_assert_msg(init(out, 1, in, 2, DP_ITER_PROMOTE, DP_DTYPE_NONE, &it) == DP_OK, "%s",
                      err.message);
        ck_assert_str_eq(numbers_print(out[0]->geometry->ndim, out[0]->geometry->sizes, shape),
                         c.fields[5]);
        assert_strides(&c, out[0], c.fields[6]);
        ck_assert_int_eq(dpi_iter_run_1d(&it, 1, add_double, NULL, NULL, &err), DP_OK);
        for (int64_t i = 0; i < out[0]->geometry->numel; i++)
            ck_assert_double_eq(element(out[0], i),
                                element(in[0], broadcast_index(in[0], out[0], i)) +
                                    element(in[1], broadcast_index(in[1], out[0], i)));
        dp_tensor_unref(out[0]);
        dp_tensor_unref(in[0]);
        dp_tensor_unref(in[1]);
    }
    ck_assert_int_eq(n, 400);
}
END_TEST

START_TEST(an_empty_output_gets_the_shape)
{
    int64_t sizes[] = {2, 3}, none[] = {0};
    dp_tensor *in[2] = {counting(DP_FLOAT32, 2, sizes), counting(DP_FLOAT32, 2, sizes)};
    dp_tensor *out[1] = {counting(DP_FLOAT64, 1, none)}, *given = out[0];
    dp_iter it;

    ck_assert_int_eq(
        init(out, 1, in, 2, DP_ITER_PROMOTE | DP_ITER_CAST_OUTPUTS, DP_DTYPE_NONE, &it), DP_OK);
    ck_assert_ptr_eq(out[0], given);
    ck_assert_int_eq(dpi_iter_run_1d(&it, 0, add_float, NULL, NULL, &err), DP_OK);
    ck_assert_int_eq(given->geometry->ndim, 2);
    ck_assert_double_eq(element(given, 5), 10);
    dp_tensor_unref(in[0]);
    dp_tensor_unref(in[1]);
    dp_tensor_unref(given);
}
END_TEST

START_TEST(outputs_alone_are_filled)
{
    int64_t sizes[] = {7, 5}, strides[] = {1, 7};
    dp_tensor *out[2] = {NULL, NULL};
    atomic_llong elements = 0;
    dp_iter it;

    ck_assert_int_eq(dp_tensor_new(DP_INT16, 0, 2, sizes, strides, &out[0], &err), DP_OK);
    ck_assert_int_eq(init(out, 2, NULL, 0, 0, DP_DTYPE_NONE, &it), DP_OK);
    ck_assert_int_eq(dpi_iter_run_1d(&it, 0, count_calls, &elements, NULL, &err), DP_OK);
    ck_assert_int_eq(elements, 35);
    ck_assert(dpi_same_strides(out[0]->geometry, out[1]->geometry));
    dp_tensor_unref(out[0]);
    dp_tensor_unref(out[1]);
}
END_TEST

UNIT_SUITE(iter_layout)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, outputs_lie_as_pytorchs_do_and_hold_the_sum);
    tcase_add_test(tc, an_empty_output_gets_the_shape);
    tcase_add_test(tc, outputs_alone_are_filled);
}
