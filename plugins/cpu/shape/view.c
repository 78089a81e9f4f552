/* view.c -- the view operators that PyTorch registers for each backend
 * (aten/src/ATen/native/TensorShape.cpp).
 *
 * Operators: as_strided, _reshape_alias, unfold, view. */
#include "lib/dims.h"
#include <string.h>

/* aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a) */
static int view(dp_ctx *ctx, dp_tensor *self, const int64_t *shape, size_t n, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(x, self);
    int rc = infer_size(ctx, x.numel, shape, n, sizes);

    if (rc == 0)
        rc = dp_view_sizes(ctx, self, (int)n, sizes, out);
    if (rc < 0 || *out != NULL)
        return rc;
    return dp_fail(ctx, DP_ERUNTIME,
                   "view size is not compatible with input tensor's size and stride (at least one "
                   "dimension spans across two contiguous subspaces). Use .reshape(...) instead.");
}

static int check_strides(dp_ctx *ctx, const int64_t *sizes, size_t n, const int64_t *strides,
                         size_t n_strides)
{
    char size[DP_SHAPE_TEXT], stride[DP_SHAPE_TEXT];

    if (n != n_strides)
        return dp_fail(ctx, DP_ERUNTIME, "mismatch in length of strides and shape: %s and %s",
                       dp_shape_text(stride, strides, n_strides), dp_shape_text(size, sizes, n));
    int rc = check_ndim(ctx, n);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (strides[i] < 0)
            return dp_fail(
                ctx, DP_ERUNTIME,
                "as_strided: Negative strides are not supported at the moment, got strides: %s",
                dp_shape_text(stride, strides, n));
    return rc;
}

/* aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None)
 *     -> Tensor(a) */
static int as_strided(dp_ctx *ctx, dp_tensor *self, const int64_t *sizes, size_t n,
                      const int64_t *strides, size_t n_strides, const int64_t *offset,
                      dp_tensor **out)
{
    int rc = check_strides(ctx, sizes, n, strides, n_strides);
    return rc < 0 ? rc
                  : dp_as_strided(ctx, self, (int)n, sizes, strides,
                                  offset ? *offset : dp_tensor_offset(self), out);
}

/* aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a) */
static int reshape_alias(dp_ctx *ctx, dp_tensor *self, const int64_t *sizes, size_t n,
                         const int64_t *strides, size_t n_strides, dp_tensor **out)
{
    return as_strided(ctx, self, sizes, n, strides, n_strides, NULL, out);
}

/* aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)
 * Windows of `size` elements, one every `step` elements of dim; a window is a new last
 * dimension. */
static int unfold(dp_ctx *ctx, dp_tensor *self, int64_t dim, int64_t size, int64_t step,
                  dp_tensor **out)
{
    DP_VIEW(x, self);
    int64_t sizes[DP_DIM_MAX + 1], strides[DP_DIM_MAX + 1];
    int rc = wrap_dim(ctx, &dim, x.ndim);

    if (rc < 0)
        return rc;
    int64_t have = x.ndim ? x.sizes[dim] : 1, stride = x.ndim ? x.strides[dim] : 1;
    if (size < 0 || size > have)
        return dp_fail(ctx, DP_ERUNTIME,
                       "maximum size for tensor at dimension %" PRId64 " is %" PRId64
                       " but size is %" PRId64,
                       dim, have, size);
    if (step <= 0)
        return dp_fail(ctx, DP_ERUNTIME, "step is %" PRId64 " but must be > 0", step);
    rc = check_ndim(ctx, (size_t)x.ndim + 1);
    if (rc < 0)
        return rc;
    dp_copy_n(sizes, x.sizes, (size_t)x.ndim, sizeof(int64_t));
    dp_copy_n(strides, x.strides, (size_t)x.ndim, sizeof(int64_t));
    sizes[x.ndim] = size;
    strides[x.ndim] = stride;
    if (x.ndim > 0) {
        sizes[dim] = (have - size) / step + 1;
        if (__builtin_mul_overflow(stride, step, &strides[dim]))
            return dp_fail(ctx, DP_ERUNTIME, "step %" PRId64 " is too large", step);
    }
    return dp_as_strided(ctx, self, x.ndim + 1, sizes, strides, dp_tensor_offset(self), out);
}

DP_LIBRARY_VIEWS(aten, CPU, DP_IMPL_UNBOXED("view", view, (T, li), (T)),
                 DP_IMPL_UNBOXED("as_strided", as_strided, (T, li, li, oi), (T)),
                 DP_IMPL_UNBOXED("_reshape_alias", reshape_alias, (T, li, li), (T)),
                 DP_IMPL_UNBOXED("unfold", unfold, (T, i, i, i), (T)))
