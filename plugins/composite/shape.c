/* shape.c -- padding, rotating, blocks and diagonals, by way of views and copies. */
#include "composite.h"
#include <string.h>

/* The part of t that begins `starts` further in and has `sizes`; both [t's ndim]. */
static int window(dp_ctx *ctx, dp_tensor *t, const int64_t *starts, const int64_t *sizes,
                  dp_tensor **out)
{
    DP_VIEW(x, t);
    int64_t offset = dp_tensor_offset(t);

    for (int d = 0; d < x.ndim; d++)
        offset += starts[d] * x.strides[d];
    return dp_as_strided(ctx, t, x.ndim, sizes, x.strides, offset, out);
}

/* dst[to, of sizes] = src[from, of sizes] */
static int copy_window(dp_ctx *ctx, dp_tensor *dst, const int64_t *to, dp_tensor *src,
                       const int64_t *from, const int64_t *sizes)
{
    dp_tensor *a = NULL, *b = NULL;
    int rc = window(ctx, dst, to, sizes, &a);

    if (rc == 0)
        rc = window(ctx, src, from, sizes, &b);
    if (rc == 0)
        rc = dp_copy(ctx, a, b);
    dp_tensor_unref(a);
    dp_tensor_unref(b);
    return rc;
}

/* -- padding -- */

/* What a padding does to a tensor, by dimension. */
typedef struct padding {
    int64_t sizes[DP_DIM_MAX];                /* of the result */
    int64_t from[DP_DIM_MAX], to[DP_DIM_MAX]; /* where the copied part begins, here and there */
    int64_t kept[DP_DIM_MAX];                 /* its sizes */
    bool grows;                               /* some side is padded */
    bool ends;                                /* some dimension that is cut has no elements left */
} padding;

static int pad_dim(dp_ctx *ctx, padding *p, int d, int64_t size, int64_t before, int64_t after)
{
    int64_t cut = -(before < 0 ? before : 0) - (after < 0 ? after : 0), sum;

    p->grows |= before > 0 || after > 0;
    if (before < -size) {
        int64_t start = before == INT64_MIN ? INT64_MAX : -before;
        return wrap_dim(ctx, &start, size);
    }
    if (__builtin_add_overflow(size, before, &sum) || __builtin_add_overflow(sum, after, &sum) ||
        sum < 0 || cut > size)
        return dp_fail(ctx, DP_ERUNTIME,
                       "The input size %" PRId64 ", plus negative padding %" PRId64 " and %" PRId64
                       " resulted in a negative output size, which is invalid. Check dimension %d "
                       "of your input.",
                       size, before, after, d);
    p->ends |= sum == 0;
    p->sizes[d] = sum;
    p->from[d] = before < 0 ? -before : 0;
    p->to[d] = before > 0 ? before : 0;
    p->kept[d] = size - cut;
    return 0;
}

/* pad [n]: before and after the last dimension, then the one in front of it, and so on. */
static int plan_padding(dp_ctx *ctx, const dp_view *x, const int64_t *pad, size_t n, padding *p)
{
    int rc = 0;

    if (n % 2 != 0)
        return dp_fail(ctx, DP_ERUNTIME, "Length of pad must be even but instead it equals %zu", n);
    if (n / 2 > (size_t)x->ndim)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Length of pad should be no more than twice the number of dimensions of the "
                       "input. Pad length is %zuwhile the input has %ddimensions.",
                       n, x->ndim);
    p->grows = p->ends = false;
    for (int d = 0; rc == 0 && d < x->ndim; d++) {
        size_t at = 2 * (size_t)(x->ndim - 1 - d);
        if (at < n) {
            rc = pad_dim(ctx, p, d, x->sizes[d], pad[at], pad[at + 1]);
            continue;
        }
        p->sizes[d] = p->kept[d] = x->sizes[d];
        p->from[d] = p->to[d] = 0;
    }
    if (rc == 0 && p->grows && p->ends)
        return dp_fail(ctx, DP_ERUNTIME, "padding would leave a dimension without elements");
    return rc;
}

/* A part of self in a new tensor. */
static int clone_window(dp_ctx *ctx, dp_tensor *self, const padding *p, dp_tensor **out)
{
    dp_tensor *part;
    int rc = window(ctx, self, p->from, p->kept, &part);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::clone", "T>T", part, out);
    dp_tensor_unref(part);
    return rc;
}

/* aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor */
static int constant_pad_nd(dp_ctx *ctx, dp_tensor *self, const int64_t *pad, size_t n,
                           dp_value value, dp_tensor **out)
{
    padding p;
    dp_tensor *made;
    DP_VIEW(x, self);
    int rc = plan_padding(ctx, &x, pad, n, &p);

    if (rc < 0)
        return rc;
    if (!p.grows)
        return clone_window(ctx, self, &p, out);
    rc = dp_empty(ctx, x.dtype, x.device, x.ndim, p.sizes, dp_tensor_suggest_format(self), &made);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", made, value);
    if (rc == 0)
        rc = copy_window(ctx, made, p.to, self, p.from, p.kept);
    if (rc < 0)
        made = dp_tensor_unref(made);
    *out = made;
    return rc;
}

/* -- rot90 -- */

static int check_rotation(dp_ctx *ctx, int ndim, const int64_t *dims, size_t n)
{
    if (n != 2)
        return dp_fail(ctx, DP_ERUNTIME, "expected total rotation dims == 2, but got dims = %zu",
                       n);
    if (ndim < 2)
        return dp_fail(ctx, DP_ERUNTIME, "expected total dims >= 2, but got total dims = %d", ndim);
    if (dims[0] == dims[1] || dims[0] - dims[1] == ndim || dims[1] - dims[0] == ndim)
        return dp_fail(ctx, DP_ERUNTIME,
                       "expected rotation dims to be different, but got dim0 = %" PRId64
                       " and dim1 = %" PRId64,
                       dims[0], dims[1]);
    for (int i = 0; i < 2; i++)
        if (dims[i] >= ndim || dims[i] < -ndim)
            return dp_fail(ctx, DP_ERUNTIME, "Rotation dim%d out of range, dim%d = %" PRId64, i, i,
                           dims[i]);
    return 0;
}

/* aten::rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor */
static int rot90(dp_ctx *ctx, dp_tensor *self, int64_t k, const int64_t *dims, size_t n,
                 dp_tensor **out)
{
    DP_VIEW(x, self);
    int64_t turns = ((k % 4) + 4) % 4, contiguous = DP_CONTIGUOUS;
    dp_tensor *flipped;
    int rc = check_rotation(ctx, x.ndim, dims, n);

    if (rc < 0)
        return rc;
    if (turns == 0)
        return dp_invoke(ctx, "aten::clone", "Toi>T", self, &contiguous, out);
    if (turns == 2)
        return dp_invoke(ctx, "aten::flip", "Tli>T", self, dims, n, out);
    rc = dp_invoke(ctx, "aten::flip", "Tli>T", self, &dims[turns == 1], (size_t)1, &flipped);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::transpose_", "Tii>", flipped, dims[0], dims[1]);
    if (rc < 0)
        flipped = dp_tensor_unref(flipped);
    *out = flipped;
    return rc;
}

/* -- block_diag, diag_embed -- */

/* Rows and columns of one block; a vector is one row, a number 1 by 1. */
static void block_sizes(const dp_view *x, int64_t *rows, int64_t *columns)
{
    *rows = x->ndim == 2 ? x->sizes[0] : 1;
    *columns = x->ndim == 0 ? 1 : x->sizes[x->ndim - 1];
}

/* sizes [2] of the result; all blocks have at most two dimensions. */
static int plan_blocks(dp_ctx *ctx, dp_tensor *const *blocks, size_t n, int64_t *sizes)
{
    int64_t rows, columns;

    sizes[0] = sizes[1] = 0;
    for (size_t i = 0; i < n; i++) {
        DP_VIEW(x, blocks[i]);
        if (x.ndim > 2)
            return dp_fail(
                ctx, DP_ERUNTIME,
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input %zu has %d "
                "dimensions",
                i, x.ndim);
        DP_VIEW(first, blocks[0]);
        if (x.device != first.device)
            return dp_fail(ctx, DP_ERUNTIME,
                           "torch.block_diag: input tensors must all be on the same device.");
        block_sizes(&x, &rows, &columns);
        if (__builtin_add_overflow(sizes[0], rows, &sizes[0]) ||
            __builtin_add_overflow(sizes[1], columns, &sizes[1]))
            return dp_fail(ctx, DP_ERUNTIME, "block_diag: the result's sizes do not fit int64");
    }
    return 0;
}

static int place_blocks(dp_ctx *ctx, dp_tensor *const *blocks, size_t n, dp_tensor *made)
{
    int64_t at[2] = {0, 0}, sizes[2];
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        dp_tensor *part;
        DP_VIEW(x, blocks[i]);
        block_sizes(&x, &sizes[0], &sizes[1]);
        rc = window(ctx, made, at, sizes, &part);
        if (rc < 0)
            break;
        rc = dp_copy(ctx, part, blocks[i]);
        dp_tensor_unref(part);
        at[0] += sizes[0], at[1] += sizes[1];
    }
    return rc;
}

/* aten::block_diag(Tensor[] tensors) -> Tensor */
static int block_diag(dp_ctx *ctx, dp_tensor *const *blocks, size_t n, dp_tensor **out)
{
    int64_t sizes[2] = {1, 0}, dtype, device;
    dp_tensor *made;
    int rc = n > 0 ? plan_blocks(ctx, blocks, n, sizes) : 0;

    if (rc < 0)
        return rc;
    dtype = n > 0 ? (int64_t)dp_result_type(blocks, n) : DP_FLOAT32;
    device = DP_DEVICE_CPU;
    if (n > 0) {
        DP_VIEW(x, blocks[0]);
        device = x.device;
    }
    rc = dp_invoke(ctx, "aten::zeros", "lioioioi>T", sizes, (size_t)2, &dtype,
                   (const int64_t *)NULL, &device, &made);
    if (rc < 0)
        return rc;
    rc = place_blocks(ctx, blocks, n, made);
    if (rc < 0)
        made = dp_tensor_unref(made);
    *out = made;
    return rc;
}

/* aten::diag(Tensor self, int diagonal=0) -> Tensor */
static int diag(dp_ctx *ctx, dp_tensor *self, int64_t diagonal, dp_tensor **out)
{
    int64_t none[1] = {0};
    DP_VIEW(x, self);
    int rc = dp_empty(ctx, x.dtype, x.device, 1, none, DP_CONTIGUOUS, out);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::diag.out", "TiT>", self, diagonal, *out);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* sizes [ndim + 1] of diag_embed's result; brings the dimensions into range. */
static int plan_embedding(dp_ctx *ctx, const dp_view *x, int64_t offset, int64_t *a, int64_t *b,
                          int64_t *sizes)
{
    int64_t first = *a, second = *b, size = x->ndim ? x->sizes[x->ndim - 1] : 1, length;
    int rc = check_ndim(ctx, (size_t)x->ndim + 1);

    if (rc == 0)
        rc = wrap_dim(ctx, a, x->ndim + 1);
    if (rc == 0)
        rc = wrap_dim(ctx, b, x->ndim + 1);
    if (rc < 0)
        return rc;
    if (*a == *b)
        return dp_fail(ctx, DP_ERUNTIME,
                       "diagonal dimensions cannot be identical %" PRId64 ", %" PRId64, first,
                       second);
    if (offset == INT64_MIN || __builtin_add_overflow(size, offset < 0 ? -offset : offset, &length))
        return dp_fail(ctx, DP_ERUNTIME, "diag_embed: offset %" PRId64 " is too large", offset);
    for (int d = 0, from = 0; d < x->ndim + 1; d++)
        sizes[d] = d == *a || d == *b ? length : x->sizes[from++];
    return 0;
}

/* aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor */
static int diag_embed(dp_ctx *ctx, dp_tensor *self, int64_t offset, int64_t a, int64_t b,
                      dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX + 1], dtype, device;
    dp_tensor *made, *diagonal;
    DP_VIEW(x, self);
    int rc = plan_embedding(ctx, &x, offset, &a, &b, sizes);

    if (rc == 0 && x.ndim == 0)
        rc = dp_fail(ctx, DP_EINDEX, "Dimension specified as -1 but tensor has no dimensions");
    if (rc < 0)
        return rc;
    dtype = x.dtype, device = x.device;
    rc = dp_invoke(ctx, "aten::zeros", "lioioioi>T", sizes, (size_t)x.ndim + 1, &dtype,
                   (const int64_t *)NULL, &device, &made);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::diagonal", "Tiii>T", made, offset, a, b, &diagonal);
    if (rc == 0) {
        rc = dp_copy(ctx, diagonal, self);
        dp_tensor_unref(diagonal);
    }
    if (rc < 0)
        made = dp_tensor_unref(made);
    *out = made;
    return rc;
}

/* -- a view's elements replaced -- */

/* The kernel's result: a copy of self; *copy owned. */
static int begin_scatter(dp_ctx *ctx, dp_tensor *self, dp_tensor **copy)
{
    DP_VIEW(x, self);
    int rc;

    if (dp_internal_overlap(self) != 0)
        return dp_invoke(ctx, "aten::clone", "T>T", self, copy);
    rc = dp_empty_strided(ctx, x.dtype, x.device, x.ndim, x.sizes, x.strides, copy);
    if (rc < 0)
        return rc;
    rc = dp_copy(ctx, *copy, self);
    if (rc < 0)
        *copy = dp_tensor_unref(*copy);
    return rc;
}

/* Copies src into view, which rc says was made or not; returns the copy it is a view of. */
static int end_scatter(dp_ctx *ctx, int rc, dp_tensor *copy, dp_tensor *view, dp_tensor *src,
                       dp_tensor **out)
{
    if (rc == 0) {
        char wanted[DP_SHAPE_TEXT], given[DP_SHAPE_TEXT];
        DP_VIEW(x, view);
        DP_VIEW(y, src);
        if (x.ndim != y.ndim || memcmp(x.sizes, y.sizes, (size_t)x.ndim * sizeof(int64_t)) != 0)
            rc = dp_fail(ctx, DP_ERUNTIME,
                         "expected src to have a size equal to the slice of self. src size = %s, "
                         "slice size = %s",
                         dp_shape_text(given, y.sizes, (size_t)y.ndim),
                         dp_shape_text(wanted, x.sizes, (size_t)x.ndim));
        else
            rc = dp_copy(ctx, view, src);
        dp_tensor_unref(view);
    }
    if (rc < 0)
        copy = dp_tensor_unref(copy);
    *out = copy;
    return rc;
}

/* aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None,
 *     SymInt step=1) -> Tensor */
static int slice_scatter(dp_ctx *ctx, dp_tensor *self, dp_tensor *src, int64_t dim,
                         const int64_t *start, const int64_t *end, int64_t step, dp_tensor **out)
{
    dp_tensor *copy, *view = NULL;
    int rc = begin_scatter(ctx, self, &copy);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::slice.Tensor", "Tioioii>T", copy, dim, start, end, step, &view);
    return end_scatter(ctx, rc, copy, view, src, out);
}

/* aten::select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor */
static int select_scatter(dp_ctx *ctx, dp_tensor *self, dp_tensor *src, int64_t dim, int64_t index,
                          dp_tensor **out)
{
    dp_tensor *copy, *view = NULL;
    int rc = begin_scatter(ctx, self, &copy);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::select.int", "Tii>T", copy, dim, index, &view);
    return end_scatter(ctx, rc, copy, view, src, out);
}

/* aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor */
static int diagonal_scatter(dp_ctx *ctx, dp_tensor *self, dp_tensor *src, int64_t offset, int64_t a,
                            int64_t b, dp_tensor **out)
{
    dp_tensor *copy, *view = NULL;
    int rc = begin_scatter(ctx, self, &copy);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::diagonal", "Tiii>T", copy, offset, a, b, &view);
    return end_scatter(ctx, rc, copy, view, src, out);
}

/* aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride,
 *     SymInt? storage_offset=None) -> Tensor */
static int as_strided_scatter(dp_ctx *ctx, dp_tensor *self, dp_tensor *src, const int64_t *sizes,
                              size_t n, const int64_t *strides, size_t n_strides,
                              const int64_t *offset, dp_tensor **out)
{
    dp_tensor *copy, *view = NULL;
    int rc = begin_scatter(ctx, self, &copy);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::as_strided", "Tlilioi>T", copy, sizes, n, strides, n_strides, offset,
                   &view);
    return end_scatter(ctx, rc, copy, view, src, out);
}

/* -- one tensor like another -- */

/* aten::resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None)
 *     -> Tensor(a!) */
static int resize_as_(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, const int64_t *format)
{
    DP_VIEW(y, other);
    int64_t own = format && *format == DP_PRESERVE ? (int64_t)dp_tensor_suggest_format(other)
                  : format                         ? *format
                                                   : DP_CONTIGUOUS;
    return dp_invoke(ctx, "aten::resize_", "Tlioi>", self, y.sizes, (size_t)y.ndim,
                     format ? &own : NULL);
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("constant_pad_nd", constant_pad_nd, (T, li, s), (T)),
                DP_IMPL_UNBOXED("rot90", rot90, (T, i, li), (T)),
                DP_IMPL_UNBOXED("diag", diag, (T, i), (T)),
                DP_IMPL_UNBOXED("diag_embed", diag_embed, (T, i, i, i), (T)),
                DP_IMPL_UNBOXED("block_diag", block_diag, (lT), (T)),
                DP_IMPL_UNBOXED("slice_scatter", slice_scatter, (T, T, i, oi, oi, i), (T)),
                DP_IMPL_UNBOXED("select_scatter", select_scatter, (T, T, i, i), (T)),
                DP_IMPL_UNBOXED("diagonal_scatter", diagonal_scatter, (T, T, i, i, i), (T)),
                DP_IMPL_UNBOXED("as_strided_scatter", as_strided_scatter, (T, T, li, li, oi), (T)),
                DP_IMPL_UNBOXED("resize_as_", resize_as_, (T, T, oi), ()))
