/* pointwise_check.c -- what operators refuse before anything is computed (`check` of pointwise.yaml). */
#include "../dims.h"
#include "pointwise.h"

/* Such a power would not be an integer (at::native::pow_Tensor_Scalar). */
int pw_check_power(dp_ctx *ctx, const dp_value *ins, const dp_value *params)
{
    DP_VIEW(x, ins[0].u.t);
    (void)params;
    if (dp_dtype_is_integral(x.dtype, true) && ins[1].tag == DP_TAG_INT && ins[1].u.i < 0)
        return dp_fail(ctx, DP_ERUNTIME, "Integers to negative integer powers are not allowed.");
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
