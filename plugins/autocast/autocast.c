/* autocast.c -- plugin autocast: mixed precision (aten/src/ATen/autocast_mode.cpp).
 *
 * While autocast is on for a backend, calls of the operators in proto/ops/autocast.yaml get their
 * arguments cast by kernels of the Autocast keys, which the host has (dispatchd/autocast.h). */
#include "policies.h"

DP_PLUGIN(autocast, "1.0")

/* Key AutocastNamed is that of all named backends, of which some may have autocast off. */
static bool is_on(const dp_call *call)
{
    return dp_ctx_mode(call->ctx)->cast_backends >> dp_key_backend(call->key) & 1;
}

static int run_below(dp_call *call)
{
    return dp_redispatch_boxed(call->ctx, call->op, dp_keyset_below(call->keys, call->key),
                               call->args, call->n_args, call->rets, call->n_rets);
}

/* aten::norm.Scalar(Tensor self, Scalar p=2), norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1]
 * dim, bool keepdim=False): the overloads with a dtype have the same arguments and then `dtype`. */
int cast_fp32_append_dtype(dp_call *call)
{
    const char *to =
        call->n_args == 2 ? "aten::norm.ScalarOpt_dtype" : "aten::norm.ScalarOpt_dim_dtype";
    DP_VIEW(x, call->args[0].u.t);
    bool lower = dp_dtype_is_floating(x.dtype) && x.dtype != DP_FLOAT64 &&
                 dp_device_backend(x.device) == dp_key_backend(call->key);
    dp_value args[5];

    if (!is_on(call))
        return run_below(call);
    int depth = dp_guard_enter(call->ctx, (dp_keyset){0, 0}, dp_keyset_named(DP_KEYSET_AUTOCAST));

    if (depth < 0)
        return depth;
    for (uint32_t i = 0; i < call->n_args; i++)
        args[i] = call->args[i];
    args[call->n_args] = dp_int(lower ? DP_FLOAT32 : x.dtype);
    const dp_op *op = dp_op_find(call->ctx, to);
    int rc = op == NULL ? DP_ENOTFOUND
                        : dp_call_boxed(call->ctx, op, args, call->n_args + 1, call->rets, 1);
    dp_guard_leave(call->ctx, depth);
    return rc;
}

int cast_banned(dp_call *call)
{
    if (!is_on(call))
        return run_below(call);
    return dp_refuse(
        call->ctx, DP_ERUNTIME,
        "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to "
        "autocast.\n"
        "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
        "In this case, combine the two layers using "
        "torch.nn.functional.binary_cross_entropy_with_logits\n"
        "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and "
        "BCEWithLogits are\n"
        "safe to autocast.");
}
