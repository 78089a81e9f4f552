/* forgets_flag.c -- composite kernels that read and write bytes, and one that asks whether there
 * are any. */
#include <dispatchd/plugin.h>

DP_PLUGIN(forgets_flag, "1.0")

static int first(dp_ctx *ctx, dp_tensor *self, dp_value *out)
{
    DP_VIEW(x, self);

    (void)ctx;
    *out = dp_double(*(const float *)x.data);
    return 0;
}

static int made(dp_ctx *ctx, double value, dp_tensor **out)
{
    int rc = dp_empty(ctx, DP_FLOAT32, DP_DEVICE_CPU, 0, NULL, DP_CONTIGUOUS, out);

    if (rc == 0) {
        DP_VIEW(y, *out);
        *(float *)y.data = (float)value;
    }
    return rc;
}

static int next(dp_ctx *ctx, int64_t n, int64_t *out)
{
    (void)ctx;
    *out = n + 1;
    return 0;
}

/* Marked: how much memory the call has, and its result. */
static int asks(dp_ctx *ctx, dp_tensor *self, dp_tensor **out, bool *memoryless)
{
    DP_VIEW(x, self);

    *memoryless = dp_memoryless(ctx);
    return dp_empty(ctx, x.dtype, x.device, x.ndim, x.sizes, DP_CONTIGUOUS, out);
}

DP_LIBRARY(forgets_flag, DP_DEF("implicit(Tensor self) -> Scalar"),
           DP_DEF("explicit(Tensor self) -> Scalar"), DP_DEF("made(float value) -> Tensor"),
           DP_DEF("next(int n) -> int"), DP_DEF("asks(Tensor self) -> (Tensor, bool)"))
DP_LIBRARY_IMPL(forgets_flag, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("implicit", first, (T), (s)),
                DP_IMPL_UNBOXED("next", next, (i), (i)))
DP_LIBRARY_IMPL(forgets_flag, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("explicit", first, (T), (s)),
                DP_IMPL_UNBOXED("made", made, (f), (T)))
DP_LIBRARY_META(forgets_flag, CompositeImplicitAutograd, DP_IMPL_UNBOXED("asks", asks, (T), (T, b)))
