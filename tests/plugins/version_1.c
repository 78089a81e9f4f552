/* version_1.c -- plugin `version`, release 1: what a reload of a rebuilt file finds. */
#include <dispatchd/plugin.h>

DP_PLUGIN(version, "1.0")

static int value(dp_ctx *ctx, dp_tensor *self, int64_t *out)
{
    (void)ctx;
    (void)self;
    *out = 1;
    return 0;
}

DP_LIBRARY(version, DP_DEF("value(Tensor self) -> int"))
DP_LIBRARY_IMPL(version, CPU, DP_IMPL_UNBOXED("value", value, (T), (i)))
