/* upsample.h -- tables of resampling: for each element of a result, the indices of input elements
 * and their weights. */
#ifndef CPU_UPSAMPLE_H
#define CPU_UPSAMPLE_H

#include "pool.h"

enum { US_NEAREST, US_EXACT, US_LINEAR, US_CUBIC, US_LINEAR_AA, US_CUBIC_AA };

typedef struct us_kind {
    /* names in errors: of the operator, of its loop, of the gradient */
    const char *name, *types_name, *back_name;
    int mode, dims;
    unsigned types, back_types;
    bool last, last_back; /* channels_last is kept in the result, and in the gradient */
} us_kind;

/* an axis that is resampled */
typedef struct us_axis {
    int64_t in, out;
    bool align;    /* align_corners */
    double scale;  /* 0 or less: out / in */
    bool wide;     /* computed in double, not in float */
    bool by_index; /* nearest neighbours use PyTorch's integer formula */
} us_axis;

/* Make the taps of an axis.  DP_ERESOURCE: there are too many. */
int us_make(dp_ctx *ctx, int mode, const us_axis *u, wn_axis *a);
int us_forward(dp_call *call, const us_kind *k);
int us_backward(dp_call *call, const us_kind *k);

#endif
