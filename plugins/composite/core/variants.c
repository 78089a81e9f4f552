/* variants.c -- overloads derived from another overload, the target (variants.h). */
#include "variants.h"
#include "composite.h"
#include <string.h>

/* Greatest number of arguments of the target: as many as a call has (one bit each in the masks of
 * dp_schema_info), and out=. */
enum { ARGS_MAX = 64 + 1 };

int variant_alias(dp_call *call, const char *target)
{
    return dp_call_boxed(call->ctx, dp_op_find(call->ctx, target), call->args, call->n_args,
                         call->rets, call->n_rets);
}

int variant_wrapped(dp_call *call, const char *target, uint64_t scalars)
{
    const dp_op *op = dp_op_find(call->ctx, target);
    dp_tensor *made[ARGS_MAX];
    dp_value args[ARGS_MAX];
    int rc = op ? 0 : DP_ENOTFOUND;

    for (uint32_t i = 0; i < call->n_args; i++) {
        args[i] = call->args[i];
        made[i] = NULL;
        if (rc < 0 || !(scalars >> i & 1))
            continue;
        rc = wrap_scalar(call->ctx, call->args[i], &made[i]);
        args[i] = dp_tensor_value(made[i]);
    }
    if (rc == 0)
        rc = dp_call_boxed(call->ctx, op, args, call->n_args, call->rets, call->n_rets);
    for (uint32_t i = 0; i < call->n_args; i++)
        dp_tensor_unref(made[i]);
    return rc;
}

static dp_dtype result_dtype(dp_dtype self, int result)
{
    if (result == VARIANT_REAL)
        return self == DP_COMPLEX64 ? DP_FLOAT32 : self == DP_COMPLEX128 ? DP_FLOAT64 : self;
    if (result == VARIANT_COMPLEX)
        return self == DP_FLOAT64 ? DP_COMPLEX128 : DP_COMPLEX64;
    return result == VARIANT_BOOL ? DP_BOOL : self;
}

int variant_by_out(dp_call *call, const char *target, int result)
{
    const dp_op *op = dp_op_find(call->ctx, target);
    dp_tensor *self = call->args[0].u.t, *out = NULL;
    int64_t none = 0;
    dp_schema_info info = {.size = sizeof(info)};
    dp_value args[ARGS_MAX], ignored = dp_none();

    if (op == NULL)
        return DP_ENOTFOUND;
    int rc = dp_schema_info_get(call->ctx, call->op, &info);
    if (rc < 0)
        return rc;
    bool in_place = info.variant == DP_VARIANT_IN_PLACE;
    DP_VIEW(x, self);
    if (in_place && result == VARIANT_REAL && dp_dtype_is_complex(x.dtype)) /* only abs_ */
        return dp_refuse(call->ctx, DP_ERUNTIME,
                         "In-place abs is not supported for complex tensors.");
    if (!in_place && result == VARIANT_REAL && dp_dtype_is_complex(x.dtype))
        rc = dp_empty_like(call->ctx, self, result_dtype(x.dtype, result), DP_PRESERVE, &out);
    else if (!in_place)
        rc = dp_empty(call->ctx, result_dtype(x.dtype, result), x.device, 1, &none, DP_CONTIGUOUS,
                      &out);
    if (rc < 0)
        return rc;
    dp_copy_n(args, call->args, call->n_args, sizeof(dp_value));
    args[call->n_args] = dp_tensor_value(in_place ? self : out);
    rc = dp_call_boxed(call->ctx, op, args, call->n_args + 1, &ignored, 1);
    dp_values_release(&ignored, 1);
    if (rc < 0)
        dp_tensor_unref(out);
    else if (!in_place)
        call->rets[0] = dp_tensor_value(out);
    return rc;
}

static int check_cast(dp_call *call, const dp_tensor *made, const dp_tensor *to, int dtype)
{
    DP_VIEW(x, made);
    DP_VIEW(y, to);

    if (x.dtype == y.dtype || (dtype == VARIANT_CAST && dp_can_cast(x.dtype, y.dtype)))
        return 0;
    if (dtype == VARIANT_CAST)
        return dp_refuse(call->ctx, DP_ERUNTIME,
                         "result type %s can't be cast to the desired output type %s",
                         dp_dtype_name(x.dtype), dp_dtype_name(y.dtype));
    return dp_refuse(call->ctx, DP_ERUNTIME,
                     "%s: the output tensor has dtype %s but the result has dtype %s",
                     dp_op_name(call->op), dp_dtype_name(y.dtype), dp_dtype_name(x.dtype));
}

/* Copy made [n] to the out= arguments outs [n], which are resized.  All dtypes are checked before
 * the first copy. */
static int give_outs(dp_call *call, dp_tensor *const *outs, const dp_value *made, uint32_t n,
                     int dtype)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        if (made[i].tag != DP_TAG_TENSOR)
            return dp_fail(call->ctx, DP_ERUNTIME, "%s: output %u has no value to be given",
                           dp_op_name(call->op), i);
        rc = check_cast(call, made[i].u.t, outs[i], dtype);
        if (rc == 0 && dp_tensor_requires_grad(made[i].u.t)) {
            dp_tensor *recorded = dp_tensor_ref(made[i].u.t);
            rc = refuse_recorded(call->ctx, 0, &recorded);
        }
    }
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        dp_tensor *out = outs[i];
        DP_VIEW(x, made[i].u.t);
        rc = dp_set_output(call->ctx, &out, x.ndim, x.sizes, NULL, DP_DTYPE_NONE, x.device);
        if (rc == 0) /* an operator, not dp_copy(), because a capture must record the copy */
            rc = DP_INVOKE(call->ctx, "aten::copy_", (T, T, b), (), out, made[i].u.t, false);
    }
    return rc;
}

int variant_out_of(dp_call *call, const char *target, int dtype)
{
    enum { OUTS_MAX = 8 };
    const dp_op *op = dp_op_find(call->ctx, target);
    uint32_t n = call->n_rets, n_args = call->n_args - n;
    dp_tensor *outs[OUTS_MAX];
    dp_value made[OUTS_MAX];

    if (op == NULL)
        return DP_ENOTFOUND;
    if (n > OUTS_MAX)
        return dp_fail(call->ctx, DP_EPLUGIN, "%s has %u outputs; forms of %s have %d at most",
                       dp_op_name(call->op), n, target, OUTS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        outs[i] = call->args[n_args + i].u.t;
        made[i] = dp_none();
    }
    int rc = dp_call_boxed(call->ctx, op, call->args, n_args, made, n);
    if (rc < 0)
        return rc;
    rc = give_outs(call, outs, made, n, dtype);
    dp_values_release(made, n);
    return rc;
}

int spare_self(dp_ctx *ctx, dp_value *args, uint32_t n, dp_tensor **copy)
{
    bool needed = false;

    *copy = NULL;
    for (uint32_t i = 0; i < n; i++)
        needed |= args[i].tag == DP_TAG_TENSOR && dp_tensor_requires_grad(args[i].u.t);
    if (!needed)
        return 0;
    int rc = DP_INVOKE(ctx, "aten::clone", (T), (T), args[0].u.t, copy);
    if (rc == 0)
        args[0] = dp_tensor_value(*copy);
    return rc;
}

int variant_in_place_of(dp_call *call, const char *target, int dtype)
{
    const dp_op *op = dp_op_find(call->ctx, target);
    dp_tensor *self = call->args[0].u.t, *copy;
    dp_value args[ARGS_MAX], made = dp_none();

    if (op == NULL)
        return DP_ENOTFOUND;
    dp_copy_n(args, call->args, call->n_args, sizeof(dp_value));
    int rc = spare_self(call->ctx, args, call->n_args, &copy);
    if (rc == 0)
        rc = dp_call_boxed(call->ctx, op, args, call->n_args, &made, 1);
    dp_tensor_unref(copy);
    if (rc < 0)
        return rc;
    rc = check_cast(call, made.u.t, self, dtype);
    if (rc == 0) /* an operator, not dp_copy(), because autograd must record the copy */
        rc = DP_INVOKE(call->ctx, "aten::copy_", (T, T, b), (), self, made.u.t, false);
    dp_values_release(&made, 1);
    return rc;
}
