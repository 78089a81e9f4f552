/* conv.c -- convolution over 1, 2 and 3 spatial dimensions, as columns times weights.
 *
 * Fewer than three dimensions are three with leading ones.  For one sample and group the patches
 * under the kernel become a matrix [channels * kernel, outputs] by which the weights are
 * multiplied. Samples are dealt out to lanes, each with a matrix of its own; a single lane splits
 * its products instead.  Everything is computed row-major; channels_last is a copy at the end. */
#include "dense.h"
#include <stdio.h>
#include <string.h>

enum {
    SPACE = 3,              /* spatial dimensions computed with */
    LANES_MAX = 32,         /* samples at work at once */
    ROOM_BYTES = 256 << 20, /* of all lanes together; one lane takes what it needs */
    BLOCK = 8,              /* elements of a line that are copied at once */
};

typedef struct conv {
    int64_t n, groups, in_channels, out_channels; /* channels of one group */
    int64_t in[SPACE], out[SPACE], kernel[SPACE], stride[SPACE], padding[SPACE], dilation[SPACE];
    dp_dtype dtype;                /* class */
    int64_t bytes;                 /* of an element */
    const char *x, *weight, *bias; /* bias may be NULL */
    char *y;
    int64_t padded[SPACE]; /* in, with the padding on both sides */
    char *room;            /* of lane 0: the matrix, then the padded planes; NULL: not needed */
    int64_t columns_bytes; /* of the matrix */
    int64_t room_bytes;    /* of one lane */
    int64_t lanes;
    dp_ctx *ctx; /* set when the only lane may split its products */
} conv;

static int64_t volume(const int64_t s[SPACE])
{
    return s[0] * s[1] * s[2];
}

/* What is done with elements of one size:
 * - pad: the group's channels x of one sample into the middle of planes whose rim stays zero;
 * - columns: the matrix, from padded planes.  With stride 1 a line is copied in whole blocks; what
 *   runs over its end is overwritten by the next line, or lies in the slack at the matrix's end;
 * - bias: y [out_channels, outputs] starts as that. */
#define ELEMENTS(name, type)                                                                       \
    static void pad_##name(const conv *c, const void *from, void *to)                              \
    {                                                                                              \
        const type *x = from;                                                                      \
        for (int64_t channel = 0; channel < c->in_channels; channel++)                             \
            for (int64_t d = 0; d < c->in[0]; d++)                                                 \
                for (int64_t h = 0; h < c->in[1]; h++, x += c->in[2]) {                            \
                    int64_t plane = channel * c->padded[0] + d + c->padding[0];                    \
                    int64_t line = plane * c->padded[1] + h + c->padding[1];                       \
                    memcpy((type *)to + line * c->padded[2] + c->padding[2], x,                    \
                           (size_t)c->in[2] * sizeof(type));                                       \
                }                                                                                  \
    }                                                                                              \
    static inline void line_##name(type *to, const type *x, int64_t n, int64_t stride)             \
    {                                                                                              \
        for (int64_t w = 0; stride == 1 && w < n; w += BLOCK)                                      \
            memcpy(to + w, x + w, BLOCK * sizeof(type));                                           \
        for (int64_t w = 0; stride != 1 && w < n; w++)                                             \
            to[w] = x[w * stride];                                                                 \
    }                                                                                              \
    DENSE_LOOP static void columns_##name(const conv *c, const void *planes, void *columns)        \
    {                                                                                              \
        type *to = columns;                                                                        \
        const int64_t *size = c->padded, *stride = c->stride, *dilation = c->dilation;             \
        for (int64_t channel = 0; channel < c->in_channels; channel++)                             \
            for (int64_t kd = 0; kd < c->kernel[0]; kd++)                                          \
                for (int64_t kh = 0; kh < c->kernel[1]; kh++)                                      \
                    for (int64_t kw = 0; kw < c->kernel[2]; kw++)                                  \
                        for (int64_t d = 0; d < c->out[0]; d++) {                                  \
                            int64_t plane = channel * size[0] + d * stride[0] + kd * dilation[0];  \
                            const type *x = (const type *)planes +                                 \
                                            (plane * size[1] + kh * dilation[1]) * size[2] +       \
                                            kw * dilation[2];                                      \
                            for (int64_t h = 0; h < c->out[1]; h++, to += c->out[2])               \
                                line_##name(to, x + h * stride[1] * size[2], c->out[2],            \
                                            stride[2]);                                            \
                        }                                                                          \
    }                                                                                              \
    DENSE_LOOP static void bias_##name(const conv *c, const void *bias, void *to)                  \
    {                                                                                              \
        type *y = to;                                                                              \
        int64_t n = volume(c->out);                                                                \
        for (int64_t o = 0; o < c->out_channels; o++, y += n) {                                    \
            type b = ((const type *)bias)[o];                                                      \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[i] = b;                                                                          \
        }                                                                                          \
    }
ELEMENTS(4, uint32_t)
ELEMENTS(8, uint64_t)

/* room: of the lane: the matrix, then the padded planes; NULL: the input itself is the matrix. */
static void run_group(const conv *c, int64_t sample, int64_t group, char *room)
{
    int64_t k = c->in_channels * volume(c->kernel), n = volume(c->out);
    int64_t at = sample * c->groups + group;
    const char *x = c->x + at * c->in_channels * volume(c->in) * c->bytes;
    char *y = c->y + at * c->out_channels * n * c->bytes;
    gemm g = {.dtype = c->dtype, .m = c->out_channels, .n = n, .k = k, .alpha = 1, .int_alpha = 1};

    if (room) {
        char *planes = room + c->columns_bytes;
        (c->bytes == 4 ? pad_4 : pad_8)(c, x, planes);
        (c->bytes == 4 ? columns_4 : columns_8)(c, planes, room);
    }
    if (c->bias)
        (c->bytes == 4 ? bias_4 : bias_8)(c, c->bias + group * c->out_channels * c->bytes, y);
    g.a = c->weight + group * c->out_channels * k * c->bytes;
    g.a_row = k, g.a_col = 1;
    g.b = room ? room : x;
    g.b_row = n, g.b_col = 1;
    g.c = y, g.c_row = n;
    g.beta = c->bias ? 1 : 0;
    g.int_beta = c->bias ? 1 : 0;
    if (c->ctx)
        gemm_run(c->ctx, &g);
    else
        gemm_rows(&g, 0, g.m);
}

static void run_lanes(int64_t begin, int64_t end, void *user)
{
    const conv *c = user;

    for (int64_t lane = begin; lane < end; lane++) {
        char *room = c->room ? c->room + lane * c->room_bytes : NULL;
        for (int64_t sample = lane; sample < c->n; sample += c->lanes)
            for (int64_t group = 0; group < c->groups; group++)
                run_group(c, sample, group, room);
    }
}

static bool is_plain(const conv *c)
{
    for (int s = 0; s < SPACE; s++)
        if (c->kernel[s] != 1 || c->stride[s] != 1 || c->padding[s] != 0)
            return false;
    return true;
}

/* How many lanes there are follows from what they take. */
static int make_room(dp_ctx *ctx, conv *c)
{
    enum { ALIGN = 64 };
    int64_t slack = BLOCK * c->bytes + ALIGN, planes;
    int64_t k = c->in_channels * volume(c->kernel), n = volume(c->out);
    bool huge = __builtin_mul_overflow(c->in_channels * c->bytes, c->padded[0], &planes);

    for (int s = 1; s < SPACE; s++)
        huge |= __builtin_mul_overflow(planes, c->padded[s], &planes);
    huge |= __builtin_mul_overflow(k * c->bytes, n, &c->columns_bytes);
    huge |= __builtin_add_overflow(c->columns_bytes, slack, &c->columns_bytes);
    c->columns_bytes &= ~(int64_t)(ALIGN - 1);
    huge |= __builtin_add_overflow(c->columns_bytes, planes, &c->room_bytes);
    huge |= __builtin_add_overflow(c->room_bytes, slack, &c->room_bytes);
    c->room_bytes &= ~(int64_t)(ALIGN - 1);
    if (huge)
        return dp_fail(ctx, DP_ERESOURCE, "a matrix of %lld x %lld patches", (long long)k,
                       (long long)n);
    int64_t fit = ROOM_BYTES / c->room_bytes;
    if (c->lanes > fit)
        c->lanes = fit > 0 ? fit : 1;
    c->room = dp_alloc(ctx, (size_t)(c->room_bytes * c->lanes));
    if (c->room == NULL)
        return DP_ERESOURCE;
    for (int64_t lane = 0; lane < c->lanes; lane++)
        memset(c->room + lane * c->room_bytes + c->columns_bytes, 0,
               (size_t)(c->room_bytes - c->columns_bytes));
    return 0;
}

/* x, weight, bias and y of *c are set, and nothing in them is empty. */
static int compute(dp_ctx *ctx, conv *c)
{
    int64_t k = c->in_channels * volume(c->kernel), n = volume(c->out);
    gemm widest = {.m = c->out_channels, .n = n, .k = k};
    int rc = c->dtype == DP_INT64 ? 0 : gemm_check(ctx, &widest);

    if (rc < 0)
        return rc;
    c->lanes = c->n < LANES_MAX ? c->n : LANES_MAX;
    if (!is_plain(c) && (rc = make_room(ctx, c)) < 0)
        return rc;
    if (c->lanes == 1) {
        c->ctx = ctx;
        run_lanes(0, 1, c);
    } else
        dp_parallel_for(ctx, 0, c->lanes, 1, run_lanes, c);
    return 0;
}

/* -- checks: at::_convolution's order and messages -- */

static int check_list(dp_ctx *ctx, const char *name, const int64_t *list, size_t n, int dims,
                      int64_t least, int64_t out[SPACE])
{
    char text[SHAPE_TEXT];

    shape_text(text, list, n);
    if (n != 1 && n != (size_t)dims)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "expected %s to be a single integer value or a list of %d values to match the "
            "convolution dimensions, but got %s=%s",
            name, dims, name, text);
    for (size_t i = 0; i < n; i++)
        if (list[i] < least)
            return dp_fail(ctx, DP_ERUNTIME, "%s %s is not supported, but got %s=%s",
                           least > 0 ? "non-positive" : "negative", name, name, text);
    for (int s = 0; s < dims; s++)
        out[SPACE - dims + s] = list[n == 1 ? 0 : s];
    return 0;
}

static int check_types(dp_ctx *ctx, dp_dtype x, const char *name, dp_dtype other)
{
    if (x == other)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "Input type (torch.%sTensor) and %s type (torch.%sTensor) should be the same",
                   dense_type_name(x), name, dense_type_name(other));
}

static int check_shapes(dp_ctx *ctx, const dp_view *x, const dp_view *w, dp_tensor *bias,
                        int64_t groups)
{
    char xs[SHAPE_TEXT], ws[SHAPE_TEXT];

    shape_text(xs, x->sizes, (size_t)x->ndim);
    shape_text(ws, w->sizes, (size_t)w->ndim);
    if (w->ndim < 3 || w->ndim > 2 + SPACE)
        return dp_fail(ctx, DP_ERUNTIME, "weight should have three to five dimensions, but got %s",
                       ws);
    if (groups <= 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "non-positive groups is not supported, but got groups=%lld",
                       (long long)groups);
    if (x->ndim != w->ndim)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected %d-dimensional input for %d-dimensional weight %s, but got "
                       "%d-dimensional input of size %s instead",
                       w->ndim, w->ndim, ws, x->ndim, xs);
    if (w->sizes[0] < groups || w->sizes[0] % groups != 0)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "Given groups=%lld, expected weight to be divisible by %lld at dimension 0, but "
            "got weight of size %s instead",
            (long long)groups, (long long)groups, ws);
    if (x->sizes[1] != w->sizes[1] * groups)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "Given groups=%lld, weight of size %s, expected input%s to have %lld channels, "
            "but got %lld channels instead",
            (long long)groups, ws, xs, (long long)(w->sizes[1] * groups), (long long)x->sizes[1]);
    if (bias) {
        DP_VIEW(b, bias);
        char bs[SHAPE_TEXT];
        if (b.ndim != 1 || b.sizes[0] != w->sizes[0])
            return dp_fail(ctx, DP_ERUNTIME,
                           "Given weight of size %s, expected bias to be 1-dimensional with %lld "
                           "elements, but got bias of size %s instead",
                           ws, (long long)w->sizes[0], shape_text(bs, b.sizes, (size_t)b.ndim));
    }
    return 0;
}

static void cross(const int64_t *s, int n, char *buf, size_t bytes)
{
    size_t at = 0;

    buf[0] = '\0';
    for (int i = 0; i < n && at < bytes; i++)
        at += (size_t)snprintf(buf + at, bytes - at, "%s%lld", i ? " x " : "", (long long)s[i]);
}

/* Sizes of the output; the kernel has to fit into the padded input. */
static int output_sizes(dp_ctx *ctx, conv *c, int dims)
{
    int64_t *padded = c->padded, span[SPACE];
    bool fits = true;

    for (int s = 0; s < SPACE; s++) {
        if (__builtin_add_overflow(c->in[s], c->padding[s], &padded[s]) ||
            __builtin_add_overflow(padded[s], c->padding[s], &padded[s]) ||
            __builtin_mul_overflow(c->dilation[s], c->kernel[s] - 1, &span[s]))
            return dp_fail(ctx, DP_ERUNTIME, "padding %lld or dilation %lld is too large",
                           (long long)c->padding[s], (long long)c->dilation[s]);
        span[s] += 1;
        fits = fits && c->kernel[s] > 0 && span[s] <= padded[s];
        c->out[s] = fits ? (padded[s] - span[s]) / c->stride[s] + 1 : 0;
    }
    if (fits)
        return 0;
    char have[96], want[96];
    cross(padded + SPACE - dims, dims, have, sizeof(have));
    cross(span + SPACE - dims, dims, want, sizeof(want));
    return dp_fail(ctx, DP_ERUNTIME,
                   "Calculated padded input size per channel: (%s). Kernel size: (%s). Kernel size "
                   "can't be greater than actual input size",
                   have, want);
}

/* aten::convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding,
 *     int[] dilation, bool transposed, int[] output_padding, int groups) -> Tensor
 * input [N, C, ...], weight [O, C / groups, ...], bias [O]; channels_last when either is. */
static int convolution(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias,
                       const int64_t *stride, size_t n_stride, const int64_t *padding,
                       size_t n_padding, const int64_t *dilation, size_t n_dilation,
                       bool transposed, const int64_t *output_padding, size_t n_output_padding,
                       int64_t groups, dp_tensor **out)
{
    dp_tensor *px = NULL, *pw = NULL, *pb = NULL, *y = NULL;
    int64_t sizes[2 + SPACE];
    DP_VIEW(x, input);
    DP_VIEW(w, weight);
    conv c = {
        .in = {1, 1, 1},
        .out = {1, 1, 1},
        .kernel = {1, 1, 1},
        .stride = {1, 1, 1},
        .padding = {0, 0, 0},
        .dilation = {1, 1, 1}
    };

    (void)output_padding; /* of transposed ones only */
    (void)n_output_padding;
    if (transposed)
        return dp_fail(ctx, DP_ENOTIMPL,
                       "aten::convolution with transposed=True has no CPU kernel");
    int dims = w.ndim - 2;
    int rc = check_shapes(ctx, &x, &w, bias, groups);
    if (rc == 0)
        rc = check_list(ctx, "stride", stride, n_stride, dims, 1, c.stride);
    if (rc == 0)
        rc = check_list(ctx, "padding", padding, n_padding, dims, 0, c.padding);
    if (rc == 0)
        rc = check_list(ctx, "dilation", dilation, n_dilation, dims, 1, c.dilation);
    if (rc == 0)
        rc = check_types(ctx, x.dtype, "weight", w.dtype);
    if (rc == 0 && bias) {
        DP_VIEW(b, bias);
        rc = check_types(ctx, x.dtype, "bias", b.dtype);
    }
    if (rc == 0)
        rc = dense_check_type(ctx, "slow_conv2d_cpu", x.dtype, DENSE_NUMBERS);
    if (rc < 0)
        return rc;
    for (int s = 0; s < dims; s++) {
        c.in[SPACE - dims + s] = x.sizes[2 + s];
        c.kernel[SPACE - dims + s] = w.sizes[2 + s];
    }
    rc = output_sizes(ctx, &c, dims);
    if (rc < 0)
        return rc;
    c.n = sizes[0] = x.sizes[0];
    c.groups = groups;
    c.in_channels = w.sizes[1];
    c.out_channels = w.sizes[0] / groups;
    c.dtype = dense_class(x.dtype);
    c.bytes = (int64_t)dp_dtype_size(c.dtype);
    sizes[1] =
        x.sizes[1] == 0 ? 0 : w.sizes[0]; /* without channels there are none, as in PyTorch */
    memcpy(sizes + 2, c.out + SPACE - dims, (size_t)dims * sizeof(*sizes));

    dp_memory_format format = dp_tensor_suggest_format(input);
    if (format == DP_CONTIGUOUS)
        format = dp_tensor_suggest_format(weight);
    rc = dp_empty(ctx, c.dtype, x.device, x.ndim, sizes, DP_CONTIGUOUS, &y);
    if (rc == 0)
        rc = dense_get(ctx, input, c.dtype, &px);
    if (rc == 0)
        rc = dense_get(ctx, weight, c.dtype, &pw);
    if (rc == 0 && bias)
        rc = dense_get(ctx, bias, c.dtype, &pb);
    if (rc == 0) {
        c.x = dense_data(px);
        c.weight = dense_data(pw);
        c.bias = pb ? dense_data(pb) : NULL;
        c.y = dense_data(y);
        DP_VIEW(v, y);
        if (v.numel > 0)
            rc = compute(ctx, &c);
        else
            format = DP_CONTIGUOUS;
    }
    if (rc == 0) {
        rc = dense_put(ctx, y, x.dtype, format, out);
        y = NULL;
    }
    dp_tensor_unref(y);
    dp_tensor_unref(px);
    dp_tensor_unref(pw);
    dp_tensor_unref(pb);
    return rc;
}

DP_LIBRARY_IMPL(aten, CPU,
                DP_IMPL_UNBOXED("convolution", convolution, (T, T, oT, li, li, li, b, li, i), (T)))
