/* unary_ops.c -- unary operators that are computed with other operators, as in PyTorch
 * (aten/src/ATen/native/UnaryOps.cpp).  core/variants.c derives their in-place and out= variants.
 *
 * Operators: deg2rad, frexp, mvlgamma, nan_to_num, polygamma, positive, rad2deg, special_ndtr,
 * square. */
#include "core/chain.h"
#include "core/variants.h"

/* aten::positive(Tensor(a) self) -> Tensor(a) */
static int positive(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);

    if (x.dtype == DP_BOOL)
        return dp_fail(ctx, DP_ERUNTIME, "The `+` operator, on a bool tensor is not supported.");
    *out = dp_tensor_ref(self);
    return 0;
}

/* -- arithmetic -- */

/* aten::square(Tensor self) -> Tensor */
static int square(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::pow.Tensor_Scalar", "Ts>T", self, dp_int(2), out);
}

/* Multiply self by `factor` for operator `name`, in a tensor with self's strides
 * (at::empty_like). */
static int scaled(dp_ctx *ctx, const char *name, dp_tensor *self, double factor, dp_tensor **out)
{
    dp_tensor *made = NULL, *by = NULL;
    DP_VIEW(x, self);

    if (dp_dtype_is_complex(x.dtype))
        return dp_fail(ctx, DP_ERUNTIME, "%s is not supported for complex tensors.", name);
    dp_dtype dtype = dp_dtype_is_integral(x.dtype, true) ? DP_FLOAT32 : x.dtype;
    int rc = wrap_scalar(ctx, dp_double(factor), &by);

    if (rc == 0)
        rc = dp_empty_like(ctx, self, dtype, DP_PRESERVE, &made);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::mul.out", "TTT>", self, by, made);
    dp_tensor_unref(by);
    *out = rc < 0 ? dp_tensor_unref(made) : made;
    return rc;
}

/* aten::deg2rad(Tensor self) -> Tensor */
static int deg2rad(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return scaled(ctx, "deg2rad", self, M_PI / 180, out);
}

/* aten::rad2deg(Tensor self) -> Tensor */
static int rad2deg(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return scaled(ctx, "rad2deg", self, 180 / M_PI, out);
}

/* aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor
 * The result has self's strides (at::empty_like). */
static int nan_to_num(dp_ctx *ctx, dp_tensor *self, const double *nan, const double *posinf,
                      const double *neginf, dp_tensor **out)
{
    dp_tensor *made = NULL;
    DP_VIEW(x, self);
    int rc = dp_empty_like(ctx, self, x.dtype, DP_PRESERVE, &made);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::nan_to_num.out", "TofofofT>", self, nan, posinf, neginf, made);
    *out = rc < 0 ? dp_tensor_unref(made) : made;
    return rc;
}

/* aten::nan_to_num_(Tensor(a!) self, float? nan=None, float? posinf=None, float? neginf=None)
 *     -> Tensor(a!) */
static int nan_to_num_(dp_ctx *ctx, dp_tensor *self, const double *nan, const double *posinf,
                       const double *neginf)
{
    DP_VIEW(x, self);
    /* integers are copied with their strides, even if elements overlap */
    if (dp_dtype_is_integral(x.dtype, true))
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
    /* greatest number of terms, so that a client's number cannot occupy a worker for ever */
    enum { MOST = 1000 };
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
    return variant_out_of(call, "aten::mvlgamma", VARIANT_CAST);
}

/* aten::mvlgamma_(Tensor(a!) self, int p) -> Tensor(a!) */
static int mvlgamma_(dp_call *call)
{
    return variant_in_place_of(call, "aten::mvlgamma", VARIANT_CAST);
}

/* aten::polygamma_(Tensor(a!) self, int n) -> Tensor(a!) */
static int polygamma_(dp_ctx *ctx, dp_tensor *self, int64_t n)
{
    return dp_invoke(ctx, "aten::polygamma.out", "iTT>", n, self, self);
}

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

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("positive", positive, (T), (T)),
                DP_IMPL_UNBOXED("square", square, (T), (T)),
                DP_IMPL_UNBOXED("special_ndtr", ndtr, (T), (T)))
DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("deg2rad", deg2rad, (T), (T)),
                DP_IMPL_UNBOXED("rad2deg", rad2deg, (T), (T)),
                DP_IMPL_UNBOXED("nan_to_num", nan_to_num, (T, of, of, of), (T)),
                DP_IMPL_UNBOXED("nan_to_num_", nan_to_num_, (T, of, of, of), ()),
                DP_IMPL("mvlgamma_", mvlgamma_), DP_IMPL_UNBOXED("mvlgamma", mvlgamma, (T, i), (T)),
                DP_IMPL_UNBOXED("polygamma_", polygamma_, (T, i), ()),
                DP_IMPL_UNBOXED("frexp.Tensor", frexp_new, (T), (T, T)))
DP_LIBRARY_META(aten, CPU, DP_IMPL("mvlgamma.out", mvlgamma_out))
