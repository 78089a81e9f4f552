/* weighted.h -- weighted sums of arrays: of matrices (matrix_exp.c) and of rows of a table
 * (embedding_bag.c).  levels/weighted.c runs them. */
#ifndef CPU_WEIGHTED_H
#define CPU_WEIGHTED_H

#include "isa.h"

/* Rows [dim] of a packed table; row i of the sum is at[i], times factor[i] (NULL: 1), and is left
 * out where at[i] is `padding`. */
typedef struct wt_rows {
    const float *table;
    const int64_t *at;
    const double *factor;
    int64_t dim, padding;
} wt_rows;

/* to [n] = sum over k of by[k] from[k], in the type's own precision, each product fused with its
 * sum. */
typedef void (*wt_combine)(size_t n, void *to, char *const *from, const double *by, int count);
DP_ISA_TABLE(wt_combine, wt_combined) /* [2]: float32, float64 */

/* out [dim] += rows [begin, end) of the sum.  Blocks of rows are added up in float32, those in
 * double. */
typedef void (*wt_add)(const wt_rows *r, int64_t begin, int64_t end, double *out);
DP_ISA_TABLE(wt_add, wt_added) /* [1] */

#endif
