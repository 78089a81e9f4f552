/* softmax.h -- the loops of softmax, log_softmax and their gradients, which levels/softmax.c
 * defines and softmax.c calls.  Tensors are contiguous, with sizes [outer, length, inner]; a line
 * is the `length` elements along the dimension of the softmax. */
#ifndef CPU_SOFTMAX_H
#define CPU_SOFTMAX_H

#include "core/isa.h"

enum { SM_SOFTMAX, SM_LOG_SOFTMAX, SM_BACKWARD, SM_LOG_BACKWARD, SM_OPS };
/* Neighbouring lines that are computed at a time if inner > 1: at most SM_WIDE; the loops have a
 * faster copy for exactly SM_NARROW. */
enum { SM_WIDE = 256, SM_NARROW = 64 };

typedef struct sm_job {
    const char *x; /* input; for a gradient, the gradient of the output */
    const char *y; /* for a gradient, the output */
    char *out;
    int64_t length, inner;
    int64_t blocks; /* blocks of SM_WIDE lines in `inner` */
} sm_job;

/* The loops of one operation, for float32 and for float64.  If inner is 1, dp_parallel_for() counts
 * lines, else blocks of neighbouring lines; `user` is the sm_job. */
typedef struct sm_row {
    dp_range_fn lines[2];
} sm_row;
DP_ISA_TABLE(sm_row, sm_loops)

/* arguments to compute out = log(exp(a) + exp(b) + (with ? exp(c) : 0)) + plus; all arrays have n
 * elements */
typedef struct sm_sums {
    const double *a, *b, *c, *plus;
    const int64_t *with;
    double *out;
    int64_t n;
} sm_sums;
typedef void (*sm_sum)(const sm_sums *s);
DP_ISA_TABLE(sm_sum, sm_log_sums)

#endif
