/* upsample.h -- tables of resampling: for each place of a result the places of the input and their
 * weights. */
#ifndef CPU_UPSAMPLE_H
#define CPU_UPSAMPLE_H

#include "pool.h"

enum { US_NEAREST, US_EXACT, US_LINEAR, US_CUBIC, US_LINEAR_AA, US_CUBIC_AA };

typedef struct us_kind {
    const char *name, *types_name,
        *back_name; /* in errors: its own, of dtypes, and of a gradient's */
    int mode, dims;
    unsigned types, back_types;
    bool last, last_back; /* channels_last is kept */
} us_kind;

/* One axis that is resampled. */
typedef struct us_axis {
    int64_t in, out;
    bool align;    /* align_corners */
    double scale;  /* 0 or less: out / in */
    bool wide;     /* computed as double, not as float */
    bool by_index; /* of nearest neighbours: PyTorch's formula of integers */
} us_axis;

/* DP_ERESOURCE: too many taps. */
int us_make(dp_ctx *ctx, int mode, const us_axis *u, wn_axis *a);
int us_forward(dp_call *call, const us_kind *k);
int us_backward(dp_call *call, const us_kind *k);

#endif
