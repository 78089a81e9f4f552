/* pool.h -- what pooling operators share: running windows over tensors, and giving gradients
 * back. */
#ifndef CPU_POOL_H
#define CPU_POOL_H

#include "window.h"

/* One pooling: `from` is the geometry of what is pooled, `to` that of the result.  A gradient goes
 * from `to` to `from`.  axes are not read where there is nothing to compute (pool_is_empty). */
typedef struct pooling {
    const char *name;
    bool batched;
    space from, to;
    wn_axis *axes; /* [WN_AXES], or of every plane if by_plane is 1 */
    int64_t by_plane;
} pooling;

/* No axes are needed: there are no elements or no memory. */
bool pool_is_empty(dp_ctx *ctx, const pooling *p);
/* Room for n sets of axes.  NULL: there is none. */
wn_axis *pool_axes(dp_ctx *ctx, int64_t n);

/* *out, *indices: NULL is made.  An index counts the places of its plane. */
int pool_max(dp_ctx *ctx, const pooling *p, dp_tensor *self, dp_tensor **out, dp_tensor **indices);
/* Elements at the places of lists, of any dtype. */
int pool_copy(dp_ctx *ctx, const pooling *p, dp_tensor *self, dp_tensor **out);
/* Sums, divided as axes say. */
int pool_add(dp_ctx *ctx, const pooling *p, dp_tensor *self, dp_tensor **out);
/* The gradient of pool_add(). */
int pool_add_back(dp_ctx *ctx, const pooling *p, dp_tensor *grad, dp_tensor **out);
/* Elements of grad, of p->to, go where indices say: added to zeros of p->from, or put there in
 * order.  DP_ERUNTIME: an index outside of its plane. */
int pool_scatter(dp_ctx *ctx, const pooling *p, bool add, dp_tensor *grad, dp_tensor *indices,
                 dp_tensor **out);
/* The way back: sums of p's results for its inputs.  bytes: of a weight, 0 where there are none. */
int pool_turn(dp_ctx *ctx, const pooling *p, size_t bytes, pooling *back);
/* Fails unless t has p->to's sizes.  Source: check_dim_size. */
int pool_check_grad(dp_ctx *ctx, const pooling *p, dp_tensor *t);

/* Which argument of a boxed call is the output; of its functional form none is.  NULL: it is to be
 * made. */
static inline dp_tensor *pool_given(const dp_call *call, uint32_t at)
{
    return call->n_args > at ? call->args[at].u.t : NULL;
}
/* Hands on *made, which the call that gave rc has set, where the call has the n_args arguments of a
 * functional form: other forms were given it. */
static inline int pool_return(dp_call *call, int rc, uint32_t n_args, uint32_t i,
                              dp_tensor *const *made)
{
    if (rc == 0 && call->n_args == n_args)
        call->rets[i] = dp_tensor_value(*made);
    return rc;
}

#endif
