/* order.c -- conversion of values to a dtype in which they are compared (order.h). */
#include "order.h"

int order_widen(dp_ctx *ctx, dp_tensor *t, dp_dtype dtype, dp_tensor **out)
{
    dp_tensor *cast;
    DP_VIEW(x, t);
    dp_dtype wide = dp_dtype_is_integral(dtype, true) ? DP_INT64 : DP_FLOAT64;
    int rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", t, (int64_t)dtype, &cast);

    if (rc < 0)
        return rc;
    rc = dp_empty(ctx, wide, x.device, x.ndim, x.sizes, DP_CONTIGUOUS, out);
    if (rc == 0 && (rc = dp_copy(ctx, *out, cast)) < 0)
        *out = dp_tensor_unref(*out);
    dp_tensor_unref(cast);
    return rc;
}
