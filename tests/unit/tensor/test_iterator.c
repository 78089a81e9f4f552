/* test_iterator.c -- elementwise loops: layout of outputs, broadcasting, conversion, refusals. */
#include "tensor_cases.h"
#include "../../plugins/faulting_device.h"
#include "../alive.h"
#include <stdatomic.h>

static dp_error err;
static dp_arena *arena;

static void setup(void)
{
    arena = dp_arena_new();
    alive_begin();
}

static void teardown(void)
{
    alive_end();
    arena = dp_arena_free(arena);
}

static int init(dp_tensor **outs, int n_out, dp_tensor **ins, int n_in, uint32_t flags,
                dp_dtype out, dp_iter *it)
{
    dp_iter_config c = dp_iter_of(flags, n_out, outs, n_in, ins);

    c.out_dtype = dp_some_dtype(out);
    it->size = sizeof(*it);
    dp_error_clear(&err);
    return dpi_iter_init(&c, false, NULL, arena, it, &err);
}

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

static void add_float(char *const *data, const int64_t *s, int64_t n, void *user)
{
    (void)user;
    for (int64_t i = 0; i < n; i++) {
        *(float *)(data[0] + i * s[0]) =
            *(float *)(data[1] + i * s[1]) + *(float *)(data[2] + i * s[2]);
    }
}

/* Elements 0, 1, 2 ... in row-major order, converted to dtype. */
static dp_tensor *counting(dp_dtype dtype, int ndim, const int64_t *sizes)
{
    dp_tensor *t = NULL, *from = NULL;
    int64_t n = 1;

    for (int d = 0; d < ndim; d++)
        n *= sizes[d];
    int64_t *all = calloc((size_t)n + 1, sizeof(*all));
    for (int64_t i = 0; i < n; i++)
        all[i] = i;
    ck_assert_int_eq(dp_tensor_new(DP_INT64, 0, ndim, sizes, NULL, &from, &err), DP_OK);
    ck_assert_int_eq(dp_tensor_new(dtype, 0, ndim, sizes, NULL, &t, &err), DP_OK);
    ck_assert_int_eq(dp_tensor_write(from, all, &err), DP_OK);
    ck_assert_int_eq(dpi_copy(t, from, 0, &err), DP_OK);
    free(all);
    dp_tensor_unref(from);
    return t;
}

static double element(const dp_tensor *t, int64_t i) /* row-major */
{
    dp_tensor *d = NULL;
    double all[4096], x;

    ck_assert_int_le(t->geometry->numel, 4096);
    ck_assert_int_eq(
        dp_tensor_new(DP_FLOAT64, 0, t->geometry->ndim, t->geometry->sizes, NULL, &d, &err), DP_OK);
    ck_assert_int_eq(dpi_copy(d, t, 0, &err), DP_OK);
    ck_assert_int_eq(dp_tensor_read(d, all, &err), DP_OK);
    x = all[i];
    dp_tensor_unref(d);
    return x;
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

/* -- refusals -- */

static void refused(dp_tensor *out, dp_tensor *a, dp_tensor *b, uint32_t flags, int code,
                    const char *message)
{
    dp_tensor *outs[1] = {out}, *ins[2] = {a, b};
    dp_iter it;
    int rc = init(outs, 1, ins, 2, flags, DP_DTYPE_NONE, &it);

    ck_assert_int_eq(rc, code);
    ck_assert_str_eq(err.message, message);
    ck_assert_ptr_eq(outs[0], out);
}

START_TEST(shapes_that_do_not_broadcast_are_named)
{
    int64_t three[] = {2, 3}, four[] = {2, 4}, wide[] = {5, 2, 3};
    dp_tensor *a = counting(DP_FLOAT32, 2, three), *b = counting(DP_FLOAT32, 2, four);
    dp_tensor *c = counting(DP_FLOAT32, 3, wide);

    refused(NULL, a, b, 0, DP_ERUNTIME,
            "The size of tensor a (3) must match the size of tensor b (4) at non-singleton "
            "dimension 1");
    refused(a, a, c, 0, DP_ERUNTIME,
            "output with shape [2, 3] doesn't match the broadcast shape [5, 2, 3]");
    dp_tensor_unref(a);
    dp_tensor_unref(b);
    dp_tensor_unref(c);
}
END_TEST

/* Each is possible, together they are not. */
START_TEST(shapes_too_large_together_are_refused)
{
    int64_t tall[] = {(int64_t)1 << 40, 1}, wide[] = {1, (int64_t)1 << 40}, zero[] = {0, 0};
    dp_tensor *a = NULL, *b = NULL;

    ck_assert_int_eq(dp_tensor_new(DP_INT8, 0, 2, tall, zero, &a, &err), DP_OK);
    ck_assert_int_eq(dp_tensor_new(DP_INT8, 0, 2, wide, zero, &b, &err), DP_OK);
    refused(NULL, a, b, 0, DP_ERESOURCE,
            "sizes [1099511627776, 1099511627776] have more elements than fit an int64");
    dp_tensor_unref(a);
    dp_tensor_unref(b);
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

START_TEST(outputs_that_share_elements_are_refused)
{
    int64_t six[] = {6}, five[] = {5}, one[] = {1}, zero[] = {0};
    dp_tensor *a = counting(DP_FLOAT32, 1, six), *low = NULL, *high = NULL, *point = NULL;
    dp_tensor *outs[1], *ins[1];
    dp_iter it;

    ck_assert_int_eq(dpi_as_strided(a, 1, five, one, 0, &low, &err), DP_OK);
    ck_assert_int_eq(dpi_as_strided(a, 1, five, one, 1, &high, &err), DP_OK);
    ck_assert_int_eq(dpi_as_strided(a, 1, five, zero, 0, &point, &err), DP_OK);
    refused(low, high, high, 0, DP_ERUNTIME,
            "unsupported operation: some elements of the input tensor and the written-to tensor "
            "refer to a single memory location; clone() the input first");
    refused(point, high, high, 0, DP_ERUNTIME,
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location; clone() it first");
    outs[0] = low;
    ins[0] = high;
    ck_assert_int_eq(init(outs, 1, ins, 1, DP_ITER_NO_OVERLAP_CHECK, DP_DTYPE_NONE, &it), DP_OK);
    ins[0] = low; /* full overlap is fine */
    ck_assert_int_eq(init(outs, 1, ins, 1, 0, DP_DTYPE_NONE, &it), DP_OK);
    dp_tensor_unref(low);
    dp_tensor_unref(high);
    dp_tensor_unref(point);
    dp_tensor_unref(a);
}
END_TEST

START_TEST(wrong_configurations_are_the_plugins_fault)
{
    dp_tensor *outs[1] = {NULL}, *ins[1] = {NULL};
    dp_iter it;
    dp_iter_config small = {.size = 8, .n_out = 1, .n_in = 1, .outs = outs, .ins = ins};

    ck_assert_int_eq(init(outs, 1, ins, 1, 0, DP_DTYPE_NONE, &it), DP_EPLUGIN);
    ck_assert_str_eq(err.message, "input 0 of a loop is NULL");
    ck_assert_int_eq(init(outs, 1, ins, 0, 0, DP_DTYPE_NONE, &it), DP_EPLUGIN);
    ck_assert_int_eq(init(outs, 9, ins, 8, 0, DP_DTYPE_NONE, &it), DP_EPLUGIN);
    ck_assert_int_eq(dpi_iter_init(&small, false, NULL, arena, &it, &err), DP_EPLUGIN);
}
END_TEST

/* -- devices -- */

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
            "elementwise loops run on the host, which cannot reach the memory of faultdev:1");
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

/* -- edges -- */

static void count_calls(char *const *data, const int64_t *s, int64_t n, void *user)
{
    (void)data, (void)s;
    atomic_fetch_add((atomic_llong *)user, n);
}

START_TEST(no_elements_no_loop)
{
    int64_t sizes[] = {0, 5}, one[] = {1, 5};
    dp_tensor *in[2] = {counting(DP_FLOAT32, 2, sizes), counting(DP_INT64, 2, one)};
    dp_tensor *out[1] = {NULL};
    atomic_llong elements = 0;
    dp_iter it;

    ck_assert_int_eq(init(out, 1, in, 2, DP_ITER_PROMOTE, DP_DTYPE_NONE, &it), DP_OK);
    ck_assert_int_eq(dpi_iter_run_1d(&it, 0, count_calls, &elements, NULL, &err), DP_OK);
    ck_assert_int_eq(elements, 0);
    ck_assert_int_eq(out[0]->geometry->sizes[0], 0);
    dp_tensor_unref(in[0]);
    dp_tensor_unref(in[1]);
    dp_tensor_unref(out[0]);
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

/* Pieces begin and end anywhere in the nest. */
START_TEST(big_loops_run_on_the_pool)
{
    int64_t sizes[] = {50, 3, 1000}, rows[] = {50, 1, 1000};
    dp_tensor *in[2] = {counting(DP_INT32, 3, sizes), counting(DP_INT32, 3, rows)},
              *out[1] = {NULL};
    dp_tensor *back = NULL;
    dp_iter it;
    double *all = calloc(150000, sizeof(*all));

    ck_assert_int_eq(dp_pool_start(3, &err), DP_OK);
    ck_assert_int_eq(
        init(out, 1, in, 2, DP_ITER_PROMOTE | DP_ITER_INT_TO_FLOAT, DP_DTYPE_NONE, &it), DP_OK);
    ck_assert_int_eq(dpi_iter_run_1d(&it, 0, add_float, NULL, NULL, &err), DP_OK);
    dp_pool_stop();
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT64, 0, 3, sizes, NULL, &back, &err), DP_OK);
    ck_assert_int_eq(dpi_copy(back, out[0], 0, &err), DP_OK);
    ck_assert_int_eq(dp_tensor_read(back, all, &err), DP_OK);
    for (int64_t i = 0; i < 150000; i++)
        ck_assert_double_eq(all[i], (double)(i + i / 3000 * 1000 + i % 1000));
    free(all);
    dp_tensor_unref(back);
    dp_tensor_unref(in[0]);
    dp_tensor_unref(in[1]);
    dp_tensor_unref(out[0]);
}
END_TEST

static void count_pieces(char *const *data, const int64_t *s, int64_t n, void *user)
{
    (void)data, (void)s, (void)n;
    atomic_fetch_add((atomic_int *)user, 1);
}

/* What stands alone in the order of elements or the layout of outputs says nothing about threads. */
START_TEST(only_serial_loops_are_one_piece)
{
    const uint32_t flags[] = {DP_ITER_SERIAL, 0, DP_ITER_NUMBER, DP_ITER_LINEAR,
                              DP_ITER_LOOP_CASTS};
    int64_t sizes[] = {1 << 17}; /* four grains */
    dp_tensor *in = counting(DP_FLOAT32, 1, sizes);

    ck_assert_int_eq(dp_pool_start(3, &err), DP_OK);
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
        dp_tensor *out = NULL;
        atomic_int pieces = 0;
        dp_iter it;
        ck_assert_int_eq(init(&out, 1, &in, 1, flags[i], DP_DTYPE_NONE, &it), DP_OK);
        ck_assert_int_eq(dpi_iter_run_1d(&it, 4, count_pieces, &pieces, NULL, &err), DP_OK);
        ck_assert_msg((atomic_load(&pieces) == 1) == (i == 0), "flags %u: %d pieces", flags[i],
                      atomic_load(&pieces));
        dp_tensor_unref(out);
    }
    dp_pool_stop();
    dp_tensor_unref(in);
}
END_TEST

/* Two outputs, one of them resized, so that a failure has something to take back. */
START_TEST(a_failed_allocation_changes_nothing)
{
    int64_t sizes[] = {4, 2}, column[] = {4, 1}, none[] = {0};
    dp_tensor *in[2] = {counting(DP_FLOAT32, 2, sizes), counting(DP_FLOAT32, 2, column)};
    dp_tensor *empty = counting(DP_FLOAT32, 1, none), *outs[2] = {NULL, empty};
    const dpi_geometry *before = empty->geometry;
    uint64_t count = alive().tensors;
    dp_iter it;
    int rc;

    for (uint64_t n = 1;; n++) {
        dp_arena_free(arena);
        arena = dp_arena_new();
        dp_fault_arm(n);
        rc = init(outs, 2, in, 2, DP_ITER_PROMOTE, DP_DTYPE_NONE, &it);
        bool hit = dp_fault_hit();
        dp_fault_arm(0);
        if (!hit)
            break;
        ck_assert_int_eq(rc, DP_ERESOURCE);
        ck_assert_uint_eq(alive().tensors, count);
        ck_assert_ptr_null(outs[0]);
        ck_assert_ptr_eq(empty->geometry, before);
        ck_assert_uint_lt(n, 100);
    }
    ck_assert_int_eq(rc, DP_OK);
    ck_assert_int_eq(empty->geometry->ndim, 2);
    dp_tensor_unref(in[0]);
    dp_tensor_unref(in[1]);
    dp_tensor_unref(outs[0]);
    dp_tensor_unref(empty);
}
END_TEST

UNIT_SUITE(iterator)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, outputs_lie_as_pytorchs_do_and_hold_the_sum);
    tcase_add_test(tc, operands_of_other_dtypes_are_converted);
    tcase_add_test(tc, integers_become_float32_when_asked);
    tcase_add_test(tc, given_outputs_are_cast_when_they_can_be);
    tcase_add_test(tc, a_loop_may_write_another_dtype_than_it_reads);
    tcase_add_test(tc, shapes_that_do_not_broadcast_are_named);
    tcase_add_test(tc, shapes_too_large_together_are_refused);
    tcase_add_test(tc, dtypes_must_agree_when_asked);
    tcase_add_test(tc, outputs_that_share_elements_are_refused);
    tcase_add_test(tc, wrong_configurations_are_the_plugins_fault);
    tcase_add_test(tc, loops_stay_on_one_device_that_the_host_can_reach);
    tcase_add_test(tc, no_elements_no_loop);
    tcase_add_test(tc, an_empty_output_gets_the_shape);
    tcase_add_test(tc, outputs_alone_are_filled);
    tcase_add_test(tc, dtypes_there_are_none_of_are_refused_with_their_part);
    tcase_add_test(tc, big_loops_run_on_the_pool);
    tcase_add_test(tc, only_serial_loops_are_one_piece);
    tcase_add_test(tc, a_failed_allocation_changes_nothing);
}
