/* failing_on_unload.c -- refuses its first unload, without saying why and with a code that is none.
 */
#include <dispatchd/plugin.h>

DP_PLUGIN(failing_on_unload, "1.0")

static int asked;

static int on_unload(dp_ctx *ctx)
{
    (void)ctx;
    return asked++ ? 0 : 77;
}

static int kernel(dp_ctx *ctx, dp_tensor *self, int64_t *out)
{
    (void)ctx;
    (void)self;
    *out = asked;
    return 0;
}

DP_ON_UNLOAD(on_unload)
DP_LIBRARY(failing_on_unload, DP_DEF("asked(Tensor self) -> int"))
DP_LIBRARY_IMPL(failing_on_unload, CPU, DP_IMPL_UNBOXED("asked", kernel, (T), (i)))
