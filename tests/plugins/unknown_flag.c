/* unknown_flag.c -- refused: a flag that no host of this version knows, so none would act on it. */
#include <dispatchd/plugin.h>

DP_PLUGIN(unknown_flag, "1.0")

static int f(dp_ctx *ctx, dp_tensor *self, int64_t *out)
{
    (void)ctx, (void)self;
    *out = 1;
    return 0;
}

DP_LIBRARY(unknown_flag, DP_DEF("f(Tensor self) -> int"))
DP_KERNEL_FLAGS(flagged, 0x100, unknown_flag, CPU, "f", f, (T), (i))
