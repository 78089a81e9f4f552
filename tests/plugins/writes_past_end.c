/* writes_past_end.c -- writes one element past its output: the address sanitizer must see it. */
#include <dispatchd/plugin.h>

DP_PLUGIN(writes_past_end, "1.0")

static int kernel(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    int rc = dp_empty_like(ctx, self, DP_FLOAT32, DP_CONTIGUOUS, out);
    if (rc < 0)
        return rc;
    DP_VIEW(y, *out);
    for (int64_t i = 0; i <= y.numel; i++)
        ((volatile float *)y.data)[i] = 1.0f;
    return 0;
}

DP_LIBRARY(writes_past_end, DP_DEF("f(Tensor self) -> Tensor"))
DP_LIBRARY_IMPL(writes_past_end, CPU, DP_IMPL_UNBOXED("f", kernel, (T), (T)))
