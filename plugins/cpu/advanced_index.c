/* advanced_index.c -- index, index_put: a tensor at the places that other tensors name
 * (aten/src/ATen/native/TensorAdvancedIndexing.cpp).
 *
 * The indices of all dimensions are brought to one shape and become one tensor of offsets, checked
 * before anything is read or written.  Then the result is one loop over (result, self with a step of 0
 * in the indexed dimensions, offsets). */
#include "along.h"

/* One call's indexing of self.  What it holds is owned: index_drop(). */
typedef struct indexing {
    dp_tensor
        *at[DP_DIM_MAX]; /* of each dimension: int64, all of them of one shape; NULL: all of it */
    dp_tensor *offsets;  /* in bytes, of that shape */
    int rank;            /* of that shape */
    int64_t shape[DP_DIM_MAX];
    dp_tensor *from, *moved; /* self and offsets as the result's dimensions walk them */
} indexing;

static void index_drop(indexing *x)
{
    for (int d = 0; d < DP_DIM_MAX; d++)
        dp_tensor_unref(x->at[d]);
    dp_tensor_unref(x->offsets);
    dp_tensor_unref(x->from);
    dp_tensor_unref(x->moved);
}

/* -- which dimension is indexed by what -- */

static int check_mask(dp_ctx *ctx, const dp_view *self, const dp_view *mask, int at,
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

/* A mask stands for the places where it is true, an index for each of its dimensions. */
static int expand_mask(dp_ctx *ctx, dp_tensor *mask, indexing *x, int *at)
{
    dp_tensor *places;
    DP_VIEW(m, mask);
    int rc = dp_invoke(ctx, "aten::nonzero", "T>T", mask, &places);

    for (int j = 0; rc == 0 && j < m.ndim; j++, (*at)++)
        rc = dp_invoke(ctx, "aten::select.int", "Tii>T", places, (int64_t)1, (int64_t)j,
                       &x->at[*at]);
    if (rc == 0)
        dp_tensor_unref(places);
    return rc;
}

static int take_index(dp_ctx *ctx, const dp_view *self, dp_tensor *index, size_t position,
                      indexing *x, int *at)
{
    DP_VIEW(i, index);
    bool mask = i.dtype == DP_BOOL || i.dtype == DP_UINT8;
    int rc = mask ? check_mask(ctx, self, &i, *at, position) : 0;

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

/* The shape that all indices broadcast to. */
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
        memcpy(x->shape, shape, (size_t)x->rank * sizeof(int64_t));
    }
    return 0;
}

/* -- offsets -- */

typedef struct adding {
    int64_t size, step; /* of the dimension, in elements and bytes */
    int64_t outside;    /* some index that is out of range, if `fault` */
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

/* offsets += where the indices of dimension d lead */
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

/* The offsets lie as the indices do: that decides the order of the result's dimensions. */
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

static int find_offsets(dp_ctx *ctx, const dp_view *self, indexing *x)
{
    int rc = 0;
    DP_VIEW(result, x->from);

    for (int d = 0; rc == 0 && d < self->ndim && result.numel > 0; d++)
        rc = x->at[d] ? add_dim(ctx, self, x, d) : 0;
    return rc;
}

/* -- the result's dimensions -- */

/* Where the indices' dimensions stand in the result: at the first indexed dimension if all indexed ones
 * are neighbours, else in front. */
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

/* All but the offsets; index_drop() also after a failure. */
static int prepare(dp_ctx *ctx, dp_tensor *self, dp_tensor *const *indices, size_t n, indexing *x)
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

/* -- index -- */

static void pick_elements(char **data, const int64_t *strides, int64_t n0, int64_t n1, void *user)
{
    size_t size = *(const size_t *)user;
    const int64_t *outer = strides + 3;

    for (int64_t j = 0; j < n1; j++) {
        char *dst = data[0] + j * outer[0];
        const char *src = data[1] + j * outer[1], *at = data[2] + j * outer[2];
        if (strides[2] == 0) {
            copy_elements(size, n0, dst, strides[0], src + *(const int64_t *)at, strides[1]);
            continue;
        }
        switch (size) {
#define EACH(bytes, type)                                                                          \
    case bytes:                                                                                    \
        for (int64_t i = 0; i < n0; i++)                                                           \
            *(type *)(dst + i * strides[0]) =                                                      \
                *(const type *)(src + i * strides[1] + *(const int64_t *)(at + i * strides[2]));   \
        break;
            DP_DTYPE_SIZES(EACH)
#undef EACH
        }
    }
}

/* *out NULL: it is made */
static int write_index(dp_ctx *ctx, dp_tensor *self, dp_tensor *const *indices, size_t n,
                       dp_tensor **out)
{
    indexing x;
    dp_iter it;
    dp_tensor *given = *out;
    DP_VIEW(v, self);
    size_t size = dp_dtype_size(v.dtype);
    int rc = prepare(ctx, self, indices, n, &x);

    if (rc == 0)
        rc = find_offsets(ctx, &v, &x);
    if (rc == 0) {
        dp_tensor *ins[] = {x.from, x.moved};
        dp_iter_config c = dp_iter_of(DP_ITER_ANY_DTYPE | DP_ITER_NO_OVERLAP_CHECK, 1, out, 2, ins);
        c.out_dtype = dp_some_dtype(v.dtype);
        rc = dp_iter_init(ctx, &c, &it);
    }
    rc = rc < 0 ? dp_refuse(ctx, rc, NULL) : dp_iter_run(ctx, &it, pick_elements, &size);
    if (rc < 0 && given == NULL)
        *out = dp_tensor_unref(*out);
    index_drop(&x);
    return rc;
}

/* aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor */
static int index_tensor(dp_ctx *ctx, dp_tensor *self, dp_tensor *const *indices, size_t n,
                        dp_tensor **out)
{
    *out = NULL;
    return write_index(ctx, self, indices, n, out);
}

/* aten::index.Tensor_out(Tensor self, Tensor?[] indices, *, Tensor(a!) out) -> Tensor(a!) */
static int index_tensor_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *const *indices, size_t n,
                            dp_tensor *out)
{
    DP_VIEW(x, self);
    DP_VIEW(y, out);

    if (x.dtype != y.dtype)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "index(): self (%s) and result (%s) must have the same "
                         "scalar type",
                         dp_dtype_name(x.dtype), dp_dtype_name(y.dtype));
    int rc = check_apart(ctx, out, &self, 1);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = indices[i] ? check_apart(ctx, out, &indices[i], 1) : 0;
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    return write_index(ctx, self, indices, n, &out);
}

/* -- index_put -- */

static void put_elements(char **data, const int64_t *strides, int64_t n0, int64_t n1, void *user)
{
    size_t size = *(const size_t *)user;
    const int64_t *outer = strides + 3;

    for (int64_t j = 0; j < n1; j++) {
        char *dst = data[0] + j * outer[0];
        const char *src = data[1] + j * outer[1], *at = data[2] + j * outer[2];
        if (strides[2] == 0) {
            copy_elements(size, n0, dst + *(const int64_t *)at, strides[0], src, strides[1]);
            continue;
        }
        switch (size) {
#define EACH(bytes, type)                                                                          \
    case bytes:                                                                                    \
        for (int64_t i = 0; i < n0; i++)                                                           \
            *(type *)(dst + i * strides[0] + *(const int64_t *)(at + i * strides[2])) =            \
                *(const type *)(src + i * strides[1]);                                             \
        break;
            DP_DTYPE_SIZES(EACH)
#undef EACH
        }
    }
}

static void add_elements(char **data, const int64_t *strides, int64_t n0, int64_t n1, void *user)
{
    dp_dtype dtype = *(const dp_dtype *)user;
    const int64_t *outer = strides + 3;

    for (int64_t j = 0; j < n1; j++) {
        char *dst = data[0] + j * outer[0];
        const char *src = data[1] + j * outer[1], *at = data[2] + j * outer[2];
        switch (dtype) {
#define EACH(name, dtype, memory, value, load, store)                                              \
    case dtype:                                                                                    \
        for (int64_t i = 0; i < n0; i++) {                                                         \
            memory *p =                                                                            \
                (memory *)(dst + i * strides[0] + *(const int64_t *)(at + i * strides[2]));        \
            value a = load(*p), b = load(*(const memory *)(src + i * strides[1]));                 \
            *p = store((value)(a + b));                                                            \
        }                                                                                          \
        break;
            DP_DTYPES_ALL(EACH)
#undef EACH
        }
    }
}

static int check_values(dp_ctx *ctx, const indexing *x, const dp_view *self, dp_tensor *values)
{
    int64_t shape[DP_DIM_MAX];
    char a[DP_SHAPE_TEXT], b[DP_SHAPE_TEXT];
    DP_VIEW(r, x->from);
    DP_VIEW(v, values);
    bool fits = v.ndim <= r.ndim &&
                dp_broadcast_shapes(ctx, r.ndim, r.sizes, v.ndim, v.sizes, shape) == 0 &&
                memcmp(shape, r.sizes, (size_t)r.ndim * sizeof(int64_t)) == 0;

    if (v.dtype != self->dtype)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Index put requires the source and destination dtypes match, got %s for the "
                       "destination and %s for the source.",
                       dp_dtype_name(self->dtype), dp_dtype_name(v.dtype));
    if (!fits)
        return dp_fail(ctx, DP_ERUNTIME,
                       "shape mismatch: value tensor of shape %s cannot be broadcast to indexing "
                       "result of shape %s",
                       dp_shape_text(a, v.sizes, (size_t)v.ndim),
                       dp_shape_text(b, r.sizes, (size_t)r.ndim));
    return 0;
}

/* One value where one mask is true: *mask, with a reference and dimensions for what follows it; NULL: it
 * is something else.  Source: canDispatchToMaskedFill. */
static int only_mask(dp_ctx *ctx, const dp_view *self, dp_tensor *const *indices, size_t n,
                     dp_tensor **mask)
{
    int at = 0, rc = 0;

    *mask = NULL;
    for (size_t i = 0; i < n; i++) {
        if (indices[i] == NULL) {
            at++;
            continue;
        }
        DP_VIEW(m, indices[i]);
        if (*mask || (m.dtype != DP_BOOL && m.dtype != DP_UINT8) ||
            check_mask(ctx, self, &m, at, i) < 0) {
            *mask = NULL;
            return 0;
        }
        *mask = indices[i];
        at += m.ndim;
    }
    dp_tensor *now = *mask ? dp_tensor_ref(*mask) : NULL, *next;
    for (; rc == 0 && now && at < self->ndim; at++) {
        rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", now, (int64_t)-1, &next);
        dp_tensor_unref(now);
        now = rc == 0 ? next : NULL;
    }
    *mask = now;
    return rc;
}

static int fill_mask(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor *value)
{
    dp_tensor *one;
    int64_t none[1];
    int rc = dp_invoke(ctx, "aten::reshape", "Tli>T", value, none, (size_t)0, &one);

    if (rc == 0) {
        rc = dp_invoke(ctx, "aten::masked_fill_.Tensor", "TTT>", self, mask, one);
        dp_tensor_unref(one);
    }
    dp_tensor_unref(mask);
    return rc;
}

enum {
    WIDE = 16
}; /* elements that an index names, from which on they are worth a way of their own */

/* The one dimension that is indexed, by a vector; -1: it is more than that. */
static int only_vector(const dp_view *self, const indexing *x)
{
    int found = -1, n = 0;

    for (int d = 0; d < self->ndim; d++)
        if (x->at[d]) {
            found = d;
            n++;
        }
    return n == 1 && x->rank == 1 ? found : -1;
}

/* As index_copy_ and index_add_: several threads, but of what one place gets each in its turn. */
static int put_vector(dp_ctx *ctx, dp_tensor *self, const indexing *x, int dim, dp_tensor *values,
                      bool accumulate)
{
    along a;
    dp_tensor *index = NULL, *source = NULL;
    DP_VIEW(v, self);
    DP_VIEW(r, x->from);
    int rc = along_indices(ctx, x->at[dim], v.sizes[dim], true, &index);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::expand", "Tlib>T", values, r.sizes, (size_t)r.ndim, 0, &source);
    if (rc == 0) {
        along_vector(&a, self, dim, index);
        a.code = DP_EINDEX;
        rc = along_put(ctx, &a, accumulate ? ALONG_ADD : ALONG_SET, source, NULL);
    }
    dp_tensor_unref(index);
    dp_tensor_unref(source);
    return rc;
}

/* One place may be named twice, so one thread writes, in order. */
static int put_places(dp_ctx *ctx, const dp_view *self, indexing *x, dp_tensor *values,
                      bool accumulate)
{
    dp_iter it;
    dp_dtype dtype = self->dtype;
    size_t size = dp_dtype_size(dtype);
    dp_tensor *ins[] = {values, x->moved};
    dp_iter_config c = dp_iter_of(DP_ITER_ANY_DTYPE | DP_ITER_NO_OVERLAP_CHECK | DP_ITER_NO_RESIZE |
                                      DP_ITER_SERIAL,
                                  1, &x->from, 2, ins);
    int rc = dp_iter_init(ctx, &c, &it);

    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    return accumulate ? dp_iter_run(ctx, &it, add_elements, &dtype)
                      : dp_iter_run(ctx, &it, put_elements, &size);
}

static int put_values(dp_ctx *ctx, dp_tensor *self, dp_tensor *const *indices, size_t n,
                      dp_tensor *values, bool accumulate)
{
    indexing x;
    DP_VIEW(v, self);
    int rc = prepare(ctx, self, indices, n, &x);

    if (rc == 0)
        rc = check_values(ctx, &x, &v, values);
    if (rc == 0)
        rc = find_offsets(ctx, &v, &x);
    int dim = only_vector(&v, &x);
    bool apart = dim >= 0 && v.numel > 0 && v.numel / v.sizes[dim] >= WIDE &&
                 dp_tensor_is_dense(self) && dp_overlap(self, values) == 0;
    if (rc < 0)
        rc = dp_refuse(ctx, rc, NULL);
    else
        rc = apart ? put_vector(ctx, self, &x, dim, values, accumulate)
                   : put_places(ctx, &v, &x, values, accumulate);
    index_drop(&x);
    return rc;
}

/* aten::_index_put_impl_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False,
 *     bool unsafe=False) -> Tensor(a!) */
static int index_put_impl(dp_ctx *ctx, dp_tensor *self, dp_tensor *const *indices, size_t n,
                          dp_tensor *values, bool accumulate, bool unsafe)
{
    dp_tensor *mask = NULL;
    DP_VIEW(x, self);
    DP_VIEW(v, values);
    int rc = accumulate || v.numel != 1 ? 0 : only_mask(ctx, &x, indices, n, &mask);

    (void)unsafe;
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    return mask ? fill_mask(ctx, self, mask, values)
                : put_values(ctx, self, indices, n, values, accumulate);
}

/* aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False)
 *     -> Tensor(a!) */
static int index_put_(dp_ctx *ctx, dp_tensor *self, dp_tensor *const *indices, size_t n,
                      dp_tensor *values, bool accumulate)
{
    return dp_invoke(ctx, "aten::_index_put_impl_", "TloTTbb>", self, indices, n, values,
                     (int)accumulate, 0);
}

/* aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor */
static int index_put(dp_ctx *ctx, dp_tensor *self, dp_tensor *const *indices, size_t n,
                     dp_tensor *values, bool accumulate, dp_tensor **out)
{
    int64_t preserve = DP_PRESERVE;
    int rc = dp_invoke(ctx, "aten::clone", "Toi>T", self, &preserve, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::index_put_", "TloTTb>", *out, indices, n, values, (int)accumulate);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("index.Tensor", index_tensor, (T, loT), (T)),
                DP_IMPL_UNBOXED("index.Tensor_out", index_tensor_out, (T, loT, T), ()),
                DP_IMPL_UNBOXED("_index_put_impl_", index_put_impl, (T, loT, T, b, b), ()))
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("index_put_", index_put_, (T, loT, T, b), ()),
                DP_IMPL_UNBOXED("index_put", index_put, (T, loT, T, b), (T)))
