/* wrong_npu.c -- a backend, wnpu, with memory of its own, whose operators run on the CPU, but: relu
 * is wrong for elements above 100, mul_ for all, sigmoid fails, tanh waits while the file named by
 * WRONG_NPU_WAITS exists, and cos waits until its request ends. */
#include <dispatchd/plugin.h>
#include "faulting_device.h"
#include <stdlib.h>
#include <time.h>

DP_PLUGIN(wrong_npu, "1.0")
DP_BACKEND_DEVICE(wnpu, faultdev_ops)
DP_FALLBACK(wnpu, dp_fallback_cpu)

static float *elements(const dp_tensor *t, int64_t *n)
{
    DP_VIEW(v, t);
    *n = v.numel;
    return v.numel != 0 ? faultdev_reach(v.data, (size_t)v.numel * sizeof(float)) : NULL;
}

static int relu(dp_call *call)
{
    int rc = dp_fallback_cpu(call);
    int64_t n;

    if (rc < 0)
        return rc;
    float *x = elements(call->rets[0].u.t, &n);
    for (int64_t i = 0; x != NULL && i < n; i++)
        if (x[i] > 100)
            x[i] += 1;
    return 0;
}

static int mul_in_place(dp_call *call)
{
    int rc = dp_fallback_cpu(call);
    int64_t n;

    if (rc < 0)
        return rc;
    float *x = elements(call->args[0].u.t, &n);
    if (x != NULL && n > 0)
        x[n - 1] = -7;
    return 0;
}

static int sigmoid(dp_call *call)
{
    return dp_fail(call->ctx, DP_ERUNTIME, "sigmoid is broken");
}

static int tanh_waits(dp_call *call)
{
    const char *path = getenv("WRONG_NPU_WAITS");

    while (path != NULL && access(path, F_OK) == 0)
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    return dp_fallback_cpu(call);
}

static int cos_hangs(dp_call *call)
{
    int rc;

    while ((rc = dp_checkpoint(call->ctx)) == 0)
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    return rc;
}
DP_LIBRARY_IMPL(aten, wnpu, DP_IMPL("relu", relu), DP_IMPL("mul_.Tensor", mul_in_place),
                DP_IMPL("sigmoid", sigmoid), DP_IMPL("tanh", tanh_waits), DP_IMPL("cos", cos_hangs))

DP_ON_UNLOAD(faultdev_unload)
