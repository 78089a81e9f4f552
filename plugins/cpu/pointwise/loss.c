/* loss.c -- pointwise losses with their reduction, and their gradients
 * (aten/src/ATen/native/Loss.cpp).
 *
 * Operators: binary_cross_entropy, binary_cross_entropy_backward, huber_loss, huber_loss_backward,
 * mse_loss, mse_loss_backward, smooth_l1_loss, smooth_l1_loss_backward. */
#include "core/dense.h"
#include "pointwise.h"
#include <dispatchd/iter.h>

extern const pw_op pw_mse, pw_smooth_l1, pw_huber, pw_bce, pw_mse_backward, pw_smooth_l1_backward,
    pw_huber_backward, pw_bce_backward;

enum { NONE, MEAN, SUM }; /* at::Reduction */

/* Test whether the losses are reduced.  With any other number they are not, as in
 * at::native::apply_loss_reduction. */
static bool is_reduced(int64_t reduction)
{
    return reduction == MEAN || reduction == SUM;
}

/* Set *out, owned, to the reduction of `t`, which is released. */
static int reduced(dp_ctx *ctx, dp_tensor *t, int64_t reduction, dp_tensor **out)
{
    if (!is_reduced(reduction)) {
        *out = t;
        return 0;
    }
    int rc = dp_invoke(ctx, reduction == MEAN ? "aten::mean" : "aten::sum", "T>T", t, out);
    dp_tensor_unref(t);
    return rc;
}

static int loss(dp_ctx *ctx, const pw_op *op, dp_tensor *self, dp_tensor *target, double param,
                int64_t reduction, dp_tensor **out)
{
    const dp_value ins[] = {dp_tensor_value(self), dp_tensor_value(target)};
    const dp_value params[] = {dp_double(param)};
    dp_tensor *each = NULL;
    int rc = pw_new(ctx, op, ins, params, &each);
    return rc < 0 ? rc : reduced(ctx, each, reduction, out);
}

/* Compute the loss into `dst`, reduced in the dtype of dst.  As in PyTorch, dst must be a valid
 * output for the losses of all elements. */
static int loss_into(dp_ctx *ctx, const pw_op *op, dp_tensor *self, dp_tensor *target, double param,
                     int64_t reduction, dp_tensor *dst)
{
    const dp_value ins[] = {dp_tensor_value(self), dp_tensor_value(target)};
    const dp_value params[] = {dp_double(param)};
    dp_tensor *const tensors[] = {self, target};
    const int64_t *all = NULL;
    dp_tensor *each = NULL;
    dp_iter it;

    if (reduction == NONE)
        return pw_write(ctx, op, ins, params, dst);
    dp_iter_config config = dp_iter_of(DP_ITER_BINARY, 1, &dst, 2, tensors);
    int rc = pw_new(ctx, op, ins, params, &each);
    if (rc == 0)
        rc = dp_iter_init(ctx, &config, &it);
    if (rc < 0)
        dp_refuse(ctx, rc, NULL);
    else
        rc = dp_invoke(ctx, reduction == MEAN ? "aten::mean.out" : "aten::sum.IntList_out",
                       "TliboiT>", each, all, (size_t)0, (int)false, NULL, dst);
    dp_tensor_unref(each);
    return rc;
}

/* Replace the losses in `dst` by their reduction. */
static int reduce_in_place(dp_ctx *ctx, dp_tensor *dst, int64_t reduction)
{
    dp_tensor *one = NULL;

    if (!is_reduced(reduction))
        return 0;
    int rc = reduced(ctx, dp_tensor_ref(dst), reduction, &one);
    if (rc == 0)
        rc = dp_resize(ctx, dst, 0, NULL, DP_CONTIGUOUS);
    if (rc == 0)
        rc = dp_copy(ctx, dst, one);
    dp_tensor_unref(one);
    return rc;
}

/* Set *out to `made` if `rc` is 0, else release it. */
static int made_like(int rc, dp_tensor *made, dp_tensor **out)
{
    if (rc < 0)
        dp_tensor_unref(made);
    else
        *out = made;
    return rc;
}

static int check_reduction(dp_ctx *ctx, const char *name, int64_t reduction)
{
    return reduction == NONE || is_reduced(reduction)
               ? 0
               : dp_refuse(ctx, DP_ERUNTIME, "%s: reduction is 0, 1 or 2, not %" PRId64, name,
                           reduction);
}

/* aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor */
static int mse(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction, dp_tensor **out)
{
    int rc = check_reduction(ctx, "mse_loss", reduction);
    return rc < 0 ? rc : loss(ctx, &pw_mse, self, target, 0, reduction, out);
}

static int mse_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction,
                   dp_tensor *dst)
{
    int rc = check_reduction(ctx, "mse_loss", reduction);
    return rc < 0 ? rc : loss_into(ctx, &pw_mse, self, target, 0, reduction, dst);
}

/* aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor */
static int check_smooth(dp_ctx *ctx, double beta, int64_t reduction)
{
    return beta < 0 ? dp_refuse(ctx, DP_ERUNTIME,
                                "smooth_l1_loss does not support negative values for beta.")
                    : check_reduction(ctx, "smooth_l1_loss", reduction);
}

static int smooth_l1(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction,
                     double beta, dp_tensor **out)
{
    int rc = check_smooth(ctx, beta, reduction);
    return rc < 0 ? rc : loss(ctx, &pw_smooth_l1, self, target, beta, reduction, out);
}

static int smooth_l1_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction,
                         double beta, dp_tensor *dst)
{
    int rc = check_smooth(ctx, beta, reduction);
    return rc < 0 ? rc : loss_into(ctx, &pw_smooth_l1, self, target, beta, reduction, dst);
}

/* aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor
 * Each element's loss is rounded to the dtype of the output, which is self's for a new one. */
static int huber_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction,
                     double delta, dp_tensor *dst)
{
    const dp_value ins[] = {dp_tensor_value(self), dp_tensor_value(target)};
    const dp_value params[] = {dp_double(delta)};

    if (!(delta > 0))
        return dp_refuse(ctx, DP_ERUNTIME,
                         "huber_loss does not support non-positive values for delta.");
    int rc = pw_write(ctx, &pw_huber, ins, params, dst);
    return rc < 0 ? rc : reduce_in_place(ctx, dst, reduction);
}

static int huber(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction, double delta,
                 dp_tensor **out)
{
    dp_tensor *made = NULL;
    int rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_PRESERVE, &made);

    if (rc == 0)
        rc = huber_out(ctx, self, target, reduction, delta, made);
    return made_like(rc, made, out);
}

/* -- binary cross entropy -- */

/* Check that dst can be multiplied by `weight` in place, before anything is written. */
static int check_weight(dp_ctx *ctx, dp_tensor *dst, dp_tensor *weight)
{
    dp_tensor *const ins[] = {dst, weight};
    dp_iter_config c = dp_iter_of(DP_ITER_BINARY, 1, &dst, 2, ins);
    dp_iter it;

    return weight != NULL ? dp_iter_init(ctx, &c, &it) : 0;
}

/* Compute `op` of ins [n] into dst, all viewed without dimensions of size 1, so that dst keeps its
 * shape, and then multiply dst by `weight`. */
static int squeezed(dp_ctx *ctx, const pw_op *op, dp_tensor *const *ins, int n, dp_tensor *weight,
                    dp_tensor *dst)
{
    dp_tensor *flat[PW_INPUTS_MAX + 1] = {0};
    dp_value values[PW_INPUTS_MAX];
    int rc = 0;

    for (int i = 0; rc == 0 && i < n; i++) {
        rc = dp_invoke(ctx, "aten::squeeze", "T>T", ins[i], &flat[i]);
        values[i] = dp_tensor_value(flat[i]);
    }
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::squeeze", "T>T", dst, &flat[n]);
    if (rc == 0)
        rc = check_weight(ctx, dst, weight);
    rc = rc < 0 ? dp_refuse(ctx, rc, NULL) : pw_write(ctx, op, values, NULL, flat[n]);
    if (rc == 0 && weight != NULL)
        rc = dp_invoke(ctx, "aten::mul_.Tensor", "TT>", dst, weight);
    for (int i = 0; i <= n; i++)
        dp_tensor_unref(flat[i]);
    return rc;
}

/* aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1)
 *     -> Tensor */
static int bce_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, dp_tensor *weight,
                   int64_t reduction, dp_tensor *dst)
{
    dp_tensor *const ins[] = {self, target};
    int rc = squeezed(ctx, &pw_bce, ins, 2, weight, dst);
    return rc < 0 ? rc : reduce_in_place(ctx, dst, reduction);
}

static int bce(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, dp_tensor *weight,
               int64_t reduction, dp_tensor **out)
{
    dp_tensor *made = NULL;
    int rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_PRESERVE, &made);

    if (rc == 0)
        rc = bce_out(ctx, self, target, weight, reduction, made);
    return made_like(rc, made, out);
}

/* -- gradients -- */

/* Return the divisor of each element's gradient: the number of elements for a mean, else 1, times
 * `times`. */
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

/* aten::mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) ->
 * Tensor */
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
static int bce_backward_out(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *target,
                            dp_tensor *weight, int64_t reduction, dp_tensor *dst)
{
    dp_tensor *const ins[] = {grad, self, target};
    DP_VIEW(x, self);
    int rc = squeezed(ctx, &pw_bce_backward, ins, 3, weight, dst);

    if (rc < 0 || reduction != MEAN)
        return rc;
    return dp_invoke(ctx, "aten::div_.Scalar", "Ts>", dst, dp_int(x.numel));
}

static int bce_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *target,
                        dp_tensor *weight, int64_t reduction, dp_tensor **out)
{
    dp_tensor *made = NULL;
    int rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_PRESERVE, &made);

    if (rc == 0)
        rc = bce_backward_out(ctx, grad, self, target, weight, reduction, made);
    return made_like(rc, made, out);
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
