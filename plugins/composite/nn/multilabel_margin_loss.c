/* multilabel_margin_loss.c -- multilabel_margin_loss, which calls multilabel_margin_loss_forward
 * (aten/src/ATen/native/LossMultiLabelMargin.cpp). */
#include "core/composite.h"

/* aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor */
static int multilabel(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction,
                      dp_tensor **out)
{
    dp_tensor *is_target = NULL;
    int rc = dp_invoke(ctx, "aten::multilabel_margin_loss_forward", "TTi>TT", self, target,
                       reduction, out, &is_target);
    dp_tensor_unref(is_target);
    return rc;
}

static int multilabel_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction,
                          dp_tensor *out)
{
    static const int64_t none;
    dp_tensor *is_target;
    DP_VIEW(x, self);
    int rc = call_empty(ctx, x.dtype, x.device, 1, &none, &is_target);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::multilabel_margin_loss_forward.output", "TTiTT>", self, target,
                   reduction, out, is_target);
    dp_tensor_unref(is_target);
    return rc;
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("multilabel_margin_loss", multilabel, (T, T, i), (T)),
                DP_IMPL_UNBOXED("multilabel_margin_loss.out", multilabel_out, (T, T, i, T), ()))
