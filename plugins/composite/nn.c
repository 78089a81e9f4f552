/* nn.c -- layers of neural networks, by way of the operators that backends implement. */
#include "composite.h"

/* -- normalisation -- */

/* aten::_batch_norm_impl_index(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean,
 *     Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled)
 *     -> (Tensor, Tensor, Tensor, Tensor, int) */
static int batch_norm_index(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias,
                            dp_tensor *mean, dp_tensor *var, bool training, double momentum,
                            double eps, bool cudnn, dp_tensor **out, dp_tensor **save_mean,
                            dp_tensor **save_invstd, dp_tensor **reserve, int64_t *implementation)
{
    static const int64_t empty;
    dp_tensor *parts[3] = {0}, *none = NULL;
    DP_VIEW(x, input);

    (void)cudnn;
    int rc = dp_empty(ctx, DP_UINT8, x.device, 1, &empty, DP_CONTIGUOUS, &none);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::native_batch_norm", "ToToToToTbff>TTT", input, weight, bias,
                       mean, var, (int)training, momentum, eps, &parts[0], &parts[1], &parts[2]);
    if (rc < 0) {
        dp_tensor_unref(none);
        return rc;
    }
    *out = parts[0];
    *save_mean = parts[1];
    *save_invstd = parts[2];
    *reserve = none;
    *implementation = 0; /* PyTorch's number of the native one */
    return 0;
}

/* aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean,
 *     Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled)
 *     -> Tensor */
static int batch_norm(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias,
                      dp_tensor *mean, dp_tensor *var, bool training, double momentum, double eps,
                      bool cudnn, dp_tensor **out)
{
    dp_tensor *rest[3] = {0};
    int64_t implementation;
    int rc = dp_invoke(ctx, "aten::_batch_norm_impl_index", "ToToToToTbffb>TTTTi", input, weight,
                       bias, mean, var, (int)training, momentum, eps, (int)cudnn, out, &rest[0],
                       &rest[1], &rest[2], &implementation);

    for (int i = 0; i < 3; i++)
        dp_tensor_unref(rest[i]);
    return rc;
}

/* aten::layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None,
 *     float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor */
static int layer_norm(dp_ctx *ctx, dp_tensor *input, const int64_t *shape, size_t n,
                      dp_tensor *weight, dp_tensor *bias, double eps, bool cudnn, dp_tensor **out)
{
    dp_tensor *mean = NULL, *rstd = NULL;
    int rc = dp_invoke(ctx, "aten::native_layer_norm", "TlioToTf>TTT", input, shape, n, weight,
                       bias, eps, out, &mean, &rstd);

    (void)cudnn;
    dp_tensor_unref(mean);
    dp_tensor_unref(rstd);
    return rc;
}

/* -- softmax, dropout and the like -- */

/* op(self, dim, half_to_float=False); if a dtype is given, self is converted first. */
static int softmax_op(dp_ctx *ctx, const char *op, dp_tensor *self, int64_t dim,
                      const int64_t *dtype, dp_tensor **out)
{
    dp_tensor *converted = NULL;
    int rc = 0;

    if (dtype)
        rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", self, *dtype, &converted);
    if (rc == 0)
        rc = dp_invoke(ctx, op, "Tib>T", converted ? converted : self, dim, (int)false, out);
    dp_tensor_unref(converted);
    return rc;
}

/* aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor */
static int softmax(dp_ctx *ctx, dp_tensor *self, int64_t dim, const int64_t *dtype, dp_tensor **out)
{
    return softmax_op(ctx, "aten::_softmax", self, dim, dtype, out);
}

/* aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor */
static int log_softmax(dp_ctx *ctx, dp_tensor *self, int64_t dim, const int64_t *dtype,
                       dp_tensor **out)
{
    return softmax_op(ctx, "aten::_log_softmax", self, dim, dtype, out);
}

/* aten::dropout(Tensor input, float p, bool train) -> Tensor
 * Outside of training dropout returns its input.  Training needs random numbers: not
 * implemented. */
static int dropout(dp_ctx *ctx, dp_tensor *input, double p, bool train, dp_tensor **out)
{
    DP_VIEW(x, input);

    if (!(p >= 0 && p <= 1))
        return dp_fail(ctx, DP_ERUNTIME,
                       "dropout probability has to be between 0 and 1, but got %g", p);
    if (train && p == 1)
        return dp_invoke(ctx, "aten::mul.Scalar", "Ts>T", input, dp_int(0), out);
    if (train && p > 0 && x.numel > 0)
        return dp_fail(ctx, DP_ENOTIMPL,
                       "dropout in training needs random numbers, which aten does not "
                       "define yet; pass train=False");
    *out = dp_tensor_ref(input);
    return 0;
}

/* aten::max.other(Tensor self, Tensor other) -> Tensor */
static int max_other(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::maximum", "TT>T", self, other, out);
}

/* aten::min.other(Tensor self, Tensor other) -> Tensor */
static int min_other(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::minimum", "TT>T", self, other, out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("batch_norm", batch_norm, (T, oT, oT, oT, oT, b, f, f, b), (T)),
                DP_IMPL_UNBOXED("_batch_norm_impl_index", batch_norm_index,
                                (T, oT, oT, oT, oT, b, f, f, b), (T, T, T, T, i)),
                DP_IMPL_UNBOXED("layer_norm", layer_norm, (T, li, oT, oT, f, b), (T)),
                DP_IMPL_UNBOXED("softmax.int", softmax, (T, i, oi), (T)),
                DP_IMPL_UNBOXED("log_softmax.int", log_softmax, (T, i, oi), (T)),
                DP_IMPL_UNBOXED("dropout", dropout, (T, f, b), (T)),
                DP_IMPL_UNBOXED("max.other", max_other, (T, T), (T)),
                DP_IMPL_UNBOXED("min.other", min_other, (T, T), (T)))
