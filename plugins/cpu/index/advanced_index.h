/* advanced_index.h -- indexing of a tensor by a list of tensors (advanced indexing), for the
 * operators index and index_put. */
#ifndef CPU_ADVANCED_INDEX_H
#define CPU_ADVANCED_INDEX_H

#include "gather_scatter.h"

/* The indexing of self in one call.  It owns its tensors; indexing_drop() releases them. */
typedef struct indexing {
    /* int64 index of each dimension; NULL: the dimension is not indexed */
    dp_tensor *at[DP_DIM_MAX];
    dp_tensor *offsets;        /* offsets in bytes of the indexed elements, of shape `shape` */
    int rank;                  /* number of dimensions of `shape` */
    int64_t shape[DP_DIM_MAX]; /* [rank] shape to which all indices broadcast */
    dp_tensor *from, *moved;   /* self and offsets, viewed with the result's dimensions */
} indexing;

/* Set up `x`, with all `offsets` 0.  The caller must call indexing_drop(), even after a failure.
 * DP_EINDEX: the indices do not fit self. */
int indexing_init(dp_ctx *ctx, dp_tensor *self, dp_tensor *const *indices, size_t n, indexing *x);
/* Release the tensors of `x`. */
void indexing_drop(indexing *x);
/* Compute the values of `offsets`.  DP_EINDEX: an index is out of range. */
int indexing_find_offsets(dp_ctx *ctx, const dp_view *self, indexing *x);
/* Check that the mask has the sizes of self's dimensions from dimension `at` on.  `position` is the
 * position of the mask in the list, for the message.  DP_EINDEX: the sizes differ. */
int indexing_check_mask(dp_ctx *ctx, const dp_view *self, const dp_view *mask, int at,
                        size_t position);
/* loops of an iterator over (target, source, offsets), which read source elements at the offsets,
 * or write target elements there; `user` points to a size_t, the bytes of an element */
void indexing_get_elements(char **data, const int64_t *strides, int64_t n0, int64_t n1, void *user);
void indexing_put_elements(char **data, const int64_t *strides, int64_t n0, int64_t n1, void *user);

#endif
