/* softmax.h -- the loops of softmax and its kin over one dimension of packed tensors [outer,
 * length, inner]: softmax.c prepares them, levels/softmax.c runs them. */
#ifndef CPU_SOFTMAX_H
#define CPU_SOFTMAX_H

#include "core/isa.h"

enum { SM_SOFTMAX, SM_LOG_SOFTMAX, SM_BACKWARD, SM_LOG_BACKWARD, SM_OPS };
enum {
    SM_WIDE = 256,
    SM_NARROW = 64
}; /* neighbouring lines that are worked on at a time where inner > 1 */

typedef struct sm_job {
    const char *x; /* input; of a backward form the gradient of the output */
    const char *y; /* of a backward form: the output */
    char *out;
    int64_t length, inner;
    int64_t blocks; /* of SM_WIDE lines in `inner` */
} sm_job;

/* By operation: lines of float32 and of float64.  A dp_range_fn over lines if inner is 1, else over
 * blocks of neighbouring lines; user is the sm_job. */
typedef struct sm_row {
    dp_range_fn lines[2];
} sm_row;
DP_ISA_TABLE(sm_row, sm_loops)

/* out [n] = log(exp(a) + exp(b) + (with ? exp(c) : 0)) + plus, the other arrays being [n] too. */
typedef struct sm_sums {
    const double *a, *b, *c, *plus;
    const int64_t *with;
    double *out;
    int64_t n;
} sm_sums;
typedef void (*sm_sum)(const sm_sums *s);
DP_ISA_TABLE(sm_sum, sm_log_sums)

#endif
