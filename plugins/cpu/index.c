/* index.c -- cat, and picking elements by index: index_select and gather. */
#include "dense.h"
#include <stdatomic.h>
#include <string.h>

enum { GRAIN_BYTES = 65536 }; /* bytes that are worth a thread's time to copy */

/* -- cat -- */

/* cat ignores empty 1-dim tensors, whatever the other shapes are: a rule kept from old PyTorch. */
static bool is_skipped(const dp_view *x)
{
    return x->ndim == 1 && x->sizes[0] == 0;
}

/* Shape of cat's result: that of the first tensor not skipped, with the sizes of `dim` summed
 * up. */
static int joined_shape(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t *dim,
                        int64_t *sizes, int *ndim)
{
    bool found = false;

    *ndim = 1;
    sizes[0] = 0;
    for (size_t i = 0; i < n; i++) {
        DP_VIEW(x, tensors[i]);
        if (x.ndim == 0)
            return dp_fail(ctx, DP_ERUNTIME,
                           "zero-dimensional tensor (at position %zu) cannot be concatenated", i);
        if (is_skipped(&x))
            continue;
        if (!found) {
            int rc = wrap_dim(ctx, dim, x.ndim);
            if (rc < 0)
                return rc;
            memcpy(sizes, x.sizes, (size_t)x.ndim * sizeof(int64_t));
            *ndim = x.ndim;
            found = true;
            continue;
        }
        if (x.ndim != *ndim)
            return dp_fail(ctx, DP_ERUNTIME,
                           "Tensors must have same number of dimensions: got %d and %d", *ndim,
                           x.ndim);
        for (int d = 0; d < x.ndim; d++)
            if (d != *dim && x.sizes[d] != sizes[d])
                return dp_fail(ctx, DP_ERUNTIME,
                               "Sizes of tensors must match except in dimension %" PRId64
                               ". Expected size %" PRId64 " but got size %" PRId64
                               " for tensor number %zu in the list.",
                               *dim, sizes[d], x.sizes[d], i);
        if (__builtin_add_overflow(sizes[*dim], x.sizes[*dim], &sizes[*dim]))
            return dp_fail(ctx, DP_ERUNTIME,
                           "the sizes in dimension %" PRId64 " sum up to over 2^63", *dim);
    }
    *dim = found ? *dim : 0;
    return 0;
}

/* The memory format that all tensors suggest; contiguous if they differ. */
static dp_memory_format common_format(dp_tensor *const *tensors, size_t n)
{
    dp_memory_format format = dp_tensor_suggest_format(tensors[0]);

    for (size_t i = 1; i < n; i++)
        if (dp_tensor_suggest_format(tensors[i]) != format)
            return DP_CONTIGUOUS;
    return format;
}

static dp_device device_of(const dp_tensor *t)
{
    DP_VIEW(x, t);
    return x.device;
}

/* Copy `part` into out, starting at index `at` of dim. */
static int put(dp_ctx *ctx, dp_tensor *out, const dp_tensor *part, int64_t dim, int64_t at)
{
    dp_tensor *there;
    DP_VIEW(x, part);
    DP_VIEW(y, out);
    int rc = dp_as_strided(ctx, out, x.ndim, x.sizes, y.strides,
                           dp_tensor_offset(out) + at * y.strides[dim], &there);

    if (rc < 0)
        return rc;
    rc = dp_copy(ctx, there, part);
    dp_tensor_unref(there);
    return rc;
}

/* aten::cat(Tensor[] tensors, int dim=0) -> Tensor */
static int cat(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t dim, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX], at = 0;
    int ndim;
    dp_tensor *made;

    if (n == 0)
        return dp_fail(ctx, DP_ERUNTIME, "torch.cat(): expected a non-empty list of Tensors");
    int rc = joined_shape(ctx, tensors, n, &dim, sizes, &ndim);
    if (rc == 0)
        rc = dp_empty(ctx, dp_result_type(tensors, n), device_of(tensors[0]), ndim, sizes,
                      common_format(tensors, n), &made);
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        DP_VIEW(x, tensors[i]);
        if (is_skipped(&x))
            continue;
        rc = x.numel > 0 ? put(ctx, made, tensors[i], dim, at) : 0;
        at += x.sizes[dim];
    }
    if (rc < 0)
        dp_tensor_unref(made);
    else
        *out = made;
    return rc;
}

/* -- index_select -- */

/* Packed tensors: `to` [outer, count], `from` [outer, size], items of `inner` bytes. */
typedef struct pick {
    char *to;
    const char *from;
    const int64_t *index;
    int64_t count, size;
    size_t inner;
} pick;

static void pick_rows(int64_t begin, int64_t end, void *user)
{
    const pick *p = user;

    for (int64_t row = begin; row < end; row++) {
        int64_t outer = row / p->count, i = p->index[row % p->count];
        memcpy(p->to + (size_t)row * p->inner, p->from + (size_t)(outer * p->size + i) * p->inner,
               p->inner);
    }
}

static int check_index(dp_ctx *ctx, const int64_t *index, int64_t n, int64_t size)
{
    for (int64_t i = 0; i < n; i++)
        if (index[i] < 0 || index[i] >= size)
            return dp_fail(ctx, DP_EINDEX,
                           "index out of range in self: %" PRId64
                           " for a dimension of size %" PRId64,
                           index[i], size);
    return 0;
}

static int pick_into(dp_ctx *ctx, dp_tensor *self, dp_tensor *index, int64_t dim, dp_tensor *made)
{
    DP_VIEW(x, self);
    DP_VIEW(i, index);
    DP_VIEW(y, made);
    pick p = {y.data, x.data, i.data, i.numel, x.ndim ? x.sizes[dim] : 1, dp_dtype_size(x.dtype)};
    int rc = check_index(ctx, p.index, p.count, p.size);

    if (rc < 0 || y.numel == 0)
        return rc;
    for (int d = (int)dim + 1; d < x.ndim; d++)
        p.inner *= (size_t)x.sizes[d];
    int64_t rows = y.numel / (int64_t)(p.inner / dp_dtype_size(x.dtype));
    return dp_parallel_for(ctx, 0, rows, 1 + GRAIN_BYTES / (int64_t)p.inner, pick_rows, &p);
}

static int check_index_select(dp_ctx *ctx, const dp_view *self, const dp_view *index, int64_t dim)
{
    if (index->ndim > 1)
        return dp_fail(ctx, DP_EINDEX, "index_select(): Index is supposed to be a vector");
    if (index->dtype != DP_INT64 && index->dtype != DP_INT32)
        return dp_fail(ctx, DP_ERUNTIME,
                       "index_select(): Expected dtype int32 or int64 for index, got %s",
                       dp_dtype_name(index->dtype));
    if (self->ndim == 0 && index->numel != 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "index_select(): Index to scalar can have only 1 value, got %" PRId64
                       " value(s)",
                       index->numel);
    if (self->ndim > 1 && self->sizes[dim] == 0 && index->numel > 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "index_select(): self indexing axis dim should be positive");
    return 0;
}

/* aten::index_select(Tensor self, int dim, Tensor index) -> Tensor */
static int index_select(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index,
                        dp_tensor **out)
{
    DP_VIEW(x, self);
    DP_VIEW(i, index);
    int64_t sizes[DP_DIM_MAX];
    dp_tensor *from = NULL, *at = NULL, *made = NULL;
    int rc = wrap_dim(ctx, &dim, x.ndim);

    if (rc == 0)
        rc = check_index_select(ctx, &x, &i, dim);
    if (rc < 0)
        return rc;
    memcpy(sizes, x.sizes, (size_t)x.ndim * sizeof(int64_t));
    if (x.ndim > 0)
        sizes[dim] = i.numel;
    rc = dense_get(ctx, self, x.dtype, &from);
    if (rc == 0)
        rc = dense_get(ctx, index, DP_INT64, &at);
    if (rc == 0)
        rc = dp_empty(ctx, x.dtype, x.device, x.ndim, sizes, DP_CONTIGUOUS, &made);
    if (rc == 0 && !dp_memoryless(ctx))
        rc = pick_into(ctx, from, at, dim, made);
    dp_tensor_unref(from);
    dp_tensor_unref(at);
    if (rc < 0)
        dp_tensor_unref(made);
    else
        *out = made;
    return rc;
}

/* -- gather -- */

typedef struct gathering {
    dp_view self, index, out; /* index and out are packed and have the same shape */
    int64_t dim;
    size_t bytes;
    atomic_bool outside; /* an index was out of range */
} gathering;

/* Element n of out is the element of self at the same position, but with index[n] in dim. */
static void gather_range(int64_t begin, int64_t end, void *user)
{
    gathering *g = user;

    for (int64_t n = begin; n < end; n++) {
        int64_t rest = n, offset = 0, i = ((const int64_t *)g->index.data)[n];
        if (i < 0 || i >= (g->self.ndim ? g->self.sizes[g->dim] : 1)) {
            atomic_store_explicit(&g->outside, true, memory_order_relaxed);
            continue;
        }
        if (g->index.ndim == 0 && g->self.ndim > 0) /* a 0-dim index is one of [1] */
            offset = i * g->self.strides[0];
        for (int d = g->index.ndim - 1; d >= 0 && g->self.ndim > 0; d--) {
            offset += (d == g->dim ? i : rest % g->index.sizes[d]) * g->self.strides[d];
            rest /= g->index.sizes[d];
        }
        memcpy((char *)g->out.data + (size_t)n * g->bytes,
               (const char *)g->self.data + offset * (int64_t)g->bytes, g->bytes);
    }
}

static int check_gather(dp_ctx *ctx, const dp_view *x, const dp_view *i, int64_t dim)
{
    char self[DP_SHAPE_TEXT], index[DP_SHAPE_TEXT];

    if (i->dtype != DP_INT64)
        return dp_fail(ctx, DP_ERUNTIME, "gather(): Expected dtype int64 for index, got %s",
                       dp_dtype_name(i->dtype));
    if ((x->ndim ? x->ndim : 1) != (i->ndim ? i->ndim : 1))
        return dp_fail(ctx, DP_ERUNTIME,
                       "Index tensor must have the same number of dimensions as input tensor");
    for (int d = 0; d < i->ndim; d++)
        if (d != dim && i->sizes[d] > (x->ndim ? x->sizes[d] : 1))
            return dp_fail(
                ctx, DP_ERUNTIME,
                "Size does not match at dimension %d expected index %s to be smaller than "
                "self %s apart from dimension %" PRId64,
                d, dp_shape_text(index, i->sizes, (size_t)i->ndim),
                dp_shape_text(self, x->sizes, (size_t)x->ndim), dim);
    return 0;
}

/* aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor */
static int gather(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index, bool sparse_grad,
                  dp_tensor **out)
{
    DP_VIEW(x, self);
    DP_VIEW(i, index);
    dp_tensor *at = NULL, *made = NULL;
    int rc = wrap_dim(ctx, &dim, x.ndim);

    (void)sparse_grad;
    if (rc == 0 && i.numel > 0)
        rc = check_gather(ctx, &x, &i, dim);
    if (rc == 0)
        rc = dense_get(ctx, index, DP_INT64, &at);
    if (rc == 0)
        rc = dp_empty(ctx, x.dtype, x.device, i.ndim, i.sizes, DP_CONTIGUOUS, &made);
    if (rc == 0 && !dp_memoryless(ctx)) {
        DP_VIEW(packed_index, at);
        DP_VIEW(y, made);
        gathering g = {x, packed_index, y, dim, dp_dtype_size(x.dtype), false};
        rc = dp_parallel_for(ctx, 0, y.numel, GRAIN_BYTES / 16, gather_range, &g);
        if (rc == 0 && g.outside)
            rc = dp_fail(ctx, DP_ERUNTIME,
                         "index is out of bounds for dimension %" PRId64 " with size %" PRId64, dim,
                         x.ndim ? x.sizes[dim] : 1);
    }
    dp_tensor_unref(at);
    if (rc < 0)
        dp_tensor_unref(made);
    else
        *out = made;
    return rc;
}

/* cat of an empty list has no backend to go to: this registration gives it cat's own error. */
DP_LIBRARY_META(aten, CompositeExplicitAutogradNonFunctional,
                DP_IMPL_UNBOXED("cat", cat, (lT, i), (T)))
DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("cat", cat, (lT, i), (T)),
                DP_IMPL_UNBOXED("index_select", index_select, (T, i, T), (T)),
                DP_IMPL_UNBOXED("gather", gather, (T, i, T, b), (T)))
