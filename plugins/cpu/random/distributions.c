/* distributions.c -- poisson, binomial, _standard_gamma and _sample_dirichlet, which draw a number
 * per element of a tensor (aten/src/ATen/native/Distributions.cpp).
 *
 * The methods are PyTorch's: transformed rejection by Hoermann for Poisson and binomial numbers
 * ("The transformed rejection method for generating Poisson random variables", 1993; "The
 * generation of binomial random variates", 1993), and Marsaglia and Tsang's for gamma numbers
 * ("A simple method for generating gamma variables", 2000).  All are computed in float64; constants
 * that are float32 in PyTorch are float32 here. */
#include "draw.h"
#include "core/pack.h"
#include "core/dense.h"
#include "core/elements.h"
#include <float.h>

/* The generator that ctx has entered.  After a failure, `rc` is its code, and all draws return
 * 0.5. */
typedef struct stream {
    dp_ctx *ctx;
    int rc;
} stream;

static double draw_one(stream *s, int (*of)(dp_ctx *, dp_dtype, void *, size_t))
{
    double u = 0.5;

    if (s->rc == 0)
        s->rc = of(s->ctx, DP_FLOAT64, &u, 1);
    return s->rc == 0 ? u : 0.5;
}

static double uniform(stream *s)
{
    return draw_one(s, dp_generator_uniform);
}

static double normal(stream *s)
{
    return draw_one(s, dp_generator_normal);
}

/* -- poisson -- */

static double poisson_large(stream *s, double rate)
{
    double root = sqrt(rate), log_rate = log(rate), b = 0.931 + 2.53 * root;
    double a = -0.059 + 0.02483 * b, inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    double accepted = 0.9277 - 3.6224 / (b - 2);

    for (;;) {
        double u = uniform(s) - 0.5, v = uniform(s), us = 0.5 - fabs(u);
        double k = floor((2 * a / us + b) * u + rate + 0.43);
        if ((us >= 0.07 && v <= accepted) || s->rc < 0)
            return k;
        if (k < 0 || (us < 0.013 && v > us))
            continue;
        if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <=
            -rate + k * log_rate - lgamma(k + 1))
            return k;
    }
}

static double poisson_small(stream *s, double rate)
{
    double least = exp(-rate), product = 1, count = 0;

    for (;;) {
        product *= uniform(s);
        if (!(product > least) || s->rc < 0)
            return count;
        count++;
    }
}

static double one_poisson(stream *s, const double *x)
{
    enum { LARGE = 10 };

    if (!(*x >= 0) || isinf(*x)) {
        s->rc = dp_fail(s->ctx, DP_ERUNTIME,
                        "invalid Poisson rate, expected rate to be non-negative, but got %g", *x);
        return 0;
    }
    return *x >= LARGE ? poisson_large(s, *x) : *x == 0 ? 0 : poisson_small(s, *x);
}

/* -- binomial -- */

/* Return the difference between log(k!) and Stirling's formula. */
static double stirling_rest(double k)
{
    static const double few[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                                 0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                                 0.0118967099458917,  0.0104112652619720, 0.00925546218271273,
                                 0.00833056343336287};
    double square = (k + 1) * (k + 1);

    if (k < (double)(sizeof(few) / sizeof(few[0])))
        return few[(int)k];
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

static double binomial_large(stream *s, double count, double p)
{
    double deviation = sqrt(count * p * (1 - p)), b = 1.15 + 2.53 * deviation;
    double a = -0.0873 + 0.0248 * b + 0.01 * p, c = count * p + 0.5;
    double accepted = 0.92 - 4.2 / b, odds = p / (1 - p), alpha = (2.83 + 5.1 / b) * deviation;
    double m = floor((count + 1) * p);

    for (;;) {
        double u = uniform(s) - 0.5, v = uniform(s), us = 0.5 - fabs(u);
        double k = floor((2 * a / us + b) * u + c);
        if (s->rc < 0)
            return 0;
        if (k < 0 || k > count)
            continue;
        if (us >= 0.07 && v <= accepted)
            return k;
        v = log(v * alpha / (a / (us * us) + b));
        double most = (m + 0.5) * log((m + 1) / (odds * (count - m + 1))) +
                      (count + 1) * log((count - m + 1) / (count - k + 1)) +
                      (k + 0.5) * log(odds * (count - k + 1) / (k + 1)) + stirling_rest(m) +
                      stirling_rest(count - m) - stirling_rest(k) - stirling_rest(count - k);
        if (v <= most)
            return k;
    }
}

/* Draw a binomial number by drawing geometric gaps between successes. */
static double binomial_small(stream *s, double count, double p)
{
    double sum = 0, found = 0, log_fails = log1p(-p);

    for (;;) {
        sum += ceil(log(uniform(s)) / log_fails);
        if (!(sum <= count) || s->rc < 0)
            return found;
        found++;
    }
}

static double binomial_of(stream *s, double count, double p)
{
    enum { LARGE = 10 };
    return count * p >= LARGE ? binomial_large(s, count, p) : binomial_small(s, count, p);
}

/* Draw a binomial number; x[0] is the count, x[1] the probability. */
static double one_binomial(stream *s, const double *x)
{
    double count = x[0], p = x[1];

    if (count <= 0 || p <= 0)
        return 0;
    if (p >= 1)
        return count;
    if (isnan(p) || !isfinite(count))
        return NAN;
    return p <= 0.5 ? binomial_of(s, count, p) : count - binomial_of(s, count, 1 - p);
}

/* -- gamma -- */

static double gamma_scaled(stream *s, double scale, double d)
{
    double c = 1 / sqrt(9 * d);

    for (;;) {
        double z = normal(s), y = 1 + c * z;
        if (s->rc < 0 || !(d > 0))
            return NAN;
        if (y <= 0)
            continue;
        double v = y * y * y, u = 1 - uniform(s), square = z * z;
        if (u < 1 - (double)0.0331f * square * square ||
            log(u) < 0.5 * square + d * (1 - v + log(v)))
            return scale * d * v;
    }
}

/* Draw a gamma number.  With alpha below 1, a number for alpha + 1 is drawn and scaled down. */
static double one_gamma(stream *s, const double *x)
{
    double alpha = *x, third = (double)(1.0f / 3.0f);

    if (alpha == 0 || isnan(alpha))
        return alpha;
    return alpha < 1 ? gamma_scaled(s, pow(1 - uniform(s), 1 / alpha), alpha + 1 - third)
                     : gamma_scaled(s, 1, alpha - third);
}

/* Draw a gamma number, computing with alpha in float32 where PyTorch does. */
static double one_gamma_f32(stream *s, const double *x)
{
    float alpha = (float)*x, third = 1.0f / 3.0f;

    if (alpha == 0 || isnan(alpha))
        return (double)alpha;
    return alpha < 1 ? gamma_scaled(s, pow(1 - uniform(s), (double)(1 / alpha)),
                                    (double)(alpha + 1 - third))
                     : gamma_scaled(s, 1, (double)(alpha - third));
}

/* -- drawing all elements -- */

enum { INPUTS_MAX = 2 };

/* Draw out [n], one number for each element of the inputs. */
static int run_stream(dp_ctx *ctx, dp_generator *g, double (*one)(stream *, const double *),
                      dp_tensor *const *in, int n_in, double *out, int64_t n)
{
    const double *data[INPUTS_MAX];
    stream s = {ctx, dp_generator_enter(ctx, g, DP_DEVICE_CPU)};

    if (s.rc < 0)
        return s.rc;
    for (int i = 0; i < n_in; i++)
        data[i] = dense_data(in[i]);
    for (int64_t i = 0; s.rc == 0 && i < n; i++) {
        double x[INPUTS_MAX];
        for (int k = 0; k < n_in; k++)
            x[k] = data[k][i];
        out[i] = one(&s, x);
        if (s.rc == 0 && i % DRAW_BLOCK == 0)
            s.rc = dp_checkpoint(ctx);
    }
    dp_generator_leave(ctx);
    return s.rc;
}

/* Draw one number for each element of the broadcast inputs into *wide, a contiguous float64 tensor
 * that the pack owns. */
static void each_of(pack *p, dp_generator *g, double (*one)(stream *, const double *),
                    dp_tensor *const *in, int n_in, dp_tensor **wide)
{
    dp_tensor *packed[INPUTS_MAX];
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(x, in[0]);
    DP_VIEW(y, in[n_in - 1]);
    int ndim = x.ndim > y.ndim ? x.ndim : y.ndim;

    p->device = x.device;
    p->rc = dp_broadcast_shapes(p->ctx, x.ndim, x.sizes, y.ndim, y.sizes, sizes);
    double *made = pack_new(p, DP_FLOAT64, ndim, sizes, wide);
    for (int i = 0; i < n_in; i++) {
        pack_new(p, DP_FLOAT64, ndim, sizes, &packed[i]);
        if (p->rc == 0)
            p->rc = dp_copy(p->ctx, packed[i], in[i]);
    }
    if (p->rc < 0 || dp_memoryless(p->ctx))
        return;
    DP_VIEW(w, *wide);
    p->rc = run_stream(p->ctx, g, one, packed, n_in, made, w.numel);
}

/* aten::poisson(Tensor self, Generator? generator=None) -> Tensor */
static int poisson(dp_ctx *ctx, dp_tensor *self, dp_generator *g, dp_tensor **out)
{
    pack p = {.ctx = ctx};
    dp_tensor *wide;
    DP_VIEW(x, self);
    int rc = dense_check_type(ctx, "poisson_cpu", x.dtype, DENSE_FLOATS);

    *out = NULL;
    if (rc < 0)
        return rc;
    each_of(&p, g, one_poisson, &self, 1, &wide);
    pack_give(&p, wide, x.dtype, out);
    return pack_end(&p);
}

#define TWO_FLOATS DP_DTYPE_BITS(DP_DTYPES_FLOATING)

/* aten::binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor */
static int binomial(dp_ctx *ctx, dp_tensor *count, dp_tensor *prob, dp_generator *g,
                    dp_tensor **out)
{
    pack p = {.ctx = ctx};
    dp_tensor *wide, *in[] = {count, prob};
    DP_VIEW(x, count);
    DP_VIEW(y, prob);
    int rc = dense_check_type(ctx, "binomial_cpu", x.dtype, TWO_FLOATS);

    if (rc == 0 && x.dtype != y.dtype)
        rc = dp_fail(ctx, DP_ERUNTIME, "Found dtype %s but expected %s", dense_type_name(y.dtype),
                     dense_type_name(x.dtype));
    *out = NULL;
    if (rc < 0)
        return rc;
    each_of(&p, g, one_binomial, in, 2, &wide);
    pack_give(&p, wide, x.dtype, out);
    return pack_end(&p);
}

/* Clamp the elements to at least the least normal number of dtype and at most `most`. */
static void keep_inside(dp_tensor *t, dp_dtype dtype, double most)
{
    double least = dtype == DP_FLOAT32 ? FLT_MIN : DBL_MIN;
    DP_VIEW(x, t);
    double *data = x.data;

    for (int64_t i = 0; i < x.numel; i++) {
        data[i] = data[i] < least ? least : data[i];
        data[i] = data[i] > most ? most : data[i];
    }
}

/* aten::_standard_gamma(Tensor self, Generator? generator=None) -> Tensor */
static int standard_gamma(dp_ctx *ctx, dp_tensor *self, dp_generator *g, dp_tensor **out)
{
    pack p = {.ctx = ctx};
    dp_tensor *wide;
    DP_VIEW(x, self);
    int rc = dense_check_type(ctx, "gamma_cpu", x.dtype, TWO_FLOATS);

    *out = NULL;
    if (rc < 0)
        return rc;
    each_of(&p, g, x.dtype == DP_FLOAT32 ? one_gamma_f32 : one_gamma, &self, 1, &wide);
    if (p.rc == 0 && !dp_memoryless(ctx))
        keep_inside(wide, x.dtype, INFINITY);
    pack_give(&p, wide, x.dtype, out);
    return pack_end(&p);
}

/* Divide each row (the last dimension) by its sum. */
static void divide_rows(dp_tensor *t)
{
    DP_VIEW(x, t);
    int64_t n = x.ndim > 0 ? x.sizes[x.ndim - 1] : 1;
    double *row = x.data;

    for (int64_t i = 0; i < x.numel; i += n, row += n) {
        double sum = 0;
        for (int64_t k = 0; k < n; k++)
            sum += row[k];
        for (int64_t k = 0; k < n; k++)
            row[k] /= sum;
    }
}

/* aten::_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor */
static int sample_dirichlet(dp_ctx *ctx, dp_tensor *self, dp_generator *g, dp_tensor **out)
{
    pack p = {.ctx = ctx};
    dp_tensor *wide;
    DP_VIEW(x, self);
    int rc = dense_check_type(ctx, "dirichlet", x.dtype, TWO_FLOATS);
    double below_one = x.dtype == DP_FLOAT32 ? 0x1.fffffep-1 : 0x1.fffffffffffffp-1;

    *out = NULL;
    if (rc < 0)
        return rc;
    each_of(&p, g, one_gamma, &self, 1, &wide);
    if (p.rc == 0 && !dp_memoryless(ctx)) {
        keep_inside(wide, DP_FLOAT64, INFINITY);
        divide_rows(wide);
        keep_inside(wide, x.dtype, below_one);
    }
    pack_give(&p, wide, x.dtype, out);
    return pack_end(&p);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("poisson", poisson, (T, og), (T)),
                DP_IMPL_UNBOXED("binomial", binomial, (T, T, og), (T)),
                DP_IMPL_UNBOXED("_standard_gamma", standard_gamma, (T, og), (T)),
                DP_IMPL_UNBOXED("_sample_dirichlet", sample_dirichlet, (T, og), (T)))
