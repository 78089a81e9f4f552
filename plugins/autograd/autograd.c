/* autograd.c -- plugin autograd: the layer that records what operators compute, for gradients
 * (torch/csrc/autograd).  The formulas are made of proto/ops/derivatives.yaml.
 *
 * Operators: is_leaf, requires_grad_. */
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

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("requires_grad_", requires_grad_, (T, b), ()),
                DP_IMPL_UNBOXED("is_leaf", is_leaf, (T), (b)))
