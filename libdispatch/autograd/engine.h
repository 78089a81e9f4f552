/* engine.h -- declarations that engine.c shares with the files that compute with gradients:
 * gradient.c and leaf.c.  `create`: backward records what it computes (DP_BACKWARD_CREATE). */
#ifndef DPI_ENGINE_H
#define DPI_ENGINE_H

#include "history.h"

#pragma GCC visibility push(hidden)

/* -- gradient.c -- */

/* Make the gradient of o->tensors[i]: the given one, checked, else ones: *out, owned.  DP_ERUNTIME:
 * its shape or kind of dtype is not the tensor's, or the tensor has not exactly one element. */
int dpi_gradient_of_root(dp_ctx *ctx, const dp_backward_options *o, size_t i, dp_tensor **out);
/* Replace *grad by a gradient with the shape and dtype of the return or leaf that `e` leads to: sum
 * the broadcast dimensions, take the real part for a real tensor, cast. */
int dpi_gradient_fit(dp_ctx *ctx, dpi_edge e, dp_tensor **grad);
/* Add `grad`, which is taken, to *sum. */
int dpi_gradient_add(dp_ctx *ctx, bool create, dp_tensor **sum, dp_tensor *grad);

/* -- leaf.c -- */

/* Replace *grad by a clone unless `leaf` can have *grad itself as its gradient. */
int dpi_leaf_own(dp_ctx *ctx, const dp_tensor *leaf, dp_tensor **grad);
/* Add *grad, which is taken and becomes NULL, to the gradient of `leaf`. */
int dpi_leaf_add(dp_ctx *ctx, bool create, dp_tensor *leaf, dp_tensor **grad);

#pragma GCC visibility pop

#endif
