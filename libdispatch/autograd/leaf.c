/* leaf.c -- give a leaf the gradient that backward computed for it
 * (torch/csrc/autograd/functions/accumulate_grad.h).
 *
 * A leaf takes over a gradient that nothing else refers to and that has the leaf's strides; it
 * gets a clone of any other. */
#include "engine.h"

int dpi_leaf_own(dp_ctx *ctx, const dp_tensor *leaf, dp_tensor **grad)
{
    const dpi_geometry *a = dpi_geometry_of(leaf), *b = dpi_geometry_of(*grad);
    bool laid_out = a->dense ? dpi_same_strides(a, b) : b->contiguous;
    dp_value args[2] = {{0}, {0}};

    if (laid_out && dpi_tensor_is_only(*grad) && (*grad)->root == NULL && dpi_math_bits(*grad) == 0)
        return 0;
    return dpi_replace(ctx, "aten::clone", args, 2, grad);
}

int dpi_leaf_add(dp_ctx *ctx, bool create, dp_tensor *leaf, dp_tensor **grad)
{
    dp_tensor *have = dp_tensor_grad(leaf);
    int rc;

    if (have == NULL) {
        rc = dp_tensor_set_grad(ctx, leaf, *grad);
        *grad = dp_tensor_unref(*grad);
        return rc;
    }
    dp_value args[3] = {dp_tensor_value(have), dp_tensor_value(*grad), dp_int(1)};
    dp_tensor *sum;
    rc = dpi_call_one(ctx, create ? "aten::add.Tensor" : "aten::add_.Tensor", args, 3, &sum);
    if (rc == 0 && create)
        rc = dp_tensor_set_grad(ctx, leaf, sum);
    if (rc == 0)
        dp_tensor_unref(sum);
    dp_tensor_unref(have);
    *grad = dp_tensor_unref(*grad);
    return rc;
}
