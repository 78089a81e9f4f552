/* view_scatter.c -- slice_scatter, select_scatter, diagonal_scatter and as_strided_scatter: they
 * copy self, and copy `src` into a view of that copy (aten/src/ATen/native/TensorShape.cpp). */
#include "core/composite.h"
#include <string.h>

/* Set *copy, owned, to a copy of self, which is the result. */
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
    return release_on_error(rc, copy);
}

/* If `rc` is 0, copy `src` into `view`; return the copy of which it is a view. */
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

/* aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) ->
 * Tensor */
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

DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("slice_scatter", slice_scatter, (T, T, i, oi, oi, i), (T)),
                DP_IMPL_UNBOXED("select_scatter", select_scatter, (T, T, i, i), (T)),
                DP_IMPL_UNBOXED("diagonal_scatter", diagonal_scatter, (T, T, i, i, i), (T)),
                DP_IMPL_UNBOXED("as_strided_scatter", as_strided_scatter, (T, T, li, li, oi), (T)))
