/* fill.c -- fill and fill_diagonal_ (aten/src/ATen/native/Fill.cpp).
 *
 * Operators: fill, fill_diagonal. */
#include "core/composite.h"

/* Set *out, owned, to a tensor like self, filled with the value of `tensor`, or with the Scalar if
 * tensor is NULL. */
static int filled(dp_ctx *ctx, dp_tensor *self, dp_tensor *tensor, dp_value scalar, dp_tensor **out)
{
    dp_tensor *made = NULL;
    int rc = dp_invoke(ctx, "aten::empty_like", "T>T", self, &made);

    if (rc == 0)
        rc = tensor ? dp_invoke(ctx, "aten::fill_.Tensor", "TT>", made, tensor)
                    : dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", made, scalar);
    if (rc < 0)
        dp_tensor_unref(made);
    else
        *out = made;
    return rc;
}

/* aten::fill.Scalar(Tensor self, Scalar value) -> Tensor */
static int fill_scalar(dp_ctx *ctx, dp_tensor *self, dp_value value, dp_tensor **out)
{
    return filled(ctx, self, NULL, value, out);
}

/* aten::fill.Tensor(Tensor self, Tensor value) -> Tensor */
static int fill_tensor(dp_ctx *ctx, dp_tensor *self, dp_tensor *value, dp_tensor **out)
{
    return filled(ctx, self, value, dp_none(), out);
}

/* -- fill_diagonal_ -- */

/* Set `n` elements of self, `stride` apart, from `offset` on. */
static int fill_line(dp_ctx *ctx, dp_tensor *self, int64_t n, int64_t stride, int64_t offset,
                     dp_value value)
{
    dp_tensor *line;
    int rc = dp_as_strided(ctx, self, 1, &n, &stride, dp_tensor_offset(self) + offset, &line);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", line, value);
    dp_tensor_unref(line);
    return rc;
}

/* aten::fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)
 * With `wrap`, the diagonal of a tall matrix is repeated below. */
static int fill_diagonal(dp_ctx *ctx, dp_tensor *self, dp_value value, bool wrap)
{
    int64_t stride = 0;
    DP_VIEW(x, self);

    if (x.ndim < 2)
        return dp_refuse(ctx, DP_ERUNTIME, "dimensions must larger than 1");
    for (int d = 1; x.ndim > 2 && d < x.ndim; d++)
        if (x.sizes[d] != x.sizes[0])
            return dp_refuse(ctx, DP_ERUNTIME, "all dimensions of input must be of equal length");
    for (int d = 0; d < x.ndim; d++)
        stride += x.strides[d];
    int64_t height = x.sizes[0], width = x.sizes[1], n = height < width ? height : width;
    int rc = fill_line(ctx, self, n, stride, 0, value);
    if (rc < 0 || !wrap || x.ndim > 2 || height <= width + 1)
        return rc;
    int64_t more = (x.numel + width) / (width + 1) - n;
    return fill_line(ctx, self, more, stride, x.strides[0] * (width + 1), value);
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("fill.Scalar", fill_scalar, (T, s), (T)),
                DP_IMPL_UNBOXED("fill.Tensor", fill_tensor, (T, T), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("fill_diagonal_", fill_diagonal, (T, s, b), ()))
