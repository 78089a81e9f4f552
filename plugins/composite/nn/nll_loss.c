/* nll_loss.c -- nll_loss, nll_loss2d and nll_loss_nd, which call nll_loss_forward and
 * nll_loss2d_forward (aten/src/ATen/native/LossNLL.cpp). */
#include "core/chain.h"
#include <string.h>

#define PARAMS                                                                                     \
    dp_tensor *self, dp_tensor *target, dp_tensor *weight, int64_t reduction, int64_t ignored

static int loss_of(dp_ctx *ctx, const char *op, PARAMS, dp_tensor **out)
{
    dp_tensor *total = NULL;
    int rc = dp_invoke(ctx, op, "TToTii>TT", self, target, weight, reduction, ignored, out, &total);
    dp_tensor_unref(total);
    return rc;
}

static int loss_into(dp_ctx *ctx, const char *op, PARAMS, dp_tensor *out)
{
    static const int64_t none;
    dp_tensor *total = NULL;
    DP_VIEW(x, self);
    int rc = call_empty(ctx, x.dtype, x.device, 1, &none, &total);

    if (rc == 0)
        rc = dp_invoke(ctx, op, "TToTiiTT>", self, target, weight, reduction, ignored, out, total);
    dp_tensor_unref(total);
    return rc;
}

/* aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1,
 *     int ignore_index=-100) -> Tensor, and nll_loss2d */
static int nll_loss(dp_ctx *ctx, PARAMS, dp_tensor **out)
{
    return loss_of(ctx, "aten::nll_loss_forward", self, target, weight, reduction, ignored, out);
}

static int nll_loss2d(dp_ctx *ctx, PARAMS, dp_tensor **out)
{
    return loss_of(ctx, "aten::nll_loss2d_forward", self, target, weight, reduction, ignored, out);
}

static int nll_loss_out(dp_ctx *ctx, PARAMS, dp_tensor *out)
{
    return loss_into(ctx, "aten::nll_loss_forward.output", self, target, weight, reduction, ignored,
                     out);
}

static int nll_loss2d_out(dp_ctx *ctx, PARAMS, dp_tensor *out)
{
    return loss_into(ctx, "aten::nll_loss2d_forward.output", self, target, weight, reduction,
                     ignored, out);
}

/* -- any number of dimensions -- */

static int check_sizes(dp_ctx *ctx, const dp_view *x, const dp_view *t)
{
    char want[DP_SHAPE_TEXT], have[DP_SHAPE_TEXT];
    int64_t sizes[DP_DIM_MAX];

    if (x->ndim < 1)
        return dp_fail(ctx, DP_EVALUE, "Expected 1 or more dimensions (got %d)", x->ndim);
    if (x->ndim == 1)
        return 0;
    int64_t rows = t->ndim > 0 ? t->sizes[0] : 0;
    if (x->sizes[0] != rows || t->ndim == 0)
        return dp_fail(ctx, DP_EVALUE,
                       "Expected input batch_size (%" PRId64
                       ") to match target batch_size (%" PRId64 ").",
                       x->sizes[0], rows);
    if (x->ndim == 2 || x->ndim == 4)
        return 0;
    sizes[0] = x->sizes[0];
    dp_copy_n(sizes + 1, x->sizes + 2, (size_t)(x->ndim - 2), sizeof(int64_t));
    if (t->ndim == x->ndim - 1 && memcmp(sizes, t->sizes, (size_t)t->ndim * sizeof(int64_t)) == 0)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "Expected target size %s, got %s",
                   dp_shape_text(want, sizes, (size_t)x->ndim - 1),
                   dp_shape_text(have, t->sizes, (size_t)t->ndim));
}

/* Compute the loss of a tensor with three, or more than four, dimensions: those after the classes
 * are viewed as one row of pixels. */
static int loss_flat(dp_ctx *ctx, PARAMS, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);
    DP_VIEW(t, target);
    int64_t wide[] = {x.sizes[0], x.sizes[1], x.numel > 0, x.numel > 0 ? -1 : 0};
    int64_t flat[] = {x.sizes[0], t.numel > 0, t.numel > 0 ? -1 : 0};
    dp_tensor *loss = CHAIN(&c, "aten::nll_loss2d", "TToTii>T",
                            CHAIN(&c, "aten::reshape", "Tli>T", self, wide, (size_t)4),
                            CHAIN(&c, "aten::reshape", "Tli>T", target, flat, (size_t)3), weight,
                            reduction, ignored);
    if (reduction == REDUCTION_NONE)
        loss = CHAIN(&c, "aten::view", "Tli>T", loss, t.sizes, (size_t)t.ndim);
    return chain_end(&c, loss, out);
}

/* aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1,
 *     int ignore_index=-100) -> Tensor */
static int nll_loss_nd(dp_ctx *ctx, PARAMS, dp_tensor **out)
{
    DP_VIEW(x, self);
    DP_VIEW(t, target);
    int rc = check_sizes(ctx, &x, &t);

    if (rc < 0)
        return rc;
    if (x.ndim != 1 && x.ndim != 2 && x.ndim != 4)
        return loss_flat(ctx, self, target, weight, reduction, ignored, out);
    return dp_invoke(ctx, x.ndim == 4 ? "aten::nll_loss2d" : "aten::nll_loss", "TToTii>T", self,
                     target, weight, reduction, ignored, out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("nll_loss", nll_loss, (T, T, oT, i, i), (T)),
                DP_IMPL_UNBOXED("nll_loss.out", nll_loss_out, (T, T, oT, i, i, T), ()),
                DP_IMPL_UNBOXED("nll_loss2d", nll_loss2d, (T, T, oT, i, i), (T)),
                DP_IMPL_UNBOXED("nll_loss2d.out", nll_loss2d_out, (T, T, oT, i, i, T), ()),
                DP_IMPL_UNBOXED("nll_loss_nd", nll_loss_nd, (T, T, oT, i, i), (T)))
