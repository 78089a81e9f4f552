/* ends_thread_in_loop.c -- the body of a parallel loop ends the thread of the pool that it runs on:
 * of dp_parallel_for(), or of an elementwise loop. */
#include <dispatchd/plugin.h>
#include <dispatchd/iter.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

DP_PLUGIN(ends_thread_in_loop, "1.0")

typedef struct loop {
    pthread_t caller;
    atomic_bool ended;
} loop;

/* The caller waits until a helper has come, however busy all are. */
static void body(int64_t begin, int64_t end, void *user)
{
    loop *l = user;

    (void)begin, (void)end;
    if (!pthread_equal(l->caller, pthread_self())) {
        atomic_store(&l->ended, true);
        pthread_exit(NULL);
    }
    for (int ms = 0; ms < 20000 && !atomic_load(&l->ended); ms++)
        usleep(1000);
}

static void elements(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    (void)data, (void)strides;
    body(0, n, user);
}

static int elementwise(dp_ctx *ctx, dp_tensor *self, loop *l)
{
    dp_tensor *out = NULL;
    dp_iter it;
    dp_iter_config config = dp_iter_of(DP_ITER_UNARY, 1, &out, 1, &self);
    int rc = dp_iter_init(ctx, &config, &it);

    if (rc == 0)
        rc = dp_iter_run_1d(ctx, &it, elements, l);
    dp_tensor_unref(out);
    return rc;
}

/* ends_thread_in_loop::f(Tensor self, bool elementwise) -> () */
static int f(dp_ctx *ctx, dp_tensor *self, bool is_elementwise)
{
    loop l = {.caller = pthread_self()};

    return is_elementwise ? elementwise(ctx, self, &l)
                          : dp_parallel_for(ctx, 0, 100000, 1, body, &l);
}

DP_LIBRARY(ends_thread_in_loop, DP_DEF("f(Tensor self, bool elementwise) -> ()"))
DP_LIBRARY_IMPL(ends_thread_in_loop, CPU, DP_IMPL_UNBOXED("f", f, (T, b), ()))
