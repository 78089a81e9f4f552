/* toy_backend.c -- names a backend in the host's memory and makes tensors on it. */
#include <dispatchd/plugin.h>

DP_PLUGIN(toy_backend, "1.0")
DP_BACKEND(toy)

static int to_toy(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_device toy;
    int rc = dp_device_find(ctx, "toy", &toy);
    if (rc < 0)
        return rc;
    DP_VIEW(x, self);
    rc = dp_empty(ctx, x.dtype, toy, x.ndim, x.sizes, DP_CONTIGUOUS, out);
    return rc < 0 ? rc : dp_copy(ctx, *out, self);
}

static int where(dp_ctx *ctx, dp_tensor *self, int64_t *out)
{
    (void)self;
    *out = dp_key_functionality(dp_ctx_key(ctx));
    return 0;
}

DP_LIBRARY(toy, DP_DEF("to_toy(Tensor self) -> Tensor"), DP_DEF("where(Tensor self) -> int"))
DP_LIBRARY_IMPL(toy, CPU, DP_IMPL_UNBOXED("to_toy", to_toy, (T), (T)))
DP_LIBRARY_IMPL(toy, toy, DP_IMPL_UNBOXED("where", where, (T), (i)))
