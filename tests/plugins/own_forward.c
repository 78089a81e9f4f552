/* own_forward.c -- operators whose gradients the operators of own_backward.c compute, and one whose
 * gradient a formula of slope_1.c or slope_2.c computes. */
#include <dispatchd/plugin.h>

DP_PLUGIN(own_forward, "1.0")

static int product(dp_ctx *ctx, dp_tensor *x, dp_tensor *y, dp_tensor **out)
{
    return DP_INVOKE(ctx, "aten::mul.Tensor", (T, T), (T), x, y, out);
}

/* own::cube(Tensor x) -> Tensor */
static int cube(dp_ctx *ctx, dp_tensor *x, dp_tensor **out)
{
    dp_tensor *square;
    int rc = product(ctx, x, x, &square);

    if (rc < 0)
        return rc;
    rc = product(ctx, square, x, out);
    dp_tensor_unref(square);
    return rc;
}

/* own::same(Tensor x) -> Tensor: a copy; the formula is another plugin's */
static int same(dp_ctx *ctx, dp_tensor *x, dp_tensor **out)
{
    return DP_INVOKE(ctx, "aten::clone", (T), (T), x, out);
}

static int record(dp_call *call, uint32_t flags)
{
    const dp_saved saved[] = {dp_save_argument(0), dp_save_value(dp_double(3))};
    const dp_recording how = {.size = sizeof(how),
                              .flags = flags,
                              .backward = "own_back::cube",
                              .saved = saved,
                              .n_saved = 2};

    return dp_record_as(call, &how);
}
static int record_cube(dp_call *call)
{
    return record(call, 0);
}
static int record_once(dp_call *call)
{
    return record(call, DP_RECORD_ONCE);
}

DP_LIBRARY(own, DP_DEF("cube(Tensor x) -> Tensor"), DP_DEF("cube_once(Tensor x) -> Tensor"),
           DP_DEF("same(Tensor x) -> Tensor"))
DP_LIBRARY_IMPL(own, CPU, DP_IMPL_UNBOXED("cube", cube, (T), (T)),
                DP_IMPL_UNBOXED("same", same, (T), (T)))
DP_KERNEL(cube_once, own, CPU, "cube_once", cube, (T), (T))
DP_LIBRARY_GRAD(own, Autograd, DP_IMPL_BELOW("cube", record_cube),
                DP_IMPL_BELOW("cube_once", record_once))
