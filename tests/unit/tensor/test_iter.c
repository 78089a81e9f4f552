/* test_iter.c -- what an iterator says of its operands, and that its loop sees each element once
 * (aten/src/ATen/test/tensor_iterator_test.cpp, and what that leaves out). */
#include "../unit.h"
#include "tensor/nest.h"

static dp_error err;
static dp_arena *arena;
static uint64_t seed = 20261122;
static uint64_t tensors_before;

static uint64_t live(void)
{
    dp_tensor_stats s;
    dp_tensor_stats_get(&s);
    return s.tensors;
}

static void setup(void)
{
    arena = dp_arena_new();
    tensors_before = live();
}

static void teardown(void)
{
    ck_assert_uint_eq(live(), tensors_before);
    arena = dp_arena_free(arena);
}

static int64_t below(int64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((seed >> 33) % (uint64_t)n);
}

static dp_tensor *made(dp_dtype dtype, int ndim, const int64_t *sizes, const int64_t *strides)
{
    dp_tensor *t = NULL;
    ck_assert_msg(dp_tensor_new(dtype, 0, ndim, sizes, strides, &t, &err) == DP_OK, "%s",
                  err.message);
    memset(dpi_tensor_data(t), 0, dpi_storage_of(t)->bytes);
    return t;
}

static int start(const dp_iter_config *c, dp_iter *it)
{
    it->size = sizeof(*it);
    dp_error_clear(&err);
    return dpi_iter_init(c, false, NULL, arena, it, &err);
}

static void drop(int n, dp_tensor **ts)
{
    for (int i = 0; i < n; i++)
        ts[i] = dp_tensor_unref(ts[i]);
}

/* -- dtypes by preset -- */

START_TEST(presets_find_the_dtypes)
{
    enum { F = DP_FLOAT32, D = DP_FLOAT64, I = DP_INT64, B = DP_BOOL, NO = DP_DTYPE_NONE };
    static const struct {
        uint32_t flags;
        dp_dtype out, a, b; /* given; NO: none */
        int rc;
        dp_dtype common, made,
            seen; /* made: of the output; seen: of the inputs, NO: each its own */
    } cases[] = {
        {DP_ITER_BINARY, NO, F, D, 0, D, D, D},
        {DP_ITER_BINARY, NO, I, B, 0, I, I, I},
        {DP_ITER_BINARY, F, D, D, 0, D, F, D},
        {DP_ITER_BINARY, I, F, F, DP_ERUNTIME, 0, 0, 0},
        {DP_ITER_BINARY_FLOAT, NO, I, B, 0, F, F, F},
        {DP_ITER_BINARY_FLOAT, D, I, I, 0, F, D, F},
        {DP_ITER_COMPARISON, NO, F, I, 0, F, B, F},
        {DP_ITER_COMPARISON, I, F, D, 0, D, I, D},
        {DP_ITER_UNARY, NO, F, NO, 0, F, F, NO},
        {DP_ITER_UNARY, D, F, NO, DP_ERUNTIME, 0, 0, 0},
        {DP_ITER_UNARY_FLOAT, NO, I, NO, 0, F, F, F},
        {DP_ITER_UNARY_FLOAT, NO, D, NO, 0, D, D, D},
        {DP_ITER_UNARY_BOOL, NO, D, NO, 0, D, B, NO},
        {DP_ITER_TERNARY, NO, I, F, 0, F, F, F},
        {DP_ITER_ANY_DTYPE, B, F, D, 0, F, B, NO},
        {0, NO, F, D, DP_ERUNTIME, 0, 0, 0}, /* FailNonPromotingBinaryOp */
        {0, D, D, I, DP_ERUNTIME, 0, 0, 0},
    };
    int64_t one[] = {1, 1};

    for (size_t i = 0; i < DPI_COUNT(cases); i++) {
        dp_tensor *out = cases[i].out == NO ? NULL : made(cases[i].out, 2, one, NULL);
        dp_tensor *ins[2] = {made(cases[i].a, 2, one, NULL),
                             cases[i].b == NO ? NULL : made(cases[i].b, 2, one, NULL)};
        dp_iter_config c = dp_iter_of(cases[i].flags, 1, &out, cases[i].b == NO ? 1 : 2, ins);
        dp_iter it;
        ck_assert_msg(start(&c, &it) == cases[i].rc, "case %zu: %s", i, err.message);
        for (int k = 0; cases[i].rc == 0 && k < it.n; k++) {
            dp_dtype seen = cases[i].seen == NO && k > 0 ? it.own[k] : cases[i].seen;
            ck_assert_int_eq(it.own[k], k == 0 ? cases[i].made : ins[k - 1]->dtype);
            ck_assert(k == 0 || it.seen[k] == seen);
            ck_assert_int_eq(it.dtype, cases[i].common);
        }
        drop(1, &out);
        drop(2, ins);
    }
}
END_TEST

/* -- shapes, strides, order -- */

/* shape and strides [ndim][n] of the iterator, as text. */
static const char *walk_of(const dp_iter *it, char *buf)
{
    size_t at = 0;

    for (int d = 0; d < it->ndim; d++) {
        at += (size_t)sprintf(buf + at, "%s%lld:", d ? " " : "", (long long)it->shape[d]);
        for (int k = 0; k < it->n; k++)
            at += (size_t)sprintf(buf + at, "%s%lld", k ? "," : "",
                                  (long long)it->strides[d * it->n + k]);
    }
    return buf;
}

START_TEST(dimensions_are_sorted_and_merged)
{
    static const struct {
        uint32_t flags;
        struct {
            int ndim;
            int64_t sizes[4], strides[4];
        } in[2];
        const char *walk;
    } cases[] = {
        {0, {{3, {2, 3, 4}, {12, 4, 1}}, {3, {2, 3, 4}, {12, 4, 1}}}, "24:4,4,4"},
        {0, {{2, {3, 4}, {1, 3}}, {2, {3, 4}, {1, 3}}}, "12:4,4,4"},
        {0, {{2, {3, 4}, {1, 3}}, {2, {3, 4}, {4, 1}}}, "3:4,4,16 4:12,12,4"},
        {0, {{2, {64, 8}, {8, 1}}, {2, {64, 1}, {1, 1}}}, "8:4,4,0 64:32,32,4"},
        {0, {{2, {64, 8}, {8, 1}}, {1, {8}, {1}}}, "8:4,4,4 64:32,32,0"},
        {0, {{2, {64, 8}, {16, 2}}, {0, {0}, {0}}}, "512:4,8,0"},
        {0, {{3, {5, 1, 4}, {4, 4, 1}}, {3, {5, 1, 4}, {8, 9, 2}}}, "20:4,4,8"},
        {0, {{3, {2, 3, 4}, {24, 8, 1}}, {3, {2, 3, 4}, {12, 4, 1}}}, "4:4,4,4 6:16,32,16"},
        {0, {{4, {2, 3, 4, 5}, {60, 1, 15, 3}}, {1, {1}, {1}}}, "120:4,4,0"},
        {0, {{0, {0}, {0}}, {0, {0}, {0}}}, "1:4,4,4"},
        {DP_ITER_LINEAR, {{2, {3, 4}, {1, 3}}, {2, {3, 4}, {1, 3}}}, "4:4,12,12 3:16,4,4"},
        {DP_ITER_LINEAR, {{2, {3, 4}, {4, 1}}, {0, {0}, {0}}}, "12:4,4,0"},
    };
    char buf[1024];

    for (size_t i = 0; i < DPI_COUNT(cases); i++) {
        dp_tensor *ins[2], *out = NULL;
        dp_iter it;
        for (int k = 0; k < 2; k++)
            ins[k] =
                made(DP_FLOAT32, cases[i].in[k].ndim, cases[i].in[k].sizes, cases[i].in[k].strides);
        dp_iter_config c = dp_iter_of(cases[i].flags, 1, &out, 2, ins);
        ck_assert_msg(start(&c, &it) == 0, "%s", err.message);
        ck_assert_str_eq(walk_of(&it, buf), cases[i].walk);
        ck_assert_int_eq(it.numel, dpi_geometry_of(out)->numel);
        drop(1, &out);
        drop(2, ins);
    }
}
END_TEST

START_TEST(many_operands_and_dimensions_do_not_fit_and_work)
{
    enum { N = DP_ITER_OPERANDS_MAX, DIMS = DP_DIM_MAX };
    int64_t sizes[DIMS], strides[DIMS], next = 1;
    dp_tensor *ts[N] = {NULL};
    dp_iter it;

    for (int d = 0; d < DIMS; d++)
        sizes[d] = d < 12 ? 2 : 1;
    for (int d = DIMS - 1; d >= 0; d--) {
        strides[d] = next;
        next *= d < 12 ? 3 : 1; /* gaps, so that nothing merges */
    }
    for (int k = 1; k < N; k++)
        ts[k] = made(DP_INT8, DIMS, sizes, strides);
    dp_iter_config c = dp_iter_of(0, 1, ts, N - 1, ts + 1);
    ck_assert_msg(start(&c, &it) == 0, "%s", err.message);
    ck_assert_int_eq(it.ndim, 12);
    ck_assert_int_eq(it.numel, 4096);
    for (int d = 0; d < 12; d++)
        ck_assert_int_eq(it.strides[d * N], (int64_t)1 << d);
    drop(N, ts);
}
END_TEST

/* -- each element once -- */

typedef struct seen {
    const dp_iter *it;
    atomic_llong calls;
} seen;

/* Adds 1 to operand 0, and operand 1's element to operand 2; walks its own pointers. */
static void visit(char **data, const int64_t *strides, int64_t n0, int64_t n1, void *user)
{
    seen *s = user;
    int n = s->it->n;

    atomic_fetch_add(&s->calls, 1);
    for (int64_t i = 0; i < n1; i++)
        for (int64_t k = 0; k < n0; k++) {
            ++*(int32_t *)(data[0] + k * strides[0] + i * strides[n]);
            *(int32_t *)(data[1] + k * strides[1] + i * strides[n + 1]) +=
                *(int32_t *)(data[2] + k * strides[2] + i * strides[n + 2]);
        }
    for (int k = 0; k < n; k++)
        data[k] = NULL;
}

static dp_tensor *scattered(int ndim, const int64_t *sizes, bool broadcast)
{
    int64_t strides[DP_DIM_MAX], own[DP_DIM_MAX], next = 1;
    int order[DP_DIM_MAX];

    for (int i = 0; i < ndim; i++) {
        int at = (int)below(i + 1);
        order[i] = order[at];
        order[at] = i;
        own[i] = broadcast && below(3) == 0 ? 1 : sizes[i];
    }
    for (int i = 0; i < ndim; i++) {
        strides[order[i]] = next;
        next *= own[order[i]] + below(2);
    }
    dp_tensor *t = made(DP_INT32, ndim, own, strides);
    for (size_t i = 0; i < dpi_storage_of(t)->bytes / sizeof(int32_t); i++)
        ((int32_t *)(void *)dpi_tensor_data(t))[i] = (int32_t)below(1000);
    return t;
}

static int32_t *element(const dp_tensor *t, const int64_t *shape, int ndim, int64_t i)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    int64_t at = 0;

    for (int d = ndim - 1; d >= 0; d--) {
        at += g->sizes[d] == 1 ? 0 : i % shape[d] * g->strides[d];
        i /= shape[d];
    }
    return (int32_t *)(void *)dpi_tensor_data(t) + at;
}

static void check_visits(int ndim, const int64_t *sizes)
{
    dp_tensor *outs[2] = {scattered(ndim, sizes, false), scattered(ndim, sizes, false)};
    dp_tensor *in = scattered(ndim, sizes, true);
    int64_t numel = dpi_geometry_of(outs[0])->numel;
    dp_iter_config c = dp_iter_of(DP_ITER_NO_RESIZE, 2, outs, 1, &in);
    dp_iter it;

    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < numel; i++)
            *element(outs[k], sizes, ndim, i) = (int32_t)i;
    ck_assert_msg(start(&c, &it) == 0, "%s", err.message);
    seen s = {.it = &it};
    ck_assert_int_eq(dpi_iter_run(&it, 0, visit, &s, NULL, &err), 0);
    for (int64_t i = 0; i < numel; i++) {
        unit_each(*element(outs[0], sizes, ndim, i) == i + 1, "%lld is visited %d times",
                  (long long)i, *element(outs[0], sizes, ndim, i) - (int)i);
        unit_each(*element(outs[1], sizes, ndim, i) == i + *element(in, sizes, ndim, i),
                  "at %lld another element", (long long)i);
    }
    drop(2, outs);
    drop(1, &in);
}

START_TEST(each_element_is_seen_once)
{
    static const int64_t large[][4] = {{70000, 1, 1, 1}, {3, 50000, 1, 1}, {300, 7, 90, 1},
                                       {40, 41, 3, 42},  {2, 2, 60000, 1}, {99991, 2, 1, 1}};

    ck_assert_int_eq(dp_thread_pool_start(3, &err), DP_OK);
    for (int round = 0; round < 400; round++) {
        int ndim = (int)below(6);
        int64_t sizes[5];
        for (int d = 0; d < ndim; d++)
            sizes[d] = 1 + below(6);
        check_visits(ndim, sizes);
    }
    for (size_t i = 0; i < DPI_COUNT(large); i++)
        check_visits(4, large[i]);
    dp_thread_pool_stop();
}
END_TEST

/* -- given shapes -- */

START_TEST(a_given_shape_is_walked_in_larger_operands)
{
    int64_t sizes[] = {4, 10}, shape[] = {3, 1}, small[] = {2, 10};
    dp_tensor *outs[1] = {made(DP_INT32, 2, sizes, NULL)}, *in = made(DP_INT32, 2, sizes, NULL);
    dp_tensor *two = made(DP_INT32, 2, small, NULL), *again = NULL;
    dp_iter_config c = dp_iter_of(0, 1, outs, 1, &in);
    dp_iter it;
    char buf[256];

    c.shape = shape;
    c.ndim = 2;
    ck_assert_msg(start(&c, &it) == 0, "%s", err.message);
    ck_assert_str_eq(walk_of(&it, buf), "3:40,40");
    c.ins = &two;
    ck_assert_int_eq(start(&c, &it), DP_ERUNTIME);
    ck_assert_str_eq(err.message, "operand 1 of a loop over [3, 1] has shape [2, 10]");
    c.outs = &again;
    ck_assert_int_eq(start(&c, &it), DP_ERUNTIME);
    ck_assert_str_eq(err.message, "operand 0 of a loop over [3, 1] has shape none as yet");
    drop(1, outs);
    drop(1, &in);
    drop(1, &two);
}
END_TEST

START_TEST(outputs_that_may_not_be_resized_must_fit)
{
    int64_t sizes[] = {2, 3}, row[] = {3}, wide[] = {4, 2, 3};
    dp_tensor *out = made(DP_FLOAT32, 2, sizes, NULL), *in = made(DP_FLOAT32, 1, row, NULL);
    dp_tensor *more = made(DP_FLOAT32, 3, wide, NULL);
    dp_iter_config c = dp_iter_of(DP_ITER_COPY, 1, &out, 1, &in);
    dp_iter it;

    ck_assert_int_eq(start(&c, &it), 0);
    ck_assert_int_eq(it.numel, 6);
    c.ins = &more;
    ck_assert_int_eq(start(&c, &it), DP_ERUNTIME);
    ck_assert_str_eq(err.message,
                     "output with shape [2, 3] doesn't match the broadcast shape [4, 2, 3]");
    dp_iter_config fill = dp_iter_of(DP_ITER_NULLARY, 1, &out, 0, NULL);
    ck_assert_int_eq(start(&fill, &it), 0);
    ck_assert_int_eq(it.numel, 6);
    dp_tensor *all[] = {out, in, more};
    drop(3, all);
}
END_TEST

/* -- refusals -- */

START_TEST(what_does_not_go_together_is_refused)
{
    dp_tensor *in = made(DP_FLOAT32, 0, NULL, NULL), *out = NULL;
    int64_t shape[] = {1};
    dp_iter_config c = dp_iter_of(DP_ITER_REDUCTION, 1, &out, 1, &in);
    dp_iter it = {.size = 8};

    ck_assert_int_eq(dpi_iter_init(&c, false, NULL, arena, &it, &err), DP_EPLUGIN);
    c.shape = shape;
    c.ndim = 1;
    ck_assert_int_eq(start(&c, &it), DP_EPLUGIN);
    ck_assert_str_eq(err.message,
                     "a reduction has inputs, outputs that resize, and no shape of its own");
    c = dp_iter_of(0, 1, &out, 1, &in);
    c.shape = shape;
    c.ndim = 65;
    ck_assert_int_eq(start(&c, &it), DP_EPLUGIN);
    c = dp_iter_of(0, 1, &out, 1, &in);
    ck_assert_int_eq(start(&c, &it), 0);
    ck_assert_int_eq(dpi_iter_reduce(&it, 1, &(dp_reduction){0}, NULL, arena, NULL, &err),
                     DP_EPLUGIN);
    drop(1, &out);
    drop(1, &in);
}
END_TEST

/* More operands and dimensions than the iterator has room for, several outputs, one resized. */
START_TEST(a_failed_allocation_changes_nothing)
{
    enum { DIMS = 10, N = 6 };
    int64_t sizes[DIMS], strides[DIMS], next = 1, five[] = {5};
    dp_tensor *outs[3] = {NULL, made(DP_FLOAT32, 1, five, NULL), NULL}, *ins[3];
    const dpi_geometry *before = dpi_geometry_of(outs[1]);
    int rc = DP_ERESOURCE, n_failed = 0;
    dp_iter it;

    for (int d = DIMS - 1; d >= 0; d--) {
        sizes[d] = 2;
        strides[d] = next;
        next *= 3;
    }
    for (int k = 0; k < 3; k++)
        ins[k] = made(k == 1 ? DP_INT16 : DP_FLOAT32, DIMS, sizes, strides);
    uint64_t count = live();
    dp_iter_config c = dp_iter_of(DP_ITER_BINARY, 3, outs, 3, ins);
    for (uint64_t n = 1; rc != DP_OK; n++, n_failed++) {
        dp_arena_free(arena);
        arena = dp_arena_new();
        dp_fault_arm(n);
        rc = start(&c, &it);
        ck_assert_int_eq(rc, dp_fault_hit() ? DP_ERESOURCE : DP_OK);
        dp_fault_arm(0);
        if (rc == DP_OK)
            break;
        ck_assert_uint_eq(live(), count);
        ck_assert(outs[0] == NULL && outs[2] == NULL && dpi_geometry_of(outs[1]) == before);
        ck_assert_uint_lt(n, 50);
    }
    ck_assert_int_ge(n_failed, 5);
    ck_assert_int_eq(it.ndim, DIMS);
    ck_assert_uint_eq(it.resized, 2);
    drop(3, outs);
    drop(3, ins);
}
END_TEST

START_TEST(a_failed_plain_output_takes_back_those_before_it)
{
    int64_t sizes[] = {4096};
    dp_tensor *outs[3] = {NULL, NULL, NULL}, *in = made(DP_FLOAT32, 1, sizes, NULL);
    dp_iter_config c = dp_iter_of(DP_ITER_UNARY, 3, outs, 1, &in);
    uint64_t count = live();
    int rc = DP_ERESOURCE;
    dp_iter it;

    for (uint64_t n = 1; rc != DP_OK; n++) {
        dp_fault_arm(n);
        rc = start(&c, &it);
        dp_fault_arm(0);
        ck_assert_uint_eq(live(), count + (rc == DP_OK ? 3 : 0));
        ck_assert((outs[0] != NULL) == (rc == DP_OK) && (outs[1] != NULL) == (rc == DP_OK));
        ck_assert_uint_lt(n, 20);
    }
    drop(3, outs);
    drop(1, &in);
}
END_TEST

UNIT_SUITE(iter)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, presets_find_the_dtypes);
    tcase_add_test(tc, dimensions_are_sorted_and_merged);
    tcase_add_test(tc, many_operands_and_dimensions_do_not_fit_and_work);
    tcase_add_test(tc, each_element_is_seen_once);
    tcase_add_test(tc, a_given_shape_is_walked_in_larger_operands);
    tcase_add_test(tc, outputs_that_may_not_be_resized_must_fit);
    tcase_add_test(tc, what_does_not_go_together_is_refused);
    tcase_add_test(tc, a_failed_allocation_changes_nothing);
    tcase_add_test(tc, a_failed_plain_output_takes_back_those_before_it);
}
