/* duplicate_fallback_b.c -- a fallback for Tracer; a second one for the key is an error. */
#include <dispatchd/plugin.h>

DP_PLUGIN(duplicate_fallback_b, "1.0")

static int fallback(dp_call *call)
{
    return dp_redispatch_boxed(call->ctx, call->op, dp_keyset_below(call->keys, call->key),
                               call->args, call->n_args, call->rets, call->n_rets);
}

DP_FALLBACK(TESTING_ONLY_GenericMode, fallback)
