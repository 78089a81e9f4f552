/* index_put.c -- index_put and index_put_, which write the elements selected by a list of index
 * tensors (aten/src/ATen/native/TensorAdvancedIndexing.cpp).
 *
 * Operators: index_put, _index_put_impl. */
#include "advanced_index.h"
#include <dispatchd/iter.h>

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

/* If the indices are one mask, set *mask, owned, to the mask with dimensions of size 1 for self's
 * dimensions after it; else set *mask to NULL.  Source: canDispatchToMaskedFill. */
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
            indexing_check_mask(ctx, self, &m, at, i) < 0) {
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

enum { WIDE = 16 }; /* least number of elements for each index for which put_vector() is used */

/* Return the dimension that is indexed if it is the only one, and its index is a vector; else
 * -1. */
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

/* Write along one dimension, like index_copy_ and index_add_: on several threads, but repeated
 * indices are written in order. */
static int put_vector(dp_ctx *ctx, dp_tensor *self, const indexing *x, int dim, dp_tensor *values,
                      bool accumulate)
{
    gs_call a;
    dp_tensor *index = NULL, *source = NULL;
    DP_VIEW(v, self);
    DP_VIEW(r, x->from);
    int rc = gs_indices(ctx, x->at[dim], v.sizes[dim], true, &index);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::expand", "Tlib>T", values, r.sizes, (size_t)r.ndim, 0, &source);
    if (rc == 0) {
        gs_init_vector(&a, self, dim, index);
        a.code = DP_EINDEX;
        rc = gs_scatter(ctx, &a, accumulate ? GS_ADD : GS_SET, source, NULL);
    }
    dp_tensor_unref(index);
    dp_tensor_unref(source);
    return rc;
}

/* Write all elements on one thread in order, because an element may be indexed twice. */
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
                      : dp_iter_run(ctx, &it, indexing_put_elements, &size);
}

static int put_values(dp_ctx *ctx, dp_tensor *self, dp_tensor *const *indices, size_t n,
                      dp_tensor *values, bool accumulate)
{
    indexing x;
    DP_VIEW(v, self);
    int rc = indexing_init(ctx, self, indices, n, &x);

    if (rc == 0)
        rc = check_values(ctx, &x, &v, values);
    if (rc == 0)
        rc = indexing_find_offsets(ctx, &v, &x);
    int dim = only_vector(&v, &x);
    bool apart = dim >= 0 && v.numel > 0 && v.numel / v.sizes[dim] >= WIDE &&
                 dp_tensor_is_dense(self) && dp_overlap(self, values) == 0;
    if (rc < 0)
        rc = dp_refuse(ctx, rc, NULL);
    else
        rc = apart ? put_vector(ctx, self, &x, dim, values, accumulate)
                   : put_places(ctx, &v, &x, values, accumulate);
    indexing_drop(&x);
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

/* aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) ->
 * Tensor */
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

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("_index_put_impl_", index_put_impl, (T, loT, T, b, b), ()))
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("index_put_", index_put_, (T, loT, T, b), ()),
                DP_IMPL_UNBOXED("index_put", index_put, (T, loT, T, b), (T)))
