/* upsample.h -- upsampling of tensors, one axis at a time: a table has, for each element of a
 * result, the indices of some input elements (taps, window.h) and their weights. */
#ifndef CPU_UPSAMPLE_H
#define CPU_UPSAMPLE_H

#include "pool.h"

enum { US_NEAREST, US_EXACT, US_LINEAR, US_CUBIC, US_LINEAR_AA, US_CUBIC_AA };

/* an operator and its gradient */
typedef struct us_kind {
    /* names in error messages: of the operator, of its loop, of the gradient */
    const char *name, *types_name, *back_name;
    int mode, dims;             /* US_*; number of spatial dimensions */
    unsigned types, back_types; /* masks of dtypes (DENSE_BIT()) that each of them takes */
    bool last, last_back;       /* the result, and the gradient, may be channels_last */
} us_kind;

/* an axis that is resampled */
typedef struct us_axis {
    int64_t in, out;
    bool align;    /* align_corners */
    double scale;  /* the scale argument; 0 or less stands for out / in */
    bool wide;     /* indices and weights are computed in double, not in float */
    bool by_index; /* nearest neighbours are those of PyTorch's nearest_idx() */
} us_axis;

/* Make axis `a` with the taps of `u` for `mode` (US_*).  DP_ERESOURCE: there are too many taps. */
int us_make(dp_ctx *ctx, int mode, const us_axis *u, wn_axis *a);
/* Run the operator that `k` describes; run the gradient of this operator. */
int us_forward(dp_call *call, const us_kind *k);
int us_backward(dp_call *call, const us_kind *k);

#endif
