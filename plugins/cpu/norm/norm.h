/* norm.h -- the loops of normalization, which levels/norm.c defines, and batch_norm.c and
 * layer_group_norm.c call.
 *
 * The elements of a plane are contiguous; so are those of each row of a matrix. */
#ifndef CPU_NORM_H
#define CPU_NORM_H

#include "core/isa.h"

/* Consecutive planes of `size` elements.  The meaning of coefficients [planes] and of results
 * [planes] depends on the loop (NM_* below). */
typedef struct nm_planes {
    const void *x, *dy; /* input; gradient of the output */
    void *y;
    int64_t size;
    double *sum, *more;             /* results */
    const double *mean, *f, *k, *g; /* coefficients */
} nm_planes;

/* Rows of `n` elements; row i is normalized by mean[i] and rstd[i] = 1 / sqrt(variance + eps).
 * gamma [n] and beta [n] may be NULL. */
typedef struct nm_rows {
    const void *x, *dy, *gamma, *beta;
    void *y, *mean, *rstd;
    int64_t n;
    double eps;
    /* for the gradients of gamma and beta: number of rows; rows of a chunk, which is summed
     * separately; sums [chunks, 2, n] */
    int64_t rows, chunk;
    double *sums;
} nm_rows;

/* A matrix [rows, n] whose columns are normalized, with coefficients [n].  `chunk` and `sums` are
 * as in nm_rows. */
typedef struct nm_columns {
    const void *x, *dy;
    void *y;
    int64_t rows, n, chunk;
    double *sums;                   /* [chunks, 2, n] */
    const double *mean, *f, *k, *g; /* [n] */
} nm_columns;

/* The loops.  A comment with `range over` says which index dp_parallel_for() counts; else it counts
 * planes or rows. */
enum {
    NM_PLANE_MOMENTS,  /* sum: mean; more: sum of squared distances from the mean */
    NM_PLANE_SCALE,    /* y = x * f + g */
    NM_PLANE_DOTS,     /* sum: sum of dy; more: sum of dy * (x - mean) */
    NM_PLANE_SLOPE,    /* y = dy * f - ((x - mean) * k + g) */
    NM_ROW_NORM,       /* y = (x - mean) * rstd * gamma + beta; mean, rstd */
    NM_ROW_SLOPE,      /* y: the gradient by x */
    NM_ROW_DOTS,       /* sums of dy * (x - mean) * rstd and of dy; range over chunks */
    NM_COLUMN_SUMS,    /* sums of x; range over chunks */
    NM_COLUMN_SQUARES, /* sums of (x - mean)^2 and of x - mean; range over chunks */
    NM_COLUMN_SCALE,   /* like NM_PLANE_SCALE; range over rows */
    NM_COLUMN_DOTS,    /* like NM_PLANE_DOTS; range over chunks */
    NM_COLUMN_SLOPE,   /* like NM_PLANE_SLOPE; range over rows */
    NM_LOOPS
};

/* [NM_LOOPS]: a loop for float32 and for float64 */
typedef struct nm_row {
    dp_range_fn run[2];
} nm_row;
DP_ISA_TABLE(nm_row, nm_loops)

#endif
