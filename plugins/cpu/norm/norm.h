/* norm.h -- the loops of normalisation: norm.c and its kin prepare them, levels/norm.c runs them.
 *
 * A plane is a run of elements that lie side by side; a matrix has its rows so. */
#ifndef CPU_NORM_H
#define CPU_NORM_H

#include "core/isa.h"

/* Planes of `size` elements, one behind the other.  Coefficients [planes], as the loop needs
 * them. */
typedef struct nm_planes {
    const void *x, *dy;
    void *y;
    int64_t size;
    double *sum, *more;             /* results */
    const double *mean, *f, *k, *g; /* coefficients */
} nm_planes;

/* Rows of n elements, each normalised by itself: mean and rstd [rows], gamma and beta [n] or
 * NULL. */
typedef struct nm_rows {
    const void *x, *dy, *gamma, *beta;
    void *y, *mean, *rstd;
    int64_t n;
    double eps;
    /* of the slopes of gamma and beta: chunks of `chunk` of all `rows`, each with sums [2, n] of
     * doubles */
    int64_t rows, chunk;
    double *sums;
} nm_rows;

/* A matrix [rows, n] whose columns are normalised; coefficients [n].  Chunks as in nm_rows. */
typedef struct nm_columns {
    const void *x, *dy;
    void *y;
    int64_t rows, n, chunk;
    double *sums;                   /* [chunks, 2, n] */
    const double *mean, *f, *k, *g; /* [n] */
} nm_columns;

enum {
    NM_PLANE_MOMENTS,  /* sum: mean; more: sum of squared distances from it */
    NM_PLANE_SCALE,    /* y = x * f + g */
    NM_PLANE_DOTS,     /* sum: of dy; more: of dy * (x - mean) */
    NM_PLANE_SLOPE,    /* y = dy * f - ((x - mean) * k + g) */
    NM_ROW_NORM,       /* y = (x - mean) * rstd * gamma + beta; mean, rstd */
    NM_ROW_SLOPE,      /* y: the slope of x */
    NM_ROW_DOTS,       /* sums: of dy * (x - mean) * rstd and of dy; over chunks */
    NM_COLUMN_SUMS,    /* sums: of x; over chunks */
    NM_COLUMN_SQUARES, /* sums: of (x - mean)^2 and of x - mean; over chunks */
    NM_COLUMN_SCALE,   /* as of planes; over rows */
    NM_COLUMN_DOTS,    /* over chunks */
    NM_COLUMN_SLOPE,   /* over rows */
    NM_LOOPS
};

/* [NM_LOOPS]: for float32 and for float64. */
typedef struct nm_row {
    dp_range_fn run[2];
} nm_row;
DP_ISA_TABLE(nm_row, nm_loops)

#endif
