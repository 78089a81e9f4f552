/* trial.c -- the loaded build of a plugin that gets a canary; the files trial_*.c are other builds.
 *
 * trial::scale doubles, and so does trial::scale_ in place.  trial::twice calls trial::scale twice,
 * and fails if the two calls ran in different builds.  trial::build tells which build runs. */
#include <dispatchd/plugin.h>
#include <stdatomic.h>
#include <sched.h>

#ifndef TRIAL_BUILD
#define TRIAL_BUILD  0
#define TRIAL_FACTOR 2
#endif

DP_PLUGIN(trial, "1.0")

static _Thread_local int seen; /* calls of this build on this thread */

static void multiply(dp_tensor *t, float factor)
{
    DP_VIEW(v, t);
    float *x = v.data;

    for (int64_t i = 0; i < v.numel; i++)
        x[i] *= factor;
}

static int check(dp_ctx *ctx, const dp_tensor *t)
{
    DP_VIEW(v, t);

    if (v.dtype != DP_FLOAT32)
        return dp_fail(ctx, DP_ETYPE, "trial: expected float32");
    return dp_tensor_is_contiguous(t, DP_CONTIGUOUS)
               ? 0
               : dp_fail(ctx, DP_EVALUE, "trial: expected a contiguous tensor");
}

static int scale_(dp_ctx *ctx, dp_tensor *self)
{
    int rc = check(ctx, self);

    seen++;
    if (rc < 0)
        return rc;
    multiply(self, TRIAL_FACTOR);
#ifdef TRIAL_FAILS
    return dp_fail(ctx, DP_ERUNTIME, "trial: this build fails");
#else
    return 0;
#endif
}

static int scale(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(v, self);
    int rc = dp_empty(ctx, v.dtype, v.device, v.ndim, v.sizes, DP_CONTIGUOUS, out);

    if (rc == 0)
        rc = dp_copy(ctx, *out, self);
    if (rc == 0)
        rc = scale_(ctx, *out);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

static int twice(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_tensor *once = NULL;
    int before = seen;
    int rc = DP_INVOKE(ctx, "trial::scale", (T), (T), self, &once);

    sched_yield();
    if (rc == 0)
        rc = DP_INVOKE(ctx, "trial::scale", (T), (T), once, out);
    dp_tensor_unref(once);
    if (rc == 0 && seen != before + 2)
        return dp_fail(ctx, DP_ERUNTIME, "trial: the call ran in two builds");
    return rc;
}

static int build(dp_ctx *ctx, dp_tensor *self, int64_t *out)
{
    (void)ctx;
    (void)self;
    *out = TRIAL_BUILD;
    return 0;
}

DP_LIBRARY(trial, DP_DEF("scale(Tensor self) -> Tensor"), DP_DEF("twice(Tensor self) -> Tensor"),
           DP_DEF("scale_(Tensor(a!) self) -> ()"), DP_DEF("build(Tensor self) -> int"))
DP_LIBRARY_IMPL(trial, CPU, DP_IMPL_UNBOXED("scale", scale, (T), (T)),
                DP_IMPL_UNBOXED("scale_", scale_, (T), ()),
                DP_IMPL_UNBOXED("build", build, (T), (i)))
DP_LIBRARY_IMPL(trial, CompositeExplicitAutograd, DP_IMPL_UNBOXED("twice", twice, (T), (T)))
