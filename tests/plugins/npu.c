/* npu.c -- a backend of two devices with memory of their own, whose every operator runs on the CPU by the
 * host's dp_fallback_cpu(). */
#include <dispatchd/plugin.h>
#include "faulting_device.h"

DP_PLUGIN(npu, "1.0")
DP_BACKEND_DEVICE(npu, faultdev_ops)
DP_FALLBACK(npu, dp_fallback_cpu)

static int close_device(dp_ctx *ctx)
{
    if (faultdev.live)
        return dp_fail(ctx, DP_EBUSY, "%zu blocks were not released", faultdev.live);
    faultdev_close();
    return 0;
}
DP_ON_UNLOAD(close_device)
