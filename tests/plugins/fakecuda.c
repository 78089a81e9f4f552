/* fakecuda.c -- a device for the built-in backend CUDA: memory of its own, one kernel of its own,
 * and the host's fallback for every other operator. */
#include <dispatchd/plugin.h>
#include "faulting_device.h"

DP_PLUGIN(fakecuda, "1.0")
DP_BACKEND_DEVICE(cuda, faultdev_ops)
DP_FALLBACK(CUDA, dp_fallback_cpu)

/* aten::zero_(Tensor(a!) self) -> Tensor(a!) */
static int zero_(dp_ctx *ctx, dp_tensor *self)
{
    DP_VIEW(x, self);
    size_t bytes = (size_t)x.numel * dp_dtype_size(x.dtype);

    if (!dp_tensor_is_dense(self))
        return dp_refuse(ctx, DP_ENOTIMPL, "fakecuda zeroes dense tensors only");
    if (bytes > 0)
        memset(faultdev_reach(x.data, bytes), 0, bytes);
    return 0;
}
DP_KERNEL(zero_, aten, CUDA, "zero_", zero_, (T), ())

DP_ON_UNLOAD(faultdev_unload)
