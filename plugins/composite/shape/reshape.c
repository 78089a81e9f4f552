/* reshape.c -- reshape and other view operators that call view operators
 * (aten/src/ATen/native/TensorShape.cpp).
 *
 * Operators: broadcast_tensors, broadcast_to, expand_as, movedim, narrow, ravel, reshape,
 * reshape_as, _reshape_from_tensor, sum_to_size, view_as. */
#include "core/chain.h"
#include "core/list.h"
#include <dispatchd/check.h>

/* aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)
 * The result is a view if the strides allow it, else a copy. */
static int reshape(dp_ctx *ctx, dp_tensor *self, const int64_t *shape, size_t n, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX], strides[DP_DIM_MAX], contiguous = DP_CONTIGUOUS;
    dp_tensor *copy;
    DP_VIEW(x, self);
    int rc = infer_size(ctx, x.numel, shape, n, sizes);

    if (rc < 0)
        return rc;
    if (dp_view_strides(self, (int)n, sizes, strides))
        return dp_invoke(ctx, "aten::_reshape_alias", "Tlili>T", self, sizes, n, strides, n, out);
    rc = dp_invoke(ctx, "aten::clone", "Toi>T", self, &contiguous, &copy);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::_unsafe_view", "Tli>T", copy, sizes, n, out);
    dp_tensor_unref(copy);
    return rc;
}

/* aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a) */
static int view_as(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    DP_VIEW(y, other);
    return dp_invoke(ctx, "aten::view", "Tli>T", self, y.sizes, (size_t)y.ndim, out);
}

/* aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a) */
static int reshape_as(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    DP_VIEW(y, other);
    return reshape(ctx, self, y.sizes, (size_t)y.ndim, out);
}

/* aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a) */
static int expand_as(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    DP_VIEW(y, other);
    return dp_invoke(ctx, "aten::expand", "Tlib>T", self, y.sizes, (size_t)y.ndim, (int)false, out);
}

/* aten::broadcast_to(Tensor(a) self, int[] size) -> Tensor(a) */
static int broadcast_to(dp_ctx *ctx, dp_tensor *self, const int64_t *sizes, size_t n,
                        dp_tensor **out)
{
    return dp_invoke(ctx, "aten::expand", "Tlib>T", self, sizes, n, (int)false, out);
}

/* aten::narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a) */
static int narrow(dp_ctx *ctx, dp_tensor *self, int64_t dim, int64_t start, int64_t length,
                  dp_tensor **out)
{
    DP_VIEW(x, self);

    if (x.ndim == 0)
        return dp_fail(ctx, DP_ERUNTIME, "narrow() cannot be applied to a 0-dim tensor.");
    if (length < 0)
        return dp_fail(ctx, DP_ERUNTIME, "narrow(): length must be non-negative.");
    int rc = wrap_dim(ctx, &dim, x.ndim);
    if (rc == 0 && start != x.sizes[dim])
        rc = wrap_dim(ctx, &start, x.sizes[dim]);
    if (rc < 0)
        return rc;
    if (start > x.sizes[dim] - length)
        return dp_fail(ctx, DP_ERUNTIME,
                       "start (%" PRId64 ") + length (%" PRId64 ") exceeds dimension size (%" PRId64
                       ").",
                       start, length, x.sizes[dim]);
    int64_t end = start + length;
    return dp_invoke(ctx, "aten::slice.Tensor", "Tioioii>T", self, dim, &start, &end, (int64_t)1,
                     out);
}

/* aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)
 * Dimension source[i] becomes dimension destination[i]; the others keep their order. */
static int movedim(dp_ctx *ctx, dp_tensor *self, const int64_t *source, size_t n,
                   const int64_t *destination, size_t n_to, dp_tensor **out)
{
    DP_VIEW(x, self);
    int64_t order[DP_DIM_MAX + 1], at = 0;
    bool taken[DP_DIM_MAX + 1] = {0};

    if (n != n_to)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "movedim: Invalid source or destination dims: source (%zu dims) should contain "
            "the same number of dims as destination (%zu dims)",
            n, n_to);
    for (int d = 0; d <= DP_DIM_MAX; d++)
        order[d] = -1;
    for (size_t i = 0; i < n; i++) {
        int64_t from = source[i], to = destination[i];
        int rc = wrap_dim(ctx, &from, x.ndim);
        if (rc == 0)
            rc = wrap_dim(ctx, &to, x.ndim);
        if (rc < 0)
            return rc;
        if (taken[from] || order[to] >= 0)
            return dp_fail(ctx, DP_ERUNTIME, "movedim: repeated dim in `source` or `destination`");
        taken[from] = true;
        order[to] = from;
    }
    for (int d = 0; d < x.ndim; d++) {
        if (order[d] >= 0)
            continue;
        while (taken[at])
            at++;
        order[d] = at++;
    }
    return dp_invoke(ctx, "aten::permute", "Tli>T", self, order, (size_t)x.ndim, out);
}

/* aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a) */
static int movedim_int(dp_ctx *ctx, dp_tensor *self, int64_t source, int64_t destination,
                       dp_tensor **out)
{
    return movedim(ctx, self, &source, 1, &destination, 1, out);
}

/* aten::broadcast_tensors(Tensor[] tensors) -> Tensor[] */
static int broadcast(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_value *out)
{
    int64_t shape[DP_DIM_MAX], wider[DP_DIM_MAX];
    int ndim = 0;
    list l = list_of(ctx, n);

    for (size_t i = 0; l.rc == 0 && i < n; i++) {
        DP_VIEW(x, tensors[i]);
        l.rc = dp_broadcast_shapes(ctx, ndim, shape, x.ndim, x.sizes, wider);
        ndim = x.ndim > ndim ? x.ndim : ndim;
        if (l.rc == 0)
            dp_copy_n(shape, wider, (size_t)ndim, sizeof(int64_t));
    }
    for (size_t i = 0; l.rc == 0 && i < n; i++)
        list_made(&l, dp_invoke(ctx, "aten::expand", "Tli>T", tensors[i], shape, (size_t)ndim,
                                list_next(&l)));
    return list_end(&l, out);
}

/* aten::_reshape_from_tensor(Tensor self, Tensor shape) -> Tensor */
static int reshape_from_tensor(dp_ctx *ctx, dp_tensor *self, dp_tensor *shape, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(s, shape);

    if (s.ndim != 1 || s.dtype != DP_INT64)
        return dp_fail(ctx, DP_ERUNTIME,
                       "expected a shape of 1 dimension and scalar type Long, but found %d and %s",
                       s.ndim, dp_dtype_aten_name(s.dtype));
    if (s.numel > 0 && (s.data == NULL || dp_device_backend(s.device) != 0))
        return dp_fail(ctx, DP_ENOTIMPL,
                       "_reshape_from_tensor has to read its shape, which has no memory here");
    int rc = check_ndim(ctx, (size_t)s.numel);
    if (rc < 0)
        return rc;
    for (int64_t i = 0; i < s.numel; i++)
        sizes[i] = ((const int64_t *)s.data)[i * s.strides[0]];
    return dp_invoke(ctx, "aten::reshape", "Tli>T", self, sizes, (size_t)s.numel, out);
}

/* aten::ravel(Tensor(a) self) -> Tensor(a) */
static int ravel(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    int64_t any = -1;
    chain c = {.ctx = ctx};
    dp_tensor *t = CHAIN(&c, "aten::contiguous", "T>T", self);

    return chain_end(&c, CHAIN(&c, "aten::view", "Tli>T", t, &any, (size_t)1), out);
}

/* aten::narrow.Tensor(Tensor(a) self, int dim, Tensor start, int length) -> Tensor(a) */
static int narrow_at(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *start, int64_t length,
                     dp_tensor **out)
{
    dp_value at = dp_none();
    DP_VIEW(s, start);

    if (s.ndim != 0 || !dp_dtype_is_integral(s.dtype, false))
        return dp_fail(ctx, DP_ERUNTIME, "start must be an 0-dim integral Tensor.");
    int rc = dp_invoke(ctx, "aten::item", "T>s", start, &at);
    return rc < 0 ? rc
                  : dp_invoke(ctx, "aten::narrow", "Tiii>T", self, dim, as_int(at), length, out);
}

static bool expands_to(const dp_view *x, const int64_t *sizes, size_t n)
{
    bool fits = n <= (size_t)x->ndim;

    for (size_t i = 0; fits && i < n; i++) {
        int64_t own = x->sizes[(size_t)x->ndim - n + i];
        fits = sizes[i] == own || sizes[i] == 1;
    }
    return fits;
}

/* aten::sum_to_size(Tensor self, int[] size) -> Tensor
 * Sums over the dimensions in which `size` would be expanded to self's sizes. */
static int sum_to_size(dp_ctx *ctx, dp_tensor *self, const int64_t *size, size_t n, dp_tensor **out)
{
    char a[DP_SHAPE_TEXT], b[DP_SHAPE_TEXT];
    int64_t dims[DP_DIM_MAX];
    size_t n_dims = 0;
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);

    if (!expands_to(&x, size, n))
        return dp_fail(ctx, DP_ERUNTIME, "size {%s} is not expandable to size {%s}.",
                       dp_shape_text(a, size, n), dp_shape_text(b, x.sizes, (size_t)x.ndim));
    size_t leading = (size_t)x.ndim - n;
    if (n == 0)
        return dp_invoke(ctx, "aten::sum", "T>T", self, out);
    for (size_t d = 0; d < (size_t)x.ndim; d++)
        if (d < leading || (size[d - leading] == 1 && x.sizes[d] != 1))
            dims[n_dims++] = (int64_t)d;
    if (n_dims > 0)
        self = CHAIN(&c, "aten::sum.dim_IntList", "Tolib>T", self, dims, n_dims, (int)true);
    if (leading > 0)
        self = CHAIN(&c, "aten::view", "Tli>T", self, size, n);
    return chain_end(&c, self, out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("reshape", reshape, (T, li), (T)),
                DP_IMPL_UNBOXED("view_as", view_as, (T, T), (T)),
                DP_IMPL_UNBOXED("reshape_as", reshape_as, (T, T), (T)),
                DP_IMPL_UNBOXED("expand_as", expand_as, (T, T), (T)),
                DP_IMPL_UNBOXED("broadcast_to", broadcast_to, (T, li), (T)),
                DP_IMPL_UNBOXED("narrow", narrow, (T, i, i, i), (T)),
                DP_IMPL_UNBOXED("movedim.intlist", movedim, (T, li, li), (T)),
                DP_IMPL_UNBOXED("movedim.int", movedim_int, (T, i, i), (T)),
                DP_IMPL_UNBOXED("broadcast_tensors", broadcast, (lT), (lT)),
                DP_IMPL_UNBOXED("_reshape_from_tensor", reshape_from_tensor, (T, T), (T)),
                DP_IMPL_UNBOXED("ravel", ravel, (T), (T)),
                DP_IMPL_UNBOXED("narrow.Tensor", narrow_at, (T, i, T, i), (T)),
                DP_IMPL_UNBOXED("sum_to_size", sum_to_size, (T, li), (T)))
