/* state.c -- a backend whose every operator is served by one slow fallback, and kernels that tell
 * what the dispatcher's mode is, or leave guards on. */
#include <dispatchd/plugin.h>

DP_PLUGIN(state, "1.0")
DP_BACKEND(slow)

static int mode(dp_ctx *ctx, bool *no_grad, bool *inference, int64_t *fallback)
{
    const dp_mode *m = dp_ctx_mode(ctx);

    *no_grad = m->no_grad;
    *inference = m->inference;
    *fallback = m->fallback;
    return 0;
}

/* Switches gradients off for good, as far as it can; fails when it is told to. */
static int forgets(dp_ctx *ctx, bool fail)
{
    dp_keyset none = {0, 0}, autograd = dp_keyset_named(DP_KEYSET_AUTOGRAD);
    DP_MODE(m, ctx);

    m.no_grad = m.inference = true;
    if (dp_guard_mode(ctx, &m) < 0 || dp_guard_enter(ctx, none, autograd) < 0)
        return DP_ERESOURCE;
    return fail ? dp_fail(ctx, DP_EVALUE, "with two guards on") : 0;
}

static int to_slow(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_device slow;
    DP_VIEW(x, self);
    int rc = dp_device_find(ctx, "slow", &slow);

    return rc < 0 ? rc : dp_empty(ctx, x.dtype, slow, x.ndim, x.sizes, DP_CONTIGUOUS, out);
}

/* The first argument, whatever the operator. */
static int fallback(dp_call *call)
{
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return 0;
}

DP_LIBRARY(state, DP_DEF("mode() -> (bool, bool, int)"), DP_DEF("forgets(bool fail) -> ()"),
           DP_DEF("to_slow(Tensor self) -> Tensor"))
DP_LIBRARY_IMPL(state, CompositeExplicitAutograd, DP_IMPL_UNBOXED("mode", mode, (), (b, b, i)),
                DP_IMPL_UNBOXED("forgets", forgets, (b), ()))
DP_LIBRARY_IMPL(state, CPU, DP_IMPL_UNBOXED("to_slow", to_slow, (T), (T)))
DP_FALLBACK(slow, fallback)
