/* joins_autocast.c -- operators that join policies of autocast, for the CPU and for named
 * backends. */
#include <dispatchd/plugin.h>
#include <dispatchd/autocast.h>

DP_PLUGIN(joins_autocast, "1.0")

static int same(dp_call *call)
{
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return 0;
}

DP_LIBRARY(joins, DP_DEF("lower(Tensor x) -> Tensor"), DP_DEF("fp32(Tensor x) -> Tensor"))
DP_LIBRARY_META(joins, CompositeExplicitAutograd, DP_IMPL("lower", same), DP_IMPL("fp32", same))
DP_LIBRARY_IMPL(joins, AutocastCPU, DP_IMPL("lower", dp_cast_lower_precision_fp),
                DP_IMPL("fp32", dp_cast_fp32))
DP_LIBRARY_IMPL(joins, AutocastNamed, DP_IMPL("lower", dp_cast_lower_precision_fp))
