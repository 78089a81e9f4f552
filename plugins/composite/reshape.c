/* reshape.c -- views by way of other operators: reshape, flatten, narrow, movedim and their kin. */
#include "composite.h"
#include <string.h>

/* aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)
 * A view where the strides allow it, else a copy. */
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

/* aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a) */
static int flatten(dp_ctx *ctx, dp_tensor *self, int64_t start, int64_t end, dp_tensor **out)
{
    DP_VIEW(x, self);
    int64_t sizes[DP_DIM_MAX], n = 0;
    int rc = wrap_dim(ctx, &start, x.ndim);

    if (rc == 0)
        rc = wrap_dim(ctx, &end, x.ndim);
    if (rc == 0 && start > end)
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "flatten() has invalid args: start_dim cannot come after end_dim");
    if (rc < 0)
        return rc;
    if (x.ndim > 0 && start == end) {
        *out = dp_tensor_ref(self);
        return 0;
    }
    for (int64_t d = 0; d < (x.ndim ? x.ndim : 1); d++) {
        int64_t size = x.ndim ? x.sizes[d] : 1;
        if (d > start && d <= end)
            sizes[n - 1] *= size;
        else
            sizes[n++] = size;
    }
    return dp_invoke(ctx, "aten::reshape", "Tli>T", self, sizes, (size_t)n, out);
}

/* aten::unflatten.int(Tensor(a) self, int dim, int[] sizes) -> Tensor(a) */
static int unflatten(dp_ctx *ctx, dp_tensor *self, int64_t dim, const int64_t *parts, size_t n,
                     dp_tensor **out)
{
    DP_VIEW(x, self);
    int64_t sizes[2 * DP_DIM_MAX];
    int rc = wrap_dim(ctx, &dim, x.ndim);

    if (rc == 0 && (n == 0 || n > DP_DIM_MAX))
        rc = dp_fail(ctx, DP_ERUNTIME, "unflatten: sizes must be non-empty, and at most %d",
                     DP_DIM_MAX);
    if (rc == 0 && x.ndim == 0)
        rc = dp_fail(ctx, DP_EINDEX,
                     "Dimension specified as %" PRId64 " but tensor has no dimensions", dim);
    if (rc < 0)
        return rc;
    memcpy(sizes, x.sizes, (size_t)dim * sizeof(int64_t));
    rc = infer_size(ctx, x.sizes[dim], parts, n, sizes + dim);
    if (rc < 0)
        return rc;
    memcpy(sizes + dim + n, x.sizes + dim + 1, (size_t)(x.ndim - dim - 1) * sizeof(int64_t));
    return dp_invoke(ctx, "aten::view", "Tli>T", self, sizes, (size_t)x.ndim - 1 + n, out);
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

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("reshape", reshape, (T, li), (T)),
                DP_IMPL_UNBOXED("view_as", view_as, (T, T), (T)),
                DP_IMPL_UNBOXED("reshape_as", reshape_as, (T, T), (T)),
                DP_IMPL_UNBOXED("expand_as", expand_as, (T, T), (T)),
                DP_IMPL_UNBOXED("broadcast_to", broadcast_to, (T, li), (T)),
                DP_IMPL_UNBOXED("flatten.using_ints", flatten, (T, i, i), (T)),
                DP_IMPL_UNBOXED("unflatten.int", unflatten, (T, i, li), (T)),
                DP_IMPL_UNBOXED("narrow", narrow, (T, i, i, i), (T)),
                DP_IMPL_UNBOXED("movedim.intlist", movedim, (T, li, li), (T)),
                DP_IMPL_UNBOXED("movedim.int", movedim_int, (T, i, i), (T)))
