/* repeat.c -- repeat and tile, which call expand and copy
 * (aten/src/ATen/native/TensorShape.cpp). */
#include "core/composite.h"

/* Copy self, viewed as [1, s0, 1, s1, ...] and broadcast, to `made`, viewed as [r0, s0, r1, s1,
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

/* aten::tile(Tensor self, int[] dims) -> Tensor
 * Calls repeat; missing dims in front are 1. */
static int tile(dp_ctx *ctx, dp_tensor *self, const int64_t *dims, size_t n, dp_tensor **out)
{
    int64_t repeats[DP_DIM_MAX];
    DP_VIEW(x, self);
    size_t missing = n < (size_t)x.ndim ? (size_t)x.ndim - n : 0;

    if (missing == 0)
        return dp_invoke(ctx, "aten::repeat", "Tli>T", self, dims, n, out);
    for (size_t i = 0; i < (size_t)x.ndim; i++)
        repeats[i] = i < missing ? 1 : dims[i - missing];
    return dp_invoke(ctx, "aten::repeat", "Tli>T", self, repeats, (size_t)x.ndim, out);
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("repeat", repeat, (T, li), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("tile", tile, (T, li), (T)))
