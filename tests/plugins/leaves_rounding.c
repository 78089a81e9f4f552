/* leaves_rounding.c -- code of every kind that leaves the floating-point environment of its thread
 * changed. */
/* CFLAGS: -frounding-math */
#define _GNU_SOURCE /* feenableexcept */
#include <dispatchd/plugin.h>
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

DP_PLUGIN(leaves_rounding, "1.0")

static void change(void)
{
    fesetround(FE_UPWARD);
}

/* unboxed() -> (); boxed() -> () */
static int unboxed(dp_ctx *ctx)
{
    (void)ctx;
    change();
    return 0;
}

static int boxed(dp_call *call)
{
    (void)call;
    change();
    return 0;
}

static int failing(dp_ctx *ctx)
{
    change();
    return dp_fail(ctx, DP_ERUNTIME, "rounded up and failed");
}

/* trap(int exceptions) -> (): those of <fenv.h> end the process from now on when they come */
static int trap(dp_ctx *ctx, int64_t exceptions)
{
    (void)ctx;
    feenableexcept((int)exceptions);
    return 0;
}

/* inside(Tensor a, Tensor b) -> Tensor: a / b, rounded upward, which is no fault while it lasts */
static int inside(dp_ctx *ctx, dp_tensor *a, dp_tensor *b, dp_tensor **out)
{
    fesetround(FE_UPWARD);
    int rc = dp_invoke(ctx, "aten::div.Tensor", "TT>T", a, b, out);
    fesetround(FE_TONEAREST);
    return rc;
}

typedef struct loop {
    pthread_t caller;
    atomic_bool changed;
} loop;

/* The caller waits until a helper has come, however busy all are. */
static void body(int64_t begin, int64_t end, void *user)
{
    loop *l = user;

    (void)begin, (void)end;
    if (!pthread_equal(l->caller, pthread_self())) {
        change();
        atomic_store(&l->changed, true);
    }
    for (int ms = 0; ms < 20000 && !atomic_load(&l->changed); ms++)
        usleep(1000);
}

static int loops(dp_ctx *ctx)
{
    loop l = {.caller = pthread_self()};

    return dp_parallel_for(ctx, 0, 100000, 1, body, &l);
}

/* thread(float a, float b) -> float: a / b by a thread that has set its rounding one turn before */
typedef struct division {
    double a, b, out;
    int rc;
} division;

static int divide(dp_ctx *ctx, double a, double b, double *out)
{
    (void)ctx;
    *out = a / b;
    return 0;
}

static void divides(dp_ctx *ctx, void *arg)
{
    division *d = arg;

    change();
    dp_thread_turn(ctx);
    d->rc = dp_invoke(ctx, "leaves_rounding::divide", "ff>f", d->a, d->b, &d->out);
    change();
}

static int in_thread(dp_ctx *ctx, double a, double b, double *out)
{
    division d = {.a = a, .b = b};
    uint64_t id;
    int rc = dp_thread_start(ctx, "divides", divides, &d, &id);

    if (rc == 0)
        rc = dp_thread_join(ctx, id, -1);
    *out = d.out;
    return rc < 0 ? rc : d.rc;
}

static atomic_bool observing;

static void observe(dp_observation *o)
{
    if (o->phase && atomic_load(&observing))
        change();
}

static int set_observing(dp_ctx *ctx, bool on)
{
    (void)ctx;
    atomic_store(&observing, on);
    return 0;
}

/* -- a device in the host's memory -- */

static int allocate(int index, size_t bytes, void *stream, void **out, dp_error *err)
{
    (void)index, (void)stream;
    *out = aligned_alloc(64, (bytes / 64 + 1) * 64);
    return *out != NULL ? 0 : dp_error_set(err, DP_ERESOURCE, "no memory");
}

static void release(int index, void *p, size_t bytes, void *stream)
{
    (void)stream, (void)index, (void)bytes;
    free(p);
}

static int copy(int index, void *dst, const void *src, size_t bytes, int direction, dp_error *err)
{
    (void)index, (void)direction, (void)err;
    memcpy(dst, src, bytes);
    change();
    return 0;
}

static const dp_device_ops ops = {.size = (uint32_t)sizeof(dp_device_ops),
                                  .allocate = allocate,
                                  .release = release,
                                  .copy = copy};

DP_BACKEND_DEVICE(leaves, ops)
DP_OBSERVER(observe)
DP_LIBRARY(leaves_rounding, DP_DEF("unboxed() -> ()"), DP_DEF("boxed() -> ()"),
           DP_DEF("failing() -> ()"), DP_DEF("trap(int exceptions) -> ()"),
           DP_DEF("inside(Tensor a, Tensor b) -> Tensor"), DP_DEF("loops() -> ()"),
           DP_DEF("divide(float a, float b) -> float"),
           DP_DEF("in_thread(float a, float b) -> float"), DP_DEF("observe(bool on) -> ()"),
           DP_IMPL_UNBOXED("unboxed", unboxed, (), ()), DP_IMPL("boxed", boxed),
           DP_IMPL_UNBOXED("failing", failing, (), ()), DP_IMPL_UNBOXED("trap", trap, (i), ()),
           DP_IMPL_UNBOXED("inside", inside, (T, T), (T)), DP_IMPL_UNBOXED("loops", loops, (), ()),
           DP_IMPL_UNBOXED("divide", divide, (f, f), (f)),
           DP_IMPL_UNBOXED("in_thread", in_thread, (f, f), (f)),
           DP_IMPL_UNBOXED("observe", set_observing, (b), ()))
