/* dispatchd/autocast.h -- kernels for the Autocast keys, by which a plugin's operator joins a
 * policy of autocast in one line:
 *
 *     DP_LIBRARY_IMPL(mine, AutocastCPU, DP_IMPL("scale", dp_cast_lower_precision_fp))
 *
 * Key AutocastNamed registers a kernel for all named backends, AutocastCPU for the CPU.  Operators
 * without such a kernel run in the dtypes of their arguments. */
#ifndef DISPATCHD_AUTOCAST_H
#define DISPATCHD_AUTOCAST_H

#include "plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All eligible arguments (floating-point, not float64, on the device) get the dtype of autocast. */
static inline int dp_cast_lower_precision_fp(dp_call *call)
{
    return dp_autocast(call, DP_CAST_LOWER_PRECISION_FP);
}
/* All eligible arguments get float32. */
static inline int dp_cast_fp32(dp_call *call)
{
    return dp_autocast(call, DP_CAST_FP32);
}
/* If the first argument is eligible, an argument `dtype` that is None is float32. */
static inline int dp_cast_fp32_set_opt_dtype(dp_call *call)
{
    return dp_autocast(call, DP_CAST_FP32_SET_OPT_DTYPE);
}
/* All eligible arguments get the widest dtype among them. */
static inline int dp_cast_promote(dp_call *call)
{
    return dp_autocast(call, DP_CAST_PROMOTE);
}

#ifdef __cplusplus
}
#endif
#endif
