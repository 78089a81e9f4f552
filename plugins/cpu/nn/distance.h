/* distance.h -- the loops of pdist and cdist for the norms 0, 1, 2 and infinity, which
 * levels/distance.c defines and distance.c calls. */
#ifndef CPU_DISTANCE_H
#define CPU_DISTANCE_H

#include "core/isa.h"

/* arguments of the loops, shared by all threads */
typedef struct ds_job {
    const void *x, *y;             /* matrices of rows of `columns` elements; `y` only for cdist */
    void *out;                     /* results, of the type of x */
    int64_t rows, others, columns; /* rows of a matrix of x; of y; columns of both */
} ds_job;

enum { DS_COUNT, DS_SUM, DS_SQUARES, DS_MOST, DS_NORMS };
/* loops for pdist (pairs of rows of x), and for cdist (rows of x and y); dp_parallel_for() counts
 * the rows of x */
enum { DS_PAIRS, DS_ROWS, DS_FORMS };

/* the loops of one norm; the table is indexed by DS_COUNT to DS_MOST */
typedef struct ds_row {
    dp_range_fn run[2][DS_FORMS]; /* for float32 and for float64 */
} ds_row;
DP_ISA_TABLE(ds_row, ds_loops)

#endif
