/* advanced_index.c -- preparation of indexing by a list of tensors, for index and index_put
 * (aten/src/ATen/native/TensorAdvancedIndexing.cpp: make_info).
 *
 * The indices of all dimensions are broadcast to one shape and summed to one tensor of offsets in
 * bytes, which is checked before anything is read or written.  index and index_put are then one
 * loop over the result, self with stride 0 in the indexed dimensions, and the offsets. */
#include "advanced_index.h"
#include <dispatchd/iter.h>

void indexing_drop(indexing *x)
{
    for (int d = 0; d < DP_DIM_MAX; d++)
        dp_tensor_unref(x->at[d]);
    dp_tensor_unref(x->offsets);
    dp_tensor_unref(x->from);
    dp_tensor_unref(x->moved);
}

/* -- the index of each dimension -- */

int indexing_check_mask(dp_ctx *ctx, const dp_view *self, const dp_view *mask, int at,
                        size_t position)
{
    char a[DP_SHAPE_TEXT], b[DP_SHAPE_TEXT];

    for (int j = 0; j < mask->ndim; j++)
        if (at + j >= self->ndim || mask->sizes[j] != self->sizes[at + j])
            return dp_fail(ctx, DP_EINDEX,
                           "The shape of the mask %s at index %d does not match the shape of the "
                           "indexed tensor %s at index %d (index %zu of the list)",
                           dp_shape_text(a, mask->sizes, (size_t)mask->ndim), j,
                           dp_shape_text(b, self->sizes, (size_t)self->ndim), at + j, position);
    return 0;
}

/* Replace a mask by index tensors, one for each dimension of the mask: the indices of its true
 * elements. */
static int expand_mask(dp_ctx *ctx, dp_tensor *mask, indexing *x, int *at)
{
    dp_tensor *places = NULL;
    DP_VIEW(m, mask);
    int rc = dp_invoke(ctx, "aten::nonzero", "T>T", mask, &places);

    for (int j = 0; rc == 0 && j < m.ndim; j++, (*at)++)
        rc = dp_invoke(ctx, "aten::select.int", "Tii>T", places, (int64_t)1, (int64_t)j,
                       &x->at[*at]);
    dp_tensor_unref(places);
    return rc;
}

static int take_index(dp_ctx *ctx, const dp_view *self, dp_tensor *index, size_t position,
                      indexing *x, int *at)
{
    DP_VIEW(i, index);
    bool mask = i.dtype == DP_BOOL || i.dtype == DP_UINT8;
    int rc = mask ? indexing_check_mask(ctx, self, &i, *at, position) : 0;

    if (rc < 0)
        return rc;
    if (i.dtype == DP_UINT8)
        dp_warn(ctx, "indexing with dtype torch.uint8 is now deprecated, please use a dtype "
                     "torch.bool instead.");
    if (mask)
        return expand_mask(ctx, index, x, at);
    if (i.dtype != DP_INT64)
        return dp_fail(ctx, DP_EINDEX,
                       "tensors used as indices must be long, byte or bool tensors");
    if (*at < self->ndim)
        x->at[*at] = dp_tensor_ref(index);
    (*at)++;
    return 0;
}

static int take_indices(dp_ctx *ctx, const dp_view *self, dp_tensor *const *indices, size_t n,
                        indexing *x)
{
    int at = 0, rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (indices[i])
            rc = take_index(ctx, self, indices[i], i, x, &at);
        else
            at++;
        if (rc == 0 && at > self->ndim)
            rc = dp_fail(ctx, DP_EINDEX, "too many indices for tensor of dimension %d (got %zu)",
                         self->ndim, n);
    }
    return rc;
}

/* Set x->shape to the shape to which all indices broadcast. */
static int common_shape(dp_ctx *ctx, const dp_view *self, indexing *x)
{
    int64_t shape[DP_DIM_MAX];
    char a[DP_SHAPE_TEXT], b[DP_SHAPE_TEXT];

    for (int d = 0; d < self->ndim; d++) {
        if (x->at[d] == NULL)
            continue;
        DP_VIEW(i, x->at[d]);
        if (dp_broadcast_shapes(ctx, x->rank, x->shape, i.ndim, i.sizes, shape) < 0)
            return dp_fail(ctx, DP_EINDEX,
                           "shape mismatch: indexing tensors could not be broadcast together with "
                           "shapes %s, %s",
                           dp_shape_text(a, x->shape, (size_t)x->rank),
                           dp_shape_text(b, i.sizes, (size_t)i.ndim));
        x->rank = x->rank > i.ndim ? x->rank : i.ndim;
        dp_copy_n(x->shape, shape, (size_t)x->rank, sizeof(int64_t));
    }
    return 0;
}

/* -- offsets -- */

typedef struct adding {
    int64_t size, step; /* size of the dimension; its stride in bytes */
    int64_t outside;    /* an index that is out of range, if `fault` */
    int fault;
} adding;

static void add_offsets(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    adding *a = user;

    for (int64_t i = 0; i < n; i++) {
        int64_t *sum = (int64_t *)(data[0] + i * strides[0]);
        int64_t index = *(const int64_t *)(data[2] + i * strides[2]);
        if (index < -a->size || index >= a->size) {
            __atomic_store_n(&a->outside, index, __ATOMIC_RELAXED);
            __atomic_store_n(&a->fault, 1, __ATOMIC_RELAXED);
            continue;
        }
        *sum = *(const int64_t *)(data[1] + i * strides[1]) +
               (index + (index < 0 ? a->size : 0)) * a->step;
    }
}

/* Add the offsets of the indices of dimension `d` to x->offsets. */
static int add_dim(dp_ctx *ctx, const dp_view *self, indexing *x, int d)
{
    dp_tensor *ins[] = {x->offsets, x->at[d]};
    dp_iter it;
    dp_iter_config c = dp_iter_of(DP_ITER_BINARY, 1, &x->offsets, 2, ins);
    adding a = {self->sizes[d], self->strides[d] * (int64_t)dp_dtype_size(self->dtype), 0, 0};
    int rc = dp_iter_init(ctx, &c, &it);

    if (rc == 0)
        rc = dp_iter_run_1d(ctx, &it, add_offsets, &a);
    if (rc == 0 && a.fault)
        rc = dp_fail(ctx, DP_EINDEX,
                     "index %" PRId64 " is out of bounds for dimension %d with size %" PRId64,
                     a.outside, d, a.size);
    return rc;
}

/* Make x->offsets with the strides that an iterator over all indices gives its output, because
 * PyTorch orders the result's dimensions by them. */
static int make_offsets(dp_ctx *ctx, const dp_view *self, indexing *x)
{
    dp_tensor *ins[DP_DIM_MAX];
    int n = 0;
    dp_iter it;

    for (int d = 0; d < self->ndim; d++)
        if (x->at[d])
            ins[n++] = x->at[d];
    if (n == 0 || n >= DP_ITER_OPERANDS_MAX)
        return dp_empty(ctx, DP_INT64, self->device, x->rank, x->shape, DP_CONTIGUOUS, &x->offsets);
    dp_iter_config c = dp_iter_of(DP_ITER_BINARY, 1, &x->offsets, n, ins);
    return dp_iter_init(ctx, &c, &it);
}

static int zero_offsets(dp_ctx *ctx, const dp_view *self, indexing *x)
{
    bool any = true;
    int rc = make_offsets(ctx, self, x);

    for (int d = 0; d < x->rank; d++)
        any &= x->shape[d] != 0;
    for (int d = 0; rc == 0 && d < self->ndim; d++)
        if (x->at[d] && self->sizes[d] == 0 && any)
            rc = dp_fail(ctx, DP_EINDEX, "index is out of bounds for dimension with size 0");
    return rc < 0 ? rc : dp_invoke(ctx, "aten::zero_", "T>", x->offsets);
}

int indexing_find_offsets(dp_ctx *ctx, const dp_view *self, indexing *x)
{
    int rc = 0;
    DP_VIEW(result, x->from);

    for (int d = 0; rc == 0 && d < self->ndim && result.numel > 0; d++)
        rc = x->at[d] ? add_dim(ctx, self, x, d) : 0;
    return rc;
}

/* -- the result's dimensions -- */

/* Return the dimension of the result at which the dimensions of the indices begin: the first
 * indexed dimension if all indexed dimensions are neighbours, else 0. */
static int place_of(const dp_view *self, const indexing *x)
{
    int first = -1, last = -1, n = 0;

    for (int d = 0; d < self->ndim; d++)
        if (x->at[d]) {
            first = first < 0 ? d : first;
            last = d;
            n++;
        }
    return n > 0 && last - first + 1 == n ? first : 0;
}

static int lay_out(dp_ctx *ctx, dp_tensor *self, const dp_view *v, indexing *x)
{
    int64_t sizes[2 * DP_DIM_MAX], from[2 * DP_DIM_MAX], moved[2 * DP_DIM_MAX];
    int n = 0, place = place_of(v, x), d = 0;
    DP_VIEW(o, x->offsets);

    for (int free = 0; d <= v->ndim; d++) {
        if (free == place && n == place)
            for (int i = 0; i < x->rank; i++, n++)
                sizes[n] = x->shape[i], from[n] = 0, moved[n] = o.strides[i];
        if (d == v->ndim || x->at[d])
            continue;
        sizes[n] = v->sizes[d], from[n] = v->strides[d], moved[n++] = 0;
        free++;
    }
    int rc = check_ndim(ctx, (size_t)n);
    if (rc == 0)
        rc = dp_as_strided(ctx, self, n, sizes, from, dp_tensor_offset(self), &x->from);
    return rc < 0 ? rc : dp_as_strided(ctx, x->offsets, n, sizes, moved, 0, &x->moved);
}

int indexing_init(dp_ctx *ctx, dp_tensor *self, dp_tensor *const *indices, size_t n, indexing *x)
{
    DP_VIEW(v, self);

    memset(x, 0, sizeof(*x));
    int rc = take_indices(ctx, &v, indices, n, x);
    if (rc == 0)
        rc = common_shape(ctx, &v, x);
    if (rc == 0)
        rc = zero_offsets(ctx, &v, x);
    return rc < 0 ? rc : lay_out(ctx, self, &v, x);
}

/* -- copies of elements -- */

/* Copy elements of `size` bytes between data[0] and data[1].  The offsets at data[2] are added to
 * the addresses of the target if `put`, else to those of the source. */
static inline __attribute__((always_inline)) void
move_elements(size_t size, char **data, const int64_t *strides, int64_t n0, int64_t n1, bool put)
{
    const int64_t *outer = strides + 3;

    for (int64_t j = 0; j < n1; j++) {
        char *dst = data[0] + j * outer[0];
        const char *src = data[1] + j * outer[1], *at = data[2] + j * outer[2];
        if (strides[2] == 0) {
            int64_t offset = *(const int64_t *)at;
            copy_elements(size, n0, dst + (put ? offset : 0), strides[0], src + (put ? 0 : offset),
                          strides[1]);
            continue;
        }
        switch (size) {
#define EACH(bytes, type)                                                                          \
    case bytes:                                                                                    \
        for (int64_t i = 0; i < n0; i++) {                                                         \
            int64_t offset = *(const int64_t *)(at + i * strides[2]);                              \
            *(type *)(dst + i * strides[0] + (put ? offset : 0)) =                                 \
                *(const type *)(src + i * strides[1] + (put ? 0 : offset));                        \
        }                                                                                          \
        break;
            DP_DTYPE_SIZES(EACH)
#undef EACH
        }
    }
}

void indexing_get_elements(char **data, const int64_t *strides, int64_t n0, int64_t n1, void *user)
{
    move_elements(*(const size_t *)user, data, strides, n0, n1, false);
}

void indexing_put_elements(char **data, const int64_t *strides, int64_t n0, int64_t n1, void *user)
{
    move_elements(*(const size_t *)user, data, strides, n0, n1, true);
}
