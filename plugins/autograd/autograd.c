/* autograd.c -- plugin autograd: the layer that records what operators compute, for gradients
 * (torch/csrc/autograd).  The formulas are made of proto/ops/derivatives.yaml.
 *
 * Operators: is_leaf, requires_grad_, tensor. */
#include <dispatchd/plugin.h>

DP_PLUGIN(autograd, "1.0")

static int record(dp_call *call)
{
    return dp_record(call);
}
DP_FALLBACK_GRAD(AutogradFunctionality, record)
DP_FALLBACK_GRAD(AutogradOther, record)
DP_FALLBACK_GRAD(AutogradNestedTensor, record)

/* -- operators on what a tensor remembers -- */

static int requires_grad_(dp_ctx *ctx, dp_tensor *self, bool requires_grad)
{
    return dp_tensor_set_requires_grad(ctx, self, requires_grad);
}

static int is_leaf(dp_ctx *ctx, dp_tensor *self, bool *out)
{
    (void)ctx;
    *out = dp_tensor_is_leaf(self);
    return 0;
}

/* aten::tensor.float(float t, *, ScalarType? dtype=None, Device? device=None, bool
 * requires_grad=False) -> Tensor, and the overloads for int, bool and complex: torch.tensor() of a
 * number, whose dtype is that of the number's kind unless it is given. */
static int tensor(dp_call *call)
{
    static const dp_dtype kinds[DP_TAG_END] = {[DP_TAG_INT] = DP_INT64,
                                               [DP_TAG_DOUBLE] = DP_FLOAT32,
                                               [DP_TAG_BOOL] = DP_BOOL,
                                               [DP_TAG_COMPLEX] = DP_COMPLEX64};
    const dp_value *a = call->args;
    const dp_value dtype = a[1].tag == DP_TAG_NONE ? dp_int(kinds[a[0].tag]) : a[1];
    const dp_value args[5] = {a[0], dtype, {0}, a[2], {0}};
    int rc = dp_call_boxed(call->ctx, dp_op_find(call->ctx, "aten::scalar_tensor"), args, 5,
                           call->rets, 1);

    if (rc == 0 && a[3].u.b)
        rc = dp_tensor_set_requires_grad(call->ctx, call->rets[0].u.t, true);
    return rc;
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL("tensor.float", tensor),
                DP_IMPL("tensor.int", tensor), DP_IMPL("tensor.bool", tensor),
                DP_IMPL("tensor.complex", tensor),
                DP_IMPL_UNBOXED("requires_grad_", requires_grad_, (T, b), ()),
                DP_IMPL_UNBOXED("is_leaf", is_leaf, (T), (b)))
