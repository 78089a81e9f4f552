/* weighted.h -- weighted sums of arrays, for matrices (matrix_exp.c) and for rows of a table
 * (embedding_bag.c).  levels/weighted.c has the loops. */
#ifndef CPU_WEIGHTED_H
#define CPU_WEIGHTED_H

#include "isa.h"

/* A weighted sum of rows of a contiguous table.  Term i of the sum is row at[i] of the table times
 * factor[i]; terms whose at[i] is `padding` are skipped. */
typedef struct wt_rows {
    const float *table;   /* [rows, dim] */
    const int64_t *at;    /* row index of each term */
    const double *factor; /* weight of each term; NULL: all 1 */
    int64_t dim, padding; /* columns of the table; row index to skip */
} wt_rows;

/* Set each to[i], for i < `n`, to the sum of by[k] * from[k][i] over all k < `count`.  Each product
 * is added by a fused multiply-add in the precision of the element type. */
typedef void (*wt_combine)(size_t n, void *to, char *const *from, const double *by, int count);
DP_ISA_TABLE(wt_combine, wt_combined) /* [2]: float32, float64 */

/* Add the terms [begin, end) of sum `r` to out [dim].  Rows are summed in float32 in blocks of 64
 * rows, and the sums of the blocks are added in double; the last dim % 16 columns are summed in
 * double only. */
typedef void (*wt_add)(const wt_rows *r, int64_t begin, int64_t end, double *out);
DP_ISA_TABLE(wt_add, wt_added) /* [1] */

#endif
