/* returns_error.c -- kernels that fail: properly, without a message, with a code that is none. */
#include <dispatchd/plugin.h>

DP_PLUGIN(returns_error, "1.0")

static int said(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    (void)self;
    (void)out;
    return dp_fail(ctx, DP_EVALUE, "the moon is in the wrong phase");
}

/* What a kernel put in its outputs before it failed is the host's to release. */
static int halfway(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    *out = dp_tensor_ref(self);
    return dp_fail(ctx, DP_EINDEX, "index 7 is out of range");
}

static int silent(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    (void)ctx;
    (void)self;
    (void)out;
    return DP_ERUNTIME;
}

static int errno_like(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    (void)ctx;
    (void)self;
    (void)out;
    return -7;
}

static int stranger(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    (void)ctx;
    (void)self;
    (void)out;
    return 12345;
}

DP_LIBRARY(returns_error, DP_DEF("said(Tensor self) -> Tensor"),
           DP_DEF("halfway(Tensor self) -> Tensor"), DP_DEF("silent(Tensor self) -> Tensor"),
           DP_DEF("errno_like(Tensor self) -> Tensor"), DP_DEF("stranger(Tensor self) -> Tensor"))
DP_LIBRARY_IMPL(returns_error, CPU, DP_IMPL_UNBOXED("said", said, (T), (T)),
                DP_IMPL_UNBOXED("halfway", halfway, (T), (T)),
                DP_IMPL_UNBOXED("silent", silent, (T), (T)),
                DP_IMPL_UNBOXED("errno_like", errno_like, (T), (T)),
                DP_IMPL_UNBOXED("stranger", stranger, (T), (T)))
