/* softmax.h -- the loops of softmax, log_softmax and their gradients along one dimension of
 * contiguous tensors [outer, length, inner]: softmax.c calls them, levels/softmax.c has them. */
#ifndef CPU_SOFTMAX_H
#define CPU_SOFTMAX_H

#include "core/isa.h"

enum { SM_SOFTMAX, SM_LOG_SOFTMAX, SM_BACKWARD, SM_LOG_BACKWARD, SM_OPS };
enum {
    SM_WIDE = 256,
    SM_NARROW = 64
}; /* neighbouring lines that are worked on at a time where inner > 1 */

typedef struct sm_job {
    const char *x; /* input; for a gradient, the gradient of the output */
    const char *y; /* for a gradient, the output */
    char *out;
    int64_t length, inner;
    int64_t blocks; /* blocks of SM_WIDE lines in `inner` */
} sm_job;

/* A row per operation, with loops for float32 and for float64.  A loop is a dp_range_fn over lines
 * if inner is 1, else over blocks of neighbouring lines; `user` is the sm_job. */
typedef struct sm_row {
    dp_range_fn lines[2];
} sm_row;
DP_ISA_TABLE(sm_row, sm_loops)

/* out [n] = log(exp(a) + exp(b) + (with ? exp(c) : 0)) + plus; all arrays are [n] */
typedef struct sm_sums {
    const double *a, *b, *c, *plus;
    const int64_t *with;
    double *out;
    int64_t n;
} sm_sums;
typedef void (*sm_sum)(const sm_sums *s);
DP_ISA_TABLE(sm_sum, sm_log_sums)

#endif
