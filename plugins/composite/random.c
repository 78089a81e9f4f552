/* random.c -- random tensors by way of the backend's operators in place: rand, randn, randint, randperm and
 * their like, bernoulli, normal, dropout. */
#include "composite.h"
#include <string.h>

#define OPTIONS_PARAMS                                                                             \
    const int64_t *dtype, const int64_t *layout, const int64_t *device, const bool *pin
#define OPTIONS ((options){dtype, layout, device, pin})

/* -- what a new tensor is filled with -- */

typedef enum { UNIFORM, NORMAL, WHOLE } kind;
typedef struct source {
    kind kind;
    int64_t low, high; /* of WHOLE */
    dp_generator *g;
} source;

static int fill(dp_ctx *ctx, dp_tensor *t, const source *s)
{
    if (s->kind == WHOLE)
        return dp_invoke(ctx, "aten::random_.from", "Tioiog>", t, s->low, &s->high, s->g);
    return dp_invoke(ctx, s->kind == UNIFORM ? "aten::uniform_" : "aten::normal_", "Tffog>", t, 0.0,
                     1.0, s->g);
}

/* Fill the new tensor *t, unless rc says that making it failed.  On failure *t is released. */
static int filled(dp_ctx *ctx, int rc, dp_tensor **t, const source *s)
{
    if (rc < 0)
        return rc;
    rc = fill(ctx, *t, s);
    if (rc < 0)
        *t = dp_tensor_unref(*t);
    return rc;
}

static int empty(dp_ctx *ctx, const int64_t *sizes, size_t n, const options *o, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::empty.memory_format", "lioioioioboi>T", sizes, n, o->dtype,
                     o->layout, o->device, o->pin, (const int64_t *)NULL, out);
}

static int filled_out(dp_ctx *ctx, const int64_t *sizes, size_t n, dp_tensor *out, const source *s)
{
    int rc = check_ndim(ctx, n);

    if (rc == 0)
        rc = dp_resize(ctx, out, (int)n, sizes, DP_PRESERVE);
    return rc < 0 ? rc : fill(ctx, out, s);
}

/* aten::<name>(<arguments>, int[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None,
 *     Device? device=None, bool? pin_memory=None) -> Tensor, the same without a generator, and their
 * out=; `...`: the source.  PARAMS: a comma and the arguments. */
#define FACTORY(id, ...)                                                                           \
    static int id(dp_ctx *ctx PARAMS, const int64_t *sizes, size_t n, OPTIONS_PARAMS,              \
                  dp_tensor **out)                                                                 \
    {                                                                                              \
        return filled(ctx, empty(ctx, sizes, n, &OPTIONS, out), out, &(source){__VA_ARGS__});      \
    }                                                                                              \
    static int id##_generator(dp_ctx *ctx PARAMS, const int64_t *sizes, size_t n, dp_generator *g, \
                              OPTIONS_PARAMS, dp_tensor **out)                                     \
    {                                                                                              \
        return filled(ctx, empty(ctx, sizes, n, &OPTIONS, out), out,                               \
                      &(source){__VA_ARGS__, .g = g});                                             \
    }                                                                                              \
    static int id##_out(dp_ctx *ctx PARAMS, const int64_t *sizes, size_t n, dp_tensor *out)        \
    {                                                                                              \
        return filled_out(ctx, sizes, n, out, &(source){__VA_ARGS__});                             \
    }                                                                                              \
    static int id##_generator_out(dp_ctx *ctx PARAMS, const int64_t *sizes, size_t n,              \
                                  dp_generator *g, dp_tensor *out)                                 \
    {                                                                                              \
        return filled_out(ctx, sizes, n, out, &(source){__VA_ARGS__, .g = g});                     \
    }

#define PARAMS
FACTORY(rand_, .kind = UNIFORM)
FACTORY(randn, .kind = NORMAL)
#undef PARAMS
#define PARAMS , int64_t high
FACTORY(randint, .kind = WHOLE, .high = high)
#undef PARAMS
#define PARAMS , int64_t low, int64_t high
FACTORY(randint_low, .kind = WHOLE, .low = low, .high = high)
#undef PARAMS

/* aten::rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
 *     bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor */
static int rand_like(dp_ctx *ctx, dp_tensor *self, OPTIONS_PARAMS, const int64_t *format,
                     dp_tensor **out)
{
    return filled(ctx, like(ctx, self, &OPTIONS, format, out), out, &(source){.kind = UNIFORM});
}

/* aten::randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
 *     bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor */
static int randn_like(dp_ctx *ctx, dp_tensor *self, OPTIONS_PARAMS, const int64_t *format,
                      dp_tensor **out)
{
    return filled(ctx, like(ctx, self, &OPTIONS, format, out), out, &(source){.kind = NORMAL});
}

/* aten::randint_like.low_dtype(Tensor self, int low, int high, *, ScalarType? dtype=None,
 *     Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None)
 *     -> Tensor */
static int randint_like_low(dp_ctx *ctx, dp_tensor *self, int64_t low, int64_t high, OPTIONS_PARAMS,
                            const int64_t *format, dp_tensor **out)
{
    return filled(ctx, like(ctx, self, &OPTIONS, format, out), out,
                  &(source){.kind = WHOLE, .low = low, .high = high});
}

/* aten::randint_like(Tensor self, int high, *, ScalarType? dtype=None, Layout? layout=None,
 *     Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor */
static int randint_like(dp_ctx *ctx, dp_tensor *self, int64_t high, OPTIONS_PARAMS,
                        const int64_t *format, dp_tensor **out)
{
    return randint_like_low(ctx, self, 0, high, dtype, layout, device, pin, format, out);
}

/* -- randperm -- */

/* aten::randperm.generator(int n, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None,
 *     Device? device=None, bool? pin_memory=None) -> Tensor */
static int randperm_generator(dp_ctx *ctx, int64_t n, dp_generator *g, OPTIONS_PARAMS,
                              dp_tensor **out)
{
    int rc = empty(ctx, &n, 1, &OPTIONS, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::randperm.generator_out", "iogT>", n, g, *out);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::randperm(int n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None,
 *     bool? pin_memory=None) -> Tensor */
static int randperm(dp_ctx *ctx, int64_t n, OPTIONS_PARAMS, dp_tensor **out)
{
    return randperm_generator(ctx, n, NULL, dtype, layout, device, pin, out);
}

/* aten::randperm.out(int n, *, Tensor(a!) out) -> Tensor(a!) */
static int randperm_out(dp_ctx *ctx, int64_t n, dp_tensor *out)
{
    return dp_invoke(ctx, "aten::randperm.generator_out", "iogT>", n, (dp_generator *)NULL, out);
}

/* -- bernoulli, normal -- */

/* aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor */
static int bernoulli(dp_ctx *ctx, dp_tensor *self, dp_generator *g, dp_tensor **out)
{
    int rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_CONTIGUOUS, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::bernoulli_.Tensor", "TTog>", *out, self, g);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor */
static int bernoulli_p(dp_ctx *ctx, dp_tensor *self, double p, dp_generator *g, dp_tensor **out)
{
    int rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_CONTIGUOUS, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::bernoulli_.float", "Tfog>", *out, p, g);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor */
static int normal_functional(dp_ctx *ctx, dp_tensor *self, double mean, double std, dp_generator *g,
                             dp_tensor **out)
{
    int rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_PRESERVE, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::normal_", "Tffog>", *out, mean, std, g);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::normal.float_float(float mean, float std, int[] size, *, Generator? generator=None,
 *     ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor */
static int normal_sized(dp_ctx *ctx, double mean, double std, const int64_t *sizes, size_t n,
                        dp_generator *g, OPTIONS_PARAMS, dp_tensor **out)
{
    int rc = empty(ctx, sizes, n, &OPTIONS, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::normal_", "Tffog>", *out, mean, std, g);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::normal.float_float_out(float mean, float std, int[] size, *, Generator? generator=None,
 *     Tensor(a!) out) -> Tensor(a!) */
static int normal_sized_out(dp_ctx *ctx, double mean, double std, const int64_t *sizes, size_t n,
                            dp_generator *g, dp_tensor *out)
{
    int rc = check_ndim(ctx, n);

    if (rc == 0)
        rc = dp_resize(ctx, out, (int)n, sizes, DP_PRESERVE);
    return rc < 0 ? rc : dp_invoke(ctx, "aten::normal_", "Tffog>", out, mean, std, g);
}

/* -- dropout -- */

/* feature: whole channels are dropped; alpha: mean and deviation of the whole are kept */
enum { PLAIN = 0, FEATURE = 1, ALPHA = 2 };

/* self * factor, in place if out is NULL */
static int multiply(dp_ctx *ctx, dp_tensor *self, dp_tensor *factor, dp_tensor **out)
{
    return out ? dp_invoke(ctx, "aten::mul.Tensor", "TT>T", self, factor, out)
               : dp_invoke(ctx, "aten::mul_.Tensor", "TT>", self, factor);
}

/* 1 with probability 1 - p, else 0 */
static int make_noise(dp_ctx *ctx, dp_tensor *input, double p, int how, dp_tensor **noise)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(x, input);
    int rc;

    if ((how & FEATURE) && x.ndim < 2)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Feature dropout requires at least 2 dimensions in the input");
    for (int d = 0; d < x.ndim; d++)
        sizes[d] = d < 2 ? x.sizes[d] : 1;
    if (how & FEATURE)
        rc = dp_empty(ctx, x.dtype, x.device, x.ndim, sizes, DP_CONTIGUOUS, noise);
    else
        rc = dp_empty_like(ctx, input, DP_DTYPE_NONE, DP_PRESERVE, noise);
    return rc < 0 ? rc
                  : dp_invoke(ctx, "aten::bernoulli_.float", "Tfog>", *noise, 1 - p,
                              (dp_generator *)NULL);
}

/* *shift: what is to be added to the product with noise, which is scaled. */
static int make_shift(dp_ctx *ctx, dp_tensor *noise, double p, dp_tensor **shift)
{
    const double alpha = 1.7580993408473766; /* of SELU, times its scale */
    double a = 1 / sqrt((alpha * alpha * p + 1) * (1 - p));
    int rc = dp_invoke(ctx, "aten::add.Scalar", "Tss>T", noise, dp_int(-1), dp_int(1), shift);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::mul_.Scalar", "Ts>", *shift, dp_double(alpha * a));
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::add_.Scalar", "Tss>", *shift, dp_double(alpha * a * p),
                       dp_int(1));
    return rc < 0 ? rc : dp_invoke(ctx, "aten::mul_.Scalar", "Ts>", noise, dp_double(a));
}

static int drop(dp_ctx *ctx, dp_tensor *input, double p, int how, temps *made, dp_tensor **out)
{
    dp_tensor **noise = temps_next(made), **shift = temps_next(made);
    DP_VIEW(x, input);
    int rc;

    if (p == 1) {
        rc = dp_empty(ctx, x.dtype, x.device, 0, NULL, DP_CONTIGUOUS, noise);
        if (rc == 0)
            rc = dp_invoke(ctx, "aten::zero_", "T>", *noise);
        return rc < 0 ? rc : multiply(ctx, input, *noise, out);
    }
    rc = make_noise(ctx, input, p, how, noise);
    if (rc == 0 && (how & ALPHA))
        rc = make_shift(ctx, *noise, p, shift);
    else if (rc == 0)
        rc = dp_invoke(ctx, "aten::div_.Scalar", "Ts>", *noise, dp_double(1 - p));
    if (rc == 0)
        rc = multiply(ctx, input, *noise, out);
    if (rc == 0 && (how & ALPHA))
        rc = dp_invoke(ctx, "aten::add_.Tensor", "TTs>", out ? *out : input, *shift, dp_int(1));
    return rc;
}

/* out NULL: in place.  Source: at::native::_dropout_impl */
static int run_dropout(dp_ctx *ctx, dp_tensor *input, double p, bool train, int how,
                       dp_tensor **out)
{
    temps made = {.n = 0};
    DP_VIEW(x, input);

    if (!(p >= 0 && p <= 1))
        return dp_fail(ctx, DP_ERUNTIME,
                       "dropout probability has to be between 0 and 1, but got %g", p);
    if (p == 0 || !train || x.numel == 0) {
        if (out)
            *out = dp_tensor_ref(input);
        return 0;
    }
    if (out)
        *out = NULL;
    int rc = drop(ctx, input, p, how, &made, out);
    if (rc < 0 && out)
        *out = dp_tensor_unref(*out);
    temps_fini(&made);
    return rc;
}

/* aten::<name>(Tensor input, float p, bool train) -> Tensor,
 * aten::<name>_(Tensor(a!) self, float p, bool train) -> Tensor(a!) */
#define DROPOUT(id, how)                                                                           \
    static int id(dp_ctx *ctx, dp_tensor *input, double p, bool train, dp_tensor **out)            \
    {                                                                                              \
        return run_dropout(ctx, input, p, train, how, out);                                        \
    }                                                                                              \
    static int id##_in_place(dp_ctx *ctx, dp_tensor *self, double p, bool train)                   \
    {                                                                                              \
        return run_dropout(ctx, self, p, train, how, NULL);                                        \
    }                                                                                              \
    DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED(#id, id, (T, f, b), (T)),     \
                    DP_IMPL_UNBOXED(#id "_", id##_in_place, (T, f, b), ()))
DROPOUT(dropout, PLAIN)
DROPOUT(feature_dropout, FEATURE)
DROPOUT(alpha_dropout, ALPHA)
DROPOUT(feature_alpha_dropout, FEATURE | ALPHA)

/* -- rrelu -- */

/* NULL out: in place */
static int run_rrelu(dp_ctx *ctx, dp_tensor *self, dp_value lower, dp_value upper, bool training,
                     dp_generator *g, dp_tensor **out)
{
    dp_tensor *noise;

    if (lower.tag == DP_TAG_COMPLEX || upper.tag == DP_TAG_COMPLEX ||
        !(as_double(lower) <= as_double(upper)))
        return dp_fail(ctx, DP_ERUNTIME,
                       "Lower bound should be less than or equal to the upper bound");
    int rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_CONTIGUOUS, &noise);
    if (rc < 0)
        return rc;
    if (out)
        rc = dp_invoke(ctx, "aten::rrelu_with_noise", "TTssbog>T", self, noise, lower, upper,
                       (int)training, g, out);
    else
        rc = dp_invoke(ctx, "aten::rrelu_with_noise_", "TTssbog>", self, noise, lower, upper,
                       (int)training, g);
    dp_tensor_unref(noise);
    return rc;
}

/* aten::rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False,
 *     Generator? generator=None) -> Tensor */
static int rrelu(dp_ctx *ctx, dp_tensor *self, dp_value lower, dp_value upper, bool training,
                 dp_generator *g, dp_tensor **out)
{
    return run_rrelu(ctx, self, lower, upper, training, g, out);
}

/* aten::rrelu_(Tensor(a!) self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False,
 *     Generator? generator=None) -> Tensor(a!) */
static int rrelu_in_place(dp_ctx *ctx, dp_tensor *self, dp_value lower, dp_value upper,
                          bool training, dp_generator *g)
{
    return run_rrelu(ctx, self, lower, upper, training, g, NULL);
}

/* aten::rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper,
 *     bool training, bool self_is_result) -> Tensor */
static int rrelu_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *noise,
                          dp_value lower, dp_value upper, bool training, bool is_result,
                          dp_tensor **out)
{
    if (lower.tag == DP_TAG_COMPLEX || upper.tag == DP_TAG_COMPLEX)
        return dp_fail(ctx, DP_ERUNTIME, "bounds of rrelu are no complex numbers");
    if (training)
        return multiply(ctx, grad, noise, out);
    return dp_invoke(ctx, "aten::leaky_relu_backward", "TTsb>T", grad, self,
                     dp_double((as_double(lower) + as_double(upper)) / 2), (int)is_result, out);
}

DP_LIBRARY_META(
    aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("rand", rand_, (li, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("rand.generator", rand__generator, (li, og, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("rand.out", rand__out, (li, T), ()),
    DP_IMPL_UNBOXED("randn", randn, (li, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("randn.generator", randn_generator, (li, og, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("randint", randint, (i, li, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("randint.generator", randint_generator, (i, li, og, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("randint.out", randint_out, (i, li, T), ()),
    DP_IMPL_UNBOXED("randint.generator_out", randint_generator_out, (i, li, og, T), ()),
    DP_IMPL_UNBOXED("randint.low", randint_low, (i, i, li, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("randint.low_generator", randint_low_generator, (i, i, li, og, oi, oi, oi, ob),
                    (T)),
    DP_IMPL_UNBOXED("randint.low_out", randint_low_out, (i, i, li, T), ()),
    DP_IMPL_UNBOXED("randint.low_generator_out", randint_low_generator_out, (i, i, li, og, T), ()),
    DP_IMPL_UNBOXED("rand_like", rand_like, (T, oi, oi, oi, ob, oi), (T)),
    DP_IMPL_UNBOXED("randn_like", randn_like, (T, oi, oi, oi, ob, oi), (T)),
    DP_IMPL_UNBOXED("randint_like", randint_like, (T, i, oi, oi, oi, ob, oi), (T)),
    DP_IMPL_UNBOXED("randint_like.low_dtype", randint_like_low, (T, i, i, oi, oi, oi, ob, oi), (T)),
    DP_IMPL_UNBOXED("randperm", randperm, (i, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("randperm.generator", randperm_generator, (i, og, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("randperm.out", randperm_out, (i, T), ()),
    DP_IMPL_UNBOXED("bernoulli", bernoulli, (T, og), (T)),
    DP_IMPL_UNBOXED("normal_functional", normal_functional, (T, f, f, og), (T)),
    DP_IMPL_UNBOXED("normal.float_float", normal_sized, (f, f, li, og, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("normal.float_float_out", normal_sized_out, (f, f, li, og, T), ()),
    DP_IMPL_UNBOXED("rrelu_with_noise_backward", rrelu_backward, (T, T, T, s, s, b, b), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("rand.generator_out", rand__generator_out, (li, og, T), ()),
                DP_IMPL_UNBOXED("randn.out", randn_out, (li, T), ()),
                DP_IMPL_UNBOXED("randn.generator_out", randn_generator_out, (li, og, T), ()),
                DP_IMPL_UNBOXED("bernoulli.p", bernoulli_p, (T, f, og), (T)),
                DP_IMPL_UNBOXED("rrelu", rrelu, (T, s, s, b, og), (T)),
                DP_IMPL_UNBOXED("rrelu_", rrelu_in_place, (T, s, s, b, og), ()))
