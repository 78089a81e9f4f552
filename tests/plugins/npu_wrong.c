/* npu_wrong.c -- the backend of npu.c with kernels of its own: exp, equal and mul_ are wrong,
 * sqrt differs from the CPU's in its last bits only, and sinh ends the daemon. */
#include <dispatchd/plugin.h>
#include "faulting_device.h"
#include <stdlib.h>

DP_PLUGIN(npu, "1.1")
DP_BACKEND_DEVICE(npu, faultdev_ops)
DP_FALLBACK(npu, dp_fallback_cpu)

static int wrong_exp(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return DP_INVOKE(ctx, "aten::neg", (T), (T), self, out);
}

static int rough_sqrt(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_tensor *root;
    int rc = DP_INVOKE(ctx, "aten::pow.Tensor_Scalar", (T, s), (T), self, dp_double(0.5), &root);

    if (rc < 0)
        return rc;
    rc = DP_INVOKE(ctx, "aten::mul.Scalar", (T, s), (T), root, dp_double(1.0000003), out);
    dp_tensor_unref(root);
    return rc;
}

static int never_equal(dp_ctx *ctx, dp_tensor *a, dp_tensor *b, bool *out)
{
    (void)ctx;
    (void)a;
    (void)b;
    *out = false;
    return 0;
}

/* Adds what it should multiply by. */
static int wrong_mul_(dp_ctx *ctx, dp_tensor *self, dp_tensor *other)
{
    return DP_INVOKE(ctx, "aten::add_.Tensor", (T, T, s), (), self, other, dp_int(1));
}

static int crashing_sinh(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    (void)ctx;
    (void)self;
    (void)out;
    abort();
}

DP_LIBRARY_IMPL(aten, npu, DP_IMPL_UNBOXED("exp", wrong_exp, (T), (T)),
                DP_IMPL_UNBOXED("sqrt", rough_sqrt, (T), (T)),
                DP_IMPL_UNBOXED("equal", never_equal, (T, T), (b)),
                DP_IMPL_UNBOXED("mul_.Tensor", wrong_mul_, (T, T), ()),
                DP_IMPL_UNBOXED("sinh", crashing_sinh, (T), (T)))

DP_ON_UNLOAD(faultdev_unload)
