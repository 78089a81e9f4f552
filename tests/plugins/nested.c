/* nested.c -- a kernel that makes many calls, each of which takes memory for a while. */
#include <dispatchd/plugin.h>

DP_PLUGIN(nested, "1.0")

static int adds(dp_ctx *ctx, dp_tensor *self, int64_t n, dp_tensor **out)
{
    dp_tensor *sum = NULL;
    int rc = 0;

    for (int64_t i = 0; i < n && rc == 0; i++) {
        dp_tensor_unref(sum);
        sum = NULL;
        rc = DP_INVOKE(ctx, "aten::add.Tensor", (T, T), (T), self, self, &sum);
    }
    *out = sum;
    return rc;
}

DP_LIBRARY(nested, DP_DEF("adds(Tensor self, int n) -> Tensor"),
           DP_IMPL_UNBOXED("adds", adds, (T, i), (T)))
