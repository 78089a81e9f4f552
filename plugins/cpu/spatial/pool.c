/* pool.c -- max and average pooling over windows of two or three dimensions
 * (aten/src/ATen/native/{DilatedMaxPool,AveragePool}{2d,3d}.cpp).
 *
 * Operators: avg_pool2d, avg_pool2d_backward, avg_pool3d, avg_pool3d_backward,
 * max_pool2d_with_indices, max_pool2d_with_indices_backward, max_pool3d_with_indices,
 * max_pool3d_with_indices_backward. */
#include "pool.h"
#include <string.h>

typedef struct kind {
    const char *name, *types_name,
        *back_name; /* names in error messages: of lists, of the dtype error, of the gradient */
    int dims;
    bool last; /* the result may be channels_last */
    bool fits; /* the kernel must not be larger than the input */
    unsigned types;
} kind;

typedef struct window {
    const kind *kind;
    int64_t kernel[SPACE_MAX], stride[SPACE_MAX], padding[SPACE_MAX], dilation[SPACE_MAX];
    bool ceil_mode, count_padding;
    int64_t divisor; /* divisor_override; 0: not given */
    pooling p;
} window;

enum { MOST = INT32_MAX }; /* PyTorch's limit; products of two sizes then fit in int64 */
static const char *const number_names[] = {"", "", "two", "three"};

/* -- checks; source: at::native's pool2d_shape_check, pool3d_shape_check -- */

static int take_list(dp_ctx *ctx, const kind *k, const char *name, const dp_value *list,
                     const int64_t *otherwise, int64_t *out)
{
    int at = SPACE_MAX - k->dims;

    if (list->len == 0 && otherwise != NULL) {
        memcpy(out, otherwise, SPACE_MAX * sizeof(int64_t));
        return 0;
    }
    for (int d = 0; d < at; d++)
        out[d] = 1;
    if (space_list(list->u.ints, list->len, k->dims, out + at))
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "%s: %s must %sbe a single int, or a tuple of %s ints",
                   k->name, name, otherwise ? "either be omitted, or " : "either ",
                   number_names[k->dims]);
}

static int check_numbers(dp_ctx *ctx, const window *w)
{
    for (int d = SPACE_MAX - w->kind->dims; d < SPACE_MAX; d++) {
        int64_t k = w->kernel[d], s = w->stride[d], p = w->padding[d], l = w->dilation[d];
        if (s == 0)
            return dp_fail(ctx, DP_ERUNTIME, "stride should not be zero");
        if (k <= 0 || s < 0 || l <= 0)
            return dp_fail(ctx, DP_ERUNTIME, "%s should be greater than zero, but got %" PRId64,
                           k <= 0  ? "kernel size"
                           : s < 0 ? "stride"
                                   : "dilation",
                           k <= 0  ? k
                           : s < 0 ? s
                                   : l);
        if (p < 0)
            return dp_fail(ctx, DP_ERUNTIME, "pad must be non-negative, but got pad: %" PRId64, p);
        if (p > k / 2)
            return dp_fail(ctx, DP_ERUNTIME,
                           "pad should be at most half of kernel size, but got pad=%" PRId64
                           " and kernel_size=%" PRId64,
                           p, k);
        if (k > MOST || s > MOST || l > MOST / k)
            return dp_fail(ctx, DP_ERUNTIME,
                           "kernel, stride or dilation is too large: %" PRId64 ", %" PRId64
                           ", %" PRId64,
                           k, s, l);
    }
    return 0;
}

static int check_rank(dp_ctx *ctx, const kind *k, const dp_view *x)
{
    char shape[DP_SHAPE_TEXT];
    bool empty = false;

    if (x->ndim != k->dims + 1 && x->ndim != k->dims + 2)
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s: Expected %dD or %dD (batch mode) tensor with optional 0 dim batch size "
                       "for input, but got:%s",
                       k->name, k->dims + 1, k->dims + 2,
                       dp_shape_text(shape, x->sizes, (size_t)x->ndim));
    for (int d = x->ndim - k->dims - 1; d < x->ndim; d++)
        empty = empty || x->sizes[d] == 0;
    if (empty)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "%s: Expected input's non-batch dimensions to have positive length, but input "
            "has a shape of %s",
            k->name, dp_shape_text(shape, x->sizes, (size_t)x->ndim));
    return 0;
}

enum { VOLUME_TEXT = 96 };

/* Write the text "(1x4x4)", channels and sizes, to `buf`. */
static const char *volume_text(char *buf, const kind *k, const space *s)
{
    int at = snprintf(buf, VOLUME_TEXT, "(%" PRId64, s->channels);

    for (int d = SPACE_MAX - k->dims; d < SPACE_MAX; d++)
        at += snprintf(buf + at, VOLUME_TEXT - (size_t)at, "x%" PRId64, s->size[d]);
    snprintf(buf + at, VOLUME_TEXT - (size_t)at, ")");
    return buf;
}

static int size_output(dp_ctx *ctx, window *w)
{
    char in[VOLUME_TEXT], out[VOLUME_TEXT];
    const space *from = &w->p.from;
    space *to = &w->p.to;
    bool none = false;

    for (int d = SPACE_MAX - w->kind->dims; d < SPACE_MAX; d++) {
        int64_t span = w->dilation[d] * (w->kernel[d] - 1) + 1, s = w->stride[d];
        if (from->size[d] > MOST)
            return dp_fail(ctx, DP_ERUNTIME, "a size is too large: %" PRId64, from->size[d]);
        int64_t room = from->size[d] + 2 * w->padding[d] - span + (w->ceil_mode ? s - 1 : 0);
        to->size[d] = room < 0 ? 0 : room / s + 1;
        /* omit a last window that would begin in the padding at the end */
        if (w->ceil_mode && (to->size[d] - 1) * s >= from->size[d] + w->padding[d])
            to->size[d]--;
        none = none || to->size[d] < 1 ||
               (w->kind->fits && w->kind->dims == 3 && from->size[d] < w->kernel[d]);
    }
    if (!none)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "Given input size: %s. Calculated output size: %s. Output size is too small",
                   volume_text(in, w->kind, from), volume_text(out, w->kind, to));
}

/* Set w->p except the axes. */
static int plan(dp_ctx *ctx, window *w, dp_tensor *self)
{
    DP_VIEW(x, self);
    int rc = check_numbers(ctx, w);

    if (rc == 0)
        rc = check_rank(ctx, w->kind, &x);
    if (rc < 0)
        return rc;
    w->p.name = w->kind->name;
    w->p.batched = x.ndim == w->kind->dims + 2;
    w->p.from = space_of(self, w->kind->dims, w->kind->last);
    w->p.to = w->p.from;
    return size_output(ctx, w);
}

/* -- windows -- */

static int make_axis(dp_ctx *ctx, const window *w, int d)
{
    wn_axis *a = &w->p.axes[d];
    int64_t in = w->p.from.size[d], kernel = w->kernel[d], step = w->dilation[d];
    int rc = wn_windows(ctx, a, in, w->p.to.size[d]);

    if (rc < 0)
        return rc;
    if (d < SPACE_MAX - w->kind->dims)
        return wn_same(ctx, a, 1);
    a->windows.step = step;
    if (w->count_padding && w->divisor == 0)
        a->divide = dense_array(ctx, a->out, sizeof(int64_t));
    if (w->count_padding && w->divisor == 0 && a->divide == NULL)
        return DP_ERESOURCE;
    for (int64_t o = 0; o < a->out; o++) {
        int64_t first = o * w->stride[d] - w->padding[d], end = first + (kernel - 1) * step + 1;
        int64_t padded = in + w->padding[d];
        if (a->divide)
            a->divide[o] = (end < padded ? end : padded) - first;
        end = end < in ? end : in;
        first += first < 0 ? (-first + step - 1) / step * step : 0;
        a->begin[o] = first;
        a->count[o] = end > first ? (end - first - 1) / step + 1 : 0;
    }
    wn_seal(a);
    return 0;
}

static int make_axes(dp_ctx *ctx, window *w)
{
    int rc = 0;

    if (pool_is_empty(ctx, &w->p))
        return 0;
    w->p.axes = pool_axes(ctx, 1);
    if (w->p.axes == NULL)
        return DP_ERESOURCE;
    for (int d = 0; rc == 0 && d < WN_AXES; d++)
        rc = make_axis(ctx, w, d);
    return rc;
}

/* Set the divisors of the sums in each axis. */
static int divide_axes(dp_ctx *ctx, window *w)
{
    if (w->p.axes == NULL || w->count_padding)
        return 0;
    for (int d = 0; d < WN_AXES && w->divisor == 0; d++)
        w->p.axes[d].divide = w->p.axes[d].count;
    if (w->divisor == 0)
        return 0;
    wn_axis *depth = &w->p.axes[WN_DEPTH];
    depth->divide = dense_array(ctx, depth->out, sizeof(int64_t));
    for (int64_t o = 0; depth->divide && o < depth->out; o++)
        depth->divide[o] = w->divisor;
    return depth->divide ? 0 : DP_ERESOURCE;
}

/* Read the list arguments kernel_size, stride and padding. */
static int take_window(dp_call *call, window *w, const dp_value *args)
{
    static const int64_t ones[SPACE_MAX] = {1, 1, 1};
    int rc = take_list(call->ctx, w->kind, "kernel_size", &args[0], NULL, w->kernel);

    if (rc == 0)
        rc = take_list(call->ctx, w->kind, "stride", &args[1], w->kernel, w->stride);
    if (rc == 0)
        rc = take_list(call->ctx, w->kind, "padding", &args[2], NULL, w->padding);
    memcpy(w->dilation, ones, sizeof(ones));
    for (int d = 0; d < SPACE_MAX - w->kind->dims; d++)
        w->padding[d] = 0;
    return rc;
}

/* -- maxima; arguments: self, kernel_size, stride, padding, dilation, ceil_mode -- */

static int take_max(dp_call *call, window *w, dp_tensor *self, const dp_value *args)
{
    int rc = take_window(call, w, args);

    if (rc == 0)
        rc = take_list(call->ctx, w->kind, "dilation", &args[3], NULL, w->dilation);
    w->ceil_mode = args[4].u.b;
    return rc < 0 ? rc : plan(call->ctx, w, self);
}

static int max_forward(dp_call *call, const kind *k)
{
    enum { ARGS = 6 };
    dp_tensor *self = call->args[0].u.t, *out = pool_given(call, ARGS),
              *indices = pool_given(call, ARGS + 1);
    window w = {.kind = k};
    int rc = take_max(call, &w, self, call->args + 1);

    if (rc == 0)
        rc = dense_check_type(call->ctx, k->types_name, w.p.from.dtype, k->types);
    if (rc == 0)
        rc = make_axes(call->ctx, &w);
    if (rc < 0)
        return dp_refuse(call->ctx, rc, NULL);
    rc = pool_max(call->ctx, &w.p, self, &out, &indices);
    pool_return(call, rc, ARGS, 0, &out);
    return pool_return(call, rc, ARGS, 1, &indices);
}

/* Check the dtypes of a gradient, which must be that of the input, and of the indices. */
static int check_back(dp_ctx *ctx, const window *w, dp_tensor *grad, dp_tensor *indices)
{
    DP_VIEW(g, grad);
    int rc = pool_check_grad(ctx, &w->p, grad);

    if (rc == 0)
        rc = dense_check_type(ctx, w->kind->back_name, w->p.from.dtype, w->kind->types);
    if (rc == 0)
        rc = dense_check_same(ctx, w->p.from.dtype, g.dtype);
    if (rc < 0 || indices == NULL)
        return rc;
    DP_VIEW(i, indices);
    rc = pool_check_grad(ctx, &w->p, indices);
    return rc < 0 ? rc : dense_check_same(ctx, DP_INT64, i.dtype);
}

/* arguments: grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices */
static int max_backward(dp_call *call, const kind *k)
{
    enum { ARGS = 8 };
    dp_tensor *grad = call->args[0].u.t, *indices = call->args[7].u.t,
              *out = pool_given(call, ARGS);
    window w = {.kind = k};
    int rc = take_max(call, &w, call->args[1].u.t, call->args + 2);

    if (rc == 0)
        rc = check_back(call->ctx, &w, grad, indices);
    if (rc < 0)
        return dp_refuse(call->ctx, rc, NULL);
    rc = pool_scatter(call->ctx, &w.p, true, grad, indices, &out);
    return pool_return(call, rc, ARGS, 0, &out);
}

/* -- averages; arguments: self, kernel_size, stride, padding, ceil_mode, count_include_pad,
 * divisor_override -- */

static int take_average(dp_call *call, window *w, dp_tensor *self, const dp_value *args)
{
    int rc = take_window(call, w, args);

    w->ceil_mode = args[3].u.b;
    w->count_padding = args[4].u.b;
    w->divisor = args[5].tag ? args[5].u.i : 0;
    if (rc == 0 && args[5].tag && w->divisor == 0)
        rc = dp_fail(call->ctx, DP_ERUNTIME, "divisor must be not zero");
    w->count_padding = w->count_padding && w->divisor == 0;
    return rc < 0 ? rc : plan(call->ctx, w, self);
}

static int average_forward(dp_call *call, const kind *k)
{
    enum { ARGS = 7 };
    dp_tensor *self = call->args[0].u.t, *out = pool_given(call, ARGS);
    window w = {.kind = k};
    int rc = take_average(call, &w, self, call->args + 1);

    if (rc == 0)
        rc = dense_check_type(call->ctx, k->types_name, w.p.from.dtype, k->types);
    if (rc == 0)
        rc = make_axes(call->ctx, &w);
    if (rc == 0)
        rc = divide_axes(call->ctx, &w);
    if (rc < 0)
        return dp_refuse(call->ctx, rc, NULL);
    return pool_return(call, pool_add(call->ctx, &w.p, self, &out), ARGS, 0, &out);
}

/* arguments: grad_output, self, and those of the forward call */
static int average_backward(dp_call *call, const kind *k)
{
    enum { ARGS = 8 };
    dp_tensor *grad = call->args[0].u.t, *out = pool_given(call, ARGS);
    window w = {.kind = k};
    int rc = take_average(call, &w, call->args[1].u.t, call->args + 2);

    if (rc == 0)
        rc = check_back(call->ctx, &w, grad, NULL);
    if (rc == 0)
        rc = make_axes(call->ctx, &w);
    if (rc == 0)
        rc = divide_axes(call->ctx, &w);
    if (rc < 0)
        return dp_refuse(call->ctx, rc, NULL);
    return pool_return(call, pool_add_back(call->ctx, &w.p, grad, &out), ARGS, 0, &out);
}

static const kind max2 = {"max_pool2d", "max_pool2d", "max_pool2d_backward",    2,
                          true,         false,        SPACE_FLOATS | SPACE_BF16};
static const kind max3 = {"max_pool3d",
                          "max_pool3d_with_indices_cpu",
                          "max_pool3d_with_indices_backward",
                          3,
                          false,
                          false,
                          SPACE_FLOATS};
static const kind average2 = {"avg_pool2d",
                              "avg_pool2d",
                              "avg_pool2d_backward",
                              2,
                              true,
                              true,
                              SPACE_FLOATS | SPACE_BF16 | DENSE_BIT(DP_INT64)};
static const kind average3 = {"avg_pool3d",
                              "avg_pool3d_out_frame",
                              "avg_pool3d_backward_out_frame",
                              3,
                              false,
                              true,
                              SPACE_FLOATS | DENSE_BIT(DP_INT64)};

#define POOL(fn, run, kind)                                                                        \
    static int fn(dp_call *call)                                                                   \
    {                                                                                              \
        return run(call, &kind);                                                                   \
    }
POOL(max2_forward, max_forward, max2)
POOL(max3_forward, max_forward, max3)
POOL(max2_backward, max_backward, max2)
POOL(max3_backward, max_backward, max3)
POOL(average2_forward, average_forward, average2)
POOL(average3_forward, average_forward, average3)
POOL(average2_backward, average_backward, average2)
POOL(average3_backward, average_backward, average3)

DP_LIBRARY_META(aten, CPU, DP_IMPL("max_pool2d_with_indices", max2_forward),
                DP_IMPL("max_pool2d_with_indices.out", max2_forward),
                DP_IMPL("max_pool3d_with_indices", max3_forward),
                DP_IMPL("max_pool3d_with_indices.out", max3_forward),
                DP_IMPL("max_pool2d_with_indices_backward", max2_backward),
                DP_IMPL("max_pool2d_with_indices_backward.grad_input", max2_backward),
                DP_IMPL("max_pool3d_with_indices_backward", max3_backward),
                DP_IMPL("max_pool3d_with_indices_backward.grad_input", max3_backward),
                DP_IMPL("avg_pool2d", average2_forward),
                DP_IMPL("avg_pool2d.out", average2_forward),
                DP_IMPL("avg_pool3d", average3_forward),
                DP_IMPL("avg_pool3d.out", average3_forward),
                DP_IMPL("avg_pool2d_backward", average2_backward),
                DP_IMPL("avg_pool2d_backward.grad_input", average2_backward),
                DP_IMPL("avg_pool3d_backward", average3_backward),
                DP_IMPL("avg_pool3d_backward.grad_input", average3_backward))
