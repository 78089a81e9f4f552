/* distance.h -- the loops of pdist and cdist for the norms 0, 1, 2 and infinity: distance.c
 * prepares them, levels/distance.c runs them. */
#ifndef CPU_DISTANCE_H
#define CPU_DISTANCE_H

#include "core/isa.h"

typedef struct ds_job {
    const void *x, *y;             /* rows of `columns` elements; y of cdist */
    void *out;                     /* of their type */
    int64_t rows, others, columns; /* of a matrix x, of one y, of both */
} ds_job;

enum { DS_COUNT, DS_SUM, DS_SQUARES, DS_MOST, DS_NORMS };
enum { DS_PAIRS, DS_ROWS, DS_FORMS }; /* of pdist, of cdist; ranges of x's rows */

/* [DS_NORMS] */
typedef struct ds_row {
    dp_range_fn run[2][DS_FORMS]; /* of float32, of float64 */
} ds_row;
DP_ISA_TABLE(ds_row, ds_loops)

#endif
