/* lines.h -- the elements along one dimension of a tensor, brought into some order: what sort,
 * topk, kthvalue, median and mode are made of.
 *
 * Every element becomes a record: a key, an unsigned number that is less where the element comes
 * first, and its place in the line.  -0 and 0 have one key, and so have all NaNs: the greatest. */
#ifndef CPU_LINES_H
#define CPU_LINES_H

#include "core/elements.h"

/* What is left of a line of n elements, in which order. */
typedef enum ln_op {
    LN_SORT,      /* all of it; equal elements stay in their order */
    LN_TOP,       /* the first k, in order if `sorted` */
    LN_KTH,       /* that of rank k, from 0 */
    LN_MEDIAN,    /* the lower one, or the first NaN */
    LN_NANMEDIAN, /* the lower one of what is no NaN */
    LN_MODE,      /* the most frequent one, the least of those */
    LN_OPS
} ln_op;

typedef struct ln_call {
    ln_op op;
    dp_tensor *self;
    int64_t dim; /* of self, in range */
    int64_t k;
    bool descending; /* the greatest, NaN first, comes first: of SORT and TOP */
    bool sorted;
    bool stable; /* of SORT: equal elements stay in their order, else in that of PyTorch */
} ln_call;

/* What is left as values, of self's dtype and shape but in dim, or without dim where one is left;
 * and its places in the lines, int64 of the same shape.  Neither shares memory with self.  self has
 * an order. */
int ln_run(dp_ctx *ctx, const ln_call *c, dp_tensor *values, dp_tensor *indices);

#endif
