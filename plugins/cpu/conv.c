/* conv.c -- convolution over 1, 2 and 3 spatial dimensions, as columns times weights.
 *
 * One and two dimensions are computed as three whose first sizes are 1.  For each sample and group
 * the patches under the kernel are copied into a matrix [channels * kernel, outputs] (im2col),
 * which the weights are multiplied by.  A slot is a worker with a matrix of its own; the samples
 * are shared out among the slots.  If there is only one slot, its matrix products are split over
 * the threads instead.  Everything is computed row-major; a channels_last result is a copy at the
 * end. */
#include "dense.h"
#include "gemm.h"
#include <stdio.h>
#include <string.h>

enum {
    SPACE = 3,              /* spatial dimensions, after padding with leading ones */
    SLOTS_MAX = 32,         /* samples computed at the same time */
    ROOM_BYTES = 128 << 20, /* of all slots together; a single slot may exceed it */
    BLOCK = 8,              /* elements copied by one memcpy */
};

typedef struct conv {
    int64_t n, groups;                 /* n: samples */
    int64_t in_channels, out_channels; /* of one group */
    int64_t in[SPACE], out[SPACE], kernel[SPACE], stride[SPACE], padding[SPACE], dilation[SPACE];
    dp_dtype dtype;                /* the class that is computed in; see dense.h */
    int64_t bytes;                 /* of one element */
    const char *x, *weight, *bias; /* bias may be NULL */
    char *y;
    int64_t padded[SPACE]; /* sizes of the input with its padding */
    bool plain;            /* the input already is the matrix */
    char *room;            /* of slot 0: its matrix, its padded planes, memory for its products */
    int64_t columns_bytes; /* of one matrix */
    int64_t planes_bytes;  /* and of the planes */
    int64_t room_bytes;    /* of one slot */
    int64_t slots;
    dp_ctx *ctx; /* set when there is one slot: its products are then split over the threads */
} conv;

static int64_t volume(const int64_t s[SPACE])
{
    return s[0] * s[1] * s[2];
}

/* The three steps that move elements, for elements of 4 and of 8 bytes:
 * - pad copies one group's channels of one sample into the middle of planes whose rim stays zero.
 * - columns builds the matrix from the padded planes.  With stride 1 a line is copied in whole
 *   blocks.  The last block may run past the end of its line; the next line then overwrites that,
 *   and behind the last line there is slack.
 * - bias sets every element of y [out_channels, outputs] to its channel's bias. */
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

/* room: the slot's. */
static void run_group(const conv *c, int64_t sample, int64_t group, char *room)
{
    int64_t k = c->in_channels * volume(c->kernel), n = volume(c->out);
    int64_t at = sample * c->groups + group;
    const char *x = c->x + at * c->in_channels * volume(c->in) * c->bytes;
    char *y = c->y + at * c->out_channels * n * c->bytes;
    gemm g = {.dtype = c->dtype, .m = c->out_channels, .n = n, .k = k, .alpha = {1, 0, 1}};

    if (!c->plain) {
        char *planes = room + c->columns_bytes;
        (c->bytes == 4 ? pad_4 : pad_8)(c, x, planes);
        (c->bytes == 4 ? columns_4 : columns_8)(c, planes, room);
    }
    if (c->bias)
        (c->bytes == 4 ? bias_4 : bias_8)(c, c->bias + group * c->out_channels * c->bytes, y);
    g.a = c->weight + group * c->out_channels * k * c->bytes;
    g.a_row = k, g.a_col = 1;
    g.b = c->plain ? x : room;
    g.b_row = n, g.b_col = 1;
    g.c = y, g.c_row = n, g.c_col = 1;
    if (c->bias)
        g.beta = g.alpha;
    gemm_run(c->ctx, &g, room + c->columns_bytes + c->planes_bytes);
}

static void run_slots(int64_t begin, int64_t end, void *user)
{
    const conv *c = user;

    for (int64_t slot = begin; slot < end; slot++) {
        char *room = c->room + slot * c->room_bytes;
        for (int64_t sample = slot; sample < c->n; sample += c->slots)
            for (int64_t group = 0; group < c->groups; group++)
                run_group(c, sample, group, room);
    }
}

/* A kernel of one element, stride 1 and no padding: the input already is the matrix. */
static bool is_plain(const conv *c)
{
    for (int s = 0; s < SPACE; s++)
        if (c->kernel[s] != 1 || c->stride[s] != 1 || c->padding[s] != 0)
            return false;
    return true;
}

/* Set the bytes of matrix and planes; the matrix has slack behind it. */
static int size_room(dp_ctx *ctx, conv *c, int64_t k, int64_t n)
{
    enum { ALIGN = 64 };
    int64_t slack = BLOCK * c->bytes + ALIGN;
    bool huge = __builtin_mul_overflow(c->in_channels * c->bytes, c->padded[0], &c->planes_bytes);

    for (int s = 1; s < SPACE; s++)
        huge |= __builtin_mul_overflow(c->planes_bytes, c->padded[s], &c->planes_bytes);
    huge |= __builtin_add_overflow(c->planes_bytes, slack, &c->planes_bytes);
    huge |= __builtin_mul_overflow(k * c->bytes, n, &c->columns_bytes);
    huge |= __builtin_add_overflow(c->columns_bytes, slack, &c->columns_bytes);
    c->columns_bytes &= ~(int64_t)(ALIGN - 1);
    c->planes_bytes &= ~(int64_t)(ALIGN - 1);
    huge |= __builtin_add_overflow(c->columns_bytes, c->planes_bytes, &c->room_bytes);
    if (huge)
        return dp_fail(ctx, DP_ERESOURCE, "a matrix of %lld x %lld patches", (long long)k,
                       (long long)n);
    return 0;
}

/* Allocate the slots' rooms; c->slots shrinks until they fit ROOM_BYTES. */
static int make_room(dp_ctx *ctx, conv *c, const gemm *widest)
{
    int rc = c->plain ? 0 : size_room(ctx, c, widest->k, widest->n);

    if (rc < 0 || __builtin_add_overflow(c->room_bytes, gemm_scratch(widest), &c->room_bytes))
        return rc < 0 ? rc : dp_fail(ctx, DP_ERESOURCE, "a convolution of too many outputs");
    int64_t fit = ROOM_BYTES / (c->room_bytes + 1);
    if (c->slots > fit)
        c->slots = fit > 0 ? fit : 1;
    c->room = dp_alloc(ctx, (size_t)(c->room_bytes * c->slots));
    if (c->room == NULL)
        return DP_ERESOURCE;
    for (int64_t slot = 0; slot < c->slots; slot++)
        memset(c->room + slot * c->room_bytes + c->columns_bytes, 0, (size_t)c->planes_bytes);
    return 0;
}

/* Needs x, weight, bias and y of *c; none of them may be empty. */
static int compute(dp_ctx *ctx, conv *c)
{
    int64_t k = c->in_channels * volume(c->kernel), n = volume(c->out);
    gemm widest = {.dtype = c->dtype, .m = c->out_channels, .n = n, .k = k, .c_row = n, .c_col = 1};
    int rc = gemm_check(ctx, &widest);

    c->slots = c->n < SLOTS_MAX ? c->n : SLOTS_MAX;
    c->plain = is_plain(c);
    if (rc < 0 || (rc = make_room(ctx, c, &widest)) < 0)
        return rc;
    if (c->slots == 1) {
        c->ctx = ctx;
        run_slots(0, 1, c);
        return dp_checkpoint(ctx); /* of the products inside */
    }
    return dp_parallel_for(ctx, 0, c->slots, 1, run_slots, c);
}

/* -- checks: at::_convolution's order and messages -- */

static int check_list(dp_ctx *ctx, const char *name, const int64_t *list, size_t n, int dims,
                      int64_t least, int64_t out[SPACE])
{
    char text[DP_SHAPE_TEXT];

    dp_shape_text(text, list, n);
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
    char xs[DP_SHAPE_TEXT], ws[DP_SHAPE_TEXT];

    dp_shape_text(xs, x->sizes, (size_t)x->ndim);
    dp_shape_text(ws, w->sizes, (size_t)w->ndim);
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
        char bs[DP_SHAPE_TEXT];
        if (b.ndim != 1 || b.sizes[0] != w->sizes[0])
            return dp_fail(ctx, DP_ERUNTIME,
                           "Given weight of size %s, expected bias to be 1-dimensional with %lld "
                           "elements, but got bias of size %s instead",
                           ws, (long long)w->sizes[0], dp_shape_text(bs, b.sizes, (size_t)b.ndim));
    }
    return 0;
}

/* Sizes as "3 x 5", which PyTorch's message about the kernel's size has. */
static void cross_text(const int64_t *s, int n, char *buf, size_t bytes)
{
    size_t at = 0;

    buf[0] = '\0';
    for (int i = 0; i < n && at < bytes; i++)
        at += (size_t)snprintf(buf + at, bytes - at, "%s%lld", i ? " x " : "", (long long)s[i]);
}

/* Set c->padded and c->out; fails when the dilated kernel is larger than the padded input. */
static int output_sizes(dp_ctx *ctx, conv *c, int dims)
{
    int64_t *padded = c->padded, span[SPACE];
    bool fits = true;

    for (int s = 0; s < SPACE; s++) {
        if (__builtin_add_overflow(c->in[s], c->padding[s], &padded[s]) ||
            __builtin_add_overflow(padded[s], c->padding[s], &padded[s]) ||
            __builtin_mul_overflow(c->dilation[s], c->kernel[s] - 1, &span[s]) ||
            __builtin_add_overflow(span[s], 1, &span[s]))
            return dp_fail(ctx, DP_ERUNTIME, "padding %lld or dilation %lld is too large",
                           (long long)c->padding[s], (long long)c->dilation[s]);
        fits = fits && c->kernel[s] > 0 && span[s] <= padded[s];
        c->out[s] = fits ? (padded[s] - span[s]) / c->stride[s] + 1 : 0;
    }
    if (fits)
        return 0;
    char have[96], want[96];
    cross_text(padded + SPACE - dims, dims, have, sizeof(have));
    cross_text(span + SPACE - dims, dims, want, sizeof(want));
    return dp_fail(ctx, DP_ERUNTIME,
                   "Calculated padded input size per channel: (%s). Kernel size: (%s). Kernel size "
                   "can't be greater than actual input size",
                   have, want);
}

/* The arguments of aten::convolution that are used. */
typedef struct arguments {
    dp_tensor *input, *weight, *bias; /* bias may be NULL */
    const int64_t *stride, *padding, *dilation;
    size_t n_stride, n_padding, n_dilation;
    int64_t groups;
} arguments;

static int check_arguments(dp_ctx *ctx, const arguments *a, conv *c)
{
    DP_VIEW(x, a->input);
    DP_VIEW(w, a->weight);
    int dims = w.ndim - 2;
    int rc = check_shapes(ctx, &x, &w, a->bias, a->groups);

    if (rc == 0)
        rc = check_list(ctx, "stride", a->stride, a->n_stride, dims, 1, c->stride);
    if (rc == 0)
        rc = check_list(ctx, "padding", a->padding, a->n_padding, dims, 0, c->padding);
    if (rc == 0)
        rc = check_list(ctx, "dilation", a->dilation, a->n_dilation, dims, 1, c->dilation);
    if (rc == 0)
        rc = check_types(ctx, x.dtype, "weight", w.dtype);
    if (rc == 0 && a->bias) {
        DP_VIEW(b, a->bias);
        rc = check_types(ctx, x.dtype, "bias", b.dtype);
    }
    return rc < 0 ? rc : dense_check_type(ctx, "slow_conv2d_cpu", x.dtype, DENSE_NUMBERS);
}

/* Set the sizes of *c from checked arguments. */
static int set_sizes(dp_ctx *ctx, const arguments *a, conv *c)
{
    DP_VIEW(x, a->input);
    DP_VIEW(w, a->weight);
    int dims = w.ndim - 2;

    for (int s = 0; s < dims; s++) {
        c->in[SPACE - dims + s] = x.sizes[2 + s];
        c->kernel[SPACE - dims + s] = w.sizes[2 + s];
    }
    c->n = x.sizes[0];
    c->groups = a->groups;
    c->in_channels = w.sizes[1];
    c->out_channels = w.sizes[0] / a->groups;
    c->dtype = dense_class(x.dtype);
    c->bytes = (int64_t)dp_dtype_size(c->dtype);
    return output_sizes(ctx, c, dims);
}

static int empty_output(dp_ctx *ctx, const arguments *a, const conv *c, dp_tensor **y)
{
    int64_t sizes[2 + SPACE];
    DP_VIEW(x, a->input);
    DP_VIEW(w, a->weight);
    int dims = w.ndim - 2;

    sizes[0] = c->n;
    sizes[1] = x.sizes[1] == 0 ? 0 : w.sizes[0]; /* no channels in, none out: as in PyTorch */
    memcpy(sizes + 2, c->out + SPACE - dims, (size_t)dims * sizeof(*sizes));
    return dp_empty(ctx, c->dtype, x.device, x.ndim, sizes, DP_CONTIGUOUS, y);
}

static dp_memory_format output_format(const arguments *a)
{
    dp_memory_format format = dp_tensor_suggest_format(a->input);
    return format != DP_CONTIGUOUS ? format : dp_tensor_suggest_format(a->weight);
}

/* Pack the operands, compute, and return the result in the input's dtype. */
static int run(dp_ctx *ctx, const arguments *a, conv *c, dp_tensor **out)
{
    dp_tensor *x = NULL, *w = NULL, *b = NULL, *y = NULL;
    dp_memory_format format = output_format(a);
    DP_VIEW(input, a->input);
    int rc = empty_output(ctx, a, c, &y);

    if (rc == 0)
        rc = dense_get(ctx, a->input, c->dtype, &x);
    if (rc == 0)
        rc = dense_get(ctx, a->weight, c->dtype, &w);
    if (rc == 0 && a->bias)
        rc = dense_get(ctx, a->bias, c->dtype, &b);
    if (rc == 0) {
        c->x = dense_data(x);
        c->weight = dense_data(w);
        c->bias = b ? dense_data(b) : NULL;
        c->y = dense_data(y);
        DP_VIEW(v, y);
        if (v.numel == 0)
            format = DP_CONTIGUOUS;
        else if (!dp_memoryless(ctx))
            rc = compute(ctx, c);
    }
    if (rc == 0) {
        rc = dense_put(ctx, y, input.dtype, format, out);
        y = NULL;
    }
    dp_tensor_unref(y);
    dp_tensor_unref(x);
    dp_tensor_unref(w);
    dp_tensor_unref(b);
    return rc;
}

/* aten::convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding,
 *     int[] dilation, bool transposed, int[] output_padding, int groups) -> Tensor
 * input [N, C, ...], weight [O, C / groups, ...], bias [O].  The result is channels_last if input
 * or weight is. */
static int convolution(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias,
                       const int64_t *stride, size_t n_stride, const int64_t *padding,
                       size_t n_padding, const int64_t *dilation, size_t n_dilation,
                       bool transposed, const int64_t *output_padding, size_t n_output_padding,
                       int64_t groups, dp_tensor **out)
{
    const arguments a = {input,    weight,   bias,      stride,     padding,
                         dilation, n_stride, n_padding, n_dilation, groups};
    conv c = {.in = {1, 1, 1},
              .out = {1, 1, 1},
              .kernel = {1, 1, 1},
              .stride = {1, 1, 1},
              .dilation = {1, 1, 1}};

    (void)output_padding; /* concerns transposed convolutions only */
    (void)n_output_padding;
    if (transposed)
        return dp_fail(ctx, DP_ENOTIMPL,
                       "aten::convolution with transposed=True has no CPU kernel");
    int rc = check_arguments(ctx, &a, &c);
    if (rc == 0)
        rc = set_sizes(ctx, &a, &c);
    return rc < 0 ? rc : run(ctx, &a, &c, out);
}

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("convolution", convolution, (T, T, oT, li, li, li, b, li, i), (T)))
