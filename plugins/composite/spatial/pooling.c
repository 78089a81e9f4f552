/* pooling.c -- one-dimensional pooling, computed as two-dimensional pooling, and operators that
 * return one of two results of another operator (aten/src/ATen/native/Pooling.cpp).
 *
 * Operators: adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d,
 * avg_pool1d, max_pool1d, max_pool1d_with_indices, max_pool2d, max_pool3d. */
#include "core/composite.h"
#include <dispatchd/check.h>
#include <string.h>

/* Set *out, owned, to self, [C, L] or [N, C, L], with a dimension of size 1 before the last one.
 * Source: checkDimRange. */
static int widen(dp_ctx *ctx, const char *name, dp_tensor *self, dp_tensor **out)
{
    int rc = dp_check_dim_range(ctx, name, &(dp_checked){self, "self", 1}, 2, 3);

    return rc < 0 ? rc : dp_invoke(ctx, "aten::unsqueeze", "Ti>T", self, (int64_t)-2, out);
}

/* Set pair [2] to `first` and the only number of the list.  Source: check1d. */
static int one(dp_ctx *ctx, const char *name, const char *what, const int64_t *list, size_t n,
               int64_t first, int64_t pair[2])
{
    if (n != 1)
        return dp_fail(ctx, DP_ERUNTIME, "%s() argument '%s' should contain one int (got %zu)",
                       name, what, n);
    pair[0] = first;
    pair[1] = list[0];
    return 0;
}

/* If `rc` is 0, remove the dimension of widen() from *t. */
static int narrow(dp_ctx *ctx, int rc, dp_tensor **t)
{
    dp_tensor *wide = *t;

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::squeeze.dim", "Ti>T", wide, (int64_t)-2, t);
    dp_tensor_unref(wide);
    if (rc < 0)
        *t = NULL;
    return rc;
}

/* Remove the dimension of widen() from both results. */
static int narrow_both(dp_ctx *ctx, int rc, dp_tensor **a, dp_tensor **b)
{
    int first = narrow(ctx, rc, a), second = narrow(ctx, first, b);

    if (second < 0)
        *a = dp_tensor_unref(*a);
    return second;
}

/* -- windows -- */

/* a window over one dimension, as a window over two dimensions */
typedef struct window {
    int64_t kernel[2], stride[2], padding[2];
} window;

/* Read the window of operator `name`; a stride that is not given is the kernel's size. */
static int read_window(dp_ctx *ctx, const char *name, const int64_t *kernel, size_t n_kernel,
                       const int64_t *stride, size_t n_stride, const int64_t *padding,
                       size_t n_padding, window *w)
{
    int rc = one(ctx, name, "kernel_size", kernel, n_kernel, 1, w->kernel);

    if (rc == 0)
        rc = one(ctx, name, "stride", n_stride ? stride : kernel, n_stride ? n_stride : n_kernel, 1,
                 w->stride);
    return rc < 0 ? rc : one(ctx, name, "padding", padding, n_padding, 0, w->padding);
}

/* aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1]
 *     padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor) */
static int max1_with_indices(dp_ctx *ctx, dp_tensor *self, const int64_t *kernel, size_t n_kernel,
                             const int64_t *stride, size_t n_stride, const int64_t *padding,
                             size_t n_padding, const int64_t *dilation, size_t n_dilation,
                             bool ceil_mode, dp_tensor **out, dp_tensor **indices)
{
    const char *name = "max_pool1d";
    int64_t d[2];
    window w;
    dp_tensor *wide = NULL;
    int rc = read_window(ctx, name, kernel, n_kernel, stride, n_stride, padding, n_padding, &w);

    *out = *indices = NULL;
    if (rc == 0)
        rc = one(ctx, name, "dilation", dilation, n_dilation, 1, d);
    if (rc == 0)
        rc = widen(ctx, name, self, &wide);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::max_pool2d_with_indices", "Tlilililib>TT", wide, w.kernel,
                       (size_t)2, w.stride, (size_t)2, w.padding, (size_t)2, d, (size_t)2,
                       (int)ceil_mode, out, indices);
    dp_tensor_unref(wide);
    return narrow_both(ctx, rc, out, indices);
}

/* Define an operator that returns the first result of another operator. */
#define MAX_POOL(fn, name)                                                                         \
    static int fn(dp_ctx *ctx, dp_tensor *self, const int64_t *kernel, size_t n_kernel,            \
                  const int64_t *stride, size_t n_stride, const int64_t *padding,                  \
                  size_t n_padding, const int64_t *dilation, size_t n_dilation, bool ceil_mode,    \
                  dp_tensor **out)                                                                 \
    {                                                                                              \
        dp_tensor *indices = NULL;                                                                 \
        int rc = dp_invoke(ctx, "aten::" name "_with_indices", "Tlilililib>TT", self, kernel,      \
                           n_kernel, stride, n_stride, padding, n_padding, dilation, n_dilation,   \
                           (int)ceil_mode, out, &indices);                                         \
        dp_tensor_unref(indices);                                                                  \
        return rc;                                                                                 \
    }
MAX_POOL(first_of_max1, "max_pool1d")
MAX_POOL(max2, "max_pool2d")
MAX_POOL(max3, "max_pool3d")

/* Return the number of windows on a line; -1: the arguments are invalid, and the operator that is
 * called reports that. */
static int64_t count_places(int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                            int64_t dilation, bool ceil_mode)
{
    if (kernel < 1 || stride < 1 || padding < 0 || padding > kernel / 2 || dilation < 1)
        return -1;
    __int128 room = (__int128)size + 2 * (__int128)padding - (__int128)dilation * (kernel - 1) - 1;
    room += ceil_mode ? stride - 1 : 0;
    if (room < 0)
        return room < -stride ? -1 : 0;
    return (int64_t)(room / stride) + 1;
}

/* aten::max_pool1d, as at::native::max_pool1d_impl computes it: unlike max_pool1d_with_indices it
 * may have no windows, its result is contiguous, and its strides have no limit. */
static int max1(dp_ctx *ctx, dp_tensor *self, const int64_t *kernel, size_t n_kernel,
                const int64_t *stride, size_t n_stride, const int64_t *padding, size_t n_padding,
                const int64_t *dilation, size_t n_dilation, bool ceil_mode, dp_tensor **out)
{
    enum { FAR = INT32_MAX }; /* a stride at which no second window begins */
    static const dp_dtype types[] = {DP_FLOAT32, DP_FLOAT64, DP_BFLOAT16};
    static const int64_t one_step = 1, far_step = FAR;
    dp_tensor *packed;
    int64_t places = -1, sizes[3];
    DP_VIEW(x, self);
    int n = x.ndim;

    if (n_stride == 0)
        stride = kernel, n_stride = n_kernel;
    if (n_kernel == 1 && n_stride == 1 && n_padding == 1 && n_dilation == 1 && (n == 2 || n == 3) &&
        x.sizes[n - 1] > 0 && x.sizes[n - 2] > 0)
        places = count_places(x.sizes[n - 1], *kernel, *stride, *padding, *dilation, ceil_mode);
    if (places == 0) {
        dp_copy_n(sizes, x.sizes, (size_t)n, sizeof(*sizes));
        sizes[n - 1] = 0;
        int rc = dp_check_dtypes(ctx, "max_pool1d", &(dp_checked){self, "self", 1}, 3, types);
        return rc < 0 ? rc
                      : dp_invoke(ctx, "aten::new_empty", "Tli>T", self, sizes, (size_t)n, out);
    }
    stride = places > 0 && *stride > FAR ? &far_step : stride;
    dilation = places > 0 && *kernel == 1 ? &one_step : dilation;
    int rc = dp_invoke(ctx, "aten::contiguous", "Ti>T", self, (int64_t)DP_CONTIGUOUS, &packed);
    if (rc < 0)
        return rc;
    rc = first_of_max1(ctx, packed, kernel, n_kernel, stride, n_stride, padding, n_padding,
                       dilation, n_dilation, ceil_mode, out);
    dp_tensor_unref(packed);
    return rc;
}

/* aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0],
 *     bool ceil_mode=False, bool count_include_pad=True) -> Tensor */
static int average1(dp_ctx *ctx, dp_tensor *self, const int64_t *kernel, size_t n_kernel,
                    const int64_t *stride, size_t n_stride, const int64_t *padding,
                    size_t n_padding, bool ceil_mode, bool count_include_pad, dp_tensor **out)
{
    const char *name = "avg_pool1d";
    window w;
    dp_tensor *wide = NULL;
    int rc = read_window(ctx, name, kernel, n_kernel, stride, n_stride, padding, n_padding, &w);

    *out = NULL;
    if (rc == 0)
        rc = widen(ctx, name, self, &wide);
    if (rc == 0)
        rc =
            dp_invoke(ctx, "aten::avg_pool2d", "Tlililibb>T", wide, w.kernel, (size_t)2, w.stride,
                      (size_t)2, w.padding, (size_t)2, (int)ceil_mode, (int)count_include_pad, out);
    dp_tensor_unref(wide);
    return narrow(ctx, rc, out);
}

/* -- adaptive -- */

/* aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor */
static int adaptive_average1(dp_ctx *ctx, dp_tensor *self, const int64_t *size, size_t n,
                             dp_tensor **out)
{
    int64_t sizes[2];
    dp_tensor *wide = NULL;
    int rc = one(ctx, "adaptive_avg_pool1d", "output_size", size, n, 1, sizes);

    *out = NULL;
    if (rc == 0)
        rc = widen(ctx, "adaptive_avg_pool1d", self, &wide);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::adaptive_avg_pool2d", "Tli>T", wide, sizes, (size_t)2, out);
    dp_tensor_unref(wide);
    return narrow(ctx, rc, out);
}

/* aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor) */
static int adaptive_max1(dp_ctx *ctx, dp_tensor *self, const int64_t *size, size_t n,
                         dp_tensor **out, dp_tensor **indices)
{
    int64_t sizes[2];
    dp_tensor *wide = NULL;
    int rc = one(ctx, "adaptive_max_pool1d", "output_size", size, n, 1, sizes);

    *out = *indices = NULL;
    if (rc == 0)
        rc = widen(ctx, "adaptive_max_pool1d", self, &wide);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::adaptive_max_pool2d", "Tli>TT", wide, sizes, (size_t)2, out,
                       indices);
    dp_tensor_unref(wide);
    return narrow_both(ctx, rc, out, indices);
}

/* Compute the mean of each plane; in two dimensions, a channels_last format is preserved. */
static int mean(dp_ctx *ctx, dp_tensor *self, int dims, dp_tensor **out)
{
    static const int64_t last[] = {-1, -2, -3};
    dp_tensor *made;
    DP_VIEW(x, self);
    int rc = dp_invoke(ctx, "aten::mean.dim", "Toliboi>T", self, last, (size_t)dims, 1,
                       (const int64_t *)NULL, &made);

    if (rc < 0 || dims != 2 || x.ndim != 4 || dp_tensor_suggest_format(self) == DP_CONTIGUOUS) {
        *out = rc < 0 ? NULL : made;
        return rc;
    }
    int64_t c = x.sizes[1], sizes[] = {x.sizes[0], c, 1, 1}, strides[] = {c, 1, c, c};
    rc = dp_as_strided(ctx, made, x.ndim, sizes, strides, dp_tensor_offset(made), out);
    dp_tensor_unref(made);
    return rc;
}

static int adaptive_average(dp_ctx *ctx, dp_tensor *self, const int64_t *size, size_t n, int dims,
                            dp_tensor **out)
{
    char text[DP_SHAPE_TEXT];
    DP_VIEW(x, self);
    bool ones = true;

    if (n != (size_t)dims)
        return dp_fail(ctx, DP_ERUNTIME, "adaptive_avg_pool%dd: output_size must be %d", dims,
                       dims);
    for (size_t i = 0; i < n; i++) {
        ones = ones && size[i] == 1;
        if (size[i] < 0)
            return dp_fail(ctx, DP_ERUNTIME,
                           "adaptive_avg_pool%dd: elements of output_size must be greater than or "
                           "equal to 0 but received %s",
                           dims, dp_shape_text(text, size, n));
    }
    if (ones && x.ndim >= dims)
        return mean(ctx, self, dims, out);
    return dp_invoke(ctx, dims == 2 ? "aten::_adaptive_avg_pool2d" : "aten::_adaptive_avg_pool3d",
                     "Tli>T", self, size, n, out);
}

/* aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor */
static int adaptive_average2(dp_ctx *ctx, dp_tensor *self, const int64_t *size, size_t n,
                             dp_tensor **out)
{
    return adaptive_average(ctx, self, size, n, 2, out);
}

/* aten::adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor */
static int adaptive_average3(dp_ctx *ctx, dp_tensor *self, const int64_t *size, size_t n,
                             dp_tensor **out)
{
    return adaptive_average(ctx, self, size, n, 3, out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("max_pool1d_with_indices", max1_with_indices,
                                (T, li, li, li, li, b), (T, T)),
                DP_IMPL_UNBOXED("max_pool1d", max1, (T, li, li, li, li, b), (T)),
                DP_IMPL_UNBOXED("max_pool2d", max2, (T, li, li, li, li, b), (T)),
                DP_IMPL_UNBOXED("max_pool3d", max3, (T, li, li, li, li, b), (T)),
                DP_IMPL_UNBOXED("avg_pool1d", average1, (T, li, li, li, b, b), (T)),
                DP_IMPL_UNBOXED("adaptive_avg_pool1d", adaptive_average1, (T, li), (T)),
                DP_IMPL_UNBOXED("adaptive_max_pool1d", adaptive_max1, (T, li), (T, T)),
                DP_IMPL_UNBOXED("adaptive_avg_pool2d", adaptive_average2, (T, li), (T)),
                DP_IMPL_UNBOXED("adaptive_avg_pool3d", adaptive_average3, (T, li), (T)))
