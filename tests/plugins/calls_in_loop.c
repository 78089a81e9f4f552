/* calls_in_loop.c -- the body of dp_parallel_for() calls an operator, with a context that is
 * another thread's. */
#include <dispatchd/plugin.h>

DP_PLUGIN(calls_in_loop, "1.0")

typedef struct both {
    dp_ctx *ctx;
    dp_tensor *self;
} both;

static void body(int64_t begin, int64_t end, void *user)
{
    const both *b = user;

    for (; begin < end; begin++) {
        dp_tensor *out = NULL;
        if (DP_INVOKE(b->ctx, "aten::neg", (T), (T), b->self, &out) == 0)
            dp_tensor_unref(out);
    }
}

static int loop(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    both b = {ctx, self};
    int rc = dp_parallel_for(ctx, 0, 100000, 1, body, &b);

    return rc < 0 ? rc : DP_INVOKE(ctx, "aten::neg", (T), (T), self, out);
}

DP_LIBRARY(calls_in_loop, DP_DEF("loop(Tensor self) -> Tensor"))
DP_LIBRARY_IMPL(calls_in_loop, CPU, DP_IMPL_UNBOXED("loop", loop, (T), (T)))
