/* normalization.c -- batch_norm, instance_norm and _batch_norm_impl_index, which call the operators
 * of backends (aten/src/ATen/native/Normalization.cpp).
 *
 * Operators: batch_norm, _batch_norm_impl_index, _batch_norm_impl_index_backward, instance_norm. */
#include "check_rank.h"
#include "core/chain.h"

/* -- batches and layers -- */

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
    int rc = call_empty(ctx, DP_UINT8, x.device, 1, &empty, &none);
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
    *implementation = 0; /* PyTorch's number of its native implementation */
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

/* aten::_batch_norm_impl_index_backward(int impl_index, Tensor input, Tensor grad_output, Tensor?
 *     weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor?
 *     save_var_transform, bool train, float eps, bool[3] output_mask, Tensor reservedSpace) ->
 *     (Tensor, Tensor, Tensor) */
static int batch_norm_index_backward(dp_ctx *ctx, int64_t implementation, dp_tensor *input,
                                     dp_tensor *grad, dp_tensor *weight, dp_tensor *mean,
                                     dp_tensor *var, dp_tensor *save_mean, dp_tensor *save_invstd,
                                     bool train, double eps, const bool *mask, size_t n_mask,
                                     dp_tensor *reserve, dp_tensor **dx, dp_tensor **dweight,
                                     dp_tensor **dbias)
{
    (void)reserve;
    if (implementation != 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Unsupported impl_index in _batch_norm_impl_index_backward: %" PRId64,
                       implementation);
    return dp_invoke(ctx, "aten::native_batch_norm_backward", "TToToToToToTbflb>TTT", grad, input,
                     weight, mean, var, save_mean, save_invstd, (int)train, eps, mask, n_mask, dx,
                     dweight, dbias);
}

/* Return `t` repeated for each of `n` samples; NULL stays NULL. */
static dp_tensor *for_each(chain *c, dp_tensor *t, int64_t n)
{
    return t ? CHAIN(c, "aten::repeat", "Tli>T", t, &n, (size_t)1) : NULL;
}

/* Return the mean over samples of a running statistic `each`; NULL if there is none. */
static dp_tensor *fold(chain *c, dp_tensor *each, int64_t n, int64_t channels)
{
    int64_t sizes[] = {n, channels}, first = 0;

    if (each == NULL)
        return NULL;
    each = CHAIN(c, "aten::view", "Tli>T", each, sizes, (size_t)2);
    return CHAIN(c, "aten::mean.dim", "Toli>T", each, &first, (size_t)1);
}

/* aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean,
 *     Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) ->
 *     Tensor
 * Normalizes the channels of each sample separately, by a batch norm. */
static int instance_norm(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias,
                         dp_tensor *mean, dp_tensor *var, bool use_input_stats, double momentum,
                         double eps, bool cudnn, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(x, input);

    if (!use_input_stats && (mean == NULL || var == NULL))
        return dp_fail(
            ctx, DP_ERUNTIME,
            "Expected running_mean and running_var to be defined when use_input_stats is "
            "false");
    int rc = check_rank(ctx, &x);
    if (rc < 0)
        return rc;
    for (int i = 0; i < x.ndim; i++)
        sizes[i] = x.sizes[i];
    if (__builtin_mul_overflow(x.sizes[0], x.sizes[1], &sizes[1]))
        return dp_fail(ctx, DP_ERESOURCE, "out of memory: too many channels");
    sizes[0] = 1;
    dp_tensor *each_mean = for_each(&c, mean, x.sizes[0]),
              *each_var = for_each(&c, var, x.sizes[0]);
    dp_tensor *flat = CHAIN(&c, "aten::contiguous", "T>T", input);
    flat = CHAIN(&c, "aten::view", "Tli>T", flat, sizes, (size_t)x.ndim);
    dp_tensor *y = CHAIN(&c, "aten::batch_norm", "ToToToToTbffb>T", flat,
                         for_each(&c, weight, x.sizes[0]), for_each(&c, bias, x.sizes[0]),
                         each_mean, each_var, (int)use_input_stats, momentum, eps, (int)cudnn);
    y = CHAIN(&c, "aten::view", "Tli>T", y, x.sizes, (size_t)x.ndim);
    each_mean = fold(&c, each_mean, x.sizes[0], x.sizes[1]);
    each_var = fold(&c, each_var, x.sizes[0], x.sizes[1]);
    if (c.rc == 0 && mean != NULL)
        c.rc = dp_invoke(ctx, "aten::copy_", "TTb>", mean, each_mean, (int)false);
    if (c.rc == 0 && var != NULL)
        c.rc = dp_invoke(ctx, "aten::copy_", "TTb>", var, each_var, (int)false);
    return chain_end(&c, y, out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("batch_norm", batch_norm, (T, oT, oT, oT, oT, b, f, f, b), (T)),
                DP_IMPL_UNBOXED("_batch_norm_impl_index", batch_norm_index,
                                (T, oT, oT, oT, oT, b, f, f, b), (T, T, T, T, i)),
                DP_IMPL_UNBOXED("_batch_norm_impl_index_backward", batch_norm_index_backward,
                                (i, T, T, oT, oT, oT, oT, oT, b, f, lb, T), (T, T, T)),
                DP_IMPL_UNBOXED("instance_norm", instance_norm, (T, oT, oT, oT, oT, b, f, f, b),
                                (T)))
