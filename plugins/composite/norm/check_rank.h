/* check_rank.h -- a check of the input's number of dimensions, for batch_norm and other operators
 * that normalize channels. */
#ifndef COMPOSITE_CHECK_RANK_H
#define COMPOSITE_CHECK_RANK_H

#include <dispatchd/plugin.h>

/* Check that `x` has at least two dimensions, batch and channels: [N, C, ...]. */
static inline int check_rank(dp_ctx *ctx, const dp_view *x)
{
    if (x->ndim >= 2)
        return 0;
    if (x->ndim == 0)
        return dp_fail(ctx, DP_EINDEX, "Dimension specified as 0 but tensor has no dimensions");
    return dp_fail(ctx, DP_EINDEX,
                   "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
}

#endif
