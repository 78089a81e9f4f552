/* version_3.c -- plugin `version`, release 3: it lacks the kernel of releases 1 and 2, and has an
 * operator and a fallback of its own. */
#include <dispatchd/plugin.h>

DP_PLUGIN(version, "3.0")

static int spare(dp_ctx *ctx, dp_tensor *self, int64_t *out)
{
    (void)ctx;
    (void)self;
    *out = 3;
    return 0;
}

static int fallback(dp_call *call)
{
    return dp_redispatch_boxed(call->ctx, call->op, dp_keyset_below(call->keys, call->key),
                               call->args, call->n_args, call->rets, call->n_rets);
}

DP_LIBRARY(version, DP_DEF("value(Tensor self) -> int"), DP_DEF("spare(Tensor self) -> int"))
DP_LIBRARY_IMPL(version, CPU, DP_IMPL_UNBOXED("spare", spare, (T), (i)))
DP_FALLBACK(TESTING_ONLY_GenericMode, fallback)
