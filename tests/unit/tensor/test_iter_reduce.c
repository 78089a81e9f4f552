/* test_iter_reduce.c -- reductions over an iterator: every layout, every number of threads. */
#include "../unit.h"
#include "tensor/nest.h"

static dp_error err;
static dp_arena *arena;

static void setup(void)
{
    arena = dp_arena_new();
}

static void teardown(void)
{
    arena = dp_arena_free(arena);
}

/* -- a sum of float32, 4 lanes, so that bits depend on the order -- */

static void sum_begin(char *acc, int64_t n, void *user)
{
    (void)user;
    memset(acc, 0, (size_t)n * sizeof(float));
}

static void sum_step(char *acc, char **data, const int64_t *strides, int64_t n0, int64_t n,
                     int64_t index, void *user)
{
    (void)index, (void)user;
    for (int64_t i = 0; i < n; i++) {
        float lanes[4] = {0};
        for (int64_t k = 0; k < n0; k++)
            lanes[k % 4] += *(const float *)(data[1] + k * strides[0 + 1] + i * strides[2 + 1]);
        ((float *)acc)[i] += (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    }
}

static void sum_merge(char *acc, const char *from, int64_t n, void *user)
{
    (void)user;
    for (int64_t i = 0; i < n; i++)
        ((float *)acc)[i] += ((const float *)from)[i];
}

static void sum_finish(char **data, const int64_t *strides, const char *acc, int64_t n, void *user)
{
    (void)user;
    for (int64_t i = 0; i < n; i++)
        *(float *)(data[0] + i * strides[0]) = ((const float *)acc)[i];
}

static const dp_reduction sum = {sizeof(sum), sizeof(float), sum_begin,
                                 sum_step,    sum_merge,     sum_finish};

/* -- where the first of the greatest is, and what it is: two outputs, one accumulator -- */

typedef struct greatest {
    float value;
    int64_t at; /* -1: nothing yet */
} greatest;

static void max_begin(char *acc, int64_t n, void *user)
{
    (void)user;
    for (int64_t i = 0; i < n; i++)
        ((greatest *)(void *)acc)[i] = (greatest){0, -1};
}

static void max_step(char *acc, char **data, const int64_t *strides, int64_t n0, int64_t n,
                     int64_t index, void *user)
{
    greatest *g = (greatest *)(void *)acc;

    (void)user;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n0; k++) {
            float x = *(const float *)(data[2] + k * strides[2] + i * strides[3 + 2]);
            if (g[i].at < 0 || x > g[i].value)
                g[i] = (greatest){x, index + k};
        }
}

static void max_merge(char *acc, const char *from, int64_t n, void *user)
{
    greatest *g = (greatest *)(void *)acc;
    const greatest *f = (const greatest *)(const void *)from;

    (void)user;
    for (int64_t i = 0; i < n; i++)
        if (f[i].value > g[i].value)
            g[i] = f[i];
}

static void max_finish(char **data, const int64_t *strides, const char *acc, int64_t n, void *user)
{
    const greatest *g = (const greatest *)(const void *)acc;

    (void)user;
    for (int64_t i = 0; i < n; i++) {
        *(float *)(data[0] + i * strides[0]) = g[i].value;
        *(float *)(data[1] + i * strides[1]) = (float)g[i].at;
    }
}

static const dp_reduction max = {sizeof(max), sizeof(greatest), max_begin,
                                 max_step,    max_merge,        max_finish};

/* -- tensors -- */

static uint64_t seed = 77;

static int64_t below(int64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((seed >> 33) % (uint64_t)n);
}

static float *data_of(const dp_tensor *t)
{
    return (float *)(void *)dpi_tensor_data(t);
}

/* Random numbers in a tensor whose dimensions lie in a random order, with gaps. */
static dp_tensor *scattered(int ndim, const int64_t *sizes)
{
    int64_t strides[DP_DIM_MAX], next = 1 + below(2);
    int order[DP_DIM_MAX];
    dp_tensor *t = NULL;

    for (int i = 0; i < ndim; i++) {
        int at = (int)below(i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (int i = 0; i < ndim; i++) {
        strides[order[i]] = below(8) == 0 ? 0 : next;
        next *= sizes[order[i]] + below(2);
    }
    ck_assert_msg(dp_tensor_new(DP_FLOAT32, 0, ndim, sizes, strides, &t, &err) == DP_OK, "%s",
                  err.message);
    for (size_t i = 0; i < dpi_storage_of(t)->bytes / sizeof(float); i++)
        data_of(t)[i] = (float)(below(2001) - 1000);
    return t;
}

static int reduce(const dp_tensor *const *in, dp_tensor **outs, int n_out, uint64_t reduced,
                  uint32_t flags, const dp_reduction *r, int threads)
{
    dp_tensor *ins[1] = {(dp_tensor *)(uintptr_t)*in};
    dp_iter_config c = dp_iter_of(DP_ITER_REDUCTION | flags, n_out, outs, 1, ins);
    dp_iter it = {.size = sizeof(it)};

    c.reduced = reduced;
    dp_error_clear(&err);
    int rc = dpi_iter_init(&c, false, NULL, arena, &it, &err);
    return rc < 0 ? rc : dpi_iter_reduce(&it, threads, r, NULL, arena, NULL, &err);
}

/* Offsets of element i of the sizes where the bit is (or is not) set, in row-major order. */
static int64_t offset_of(const dpi_geometry *g, uint64_t mask, bool set, int64_t i)
{
    int64_t at = 0;

    for (int d = g->ndim - 1; d >= 0; d--)
        if (((mask >> d & 1) != 0) == set) {
            at += i % g->sizes[d] * g->strides[d];
            i /= g->sizes[d];
        }
    return at;
}

static int64_t count_of(const dpi_geometry *g, uint64_t mask, bool set)
{
    int64_t n = 1;

    for (int d = 0; d < g->ndim; d++)
        if (((mask >> d & 1) != 0) == set)
            n *= g->sizes[d];
    return n;
}

static void check_sum(const dp_tensor *in, const dp_tensor *out, uint64_t reduced)
{
    const dpi_geometry *g = dpi_geometry_of(in);
    int64_t kept = count_of(g, reduced, false), each = count_of(g, reduced, true);

    ck_assert_int_eq(dpi_geometry_of(out)->numel, kept);
    ck_assert(dpi_geometry_of(out)->contiguous);
    for (int64_t i = 0; i < kept; i++) {
        double s = 0, magnitude = 1;
        for (int64_t k = 0; k < each; k++) {
            float x = data_of(in)[offset_of(g, reduced, false, i) + offset_of(g, reduced, true, k)];
            s += (double)x;
            magnitude += x < 0 ? (double)-x : (double)x;
        }
        ck_assert_double_le(s - (double)data_of(out)[i], magnitude * 1e-5);
        ck_assert_double_ge(s - (double)data_of(out)[i], -magnitude * 1e-5);
    }
}

START_TEST(sums_of_every_layout)
{
    for (int round = 0; round < 600; round++) {
        int ndim = (int)below(6);
        int64_t sizes[6];
        uint64_t reduced = (uint64_t)below(1 << ndim);
        uint32_t flags = below(2) ? DP_ITER_KEEPDIM : 0;
        dp_tensor *out = NULL;

        for (int d = 0; d < ndim; d++)
            sizes[d] = below(12) == 0 ? 0 : 1 + below(9);
        dp_tensor *in = scattered(ndim, sizes);
        ck_assert_msg(reduce((const dp_tensor *const *)&in, &out, 1, reduced, flags, &sum, 1) == 0,
                      "%s", err.message);
        const dpi_geometry *g = dpi_geometry_of(out);
        ck_assert_int_eq(g->ndim, flags ? ndim : ndim - __builtin_popcountll(reduced));
        for (int d = 0; flags && d < ndim; d++)
            ck_assert_int_eq(g->sizes[d], reduced >> d & 1 ? 1 : sizes[d]);
        check_sum(in, out, reduced);
        dp_tensor_unref(out);
        dp_tensor_unref(in);
    }
}
END_TEST

/* All of it, rows, columns, the middle, and everything but the middle; several chunks each. */
START_TEST(the_same_bits_on_any_number_of_threads)
{
    static const struct {
        int ndim;
        int64_t sizes[3];
        uint64_t reduced;
    } cases[] = {
        {1, {100003}, 1},     {2, {5, 40000}, 2},    {2, {40000, 5}, 1},    {2, {70000, 3}, 2},
        {3, {40, 50, 60}, 2}, {3, {40, 50, 60}, 5},  {3, {3, 20000, 4}, 2}, {3, {4, 9000, 8}, 5},
        {2, {20000, 300}, 1}, {3, {2, 33000, 2}, 7},
    };

    ck_assert_int_eq(dp_thread_pool_start(3, &err), DP_OK);
    for (size_t i = 0; i < DPI_COUNT(cases); i++) {
        dp_tensor *in = scattered(cases[i].ndim, cases[i].sizes), *outs[4] = {NULL};
        for (int t = 0; t < 4; t++) {
            ck_assert_int_eq(reduce((const dp_tensor *const *)&in, &outs[t], 1, cases[i].reduced, 0,
                                    &sum, t + 1),
                             0);
            ck_assert_mem_eq(data_of(outs[t]), data_of(outs[0]),
                             (size_t)dpi_geometry_of(outs[0])->numel * sizeof(float));
        }
        check_sum(in, outs[0], cases[i].reduced);
        for (int t = 0; t < 4; t++)
            dp_tensor_unref(outs[t]);
        dp_tensor_unref(in);
    }
    dp_thread_pool_stop();
}
END_TEST

/* The index counts along the dimension; in row-major order over all of them if that is asked
 * for. */
START_TEST(places_are_counted_in_order)
{
    int64_t sizes[] = {3, 20000, 2}, all = 120000;
    dp_tensor *in = scattered(3, sizes), *outs[2] = {NULL, NULL};
    const dpi_geometry *g = dpi_geometry_of(in);

    data_of(in)[offset_of(g, 0, false, 77777)] = 5000;
    ck_assert_int_eq(reduce((const dp_tensor *const *)&in, outs, 2, 7, DP_ITER_LINEAR, &max, 1), 0);
    float best = data_of(outs[0])[0];
    int64_t at = (int64_t)data_of(outs[1])[0], first = 0;
    while (first < all && data_of(in)[offset_of(g, 0, false, first)] < best)
        first++;
    ck_assert_float_eq(best, 5000);
    ck_assert_int_eq(at, first);
    for (int k = 0; k < 2; k++)
        outs[k] = dp_tensor_unref(outs[k]);
    ck_assert_int_eq(reduce((const dp_tensor *const *)&in, outs, 2, 2, 0, &max, 1), 0);
    for (int64_t i = 0; i < 6; i++) {
        at = (int64_t)data_of(outs[1])[i];
        for (int64_t k = 0; k < 20000; k++) {
            float x = data_of(in)[offset_of(g, 2, false, i) + offset_of(g, 2, true, k)];
            ck_assert(k < at ? x < data_of(outs[0])[i] : x <= data_of(outs[0])[i]);
        }
    }
    for (int k = 0; k < 2; k++)
        dp_tensor_unref(outs[k]);
    dp_tensor_unref(in);
}
END_TEST

static dp_tensor *of_dtype(const dp_tensor *t, dp_dtype dtype)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    dp_tensor *out = NULL;

    ck_assert_int_eq(dp_tensor_new(dtype, 0, g->ndim, g->sizes, NULL, &out, &err), DP_OK);
    ck_assert_int_eq(dpi_copy(out, t, 1, &err), DP_OK);
    return out;
}

/* Inputs of other dtypes are converted in blocks, whichever dimension is inside. */
START_TEST(inputs_are_converted)
{
    int64_t sizes[] = {300, 70, 5};

    for (uint64_t reduced = 0; reduced < 8; reduced++) {
        dp_tensor *in = scattered(3, sizes), *ints = of_dtype(in, DP_INT16), *out = NULL;
        dp_iter_config c = dp_iter_of(DP_ITER_REDUCE, 1, &out, 1, &ints);
        dp_iter it = {.size = sizeof(it)};

        c.reduced = reduced;
        c.common_dtype = dp_some_dtype(DP_FLOAT32);
        ck_assert_int_eq(dpi_iter_init(&c, false, NULL, arena, &it, &err), DP_OK);
        ck_assert_int_eq(dpi_iter_reduce(&it, 0, &sum, NULL, arena, NULL, &err), DP_OK);
        check_sum(in, out, reduced);
        dp_tensor_unref(out);
        dp_tensor_unref(in);
        dp_tensor_unref(ints);
    }
}
END_TEST

/* A mask of a wrong dimension is no reduction of none. */
START_TEST(dimensions_that_are_not_there_are_refused)
{
    int64_t sizes[] = {4, 6};
    dp_tensor *in = scattered(2, sizes), *number = scattered(0, NULL), *out = NULL;

    ck_assert_int_eq(reduce((const dp_tensor *const *)&in, &out, 1, 1 | 4, 0, &sum, 1), DP_EINDEX);
    ck_assert_str_eq(err.message, "dimension 2 is to be reduced, but there are 2");
    ck_assert_int_eq(reduce((const dp_tensor *const *)&in, &out, 1, (uint64_t)1 << 63, 0, &sum, 1),
                     DP_EINDEX);
    ck_assert_str_eq(err.message, "dimension 63 is to be reduced, but there are 2");
    ck_assert_int_eq(reduce((const dp_tensor *const *)&number, &out, 1, 2, 0, &sum, 1), DP_EINDEX);
    ck_assert_ptr_null(out);
    ck_assert_int_eq(reduce((const dp_tensor *const *)&number, &out, 1, 1, 0, &sum, 1), 0);
    dp_tensor_unref(out);
    dp_tensor_unref(number);
    dp_tensor_unref(in);
}
END_TEST

START_TEST(given_outputs_are_resized_or_refused)
{
    int64_t sizes[] = {4, 6}, six[] = {6}, back[] = {2};
    dp_tensor *in = scattered(2, sizes), *out = scattered(0, NULL), *strided = NULL, *row = NULL;

    ck_assert_int_eq(reduce((const dp_tensor *const *)&in, &out, 1, 1, 0, &sum, 1), 0);
    check_sum(in, out, 1);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, 0, 1, six, back, &strided, &err), DP_OK);
    ck_assert_int_eq(reduce((const dp_tensor *const *)&in, &strided, 1, 1, 0, &sum, 1), 0);
    for (int i = 0; i < 6; i++)
        ck_assert_float_eq(data_of(strided)[2 * i], data_of(out)[i]);
    dp_tensor *ints = of_dtype(out, DP_INT64);
    ck_assert_int_eq(reduce((const dp_tensor *const *)&in, &ints, 1, 1, 0, &sum, 1), DP_ERUNTIME);
    ck_assert_int_eq(dpi_as_strided(in, 1, six, &(int64_t){1}, 0, &row, &err), DP_OK);
    (void)reduce((const dp_tensor *const *)&in, &in, 1, 1, 0, &sum, 1);
    ck_assert_str_eq(err.message, "output with shape [4, 6] doesn't match the broadcast shape [6]");
    dp_tensor *all[] = {in, out, strided, ints, row};
    for (size_t i = 0; i < DPI_COUNT(all); i++)
        dp_tensor_unref(all[i]);
}
END_TEST

START_TEST(a_failed_allocation_leaves_nothing)
{
    int64_t sizes[] = {2, 2, 2, 2, 2, 2, 2, 40000};
    dp_tensor *in = scattered(8, sizes), *out = NULL;
    dp_tensor_stats before, after;
    int rc = DP_ERESOURCE;

    dp_tensor_stats_get(&before);
    for (uint64_t n = 1; rc != DP_OK; n++) {
        dp_arena_free(arena);
        arena = dp_arena_new();
        dp_fault_arm(n);
        rc = reduce((const dp_tensor *const *)&in, &out, 1, 128, 0, &sum, 1);
        bool hit = dp_fault_hit();
        dp_fault_arm(0);
        ck_assert_int_eq(rc, hit ? DP_ERESOURCE : DP_OK);
        dp_tensor_stats_get(&after);
        ck_assert_uint_eq(after.tensors, before.tensors + (out != NULL));
        if (rc != DP_OK)
            out = dp_tensor_unref(out);
        ck_assert_uint_lt(n, 20);
    }
    check_sum(in, out, 128);
    dp_tensor_unref(out);
    dp_tensor_unref(in);
}
END_TEST

UNIT_SUITE(iter_reduce)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, sums_of_every_layout);
    tcase_add_test(tc, the_same_bits_on_any_number_of_threads);
    tcase_add_test(tc, places_are_counted_in_order);
    tcase_add_test(tc, inputs_are_converted);
    tcase_add_test(tc, dimensions_that_are_not_there_are_refused);
    tcase_add_test(tc, given_outputs_are_resized_or_refused);
    tcase_add_test(tc, a_failed_allocation_leaves_nothing);
}
