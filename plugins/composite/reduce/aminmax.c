/* aminmax.c -- the operator _aminmax, which warns that it is deprecated
 * (aten/src/ATen/native/TensorCompare.cpp). */
#include "core/composite.h"

static void warn_aminmax(dp_ctx *ctx)
{
    dp_warn(ctx,
            "_aminmax is deprecated as of PyTorch 1.11 and will be removed in a future release. "
            "Use aminmax instead.");
}

/* aten::_aminmax(Tensor self) -> (Tensor, Tensor) */
static int aminmax(dp_ctx *ctx, dp_tensor *self, dp_tensor **min, dp_tensor **max)
{
    warn_aminmax(ctx);
    return dp_invoke(ctx, "aten::aminmax", "T>TT", self, min, max);
}

/* aten::_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor) */
static int aminmax_dim(dp_ctx *ctx, dp_tensor *self, int64_t dim, bool keepdim, dp_tensor **min,
                       dp_tensor **max)
{
    warn_aminmax(ctx);
    return dp_invoke(ctx, "aten::aminmax", "Toib>TT", self, &dim, (int)keepdim, min, max);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("_aminmax", aminmax, (T), (T, T)),
                DP_IMPL_UNBOXED("_aminmax.dim", aminmax_dim, (T, i, b), (T, T)))
