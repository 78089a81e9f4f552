/* own_backward.c -- the operator that computes the gradients of own_forward.c's. */
#include <dispatchd/plugin.h>

DP_PLUGIN(own_backward, "1.0")

/* own_back::cube(Tensor grad, Tensor x, float n) -> Tensor: grad * n * x * x, by operators that can
 * be differentiated */
static int cube(dp_ctx *ctx, dp_tensor *grad, dp_tensor *x, double n, dp_tensor **out)
{
    dp_tensor *square, *slope = NULL;
    int rc = DP_INVOKE(ctx, "aten::mul.Tensor", (T, T), (T), x, x, &square);

    if (rc < 0)
        return rc;
    rc = DP_INVOKE(ctx, "aten::mul.Scalar", (T, s), (T), square, dp_double(n), &slope);
    dp_tensor_unref(square);
    if (rc < 0)
        return rc;
    rc = DP_INVOKE(ctx, "aten::mul.Tensor", (T, T), (T), grad, slope, out);
    dp_tensor_unref(slope);
    return rc;
}

DP_LIBRARY(own_back, DP_DEF("cube(Tensor grad, Tensor x, float n) -> Tensor"))
DP_LIBRARY_IMPL(own_back, CompositeImplicitAutograd, DP_IMPL_UNBOXED("cube", cube, (T, T, f), (T)))
