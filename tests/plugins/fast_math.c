/* fast_math.c -- built as many numeric libraries are: the linker adds crtfastmath, which makes
 * subnormal numbers zero on the thread that loads the file. */
/* CFLAGS: -Ofast */
#include <dispatchd/plugin.h>

DP_PLUGIN(fast_math, "1.0")

static int half(dp_ctx *ctx, double x, double *out)
{
    (void)ctx;
    *out = x / 2;
    return 0;
}

DP_LIBRARY(fast_math, DP_DEF("half(float x) -> float"), DP_IMPL_UNBOXED("half", half, (f), (f)))
