/* engine.h -- functions of gradient.c and leaf.c that engine.c calls.  Their parameter `create`
 * says that backward records its own calls (DP_BACKWARD_CREATE). */
#ifndef DPI_ENGINE_H
#define DPI_ENGINE_H

#include "history.h"

#pragma GCC visibility push(hidden)

/* -- gradient.c -- */

/* Get the gradient of o->tensors[i]: *out, owned.  This is o->gradients[i] if the caller gave it,
 * else 1.  DP_ERUNTIME: the given gradient has another shape than the tensor, or only one of both
 * is complex; or no gradient was given and the tensor does not have one real element. */
int dpi_gradient_of_root(dp_ctx *ctx, const dp_backward_options *o, size_t i, dp_tensor **out);
/* Give *grad the shape and dtype of the return or leaf that `e` leads to: sum the dimensions that
 * were broadcast, take the real part if the tensor is real, convert the dtype. */
int dpi_gradient_fit(dp_ctx *ctx, dpi_edge e, dp_tensor **grad);
/* Add `grad` to *sum.  The caller's reference to `grad` is taken. */
int dpi_gradient_add(dp_ctx *ctx, bool create, dp_tensor **sum, dp_tensor *grad);

/* -- leaf.c -- */

/* A leaf and the gradient that one backward computed for it. */
typedef struct dpi_leaf_grad {
    dp_tensor *leaf; /* borrowed */
    dp_tensor *grad; /* owned; what to add, and then the sum; NULL: another item has it */
    /* owned; the leaf's gradient, to which the sum is written; NULL: the sum takes its place */
    dp_tensor *have;
} dpi_leaf_grad;
/* Compute what the gradients of the leaves in l [n] will be.  Changes none of them. */
int dpi_leaves_sum(dp_ctx *ctx, bool create, dpi_leaf_grad *l, uint32_t n);
/* Make the sums the gradients of the leaves.  Fails only if a device does. */
int dpi_leaves_store(dp_ctx *ctx, dpi_leaf_grad *l, uint32_t n);
void dpi_leaves_free(dpi_leaf_grad *l, uint32_t n);

#pragma GCC visibility pop

#endif
