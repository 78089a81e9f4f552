/* fake_quant.c -- fake quantization: numbers rounded as if they had been quantized and brought back
 * (aten/src/ATen/native/quantized/FakeQuantPerTensorAffine.cpp, FakeQuantPerChannelAffine.cpp).
 *
 * With one scale and zero point for all, or one for each place of a dimension: operands that broadcast, scales of
 * float32 and zero points of float64.  float32 and float64 are rounded in their own width, as in PyTorch. */
#include "dense.h"
#include <dispatchd/check.h>

typedef struct range {
    int64_t min, max;
    bool whole; /* zero points are integers, added when a number is rounded; else before */
    double grad_factor;
} range;

/* What the processor makes of a number that does not fit: the least integer. */
static int64_t as_integer(double v)
{
    return v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN;
}

static double clamped(const range *r, int64_t q)
{
    return fmin(fmax((double)q, (double)r->min), (double)r->max);
}

static int64_t quantized_f32(const range *r, float x, float scale, double zero)
{
    float inverse = 1.0F / scale;
    return as_integer(r->whole ? (float)zero + nearbyintf(x * inverse)
                               : nearbyintf((float)zero + x * inverse));
}

static int64_t quantized_f64(const range *r, double x, float scale, double zero)
{
    float inverse = 1.0F / scale;
    return as_integer(r->whole ? zero + nearbyint(x * inverse)
                               : nearbyintf((float)(zero + x * inverse)));
}

/* Operands: what becomes of x, whether it was in range, x, scale, zero point. */
#define QUANTIZE(T, end)                                                                           \
    static void quantize##end(char *const *data, const int64_t *strides, int64_t n, void *user)    \
    {                                                                                              \
        const range *r = user;                                                                     \
        for (int64_t i = 0; i < n; i++) {                                                          \
            float scale = *(const float *)(data[3] + i * strides[3]);                              \
            double zero = *(const double *)(data[4] + i * strides[4]);                             \
            int64_t q = quantized##end(r, *(const T *)(data[2] + i * strides[2]), scale, zero);    \
            *(T *)(data[0] + i * strides[0]) = (T)((clamped(r, q) - zero) * (double)scale);        \
            *(bool *)(data[1] + i * strides[1]) = r->min <= q && q <= r->max;                      \
        }                                                                                          \
    }
QUANTIZE(float, _f32)
QUANTIZE(double, _f64)

/* Operands: slopes by x, scale and zero point, then x, the slope behind, scale, zero point. */
static void slopes(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    const range *r = user;

    for (int64_t i = 0; i < n; i++) {
        float x = *(const float *)(data[3] + i * strides[3]);
        float dy = *(const float *)(data[4] + i * strides[4]);
        float scale = *(const float *)(data[5] + i * strides[5]), inverse = 1.0F / scale;
        double zero = *(const double *)(data[6] + i * strides[6]);
        int64_t q = as_integer(nearbyintf((float)zero + x * inverse));
        bool below = q<r->min, above = q> r->max;
        float back = (float)((clamped(r, q) - zero) * (double)scale);
        float by_scale = below   ? dy * (float)((double)r->min - zero)
                         : above ? dy * (float)((double)r->max - zero)
                                 : dy * (back - x) * inverse;
        *(float *)(data[0] + i * strides[0]) = below || above ? 0 : dy;
        *(float *)(data[1] + i * strides[1]) = (float)(by_scale * r->grad_factor);
        *(float *)(data[2] + i * strides[2]) =
            below || above ? (float)(-dy * scale * r->grad_factor) : 0;
    }
}

/* -- scales and zero points -- */

/* t, of one number for each place of self's dimension `axis`, as `dtype` and a shape that broadcasts; a 0-dim t
 * stays one.  *out owned. */
static int along_axis(dp_ctx *ctx, dp_tensor *t, dp_dtype dtype, int64_t axis, int ndim,
                      dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    dp_tensor *cast;
    DP_VIEW(x, t);
    int rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", t, (int64_t)dtype, &cast);

    if (rc < 0)
        return rc;
    for (int d = 0; d < ndim; d++)
        sizes[d] = d == axis ? x.numel : 1;
    rc = dp_invoke(ctx, "aten::reshape", "Tli>T", cast, sizes, x.ndim ? (size_t)ndim : 0, out);
    dp_tensor_unref(cast);
    return rc;
}

/* A number of each on the CPU.  Owned. */
static int one_of_each(dp_ctx *ctx, double scale, int64_t zero, dp_tensor *out[2])
{
    int rc = dp_scalar_tensor(ctx, dp_double(scale), DP_FLOAT32, &out[0]);

    if (rc == 0 && (rc = dp_scalar_tensor(ctx, dp_double((double)zero), DP_FLOAT64, &out[1])) < 0)
        out[0] = dp_tensor_unref(out[0]);
    return rc;
}

/* Element `at` of t as a float; of a 0-dim t with at < 0. */
static int number_of(dp_ctx *ctx, dp_tensor *t, int64_t at, double *out)
{
    dp_tensor *one = dp_tensor_ref(t);
    dp_value v = dp_none();
    int rc = 0;

    if (at >= 0) {
        dp_tensor_unref(one);
        rc = dp_invoke(ctx, "aten::select.int", "Tii>T", t, (int64_t)0, at, &one);
    }
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::item", "T>s", one, &v);
    dp_tensor_unref(one);
    if (rc == 0 && v.tag == DP_TAG_COMPLEX)
        rc = dp_fail(ctx, DP_ERUNTIME, "a complex number can be no scale and no zero point");
    *out = rc == 0 ? as_double(v) : 0;
    return rc;
}

static int check_range(dp_ctx *ctx, int64_t min, int64_t max)
{
    return min <= max ? 0
                      : dp_fail(ctx, DP_ERUNTIME,
                                "`quant_min` should be less than or equal to `quant_max`.");
}

static int check_zero(dp_ctx *ctx, bool inside)
{
    return inside ? 0
                  : dp_fail(ctx, DP_ERUNTIME,
                            "`zero_point` must be between `quant_min` and `quant_max`.");
}

static int check_float(dp_ctx *ctx, dp_dtype d)
{
    return d == DP_FLOAT32 || d == DP_FLOAT64
               ? 0
               : dp_refuse_dtype(ctx, "fake_quantize_tensor_cachemask_kernel_type_handling", d);
}

/* -- forwards -- */

/* qparams: scale and zero point, of shapes that broadcast to self's. */
static int quantize(dp_ctx *ctx, dp_tensor *self, dp_tensor *const *qparams, range *r,
                    dp_tensor **out, dp_tensor **mask)
{
    dp_tensor *outs[2] = {0}, *ins[] = {self, qparams[0], qparams[1]};
    dp_iter it;
    DP_VIEW(x, self);

    int rc = check_float(ctx, x.dtype);

    if (rc == 0)
        rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_PRESERVE, &outs[0]);
    if (rc == 0)
        rc = dp_empty_like(ctx, self, DP_BOOL, DP_PRESERVE, &outs[1]);
    dp_iter_config config = dp_iter_of(DP_ITER_NULLARY | DP_ITER_CPU_SCALARS, 2, outs, 3, ins);
    if (rc == 0 && !dp_memoryless(ctx) && (rc = dp_iter_init(ctx, &config, &it)) == 0)
        rc = dp_iter_run_1d(ctx, &it, x.dtype == DP_FLOAT32 ? quantize_f32 : quantize_f64, r);
    *out = rc < 0 ? dp_tensor_unref(outs[0]) : outs[0];
    *mask = rc < 0 ? dp_tensor_unref(outs[1]) : outs[1];
    return rc;
}

static int quantize_all(dp_ctx *ctx, dp_tensor *self, double scale, int64_t zero, range *r,
                        dp_tensor **out, dp_tensor **mask)
{
    dp_tensor *qparams[2];
    int rc = one_of_each(ctx, scale, zero, qparams);

    if (rc < 0)
        return rc;
    rc = quantize(ctx, self, qparams, r, out, mask);
    dp_tensor_unref(qparams[0]);
    dp_tensor_unref(qparams[1]);
    return rc;
}

/* aten::fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int quant_min,
 *     int quant_max) -> (Tensor output, Tensor mask) */
static int per_tensor(dp_ctx *ctx, dp_tensor *self, double scale, int64_t zero, int64_t min,
                      int64_t max, dp_tensor **out, dp_tensor **mask)
{
    range r = {.min = min, .max = max, .whole = true};
    int rc = check_range(ctx, min, max);

    if (rc == 0)
        rc = check_zero(ctx, zero >= min && zero <= max);
    return rc < 0 ? rc : quantize_all(ctx, self, scale, zero, &r, out, mask);
}

/* aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, Tensor zero_point,
 *     Tensor fake_quant_enabled, int quant_min, int quant_max) -> (Tensor output, Tensor mask) */
static int by_tensors(dp_ctx *ctx, dp_tensor *self, dp_tensor *scale, dp_tensor *zero,
                      dp_tensor *enabled, int64_t min, int64_t max, dp_tensor **out,
                      dp_tensor **mask)
{
    range r = {.min = min, .max = max, .whole = true};
    double s = 0, z = 0, on = 0;
    int rc = check_range(ctx, min, max);

    if (rc == 0)
        rc = number_of(ctx, scale, -1, &s);
    if (rc == 0)
        rc = number_of(ctx, zero, -1, &z);
    if (rc == 0)
        rc = number_of(ctx, enabled, -1, &on);
    if (rc < 0 || on != 0)
        return rc < 0 ? rc : quantize_all(ctx, self, s, as_integer(z), &r, out, mask);
    DP_VIEW(x, self);
    rc = check_float(ctx, x.dtype);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::clone", "T>T", self, out);
    if (rc == 0)
        rc = dp_empty_like(ctx, self, DP_BOOL, DP_PRESERVE, mask);
    return rc == 0 ? dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", *mask, dp_bool(true)) : rc;
}

static int check_channels(dp_ctx *ctx, const dp_view *x, const dp_view *s, const dp_view *z,
                          int64_t axis)
{
    if (s->ndim != 1 || z->ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME, "%s should be a 1-D tensor",
                       s->ndim != 1 ? "scale" : "zero point");
    if (s->numel != z->numel)
        return dp_fail(ctx, DP_ERUNTIME, "scale and zero-point need to have the same dimensions");
    if (axis < -x->ndim || axis >= x->ndim)
        return dp_fail(
            ctx, DP_EINDEX,
            "Dimension out of range (expected to be in range of [%d, %d], but got %" PRId64 ")",
            -x->ndim, x->ndim - 1, axis);
    if (s->numel != x->sizes[axis < 0 ? axis + x->ndim : axis])
        return dp_fail(ctx, DP_ERUNTIME,
                       "dimensions of scale and zero-point are not consistent with input tensor");
    if (s->dtype != DP_FLOAT32)
        return dp_fail(ctx, DP_ERUNTIME, "Scale must be Float, found %s",
                       dp_dtype_aten_name(s->dtype));
    return axis >= 0 ? 0
                     : dp_fail(ctx, DP_ERUNTIME,
                               "`axis` must be between 0 and number of dimensions of input");
}

/* Are integers, if there are any, in range?  Elements are read where there are some. */
static int check_zeros(dp_ctx *ctx, dp_tensor *zeros, const range *r)
{
    dp_tensor *ends[2];
    double least = 0, most = 0;
    int rc = dp_invoke(ctx, "aten::aminmax", "T>TT", zeros, &ends[0], &ends[1]);

    if (rc < 0)
        return rc;
    if (!dp_memoryless(ctx))
        rc = number_of(ctx, ends[0], -1, &least);
    if (rc == 0 && !dp_memoryless(ctx))
        rc = number_of(ctx, ends[1], -1, &most);
    dp_tensor_unref(ends[0]);
    dp_tensor_unref(ends[1]);
    return rc < 0 || dp_memoryless(ctx)
               ? rc
               : check_zero(ctx, least >= (double)r->min && most <= (double)r->max);
}

/* aten::fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis,
 *     int quant_min, int quant_max) -> (Tensor output, Tensor mask) */
static int per_channel(dp_ctx *ctx, dp_tensor *self, dp_tensor *scale, dp_tensor *zero,
                       int64_t axis, int64_t min, int64_t max, dp_tensor **out, dp_tensor **mask)
{
    dp_tensor *qparams[2] = {0};
    DP_VIEW(x, self);
    DP_VIEW(s, scale);
    DP_VIEW(z, zero);
    range r = {.min = min, .max = max, .whole = z.dtype == DP_INT32};
    int rc = 0;

    if (z.dtype != DP_INT32 && z.dtype != DP_FLOAT32 && z.dtype != DP_FLOAT16)
        rc = dp_fail(ctx, DP_ERUNTIME, "Zero-point must be Int32, Float or Half, found %s",
                     dp_dtype_aten_name(z.dtype));
    if (rc == 0)
        rc = check_channels(ctx, &x, &s, &z, axis);
    if (rc == 0)
        rc = check_range(ctx, min, max);
    if (rc == 0 && r.whole)
        rc = check_zeros(ctx, zero, &r);
    if (rc == 0)
        rc = along_axis(ctx, scale, DP_FLOAT32, axis, x.ndim, &qparams[0]);
    if (rc == 0)
        rc = along_axis(ctx, zero, DP_FLOAT64, axis, x.ndim, &qparams[1]);
    if (rc == 0)
        rc = quantize(ctx, self, qparams, &r, out, mask);
    dp_tensor_unref(qparams[0]);
    dp_tensor_unref(qparams[1]);
    return rc;
}

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("fake_quantize_per_tensor_affine_cachemask", per_tensor,
                                (T, f, i, i, i), (T, T)),
                DP_IMPL_UNBOXED("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
                                by_tensors, (T, T, T, T, i, i), (T, T)),
                DP_IMPL_UNBOXED("fake_quantize_per_channel_affine_cachemask", per_channel,
                                (T, T, T, i, i, i), (T, T)))

/* -- with scales and zero points that are learned -- */

/* Where a zero point is rounded, and clamped: forwards to the nearest integer. */
static int learned_zero(dp_ctx *ctx, dp_tensor *zero, int64_t min, int64_t max, bool forwards,
                        int64_t *out)
{
    double z = 0;
    int rc = number_of(ctx, zero, 0, &z);
    float v = forwards ? nearbyintf((float)z) : (float)z + 0.5F;

    v = v < (float)min ? (float)min : v;
    *out = as_integer(v > (float)max ? (float)max : v);
    return rc;
}

/* aten::_fake_quantize_learnable_per_tensor_affine(Tensor self, Tensor scale, Tensor zero_point, int quant_min,
 *     int quant_max, float grad_factor=1.) -> Tensor */
static int learned(dp_ctx *ctx, dp_tensor *self, dp_tensor *scale, dp_tensor *zero, int64_t min,
                   int64_t max, double grad_factor, dp_tensor **out)
{
    double s = 0;
    int64_t z = 0;
    dp_tensor *mask;
    int rc = number_of(ctx, scale, 0, &s);

    (void)grad_factor;
    if (rc == 0)
        rc = learned_zero(ctx, zero, min, max, true, &z);
    if (rc == 0)
        rc = per_tensor(ctx, self, (float)s, z, min, max, out, &mask);
    if (rc == 0)
        dp_tensor_unref(mask);
    return rc;
}

/* Zero points to the nearest integers in range, as float32 or int32.  *out owned. */
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

/* aten::_fake_quantize_learnable_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis,
 *     int quant_min, int quant_max, float grad_factor=1.) -> Tensor */
static int learned_channels(dp_ctx *ctx, dp_tensor *self, dp_tensor *scale, dp_tensor *zero,
                            int64_t axis, int64_t min, int64_t max, double grad_factor,
                            dp_tensor **out)
{
    dp_tensor *zeros, *mask;
    int rc = rounded_zeros(ctx, zero, min, max, DP_INT32, &zeros);

    (void)grad_factor;
    if (rc < 0)
        return rc;
    rc = per_channel(ctx, self, scale, zeros, axis, min, max, out, &mask);
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

/* out [3], like X.  qparams: see quantize(). */
static int write_slopes(dp_ctx *ctx, dp_tensor *const *given, dp_tensor *const *qparams, range *r,
                        dp_tensor **out)
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

/* made [3], which is taken: X's slope, and sums of the others over all dimensions but `axis`, which are
 * [1] for an axis < 0.  Of a tensor of one dimension that is the sum of all, as PyTorch has it. */
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

/* Of no elements, what was given. */
static int same_slopes(dp_tensor *const *given, dp_tensor **out)
{
    for (int i = 0; i < 3; i++)
        out[i] = dp_tensor_ref(given[i + 1]);
    return 0;
}

/* aten::_fake_quantize_learnable_per_tensor_affine_backward(Tensor grad, Tensor self, Tensor scale,
 *     Tensor zero_point, int quant_min, int quant_max, float grad_factor=1.) -> (Tensor, Tensor, Tensor) */
static int learned_back(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *scale,
                        dp_tensor *zero, int64_t min, int64_t max, double grad_factor,
                        dp_tensor **by_self, dp_tensor **by_scale, dp_tensor **by_zero)
{
    dp_tensor *given[] = {grad, self, scale, zero}, *made[3] = {0}, *out[3] = {0},
              *qparams[2] = {0};
    range r = {min, max, true, grad_factor};
    double s = 0;
    int64_t z = 0;
    DP_VIEW(x, self);
    int rc = number_of(ctx, scale, 0, &s);

    if (rc == 0)
        rc = learned_zero(ctx, zero, min, max, false, &z);
    if (rc == 0)
        rc = check_slopes(ctx, given, min, max);
    if (rc == 0)
        rc = check_zero(ctx, z >= min && z <= max);
    if (rc == 0 && x.numel == 0)
        rc = same_slopes(given, out);
    else if (rc == 0 && (rc = one_of_each(ctx, s, z, qparams)) == 0)
        rc = give_slopes(ctx, write_slopes(ctx, given, qparams, &r, made), made, -1, out);
    drop(qparams, 2);
    *by_self = out[0], *by_scale = out[1], *by_zero = out[2];
    return rc;
}

/* aten::_fake_quantize_learnable_per_channel_affine_backward(Tensor grad, Tensor self, Tensor scale,
 *     Tensor zero_point, int axis, int quant_min, int quant_max, float grad_factor=1.)
 *     -> (Tensor, Tensor, Tensor) */
static int channels_back(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *scale,
                         dp_tensor *zero, int64_t axis, int64_t min, int64_t max,
                         double grad_factor, dp_tensor **by_self, dp_tensor **by_scale,
                         dp_tensor **by_zero)
{
    dp_tensor *given[] = {grad, self, scale, zero}, *made[3] = {0}, *out[3] = {0},
              *qparams[2] = {0};
    dp_tensor *zeros = NULL;
    range r = {min, max, true, grad_factor};
    DP_VIEW(x, self);
    DP_VIEW(s, scale);
    DP_VIEW(z, zero);
    int rc = check_slopes(ctx, given, min, max);

    if (rc == 0)
        rc = check_channels(ctx, &x, &s, &z, axis);
    if (rc == 0 && x.numel == 0)
        rc = same_slopes(given, out);
    else if (rc == 0) {
        rc = rounded_zeros(ctx, zero, min, max, DP_FLOAT32, &zeros);
        if (rc == 0)
            rc = along_axis(ctx, scale, DP_FLOAT32, axis, x.ndim, &qparams[0]);
        if (rc == 0)
            rc = along_axis(ctx, zeros, DP_FLOAT64, axis, x.ndim, &qparams[1]);
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
