/* conj_physical.c -- conj_physical, a copy of conjugated elements
 * (aten/src/ATen/native/UnaryOps.cpp). */
#include "lib/dims.h"

/* aten::conj_physical.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!) */
static int conj_physical_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *out)
{
    dp_tensor *conjugate = NULL, *shape;
    /* a tensor with the strides of the result */
    int rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_PRESERVE, &shape);

    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    DP_VIEW(x, shape);
    rc = dp_set_output(ctx, &out, x.ndim, x.sizes, x.strides, DP_DTYPE_NONE, x.device);
    dp_tensor_unref(shape);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::conj", "T>T", self, &conjugate);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    rc = dp_copy(ctx, out, conjugate);
    dp_tensor_unref(conjugate);
    return rc;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("conj_physical.out", conj_physical_out, (T, T), ()))
