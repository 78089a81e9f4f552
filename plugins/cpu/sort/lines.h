/* lines.h -- sorting and selection along one dimension of a tensor, for sort, topk, kthvalue,
 * median and mode.
 *
 * Each element of a line becomes a record: a key, an unsigned number in the order of the elements,
 * and the element's index in the line.  -0 and 0 have the same key; all NaNs have the greatest
 * key. */
#ifndef CPU_LINES_H
#define CPU_LINES_H

#include "core/elements.h"

/* elements of a line of n that are returned, and their order */
typedef enum ln_op {
    LN_SORT,      /* all elements, sorted; equal elements keep their order */
    LN_TOP,       /* the first k elements, sorted if `sorted` */
    LN_KTH,       /* the element of rank k, counted from 0 */
    LN_MEDIAN,    /* the lower median, or the first NaN */
    LN_NANMEDIAN, /* the lower median of the elements that are not NaN */
    LN_MODE,      /* the most frequent element, the least of equally frequent ones */
    LN_OPS
} ln_op;

typedef struct ln_call {
    ln_op op;
    dp_tensor *self;
    int64_t dim; /* dimension of self, wrapped */
    int64_t k;
    bool descending; /* greatest first, NaN before all; for LN_SORT and LN_TOP */
    bool sorted;
    /* for LN_SORT: equal elements keep their order; else they are in PyTorch's order */
    bool stable;
} ln_call;

/* Store the returned elements of each line in `values`, of self's dtype, and their indices in the
 * lines in `indices`, int64.  Both have the shape of self, except in dim; dim is missing if one
 * element is returned.  Neither may share memory with self.  self must have a dtype with an
 * order. */
int ln_run(dp_ctx *ctx, const ln_call *c, dp_tensor *values, dp_tensor *indices);

#endif
