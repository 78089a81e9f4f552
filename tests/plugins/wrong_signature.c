/* wrong_signature.c -- a kernel whose C type contradicts its schema: int64_t where float is. */
#include <dispatchd/plugin.h>

DP_PLUGIN(wrong_signature, "1.0")

static int kernel(dp_ctx *ctx, dp_tensor *self, int64_t factor, dp_tensor **out)
{
    (void)ctx;
    (void)factor;
    *out = dp_tensor_ref(self);
    return 0;
}

DP_LIBRARY(wrong_signature, DP_DEF("f(Tensor self, float factor) -> Tensor"))
DP_LIBRARY_IMPL(wrong_signature, CPU, DP_IMPL_UNBOXED("f", kernel, (T, i), (T)))
