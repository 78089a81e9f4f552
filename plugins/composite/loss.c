/* loss.c -- losses that PyTorch writes by other operators. */
#include "chain.h"

/* aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor */
static int l1_loss(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction,
                   dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *apart = chain_T(&c, "aten::abs", chain_TT(&c, "aten::sub.Tensor", self, target));
    return chain_end(&c, chain_reduced(&c, apart, reduction), out);
}

/* aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor
 * log(1 + exp(-target * self)) */
static int soft_margin(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction,
                       dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *x = chain_TT(&c, "aten::mul.Tensor", chain_T(&c, "aten::neg", target), self);
    x = chain_Ts(&c, "aten::add.Scalar", chain_T(&c, "aten::exp", x), dp_int(1));
    return chain_end(&c, chain_reduced(&c, chain_T(&c, "aten::log", x), reduction), out);
}

/* aten::soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction)
 *     -> Tensor
 * -target * grad * norm * z / (1 + z), z = exp(-target * self) */
static int soft_margin_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *target,
                                int64_t reduction, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);
    double norm = reduction == 1 ? 1.0 / (double)x.numel : 1.0;
    dp_tensor *minus = chain_T(&c, "aten::neg", target);
    dp_tensor *z = chain_T(&c, "aten::exp", chain_TT(&c, "aten::mul.Tensor", minus, self));
    dp_tensor *part =
        chain_TT(&c, "aten::div.Tensor", z, chain_Ts(&c, "aten::add.Scalar", z, dp_int(1)));
    dp_tensor *slope = chain_TT(&c, "aten::mul.Tensor",
                                chain_Ts(&c, "aten::mul.Scalar", minus, dp_double(norm)), part);
    return chain_end(&c, chain_TT(&c, "aten::mul.Tensor", slope, grad), out);
}

/* aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None,
 *     Tensor? pos_weight=None, int reduction=1) -> Tensor
 * (1 - target) * self + factor * (log(exp(-most) + exp(-self - most)) + most), most = max(-self, 0) */
static int bce_with_logits(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, dp_tensor *weight,
                           dp_tensor *pos_weight, int64_t reduction, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *minus = chain_T(&c, "aten::neg", self);
    dp_tensor *most = chain_Ts(&c, "aten::clamp_min", minus, dp_int(0));
    dp_tensor *sum =
        chain_TT(&c, "aten::add.Tensor", chain_T(&c, "aten::exp", chain_T(&c, "aten::neg", most)),
                 chain_T(&c, "aten::exp", chain_TT(&c, "aten::sub.Tensor", minus, most)));
    dp_tensor *tail = chain_TT(&c, "aten::add.Tensor", chain_T(&c, "aten::log", sum), most);
    if (pos_weight != NULL) {
        dp_tensor *more = chain_Ts(&c, "aten::sub.Scalar", pos_weight, dp_int(1));
        dp_tensor *factor = chain_Ts(&c, "aten::add.Scalar",
                                     chain_TT(&c, "aten::mul.Tensor", more, target), dp_int(1));
        tail = chain_TT(&c, "aten::mul.Tensor", tail, factor);
    }
    dp_tensor *rest = chain_Ts(&c, "aten::rsub.Scalar", target, dp_int(1));
    dp_tensor *loss =
        chain_TT(&c, "aten::add.Tensor", chain_TT(&c, "aten::mul.Tensor", rest, self), tail);
    if (weight != NULL)
        loss = chain_TT(&c, "aten::mul.Tensor", loss, weight);
    return chain_end(&c, chain_reduced(&c, loss, reduction), out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("l1_loss", l1_loss, (T, T, i), (T)))
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("soft_margin_loss", soft_margin, (T, T, i), (T)),
                DP_IMPL_UNBOXED("soft_margin_loss_backward", soft_margin_backward, (T, T, T, i),
                                (T)),
                DP_IMPL_UNBOXED("binary_cross_entropy_with_logits", bce_with_logits,
                                (T, T, oT, oT, i), (T)))
