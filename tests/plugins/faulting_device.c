/* faulting_device.c -- a backend with memory of its own that faults when the host reads it. */
#include <dispatchd/plugin.h>
#include "faulting_device.h"

DP_PLUGIN(faulting_device, "1.0")
DP_BACKEND_DEVICE(faultdev, faultdev_ops)

/* add_one(Tensor self) -> Tensor; self float32, dense.  Computes by way of the second mapping. */
static int add_one(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);
    if (x.dtype != DP_FLOAT32 || !dp_tensor_is_dense(self))
        return dp_fail(ctx, DP_ETYPE, "add_one takes dense float32 tensors, not %s",
                       dp_dtype_name(x.dtype));
    int rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_PRESERVE, out);
    if (rc < 0)
        return rc;
    DP_VIEW(y, *out);
    size_t bytes = (size_t)x.numel * sizeof(float);
    const float *from = bytes ? faultdev_reach(x.data, bytes) : NULL;
    float *to = bytes ? faultdev_reach(y.data, bytes) : NULL;
    if (bytes && (from == NULL || to == NULL))
        return dp_fail(ctx, DP_ERUNTIME, "a tensor that is not in the device's memory");
    for (int64_t i = 0; i < x.numel; i++)
        to[i] = from[i] + 1;
    return 0;
}

/* to(Tensor self) -> Tensor: a copy on the device. */
static int to_device(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_device device;
    int rc = dp_device_find(ctx, "faultdev", &device);
    if (rc < 0)
        return rc;
    DP_VIEW(x, self);
    rc = dp_empty(ctx, x.dtype, device, x.ndim, x.sizes, DP_CONTIGUOUS, out);
    return rc < 0 ? rc : dp_copy(ctx, *out, self);
}

/* What was given out has to be back by now. */
DP_LIBRARY(myfault, DP_DEF("add_one(Tensor self) -> Tensor"), DP_DEF("to(Tensor self) -> Tensor"))
DP_LIBRARY_IMPL(myfault, faultdev, DP_IMPL_UNBOXED("add_one", add_one, (T), (T)))
DP_LIBRARY_IMPL(myfault, CPU, DP_IMPL_UNBOXED("to", to_device, (T), (T)))
DP_ON_UNLOAD(faultdev_unload)
