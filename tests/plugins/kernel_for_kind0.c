/* kernel_for_kind0.c -- a fallback for a key that is lent to kinds, whichever has it. */
#include <dispatchd/plugin.h>

DP_PLUGIN(kernel_for_kind0, "1.0")

static int fallback(dp_call *call)
{
    return dp_fail(call->ctx, DP_EVALUE, "it is not for this kind");
}

DP_FALLBACK(Kind0, fallback)
