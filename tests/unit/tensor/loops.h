/* loops.h -- fixture and helpers for tests of elementwise loops (dp_iter). */
#ifndef LOOPS_H
#define LOOPS_H

#include "tensor_cases.h"
#include "../../plugins/faulting_device.h"
#include "../alive.h"
#include <dispatchd/iter.h>
#include <stdatomic.h>

static dp_error err;
static dp_arena *arena;

static inline void setup(void)
{
    arena = dp_arena_new();
    alive_begin();
}

static inline void teardown(void)
{
    alive_end();
    arena = dp_arena_free(arena);
}

static inline int init(dp_tensor **outs, int n_out, dp_tensor **ins, int n_in, uint32_t flags,
                       dp_dtype out, dp_iter *it)
{
    dp_iter_config c = dp_iter_of(flags, n_out, outs, n_in, ins);

    c.out_dtype = dp_some_dtype(out);
    it->size = sizeof(*it);
    dp_error_clear(&err);
    return dpi_iter_init(&c, false, NULL, arena, it, &err);
}

static inline void add_float(char *const *data, const int64_t *s, int64_t n, void *user)
{
    (void)user;
    for (int64_t i = 0; i < n; i++) {
        *(float *)(data[0] + i * s[0]) =
            *(float *)(data[1] + i * s[1]) + *(float *)(data[2] + i * s[2]);
    }
}

/* Return a contiguous tensor with elements 0, 1, 2 ... in row-major order, converted to dtype. */
static inline dp_tensor *counting(dp_dtype dtype, int ndim, const int64_t *sizes)
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

/* Return element `i` of t in row-major order. */
static inline double element(const dp_tensor *t, int64_t i)
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

static inline void refused(dp_tensor *out, dp_tensor *a, dp_tensor *b, uint32_t flags, int code,
                           const char *message)
{
    dp_tensor *outs[1] = {out}, *ins[2] = {a, b};
    dp_iter it;
    int rc = init(outs, 1, ins, 2, flags, DP_DTYPE_NONE, &it);

    ck_assert_int_eq(rc, code);
    ck_assert_str_eq(err.message, message);
    ck_assert_ptr_eq(outs[0], out);
}

static inline void count_calls(char *const *data, const int64_t *s, int64_t n, void *user)
{
    (void)data, (void)s;
    atomic_fetch_add((atomic_llong *)user, n);
}

#endif
