/* binary_ops.c -- binary operators that are computed with other operators, as in PyTorch
 * (aten/src/ATen/native/BinaryOps.cpp).
 *
 * Operators: _add_relu, ldexp, max, min, _test_serialization_subcmul. */
#include "core/chain.h"
#include <dispatchd/check.h>
#include <float.h>

/* Return the largest value of a dtype; None for dtypes without a loop. */
static dp_value largest(dp_dtype dtype)
{
    switch (dtype) {
    case DP_UINT8:
        return dp_int(UINT8_MAX);
    case DP_INT8:
        return dp_int(INT8_MAX);
    case DP_INT16:
        return dp_int(INT16_MAX);
    case DP_INT32:
        return dp_int(INT32_MAX);
    case DP_INT64:
        return dp_int(INT64_MAX);
    case DP_FLOAT32:
        return dp_double(FLT_MAX);
    case DP_FLOAT64:
        return dp_double(DBL_MAX);
    default:
        return dp_none();
    }
}

/* aten::_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor */
static int add_relu(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_value alpha, dp_tensor **out)
{
    dp_tensor *both[] = {self, other};
    dp_dtype dtype = dp_result_type(both, 2);
    DP_VIEW(x, self);
    dp_value most = largest(x.dtype), bound = largest(dtype);

    if (most.tag == DP_TAG_NONE || x.dtype == DP_UINT8)
        return dp_fail(ctx, DP_ERUNTIME, "Unsupported datatype for add_relu: %s",
                       dp_dtype_name(x.dtype));
    if (bound.tag == DP_TAG_NONE)
        return dp_refuse_dtype(ctx, "add_clamp_cpu", dtype);
    /* the number has the kind of the dtype, or a wider one */
    if (as_double(bound) < as_double(most))
        return dp_fail(ctx, DP_ERUNTIME,
                       "the largest %s cannot be converted to %s without overflow",
                       dp_dtype_name(x.dtype), dp_dtype_name(dtype));
    if (dp_dtype_is_integral(dtype, true) && alpha.tag == DP_TAG_DOUBLE)
        alpha = dp_int(as_int(alpha));
    int rc = dp_invoke(ctx, "aten::add.Tensor", "TTs>T", self, other, alpha, out);
    if (rc < 0)
        return rc;
    const dp_value least = dp_int(0);
    rc = dp_invoke(ctx, "aten::clamp_", "Tosos>", *out, &least, &most);
    return release_on_error(rc, out);
}

/* aten::_add_relu.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor */
static int add_relu_scalar(dp_ctx *ctx, dp_tensor *self, dp_value other, dp_value alpha,
                           dp_tensor **out)
{
    dp_tensor *number = NULL;
    int rc = wrap_scalar(ctx, other, &number);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::_add_relu.Tensor", "TTs>T", self, number, alpha, out);
    dp_tensor_unref(number);
    return rc;
}

/* aten::_test_serialization_subcmul(Tensor self, Tensor other, Scalar alpha=1) -> Tensor */
static int subcmul(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_value alpha, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    return chain_end(&c, chain_sub(&c, self, chain_Ts(&c, "aten::mul.Scalar", other, alpha)), out);
}

/* aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor */
static int ldexp_(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *power = chain_sT(&c, "aten::pow.Scalar", dp_double(2), other);
    return chain_end(&c, chain_TT(&c, "aten::mul.Tensor", self, power), out);
}

/* aten::max.other(Tensor self, Tensor other) -> Tensor */
static int max_other(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::maximum", "TT>T", self, other, out);
}

/* aten::min.other(Tensor self, Tensor other) -> Tensor */
static int min_other(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::minimum", "TT>T", self, other, out);
}

/* aten::max.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!) */
static int max_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor *out)
{
    return dp_invoke(ctx, "aten::maximum.out", "TTT>", self, other, out);
}

/* aten::min.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!) */
static int min_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor *out)
{
    return dp_invoke(ctx, "aten::minimum.out", "TTT>", self, other, out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("_add_relu.Tensor", add_relu, (T, T, s), (T)),
                DP_IMPL_UNBOXED("_add_relu.Scalar", add_relu_scalar, (T, s, s), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("_test_serialization_subcmul", subcmul, (T, T, s), (T)),
                DP_IMPL_UNBOXED("ldexp.Tensor", ldexp_, (T, T), (T)),
                DP_IMPL_UNBOXED("max.other", max_other, (T, T), (T)),
                DP_IMPL_UNBOXED("max.out", max_out, (T, T, T), ()),
                DP_IMPL_UNBOXED("min.other", min_other, (T, T), (T)),
                DP_IMPL_UNBOXED("min.out", min_out, (T, T, T), ()))
