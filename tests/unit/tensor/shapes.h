/* shapes.h -- helpers for tests of calls that resize tensors while other calls use them. */
#ifndef SHAPES_H
#define SHAPES_H

#include "calling.h"
#include "../alive.h"
#include <dispatchd/iter.h>
#include <pthread.h>
#include <stdlib.h>

enum { ROUNDS = 2000, COLUMNS = 7 };

static inline dp_tensor *make(int ndim, const int64_t *sizes)
{
    dp_tensor *t = NULL;
    dp_error err = DP_ERROR_INIT;
    int rc = dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, ndim, sizes, NULL, &t, &err);

    ck_assert_msg(rc == DP_OK, "%s", err.message);
    return t;
}

/* Resize the empty tensor `out` to the shape of `in`, as a kernel resizes an out= argument. */
static inline int give_shape(dp_tensor *out, dp_tensor *in, dp_error *err)
{
    dp_arena *arena = dp_arena_new();
    dp_iter_config c = dp_iter_of(DP_ITER_UNARY, 1, &out, 1, &in);
    dp_iter it = {.size = sizeof(it)};
    int rc = dpi_iter_init(&c, false, NULL, arena, &it, err);

    dp_arena_free(arena);
    return rc;
}

static inline void expect_shape(const dp_tensor *t, int ndim, int64_t first)
{
    dp_view v = {.size = sizeof(v)};

    dp_tensor_view(t, &v);
    ck_assert_int_eq(v.ndim, ndim);
    ck_assert_int_eq(v.sizes[0], first);
}

/* Thread function: resize ts[0] to the shape of ts[1], and check that this thread sees the
 * shape. */
static inline void *look_in_a_call_begun_before(void *arg)
{
    dp_tensor **ts = arg;
    dp_error err = DP_ERROR_INIT;

    ck_assert_int_eq(give_shape(ts[0], ts[1], &err), DP_OK);
    expect_shape(ts[0], 2, 3);
    return NULL;
}

static inline void in_another_thread(void *(*fn)(void *), void *arg)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, fn, arg), 0);
    pthread_join(thread, NULL);
}

#endif
