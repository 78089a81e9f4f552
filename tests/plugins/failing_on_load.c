/* failing_on_load.c -- refuses to be loaded. */
#include <dispatchd/plugin.h>

DP_PLUGIN(failing_on_load, "1.0")

static int on_load(dp_ctx *ctx)
{
    return dp_fail(ctx, DP_ERUNTIME, "no device of kind '%s' is there", "toy");
}

DP_ON_LOAD(on_load)
DP_LIBRARY(failing_on_load, DP_DEF("f(Tensor self) -> Tensor"))
