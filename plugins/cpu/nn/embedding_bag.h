/* embedding_bag.h -- bags of rows of a table: what embedding_bag and its gradients share. */
#ifndef CPU_EMBEDDING_BAG_H
#define CPU_EMBEDDING_BAG_H

#include "core/dense.h"
#include "core/pack.h"

enum { EB_SUM, EB_MEAN, EB_MAX, EB_MODES };

typedef struct eb_bags {
    pack p;
    dp_tensor *weight, *indices, *offsets, *factors; /* factors: of each index, or NULL */
    int64_t mode, padding;
    bool last; /* the last offset is the end of the last bag */
    /* found by eb_prepare() */
    dp_dtype dtype, index_dtype;
    int64_t rows, dim, n, bags;
    const int64_t *at, *from; /* [n], [bags] */
    const double *factor;
    const float *packed; /* the table, if it is packed and of float32 */
} eb_bags;

/* Check the arguments and read indices and offsets; faults are in p.rc. */
void eb_prepare(dp_ctx *ctx, eb_bags *b);
int eb_check_index_dtype(dp_ctx *ctx, const char *name, dp_dtype d);
/* Row `row` of the table as doubles [dim]. */
void eb_load_row(const eb_bags *b, int64_t row, double *to);

static inline int64_t eb_end_of(const eb_bags *b, int64_t bag)
{
    return bag + 1 < b->bags ? b->from[bag + 1] : b->n;
}

#endif
