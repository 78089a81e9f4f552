/* pointwise.c -- pointwise operators that PyTorch writes by others.  Their in-place and out= forms follow
 * (forms.c). */
#include "chain.h"
#include "forms.h"

/* -- activations -- */

/* aten::celu(Tensor self, Scalar alpha=1.) -> Tensor */
static int celu(dp_ctx *ctx, dp_tensor *self, dp_value alpha, dp_tensor **out)
{
    if (as_double(alpha) == 0)
        return dp_fail(ctx, DP_ERUNTIME, "ZeroDivisionError: alpha cannot be 0 for CELU");
    return dp_invoke(ctx, "aten::elu", "Tsss>T", self, alpha, dp_double(1),
                     dp_double(1 / as_double(alpha)), out);
}

/* aten::selu(Tensor self) -> Tensor */
static int selu(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::elu", "Tsss>T", self, dp_double(1.6732632423543772848170429916717),
                     dp_double(1.0507009873554804934193349852946), dp_int(1), out);
}

/* aten::relu6(Tensor self) -> Tensor */
static int relu6(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::hardtanh", "Tss>T", self, dp_int(0), dp_int(6), out);
}

/* aten::log_sigmoid(Tensor self) -> Tensor */
static int log_sigmoid(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_tensor *buffer = NULL;
    int rc = dp_invoke(ctx, "aten::log_sigmoid_forward", "T>TT", self, out, &buffer);
    dp_tensor_unref(buffer);
    return rc;
}

/* aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor
 * grad s (1 + self (1 - s)), s being sigmoid(self).  For backends without a kernel (math_silu_backward). */
static int silu_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *s = chain_T(&c, "aten::sigmoid", self);
    dp_tensor *x = chain_Ts(&c, "aten::rsub.Scalar", s, dp_int(1));
    x = chain_Ts(&c, "aten::add.Scalar", chain_TT(&c, "aten::mul.Tensor", self, x), dp_int(1));
    x = chain_TT(&c, "aten::mul.Tensor", s, x);
    return chain_end(&c, chain_TT(&c, "aten::mul.Tensor", grad, x), out);
}

/* aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor
 * grad (t + self sigmoid(self) (1 - t t)), t being tanh(softplus(self)).  For backends without a kernel
 * (math_mish_backward). */
static int mish_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *t = chain_T(&c, "aten::tanh", chain_T(&c, "aten::softplus", self));
    dp_tensor *s = chain_TT(&c, "aten::mul.Tensor", self, chain_T(&c, "aten::sigmoid", self));
    dp_tensor *x =
        chain_Ts(&c, "aten::rsub.Scalar", chain_TT(&c, "aten::mul.Tensor", t, t), dp_int(1));
    x = chain_TT(&c, "aten::add.Tensor", t, chain_TT(&c, "aten::mul.Tensor", s, x));
    return chain_end(&c, chain_TT(&c, "aten::mul.Tensor", grad, x), out);
}

/* -- arithmetic -- */

/* aten::square(Tensor self) -> Tensor */
static int square(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::pow.Tensor_Scalar", "Ts>T", self, dp_int(2), out);
}

/* aten::deg2rad(Tensor self) -> Tensor */
static int deg2rad(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::mul.Scalar", "Ts>T", self, dp_double(M_PI / 180), out);
}

/* aten::rad2deg(Tensor self) -> Tensor */
static int rad2deg(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::mul.Scalar", "Ts>T", self, dp_double(180 / M_PI), out);
}

/* aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor */
static int ldexp_(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *power = chain_sT(&c, "aten::pow.Scalar", dp_double(2), other);
    return chain_end(&c, chain_TT(&c, "aten::mul.Tensor", self, power), out);
}

/* t as float64, or complex128 when it, or what stands beside it, is complex. */
static dp_tensor *widened(chain *c, dp_tensor *t, bool complex)
{
    dp_tensor *made = NULL;

    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, "aten::to.dtype", "Ti>T", t,
                          (int64_t)(complex ? DP_COMPLEX128 : DP_FLOAT64), &made);
    return c->rc < 0 ? NULL : chain_keep(c, made);
}

static bool is_complex(const dp_tensor *t)
{
    DP_VIEW(x, t);
    return dp_dtype_is_complex(x.dtype);
}

/* A Scalar in the wider type. */
static dp_value wide_scalar(dp_value v)
{
    return v.tag == DP_TAG_COMPLEX ? v : dp_double(as_double(v));
}

/* aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor */
static int float_power(dp_ctx *ctx, dp_tensor *self, dp_tensor *exponent, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    bool complex = is_complex(self) || is_complex(exponent);
    return chain_end(&c,
                     chain_TT(&c, "aten::pow.Tensor_Tensor", widened(&c, self, complex),
                              widened(&c, exponent, complex)),
                     out);
}

/* aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor */
static int float_power_scalar(dp_ctx *ctx, dp_tensor *self, dp_value exponent, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    bool complex = is_complex(self) || exponent.tag == DP_TAG_COMPLEX;
    return chain_end(
        &c,
        chain_Ts(&c, "aten::pow.Tensor_Scalar", widened(&c, self, complex), wide_scalar(exponent)),
        out);
}

/* aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor */
static int scalar_float_power(dp_ctx *ctx, dp_value self, dp_tensor *exponent, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    bool complex = is_complex(exponent) || self.tag == DP_TAG_COMPLEX;
    return chain_end(
        &c, chain_sT(&c, "aten::pow.Scalar", wide_scalar(self), widened(&c, exponent, complex)),
        out);
}

/* aten::nan_to_num_(Tensor(a!) self, float? nan=None, float? posinf=None, float? neginf=None)
 *     -> Tensor(a!) */
static int nan_to_num_(dp_ctx *ctx, dp_tensor *self, const double *nan, const double *posinf,
                       const double *neginf)
{
    DP_VIEW(x, self);
    if (dp_dtype_is_integral(x.dtype, true)) /* as they are, even where they overlap */
        return 0;
    return dp_invoke(ctx, "aten::nan_to_num.out", "TofofofT>", self, nan, posinf, neginf, self);
}

/* -- special functions -- */

/* aten::special_ndtr(Tensor self) -> Tensor
 * erfc(-self / sqrt(2)) / 2 */
static int ndtr(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *x = chain_Ts(&c, "aten::mul.Scalar", self, dp_double(-M_SQRT1_2));
    x = chain_T(&c, "aten::erfc", x);
    return chain_end(&c, chain_Ts(&c, "aten::mul.Scalar", x, dp_double(0.5)), out);
}

/* aten::mvlgamma(Tensor self, int p) -> Tensor
 * The sum of lgamma(self - i / 2) for i below p, and p (p - 1) log(pi) / 4; contiguous. */
static int mvlgamma(dp_ctx *ctx, dp_tensor *self, int64_t p, dp_tensor **out)
{
    enum { MOST = 1000 }; /* terms, so that a client's number does not keep a worker for ever */
    const int64_t rows = DP_CONTIGUOUS;
    double more = (double)p * ((double)p - 1) / 4 * log(M_PI);
    dp_tensor *sum = NULL;
    int rc = 0;

    if (p < 1 || p > MOST)
        return dp_fail(ctx, DP_ERUNTIME,
                       "p has to be greater than or equal to 1, and at most %d; it is %" PRId64,
                       MOST, p);
    for (int64_t i = 0; rc == 0 && i < p; i++) {
        chain c = {.ctx = ctx};
        dp_tensor *x = chain_Ts(&c, "aten::sub.Scalar", self, dp_double((double)i / 2));
        x = chain_T(&c, "aten::lgamma", x);
        x = sum ? chain_TT(&c, "aten::add.Tensor", sum, x)
                : CHAIN(&c, "aten::clone", "Toi>T",
                        chain_Ts(&c, "aten::add.Scalar", x, dp_double(more)), &rows);
        dp_tensor *next = NULL;
        rc = chain_end(&c, x, &next);
        dp_tensor_unref(sum);
        sum = next;
    }
    if (rc == 0)
        *out = sum;
    return rc;
}

/* aten::mvlgamma.out(Tensor self, int p, *, Tensor(a!) out) -> Tensor(a!) */
static int mvlgamma_out(dp_call *call)
{
    return form_out_of(call, "aten::mvlgamma", FORM_CAST);
}

/* aten::mvlgamma_(Tensor(a!) self, int p) -> Tensor(a!) */
static int mvlgamma_(dp_call *call)
{
    return form_in_place_of(call, "aten::mvlgamma", FORM_CAST);
}

/* aten::polygamma_(Tensor(a!) self, int n) -> Tensor(a!) */
static int polygamma_(dp_ctx *ctx, dp_tensor *self, int64_t n)
{
    return dp_invoke(ctx, "aten::polygamma.out", "iTT>", n, self, self);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL("mvlgamma.out", mvlgamma_out))
DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL("mvlgamma_", mvlgamma_),
                DP_IMPL_UNBOXED("celu", celu, (T, s), (T)),
                DP_IMPL_UNBOXED("deg2rad", deg2rad, (T), (T)),
                DP_IMPL_UNBOXED("nan_to_num_", nan_to_num_, (T, of, of, of), ()),
                DP_IMPL_UNBOXED("rad2deg", rad2deg, (T), (T)),
                DP_IMPL_UNBOXED("polygamma_", polygamma_, (T, i), ()),
                DP_IMPL_UNBOXED("mvlgamma", mvlgamma, (T, i), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("selu", selu, (T), (T)),
                DP_IMPL_UNBOXED("silu_backward", silu_backward, (T, T), (T)),
                DP_IMPL_UNBOXED("mish_backward", mish_backward, (T, T), (T)),
                DP_IMPL_UNBOXED("relu6", relu6, (T), (T)),
                DP_IMPL_UNBOXED("log_sigmoid", log_sigmoid, (T), (T)),
                DP_IMPL_UNBOXED("square", square, (T), (T)),
                DP_IMPL_UNBOXED("ldexp.Tensor", ldexp_, (T, T), (T)),
                DP_IMPL_UNBOXED("float_power.Tensor_Tensor", float_power, (T, T), (T)),
                DP_IMPL_UNBOXED("float_power.Tensor_Scalar", float_power_scalar, (T, s), (T)),
                DP_IMPL_UNBOXED("float_power.Scalar", scalar_float_power, (s, T), (T)),
                DP_IMPL_UNBOXED("special_ndtr", ndtr, (T), (T)))

/* -- frexp -- */

/* aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent) */
static int frexp_new(dp_ctx *ctx, dp_tensor *self, dp_tensor **mantissa, dp_tensor **exponent)
{
    int rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_PRESERVE, mantissa);

    *exponent = NULL;
    if (rc == 0)
        rc = dp_empty_like(ctx, self, DP_INT32, DP_PRESERVE, exponent);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::frexp.Tensor_out", "TTT>", self, *mantissa, *exponent);
    if (rc < 0) {
        *mantissa = dp_tensor_unref(*mantissa);
        *exponent = dp_tensor_unref(*exponent);
    }
    return rc;
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("frexp.Tensor", frexp_new, (T), (T, T)))
