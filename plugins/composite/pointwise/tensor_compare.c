/* tensor_compare.c -- tests of elements (isinf, isclose), and assertions about tensors
 * (aten/src/ATen/native/TensorCompare.cpp).
 *
 * Operators: allclose, _assert_async, _assert_tensor_metadata, isclose, isfinite, isinf, isreal. */
#include "core/chain.h"
#include <dispatchd/check.h>

/* Return a bool tensor like `t` whose elements are all `value`. */
static dp_tensor *all_of(chain *c, dp_tensor *t, bool value)
{
    dp_tensor *made = NULL;

    c->rc = call_empty_like(c->ctx, t, DP_BOOL, DP_PRESERVE, &made);
    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, "aten::fill_.Scalar", "Ts>", made, dp_bool(value));
    return chain_keep(c, made);
}

/* aten::isinf(Tensor self) -> Tensor */
static int is_inf(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);
    if (dp_dtype_is_integral(x.dtype, true))
        return chain_end(&c, all_of(&c, self, false), out);
    dp_tensor *size = chain_T(&c, "aten::abs", self);
    return chain_end(&c, chain_Ts(&c, "aten::eq.Scalar", size, dp_double(INFINITY)), out);
}

/* Return (t == t) * (|t| != inf). */
static dp_tensor *bounded(chain *c, dp_tensor *t)
{
    dp_tensor *number = chain_TT(c, "aten::eq.Tensor", t, t), *size = chain_T(c, "aten::abs", t);
    return chain_TT(c, "aten::mul.Tensor", number,
                    chain_Ts(c, "aten::ne.Scalar", size, dp_double(INFINITY)));
}

/* aten::isfinite(Tensor self) -> Tensor */
static int is_finite(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);
    bool whole = dp_dtype_is_integral(x.dtype, true);
    return chain_end(&c, whole ? all_of(&c, self, true) : bounded(&c, self), out);
}

/* aten::isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool
 *     equal_nan=False) -> Tensor */
static int is_close(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, double rtol, double atol,
                    bool equal_nan, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);
    DP_VIEW(y, other);

    if (x.dtype != y.dtype)
        return dp_fail(ctx, DP_ERUNTIME, "%s did not match %s", dp_dtype_name(x.dtype),
                       dp_dtype_name(y.dtype));
    if (rtol < 0 || atol < 0)
        return dp_fail(ctx, DP_ERUNTIME, "%s must be greater than or equal to zero, but got %g",
                       rtol < 0 ? "rtol" : "atol", rtol < 0 ? rtol : atol);
    dp_tensor *close = chain_TT(&c, "aten::eq.Tensor", self, other);
    if (equal_nan)
        close =
            chain_TT(&c, "aten::logical_or", close,
                     chain_TT(&c, "aten::logical_and", chain_TT(&c, "aten::ne.Tensor", self, self),
                              chain_TT(&c, "aten::ne.Tensor", other, other)));
    if (rtol == 0 && atol == 0)
        return chain_end(&c, close, out);
    if (dp_dtype_is_integral(x.dtype, true)) { /* an integer difference would wrap */
        self = chain_Ts(&c, "aten::mul.Scalar", self, dp_double(1));
        other = chain_Ts(&c, "aten::mul.Scalar", other, dp_double(1));
    }
    dp_tensor *most =
        chain_Ts(&c, "aten::mul.Scalar", chain_T(&c, "aten::abs", other), dp_double(rtol));
    dp_tensor *apart = chain_T(&c, "aten::abs", chain_TT(&c, "aten::sub.Tensor", self, other));
    dp_tensor *near = chain_TT(&c, "aten::le.Tensor", apart,
                               chain_Ts(&c, "aten::add.Scalar", most, dp_double(atol)));
    near = chain_TT(&c, "aten::logical_and", near, bounded(&c, apart));
    return chain_end(&c, chain_TT(&c, "aten::logical_or", close, near), out);
}

/* aten::isreal(Tensor self) -> Tensor */
static int is_real(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);
    if (!dp_dtype_is_complex(x.dtype))
        return chain_end(&c, all_of(&c, self, true), out);
    /* only the imaginary part counts, since the real part may be NaN */
    dp_tensor *imag = chain_T(&c, "aten::imag", self);
    return chain_end(&c, chain_Ts(&c, "aten::eq.Scalar", imag, dp_int(0)), out);
}

/* aten::allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08,
 *     bool equal_nan=False) -> bool */
static int allclose(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, double rtol, double atol,
                    bool equal_nan, bool *out)
{
    dp_tensor *close = NULL, *all = NULL;
    dp_value answer = dp_none();
    int rc =
        dp_invoke(ctx, "aten::isclose", "TTffb>T", self, other, rtol, atol, (int)equal_nan, &close);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::all", "T>T", close, &all);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::item", "T>s", all, &answer);
    if (rc == 0)
        *out = answer.u.b;
    dp_tensor_unref(close);
    dp_tensor_unref(all);
    return rc;
}

/* aten::_assert_tensor_metadata(Tensor a, int[]? size=None, int[]? stride=None, ScalarType?
 *     dtype=None) -> () */
static int assert_metadata(dp_ctx *ctx, dp_tensor *t, const int64_t *sizes, size_t n_sizes,
                           const int64_t *strides, size_t n_strides, const int64_t *dtype)
{
    DP_VIEW(x, t);
    const char *what = NULL;

    if (sizes && !dp_same_sizes(x.ndim, x.sizes, (int)n_sizes, sizes))
        what = "sizes";
    else if (strides && !dp_same_sizes(x.ndim, x.strides, (int)n_strides, strides))
        what = "strides";
    else if (dtype && *dtype != (int64_t)x.dtype)
        what = "dtype";
    return what ? dp_fail(ctx, DP_ERUNTIME, "Tensor %s mismatch!", what) : 0;
}

/* aten::_assert_async(Tensor self) -> () */
static int assert_async(dp_ctx *ctx, dp_tensor *self)
{
    bool yes = false;
    int rc = dp_invoke(ctx, "aten::is_nonzero", "T>b", self, &yes);

    return rc == 0 && !yes ? dp_fail(ctx, DP_ERUNTIME,
                                     "Expected Tensor with single nonzero value, but got zero")
                           : rc;
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("isinf", is_inf, (T), (T)),
                DP_IMPL_UNBOXED("allclose", allclose, (T, T, f, f, b), (b)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("isfinite", is_finite, (T), (T)),
                DP_IMPL_UNBOXED("isreal", is_real, (T), (T)),
                DP_IMPL_UNBOXED("isclose", is_close, (T, T, f, f, b), (T)),
                DP_IMPL_UNBOXED("_assert_tensor_metadata", assert_metadata, (T, oli, oli, oi), ()))
DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("_assert_async", assert_async, (T), ()))
