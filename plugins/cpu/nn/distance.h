/* distance.h -- the loops of pdist and cdist for the norms 0, 1, 2 and infinity: distance.c calls
 * them, levels/distance.c has them. */
#ifndef CPU_DISTANCE_H
#define CPU_DISTANCE_H

#include "core/isa.h"

typedef struct ds_job {
    const void *x, *y;             /* rows of `columns` elements; `y` only for cdist */
    void *out;                     /* results, of the type of x */
    int64_t rows, others, columns; /* rows of x; rows of y; columns of both */
} ds_job;

enum { DS_COUNT, DS_SUM, DS_SQUARES, DS_MOST, DS_NORMS };
/* pairs of rows for pdist, rows for cdist; both are ranges over x's rows */
enum { DS_PAIRS, DS_ROWS, DS_FORMS };

/* [DS_NORMS] */
typedef struct ds_row {
    dp_range_fn run[2][DS_FORMS]; /* for float32 and for float64 */
} ds_row;
DP_ISA_TABLE(ds_row, ds_loops)

#endif
