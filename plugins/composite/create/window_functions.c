/* window_functions.c -- window functions of signal processing: bartlett_window, blackman_window,
 * hann_window, hamming_window and kaiser_window (aten/src/ATen/native/TensorFactories.cpp). */
#include "core/chain.h"

static dp_tensor *mul_(chain *c, dp_tensor *t, double v)
{
    return chain_Ts_(c, "aten::mul_.Scalar", t, dp_double(v));
}

static dp_tensor *add_(chain *c, dp_tensor *t, double v)
{
    return chain_Ts_(c, "aten::add_.Scalar", t, dp_double(v));
}

static dp_tensor *apply_(chain *c, const char *op, dp_tensor *t)
{
    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, op, "T>", t);
    return t;
}

static dp_tensor *arange(chain *c, int64_t n, const options *o)
{
    return CHAIN(c, "aten::arange", "soioioiob>T", dp_int(n), o->dtype, o->layout, o->device,
                 o->pin);
}

static dp_tensor *narrow(chain *c, dp_tensor *t, int64_t dim, int64_t start, int64_t length)
{
    return CHAIN(c, "aten::narrow", "Tiii>T", t, dim, start, length);
}

/* -- windows -- */

/* A kind of window.  `alpha` and `beta` are the coefficients of a cosine window. */
typedef struct window {
    const char *name;
    dp_tensor *(*shape)(chain *c, const struct window *w, dp_tensor *steps, int64_t n);
    double alpha, beta;
} window;

static dp_tensor *bartlett(chain *c, const window *w, dp_tensor *t, int64_t n)
{
    int64_t half = (n - 1) / 2 + 1;

    (void)w;
    mul_(c, t, 2.0 / (double)(n - 1));
    add_(c, mul_(c, narrow(c, t, 0, half, n - half), -1), 2);
    return t;
}

static dp_tensor *blackman(chain *c, const window *w, dp_tensor *t, int64_t n)
{
    (void)w;
    mul_(c, t, M_PI / (double)(n - 1));
    dp_tensor *fast = apply_(c, "aten::cos_", chain_Ts(c, "aten::mul.Scalar", t, dp_int(4)));
    dp_tensor *slow = apply_(c, "aten::cos_", chain_Ts(c, "aten::mul.Scalar", t, dp_int(2)));
    dp_tensor *both = chain_TT(c, "aten::sub.Tensor", mul_(c, fast, 0.08), mul_(c, slow, 0.5));
    return add_(c, both, 0.42);
}

static dp_tensor *cosine(chain *c, const window *w, dp_tensor *t, int64_t n)
{
    apply_(c, "aten::cos_", mul_(c, t, M_PI * 2 / (double)(n - 1)));
    return add_(c, mul_(c, t, -w->beta), w->alpha);
}

/* Return i0(beta * sqrt(1 - ((t - half) / half) ** 2)) / i0(beta). */
static dp_tensor *kaiser(chain *c, const window *w, dp_tensor *t, int64_t n)
{
    DP_VIEW(x, t);
    int64_t dtype = x.dtype, device = x.device;
    double half = (double)(n - 1) / 2;
    options none = {0};

    chain_Ts_(c, "aten::div_.Scalar", add_(c, t, -half), dp_double(half));
    chain_Ts_(c, "aten::pow_.Scalar", t, dp_int(2));
    t = mul_(c, apply_(c, "aten::sqrt_", add_(c, mul_(c, t, -1), 1)), w->beta);
    dp_tensor *top = CHAIN(c, "aten::scalar_tensor", "soioioiob>T", dp_double(w->beta), &dtype,
                           none.layout, &device, none.pin);
    return chain_TT(c, "aten::div.Tensor", apply_(c, "aten::i0_", t), apply_(c, "aten::i0_", top));
}

static int check_window(dp_ctx *ctx, const window *w, int64_t n, dp_dtype dtype)
{
    if (!dp_dtype_is_floating(dtype) && !dp_dtype_is_complex(dtype))
        return dp_fail(ctx, DP_ERUNTIME, "%s expects floating point dtypes, got: %s", w->name,
                       dp_dtype_name(dtype));
    if (n < 0 || n == INT64_MAX)
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s requires non-negative window_length, got window_length=%" PRId64,
                       w->name, n);
    if (n > 1 && (dtype == DP_FLOAT16 || dp_dtype_is_complex(dtype)))
        return dp_fail(ctx, DP_ERUNTIME, "\"arange_cpu\" not implemented for '%s'",
                       dp_dtype_name(dtype));
    return 0;
}

static int make_window(dp_ctx *ctx, const window *w, int64_t n, bool periodic, const options *o,
                       dp_tensor **out)
{
    int64_t dtype = o->dtype ? *o->dtype : DP_FLOAT32, whole = n + periodic;
    options of = {&dtype, o->layout, o->device, o->pin};
    chain c = {.ctx = ctx, .rc = check_window(ctx, w, n, (dp_dtype)dtype)};

    if (n < 2 && c.rc == 0)
        return dp_invoke(ctx, "aten::ones", "lioioioiob>T", &n, (size_t)1, of.dtype, of.layout,
                         of.device, of.pin, out);
    dp_tensor *steps = c.rc == 0 ? arange(&c, whole, &of) : NULL;
    dp_tensor *t = c.rc == 0 ? w->shape(&c, w, steps, whole) : NULL;
    return chain_end(&c, periodic && c.rc == 0 ? narrow(&c, t, 0, 0, n) : t, out);
}

/* aten::<id>_window(int window_length, [bool periodic, [float alpha, [float beta]]], *, ScalarType?
 *     dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor */
#define WINDOW(id, overload, fn, a, b, ...)                                                        \
    static int id##overload(dp_ctx *ctx, int64_t n __VA_ARGS__, OPTIONS_PARAMS, dp_tensor **out)   \
    {                                                                                              \
        return make_window(ctx, &(window){#id "_window", fn, a, b}, n, PERIODIC, &OPTIONS, out);   \
    }
#define PERIODIC true
WINDOW(bartlett, _plain, bartlett, 0, 0)
WINDOW(blackman, _plain, blackman, 0, 0)
WINDOW(hann, _plain, cosine, 0.5, 0.5)
WINDOW(hamming, _plain, cosine, 0.54, 0.46)
WINDOW(kaiser, _plain, kaiser, 0, 12)
#undef PERIODIC
#define PERIODIC periodic
WINDOW(bartlett, _periodic, bartlett, 0, 0, , bool periodic)
WINDOW(blackman, _periodic, blackman, 0, 0, , bool periodic)
WINDOW(hann, _periodic, cosine, 0.5, 0.5, , bool periodic)
WINDOW(hamming, _periodic, cosine, 0.54, 0.46, , bool periodic)
WINDOW(hamming, _alpha, cosine, alpha, 0.46, , bool periodic, double alpha)
WINDOW(hamming, _alpha_beta, cosine, alpha, beta, , bool periodic, double alpha, double beta)
WINDOW(kaiser, _periodic, kaiser, 0, 12, , bool periodic)
WINDOW(kaiser, _beta, kaiser, 0, beta, , bool periodic, double beta)

DP_LIBRARY_META(
    aten, CompositeExplicitAutograd,
    DP_IMPL_UNBOXED("bartlett_window", bartlett_plain, (i, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("bartlett_window.periodic", bartlett_periodic, (i, b, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("blackman_window", blackman_plain, (i, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("blackman_window.periodic", blackman_periodic, (i, b, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("hann_window", hann_plain, (i, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("hann_window.periodic", hann_periodic, (i, b, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("hamming_window", hamming_plain, (i, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("hamming_window.periodic", hamming_periodic, (i, b, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("hamming_window.periodic_alpha", hamming_alpha, (i, b, f, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("hamming_window.periodic_alpha_beta", hamming_alpha_beta,
                    (i, b, f, f, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("kaiser_window", kaiser_plain, (i, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("kaiser_window.periodic", kaiser_periodic, (i, b, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("kaiser_window.beta", kaiser_beta, (i, b, f, oi, oi, oi, ob), (T)))
