/* draw_layers.c -- what layers draw: native_dropout, rrelu_with_noise; and normal numbers whose mean and deviation
 * are tensors (aten/src/ATen/native/{Dropout,Activation,DistributionTemplates}). */
#include "draw.h"
#include "pack.h"
#include "dense.h"
#include "elements.h"

/* -- dropout -- */

/* *out: input * mask * scale */
static int masked(dp_ctx *ctx, dp_tensor *input, dp_tensor *mask, double scale, dp_tensor **out)
{
    int rc = dp_invoke(ctx, "aten::mul.Tensor", "TT>T", input, mask, out);

    if (rc == 0 && (rc = dp_invoke(ctx, "aten::mul_.Scalar", "Ts>", *out, dp_double(scale))) < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)
 * The result, and a mask of bool that says what was kept. */
static int native_dropout(dp_ctx *ctx, dp_tensor *input, double p, const bool *train,
                          dp_tensor **out, dp_tensor **mask)
{
    bool drops = train == NULL || *train;
    DP_VIEW(x, input);
    int rc = dp_empty_like(ctx, input, x.numel > 0 ? DP_BOOL : x.dtype, DP_PRESERVE, mask);

    if (rc < 0)
        return rc;
    if (x.numel == 0)
        *out = dp_tensor_ref(input);
    else if (drops)
        rc = dp_invoke(ctx, "aten::bernoulli_.float", "Tfog>", *mask, 1 - p, (dp_generator *)NULL);
    else
        rc = dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", *mask, dp_int(1));
    if (rc == 0 && x.numel > 0)
        rc = drops ? masked(ctx, input, *mask, p == 1 ? 0 : 1 / (1 - p), out)
                   : dp_invoke(ctx, "aten::clone", "Toi>T", input, (const int64_t *)NULL, out);
    if (rc < 0)
        *mask = dp_tensor_unref(*mask);
    return rc;
}

/* aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor */
static int native_dropout_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *mask, double scale,
                                   dp_tensor **out)
{
    dp_tensor *kept;
    int rc = dp_invoke(ctx, "aten::mul.Tensor", "TT>T", grad, mask, &kept);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::mul.Scalar", "Ts>T", kept, dp_double(scale), out);
    dp_tensor_unref(kept);
    return rc;
}

/* -- rrelu -- */

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
        rc = dp_fail(ctx, DP_ERUNTIME, "noise of shape %s for an input of shape %s",
                     dp_shape_text(got, n.sizes, (size_t)n.ndim),
                     dp_shape_text(want, x.sizes, (size_t)x.ndim));
    return rc;
}

/* x [n] times a slope that is drawn where it is not positive; noise [n]: the slope, or 1. */
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

/* The result into out, which has self's shape. */
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
        return dp_refuse(ctx, DP_ERUNTIME, "bounds of rrelu are no complex numbers");
    *s = (slopes){self, noise, as_double(lower), as_double(upper), g};
    return 0;
}

/* aten::rrelu_with_noise(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.33333333333333331,
 *     bool training=False, Generator? generator=None) -> Tensor */
static int rrelu(dp_ctx *ctx, dp_tensor *self, dp_tensor *noise, dp_value lower, dp_value upper,
                 bool training, dp_generator *g, dp_tensor **out)
{
    slopes s;
    int rc = slopes_of(ctx, self, noise, lower, upper, g, &s);

    *out = NULL;
    return rc < 0 ? rc : run_rrelu(ctx, &s, training, out);
}

/* aten::rrelu_with_noise.out(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.33333333333333331,
 *     bool training=False, Generator? generator=None, *, Tensor(a!) out) -> Tensor(a!) */
static int rrelu_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *noise, dp_value lower, dp_value upper,
                     bool training, dp_generator *g, dp_tensor *out)
{
    slopes s;
    int rc = slopes_of(ctx, self, noise, lower, upper, g, &s);

    return rc < 0 ? rc : run_rrelu(ctx, &s, training, &out);
}

/* aten::rrelu_with_noise_(Tensor(a!) self, Tensor noise, Scalar lower=0.125, Scalar upper=0.33333333333333331,
 *     bool training=False, Generator? generator=None) -> Tensor(a!) */
static int rrelu_in_place(dp_ctx *ctx, dp_tensor *self, dp_tensor *noise, dp_value lower,
                          dp_value upper, bool training, dp_generator *g)
{
    return rrelu_out(ctx, self, noise, lower, upper, training, g, self);
}

/* -- normal numbers of tensors -- */

/* mean and std: numbers where the tensors are NULL */
typedef struct bell {
    dp_tensor *mean, *std;
    double mean_number, std_number;
    dp_generator *g;
} bell;

static int check_deviation(dp_ctx *ctx, const bell *b)
{
    pack p = {.ctx = ctx};
    double least = b->std_number;

    if (b->std != NULL) {
        DP_VIEW(s, b->std);
        if (dp_dtype_is_complex(s.dtype))
            return dp_fail(ctx, DP_ERUNTIME, "normal expects standard deviation to be non-complex");
        if (dp_memoryless(ctx) || s.numel == 0)
            return 0;
        const double *x = pack_get(&p, b->std, DP_FLOAT64);
        least = 0;
        for (int64_t i = 0; x != NULL && i < s.numel; i++)
            least = x[i] >= least ? least : x[i];
        int rc = pack_end(&p);
        if (rc < 0)
            return rc;
    }
    if (least >= 0)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   b->std ? "normal expects all elements of std >= 0.0, but found %g"
                          : "normal expects std >= 0.0, but found std %g",
                   least);
}

/* *out NULL: made */
static int run_bell(dp_ctx *ctx, const bell *b, dp_tensor **out)
{
    dp_tensor *first = b->mean ? b->mean : b->std, *given = *out;
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(x, first);
    DP_VIEW(y, b->std ? b->std : given ? given : first);
    int rc = check_deviation(ctx, b), ndim = x.ndim > y.ndim ? x.ndim : y.ndim;

    if (rc == 0)
        rc = dp_broadcast_shapes(ctx, x.ndim, x.sizes, y.ndim, y.sizes, sizes);
    if (rc == 0)
        rc = dp_set_output(ctx, out, ndim, sizes, NULL, given ? DP_DTYPE_NONE : x.dtype, x.device);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    rc = draw_normal(ctx, *out, b->g, 0, b->std ? 1 : b->std_number);
    if (rc == 0 && b->std)
        rc = dp_invoke(ctx, "aten::mul_.Tensor", "TT>", *out, b->std);
    if (rc == 0 && b->mean)
        rc = dp_invoke(ctx, "aten::add_.Tensor", "TTs>", *out, b->mean, dp_int(1));
    else if (rc == 0)
        rc =
            dp_invoke(ctx, "aten::add_.Scalar", "Tss>", *out, dp_double(b->mean_number), dp_int(1));
    if (rc < 0 && given == NULL)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::normal.<overload>(mean, std, *, Generator? generator=None) -> Tensor, and its out= */
#define NORMAL(overload, mean_type, std_type, letters_mean, letters_std, ...)                      \
    static int normal_##overload(dp_ctx *ctx, mean_type m, std_type s, dp_generator *g,            \
                                 dp_tensor **out)                                                  \
    {                                                                                              \
        *out = NULL;                                                                               \
        return run_bell(ctx, &(bell){.g = g, __VA_ARGS__}, out);                                   \
    }                                                                                              \
    static int normal_##overload##_out(dp_ctx *ctx, mean_type m, std_type s, dp_generator *g,      \
                                       dp_tensor *out)                                             \
    {                                                                                              \
        return run_bell(ctx, &(bell){.g = g, __VA_ARGS__}, &out);                                  \
    }                                                                                              \
    DP_LIBRARY_META(aten, CPU,                                                                     \
                    DP_IMPL_UNBOXED("normal." #overload, normal_##overload,                        \
                                    (letters_mean, letters_std, og), (T)),                         \
                    DP_IMPL_UNBOXED("normal." #overload "_out", normal_##overload##_out,           \
                                    (letters_mean, letters_std, og, T), ()))
NORMAL(Tensor_float, dp_tensor *, double, T, f, .mean = m, .std_number = s)
NORMAL(float_Tensor, double, dp_tensor *, f, T, .mean_number = m, .std = s)
NORMAL(Tensor_Tensor, dp_tensor *, dp_tensor *, T, T, .mean = m, .std = s)

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("native_dropout", native_dropout, (T, f, ob), (T, T)),
                DP_IMPL_UNBOXED("native_dropout_backward", native_dropout_backward, (T, T, f), (T)),
                DP_IMPL_UNBOXED("rrelu_with_noise", rrelu, (T, T, s, s, b, og), (T)),
                DP_IMPL_UNBOXED("rrelu_with_noise.out", rrelu_out, (T, T, s, s, b, og, T), ()),
                DP_IMPL_UNBOXED("rrelu_with_noise_", rrelu_in_place, (T, T, s, s, b, og), ()))
