/* returns_nothing.c -- kernels that succeed and leave an output out. */
#include <dispatchd/plugin.h>

DP_PLUGIN(returns_nothing, "1.0")

static int boxed(dp_call *call, dp_error *err)
{
    (void)call;
    (void)err;
    return 0;
}

static int unboxed(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    (void)ctx;
    (void)self;
    (void)out;
    return 0;
}

/* One of two. */
static int half(dp_call *call, dp_error *err)
{
    (void)err;
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return 0;
}

DP_LIBRARY(returns_nothing, DP_DEF("boxed(Tensor self) -> Tensor"),
           DP_DEF("unboxed(Tensor self) -> Tensor"),
           DP_DEF("half(Tensor self) -> (Tensor, Tensor)"))
DP_LIBRARY_IMPL(returns_nothing, CPU, DP_IMPL("boxed", boxed),
                DP_IMPL_UNBOXED("unboxed", unboxed, (T), (T)), DP_IMPL("half", half))
