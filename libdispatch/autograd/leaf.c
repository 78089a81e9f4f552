/* leaf.c -- store or add the gradient that backward computed for a leaf
 * (torch/csrc/autograd/functions/accumulate_grad.h).
 *
 * A leaf's gradient has the leaf's strides.  But if the leaf's elements have gaps between them or
 * share memory, its gradient is contiguous.  A leaf takes over the tensor that backward computed if
 * nothing else refers to it and its strides are right; otherwise the leaf gets a clone. */
#include "engine.h"

/* Make a tensor with the leaf's sizes and strides, and copy `grad` to it: *out, owned. */
static int clone_laid_out(dp_ctx *ctx, const dp_tensor *leaf, dp_tensor *grad, dp_tensor **out)
{
    const dpi_geometry *g = dpi_geometry_of(leaf);
    const size_t n = (size_t)g->ndim;
    const dp_value args[7] = {dp_tensor_value(grad), dp_ints(g->sizes, n), dp_ints(g->strides, n)};
    int rc = dpi_call_one(ctx, "aten::new_empty_strided", args, 7, out);

    if (rc == 0 && (rc = dpi_copy_into(ctx, *out, grad)) < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

int dpi_leaf_own(dp_ctx *ctx, const dp_tensor *leaf, dp_tensor **grad)
{
    const dpi_geometry *a = dpi_geometry_of(leaf), *b = dpi_geometry_of(*grad);
    bool same = dpi_same_strides(a, b), laid_out = a->dense ? same : b->contiguous;
    dp_value args[2] = {{0}, dp_int(a->dense ? DP_PRESERVE : DP_CONTIGUOUS)};
    dp_tensor *clone;

    if (laid_out && dpi_tensor_is_only(*grad) && (*grad)->root == NULL && dpi_math_bits(*grad) == 0)
        return 0;
    if (!a->dense || same)
        return dpi_replace(ctx, "aten::clone", args, 2, grad);
    int rc = clone_laid_out(ctx, leaf, *grad, &clone);
    if (rc < 0)
        return rc;
    dp_tensor_unref(*grad);
    *grad = clone;
    return 0;
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
