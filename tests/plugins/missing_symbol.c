/* missing_symbol.c -- uses a function that nobody has: dlopen must refuse it at once, by name. */
#include <dispatchd/plugin.h>

DP_PLUGIN(missing_symbol, "1.0")

extern int not_anywhere(void);

static int kernel(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    (void)ctx;
    *out = not_anywhere() ? dp_tensor_ref(self) : NULL;
    return 0;
}

DP_LIBRARY(missing_symbol, DP_DEF("f(Tensor self) -> Tensor"))
DP_LIBRARY_IMPL(missing_symbol, CPU, DP_IMPL_UNBOXED("f", kernel, (T), (T)))
