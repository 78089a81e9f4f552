/* layer.c -- two layers that only look.  One is for gradients, at AutogradCPU, and counts what it
 * sees; one is for every call, at ADInplaceOrView, and hands it on. */
#include <dispatchd/plugin.h>
#include <stdatomic.h>

DP_PLUGIN(layer, "1.0")

static atomic_llong recorded, passed;

static int below(dp_call *call)
{
    return dp_redispatch_boxed(call->ctx, call->op, dp_keyset_below(call->keys, call->key),
                               call->args, call->n_args, call->rets, call->n_rets);
}

static int records(dp_call *call)
{
    atomic_fetch_add(&recorded, 1);
    return below(call);
}

static int passes(dp_call *call)
{
    atomic_fetch_add(&passed, 1);
    return below(call);
}

static int requires_grad_(dp_ctx *ctx, dp_tensor *self)
{
    dp_tensor_set_may_grad(ctx, self, true);
    return 0;
}

/* Calls that each of them saw since the last time. */
static int seen(dp_ctx *ctx, int64_t *by_recorder, int64_t *by_other)
{
    (void)ctx;
    *by_recorder = atomic_exchange(&recorded, 0);
    *by_other = atomic_exchange(&passed, 0);
    return 0;
}

DP_LIBRARY(layer, DP_DEF_TAGS("requires_grad_(Tensor(a!) self) -> Tensor(a!)", "keeps_version"),
           DP_DEF("seen() -> (int, int)"))
DP_LIBRARY_IMPL(layer, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("requires_grad_", requires_grad_, (T), ()),
                DP_IMPL_UNBOXED("seen", seen, (), (i, i)))
DP_FALLBACK_GRAD(AutogradCPU, records)
DP_FALLBACK(ADInplaceOrView, passes)
