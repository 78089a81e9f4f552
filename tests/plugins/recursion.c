/* recursion.c -- a kernel that calls its own operator for ever. */
#include <dispatchd/plugin.h>

DP_PLUGIN(recursion, "1.0")

static int kernel(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return DP_INVOKE(ctx, "recursion::f", (T), (T), self, out);
}

/* With 200 KB of stack a call, of which few threads have 128 times as much. */
static int large(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    volatile char frame[200000];

    frame[0] = frame[sizeof(frame) - 1] = 1;
    int rc = DP_INVOKE(ctx, "recursion::large", (T), (T), self, out);
    return frame[0] == 1 ? rc : 1;
}

DP_LIBRARY(recursion, DP_DEF("f(Tensor self) -> Tensor"), DP_DEF("large(Tensor self) -> Tensor"))
DP_LIBRARY_IMPL(recursion, CPU, DP_IMPL_UNBOXED("f", kernel, (T), (T)),
                DP_IMPL_UNBOXED("large", large, (T), (T)))
