/* npu.c -- a backend of two devices with memory of their own, whose every operator runs on the CPU
 * by the host's dp_fallback_cpu(): one by a kernel that passes on what it is given, the others by
 * the fallback. */
#include <dispatchd/plugin.h>
#include "faulting_device.h"

DP_PLUGIN(npu, "1.0")
DP_BACKEND_DEVICE(npu, faultdev_ops)
DP_FALLBACK(npu, dp_fallback_cpu)

static int logit(dp_call *call)
{
    return dp_fallback_cpu(call);
}
DP_LIBRARY_IMPL(aten, npu, DP_IMPL("logit", logit))

DP_ON_UNLOAD(faultdev_unload)
