/* scalar.c -- one kernel for all overloads that take a Scalar where another overload takes a
 * tensor. */
#include "composite.h"
#include <string.h>

/* Calls ns::name.Tensor for ns::name.Scalar, with `other` (argument 1) as a wrapped number. */
static int as_tensor(dp_call *call)
{
    enum { ARGS_MAX = 4, SUFFIX = sizeof("Scalar") - 1 };
    const char *full = dp_op_name(call->op);
    char name[DP_ERROR_NAME_MAX];
    dp_value args[ARGS_MAX];
    dp_tensor *other;

    snprintf(name, sizeof(name), "%.*sTensor", (int)(strlen(full) - SUFFIX), full);
    const dp_op *op = dp_op_find(call->ctx, name);
    if (op == NULL)
        return DP_ENOTFOUND;
    int rc = wrap_scalar(call->ctx, call->args[1], &other);
    if (rc < 0)
        return rc;
    memcpy(args, call->args, call->n_args * sizeof(dp_value));
    args[1] = dp_tensor_value(other);
    rc = dp_call_boxed(call->ctx, op, args, call->n_args, call->rets, call->n_rets);
    dp_tensor_unref(other);
    return rc;
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL("add.Scalar", as_tensor),
                DP_IMPL("add_.Scalar", as_tensor), DP_IMPL("sub.Scalar", as_tensor),
                DP_IMPL("sub_.Scalar", as_tensor), DP_IMPL("rsub.Scalar", as_tensor),
                DP_IMPL("mul.Scalar", as_tensor), DP_IMPL("mul_.Scalar", as_tensor),
                DP_IMPL("div.Scalar", as_tensor), DP_IMPL("div_.Scalar", as_tensor),
                DP_IMPL("fmod.Scalar", as_tensor), DP_IMPL("fmod_.Scalar", as_tensor),
                DP_IMPL("remainder.Scalar", as_tensor), DP_IMPL("remainder_.Scalar", as_tensor),
                DP_IMPL("bitwise_and.Scalar", as_tensor), DP_IMPL("bitwise_and_.Scalar", as_tensor),
                DP_IMPL("bitwise_or.Scalar", as_tensor), DP_IMPL("bitwise_or_.Scalar", as_tensor),
                DP_IMPL("bitwise_xor.Scalar", as_tensor), DP_IMPL("bitwise_xor_.Scalar", as_tensor))
