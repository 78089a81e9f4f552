/* dozes.c -- a kernel that is short, until it is told to take its time (ms > 0). */
#include <dispatchd/plugin.h>
#include <time.h>

DP_PLUGIN(dozes, "1.0")

static int doze(dp_ctx *ctx, dp_tensor *self, int64_t ms, int64_t *out)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    (void)ctx;
    (void)self;
    if (ms > 0)
        nanosleep(&t, NULL);
    *out = ms;
    return 0;
}

DP_LIBRARY(dozes, DP_DEF("doze(Tensor self, int ms=0) -> int"))
DP_LIBRARY_IMPL(dozes, CPU, DP_IMPL_UNBOXED("doze", doze, (T, i), (i)))
