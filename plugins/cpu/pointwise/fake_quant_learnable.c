/* fake_quant_learnable.c -- fake quantization with learnable scales and zero points, and its
 * gradients (aten/src/ATen/native/quantized/FakeQuantPerTensorAffine.cpp,
 * FakeQuantPerChannelAffine.cpp).
 *
 * Operators: _fake_quantize_learnable_per_channel_affine,
 * _fake_quantize_learnable_per_channel_affine_backward,
 * _fake_quantize_learnable_per_tensor_affine,
 * _fake_quantize_learnable_per_tensor_affine_backward. */
#include "fake_quant.h"
#include <dispatchd/iter.h>
#include <dispatchd/check.h>

/* Loop over (gradients by x, scale and zero point; x, gradient of the output, scale, zero
 * point). */
static void slopes(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    const fq_range *r = user;

    for (int64_t i = 0; i < n; i++) {
        float x = *(const float *)(data[3] + i * strides[3]);
        float dy = *(const float *)(data[4] + i * strides[4]);
        float scale = *(const float *)(data[5] + i * strides[5]), inverse = 1.0F / scale;
        double zero = *(const double *)(data[6] + i * strides[6]);
        int64_t q = fq_as_integer(nearbyintf((float)zero + x * inverse));
        bool below = q<r->min, above = q> r->max;
        float back = (float)((fq_clamped(r, q) - zero) * (double)scale);
        float by_scale = below   ? dy * (float)((double)r->min - zero)
                         : above ? dy * (float)((double)r->max - zero)
                                 : dy * (back - x) * inverse;
        *(float *)(data[0] + i * strides[0]) = below || above ? 0 : dy;
        *(float *)(data[1] + i * strides[1]) = (float)(by_scale * r->grad_factor);
        *(float *)(data[2] + i * strides[2]) =
            below || above ? (float)(-dy * scale * r->grad_factor) : 0;
    }
}

/* Set *out to the zero point, rounded and clamped: to the nearest integer in the forward call, else
 * rounded as PyTorch's gradient does. */
static int learned_zero(dp_ctx *ctx, dp_tensor *zero, int64_t min, int64_t max, bool forwards,
                        int64_t *out)
{
    double z = 0;
    int rc = fq_number_of(ctx, zero, 0, &z);
    float v = forwards ? nearbyintf((float)z) : (float)z + 0.5F;

    v = v < (float)min ? (float)min : v;
    *out = fq_as_integer(v > (float)max ? (float)max : v);
    return rc;
}

/* aten::_fake_quantize_learnable_per_tensor_affine(Tensor self, Tensor scale, Tensor zero_point,
 *     int quant_min, int quant_max, float grad_factor=1.) -> Tensor */
static int learned(dp_ctx *ctx, dp_tensor *self, dp_tensor *scale, dp_tensor *zero, int64_t min,
                   int64_t max, double grad_factor, dp_tensor **out)
{
    double s = 0;
    int64_t z = 0;
    dp_tensor *mask;
    int rc = fq_number_of(ctx, scale, 0, &s);

    (void)grad_factor;
    if (rc == 0)
        rc = learned_zero(ctx, zero, min, max, true, &z);
    if (rc == 0)
        rc = fq_per_tensor(ctx, self, (float)s, z, min, max, out, &mask);
    if (rc == 0)
        dp_tensor_unref(mask);
    return rc;
}

/* Set *out, owned, to zero points rounded to the nearest integers in range, as float32 or int32. */
static int rounded_zeros(dp_ctx *ctx, dp_tensor *zero, int64_t min, int64_t max, dp_dtype dtype,
                         dp_tensor **out)
{
    const dp_value low = dp_int(min), high = dp_int(max);
    dp_tensor *made;
    int rc = dp_invoke(ctx, "aten::round", "T>T", zero, &made);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::clamp_", "Tosos>", made, &low, &high);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", made, (int64_t)dtype, out);
    dp_tensor_unref(made);
    return rc;
}

/* aten::_fake_quantize_learnable_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point,
 *     int axis, int quant_min, int quant_max, float grad_factor=1.) -> Tensor */
static int learned_channels(dp_ctx *ctx, dp_tensor *self, dp_tensor *scale, dp_tensor *zero,
                            int64_t axis, int64_t min, int64_t max, double grad_factor,
                            dp_tensor **out)
{
    dp_tensor *zeros, *mask;
    int rc = rounded_zeros(ctx, zero, min, max, DP_INT32, &zeros);

    (void)grad_factor;
    if (rc < 0)
        return rc;
    rc = fq_per_channel(ctx, self, scale, zeros, axis, min, max, out, &mask);
    dp_tensor_unref(zeros);
    if (rc == 0)
        dp_tensor_unref(mask);
    return rc;
}

static int check_slopes(dp_ctx *ctx, dp_tensor *const *given, int64_t min, int64_t max)
{
    static const char *const names[] = {"dY", "X", "scale", "zero_point"};
    DP_VIEW(dy, given[0]);
    DP_VIEW(x, given[1]);

    for (int i = 0; i < 4; i++) {
        DP_VIEW(v, given[i]);
        if (v.dtype != DP_FLOAT32)
            return dp_fail(ctx, DP_ERUNTIME, "%s should be of type Float, but is %s", names[i],
                           dp_dtype_aten_name(v.dtype));
    }
    if (!dp_same_sizes(x.ndim, x.sizes, dy.ndim, dy.sizes))
        return dp_fail(ctx, DP_ERUNTIME, "`X` and `dY` are not the same size");
    return min <= 0 && max >= 0
               ? 0
               : dp_fail(ctx, DP_ERUNTIME, "Expecting `quant_min` <= 0 and `quant_max` >= 0");
}

/* Compute the gradients of all elements into out [3], which are like X.  qparams is as for
 * quantize(). */
static int write_slopes(dp_ctx *ctx, dp_tensor *const *given, dp_tensor *const *qparams,
                        fq_range *r, dp_tensor **out)
{
    dp_tensor *ins[] = {given[1], given[0], qparams[0], qparams[1]};
    dp_iter it;
    int rc = 0;

    for (int i = 0; rc == 0 && i < 3; i++)
        rc = dp_empty_like(ctx, given[1], DP_DTYPE_NONE, DP_PRESERVE, &out[i]);
    dp_iter_config config = dp_iter_of(DP_ITER_NULLARY | DP_ITER_CPU_SCALARS, 3, out, 4, ins);
    if (rc == 0 && !dp_memoryless(ctx) && (rc = dp_iter_init(ctx, &config, &it)) == 0)
        rc = dp_iter_run_1d(ctx, &it, slopes, r);
    return rc;
}

static void drop(dp_tensor **t, int n)
{
    for (int i = 0; i < n; i++)
        t[i] = dp_tensor_unref(t[i]);
}

/* Set out [3] to the gradient of X, and to the sums of made[1] and made[2] over all dimensions
 * except `axis`; axis < 0: the sums have sizes [1].  made [3] is released.  As in PyTorch, the sum
 * is over all elements if there is only one dimension. */
static int give_slopes(dp_ctx *ctx, int rc, dp_tensor **made, int64_t axis, dp_tensor **out)
{
    int64_t dims[DP_DIM_MAX], one = 1;
    size_t n = 0;

    if (rc == 0) {
        DP_VIEW(x, made[0]);
        for (int d = 0; d < x.ndim; d++)
            if (d != axis)
                dims[n++] = d;
        out[0] = dp_tensor_ref(made[0]);
    }
    for (int i = 1; rc == 0 && i < 3; i++) {
        dp_tensor *sum = NULL;
        rc = dp_invoke(ctx, "aten::sum.dim_IntList", "Tolib>T", made[i], dims, n, (int)false, &sum);
        if (rc == 0)
            rc = axis >= 0
                     ? dp_invoke(ctx, "aten::alias", "T>T", sum, &out[i])
                     : dp_invoke(ctx, "aten::reshape", "Tli>T", sum, &one, (size_t)1, &out[i]);
        dp_tensor_unref(sum);
    }
    drop(made, 3);
    if (rc < 0)
        drop(out, 3);
    return rc;
}

/* Return the given tensors as the gradients of a tensor without elements. */
static int same_slopes(dp_tensor *const *given, dp_tensor **out)
{
    for (int i = 0; i < 3; i++)
        out[i] = dp_tensor_ref(given[i + 1]);
    return 0;
}

/* aten::_fake_quantize_learnable_per_tensor_affine_backward(Tensor grad, Tensor self, Tensor scale,
 *     Tensor zero_point, int quant_min, int quant_max, float grad_factor=1.) -> (Tensor, Tensor,
 *     Tensor) */
static int learned_back(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *scale,
                        dp_tensor *zero, int64_t min, int64_t max, double grad_factor,
                        dp_tensor **by_self, dp_tensor **by_scale, dp_tensor **by_zero)
{
    dp_tensor *given[] = {grad, self, scale, zero}, *made[3] = {0}, *out[3] = {0},
              *qparams[2] = {0};
    fq_range r = {min, max, true, grad_factor};
    double s = 0;
    int64_t z = 0;
    DP_VIEW(x, self);
    int rc = fq_number_of(ctx, scale, 0, &s);

    if (rc == 0)
        rc = learned_zero(ctx, zero, min, max, false, &z);
    if (rc == 0)
        rc = check_slopes(ctx, given, min, max);
    if (rc == 0)
        rc = fq_check_zero(ctx, z >= min && z <= max);
    if (rc == 0 && x.numel == 0)
        rc = same_slopes(given, out);
    else if (rc == 0 && (rc = fq_one_of_each(ctx, s, z, qparams)) == 0)
        rc = give_slopes(ctx, write_slopes(ctx, given, qparams, &r, made), made, -1, out);
    drop(qparams, 2);
    *by_self = out[0], *by_scale = out[1], *by_zero = out[2];
    return rc;
}

/* aten::_fake_quantize_learnable_per_channel_affine_backward(Tensor grad, Tensor self, Tensor
 *     scale, Tensor zero_point, int axis, int quant_min, int quant_max, float grad_factor=1.) ->
 *     (Tensor, Tensor, Tensor) */
static int channels_back(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *scale,
                         dp_tensor *zero, int64_t axis, int64_t min, int64_t max,
                         double grad_factor, dp_tensor **by_self, dp_tensor **by_scale,
                         dp_tensor **by_zero)
{
    dp_tensor *given[] = {grad, self, scale, zero}, *made[3] = {0}, *out[3] = {0},
              *qparams[2] = {0};
    dp_tensor *zeros = NULL;
    fq_range r = {min, max, true, grad_factor};
    DP_VIEW(x, self);
    DP_VIEW(s, scale);
    DP_VIEW(z, zero);
    int rc = check_slopes(ctx, given, min, max);

    if (rc == 0)
        rc = fq_check_channels(ctx, &x, &s, &z, axis);
    if (rc == 0 && x.numel == 0)
        rc = same_slopes(given, out);
    else if (rc == 0) {
        rc = rounded_zeros(ctx, zero, min, max, DP_FLOAT32, &zeros);
        if (rc == 0)
            rc = fq_along_axis(ctx, scale, DP_FLOAT32, axis, x.ndim, &qparams[0]);
        if (rc == 0)
            rc = fq_along_axis(ctx, zeros, DP_FLOAT64, axis, x.ndim, &qparams[1]);
        if (rc == 0)
            rc = write_slopes(ctx, given, qparams, &r, made);
        rc = give_slopes(ctx, rc, made, axis, out);
    }
    dp_tensor_unref(zeros);
    drop(qparams, 2);
    *by_self = out[0], *by_scale = out[1], *by_zero = out[2];
    return rc;
}

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("_fake_quantize_learnable_per_tensor_affine", learned,
                                (T, T, T, i, i, f), (T)),
                DP_IMPL_UNBOXED("_fake_quantize_learnable_per_channel_affine", learned_channels,
                                (T, T, T, i, i, i, f), (T)),
                DP_IMPL_UNBOXED("_fake_quantize_learnable_per_tensor_affine_backward", learned_back,
                                (T, T, T, T, i, i, f), (T, T, T)),
                DP_IMPL_UNBOXED("_fake_quantize_learnable_per_channel_affine_backward",
                                channels_back, (T, T, T, T, i, i, i, f), (T, T, T)))
