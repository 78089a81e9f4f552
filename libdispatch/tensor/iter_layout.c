/* iter_layout.c -- how an iterator walks memory: outputs made in the inputs' order, dimensions sorted
 * and merged (aten/src/ATen/TensorIterator.cpp: fast_set_up, reorder_dimensions,
 * allocate_or_resize_outputs, coalesce_dimensions). */
#include "room.h"

/* -- outputs -- */

/* Make the outputs that are not there, or have another shape; strides NULL: contiguous. */
static int allocate(dpi_iter_plan *p, const int64_t *strides, dp_error *err)
{
    dp_iter *it = p->it;

    for (int k = 0; k < it->n_out; k++) {
        if (p->geometry[k] != NULL)
            continue;
        bool resize = (p->resize >> k & 1) != 0;
        bool packed = strides == NULL && !resize; /* then it is checked when it is made */
        int rc = packed ? DP_OK : dpi_packed_check(it->own[k], p->ndim, p->shape, err);
        if (rc == DP_OK)
            rc = resize
                     ? dpi_reshaped(it->tensors[k], p->ndim, p->shape, strides, &p->fresh[k], err)
                     : dp_tensor_new(it->own[k], it->device | (p->fake ? DPI_FAKE : 0), p->ndim,
                                     p->shape, strides, &p->fresh[k], err);
        if (rc < 0)
            return rc;
    }
    return DP_OK;
}

/* -- the fast way -- */

static bool all_contiguous(const dpi_iter_plan *p)
{
    for (int k = 0; k < p->it->n; k++)
        if (p->geometry[k] != NULL && !p->geometry[k]->contiguous)
            return false;
    return true;
}

/* If all operands have the same dense layout, the loop is one run over the elements in memory
 * order. *strides: those for outputs to be allocated; NULL: contiguous. */
static bool lies_alike(const dpi_iter_plan *p, int64_t *buffer, const int64_t **strides)
{
    const dpi_geometry *last = NULL;
    bool channels_last = true, alike = true;

    *strides = NULL;
    if (all_contiguous(p))
        return true;
    for (int k = 0; k < p->it->n; k++) {
        const dpi_geometry *g = p->geometry[k];
        if (g == NULL)
            continue;
        channels_last &= g->channels_last;
        alike &= g->dense && (last == NULL || dpi_same_strides(last, g));
        last = g;
    }
    if ((p->c->flags & DP_ITER_LINEAR) || !(channels_last || alike))
        return false;
    *strides = channels_last ? buffer : last->strides;
    if (channels_last)
        dpi_strides_format(p->ndim, p->shape, DP_CHANNELS_LAST, buffer, NULL);
    return true;
}

static void one_run(dp_iter *it)
{
    int64_t *strides = it->room + 1;

    it->ndim = 1;
    it->room[0] = it->numel;
    it->shape = it->room;
    it->strides = strides;
    for (int k = 0; k < it->n; k++) {
        strides[k] = (int64_t)dpi_itemsize(it->own[k]);
        strides[it->n + k] = 0;
    }
}

/* -- the general way -- */

/* Set the nest's strides of operand k, in elements; 0 where it is broadcast. */
static void fill_strides(const dpi_iter_plan *p, dpi_nest *nest, int k)
{
    const dpi_geometry *g = p->geometry[k];

    for (int i = 0; i < nest->ndim; i++) { /* i counts from the last dimension */
        int d = g->ndim - 1 - i;
        bool steps = d >= 0 && (g->sizes[d] != 1 || p->shape[p->ndim - 1 - i] == 1);
        nest->strides[i * nest->n_ops + k] = steps ? g->strides[d] : 0;
    }
}

/* Dense strides in the inputs' order of dimensions.  perm: from dpi_nest_order(). */
static void output_strides(const dpi_iter_plan *p, const int *perm, int64_t *strides)
{
    int64_t next = 1;

    for (int i = 0; i < p->ndim; i++) {
        int d = p->ndim - 1 - perm[i];
        strides[d] = next;
        next *= p->shape[d];
    }
}

/* From elements to bytes; the stride of a size of 1 is never used and becomes 0. */
static void scale_strides(const dp_iter *it, dpi_nest *nest)
{
    for (int i = 0; i < nest->ndim; i++)
        for (int k = 0; k < it->n; k++) {
            int64_t *s = &nest->strides[i * it->n + k];
            *s = nest->sizes[i] > 1 ? *s * (int64_t)dpi_itemsize(it->own[k]) : 0;
        }
}

/* Keep the nest in the iterator, if it fits. */
static int keep(dp_iter *it, const dpi_nest *nest, dp_arena *a, dp_error *err)
{
    size_t row = (size_t)it->n, ndim = (size_t)nest->ndim, rows = ndim > 2 ? ndim : 2;
    int64_t *shape = it->room;

    if (ndim + rows * row > DPI_COUNT(it->room)) {
        shape = dp_arena_alloc(a, (ndim + rows * row) * sizeof(*shape));
        if (shape == NULL)
            return dpi_no_memory(err, "an elementwise loop");
    }
    memcpy(shape, nest->sizes, ndim * sizeof(*shape));
    memcpy(shape + ndim, nest->strides, ndim * row * sizeof(*shape));
    if (ndim < rows)
        memset(shape + ndim + ndim * row, 0, (rows - ndim) * row * sizeof(*shape));
    it->ndim = nest->ndim;
    it->shape = shape;
    it->strides = shape + ndim;
    return DP_OK;
}

static void start_nest(const dpi_iter_plan *p, dpi_nest *nest)
{
    nest->n_ops = p->it->n;
    nest->ndim = p->ndim ? p->ndim : 1;
    nest->sizes[0] = 1;
    for (int i = 0; i < p->ndim; i++)
        nest->sizes[i] = p->shape[p->ndim - 1 - i];
    memset(nest->strides, 0, (size_t)(nest->ndim * nest->n_ops) * sizeof(int64_t));
    for (int k = 0; k < nest->n_ops; k++)
        if (p->geometry[k] != NULL)
            fill_strides(p, nest, k);
}

static int lay_out_in_general(dpi_iter_plan *p, dp_arena *a, dp_error *err)
{
    int64_t sizes[DP_DIM_MAX], steps[DP_DIM_MAX * DP_ITER_OPERANDS_MAX], strides[DP_DIM_MAX];
    dpi_nest nest = {.sizes = sizes, .strides = steps};
    dp_iter *it = p->it;
    int perm[DP_DIM_MAX];
    bool row_major = true;

    start_nest(p, &nest);
    for (int i = 0; i < nest.ndim; i++)
        perm[i] = i;
    if (!(it->flags & DP_ITER_LINEAR))
        row_major = dpi_nest_order(&nest, perm);
    output_strides(p, perm, strides);
    int rc = allocate(p, row_major ? NULL : strides, err);
    if (rc < 0)
        return rc;
    for (int k = 0; k < it->n_out; k++)
        for (int i = 0; p->fresh[k] && i < p->ndim; i++)
            steps[i * it->n + k] = dpi_geometry_of(p->fresh[k])->strides[p->ndim - 1 - perm[i]];
    scale_strides(it, &nest);
    dpi_nest_coalesce(&nest);
    return keep(it, &nest, a, err);
}

int dpi_iter_lay_out(dpi_iter_plan *p, dp_arena *a, dp_error *err)
{
    int64_t buffer[DP_DIM_MAX];
    const int64_t *strides;
    int rc = dpi_sizes_check(p->ndim, p->shape, &p->it->numel, err);

    if (rc < 0)
        return rc;
    if (!p->same || !lies_alike(p, buffer, &strides))
        return lay_out_in_general(p, a, err);
    one_run(p->it);
    return allocate(p, strides, err);
}
