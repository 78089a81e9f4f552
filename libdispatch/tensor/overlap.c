/* overlap.c -- tells whether two tensors, or two elements of one tensor, share memory
 * (aten/src/ATen/MemoryOverlap.cpp). */
#include "room.h"

int dp_internal_overlap(const dp_tensor *t)
{
    const dpi_geometry *g = dpi_geometry_of(t);

    if (g->dense)
        return 0;
    for (int d = 0; d < g->ndim; d++)
        if (g->strides[d] == 0 && g->sizes[d] > 1)
            return 1;
    return 2;
}

/* `pairs_left` limits how many pairs of tensors are compared, because nested wrappers that share
 * parts can have very many pairs.  When the limit is reached, the answer is no. */
static bool share_storage(const dp_tensor *a, const dp_tensor *b, int *pairs_left)
{
    const dpi_geometry *ga = dpi_geometry_of(a), *gb = dpi_geometry_of(b);
    const dpi_parts *p = ga->parts != NULL ? ga->parts : gb->parts;

    if (ga->storage == gb->storage)
        return true;
    for (uint32_t i = 0; p != NULL && i<p->n_tensors && * pairs_left> 0; i++)
        if (p == ga->parts ? share_storage(p->tensors[i], b, pairs_left)
                           : share_storage(a, p->tensors[i], pairs_left))
            return true;
    --*pairs_left;
    return false;
}

bool dpi_share_storage(const dp_tensor *a, const dp_tensor *b)
{
    enum { PAIRS = 4096 };

    return share_storage(a, b, &(int){PAIRS});
}

int dp_overlap(const dp_tensor *a, const dp_tensor *b)
{
    const dpi_geometry *ga = dpi_geometry_of(a), *gb = dpi_geometry_of(b);

    if (a == b)
        return DPI_OVERLAP_FULL;
    if (ga->numel == 0 || gb->numel == 0)
        return DPI_OVERLAP_NONE;
    if (!ga->dense || !gb->dense)
        return DPI_OVERLAP_TOO_HARD;
    if (ga->storage != gb->storage)
        return DPI_OVERLAP_NONE;
    /* Byte offsets in the storage are compared, because it may have no memory. */
    size_t begin_a = (size_t)ga->offset * dp_dtype_size(a->dtype);
    size_t begin_b = (size_t)gb->offset * dp_dtype_size(b->dtype);
    size_t end_a = begin_a + (size_t)ga->numel * dp_dtype_size(a->dtype);
    size_t end_b = begin_b + (size_t)gb->numel * dp_dtype_size(b->dtype);
    if (begin_a == begin_b && end_a == end_b)
        return dpi_same_strides(ga, gb) ? DPI_OVERLAP_FULL : DPI_OVERLAP_PARTIAL;
    return begin_a < end_b && begin_b < end_a ? DPI_OVERLAP_PARTIAL : DPI_OVERLAP_NONE;
}

int dpi_overlap_check(const dp_tensor *out, const dp_tensor *in, dp_error *err)
{
    if (in == NULL)
        return dp_internal_overlap(out) != 1
                   ? DP_OK
                   : dp_error_set(err, DP_ERUNTIME,
                                  "unsupported operation: more than one element of the written-to "
                                  "tensor refers to a single memory location; clone() it first");
    return dp_overlap(out, in) != DPI_OVERLAP_PARTIAL
               ? DP_OK
               : dp_error_set(err, DP_ERUNTIME,
                              "unsupported operation: some elements of the input tensor and the "
                              "written-to tensor refer to a single memory location; clone() the "
                              "input first");
}
