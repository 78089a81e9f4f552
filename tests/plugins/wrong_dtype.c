/* wrong_dtype.c -- asks for a dtype that does not exist, and writes an output of another dtype than
 * the one it was given. */
#include <dispatchd/plugin.h>

DP_PLUGIN(wrong_dtype, "1.0")

static int no_such(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return dp_empty_like(ctx, self, 8, DP_PRESERVE, out);
}

/* The schema says that the result is `out`; this is another tensor. */
static int other(dp_ctx *ctx, dp_tensor *self, dp_tensor *out, dp_tensor **result)
{
    (void)out;
    return dp_empty_like(ctx, self, DP_INT64, DP_PRESERVE, result);
}

DP_LIBRARY(wrong_dtype, DP_DEF("no_such(Tensor self) -> Tensor"),
           DP_DEF("other.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"))
DP_LIBRARY_IMPL(wrong_dtype, CPU, DP_IMPL_UNBOXED("no_such", no_such, (T), (T)),
                DP_IMPL_UNBOXED("other.out", other, (T, T), (T)))
