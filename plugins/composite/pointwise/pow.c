/* pow.c -- float_power, which converts both operands to float64 or complex128 and calls pow
 * (aten/src/ATen/native/Pow.cpp). */
#include "core/chain.h"

/* Return `t` as float64, or as complex128 if `complex`: t or the other operand is complex. */
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

/* Return a Scalar as a double or complex number. */
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

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("float_power.Tensor_Tensor", float_power, (T, T), (T)),
                DP_IMPL_UNBOXED("float_power.Tensor_Scalar", float_power_scalar, (T, s), (T)),
                DP_IMPL_UNBOXED("float_power.Scalar", scalar_float_power, (s, T), (T)))
