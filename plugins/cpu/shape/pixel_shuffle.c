/* pixel_shuffle.c -- pixel_shuffle and pixel_unshuffle (aten/src/ATen/native/PixelShuffle.cpp). */
#include "core/elements.h"

/* Copy between `wide` [*, c r r, h, w] and `fine` [*, c, h r, w r], both viewed as [*, c, r, r, h,
 * w].  `to_fine`: `fine` is written, else `wide`. */
static int shuffle(dp_ctx *ctx, dp_tensor *wide, dp_tensor *fine, int64_t r, bool to_fine)
{
    int64_t sizes[DP_DIM_MAX], from[DP_DIM_MAX], to[DP_DIM_MAX];
    dp_tensor *a = NULL, *b = NULL;
    DP_VIEW(x, wide);
    DP_VIEW(y, fine);
    int n = x.ndim - 3;

    dp_copy_n(sizes, y.sizes, (size_t)(n + 1), sizeof(int64_t));
    dp_copy_n(from, x.strides, (size_t)n, sizeof(int64_t));
    dp_copy_n(to, y.strides, (size_t)(n + 1), sizeof(int64_t));
    const int64_t own[] = {r, r, x.sizes[n + 1], x.sizes[n + 2]};
    const int64_t wides[] = {x.strides[n] * r * r, x.strides[n] * r, x.strides[n], x.strides[n + 1],
                             x.strides[n + 2]};
    const int64_t fines[] = {y.strides[n + 1], y.strides[n + 2], y.strides[n + 1] * r,
                             y.strides[n + 2] * r};
    memcpy(sizes + n + 1, own, sizeof(own));
    memcpy(from + n, wides, sizeof(wides));
    memcpy(to + n + 1, fines, sizeof(fines));
    int rc = dp_as_strided(ctx, wide, n + 5, sizes, from, dp_tensor_offset(wide), &a);
    if (rc == 0)
        rc = dp_as_strided(ctx, fine, n + 5, sizes, to, dp_tensor_offset(fine), &b);
    if (rc == 0)
        rc = dp_copy(ctx, to_fine ? b : a, to_fine ? a : b);
    dp_tensor_unref(a);
    dp_tensor_unref(b);
    return rc;
}

static int check_shuffle(dp_ctx *ctx, const dp_view *x, int64_t r, bool to_fine)
{
    const char *name = to_fine ? "pixel_shuffle" : "pixel_unshuffle";

    if (x->ndim < 3)
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s expects input to have at least 3 dimensions, but got input with %d "
                       "dimension(s)",
                       name, x->ndim);
    if (x->ndim > DP_DIM_MAX - 2)
        return dp_fail(ctx, DP_ERUNTIME, "%s takes at most %d dimensions, not %d", name,
                       DP_DIM_MAX - 2, x->ndim);
    if (r <= 0)
        return dp_fail(ctx, DP_ERUNTIME, "%s expects a positive %s_factor, but got %" PRId64, name,
                       to_fine ? "upscale" : "downscale", r);
    if (r >= (int64_t)1 << 31)
        return dp_fail(ctx, DP_ERUNTIME, "%s: a factor of %" PRId64 " is too large", name, r);
    return 0;
}

static int check_divides(dp_ctx *ctx, const dp_view *x, int64_t r, bool to_fine)
{
    int64_t c = x->sizes[x->ndim - 3], h = x->sizes[x->ndim - 2], w = x->sizes[x->ndim - 1];

    if (to_fine && c % (r * r) != 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "pixel_shuffle expects its input's 'channel' dimension to be divisible by "
                       "the square of upscale_factor, but input.size(-3)=%" PRId64
                       " is not divisible by %" PRId64,
                       c, r * r);
    if (!to_fine && (h % r != 0 || w % r != 0))
        return dp_fail(ctx, DP_ERUNTIME,
                       "pixel_unshuffle expects %s to be divisible by downscale_factor, but "
                       "input.size(-%d)=%" PRId64 " is not divisible by %" PRId64,
                       h % r != 0 ? "height" : "width", h % r != 0 ? 2 : 1, h % r != 0 ? h : w, r);
    return 0;
}

static int shuffled(dp_ctx *ctx, dp_tensor *self, int64_t r, bool to_fine, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    dp_tensor *made;
    DP_VIEW(x, self);
    int rc = check_shuffle(ctx, &x, r, to_fine);

    if (rc == 0)
        rc = check_divides(ctx, &x, r, to_fine);
    if (rc < 0)
        return rc;
    /* an empty tensor is only copied (at::native::pixel_unshuffle_cpu) */
    if (!to_fine && x.numel == 0)
        return dp_invoke(ctx, "aten::clone", "T>T", self, out);
    dp_copy_n(sizes, x.sizes, (size_t)x.ndim, sizeof(int64_t));
    int64_t *s = sizes + x.ndim - 3;
    s[0] = to_fine ? s[0] / (r * r) : s[0] * r * r;
    for (int i = 1; i < 3; i++)
        if (!to_fine)
            s[i] /= r;
        else if (__builtin_mul_overflow(s[i], r, &s[i]))
            return dp_fail(ctx, DP_ERUNTIME, "pixel_shuffle: sizes do not fit int64");
    rc = dp_empty(ctx, x.dtype, x.device, x.ndim, sizes, dp_tensor_suggest_format(self), &made);
    if (rc < 0)
        return rc;
    rc = x.numel == 0 ? 0 : shuffle(ctx, to_fine ? self : made, to_fine ? made : self, r, to_fine);
    if (rc < 0)
        made = dp_tensor_unref(made);
    *out = made;
    return rc;
}

/* aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor */
static int pixel_shuffle(dp_ctx *ctx, dp_tensor *self, int64_t r, dp_tensor **out)
{
    return shuffled(ctx, self, r, true, out);
}

/* aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor */
static int pixel_unshuffle(dp_ctx *ctx, dp_tensor *self, int64_t r, dp_tensor **out)
{
    return shuffled(ctx, self, r, false, out);
}

/* The kernels only call other operators, so they work for any backend. */
#define PIXEL_SHUFFLES                                                                             \
    DP_IMPL_UNBOXED("pixel_shuffle", pixel_shuffle, (T, i), (T)),                                  \
        DP_IMPL_UNBOXED("pixel_unshuffle", pixel_unshuffle, (T, i), (T))
DP_LIBRARY_META(aten, CPU, PIXEL_SHUFFLES)
DP_LIBRARY_META(aten, CompositeExplicitAutogradNonFunctional, PIXEL_SHUFFLES)
