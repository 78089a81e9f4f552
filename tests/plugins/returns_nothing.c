/* returns_nothing.c -- kernels that succeed and leave an output out. */
#include <dispatchd/plugin.h>

DP_PLUGIN(returns_nothing, "1.0")

static int boxed(dp_call *call)
{
    (void)call;
    return 0;
}

static int unboxed(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    (void)ctx;
    (void)self;
    (void)out;
    return 0;
}

/* Nothing for a Tensor?, which is None: what a kernel may do. */
static int optional(dp_ctx *ctx, dp_tensor *self, bool some, dp_tensor **out)
{
    (void)ctx;
    *out = some ? dp_tensor_ref(self) : NULL;
    return 0;
}

/* Every other optional return is a dp_value, which comes in as None. */
static int number(dp_ctx *ctx, dp_tensor *self, bool some, dp_value *out)
{
    (void)ctx;
    (void)self;
    if (some)
        *out = dp_int(7);
    return 0;
}

static int asks_number(dp_ctx *ctx, dp_tensor *self, bool some, int64_t *out)
{
    dp_value v = dp_none();
    int rc = dp_invoke(ctx, "returns_nothing::number", "Tb>oi", self, some, &v);

    *out = v.tag == DP_TAG_INT ? v.u.i : v.tag == DP_TAG_NONE ? -1 : -2;
    return rc;
}

/* The same through dp_invoke, and whether there was a tensor. */
static int asks(dp_ctx *ctx, dp_tensor *self, bool some, bool *out)
{
    dp_tensor *t = NULL;
    int rc = dp_invoke(ctx, "returns_nothing::optional", "Tb>oT", self, some, &t);

    *out = t != NULL;
    dp_tensor_unref(t);
    return rc;
}

/* One of two. */
static int half(dp_call *call)
{
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return 0;
}

DP_LIBRARY(returns_nothing, DP_DEF("boxed(Tensor self) -> Tensor"),
           DP_DEF("unboxed(Tensor self) -> Tensor"),
           DP_DEF("optional(Tensor self, bool some) -> Tensor?"),
           DP_DEF("number(Tensor self, bool some) -> int?"),
           DP_DEF("asks_number(Tensor self, bool some) -> int"),
           DP_DEF("asks(Tensor self, bool some) -> bool"),
           DP_DEF("half(Tensor self) -> (Tensor, Tensor)"))
DP_LIBRARY_IMPL(returns_nothing, CPU, DP_IMPL("boxed", boxed),
                DP_IMPL_UNBOXED("unboxed", unboxed, (T), (T)), DP_IMPL("half", half),
                DP_IMPL_UNBOXED("optional", optional, (T, b), (oT)),
                DP_IMPL_UNBOXED("number", number, (T, b), (oi)),
                DP_IMPL_UNBOXED("asks_number", asks_number, (T, b), (i)),
                DP_IMPL_UNBOXED("asks", asks, (T, b), (b)))
