/* object.c -- the functions of api.h on objects of plugins.
 *
 * Each function calls a function of libdispatch/tensor with the context's account and error. */
#include "ctx.h"
#include "tensor/object.h"

int dp_object_new(dp_ctx *ctx, const dp_object_ops *kind, size_t bytes, dp_tensor *const *tensors,
                  size_t n, dp_object **out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, kind, out) ||
        (n > 0 && !DPI_GIVEN(&ctx->error, DP_EPLUGIN, tensors)))
        return DP_EPLUGIN;
    return dpi_object_new(kind, bytes, tensors, n, ctx->account, out, &ctx->error);
}

int dp_object_get(dp_ctx *ctx, dp_object *o, const dp_object_ops *kind, dp_object_view *out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, o, kind, out))
        return DP_EPLUGIN;
    return dpi_object_get(o, kind, out, &ctx->error);
}
