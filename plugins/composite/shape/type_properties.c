/* type_properties.c -- type promotion, and properties of a tensor's dtype
 * (aten/src/ATen/native/TypeProperties.cpp).
 *
 * Operators: can_cast, is_complex, is_floating_point, is_signed, promote_types, result_type. */
#include "core/composite.h"

static int check_dtype(dp_ctx *ctx, int64_t d)
{
    if (d >= 0 && d < DP_DTYPE_END && dp_dtype_size((dp_dtype)d) > 0)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "there is no dtype of number %" PRId64, d);
}

/* Set *out to `d`, the dtype to which a and b promote.  DP_ERUNTIME: it is DP_DTYPE_NONE, because
 * one of them is a quantized dtype. */
static int promoted(dp_ctx *ctx, dp_dtype a, dp_dtype b, dp_dtype d, int64_t *out)
{
    if (d == DP_DTYPE_NONE)
        return dp_fail(ctx, DP_ERUNTIME,
                       "promoteTypes with quantized numbers is not handled: %s and %s",
                       dp_dtype_name(a), dp_dtype_name(b));
    *out = d;
    return 0;
}

/* aten::can_cast(ScalarType from, ScalarType to) -> bool */
static int can_cast(dp_ctx *ctx, int64_t from, int64_t to, bool *out)
{
    int rc = check_dtype(ctx, from);

    if (rc == 0)
        rc = check_dtype(ctx, to);
    *out = rc == 0 && dp_can_cast((dp_dtype)from, (dp_dtype)to);
    return rc;
}

/* aten::promote_types(ScalarType type1, ScalarType type2) -> ScalarType */
static int promote_types(dp_ctx *ctx, int64_t a, int64_t b, int64_t *out)
{
    int rc = check_dtype(ctx, a);

    if (rc == 0)
        rc = check_dtype(ctx, b);
    if (rc < 0)
        return rc;
    return promoted(ctx, (dp_dtype)a, (dp_dtype)b, dp_promote_types((dp_dtype)a, (dp_dtype)b), out);
}

/* aten::result_type.Tensor(Tensor tensor, Tensor other) -> ScalarType */
static int result_of_tensors(dp_ctx *ctx, dp_tensor *a, dp_tensor *b, int64_t *out)
{
    dp_tensor *both[] = {a, b};

    DP_VIEW(x, a);
    DP_VIEW(y, b);
    return promoted(ctx, x.dtype, y.dtype, dp_result_type(both, 2), out);
}

/* aten::result_type.Scalar(Tensor tensor, Scalar other) -> ScalarType */
static int result_of_scalar(dp_ctx *ctx, dp_tensor *a, dp_value b, int64_t *out)
{
    dp_tensor *number;
    int rc = wrap_scalar(ctx, b, &number);

    if (rc < 0)
        return rc;
    rc = result_of_tensors(ctx, a, number, out);
    dp_tensor_unref(number);
    return rc;
}

/* aten::result_type.Scalar_Tensor(Scalar scalar, Tensor tensor) -> ScalarType */
static int result_of_number(dp_ctx *ctx, dp_value a, dp_tensor *b, int64_t *out)
{
    return result_of_scalar(ctx, b, a, out);
}

/* aten::result_type.Scalar_Scalar(Scalar scalar1, Scalar scalar2) -> ScalarType */
static int result_of_scalars(dp_ctx *ctx, dp_value a, dp_value b, int64_t *out)
{
    dp_tensor *number;
    int rc = wrap_scalar(ctx, a, &number);

    if (rc < 0)
        return rc;
    rc = result_of_scalar(ctx, number, b, out);
    dp_tensor_unref(number);
    return rc;
}

/* aten::is_floating_point(Tensor self) -> bool */
static int is_floating_point(dp_ctx *ctx, dp_tensor *self, bool *out)
{
    DP_VIEW(x, self);

    (void)ctx;
    *out = dp_dtype_is_floating(x.dtype);
    return 0;
}

/* aten::is_complex(Tensor self) -> bool */
static int is_complex(dp_ctx *ctx, dp_tensor *self, bool *out)
{
    DP_VIEW(x, self);

    (void)ctx;
    *out = dp_dtype_is_complex(x.dtype);
    return 0;
}

/* aten::is_signed(Tensor self) -> bool */
static int is_signed(dp_ctx *ctx, dp_tensor *self, bool *out)
{
    DP_VIEW(x, self);

    (void)ctx;
    *out = x.dtype != DP_BOOL && x.dtype != DP_UINT8;
    return 0;
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("can_cast", can_cast, (i, i), (b)),
                DP_IMPL_UNBOXED("promote_types", promote_types, (i, i), (i)),
                DP_IMPL_UNBOXED("result_type.Tensor", result_of_tensors, (T, T), (i)),
                DP_IMPL_UNBOXED("result_type.Scalar", result_of_scalar, (T, s), (i)),
                DP_IMPL_UNBOXED("result_type.Scalar_Tensor", result_of_number, (s, T), (i)),
                DP_IMPL_UNBOXED("result_type.Scalar_Scalar", result_of_scalars, (s, s), (i)),
                DP_IMPL_UNBOXED("is_floating_point", is_floating_point, (T), (b)),
                DP_IMPL_UNBOXED("is_complex", is_complex, (T), (b)),
                DP_IMPL_UNBOXED("is_signed", is_signed, (T), (b)))
