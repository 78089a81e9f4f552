/* join.c -- stack, repeat, embedding, where and masked_fill by way of cat, views and copies. */
#include "composite.h"
#include <dispatchd/check.h>
#include <string.h>

/* -- stack -- */

/* Brings dim into range, too. */
static int check_stack(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t *dim)
{
    char first[DP_SHAPE_TEXT], other[DP_SHAPE_TEXT];

    if (n == 0)
        return dp_fail(ctx, DP_ERUNTIME, "stack expects a non-empty TensorList");
    DP_VIEW(x, tensors[0]);
    for (size_t i = 1; i < n; i++) {
        DP_VIEW(y, tensors[i]);
        if (y.ndim != x.ndim || memcmp(y.sizes, x.sizes, (size_t)x.ndim * sizeof(int64_t)) != 0)
            return dp_fail(
                ctx, DP_ERUNTIME,
                "stack expects each tensor to be equal size, but got %s at entry 0 and %s "
                "at entry %zu",
                dp_shape_text(first, x.sizes, (size_t)x.ndim),
                dp_shape_text(other, y.sizes, (size_t)y.ndim), i);
    }
    return x.ndim == DP_DIM_MAX ? check_ndim(ctx, DP_DIM_MAX + 1) : wrap_dim(ctx, dim, x.ndim + 1);
}

/* Each with a dimension of 1, and joined there.  *out NULL: made */
static int stack_rows(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t dim,
                      dp_tensor **out)
{
    size_t made = 0;
    int rc = 0;
    dp_tensor **rows = dp_alloc(ctx, n * sizeof(dp_tensor *));

    if (rows == NULL)
        return DP_ERESOURCE;
    for (; rc == 0 && made < n; made += rc == 0)
        rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", tensors[made], dim, &rows[made]);
    if (rc == 0)
        rc = *out ? dp_invoke(ctx, "aten::cat.out", "lTiT>", rows, n, dim, *out)
                  : dp_invoke(ctx, "aten::cat", "lTi>T", rows, n, dim, out);
    for (size_t i = 0; i < made; i++)
        dp_tensor_unref(rows[i]);
    return rc;
}

/* One behind the other, in the layout that they have, and dim split by a view. */
static int stack_parts(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t dim,
                       dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    dp_tensor *joined;
    DP_VIEW(x, tensors[0]);
    int rc = dp_invoke(ctx, "aten::cat", "lTi>T", tensors, n, dim, &joined);

    if (rc < 0)
        return rc;
    memcpy(sizes, x.sizes, (size_t)dim * sizeof(int64_t));
    sizes[dim] = (int64_t)n;
    memcpy(sizes + dim + 1, x.sizes + dim, (size_t)(x.ndim - dim) * sizeof(int64_t));
    rc = dp_invoke(ctx, "aten::view", "Tli>T", joined, sizes, (size_t)x.ndim + 1, out);
    dp_tensor_unref(joined);
    return rc;
}

/* aten::stack(Tensor[] tensors, int dim=0) -> Tensor */
static int stack(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t dim, dp_tensor **out)
{
    int rc = check_stack(ctx, tensors, n, &dim);

    if (rc < 0)
        return rc;
    DP_VIEW(x, tensors[0]);
    *out = NULL; /* behind the last dimension there is nothing to split */
    return dim < x.ndim ? stack_parts(ctx, tensors, n, dim, out)
                        : stack_rows(ctx, tensors, n, dim, out);
}

/* aten::stack.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!) */
static int stack_out(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t dim, dp_tensor *out)
{
    int rc = check_stack(ctx, tensors, n, &dim);

    return rc < 0 ? dp_refuse(ctx, rc, NULL) : stack_rows(ctx, tensors, n, dim, &out);
}

/* aten::_stack(Tensor[] tensors, int dim=0) -> Tensor: in the order of the rows */
static int stack_in_order(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t dim,
                          dp_tensor **out)
{
    int rc = check_stack(ctx, tensors, n, &dim);

    *out = NULL;
    return rc < 0 ? rc : stack_rows(ctx, tensors, n, dim, out);
}

#define STACKS(key)                                                                                \
    DP_LIBRARY_META(aten, key, DP_IMPL_UNBOXED("_stack", stack_in_order, (lT, i), (T)),            \
                    DP_IMPL_UNBOXED("_stack.out", stack_out, (lT, i, T), ()))
STACKS(CPU)
STACKS(CompositeExplicitAutograd)

/* -- repeat -- */

/* Copies self, viewed as [1, s0, 1, s1, ...] and broadcast, into made, viewed as [r0, s0, r1, s1,
 * ...]; r are the repeats, s the sizes of self. */
static int repeat_into(dp_ctx *ctx, dp_tensor *self, const int64_t *repeats, int n, dp_tensor *made)
{
    int64_t sizes[DP_DIM_MAX], from[DP_DIM_MAX], to[DP_DIM_MAX];
    dp_tensor *dst = NULL, *src = NULL;
    DP_VIEW(x, self);
    DP_VIEW(y, made);

    for (int d = 0; d < n; d++) {
        int old = d - (n - x.ndim);
        int64_t size = old >= 0 ? x.sizes[old] : 1;
        sizes[2 * d] = repeats[d], sizes[2 * d + 1] = size;
        from[2 * d] = 0, from[2 * d + 1] = old >= 0 ? x.strides[old] : 0;
        to[2 * d] = size * y.strides[d], to[2 * d + 1] = y.strides[d];
    }
    int rc = dp_as_strided(ctx, made, 2 * n, sizes, to, 0, &dst);
    if (rc == 0)
        rc = dp_as_strided(ctx, self, 2 * n, sizes, from, dp_tensor_offset(self), &src);
    if (rc == 0)
        rc = dp_copy(ctx, dst, src);
    dp_tensor_unref(dst);
    dp_tensor_unref(src);
    return rc;
}

static int repeated_sizes(dp_ctx *ctx, const dp_view *x, const int64_t *repeats, size_t n,
                          int64_t *sizes)
{
    char text[DP_SHAPE_TEXT];

    if (n < (size_t)x->ndim)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Number of dimensions of repeat dims can not be smaller than number of "
                       "dimensions of tensor");
    if (n > DP_DIM_MAX / 2)
        return dp_fail(ctx, DP_ERUNTIME, "repeat takes at most %d dimensions, not %zu",
                       DP_DIM_MAX / 2, n);
    for (size_t d = 0; d < n; d++) {
        size_t lead = n - (size_t)x->ndim;
        int64_t size = d >= lead ? x->sizes[d - lead] : 1;
        if (repeats[d] < 0 || __builtin_mul_overflow(size, repeats[d], &sizes[d]))
            return dp_fail(ctx, DP_ERUNTIME,
                           "Trying to create tensor with negative or too large dimension: %s",
                           dp_shape_text(text, repeats, n));
    }
    return 0;
}

/* aten::repeat(Tensor self, SymInt[] repeats) -> Tensor */
static int repeat(dp_ctx *ctx, dp_tensor *self, const int64_t *repeats, size_t n, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    dp_tensor *made;
    DP_VIEW(x, self);
    int rc = repeated_sizes(ctx, &x, repeats, n, sizes);

    if (rc == 0)
        rc = dp_empty(ctx, x.dtype, x.device, (int)n, sizes, DP_CONTIGUOUS, &made);
    if (rc < 0)
        return rc;
    DP_VIEW(y, made);
    if (y.numel > 0)
        rc = repeat_into(ctx, self, repeats, (int)n, made);
    if (rc < 0)
        dp_tensor_unref(made);
    else
        *out = made;
    return rc;
}

/* -- embedding -- */

/* aten::embedding(Tensor weight, Tensor indices, int padding_idx=-1,
 *     bool scale_grad_by_freq=False, bool sparse=False) -> Tensor */
static int embedding(dp_ctx *ctx, dp_tensor *weight, dp_tensor *indices, int64_t padding,
                     bool scale_by_freq, bool sparse, dp_tensor **out)
{
    const dp_dtype integers[] = {DP_INT64, DP_INT32};
    int64_t sizes[DP_DIM_MAX + 1], flat = -1;
    dp_tensor *index, *rows;
    DP_VIEW(w, weight);
    DP_VIEW(i, indices);

    (void)padding, (void)scale_by_freq, (void)sparse; /* concern the gradient only */
    if (w.ndim != 2)
        return dp_fail(ctx, DP_ERUNTIME, "'weight' must be 2-D");
    int rc = dp_check_dtypes(ctx, "embedding", &(dp_checked){indices, "indices", 1}, 2, integers);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::reshape", "Tli>T", indices, &flat, (size_t)1, &index);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::index_select", "TiT>T", weight, (int64_t)0, index, &rows);
    dp_tensor_unref(index);
    if (rc < 0)
        return rc;
    memcpy(sizes, i.sizes, (size_t)i.ndim * sizeof(int64_t));
    sizes[i.ndim] = w.sizes[1];
    rc = dp_invoke(ctx, "aten::view", "Tli>T", rows, sizes, (size_t)i.ndim + 1, out);
    dp_tensor_unref(rows);
    return rc;
}

/* -- where, masked_fill -- */

/* aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor */
static int where(dp_ctx *ctx, dp_tensor *condition, dp_value self, dp_value other, dp_tensor **out)
{
    dp_tensor *a = NULL, *b = NULL;
    int rc = 0;

    if (self.tag != DP_TAG_TENSOR)
        rc = wrap_scalar(ctx, self, &a);
    if (rc == 0 && other.tag != DP_TAG_TENSOR)
        rc = wrap_scalar(ctx, other, &b);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::where.self", "TTT>T", condition, a ? a : self.u.t,
                       b ? b : other.u.t, out);
    dp_tensor_unref(a);
    dp_tensor_unref(b);
    return rc;
}

/* aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor */
static int where_other(dp_ctx *ctx, dp_tensor *condition, dp_tensor *self, dp_value other,
                       dp_tensor **out)
{
    return where(ctx, condition, dp_tensor_value(self), other, out);
}

/* aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor */
static int where_self(dp_ctx *ctx, dp_tensor *condition, dp_value self, dp_tensor *other,
                      dp_tensor **out)
{
    return where(ctx, condition, self, dp_tensor_value(other), out);
}

/* aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
 * Fills a row-major copy of self, expanded to the shape to which self and mask broadcast. */
static int masked_fill(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_value value,
                       dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX], format = DP_CONTIGUOUS;
    dp_tensor *wide, *copy;
    DP_VIEW(x, self);
    DP_VIEW(m, mask);
    int ndim = x.ndim > m.ndim ? x.ndim : m.ndim;
    int rc = dp_broadcast_shapes(ctx, x.ndim, x.sizes, m.ndim, m.sizes, sizes);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::expand", "Tlib>T", self, sizes, (size_t)ndim, (int)false, &wide);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::clone", "Toi>T", wide, &format, &copy);
    dp_tensor_unref(wide);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::masked_fill_.Scalar", "TTs>", copy, mask, value);
    if (rc < 0)
        dp_tensor_unref(copy);
    else
        *out = copy;
    return rc;
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("stack", stack, (lT, i), (T)),
                DP_IMPL_UNBOXED("stack.out", stack_out, (lT, i, T), ()),
                DP_IMPL_UNBOXED("repeat", repeat, (T, li), (T)),
                DP_IMPL_UNBOXED("embedding", embedding, (T, T, i, b, b), (T)),
                DP_IMPL_UNBOXED("masked_fill.Scalar", masked_fill, (T, T, s), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("where.Scalar", where, (T, s, s), (T)),
                DP_IMPL_UNBOXED("where.ScalarOther", where_other, (T, T, s), (T)),
                DP_IMPL_UNBOXED("where.ScalarSelf", where_self, (T, s, T), (T)))
