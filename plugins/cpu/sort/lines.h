/* lines.h -- sorting and selection along one dimension of a tensor, for sort, topk, kthvalue,
 * median and mode.
 *
 * Each element of a line becomes a record: a key, an unsigned number in the order of the elements,
 * and the element's index in the line.  -0 and 0 have the same key; all NaNs have the greatest
 * key. */
#ifndef CPU_LINES_H
#define CPU_LINES_H

#include "core/elements.h"

/* the elements of a line that are returned, and their order */
typedef enum ln_op {
    LN_SORT,      /* all elements, sorted (ln_call.stable) */
    LN_TOP,       /* the first k elements, sorted if ln_call.sorted */
    LN_KTH,       /* the element of rank k, counted from 0 */
    LN_MEDIAN,    /* the lower median, or the first NaN */
    LN_NANMEDIAN, /* the lower median of the elements that are not NaN */
    LN_MODE,      /* the most frequent element, the least of equally frequent ones */
    LN_OPS
} ln_op;

/* arguments of a call */
typedef struct ln_call {
    ln_op op;
    dp_tensor *self;
    int64_t dim; /* dimension of self, wrapped */
    int64_t k;
    bool descending; /* for LN_SORT and LN_TOP: the greatest elements are first, NaN before them */
    bool sorted;     /* for LN_TOP */
    /* for LN_SORT: equal elements keep their order; else they get the order of PyTorch's sort */
    bool stable;
} ln_call;

/* Store the returned elements of each line in `values`, which has self's dtype, and their indices
 * in the line in `indices`, which is int64.  Both have the sizes of self except in dim, where they
 * have the number of returned elements; for operations other than LN_SORT and LN_TOP they may lack
 * dim.  Neither may share memory with self.  The dtype of self must not be complex. */
int ln_run(dp_ctx *ctx, const ln_call *c, dp_tensor *values, dp_tensor *indices);

#endif
