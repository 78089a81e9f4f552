/* iter_layout.c -- decides in which order an iterator visits memory: makes outputs with the inputs'
 * order of dimensions, then sorts and merges dimensions (aten/src/ATen/TensorIterator.cpp:
 * fast_set_up, reorder_dimensions, allocate_or_resize_outputs, coalesce_dimensions). */
#include "nest.h"

/* -- outputs -- */

/* Allocate the missing outputs and reshape those that have to be resized.  `strides` NULL:
 * contiguous. */
static int allocate(dpi_iter_plan *p, const int64_t *strides, dp_error *err)
{
    dp_iter *it = p->it;
    dpi_target at = {it->device | (p->fake ? DPI_FAKE : 0), 0, p->account};

    for (int k = 0; k < it->n_out; k++) {
        if (p->geometry[k] != NULL)
            continue;
        bool resize = (p->resize >> k & 1) != 0;
        bool packed = strides == NULL && !resize; /* then dpi_empty_strided() checks */
        int rc = packed ? DP_OK : dpi_packed_check(it->own[k], p->out_ndim, p->out_shape, err);
        if (rc == DP_OK)
            rc = resize ? dpi_reshaped(p->account, it->tensors[k], p->out_ndim, p->out_shape,
                                       strides, &p->fresh[k], err)
                        : dpi_empty_strided(it->own[k], at, p->out_ndim, p->out_shape, strides,
                                            &p->fresh[k], err);
        if (rc < 0)
            return rc;
    }
    return DP_OK;
}

/* -- fast path -- */

static bool all_contiguous(const dpi_iter_plan *p)
{
    for (int k = 0; k < p->it->n; k++)
        if (p->geometry[k] != NULL && !p->geometry[k]->contiguous)
            return false;
    return true;
}

/* Tell whether all operands, which have one shape, have their elements in the same dense order, so
 * that one loop can visit the elements in memory order.  `*strides`: strides of the outputs to be
 * allocated; NULL: contiguous. */
static bool has_same_layout(const dpi_iter_plan *p, int64_t *buffer, const int64_t **strides)
{
    const dpi_geometry *last = NULL;
    bool channels_last = true, same_strides = true;

    *strides = NULL;
    if (all_contiguous(p))
        return true;
    for (int k = 0; k < p->it->n; k++) {
        const dpi_geometry *g = p->geometry[k];
        if (g == NULL)
            continue;
        channels_last &= g->channels_last;
        same_strides &= g->dense && (last == NULL || dpi_same_strides(last, g));
        last = g;
    }
    if ((p->c->flags & DP_ITER_LINEAR) || !(channels_last || same_strides))
        return false;
    *strides = channels_last ? buffer : last->strides;
    if (channels_last)
        dpi_strides_format(p->ndim, p->shape, DP_CHANNELS_LAST, buffer, NULL);
    return true;
}

static void set_1d(dp_iter *it)
{
    dpi_iter_set_1d(it, it->numel);
    for (int k = 0; k < it->n; k++) {
        it->room[1 + k] = (int64_t)dpi_itemsize(it->own[k]);
        it->room[1 + it->n + k] = 0;
    }
}

/* -- general path -- */

/* Set the strides of operand `k` in the nest, in elements; 0 in dimensions in which the operand is
 * broadcast. */
static void fill_strides(const dpi_iter_plan *p, dpi_nest *nest, int k)
{
    const dpi_geometry *g = p->geometry[k];

    for (int i = 0; i < nest->ndim; i++) { /* `i` counts from the last dimension */
        int d = g->ndim - 1 - i;
        bool steps = d >= 0 && (g->sizes[d] != 1 || p->shape[p->ndim - 1 - i] == 1);
        nest->strides[i * nest->n_ops + k] = steps ? g->strides[d] : 0;
    }
}

/* Compute dense strides in the inputs' order of dimensions.  `perm` is from dpi_nest_order(). */
static void output_strides(const dpi_iter_plan *p, const int *perm, int64_t *strides)
{
    int64_t next = 1;

    for (int i = 0; i < p->ndim; i++) {
        int d = p->ndim - 1 - perm[i];
        strides[d] = next;
        next = (int64_t)((uint64_t)next * (uint64_t)p->shape[d]);
    }
}

/* Convert strides from elements to bytes.  The stride of a dimension of size 1 is never used and
 * becomes 0. */
static void scale_strides(const dp_iter *it, dpi_nest *nest)
{
    for (int i = 0; i < nest->ndim; i++)
        for (int k = 0; k < it->n; k++) {
            int64_t *s = &nest->strides[i * it->n + k];
            /* If there are no elements, the product may wrap; the stride is then never used. */
            *s = nest->sizes[i] > 1 ? (int64_t)((uint64_t)*s * dpi_itemsize(it->own[k])) : 0;
        }
}

/* Copy the nest into the iterator, or into memory of `a` if it does not fit. */
static int store_nest(dp_iter *it, const dpi_nest *nest, dp_arena *a, dp_error *err)
{
    size_t row = (size_t)it->n, ndim = (size_t)nest->ndim, rows = ndim > 2 ? ndim : 2;
    int64_t *shape = it->room;

    if (ndim + rows * row > DPI_COUNT(it->room)) {
        shape = dp_arena_alloc_n(a, dp_size_plus(ndim, dp_size_times(rows, row)), sizeof(*shape));
        if (shape == NULL)
            return dpi_no_memory(err, "an elementwise loop");
    }
    dp_copy_n(shape, nest->sizes, ndim, sizeof(*shape));
    dp_copy_n(shape + ndim, nest->strides, dp_size_times(ndim, row), sizeof(*shape));
    if (ndim < rows)
        dp_zero_n(shape + ndim + ndim * row, dp_size_times(rows - ndim, row), sizeof(*shape));
    it->ndim = nest->ndim;
    it->shape = shape;
    it->strides = shape + ndim;
    return DP_OK;
}

/* -- reductions: an output has stride 0 in reduced dimensions -- */

static void fill_reduced(const dpi_iter_plan *p, dpi_nest *nest, int k)
{
    const dpi_geometry *g = p->geometry[k];
    bool keepdim = (p->it->flags & DP_ITER_KEEPDIM) != 0;
    int own = 0; /* dimension of the output */

    for (int d = 0; d < p->ndim; d++) {
        bool reduced = (p->c->reduced >> d & 1) != 0;
        if (!reduced)
            nest->strides[(p->ndim - 1 - d) * nest->n_ops + k] = g->strides[own];
        own += !reduced || keepdim;
    }
}

/* Set n_each, the number of elements that are reduced to one element of an output.  It is cut to
 * INT64_MAX, which the product can exceed if the outputs have no elements.  If n_each is 0, give
 * the reduced dimensions size 1 in the nest, so that every output is visited and gets the result of
 * reducing no elements. */
static void count_reduced_elements(const dpi_iter_plan *p, dpi_nest *nest)
{
    int64_t sizes[DP_DIM_MAX];
    size_t n = 0;

    for (int d = 0; (p->it->flags & DP_ITER_REDUCE) && d < p->ndim; d++)
        if (p->c->reduced >> d & 1)
            sizes[n++] = p->shape[d];
    uint64_t each = dp_sizes_product(1, sizes, n);
    p->it->n_each = each < INT64_MAX ? (int64_t)each : INT64_MAX;
    for (int d = 0; p->it->n_each == 0 && d < p->ndim; d++)
        if (p->c->reduced >> d & 1)
            nest->sizes[p->ndim - 1 - d] = 1;
}

/* Allocate the outputs, contiguous in row-major order, whatever order the inputs have. */
static int allocate_reduced(dpi_iter_plan *p, dp_error *err)
{
    int rc = allocate(p, NULL, err);

    for (int k = 0; rc == DP_OK && k < p->it->n_out; k++)
        if (p->geometry[k] == NULL)
            p->geometry[k] = dpi_geometry_of(p->fresh[k]);
    return rc;
}

static int count_reduced(const dp_iter *it, const dpi_nest *nest)
{
    int n = 0;

    if (!(it->flags & DP_ITER_REDUCE) || it->n_out == 0)
        return 0;
    while (n < nest->ndim && nest->strides[n * nest->n_ops] == 0 && nest->sizes[n] != 1)
        n++;
    return n;
}

/* -- the whole layout -- */

static void start_nest(const dpi_iter_plan *p, dpi_nest *nest)
{
    nest->n_ops = p->it->n;
    nest->ndim = p->ndim ? p->ndim : 1;
    nest->n_reduced = p->it->flags & DP_ITER_REDUCE ? p->it->n_out : 0;
    nest->sizes[0] = 1;
    for (int i = 0; i < p->ndim; i++)
        nest->sizes[i] = p->shape[p->ndim - 1 - i];
    dp_zero_n(nest->strides, dp_size_times((uint64_t)nest->ndim, (uint64_t)nest->n_ops),
              sizeof(int64_t));
    count_reduced_elements(p, nest);
    for (int k = 0; k < nest->n_ops; k++)
        if (k < nest->n_reduced)
            fill_reduced(p, nest, k);
        else if (p->geometry[k] != NULL)
            fill_strides(p, nest, k);
}

/* Sort the dimensions of the nest, and allocate the missing outputs in that order. */
static int order(dpi_iter_plan *p, dpi_nest *nest, dp_error *err)
{
    bool linear = (p->it->flags & DP_ITER_LINEAR) != 0;
    int64_t strides[DP_DIM_MAX];
    int perm[DP_DIM_MAX];
    bool row_major = dpi_nest_order(nest, perm, linear);

    if (nest->n_reduced > 0)
        return DP_OK;
    output_strides(p, perm, strides);
    int rc = allocate(p, row_major || linear ? NULL : strides, err);
    for (int k = 0; rc == DP_OK && k < p->it->n_out; k++)
        for (int i = 0; p->geometry[k] == NULL && i < p->ndim; i++)
            nest->strides[i * nest->n_ops + k] =
                dpi_geometry_of(p->fresh[k])->strides[p->ndim - 1 - perm[i]];
    return rc;
}

static int lay_out_general(dpi_iter_plan *p, dp_arena *a, dp_error *err)
{
    int64_t sizes[DP_DIM_MAX], strides[DP_DIM_MAX * DP_ITER_OPERANDS_MAX];
    dpi_nest nest = {.sizes = sizes, .strides = strides};
    int rc = p->it->flags & DP_ITER_REDUCE ? allocate_reduced(p, err) : DP_OK;

    if (rc < 0)
        return rc;
    start_nest(p, &nest);
    rc = order(p, &nest, err);
    if (rc < 0)
        return rc;
    scale_strides(p->it, &nest);
    dpi_nest_coalesce(&nest);
    p->it->n_reduced = count_reduced(p->it, &nest);
    return store_nest(p->it, &nest, a, err);
}

/* -- ATen converts inputs before it lays out the outputs; here outputs get the same layout, but
 * inputs are converted block by block -- */

static bool is_copied(const dpi_iter_plan *p, int k)
{
    return k >= p->it->n_out && p->it->own[k] != p->it->seen[k] && !p->geometry[k]->dense;
}

/* Tell whether ATen would copy some input in order to convert it, and the layout of a new output
 * depends on that copy. */
static bool some_copied(const dpi_iter_plan *p)
{
    bool copied = false, made = false;

    for (int k = 0; k < p->it->n_out; k++)
        made |= p->geometry[k] == NULL;
    for (int k = p->it->n_out; made && k < p->it->n; k++)
        copied |= is_copied(p, k);
    return copied && !(p->it->flags & DP_ITER_REDUCE);
}

/* Set `*out` to the geometry of t.to(dtype), where `t` has geometry `g`, which is not dense.
 * `strides` [DP_DIM_MAX]. */
static void copied(const dpi_geometry *g, int64_t *strides, dpi_geometry *out)
{
    dpi_strides_dense_like(g->ndim, g->sizes, g->strides, strides);
    out->ndim = g->ndim;
    out->numel = g->numel;
    out->sizes = g->sizes;
    out->strides = strides;
    dpi_geometry_set_flags(out);
}

/* Allocate the outputs as if inputs had been converted first, then lay out the operands with the
 * strides that they have. */
static int lay_out_as_copied(dpi_iter_plan *p, dp_arena *a, dp_error *err)
{
    int64_t copied_strides[DP_ITER_OPERANDS_MAX][DP_DIM_MAX],
        steps[DP_DIM_MAX * DP_ITER_OPERANDS_MAX];
    int64_t sizes[DP_DIM_MAX], buffer[DP_DIM_MAX];
    const dpi_geometry *own[DP_ITER_OPERANDS_MAX];
    dpi_geometry copied_geometry[DP_ITER_OPERANDS_MAX];
    dpi_nest nest = {.sizes = sizes, .strides = steps};
    const int64_t *strides;
    int rc;

    dp_copy_n(own, p->geometry, (size_t)p->it->n, sizeof(own[0]));
    for (int k = p->it->n_out; k < p->it->n; k++)
        if (is_copied(p, k)) {
            copied(own[k], copied_strides[k], &copied_geometry[k]);
            p->geometry[k] = &copied_geometry[k];
        }
    if (p->same_shape && has_same_layout(p, buffer, &strides)) {
        rc = allocate(p, strides, err);
    } else {
        start_nest(p, &nest);
        rc = order(p, &nest, err);
    }
    for (int k = 0; rc == DP_OK && k < p->it->n; k++)
        p->geometry[k] = own[k] != NULL ? own[k] : dpi_geometry_of(p->fresh[k]);
    return rc == DP_OK ? lay_out_general(p, a, err) : rc;
}

int dpi_iter_lay_out(dpi_iter_plan *p, dp_arena *a, dp_error *err)
{
    int64_t buffer[DP_DIM_MAX];
    const int64_t *strides;
    int rc = dpi_sizes_check(p->ndim, p->shape, &p->it->numel, err);

    if (rc < 0)
        return rc;
    if (p->dtypes_differ && some_copied(p))
        return lay_out_as_copied(p, a, err);
    if (!p->same_shape || !has_same_layout(p, buffer, &strides))
        return lay_out_general(p, a, err);
    set_1d(p->it);
    return allocate(p, strides, err);
}
