/* swells.c -- a short kernel whose result is as big as an element of its argument says. */
#include <dispatchd/plugin.h>

DP_PLUGIN(swells, "1.0")

/* swell(Tensor self) -> Tensor: self float32 [2]; self[1] repeated self[0] times, a view. */
static int swell(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);
    if (x.dtype != DP_FLOAT32 || x.numel != 2)
        return dp_fail(ctx, DP_ETYPE, "swell takes two float32, not %lld %s", (long long)x.numel,
                       dp_dtype_name(x.dtype));
    int64_t n = (int64_t) * (const float *)x.data, stride = 0;
    return dp_as_strided(ctx, self, 1, &n, &stride, 1, out);
}

DP_LIBRARY(swells, DP_DEF("swell(Tensor self) -> Tensor"))
DP_LIBRARY_IMPL(swells, CPU, DP_IMPL_UNBOXED("swell", swell, (T), (T)))
