/* trace.c -- the operator trace, the sum of a matrix's diagonal
 * (aten/src/ATen/native/ReduceOps.cpp). */
#include "core/elements.h"

/* aten::trace(Tensor self) -> Tensor */
static int trace(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);
    dp_tensor *diagonal;

    if (x.ndim != 2)
        return dp_fail(ctx, DP_ERUNTIME, "trace: expected a matrix");
    if (x.dtype == DP_BOOL || dp_dtype_is_reduced_floating(x.dtype))
        return dp_fail(ctx, DP_ERUNTIME, "\"trace\" not implemented for '%s'",
                       x.dtype == DP_BOOL      ? "Bool"
                       : x.dtype == DP_FLOAT16 ? "Half"
                                               : "BFloat16");
    int rc = dp_invoke(ctx, "aten::diagonal", "T>T", self, &diagonal);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::sum", "T>T", diagonal, out);
    dp_tensor_unref(diagonal);
    return rc;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("trace", trace, (T), (T)))
