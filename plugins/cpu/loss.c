/* loss.c -- pointwise losses with their reduction, and their slopes. */
#include "dense.h"
#include "pointwise.h"

extern const pw_op pw_mse, pw_smooth_l1, pw_huber, pw_bce, pw_mse_backward, pw_smooth_l1_backward,
    pw_huber_backward, pw_bce_backward;

enum { NONE, MEAN, SUM }; /* at::Reduction */

/* t, which is taken, times `weight` if there is one; then reduced.  *out owned. */
static int finish(dp_ctx *ctx, dp_tensor *t, dp_tensor *weight, int64_t reduction, dp_tensor **out)
{
    dp_tensor *weighed = NULL;
    int rc = weight ? dp_invoke(ctx, "aten::mul.Tensor", "TT>T", t, weight, &weighed) : 0;

    if (weighed != NULL) {
        dp_tensor_unref(t);
        t = weighed;
    }
    if (rc == 0 && reduction != NONE)
        rc = dp_invoke(ctx, reduction == MEAN ? "aten::mean" : "aten::sum", "T>T", t, out);
    else if (rc == 0)
        *out = dp_tensor_ref(t);
    dp_tensor_unref(t);
    return rc;
}

static int loss(dp_ctx *ctx, const pw_op *op, dp_tensor *self, dp_tensor *target, dp_tensor *weight,
                double param, int64_t reduction, dp_tensor **out)
{
    const dp_value ins[] = {dp_tensor_value(self), dp_tensor_value(target)};
    const dp_value params[] = {dp_double(param)};
    dp_tensor *each = NULL;
    int rc = pw_new(ctx, op, ins, params, &each);
    return rc < 0 ? rc : finish(ctx, each, weight, reduction, out);
}

/* *made, which is taken, into dst, which is resized to it.  A pointer: the call that sets *made is an
 * argument too, and C says nothing of their order. */
static int put(dp_ctx *ctx, int rc, dp_tensor **made, dp_tensor *dst)
{
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    DP_VIEW(x, *made);
    rc = dp_set_output(ctx, &dst, x.ndim, x.sizes, NULL, DP_DTYPE_NONE, x.device);
    rc = rc < 0 ? dp_refuse(ctx, rc, NULL) : dp_copy(ctx, dst, *made);
    dp_tensor_unref(*made);
    return rc;
}

/* aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor */
static int mse(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction, dp_tensor **out)
{
    return loss(ctx, &pw_mse, self, target, NULL, 0, reduction, out);
}

static int mse_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction,
                   dp_tensor *dst)
{
    dp_tensor *made = NULL;
    return put(ctx, mse(ctx, self, target, reduction, &made), &made, dst);
}

/* aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor */
static int smooth_l1(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction,
                     double beta, dp_tensor **out)
{
    if (beta < 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "smooth_l1_loss does not support negative values for beta.");
    return loss(ctx, &pw_smooth_l1, self, target, NULL, beta, reduction, out);
}

static int smooth_l1_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction,
                         double beta, dp_tensor *dst)
{
    dp_tensor *made = NULL;
    return put(ctx, smooth_l1(ctx, self, target, reduction, beta, &made), &made, dst);
}

/* aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor */
static int huber(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction, double delta,
                 dp_tensor **out)
{
    if (!(delta > 0))
        return dp_fail(ctx, DP_ERUNTIME,
                       "huber_loss does not support non-positive values for delta.");
    return loss(ctx, &pw_huber, self, target, NULL, delta, reduction, out);
}

static int huber_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction,
                     double delta, dp_tensor *dst)
{
    dp_tensor *made = NULL;
    return put(ctx, huber(ctx, self, target, reduction, delta, &made), &made, dst);
}

/* aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1)
 *     -> Tensor */
static int bce(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, dp_tensor *weight,
               int64_t reduction, dp_tensor **out)
{
    return loss(ctx, &pw_bce, self, target, weight, 0, reduction, out);
}

static int bce_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, dp_tensor *weight,
                   int64_t reduction, dp_tensor *dst)
{
    dp_tensor *made = NULL;
    return put(ctx, bce(ctx, self, target, weight, reduction, &made), &made, dst);
}

/* -- slopes -- */

/* What each element's slope is divided by: how many there are, of a mean. */
static double norm_of(const dp_tensor *t, int64_t reduction, double times)
{
    DP_VIEW(x, t);
    return reduction == MEAN ? times / (double)x.numel : times;
}

static int slope_into(dp_ctx *ctx, const pw_op *op, dp_tensor *grad, dp_tensor *self,
                      dp_tensor *target, double norm, double param, dp_tensor *dst)
{
    const dp_value ins[] = {dp_tensor_value(self), dp_tensor_value(target), dp_tensor_value(grad)};
    const dp_value params[] = {dp_double(norm), dp_double(param)};
    return pw_write(ctx, op, ins, params, dst);
}

/* aten::mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor */
static int mse_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *target,
                        int64_t reduction, dp_tensor **out)
{
    const dp_value ins[] = {dp_tensor_value(self), dp_tensor_value(target), dp_tensor_value(grad)};
    const dp_value params[] = {dp_double(norm_of(self, reduction, 2))};
    return pw_new(ctx, &pw_mse_backward, ins, params, out);
}

static int mse_backward_out(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *target,
                            int64_t reduction, dp_tensor *dst)
{
    return slope_into(ctx, &pw_mse_backward, grad, self, target, norm_of(self, reduction, 2), 0,
                      dst);
}

static int smooth_l1_backward_out(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *target,
                                  int64_t reduction, double beta, dp_tensor *dst)
{
    return slope_into(ctx, &pw_smooth_l1_backward, grad, self, target, norm_of(self, reduction, 1),
                      beta, dst);
}

static int huber_backward_out(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *target,
                              int64_t reduction, double delta, dp_tensor *dst)
{
    return slope_into(ctx, &pw_huber_backward, grad, self, target, norm_of(self, reduction, 1),
                      delta, dst);
}

/* aten::binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target,
 *     Tensor? weight=None, int reduction=1) -> Tensor */
static int bce_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *target,
                        dp_tensor *weight, int64_t reduction, dp_tensor **out)
{
    const dp_value ins[] = {dp_tensor_value(grad), dp_tensor_value(self), dp_tensor_value(target)};
    dp_tensor *each = NULL, *mean = NULL;
    DP_VIEW(x, self);
    int rc = pw_new(ctx, &pw_bce_backward, ins, NULL, &each);

    if (rc == 0)
        rc = finish(ctx, each, weight, NONE, &mean);
    if (rc == 0 && reduction == MEAN)
        rc = dp_invoke(ctx, "aten::div.Scalar", "Ts>T", mean, dp_int(x.numel), out);
    else if (rc == 0)
        *out = dp_tensor_ref(mean);
    dp_tensor_unref(mean);
    return rc;
}

static int bce_backward_out(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *target,
                            dp_tensor *weight, int64_t reduction, dp_tensor *dst)
{
    dp_tensor *made = NULL;
    return put(ctx, bce_backward(ctx, grad, self, target, weight, reduction, &made), &made, dst);
}

DP_LIBRARY_META(
    aten, CPU, DP_IMPL_UNBOXED("mse_loss", mse, (T, T, i), (T)),
    DP_IMPL_UNBOXED("mse_loss.out", mse_out, (T, T, i, T), ()),
    DP_IMPL_UNBOXED("smooth_l1_loss", smooth_l1, (T, T, i, f), (T)),
    DP_IMPL_UNBOXED("smooth_l1_loss.out", smooth_l1_out, (T, T, i, f, T), ()),
    DP_IMPL_UNBOXED("huber_loss", huber, (T, T, i, f), (T)),
    DP_IMPL_UNBOXED("huber_loss.out", huber_out, (T, T, i, f, T), ()),
    DP_IMPL_UNBOXED("binary_cross_entropy", bce, (T, T, oT, i), (T)),
    DP_IMPL_UNBOXED("binary_cross_entropy.out", bce_out, (T, T, oT, i, T), ()),
    DP_IMPL_UNBOXED("mse_loss_backward", mse_backward, (T, T, T, i), (T)),
    DP_IMPL_UNBOXED("mse_loss_backward.grad_input", mse_backward_out, (T, T, T, i, T), ()),
    DP_IMPL_UNBOXED("smooth_l1_loss_backward.grad_input", smooth_l1_backward_out,
                    (T, T, T, i, f, T), ()),
    DP_IMPL_UNBOXED("huber_loss_backward.out", huber_backward_out, (T, T, T, i, f, T), ()),
    DP_IMPL_UNBOXED("binary_cross_entropy_backward", bce_backward, (T, T, T, oT, i), (T)),
    DP_IMPL_UNBOXED("binary_cross_entropy_backward.grad_input", bce_backward_out,
                    (T, T, T, oT, i, T), ()))
