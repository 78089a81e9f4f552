/* recursion.c -- a kernel that calls its own operator for ever. */
#include <dispatchd/plugin.h>

DP_PLUGIN(recursion, "1.0")

static int kernel(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return dp_invoke(ctx, "recursion::f", "T>T", self, out);
}

DP_LIBRARY(recursion, DP_DEF("f(Tensor self) -> Tensor"))
DP_LIBRARY_IMPL(recursion, CPU, DP_IMPL_UNBOXED("f", kernel, (T), (T)))
