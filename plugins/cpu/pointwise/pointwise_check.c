/* pointwise_check.c -- checks of operators' arguments before anything is computed (`check` of
 * pointwise.yaml). */
#include "core/dense.h"
#include "core/elements.h"
#include "pointwise.h"

/* Refuse a negative integer power of integers (at::native::pow_Tensor_Scalar). */
int pw_check_power(dp_ctx *ctx, const dp_value *ins, const dp_value *params)
{
    DP_VIEW(x, ins[0].u.t);
    (void)params;
    if (dp_dtype_is_integral(x.dtype, true) && ins[1].tag == DP_TAG_INT && ins[1].u.i < 0)
        return dp_fail(ctx, DP_ERUNTIME, "Integers to negative integer powers are not allowed.");
    if ((dp_dtype_is_integral(x.dtype, false) && ins[1].tag == DP_TAG_INT) ||
        dp_dtype_is_reduced_floating(x.dtype))
        return check_fits(ctx, ins[1], x.dtype);
    return 0;
}

static bool is_negative(dp_value v)
{
    return v.tag == DP_TAG_INT ? v.u.i < 0 : v.tag == DP_TAG_DOUBLE && v.u.d < 0;
}

int pw_check_hardtanh(dp_ctx *ctx, const dp_value *ins, const dp_value *params)
{
    DP_VIEW(x, ins[0].u.t);
    if (x.dtype == DP_UINT8 && (is_negative(params[0]) || is_negative(params[1])))
        return dp_fail(ctx, DP_ERUNTIME,
                       "cannot do hardtanh on an unsigned type with negative limits");
    return 0;
}

/* Check that all dtypes are equal; lerp does no type promotion (at::native::lerp). */
int pw_check_lerp(dp_ctx *ctx, const dp_value *ins, const dp_value *params)
{
    DP_VIEW(self, ins[0].u.t);
    DP_VIEW(end, ins[1].u.t);
    if (self.dtype != end.dtype)
        return dp_fail(ctx, DP_ERUNTIME, "expected dtype %s for `end` but got dtype %s",
                       dense_type_name(self.dtype), dense_type_name(end.dtype));
    if (params != NULL) /* the weight is a Scalar, so only self and end are compared */
        return 0;
    DP_VIEW(weight, ins[2].u.t);
    if (self.dtype != weight.dtype)
        return dp_fail(ctx, DP_ERUNTIME, "expected dtype %s for `weight` but got dtype %s",
                       dense_type_name(self.dtype), dense_type_name(weight.dtype));
    return 0;
}

int pw_check_addcdiv(dp_ctx *ctx, const dp_value *ins, const dp_value *params)
{
    DP_VIEW(a, ins[1].u.t);
    DP_VIEW(b, ins[2].u.t);
    (void)params;
    if (dp_dtype_is_integral(a.dtype, true) && dp_dtype_is_integral(b.dtype, true))
        return dp_fail(ctx, DP_ERUNTIME,
                       "Integer division with addcdiv is no longer supported, and in a future  "
                       "release addcdiv will perform a true division of tensor1 and tensor2. The "
                       "historic addcdiv behavior can be implemented as (input + value * "
                       "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as "
                       "(input + value * tensor1 / tensor2) for float inputs.");
    return 0;
}

int pw_check_heaviside(dp_ctx *ctx, const dp_value *ins, const dp_value *params)
{
    DP_VIEW(self, ins[0].u.t);
    DP_VIEW(values, ins[1].u.t);
    (void)params;
    if (dp_dtype_is_complex(self.dtype) || dp_dtype_is_complex(values.dtype))
        return dp_fail(ctx, DP_ERUNTIME, "heaviside is not yet implemented for complex tensors.");
    if (self.dtype != values.dtype)
        return dp_fail(ctx, DP_ERUNTIME,
                       "heaviside is not yet implemented for tensors with different dtypes.");
    return 0;
}

/* Source: at::native::complex_check_floating, complex_check_dtype. */
static int check_parts(dp_ctx *ctx, const char *name, const dp_value *ins)
{
    DP_VIEW(a, ins[0].u.t);
    DP_VIEW(b, ins[1].u.t);
    bool floats = (a.dtype == DP_FLOAT32 || a.dtype == DP_FLOAT64) &&
                  (b.dtype == DP_FLOAT32 || b.dtype == DP_FLOAT64);
    if (!floats)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected both inputs to be Half, Float or Double tensors but got %s and %s",
                       dense_type_name(a.dtype), dense_type_name(b.dtype));
    if (a.dtype != b.dtype)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected object of scalar type %s but got scalar type %s for %s",
                       dense_type_name(a.dtype), dense_type_name(b.dtype), name);
    return 0;
}

int pw_check_complex(dp_ctx *ctx, const dp_value *ins, const dp_value *params)
{
    (void)params;
    return check_parts(ctx, "second argument", ins);
}

int pw_check_polar(dp_ctx *ctx, const dp_value *ins, const dp_value *params)
{
    (void)params;
    return check_parts(ctx, "second argument", ins);
}

int pw_check_polygamma(dp_ctx *ctx, const dp_value *ins, const dp_value *params)
{
    (void)ins;
    if (params[0].u.i < 0)
        return dp_fail(ctx, DP_ERUNTIME, "polygamma(n, x) does not support negative n.");
    /* PyTorch converts n to an int, which would be another number */
    if (params[0].u.i >= INT32_MAX)
        return dp_fail(ctx, DP_ERUNTIME,
                       "polygamma(n, x) does not support n = %" PRId64 ": at most %d",
                       params[0].u.i, INT32_MAX - 1);
    return 0;
}

int pw_check_softshrink(dp_ctx *ctx, const dp_value *ins, const dp_value *params)
{
    double lambda = as_double(params[0]);
    (void)ins;
    if (!(lambda >= 0))
        return dp_fail(ctx, DP_ERUNTIME,
                       "lambda must be greater or equal to 0, but found to be %g.", lambda);
    return 0;
}
