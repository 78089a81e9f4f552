/* rrelu_with_noise.c -- the activation rrelu_with_noise (aten/src/ATen/native/Activation.cpp). */
#include "draw.h"
#include "core/pack.h"
#include "core/dense.h"
#include "core/elements.h"

typedef struct slopes {
    dp_tensor *self, *noise;
    double lower, upper;
    dp_generator *g;
} slopes;

static int check_rrelu(dp_ctx *ctx, const slopes *s)
{
    char want[DP_SHAPE_TEXT], got[DP_SHAPE_TEXT];
    DP_VIEW(x, s->self);
    DP_VIEW(n, s->noise);
    int rc = dense_check_type(ctx, "rrelu_with_noise_out_cpu", x.dtype, DENSE_FLOATS);

    if (rc == 0)
        rc = dense_check_same(ctx, x.dtype, n.dtype);
    if (rc == 0 && n.numel != x.numel)
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "expected noise of as many elements as self of shape %s but got %s",
                     dp_shape_text(want, x.sizes, (size_t)x.ndim),
                     dp_shape_text(got, n.sizes, (size_t)n.ndim));
    return rc;
}

/* Multiply each x [n] that is not positive by a random slope; noise [n] is set to the slope, or
 * 1. */
static int draw_slopes(dp_ctx *ctx, const slopes *s, dp_dtype dtype, double *x, double *noise,
                       int64_t n)
{
    double lower = draw_rounded(s->lower, dtype), upper = draw_rounded(s->upper, dtype), u;
    int rc = dp_generator_enter(ctx, s->g, DP_DEVICE_CPU);

    if (rc < 0)
        return rc;
    for (int64_t i = 0; rc == 0 && i < n; i++) {
        noise[i] = 1;
        if (!(x[i] <= 0))
            continue;
        rc = draw_uniform64(ctx, NULL, &u, 1);
        noise[i] = draw_rounded(u * (upper - lower) + lower, dtype);
        x[i] *= noise[i];
    }
    dp_generator_leave(ctx);
    return rc;
}

/* Compute the result into `out`, which has the shape of self. */
static int train_rrelu(dp_ctx *ctx, const slopes *s, dp_tensor *out)
{
    dp_tensor *noise = NULL, *x = NULL;
    DP_VIEW(v, s->self);
    int rc = dp_empty(ctx, DP_FLOAT64, v.device, v.ndim, v.sizes, DP_CONTIGUOUS, &x);

    if (rc == 0)
        rc = dp_copy(ctx, x, s->self);
    DP_VIEW(n, s->noise);
    if (rc == 0)
        rc = dp_empty(ctx, DP_FLOAT64, v.device, n.ndim, n.sizes, DP_CONTIGUOUS, &noise);
    if (rc == 0 && !dp_memoryless(ctx))
        rc = draw_slopes(ctx, s, v.dtype, dense_data(x), dense_data(noise), v.numel);
    if (rc == 0)
        rc = dp_copy(ctx, s->noise, noise);
    if (rc == 0)
        rc = dp_copy(ctx, out, x);
    dp_tensor_unref(x);
    dp_tensor_unref(noise);
    return rc;
}

static int run_rrelu(dp_ctx *ctx, const slopes *s, bool training, dp_tensor **out)
{
    dp_tensor *given = *out;
    DP_VIEW(x, s->self);
    int rc = check_rrelu(ctx, s);

    if (rc == 0)
        rc = dp_set_output(ctx, out, x.ndim, x.sizes, NULL, x.dtype, x.device);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    if (training)
        rc = train_rrelu(ctx, s, *out);
    else
        rc = dp_invoke(ctx, "aten::leaky_relu.out", "TsT>", s->self,
                       dp_double((s->lower + s->upper) / 2), *out);
    if (rc < 0 && given == NULL)
        *out = dp_tensor_unref(*out);
    return rc;
}

static int slopes_of(dp_ctx *ctx, dp_tensor *self, dp_tensor *noise, dp_value lower, dp_value upper,
                     dp_generator *g, slopes *s)
{
    if (lower.tag == DP_TAG_COMPLEX || upper.tag == DP_TAG_COMPLEX)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "rrelu: expected real lower and upper but got a complex number");
    *s = (slopes){self, noise, as_double(lower), as_double(upper), g};
    return 0;
}

/* aten::rrelu_with_noise(Tensor self, Tensor noise, Scalar lower=0.125, Scalar
 *     upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor */
static int rrelu(dp_ctx *ctx, dp_tensor *self, dp_tensor *noise, dp_value lower, dp_value upper,
                 bool training, dp_generator *g, dp_tensor **out)
{
    slopes s;
    int rc = slopes_of(ctx, self, noise, lower, upper, g, &s);

    *out = NULL;
    return rc < 0 ? rc : run_rrelu(ctx, &s, training, out);
}

/* aten::rrelu_with_noise.out(Tensor self, Tensor noise, Scalar lower=0.125, Scalar
 *     upper=0.33333333333333331, bool training=False, Generator? generator=None, *, Tensor(a!) out)
 *     -> Tensor(a!) */
static int rrelu_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *noise, dp_value lower, dp_value upper,
                     bool training, dp_generator *g, dp_tensor *out)
{
    slopes s;
    int rc = slopes_of(ctx, self, noise, lower, upper, g, &s);

    return rc < 0 ? rc : run_rrelu(ctx, &s, training, &out);
}

/* aten::rrelu_with_noise_(Tensor(a!) self, Tensor noise, Scalar lower=0.125, Scalar
 *     upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor(a!) */
static int rrelu_in_place(dp_ctx *ctx, dp_tensor *self, dp_tensor *noise, dp_value lower,
                          dp_value upper, bool training, dp_generator *g)
{
    return rrelu_out(ctx, self, noise, lower, upper, training, g, self);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("rrelu_with_noise", rrelu, (T, T, s, s, b, og), (T)),
                DP_IMPL_UNBOXED("rrelu_with_noise.out", rrelu_out, (T, T, s, s, b, og, T), ()),
                DP_IMPL_UNBOXED("rrelu_with_noise_", rrelu_in_place, (T, T, s, s, b, og), ()))
