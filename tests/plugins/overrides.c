/* overrides.c -- a second kernel for the template's operator, and one for an operator nobody
 * defines: both are allowed and reported. */
#include <dispatchd/plugin.h>

DP_PLUGIN(overrides, "2.1")

static int scale(dp_ctx *ctx, dp_tensor *self, double factor, dp_tensor **out)
{
    (void)ctx;
    (void)factor;
    *out = dp_tensor_ref(self);
    return 0;
}

static int dangling(dp_call *call)
{
    call->rets[0] = dp_int(1);
    return 0;
}

DP_LIBRARY_IMPL(tutorial, CPU, DP_IMPL_UNBOXED("scale", scale, (T, f), (T)))
DP_LIBRARY_IMPL(nowhere, CPU, DP_IMPL("dangling", dangling))
