/* pool.h -- running windows over tensors, for pooling operators and their gradients. */
#ifndef CPU_POOL_H
#define CPU_POOL_H

#include "window.h"

/* One pooling: `from` is the geometry of the input, `to` that of the result.  A gradient is
 * computed from `to` to `from`.  `axes` are not read if there is nothing to compute
 * (pool_is_empty). */
typedef struct pooling {
    const char *name;
    bool batched;
    space from, to;
    wn_axis *axes; /* [WN_AXES]; if by_plane is 1, that many for each plane */
    int64_t by_plane;
} pooling;

/* Test whether no axes are needed, because there are no elements or no memory. */
bool pool_is_empty(dp_ctx *ctx, const pooling *p);
/* Allocate n sets of axes.  NULL: over a memory limit. */
wn_axis *pool_axes(dp_ctx *ctx, int64_t n);

/* Compute maxima and their indices in the plane.  *out or *indices NULL: a tensor is made. */
int pool_max(dp_ctx *ctx, const pooling *p, dp_tensor *self, dp_tensor **out, dp_tensor **indices);
/* Copy the elements at the listed taps; all dtypes. */
int pool_copy(dp_ctx *ctx, const pooling *p, dp_tensor *self, dp_tensor **out);
/* Compute sums, divided as the axes say. */
int pool_add(dp_ctx *ctx, const pooling *p, dp_tensor *self, dp_tensor **out);
/* Compute the gradient of pool_add(). */
int pool_add_back(dp_ctx *ctx, const pooling *p, dp_tensor *grad, dp_tensor **out);
/* Add elements of `grad`, which has geometry p->to, to zeros of geometry p->from at the given
 * indices, or write them there in order.  DP_ERUNTIME: an index is outside its plane. */
int pool_scatter(dp_ctx *ctx, const pooling *p, bool add, dp_tensor *grad, dp_tensor *indices,
                 dp_tensor **out);
/* Set *back to the transposed pooling, which sums p's results for each element of its input.
 * `bytes` is the size of a weight, 0 if there are none. */
int pool_turn(dp_ctx *ctx, const pooling *p, size_t bytes, pooling *back);
/* Check that `t` has the sizes of p->to.  Source: check_dim_size. */
int pool_check_grad(dp_ctx *ctx, const pooling *p, dp_tensor *t);

/* Return the output argument of a boxed call; the functional variant has none.  NULL: the output
 * must be made. */
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
