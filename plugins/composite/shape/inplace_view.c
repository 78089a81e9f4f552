/* inplace_view.c -- in-place view operators (squeeze_, t_), which change the sizes and strides of
 * their argument (aten/src/ATen/native/TensorShape.cpp).  Each calls the operator without the
 * underscore and gives the sizes and strides of the returned view to the argument.
 *
 * Operators: as_strided, squeeze, t, transpose, unsqueeze. */
#include "core/composite.h"

/* If `rc` is 0, give self the sizes, strides and offset of `view`, and release view. */
static int become(dp_ctx *ctx, int rc, dp_tensor *self, dp_tensor *view)
{
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    DP_VIEW(x, view);
    rc = dp_set_storage(ctx, self, view, dp_tensor_offset(view), x.ndim, x.sizes, x.strides);
    dp_tensor_unref(view);
    return rc;
}

/* aten::squeeze_(Tensor(a!) self) -> Tensor(a!) */
static int squeeze_(dp_ctx *ctx, dp_tensor *self)
{
    dp_tensor *view = NULL;
    int rc = dp_invoke(ctx, "aten::squeeze", "T>T", self, &view);
    return become(ctx, rc, self, view);
}

/* aten::squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!) */
static int squeeze_dim_(dp_ctx *ctx, dp_tensor *self, int64_t dim)
{
    dp_tensor *view = NULL;
    int rc = dp_invoke(ctx, "aten::squeeze.dim", "Ti>T", self, dim, &view);
    return become(ctx, rc, self, view);
}

/* aten::unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!) */
static int unsqueeze_(dp_ctx *ctx, dp_tensor *self, int64_t dim)
{
    dp_tensor *view = NULL;
    int rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", self, dim, &view);
    return become(ctx, rc, self, view);
}

/* aten::transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!) */
static int transpose_(dp_ctx *ctx, dp_tensor *self, int64_t a, int64_t b)
{
    dp_tensor *view = NULL;
    int rc = dp_invoke(ctx, "aten::transpose.int", "Tii>T", self, a, b, &view);
    return become(ctx, rc, self, view);
}

/* aten::t_(Tensor(a!) self) -> Tensor(a!) */
static int t_(dp_ctx *ctx, dp_tensor *self)
{
    dp_tensor *view = NULL;
    int rc = dp_invoke(ctx, "aten::t", "T>T", self, &view);
    return become(ctx, rc, self, view);
}

/* aten::as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None)
 *     -> Tensor(a!) */
static int as_strided_(dp_ctx *ctx, dp_tensor *self, const int64_t *sizes, size_t n,
                       const int64_t *strides, size_t n_strides, const int64_t *offset)
{
    dp_tensor *view = NULL;
    int rc = dp_invoke(ctx, "aten::as_strided", "Tlilioi>T", self, sizes, n, strides, n_strides,
                       offset, &view);
    return become(ctx, rc, self, view);
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("squeeze_", squeeze_, (T), ()),
                DP_IMPL_UNBOXED("squeeze_.dim", squeeze_dim_, (T, i), ()),
                DP_IMPL_UNBOXED("unsqueeze_", unsqueeze_, (T, i), ()),
                DP_IMPL_UNBOXED("transpose_", transpose_, (T, i, i), ()),
                DP_IMPL_UNBOXED("t_", t_, (T), ()))
DP_LIBRARY_META(aten, CompositeExplicitAutogradNonFunctional,
                DP_IMPL_UNBOXED("as_strided_", as_strided_, (T, li, li, oi), ()))
