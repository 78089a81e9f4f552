/* truth.c -- questions about numbers that are answered by other operators. */
#include "composite.h"

/* A tensor like t, of bool, all `value`. */
static int all_of(dp_ctx *ctx, dp_tensor *t, bool value, dp_tensor **out)
{
    int rc = dp_empty_like(ctx, t, DP_BOOL, DP_PRESERVE, out);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", *out, dp_bool(value));
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* |t| compared with infinity by `op`. */
static int magnitude(dp_ctx *ctx, const char *op, dp_tensor *t, dp_tensor **out)
{
    dp_tensor *size = NULL;
    int rc = dp_invoke(ctx, "aten::abs", "T>T", t, &size);

    if (rc == 0)
        rc = dp_invoke(ctx, op, "Ts>T", size, dp_double(INFINITY), out);
    dp_tensor_unref(size);
    return rc;
}

/* aten::isinf(Tensor self) -> Tensor */
static int isinf_(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);
    if (dp_dtype_is_integral(x.dtype, true))
        return all_of(ctx, self, false, out);
    return magnitude(ctx, "aten::eq.Scalar", self, out);
}

/* aten::isfinite(Tensor self) -> Tensor
 * (self == self) * (|self| != inf) */
static int isfinite_(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_tensor *number = NULL, *bounded = NULL;
    DP_VIEW(x, self);

    if (dp_dtype_is_integral(x.dtype, true))
        return all_of(ctx, self, true, out);
    int rc = dp_invoke(ctx, "aten::eq.Tensor", "TT>T", self, self, &number);
    if (rc == 0)
        rc = magnitude(ctx, "aten::ne.Scalar", self, &bounded);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::mul.Tensor", "TT>T", number, bounded, out);
    dp_tensor_unref(number);
    dp_tensor_unref(bounded);
    return rc;
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("isinf", isinf_, (T), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("isfinite", isfinite_, (T), (T)))
