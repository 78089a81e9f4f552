/* wrong_dtype.c -- asks for a dtype that does not exist. */
#include <dispatchd/plugin.h>

DP_PLUGIN(wrong_dtype, "1.0")

static int no_such(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return dp_empty_like(ctx, self, 8, DP_PRESERVE, out);
}

DP_LIBRARY(wrong_dtype, DP_DEF("no_such(Tensor self) -> Tensor"))
DP_LIBRARY_IMPL(wrong_dtype, CPU, DP_IMPL_UNBOXED("no_such", no_such, (T), (T)))
