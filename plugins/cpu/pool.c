/* pool.c -- max and average pooling over windows of the last two dimensions.
 *
 * For each output the window is clipped to the plane once; planes are shared out among the
 * threads. */
#include "dense.h"
#include <string.h>

typedef struct pool {
    const char *name;
    int64_t kernel[2], stride[2], padding[2], dilation[2];
    int64_t in[2], out[2]; /* height, width */
    int64_t planes;
    bool count_padding;
    int64_t divisor; /* of averages; 0: use the window's size */
    const void *x;
    void *y;
    int64_t *index; /* of maxima, in their plane; NULL for averages */
} pool;

/* The part of output o's window that lies inside the plane: begin, begin + dilation, ... < end. */
static void clip(const pool *p, int d, int64_t o, int64_t *begin, int64_t *end)
{
    int64_t first = o * p->stride[d] - p->padding[d];

    *end = first + (p->kernel[d] - 1) * p->dilation[d] + 1;
    if (*end > p->in[d])
        *end = p->in[d];
    if (first < 0)
        first += (-first + p->dilation[d] - 1) / p->dilation[d] * p->dilation[d];
    *begin = first;
}

/* Of equal maxima the first counts, of several NaNs the last, as in PyTorch. */
#define MAXIMUM(name, type)                                                                        \
    static void name(int64_t from, int64_t to, void *user)                                         \
    {                                                                                              \
        const pool *p = user;                                                                      \
        for (int64_t plane = from; plane < to; plane++) {                                          \
            const type *x = (const type *)p->x + plane * p->in[0] * p->in[1];                      \
            int64_t at = plane * p->out[0] * p->out[1];                                            \
            for (int64_t oh = 0; oh < p->out[0]; oh++)                                             \
                for (int64_t ow = 0; ow < p->out[1]; ow++, at++) {                                 \
                    int64_t h0, h1, w0, w1;                                                        \
                    clip(p, 0, oh, &h0, &h1);                                                      \
                    clip(p, 1, ow, &w0, &w1);                                                      \
                    type best = -(type)__builtin_inf();                                            \
                    int64_t where = h0 * p->in[1] + w0;                                            \
                    for (int64_t h = h0; h < h1; h += p->dilation[0])                              \
                        for (int64_t w = w0; w < w1; w += p->dilation[1]) {                        \
                            type v = x[h * p->in[1] + w];                                          \
                            if (v > best || v != v) {                                              \
                                best = v;                                                          \
                                where = h * p->in[1] + w;                                          \
                            }                                                                      \
                        }                                                                          \
                    ((type *)p->y)[at] = best;                                                     \
                    p->index[at] = where;                                                          \
                }                                                                                  \
        }                                                                                          \
    }
MAXIMUM(maximum_f32, float)
MAXIMUM(maximum_f64, double)

/* What the sum over a window is divided by: the divisor given, else the window's size with its
 * padding, or without it: `counted`. */
static int64_t divide_by(const pool *p, int64_t oh, int64_t ow, int64_t counted)
{
    const int64_t o[2] = {oh, ow};
    int64_t size = 1;

    if (p->divisor)
        return p->divisor;
    if (!p->count_padding)
        return counted;
    for (int d = 0; d < 2; d++) {
        int64_t first = o[d] * p->stride[d] - p->padding[d], end = first + p->kernel[d];
        size *= (end < p->in[d] + p->padding[d] ? end : p->in[d] + p->padding[d]) - first;
    }
    return size;
}

#define AVERAGE(name, type)                                                                        \
    static void name(int64_t from, int64_t to, void *user)                                         \
    {                                                                                              \
        const pool *p = user;                                                                      \
        for (int64_t plane = from; plane < to; plane++) {                                          \
            const type *x = (const type *)p->x + plane * p->in[0] * p->in[1];                      \
            type *y = (type *)p->y + plane * p->out[0] * p->out[1];                                \
            for (int64_t oh = 0; oh < p->out[0]; oh++)                                             \
                for (int64_t ow = 0; ow < p->out[1]; ow++, y++) {                                  \
                    int64_t h0, h1, w0, w1;                                                        \
                    type sum = 0;                                                                  \
                    clip(p, 0, oh, &h0, &h1);                                                      \
                    clip(p, 1, ow, &w0, &w1);                                                      \
                    for (int64_t h = h0; h < h1; h++)                                              \
                        for (int64_t w = w0; w < w1; w++)                                          \
                            sum += x[h * p->in[1] + w];                                            \
                    bool empty = h0 >= h1 || w0 >= w1;                                             \
                    *y = empty ? 0 : sum / (type)divide_by(p, oh, ow, (h1 - h0) * (w1 - w0));      \
                }                                                                                  \
        }                                                                                          \
    }
AVERAGE(average_f32, float)
AVERAGE(average_f64, double)
AVERAGE(average_i64, int64_t)

/* -- checks: at::native's pool2d_shape_check -- */

enum { MOST = INT32_MAX }; /* PyTorch's limit; it keeps products of two sizes within int64 */

/* list [n] holds one number for both dimensions or one for each.  An empty list means `otherwise`,
 * unless that is NULL. */
static int take_pair(dp_ctx *ctx, const pool *p, const char *name, const int64_t *list, size_t n,
                     const int64_t *otherwise, int64_t pair[2])
{
    if (n > 2 || (n == 0 && otherwise == NULL))
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s: %s must %sbe a single int, or a tuple of two ints, but got %zu",
                       p->name, name, otherwise ? "either be omitted, or " : "either ", n);
    for (int d = 0; d < 2; d++)
        pair[d] = n == 0 ? otherwise[d] : list[n == 1 ? 0 : d];
    return 0;
}

static int check_numbers(dp_ctx *ctx, const pool *p)
{
    for (int d = 0; d < 2; d++) {
        if (p->kernel[d] <= 0)
            return dp_fail(ctx, DP_ERUNTIME,
                           "kernel size should be greater than zero, but got kH: %lld kW: %lld",
                           (long long)p->kernel[0], (long long)p->kernel[1]);
        if (p->stride[d] <= 0)
            return dp_fail(ctx, DP_ERUNTIME,
                           "stride should be greater than zero, but got dH: %lld dW: %lld",
                           (long long)p->stride[0], (long long)p->stride[1]);
        if (p->dilation[d] <= 0)
            return dp_fail(
                ctx, DP_ERUNTIME,
                "dilation should be greater than zero, but got dilationH: %lld dilationW: %lld",
                (long long)p->dilation[0], (long long)p->dilation[1]);
        if (p->padding[d] < 0)
            return dp_fail(ctx, DP_ERUNTIME, "pad must be non-negative, but got pad: %lld",
                           (long long)p->padding[d]);
        if (p->padding[d] > p->kernel[d] / 2)
            return dp_fail(ctx, DP_ERUNTIME,
                           "pad should be at most half of kernel size, but got pad=%lld and "
                           "kernel_size=%lld",
                           (long long)p->padding[d], (long long)p->kernel[d]);
        if (p->kernel[d] > MOST || p->stride[d] > MOST || p->dilation[d] > MOST / p->kernel[d])
            return dp_fail(
                ctx, DP_ERUNTIME, "kernel, stride or dilation is too large: %lld, %lld, %lld",
                (long long)p->kernel[d], (long long)p->stride[d], (long long)p->dilation[d]);
    }
    return 0;
}

static int check_input(dp_ctx *ctx, const dp_view *x)
{
    char shape[DP_SHAPE_TEXT];

    for (int d = x->ndim - 3; x->ndim == 3 || x->ndim == 4;) {
        bool empty = false;
        for (; d < x->ndim; d++)
            empty = empty || x->sizes[d] == 0;
        if (!empty)
            return 0;
        break;
    }
    return dp_fail(
        ctx, DP_ERUNTIME,
        "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, "
        "but got: %s",
        dp_shape_text(shape, x->sizes, (size_t)x->ndim));
}

static int output_size(dp_ctx *ctx, pool *p, int64_t channels, bool ceil_mode)
{
    for (int d = 0; d < 2; d++) {
        int64_t span = p->dilation[d] * (p->kernel[d] - 1) + 1;
        int64_t room = p->in[d] + 2 * p->padding[d] - span + (ceil_mode ? p->stride[d] - 1 : 0);
        p->out[d] = room < 0 ? 0 : room / p->stride[d] + 1;
        /* drop a last window that would start in the right padding */
        if (ceil_mode && (p->out[d] - 1) * p->stride[d] >= p->in[d] + p->padding[d])
            p->out[d]--;
    }
    if (p->out[0] >= 1 && p->out[1] >= 1)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "Given input size: (%lldx%lldx%lld). Calculated output size: (%lldx%lldx%lld). "
                   "Output size is too small",
                   (long long)channels, (long long)p->in[0], (long long)p->in[1],
                   (long long)channels, (long long)p->out[0], (long long)p->out[1]);
}

static int check(dp_ctx *ctx, pool *p, const dp_view *x, bool ceil_mode)
{
    int rc = check_numbers(ctx, p);

    if (rc == 0)
        rc = check_input(ctx, x);
    if (rc < 0)
        return rc;
    p->in[0] = x->sizes[x->ndim - 2];
    p->in[1] = x->sizes[x->ndim - 1];
    for (int d = 0; d < 2; d++)
        if (p->in[d] > MOST)
            return dp_fail(ctx, DP_ERUNTIME, "a plane of %lld x %lld is too large",
                           (long long)p->in[0], (long long)p->in[1]);
    p->planes = x->sizes[x->ndim - 3] * (x->ndim == 4 ? x->sizes[0] : 1);
    return output_size(ctx, p, x->sizes[x->ndim - 3], ceil_mode);
}

/* -- operators -- */

/* Run the loop and return its results in self's dtype and memory format.  indices NULL: no
 * indices. */
static int compute(dp_ctx *ctx, pool *p, dp_tensor *self, dp_range_fn run, dp_tensor **out,
                   dp_tensor **indices)
{
    dp_tensor *x = NULL, *y = NULL, *index = NULL;
    int64_t sizes[4];
    DP_VIEW(v, self);
    dp_dtype class = dense_class(v.dtype);
    dp_memory_format format = v.ndim == 4 ? dp_tensor_suggest_format(self) : DP_CONTIGUOUS;

    memcpy(sizes, v.sizes, (size_t)v.ndim * sizeof(*sizes));
    sizes[v.ndim - 2] = p->out[0];
    sizes[v.ndim - 1] = p->out[1];
    int rc = dense_get(ctx, self, class, &x);
    if (rc == 0)
        rc = dp_empty(ctx, class, v.device, v.ndim, sizes, DP_CONTIGUOUS, &y);
    if (rc == 0 && indices)
        rc = dp_empty(ctx, DP_INT64, v.device, v.ndim, sizes, DP_CONTIGUOUS, &index);
    if (rc == 0 && !dp_memoryless(ctx)) {
        p->x = dense_data(x);
        p->y = dense_data(y);
        p->index = index ? dense_data(index) : NULL;
        double each = (double)(p->out[0] * p->out[1]) * (double)(p->kernel[0] * p->kernel[1]);
        rc = dp_parallel_for(ctx, 0, p->planes, dense_grain(each), run, p);
    }
    if (rc == 0) {
        rc = dense_put(ctx, y, v.dtype, format, out);
        y = NULL;
    }
    if (rc == 0 && index) {
        rc = dense_put(ctx, index, DP_INT64, format, indices);
        index = NULL;
        if (rc < 0)
            *out = dp_tensor_unref(*out);
    }
    dp_tensor_unref(x);
    dp_tensor_unref(y);
    dp_tensor_unref(index);
    return rc;
}

static int take_window(dp_ctx *ctx, pool *p, const int64_t *kernel, size_t n_kernel,
                       const int64_t *stride, size_t n_stride, const int64_t *padding,
                       size_t n_padding)
{
    int rc = take_pair(ctx, p, "kernel_size", kernel, n_kernel, NULL, p->kernel);

    if (rc == 0)
        rc = take_pair(ctx, p, "stride", stride, n_stride, p->kernel, p->stride);
    return rc < 0 ? rc : take_pair(ctx, p, "padding", padding, n_padding, NULL, p->padding);
}

/* aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[],
 *     int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)
 * self [N, C, H, W] or [C, H, W]; an index counts the elements of its plane. */
static int max_pool2d_with_indices(dp_ctx *ctx, dp_tensor *self, const int64_t *kernel,
                                   size_t n_kernel, const int64_t *stride, size_t n_stride,
                                   const int64_t *padding, size_t n_padding,
                                   const int64_t *dilation, size_t n_dilation, bool ceil_mode,
                                   dp_tensor **out, dp_tensor **indices)
{
    pool p = {.name = "max_pool2d"};
    DP_VIEW(x, self);

    int rc = take_window(ctx, &p, kernel, n_kernel, stride, n_stride, padding, n_padding);
    if (rc == 0)
        rc = take_pair(ctx, &p, "dilation", dilation, n_dilation, NULL, p.dilation);
    if (rc == 0)
        rc = check(ctx, &p, &x, ceil_mode);
    if (rc == 0)
        rc = dense_check_type(ctx, "max_pool2d", x.dtype, DENSE_FLOATS);
    if (rc < 0)
        return rc;
    return compute(ctx, &p, self, dense_class(x.dtype) == DP_FLOAT32 ? maximum_f32 : maximum_f64,
                   out, indices);
}

/* aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0,
 *     bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor
 * self [N, C, H, W] or [C, H, W]. */
static int avg_pool2d(dp_ctx *ctx, dp_tensor *self, const int64_t *kernel, size_t n_kernel,
                      const int64_t *stride, size_t n_stride, const int64_t *padding,
                      size_t n_padding, bool ceil_mode, bool count_include_pad,
                      const int64_t *divisor_override, dp_tensor **out)
{
    pool p = {.name = "avg_pool2d", .dilation = {1, 1}, .count_padding = count_include_pad};
    DP_VIEW(x, self);

    int rc = take_window(ctx, &p, kernel, n_kernel, stride, n_stride, padding, n_padding);
    if (rc == 0 && divisor_override && *divisor_override == 0)
        rc = dp_fail(ctx, DP_ERUNTIME, "divisor must be not zero");
    if (rc == 0)
        rc = check(ctx, &p, &x, ceil_mode);
    if (rc == 0)
        rc = dense_check_type(ctx, "avg_pool2d", x.dtype, DENSE_FLOATS | DENSE_BIT(DP_INT64));
    if (rc < 0)
        return rc;
    p.divisor = divisor_override ? *divisor_override : 0;
    dp_dtype class = dense_class(x.dtype);
    return compute(ctx, &p, self,
                   class == DP_FLOAT32   ? average_f32
                   : class == DP_FLOAT64 ? average_f64
                                         : average_i64,
                   out, NULL);
}

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("max_pool2d_with_indices", max_pool2d_with_indices,
                                (T, li, li, li, li, b), (T, T)),
                DP_IMPL_UNBOXED("avg_pool2d", avg_pool2d, (T, li, li, li, b, b, oi), (T)))
