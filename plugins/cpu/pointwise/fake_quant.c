/* fake_quant.c -- fake quantization: elements are quantized and dequantized again
 * (aten/src/ATen/native/quantized/FakeQuantPerTensorAffine.cpp, FakeQuantPerChannelAffine.cpp).
 *
 * Scale and zero point are one number each, or one per index of a dimension.  They are operands
 * that broadcast: scales in float32, zero points in float64.  float32 and float64 elements are
 * rounded in their own dtype, as in PyTorch.
 *
 * Operators: fake_quantize_per_channel_affine_cachemask,
 * fake_quantize_per_tensor_affine_cachemask,
 * _fake_quantize_per_tensor_affine_cachemask_tensor_qparams. */
#include "fake_quant.h"
#include <dispatchd/iter.h>
#include <dispatchd/check.h>

static int64_t quantized_f32(const fq_range *r, float x, float scale, double zero)
{
    float inverse = 1.0F / scale;
    return fq_as_integer(r->whole ? (float)zero + nearbyintf(x * inverse)
                                  : nearbyintf((float)zero + x * inverse));
}

static int64_t quantized_f64(const fq_range *r, double x, float scale, double zero)
{
    float inverse = 1.0F / scale;
    return fq_as_integer(r->whole ? zero + nearbyint(x * inverse)
                                  : nearbyintf((float)(zero + x * inverse)));
}

/* Define a loop over (result, mask, x, scale, zero point); the mask is true if x is in range. */
#define QUANTIZE(T, end)                                                                           \
    static void quantize##end(char *const *data, const int64_t *strides, int64_t n, void *user)    \
    {                                                                                              \
        const fq_range *r = user;                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                          \
            float scale = *(const float *)(data[3] + i * strides[3]);                              \
            double zero = *(const double *)(data[4] + i * strides[4]);                             \
            int64_t q = quantized##end(r, *(const T *)(data[2] + i * strides[2]), scale, zero);    \
            *(T *)(data[0] + i * strides[0]) = (T)((fq_clamped(r, q) - zero) * (double)scale);     \
            *(bool *)(data[1] + i * strides[1]) = r->min <= q && q <= r->max;                      \
        }                                                                                          \
    }
QUANTIZE(float, _f32)
QUANTIZE(double, _f64)

/* -- scales and zero points -- */

int fq_along_axis(dp_ctx *ctx, dp_tensor *t, dp_dtype dtype, int64_t axis, int ndim,
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

int fq_one_of_each(dp_ctx *ctx, double scale, int64_t zero, dp_tensor *out[2])
{
    int rc = dp_scalar_tensor(ctx, dp_double((float)scale), DP_FLOAT32, &out[0]);

    if (rc == 0 && (rc = dp_scalar_tensor(ctx, dp_double((double)zero), DP_FLOAT64, &out[1])) < 0)
        out[0] = dp_tensor_unref(out[0]);
    return rc;
}

int fq_number_of(dp_ctx *ctx, dp_tensor *t, int64_t at, double *out)
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
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "expected a real scale and zero point but got a complex number");
    *out = rc == 0 ? as_double(v) : 0;
    return rc;
}

static int fq_check_range(dp_ctx *ctx, int64_t min, int64_t max)
{
    return min <= max ? 0
                      : dp_fail(ctx, DP_ERUNTIME,
                                "`quant_min` should be less than or equal to `quant_max`.");
}

int fq_check_zero(dp_ctx *ctx, bool inside)
{
    return inside ? 0
                  : dp_fail(ctx, DP_ERUNTIME,
                            "`zero_point` must be between `quant_min` and `quant_max`.");
}

static int check_float(dp_ctx *ctx, dp_dtype d)
{
    return d == DP_FLOAT32 || d == DP_FLOAT64 || d == DP_FLOAT16
               ? 0
               : dp_refuse_dtype(ctx, "fake_quantize_tensor_cachemask_kernel_type_handling", d);
}

/* -- forward -- */

/* Quantize self, float32 or float64.  qparams has scale and zero point, whose shapes broadcast to
 * that of self. */
static int quantize_wide(dp_ctx *ctx, dp_tensor *self, dp_tensor *const *qparams, fq_range *r,
                         dp_tensor **out, dp_tensor **mask)
{
    dp_tensor *outs[2] = {0}, *ins[] = {self, qparams[0], qparams[1]};
    dp_iter it;
    DP_VIEW(x, self);
    int rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_PRESERVE, &outs[0]);

    if (rc == 0)
        rc = dp_empty_like(ctx, self, DP_BOOL, DP_PRESERVE, &outs[1]);
    dp_iter_config config = dp_iter_of(DP_ITER_NULLARY | DP_ITER_CPU_SCALARS, 2, outs, 3, ins);
    if (rc == 0 && !dp_memoryless(ctx) && (rc = dp_iter_init(ctx, &config, &it)) == 0)
        rc = dp_iter_run_1d(ctx, &it, x.dtype == DP_FLOAT32 ? quantize_f32 : quantize_f64, r);
    *out = rc < 0 ? dp_tensor_unref(outs[0]) : outs[0];
    *mask = rc < 0 ? dp_tensor_unref(outs[1]) : outs[1];
    return rc;
}

/* Quantize self.  float16 is quantized as float32 and rounded once. */
static int quantize(dp_ctx *ctx, dp_tensor *self, dp_tensor *const *qparams, fq_range *r,
                    dp_tensor **out, dp_tensor **mask)
{
    dp_tensor *wide, *made;
    DP_VIEW(x, self);
    int rc = check_float(ctx, x.dtype);

    if (rc < 0 || x.dtype != DP_FLOAT16)
        return rc < 0 ? rc : quantize_wide(ctx, self, qparams, r, out, mask);
    rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", self, (int64_t)DP_FLOAT32, &wide);
    if (rc < 0)
        return rc;
    rc = quantize_wide(ctx, wide, qparams, r, &made, mask);
    dp_tensor_unref(wide);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", made, (int64_t)DP_FLOAT16, out);
    dp_tensor_unref(made);
    if (rc < 0)
        *mask = dp_tensor_unref(*mask);
    return rc;
}

static int quantize_all(dp_ctx *ctx, dp_tensor *self, double scale, int64_t zero, fq_range *r,
                        dp_tensor **out, dp_tensor **mask)
{
    dp_tensor *qparams[2];
    int rc = fq_one_of_each(ctx, scale, zero, qparams);

    if (rc < 0)
        return rc;
    rc = quantize(ctx, self, qparams, r, out, mask);
    dp_tensor_unref(qparams[0]);
    dp_tensor_unref(qparams[1]);
    return rc;
}

/* aten::fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int
 *     quant_min, int quant_max) -> (Tensor output, Tensor mask) */
int fq_per_tensor(dp_ctx *ctx, dp_tensor *self, double scale, int64_t zero, int64_t min,
                  int64_t max, dp_tensor **out, dp_tensor **mask)
{
    fq_range r = {.min = min, .max = max, .whole = true};
    int rc = fq_check_range(ctx, min, max);

    if (rc == 0)
        rc = fq_check_zero(ctx, zero >= min && zero <= max);
    return rc < 0 ? rc : quantize_all(ctx, self, scale, zero, &r, out, mask);
}

/* aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, Tensor
 *     zero_point, Tensor fake_quant_enabled, int quant_min, int quant_max) -> (Tensor output,
 *     Tensor mask) */
static int by_tensors(dp_ctx *ctx, dp_tensor *self, dp_tensor *scale, dp_tensor *zero,
                      dp_tensor *enabled, int64_t min, int64_t max, dp_tensor **out,
                      dp_tensor **mask)
{
    fq_range r = {.min = min, .max = max, .whole = true};
    double s = 0, z = 0, on = 0;
    int rc = fq_check_range(ctx, min, max);

    if (rc == 0)
        rc = fq_number_of(ctx, scale, -1, &s);
    if (rc == 0)
        rc = fq_number_of(ctx, zero, -1, &z);
    if (rc == 0)
        rc = fq_number_of(ctx, enabled, -1, &on);
    if (rc < 0 || on != 0)
        return rc < 0 ? rc : quantize_all(ctx, self, s, fq_as_integer(z), &r, out, mask);
    DP_VIEW(x, self);
    rc = check_float(ctx, x.dtype);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::clone", "T>T", self, out);
    if (rc == 0)
        rc = dp_empty_like(ctx, self, DP_BOOL, DP_PRESERVE, mask);
    return rc == 0 ? dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", *mask, dp_bool(true)) : rc;
}

int fq_check_channels(dp_ctx *ctx, const dp_view *x, const dp_view *s, const dp_view *z,
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

/* Check that zero points, if they are integers, are in range; their elements are read only if there
 * are any. */
static int check_zeros(dp_ctx *ctx, dp_tensor *zeros, const fq_range *r)
{
    dp_tensor *ends[2];
    double least = 0, most = 0;
    int rc = dp_invoke(ctx, "aten::aminmax", "T>TT", zeros, &ends[0], &ends[1]);

    if (rc < 0)
        return rc;
    if (!dp_memoryless(ctx))
        rc = fq_number_of(ctx, ends[0], -1, &least);
    if (rc == 0 && !dp_memoryless(ctx))
        rc = fq_number_of(ctx, ends[1], -1, &most);
    dp_tensor_unref(ends[0]);
    dp_tensor_unref(ends[1]);
    return rc < 0 || dp_memoryless(ctx)
               ? rc
               : fq_check_zero(ctx, least >= (double)r->min && most <= (double)r->max);
}

/* aten::fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point,
 *     int axis, int quant_min, int quant_max) -> (Tensor output, Tensor mask) */
int fq_per_channel(dp_ctx *ctx, dp_tensor *self, dp_tensor *scale, dp_tensor *zero, int64_t axis,
                   int64_t min, int64_t max, dp_tensor **out, dp_tensor **mask)
{
    dp_tensor *qparams[2] = {0};
    DP_VIEW(x, self);
    DP_VIEW(s, scale);
    DP_VIEW(z, zero);
    fq_range r = {.min = min, .max = max, .whole = z.dtype == DP_INT32};
    int rc = 0;

    if (z.dtype != DP_INT32 && z.dtype != DP_FLOAT32 && z.dtype != DP_FLOAT16)
        rc = dp_fail(ctx, DP_ERUNTIME, "Zero-point must be Int32, Float or Half, found %s",
                     dp_dtype_aten_name(z.dtype));
    if (rc == 0)
        rc = fq_check_channels(ctx, &x, &s, &z, axis);
    if (rc == 0)
        rc = fq_check_range(ctx, min, max);
    if (rc == 0 && r.whole)
        rc = check_zeros(ctx, zero, &r);
    if (rc == 0)
        rc = fq_along_axis(ctx, scale, DP_FLOAT32, axis, x.ndim, &qparams[0]);
    if (rc == 0)
        rc = fq_along_axis(ctx, zero, DP_FLOAT64, axis, x.ndim, &qparams[1]);
    if (rc == 0)
        rc = quantize(ctx, self, qparams, &r, out, mask);
    dp_tensor_unref(qparams[0]);
    dp_tensor_unref(qparams[1]);
    return rc;
}

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("fake_quantize_per_tensor_affine_cachemask", fq_per_tensor,
                                (T, f, i, i, i), (T, T)),
                DP_IMPL_UNBOXED("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
                                by_tensors, (T, T, T, T, i, i), (T, T)),
                DP_IMPL_UNBOXED("fake_quantize_per_channel_affine_cachemask", fq_per_channel,
                                (T, T, T, i, i, i), (T, T)))
