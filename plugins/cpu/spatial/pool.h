/* pool.h -- maxima and sums over windows of tensors, for pooling operators and their gradients. */
#ifndef CPU_POOL_H
#define CPU_POOL_H

#include "window.h"

/* One pooling: `from` is the geometry of the input, `to` the geometry of the result.  A gradient is
 * computed from a tensor of geometry `to`, and has geometry `from`.  `axes` may be NULL if
 * pool_is_empty(). */
typedef struct pooling {
    const char *name; /* name of the operator in error messages */
    bool batched;     /* tensors have a batch dimension */
    space from, to;
    wn_axis *axes;    /* [WN_AXES] if by_plane is 0; else [planes * WN_AXES] */
    int64_t by_plane; /* 1: each plane has axes of its own (pool_max() only); 0: all share them */
} pooling;

/* Test whether nothing is computed, because neither the input nor the result has elements, or
 * because the call's tensors have no memory (dp_memoryless()). */
bool pool_is_empty(dp_ctx *ctx, const pooling *p);
/* Allocate n sets of WN_AXES axes.  NULL: over a memory limit. */
wn_axis *pool_axes(dp_ctx *ctx, int64_t n);

/* Compute maxima, and their indices in the plane.  *out or *indices NULL: it is set to a new
 * tensor. */
int pool_max(dp_ctx *ctx, const pooling *p, dp_tensor *self, dp_tensor **out, dp_tensor **indices);
/* Set each element of the result to the element of self at its only tap (window.h); all dtypes. */
int pool_copy(dp_ctx *ctx, const pooling *p, dp_tensor *self, dp_tensor **out);
/* Compute sums, divided by the divisors of the axes. */
int pool_add(dp_ctx *ctx, const pooling *p, dp_tensor *self, dp_tensor **out);
/* Compute the gradient of pool_add(). */
int pool_add_back(dp_ctx *ctx, const pooling *p, dp_tensor *grad, dp_tensor **out);
/* Make a tensor of zeros of geometry p->from, and write each element of `grad`, which has geometry
 * p->to, to the element at its index, in order; with `add`, add it.  DP_ERUNTIME: an index is
 * outside its plane. */
int pool_scatter(dp_ctx *ctx, const pooling *p, bool add, dp_tensor *grad, dp_tensor *indices,
                 dp_tensor **out);
/* Set *back to the transposed pooling, for gradients: pool_add() of *back sums, for each element of
 * p's input, the elements of the result to which this input element contributes.  p->by_plane must
 * be 0.  `bytes` is the size of a weight, 0 if the axes have no weights. */
int pool_turn(dp_ctx *ctx, const pooling *p, size_t bytes, pooling *back);
/* Check that `t` has the sizes of p->to.  Source: check_dim_size. */
int pool_check_grad(dp_ctx *ctx, const pooling *p, dp_tensor *t);

/* Return argument `at`, the out= argument of a boxed call.  NULL: the call is of the functional
 * variant, which has no such argument. */
static inline dp_tensor *pool_given(const dp_call *call, uint32_t at)
{
    return call->n_args > at ? call->args[at].u.t : NULL;
}
/* Return `rc`, and set return `i` to *made if the call is functional, that is, has n_args
 * arguments. */
static inline int pool_return(dp_call *call, int rc, uint32_t n_args, uint32_t i,
                              dp_tensor *const *made)
{
    if (rc == 0 && call->n_args == n_args)
        call->rets[i] = dp_tensor_value(*made);
    return rc;
}

#endif
