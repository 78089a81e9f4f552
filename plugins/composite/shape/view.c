/* view.c -- basic views: tensors with other sizes, strides and offset on the same storage
 * (aten/src/ATen/native/TensorShape.cpp).
 *
 * View operators that call other operators are in reshape.c.
 *
 * Operators: chunk, diagonal, expand, permute, select, slice, split, split_with_sizes, squeeze, t,
 * transpose, unbind, _unsafe_view, unsqueeze. */
#include "core/composite.h"
#include <string.h>

/* the sizes, strides and offset of a view that is being computed */
typedef struct geometry {
    int ndim;
    int64_t offset;
    int64_t sizes[DP_DIM_MAX + 1], strides[DP_DIM_MAX + 1];
} geometry;

static geometry geometry_of(const dp_tensor *t)
{
    geometry g;
    DP_VIEW(x, t);

    g.ndim = x.ndim;
    g.offset = dp_tensor_offset(t);
    dp_copy_n(g.sizes, x.sizes, (size_t)x.ndim, sizeof(int64_t));
    dp_copy_n(g.strides, x.strides, (size_t)x.ndim, sizeof(int64_t));
    return g;
}

static int view_as_geometry(dp_ctx *ctx, dp_tensor *t, const geometry *g, dp_tensor **out)
{
    int rc = check_ndim(ctx, (size_t)g->ndim);

    return rc < 0 ? rc : dp_as_strided(ctx, t, g->ndim, g->sizes, g->strides, g->offset, out);
}

static void drop_dim(geometry *g, int64_t dim)
{
    size_t rest = (size_t)(g->ndim - dim - 1);

    dp_move_n(g->sizes + dim, g->sizes + dim + 1, rest, sizeof(*g->sizes));
    dp_move_n(g->strides + dim, g->strides + dim + 1, rest, sizeof(*g->strides));
    g->ndim--;
}

static void insert_dim(geometry *g, int64_t dim, int64_t size, int64_t stride)
{
    size_t rest = (size_t)(g->ndim - dim);

    dp_move_n(g->sizes + dim + 1, g->sizes + dim, rest, sizeof(*g->sizes));
    dp_move_n(g->strides + dim + 1, g->strides + dim, rest, sizeof(*g->strides));
    g->sizes[dim] = size;
    g->strides[dim] = stride;
    g->ndim++;
}

/* Return size * stride, the stride of the next outer dimension of a contiguous tensor.  If it
 * overflows, the tensor has no elements, and its strides do not matter. */
static int64_t stride_beyond(int64_t size, int64_t stride)
{
    int64_t beyond;
    return __builtin_mul_overflow(size, stride, &beyond) ? stride : beyond;
}

/* Advance the offset by `n` steps of `stride`. */
static int move_start(dp_ctx *ctx, geometry *g, int64_t n, int64_t stride)
{
    int64_t step;

    if (!__builtin_mul_overflow(n, stride, &step) &&
        !__builtin_add_overflow(g->offset, step, &g->offset))
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "storage offset: %" PRId64 " steps of %" PRId64 " do not fit int64", n, stride);
}

/* -- order of dimensions -- */

/* aten::permute(Tensor(a) self, int[] dims) -> Tensor(a) */
static int permute(dp_ctx *ctx, dp_tensor *self, const int64_t *dims, size_t n, dp_tensor **out)
{
    geometry old = geometry_of(self), new = old;
    uint64_t seen = 0;

    if (n != (size_t)old.ndim)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "permute(sparse_coo): number of dimensions in the tensor input does not match "
            "the length of the desired ordering of dimensions i.e. input.dim() = %d is not "
            "equal to len(dims) = %zu",
            old.ndim, n);
    for (size_t i = 0; i < n; i++) {
        int64_t d = dims[i];
        int rc = wrap_dim(ctx, &d, old.ndim);
        if (rc < 0)
            return rc;
        if (seen & (uint64_t)1 << d)
            return dp_fail(ctx, DP_ERUNTIME, "repeated dim in permute");
        seen |= (uint64_t)1 << d;
        new.sizes[i] = old.sizes[d];
        new.strides[i] = old.strides[d];
    }
    return view_as_geometry(ctx, self, &new, out);
}

/* aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a) */
static int transpose(dp_ctx *ctx, dp_tensor *self, int64_t a, int64_t b, dp_tensor **out)
{
    geometry old = geometry_of(self), new = old;
    int rc = wrap_dim(ctx, &a, old.ndim);

    if (rc == 0)
        rc = wrap_dim(ctx, &b, old.ndim);
    if (rc < 0)
        return rc;
    if (old.ndim > 0) {
        new.sizes[a] = old.sizes[b], new.strides[a] = old.strides[b];
        new.sizes[b] = old.sizes[a], new.strides[b] = old.strides[a];
    }
    return view_as_geometry(ctx, self, &new, out);
}

/* aten::t(Tensor(a) self) -> Tensor(a) */
static int t(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);

    if (x.ndim > 2)
        return dp_fail(ctx, DP_ERUNTIME,
                       "t() expects a tensor with <= 2 dimensions, but self is %dD", x.ndim);
    return transpose(ctx, self, 0, x.ndim < 2 ? 0 : 1, out);
}

/* -- squeeze, unsqueeze, expand -- */

/* aten::squeeze(Tensor(a) self) -> Tensor(a) */
static int squeeze(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    geometry g = geometry_of(self);

    for (int d = g.ndim - 1; d >= 0; d--)
        if (g.sizes[d] == 1)
            drop_dim(&g, d);
    return view_as_geometry(ctx, self, &g, out);
}

/* aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a) */
static int squeeze_dim(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor **out)
{
    geometry g = geometry_of(self);
    int rc = wrap_dim(ctx, &dim, g.ndim);

    if (rc < 0)
        return rc;
    if (g.ndim > 0 && g.sizes[dim] == 1)
        drop_dim(&g, dim);
    return view_as_geometry(ctx, self, &g, out);
}

/* aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a) */
static int unsqueeze(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor **out)
{
    geometry g = geometry_of(self);
    int rc = wrap_dim(ctx, &dim, g.ndim + 1);

    if (rc < 0)
        return rc;
    insert_dim(&g, dim, 1, dim < g.ndim ? stride_beyond(g.sizes[dim], g.strides[dim]) : 1);
    return view_as_geometry(ctx, self, &g, out);
}

/* aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)
 * Source: at::inferExpandGeometry. */
static int expand(dp_ctx *ctx, dp_tensor *self, const int64_t *sizes, size_t n, bool implicit,
                  dp_tensor **out)
{
    geometry old = geometry_of(self), new;
    char want[DP_SHAPE_TEXT], have[DP_SHAPE_TEXT];

    (void)implicit;
    if (n < (size_t)old.ndim || n > DP_DIM_MAX)
        return dp_fail(ctx, DP_ERUNTIME,
                       "expand(%s, size=%s): the number of sizes provided (%zu) must be greater or "
                       "equal to the number of dimensions in the tensor (%d)",
                       dp_shape_text(have, old.sizes, (size_t)old.ndim),
                       dp_shape_text(want, sizes, n), n, old.ndim);
    new.ndim = (int)n;
    new.offset = old.offset;
    for (int d = new.ndim - 1, from = old.ndim - 1; d >= 0; d--, from--) {
        int64_t size = from >= 0 ? old.sizes[from] : 1;
        int64_t outer = d + 1 < new.ndim ? stride_beyond(new.sizes[d + 1], new.strides[d + 1]) : 1;
        int64_t stride = from >= 0 ? old.strides[from] : outer;

        new.sizes[d] = sizes[d] == -1 && from >= 0 ? size : sizes[d];
        if (new.sizes[d] < 0)
            return dp_fail(ctx, DP_ERUNTIME,
                           "The expanded size of the tensor (%" PRId64
                           ") isn't allowed in a leading, non-existing dimension %d",
                           sizes[d], d);
        if (size != new.sizes[d] && size != 1)
            return dp_fail(ctx, DP_ERUNTIME,
                           "The expanded size of the tensor (%" PRId64
                           ") must match the existing size (%" PRId64
                           ") at non-singleton dimension %d.  Target sizes: %s.  Tensor sizes: %s",
                           new.sizes[d], size, d, dp_shape_text(want, sizes, n),
                           dp_shape_text(have, old.sizes, (size_t)old.ndim));
        new.strides[d] = old.ndim == 0 || size != new.sizes[d] ? 0 : stride;
    }
    return view_as_geometry(ctx, self, &new, out);
}

/* -- slice, select, diagonal -- */

/* Wrap and clamp an index, which may count from the end, to [0, size]. */
static int64_t clamp_index(int64_t i, int64_t size)
{
    i += i < 0 ? size : 0;
    return i < 0 ? 0 : i > size ? size : i;
}

/* aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None,
 *     SymInt step=1) -> Tensor(a) */
static int slice(dp_ctx *ctx, dp_tensor *self, int64_t dim, const int64_t *start,
                 const int64_t *end, int64_t step, dp_tensor **out)
{
    geometry g = geometry_of(self);

    if (g.ndim == 0)
        return dp_fail(ctx, DP_EINDEX, "slice() cannot be applied to a 0-dim tensor.");
    int rc = wrap_dim(ctx, &dim, g.ndim);
    if (rc < 0)
        return rc;
    if (step <= 0)
        return dp_fail(ctx, DP_ERUNTIME, "slice step must be positive");
    int64_t from = start ? clamp_index(*start, g.sizes[dim]) : 0;
    int64_t to = end ? clamp_index(*end, g.sizes[dim]) : g.sizes[dim];
    int64_t length = to > from ? (to - from - 1) / step + 1 : 0;
    rc = move_start(ctx, &g, from, g.strides[dim]);
    g.sizes[dim] = length;
    int64_t stride;
    /* if the new stride overflows, there is no second element, and the old stride is used */
    if (!__builtin_mul_overflow(g.strides[dim], step, &stride))
        g.strides[dim] = stride;
    return rc < 0 ? rc : view_as_geometry(ctx, self, &g, out);
}

/* aten::select.int(Tensor(a) self, int dim, int index) -> Tensor(a) */
static int select_int(dp_ctx *ctx, dp_tensor *self, int64_t dim, int64_t index, dp_tensor **out)
{
    geometry g = geometry_of(self);
    char shape[DP_SHAPE_TEXT];

    if (g.ndim == 0)
        return dp_fail(ctx, DP_EINDEX, "select() cannot be applied to a 0-dim tensor.");
    int rc = wrap_dim(ctx, &dim, g.ndim);
    if (rc < 0)
        return rc;
    if (index < -g.sizes[dim] || index >= g.sizes[dim])
        return dp_fail(ctx, DP_EINDEX,
                       "select(): index %" PRId64
                       " out of range for tensor of size %s at dimension %" PRId64,
                       index, dp_shape_text(shape, g.sizes, (size_t)g.ndim), dim);
    rc = move_start(ctx, &g, index + (index < 0 ? g.sizes[dim] : 0), g.strides[dim]);
    drop_dim(&g, dim);
    return rc < 0 ? rc : view_as_geometry(ctx, self, &g, out);
}

/* aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a) */
static int diagonal(dp_ctx *ctx, dp_tensor *self, int64_t offset, int64_t a, int64_t b,
                    dp_tensor **out)
{
    geometry g = geometry_of(self);
    int64_t first = a, second = b;
    int rc = wrap_dim(ctx, &a, g.ndim);

    if (rc == 0)
        rc = wrap_dim(ctx, &b, g.ndim);
    if (rc < 0)
        return rc;
    if (a == b)
        return dp_fail(ctx, DP_ERUNTIME,
                       "diagonal dimensions cannot be identical %" PRId64 ", %" PRId64, first,
                       second);
    int64_t rows = g.sizes[a], columns = g.sizes[b], stride;
    int64_t row = offset < 0 ? (offset < -rows ? rows : -offset) : 0;
    int64_t column = offset > 0 ? (offset > columns ? columns : offset) : 0;
    int64_t length = rows - row < columns - column ? rows - row : columns - column;
    if (__builtin_add_overflow(g.strides[a], g.strides[b], &stride))
        return dp_fail(ctx, DP_ERUNTIME,
                       "diagonal: strides %" PRId64 " and %" PRId64 " do not add up in int64",
                       g.strides[a], g.strides[b]);
    if (length > 0)
        rc = move_start(ctx, &g, row, g.strides[a]);
    if (rc == 0 && length > 0)
        rc = move_start(ctx, &g, column, g.strides[b]);
    drop_dim(&g, a > b ? a : b);
    drop_dim(&g, a > b ? b : a);
    insert_dim(&g, g.ndim, length, stride);
    return rc < 0 ? rc : view_as_geometry(ctx, self, &g, out);
}

/* -- lists of views: unbind, split, chunk -- */

enum { PIECES_MAX = 1 << 16 }; /* greatest number of tensors that one call may return */

/* Allocate a list of `n` tensors, which is freed when the call ends. */
static dp_tensor **pieces(dp_ctx *ctx, int64_t n)
{
    if (n <= PIECES_MAX)
        return dp_alloc_n(ctx, (size_t)n, sizeof(dp_tensor *));
    dp_fail(ctx, DP_ERESOURCE, "%" PRId64 " tensors are over the limit of %d for one call", n,
            PIECES_MAX);
    return NULL;
}

/* Return list [n]; after a failure release its first `made` tensors instead. */
static int give(int rc, dp_tensor **list, int64_t n, int64_t made, dp_value *out)
{
    if (rc == 0)
        *out = dp_tensors(list, (size_t)n);
    for (int64_t i = 0; rc < 0 && i < made; i++)
        dp_tensor_unref(list[i]);
    return rc;
}

/* aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[] */
static int unbind(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_value *out)
{
    DP_VIEW(x, self);
    int64_t made = 0;
    int rc = wrap_dim(ctx, &dim, x.ndim);

    if (rc == 0 && x.ndim == 0)
        rc = dp_fail(ctx, DP_EINDEX, "select() cannot be applied to a 0-dim tensor.");
    if (rc < 0)
        return rc;
    dp_tensor **list = pieces(ctx, x.sizes[dim]);
    if (list == NULL)
        return DP_ERESOURCE;
    for (; rc == 0 && made < x.sizes[dim]; made += rc == 0)
        rc = select_int(ctx, self, dim, made, &list[made]);
    return give(rc, list, x.sizes[dim], made, out);
}

/* Cut dim into `n` pieces of lengths[i] elements, or of `length` if lengths is NULL; the last one
 * may be shorter. */
static int cut(dp_ctx *ctx, dp_tensor *self, int64_t dim, int64_t n, const int64_t *lengths,
               int64_t length, dp_value *out)
{
    int64_t made = 0, at = 0;
    int rc = 0;
    dp_tensor **list = pieces(ctx, n);
    DP_VIEW(x, self);

    if (list == NULL)
        return DP_ERESOURCE;
    for (; rc == 0 && made < n; made += rc == 0) {
        int64_t own = lengths ? lengths[made] : length, left = x.sizes[dim] - at;
        int64_t end = at + (own < left ? own : left);
        rc = slice(ctx, self, dim, &at, &end, 1, &list[made]);
        at = end;
    }
    return give(rc, list, n, made, out);
}

/* aten::split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[] */
static int split(dp_ctx *ctx, dp_tensor *self, int64_t length, int64_t dim, dp_value *out)
{
    DP_VIEW(x, self);

    if (x.ndim == 0)
        return dp_fail(ctx, DP_ERUNTIME, "split expects at least a 1-dimensional tensor");
    if (length < 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "split expects split_size be non-negative, but got split_size=%" PRId64,
                       length);
    int rc = wrap_dim(ctx, &dim, x.ndim);
    if (rc < 0)
        return rc;
    int64_t size = x.sizes[dim];
    if (length == 0 && size != 0)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "split_size can only be 0 if dimension size is 0, but got dimension size of %" PRId64,
            size);
    return cut(ctx, self, dim, size == 0 ? 1 : (size - 1) / length + 1, NULL,
               length < size ? length : size, out);
}

/* aten::split_with_sizes(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[] */
static int split_with_sizes(dp_ctx *ctx, dp_tensor *self, const int64_t *lengths, size_t n,
                            int64_t dim, dp_value *out)
{
    DP_VIEW(x, self);
    char text[DP_SHAPE_TEXT];
    int64_t sum = 0;

    if (x.ndim == 0)
        return dp_fail(ctx, DP_ERUNTIME, "split expects at least a 1-dimensional tensor");
    int rc = wrap_dim(ctx, &dim, x.ndim);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < n; i++) {
        if (lengths[i] < 0)
            return dp_fail(
                ctx, DP_ERUNTIME,
                "split_with_sizes expects split_sizes have only non-negative entries, but "
                "got split_sizes=%s",
                dp_shape_text(text, lengths, n));
        if (__builtin_add_overflow(sum, lengths[i], &sum))
            sum = -1;
    }
    if (sum != x.sizes[dim])
        return dp_fail(ctx, DP_ERUNTIME,
                       "split_with_sizes expects split_sizes to sum exactly to %" PRId64
                       " (input tensor's size at dimension %" PRId64 "), but got split_sizes=%s",
                       x.sizes[dim], dim, dp_shape_text(text, lengths, n));
    return cut(ctx, self, dim, (int64_t)n, lengths, 0, out);
}

/* aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]
 * As in PyTorch, fewer than `chunks` pieces may result, except for a dimension of size 0. */
static int chunk(dp_ctx *ctx, dp_tensor *self, int64_t chunks, int64_t dim, dp_value *out)
{
    DP_VIEW(x, self);

    if (x.ndim == 0)
        return dp_fail(ctx, DP_ERUNTIME, "chunk expects at least a 1-dimensional tensor");
    if (chunks <= 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "chunk expects `chunks` to be greater than 0, got: %" PRId64, chunks);
    int rc = wrap_dim(ctx, &dim, x.ndim);
    if (rc < 0)
        return rc;
    if (x.sizes[dim] == 0)
        return cut(ctx, self, dim, chunks, NULL, 0, out);
    int64_t length = (x.sizes[dim] - 1) / chunks + 1;
    if (dp_tensor_may_grad(self)) { /* an operator call, because autograd must record it */
        const dp_value args[3] = {dp_tensor_value(self), dp_int(length), dp_int(dim)};
        return dp_call_boxed(ctx, dp_op_find(ctx, "aten::split.Tensor"), args, 3, out, 1);
    }
    return split(ctx, self, length, dim, out);
}

/* aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor */
static int unsafe_view(dp_ctx *ctx, dp_tensor *self, const int64_t *sizes, size_t n,
                       dp_tensor **out)
{
    dp_tensor *view;
    int rc = dp_invoke(ctx, "aten::view", "Tli>T", self, sizes, n, &view);

    if (rc < 0)
        return rc;
    /* a tensor on the same memory that is not a view, and has a version counter of its own */
    DP_VIEW(x, view);
    rc = dp_as_strided(ctx, view, x.ndim, x.sizes, x.strides, dp_tensor_offset(view), out);
    dp_tensor_unref(view);
    return rc;
}

DP_LIBRARY_VIEWS(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("permute", permute, (T, li), (T)),
                 DP_IMPL_UNBOXED("transpose.int", transpose, (T, i, i), (T)),
                 DP_IMPL_UNBOXED("t", t, (T), (T)), DP_IMPL_UNBOXED("squeeze", squeeze, (T), (T)),
                 DP_IMPL_UNBOXED("squeeze.dim", squeeze_dim, (T, i), (T)),
                 DP_IMPL_UNBOXED("unsqueeze", unsqueeze, (T, i), (T)),
                 DP_IMPL_UNBOXED("expand", expand, (T, li, b), (T)),
                 DP_IMPL_UNBOXED("slice.Tensor", slice, (T, i, oi, oi, i), (T)),
                 DP_IMPL_UNBOXED("select.int", select_int, (T, i, i), (T)),
                 DP_IMPL_UNBOXED("diagonal", diagonal, (T, i, i, i), (T)),
                 DP_IMPL_UNBOXED("unbind.int", unbind, (T, i), (lT)),
                 DP_IMPL_UNBOXED("split.Tensor", split, (T, i, i), (lT)),
                 DP_IMPL_UNBOXED("split_with_sizes", split_with_sizes, (T, li, i), (lT)),
                 DP_IMPL_UNBOXED("_unsafe_view", unsafe_view, (T, li), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("chunk", chunk, (T, i, i), (lT)))
