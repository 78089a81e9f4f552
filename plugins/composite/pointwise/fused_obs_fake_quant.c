/* fused_obs_fake_quant.c -- scales and zero points for a range of numbers
 * (_choose_qparams_per_tensor), and fake quantization with a moving average of the range
 * (aten/src/ATen/native/quantized/cpu/fused_obs_fake_quant.cpp, quantized/QTensor.cpp,
 * QuantUtils.h).
 *
 * Operators: _choose_qparams_per_tensor, fused_moving_avg_obs_fake_quant,
 * _fused_moving_avg_obs_fq_helper. */
#include "core/chain.h"
#include <dispatchd/check.h>

typedef struct qparams {
    double scale;
    int32_t zero;
} qparams;

#define SMALL_SCALE 6.1e-5F

/* Return the scale of the range; if the scale, or its reciprocal, is not a normal number or is too
 * small, widen *min or *max. */
static double fit_scale(float *min, float *max, int32_t least, int32_t most)
{
    double scale = ((double)*max - *min) / (most - least);

    if ((float)scale == 0 || isinf(1 / (float)scale))
        scale = 0.1;
    if (scale >= SMALL_SCALE)
        return scale;
    float larger = SMALL_SCALE / (float)scale;
    if (*min == 0)
        *max = SMALL_SCALE * (float)(most - least);
    else if (*max == 0)
        *min = -SMALL_SCALE * (float)(most - least);
    else {
        *min *= larger;
        *max *= larger;
    }
    return SMALL_SCALE;
}

/* Choose the scale and the zero point that map the range [min, max], extended to contain 0, to the
 * integers [least, most].  `symmetric`: 0 is mapped to their middle.
 * Source: quant_utils::ChooseQuantizationParams. */
static int choose(dp_ctx *ctx, float min, float max, int32_t least, int32_t most, bool symmetric,
                  qparams *out)
{
    if (!(min <= max))
        return dp_fail(ctx, DP_ERUNTIME,
                       "In ChooseQuantizationParams, min should be less than or equal to max");
    if (least >= most || (int64_t)most - least > INT32_MAX)
        return dp_fail(ctx, DP_ERUNTIME,
                       "In ChooseQuantizationParams, qmin should be less than qmax");
    if (min < 0 && max > 0 && symmetric) {
        int32_t low = -((most - least) / 2 + 1), high = (most - least) / 2;
        double each = fmax(fabs(min / (float)low), fabs(max / (float)high));
        min = (float)(each * low);
        max = (float)(each * high);
    }
    min = fminf(min, 0);
    max = fmaxf(max, 0);
    double scale = fit_scale(&min, &max, least, most);
    if (!(scale > 0))
        return dp_fail(ctx, DP_ERUNTIME, "quantization scale should be > 0");
    bool from_min =
        fabs((double)least) - fabs(min / scale) < fabs((double)most) - fabs(max / scale);
    double zero = from_min ? least - min / scale : most - max / scale;
    if (min < 0 && max > 0 && symmetric)
        zero = ((double)least + most) / 2;
    out->scale = scale;
    out->zero = !(zero >= least) ? least : zero > most ? most : (int32_t)nearbyint(zero);
    return 0;
}

static int float_of(dp_ctx *ctx, dp_tensor *t, double *out)
{
    dp_value v = dp_none();
    int rc = dp_invoke(ctx, "aten::item", "T>s", t, &v);

    if (rc == 0 && v.tag == DP_TAG_COMPLEX)
        rc = dp_fail(ctx, DP_ERUNTIME, "expected a real number, but got a complex one");
    *out = rc == 0 ? as_double(v) : 0;
    return rc;
}

/* aten::_choose_qparams_per_tensor(Tensor self, bool reduce_range=False) -> (float, int) */
static int choose_per_tensor(dp_ctx *ctx, dp_tensor *self, bool reduce_range, double *scale,
                             int64_t *zero)
{
    chain c = {.ctx = ctx};
    double min = 0, max = 0;
    qparams q = {0};
    dp_tensor *low = chain_T(&c, "aten::min", self), *high = chain_T(&c, "aten::max", self);

    if (c.rc == 0)
        c.rc = float_of(ctx, low, &min);
    if (c.rc == 0)
        c.rc = float_of(ctx, high, &max);
    if (c.rc == 0)
        c.rc = choose(ctx, (float)min, (float)max, 0, reduce_range ? 127 : 255, false, &q);
    *scale = q.scale;
    *zero = q.zero;
    return chain_end(&c, NULL, NULL);
}

/* -- a moving average of the range -- */

typedef struct observer {
    dp_tensor *self, *ends[2], *scale, *zero;
    double share; /* weight of the new range in the average */
    int64_t least, most, axis;
    bool rows, symmetric;
    bool writes; /* true after the checks; an error before that is reported by dp_refuse() */
} observer;

/* Move `end` towards `seen` by `share` of the difference, or set it to seen if it is infinite (no
 * average yet). */
static void move_end(chain *c, dp_tensor *end, dp_tensor *seen, double share)
{
    dp_tensor *none = chain_T(c, "aten::isinf", end);
    dp_tensor *way = chain_TT(c, "aten::sub.Tensor", seen, end);
    way = chain_Ts(c, "aten::mul.Scalar", way, dp_double((float)share));
    dp_tensor *moved = chain_TT(c, "aten::add.Tensor", end, way);

    moved = CHAIN(c, "aten::where.self", "TTT>T", none, seen, moved);
    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, "aten::copy_", "TT>", end, moved);
}

static void observe(chain *c, observer *o)
{
    dp_tensor *seen[2] = {NULL, NULL};
    const int64_t row = 1;
    DP_VIEW(x, o->self);

    if (o->rows && o->axis != 0)
        chain_fail(c, DP_ERUNTIME,
                   "Per-channel FakeQuant in fused_moving_avg_obs_fake_quant is only supported on "
                   "axis == 0");
    else if (x.dtype != DP_FLOAT32)
        chain_fail(c, DP_ERUNTIME, "expected scalar type Float but found %s",
                   dp_dtype_aten_name(x.dtype));
    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, "aten::aminmax", "Toib>TT", o->self, o->rows ? &row : NULL,
                          (int)false, &seen[0], &seen[1]);
    for (int i = 0; c->rc == 0 && i < 2; i++)
        seen[i] = chain_keep(c, seen[i]);
    o->writes |= c->rc == 0;
    for (int i = 0; i < 2; i++)
        move_end(c, o->ends[i], seen[i], o->share);
}

/* Write the first `n` scales and zero points of `o`, computed from both ends [n]. */
static void write_qparams(chain *c, observer *o, dp_tensor *const ends[2], int64_t n)
{
    dp_tensor *made[2] = {NULL, NULL}, *to[2] = {o->scale, o->zero};

    for (int i = 0; c->rc == 0 && i < 2; i++) {
        c->rc = dp_empty(c->ctx, i ? DP_INT32 : DP_FLOAT32, DP_DEVICE_CPU, 1, &n, DP_CONTIGUOUS,
                         &made[i]);
        if (c->rc == 0)
            chain_keep(c, made[i]);
    }
    if (c->rc < 0)
        return;
    DP_VIEW(low, ends[0]);
    DP_VIEW(high, ends[1]);
    DP_VIEW(scale, made[0]);
    DP_VIEW(zero, made[1]);
    for (int64_t i = 0; c->rc == 0 && i < n; i++) {
        qparams q = {0};
        c->rc = choose(c->ctx, ((const float *)low.data)[i], ((const float *)high.data)[i],
                       (int32_t)o->least, (int32_t)o->most, o->symmetric, &q);
        ((float *)scale.data)[i] = (float)q.scale;
        ((int32_t *)zero.data)[i] = q.zero;
    }
    o->writes |= c->rc == 0;
    for (int i = 0; i < 2; i++) {
        dp_tensor *part = CHAIN(c, "aten::narrow", "Tiii>T", to[i], (int64_t)0, (int64_t)0, n);
        if (c->rc == 0)
            c->rc = dp_invoke(c->ctx, "aten::copy_", "TT>", part, made[i]);
    }
}

/* Check, before anything is written, what fake_quantize() needs: the range of integers, both ends,
 * and the tensors that it writes. */
static void check_quantized(chain *c, const observer *o)
{
    DP_VIEW(first, o->ends[0]);
    DP_VIEW(second, o->ends[1]);
    DP_VIEW(scale, o->scale);
    DP_VIEW(zero, o->zero);
    int64_t n = first.numel;

    if (o->least < INT32_MIN || o->most > INT32_MAX || o->least > o->most)
        chain_fail(c, DP_ERUNTIME,
                   "`quant_min` should be less than or equal to `quant_max`, and both should fit "
                   "int32");
    else if (first.dtype != DP_FLOAT32 || second.dtype != DP_FLOAT32)
        chain_fail(c, DP_ERUNTIME, "expected running_min and running_max of scalar type Float");
    else if (first.numel != second.numel || (!o->rows && first.numel != 1))
        chain_fail(c, DP_ERUNTIME,
                   "expected running_min and running_max of %s, but got %" PRId64 " and %" PRId64
                   " elements",
                   o->rows ? "one size" : "one element", first.numel, second.numel);
    else if (scale.numel < n || zero.numel < n || (!o->rows && zero.numel != 1))
        chain_fail(c, DP_ERUNTIME,
                   "expected scale and zero_point of %" PRId64 " elements, but got %" PRId64
                   " and %" PRId64,
                   n, scale.numel, zero.numel);
    else if (dp_memoryless(c->ctx))
        chain_fail(c, DP_ENOTIMPL,
                   "expected running_min and running_max with elements, but they have no memory");
}

/* Set ends [2] to contiguous copies of both ends, *n elements each. */
static void read_ends(chain *c, const observer *o, dp_tensor *ends[2], int64_t *n)
{
    const int64_t packed = DP_CONTIGUOUS;
    DP_VIEW(first, o->ends[0]);

    *n = first.numel;
    for (int i = 0; i < 2; i++)
        ends[i] = CHAIN(c, "aten::clone", "Toi>T", o->ends[i], &packed);
}

static void fake_quantize(chain *c, observer *o, dp_tensor **out, dp_tensor **mask)
{
    dp_tensor *ends[2];
    int64_t n = 0;

    read_ends(c, o, ends, &n);
    if (c->rc == 0)
        write_qparams(c, o, ends, n);
    dp_tensor *on = CHAIN(c, "aten::ones_like", "T>T", o->scale);
    on = CHAIN(c, "aten::narrow", "Tiii>T", on, (int64_t)0, (int64_t)0, (int64_t)1);
    if (c->rc == 0)
        c->rc =
            o->rows
                ? dp_invoke(c->ctx, "aten::fake_quantize_per_channel_affine_cachemask", "TTTiii>TT",
                            o->self, o->scale, o->zero, o->axis, o->least, o->most, out, mask)
                : dp_invoke(
                      c->ctx, "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
                      "TTTTii>TT", o->self, o->scale, o->zero, on, o->least, o->most, out, mask);
}

static void leave(chain *c, const observer *o, dp_tensor **out, dp_tensor **mask)
{
    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, "aten::clone", "T>T", o->self, out);
    if (c->rc == 0)
        c->rc = dp_empty_like(c->ctx, o->self, DP_BOOL, DP_PRESERVE, mask);
    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, "aten::fill_.Scalar", "Ts>", *mask, dp_bool(true));
}

#define OBSERVER_PARAMS                                                                            \
    dp_tensor *self, dp_tensor *observer_on, dp_tensor *quant_on, dp_tensor *min, dp_tensor *max,  \
        dp_tensor *scale, dp_tensor *zero, double share, int64_t least, int64_t most,              \
        int64_t axis, bool rows, bool symmetric

/* aten::_fused_moving_avg_obs_fq_helper(Tensor self, Tensor observer_on, Tensor fake_quant_on,
 *     Tensor(a!) running_min, Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point,
 *     float averaging_const, int quant_min, int quant_max, int ch_axis, bool
 *     per_row_fake_quant=False, bool symmetric_quant=False) -> (Tensor output, Tensor mask) */
static int helper(dp_ctx *ctx, OBSERVER_PARAMS, dp_tensor **out, dp_tensor **mask)
{
    observer o = {self, {min, max}, scale, zero, share, least, most, axis, rows, symmetric, false};
    chain c = {.ctx = ctx};
    double look = 0, quantize = 0;

    *out = *mask = NULL;
    c.rc = float_of(ctx, observer_on, &look);
    if (c.rc == 0)
        c.rc = float_of(ctx, quant_on, &quantize);
    if (c.rc == 0 && as_int(dp_double(quantize)) != 0)
        check_quantized(&c, &o);
    if (c.rc == 0 && as_int(dp_double(look)) != 0)
        observe(&c, &o);
    if (c.rc == 0 && as_int(dp_double(quantize)) != 0)
        fake_quantize(&c, &o, out, mask);
    else if (c.rc == 0)
        leave(&c, &o, out, mask);
    if (c.rc < 0 && !o.writes)
        dp_refuse(ctx, c.rc, NULL);
    if (c.rc < 0) {
        *out = dp_tensor_unref(*out);
        *mask = dp_tensor_unref(*mask);
    }
    return chain_end(&c, NULL, NULL);
}

/* aten::fused_moving_avg_obs_fake_quant(Tensor self, Tensor observer_on, Tensor fake_quant_on,
 *     Tensor(a!) running_min, ...) -> Tensor */
static int fused(dp_ctx *ctx, OBSERVER_PARAMS, dp_tensor **out)
{
    dp_tensor *mask = NULL;
    int rc = dp_invoke(ctx, "aten::_fused_moving_avg_obs_fq_helper", "TTTTTTTfiiibb>TT", self,
                       observer_on, quant_on, min, max, scale, zero, share, least, most, axis,
                       (int)rows, (int)symmetric, out, &mask);

    dp_tensor_unref(mask);
    return rc;
}

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("_fused_moving_avg_obs_fq_helper", helper,
                                (T, T, T, T, T, T, T, f, i, i, i, b, b), (T, T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("_choose_qparams_per_tensor", choose_per_tensor, (T, b), (f, i)),
                DP_IMPL_UNBOXED("fused_moving_avg_obs_fake_quant", fused,
                                (T, T, T, T, T, T, T, f, i, i, i, b, b), (T)))
