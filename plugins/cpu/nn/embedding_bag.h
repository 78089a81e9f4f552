/* embedding_bag.h -- the arguments of embedding_bag and of its gradients: bags of rows of a
 * table. */
#ifndef CPU_EMBEDDING_BAG_H
#define CPU_EMBEDDING_BAG_H

#include "core/dense.h"
#include "core/pack.h"

enum { EB_SUM, EB_MEAN, EB_MAX, EB_MODES };

/* arguments of a call */
typedef struct eb_bags {
    pack p;
    dp_tensor *weight, *indices, *offsets, *factors; /* factors: weights of the indices, or NULL */
    int64_t mode, padding;
    bool last; /* the last offset is the end of the last bag (include_last_offset) */
    /* the members below are set by eb_prepare() */
    dp_dtype dtype, index_dtype;
    int64_t rows, dim, n, bags; /* sizes of the table [rows, dim]; number of indices, of bags */
    const int64_t *at, *from;   /* [n] row of each index; [bags] first index of each bag */
    const double *factor;       /* [n] weight of each index; NULL: all 1 */
    const float *packed; /* the table's elements if it is contiguous and float32, else NULL */
} eb_bags;

/* Check the arguments and read indices and offsets; an error is in b->p.rc. */
void eb_prepare(dp_ctx *ctx, eb_bags *b);
/* Check that `d`, the dtype of argument `name`, is int32 or int64.  DP_ERUNTIME: it is not. */
int eb_check_index_dtype(dp_ctx *ctx, const char *name, dp_dtype d);
/* Convert row `row` of the table to doubles [dim]. */
void eb_load_row(const eb_bags *b, int64_t row, double *to);

/* Return the index after the last one of a bag. */
static inline int64_t eb_end_of(const eb_bags *b, int64_t bag)
{
    return bag + 1 < b->bags ? b->from[bag + 1] : b->n;
}

#endif
