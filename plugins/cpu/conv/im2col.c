/* im2col.c -- sliding blocks of images copied to columns (im2col), and columns summed to images
 * (col2im) (aten/src/ATen/native/Im2Col.cpp, Col2Im.cpp, im2col_shape_check.h).
 *
 * Operators: col2im, im2col. */
#include "core/dense.h"
#include "core/elements.h"

enum { SIDES = 2 };

/* Arguments for height and width, and the number of blocks along each. */
typedef struct blocks {
    int64_t image[SIDES], kernel[SIDES], dilation[SIDES], padding[SIDES], stride[SIDES];
    int64_t n[SIDES];
} blocks;

/* Memory of images [N, C, H, W] and columns [N, C k, L]; strides are in bytes. */
typedef struct walk {
    blocks b;
    int64_t samples, channels;
    char *image, *columns;
    int64_t image_at[4], columns_at[3];
    size_t size; /* bytes of an element */
    dp_dtype dtype;
} walk;

static int take(dp_ctx *ctx, const char *name, const int64_t *list, size_t n, int64_t least,
                const char *rule, int64_t out[SIDES])
{
    if (n != SIDES)
        return dp_fail(ctx, DP_ERUNTIME, "It is expected %s equals to 2, but got size %zu", name,
                       n);
    for (int i = 0; i < SIDES; i++) {
        if (list[i] < least)
            return dp_fail(ctx, DP_ERUNTIME,
                           "%s should be %s, but got height: %" PRId64 " width: %" PRId64, name,
                           rule, list[0], list[1]);
        out[i] = list[i];
    }
    return 0;
}

static int check_dtype(dp_ctx *ctx, const char *name, dp_dtype d)
{
    if (dp_dtype_is_floating(d) || dp_dtype_is_complex(d))
        return 0;
    return dense_check_type(ctx, name, d, 0);
}

typedef struct lists {
    const int64_t *kernel, *dilation, *padding, *stride;
    size_t n_kernel, n_dilation, n_padding, n_stride;
} lists;

static int take_lists(dp_ctx *ctx, const lists *l, blocks *b)
{
    int rc = take(ctx, "kernel_size", l->kernel, l->n_kernel, 1, "greater than zero", b->kernel);

    if (rc == 0)
        rc = take(ctx, "dilation", l->dilation, l->n_dilation, 1, "greater than zero", b->dilation);
    if (rc == 0)
        rc = take(ctx, "padding", l->padding, l->n_padding, 0, "non-negative", b->padding);
    if (rc == 0)
        rc = take(ctx, "stride", l->stride, l->n_stride, 1, "greater than zero", b->stride);
    return rc;
}

/* Set b->n from b->image.  DP_ERUNTIME: there is no block. */
static int count_blocks(dp_ctx *ctx, blocks *b)
{
    bool some = true;

    for (int i = 0; i < SIDES; i++) {
        int64_t span, left;
        if (__builtin_mul_overflow(b->dilation[i], b->kernel[i] - 1, &span) ||
            __builtin_add_overflow(b->image[i], b->padding[i], &left) ||
            __builtin_add_overflow(left, b->padding[i], &left) ||
            __builtin_sub_overflow(left - 1, span, &left))
            return dp_fail(ctx, DP_ERUNTIME,
                           "padding %" PRId64 " or dilation %" PRId64 " is too large",
                           b->padding[i], b->dilation[i]);
        b->n[i] = left < 0 ? 0 : left / b->stride[i] + 1;
        b->stride[i] = b->n[i] > 1 ? b->stride[i] : 1; /* the stride is not used */
        some = some && left >= 0;
    }
    if (some)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "Given images of (%" PRId64 ", %" PRId64 "), kernel_size=(%" PRId64 ", %" PRId64
                   "), dilation=(%" PRId64 ", %" PRId64 "), padding=(%" PRId64 ", %" PRId64
                   "), calculated shape of the array of sliding blocks as (%" PRId64 ", %" PRId64
                   "), but its components must be at least one",
                   b->image[0], b->image[1], b->kernel[0], b->kernel[1], b->dilation[0],
                   b->dilation[1], b->padding[0], b->padding[1], b->n[0], b->n[1]);
}

/* Set [*begin, *end) to the blocks along side `i` for which tap `t` is inside the image, and *first
 * to the index that tap t of block *begin reads. */
static void inside(const blocks *b, int i, int64_t t, int64_t *begin, int64_t *end, int64_t *first)
{
    int64_t off = t * b->dilation[i] - b->padding[i], stride = b->stride[i];

    *begin = off < 0 ? (-off - 1) / stride + 1 : 0;
    *end = off < b->image[i] ? (b->image[i] - 1 - off) / stride + 1 : 0;
    *end = *end < b->n[i] ? *end : b->n[i];
    *begin = *begin < *end ? *begin : *end;
    *first = *begin < *end ? *begin * stride + off : 0;
}

static void set_zeros(const walk *w, char *to, int64_t n)
{
    if (w->columns_at[2] == (int64_t)w->size)
        dp_zero_n(to, (size_t)n, w->size);
    for (int64_t i = 0; w->columns_at[2] != (int64_t)w->size && i < n; i++)
        memset(to + i * w->columns_at[2], 0, w->size);
}

/* Copy rows [begin, end) of columns; a row is a (sample, channel, tap). */
static void unfold_rows(int64_t begin, int64_t end, void *user)
{
    const walk *w = user;
    const blocks *b = &w->b;
    int64_t kernel = b->kernel[0] * b->kernel[1], step = w->columns_at[2];

    for (int64_t r = begin; r < end; r++) {
        int64_t t = r % kernel, c = r / kernel % w->channels, n = r / kernel / w->channels;
        int64_t h0, h1, hf, w0, w1, wf;
        char *to = w->columns + n * w->columns_at[0] + (c * kernel + t) * w->columns_at[1];
        const char *from = w->image + n * w->image_at[0] + c * w->image_at[1];
        inside(b, 0, t / b->kernel[1], &h0, &h1, &hf);
        inside(b, 1, t % b->kernel[1], &w0, &w1, &wf);
        for (int64_t h = 0; h < b->n[0]; h++, to += b->n[1] * step) {
            if (h < h0 || h >= h1) {
                set_zeros(w, to, b->n[1]);
                continue;
            }
            set_zeros(w, to, w0);
            copy_elements(w->size, w1 - w0, to + w0 * step, step,
                          from + (hf + (h - h0) * b->stride[0]) * w->image_at[2] +
                              wf * w->image_at[3],
                          w1 - w0 > 1 ? b->stride[1] * w->image_at[3] : 0);
            set_zeros(w, to + w1 * step, b->n[1] - w1);
        }
    }
}

/* Add from [n] to `to` [n]; the strides are in bytes. */
static void add_elements(dp_dtype d, int64_t n, char *to, int64_t at, const char *from,
                         int64_t step)
{
    switch (d) {
#define ADD(name, dtype, memory, value, load, store)                                               \
    case dtype:                                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                          \
            memory *y = (memory *)(to + i * at);                                                   \
            *y = store((value)(load(*y) + load(*(const memory *)(from + i * step))));              \
        }                                                                                          \
        return;
        DP_DTYPES_ALL(ADD)
    default:
        return;
    }
}

/* Add up planes [begin, end) of images, which have zeros at first; a plane is a (sample,
 * channel). */
static void fold_planes(int64_t begin, int64_t end, void *user)
{
    const walk *w = user;
    const blocks *b = &w->b;
    int64_t kernel = b->kernel[0] * b->kernel[1], step = w->columns_at[2];

    for (int64_t p = begin; p < end; p++) {
        int64_t c = p % w->channels, n = p / w->channels, h0, h1, hf, w0, w1, wf;
        char *to = w->image + n * w->image_at[0] + c * w->image_at[1];
        for (int64_t t = 0; t < kernel; t++) {
            const char *from =
                w->columns + n * w->columns_at[0] + (c * kernel + t) * w->columns_at[1];
            inside(b, 0, t / b->kernel[1], &h0, &h1, &hf);
            inside(b, 1, t % b->kernel[1], &w0, &w1, &wf);
            for (int64_t h = h0; h < h1; h++)
                add_elements(w->dtype, w1 - w0,
                             to + (hf + (h - h0) * b->stride[0]) * w->image_at[2] +
                                 wf * w->image_at[3],
                             w1 - w0 > 1 ? b->stride[1] * w->image_at[3] : 0,
                             from + (h * b->n[1] + w0) * step, step);
        }
    }
}

/* Set `at` to the strides in bytes of the last `n` dimensions of `t`, and *data to its memory; an
 * output has a batch dimension if the input has one. */
static void set_side(dp_tensor *t, int n, size_t size, char **data, int64_t *at)
{
    DP_VIEW(v, t);
    int missing = n - v.ndim;

    *data = v.data;
    at[0] = 0;
    for (int i = 0; i < v.ndim; i++)
        at[missing + i] = v.strides[i] * (int64_t)size;
}

static int run(dp_ctx *ctx, walk *w, dp_tensor *image, dp_tensor *columns, bool unfold)
{
    int64_t each = w->b.n[0] * w->b.n[1], kernel = w->b.kernel[0] * w->b.kernel[1];

    if (dp_memoryless(ctx) || w->samples == 0)
        return 0;
    w->size = dp_dtype_size(w->dtype);
    set_side(image, 4, w->size, &w->image, w->image_at);
    set_side(columns, 3, w->size, &w->columns, w->columns_at);
    if (unfold)
        return dp_parallel_for(ctx, 0, w->samples * w->channels * kernel, dense_grain((double)each),
                               unfold_rows, w);
    return dp_parallel_for(ctx, 0, w->samples * w->channels,
                           dense_grain((double)each * (double)kernel), fold_planes, w);
}

/* Make or resize the output; if the input has no batch dimension, the first of the sizes is left
 * out. */
static int make(dp_ctx *ctx, dp_tensor *self, const walk *w, bool batched, int ndim,
                const int64_t *sizes, dp_tensor **out)
{
    DP_VIEW(x, self);
    return dp_set_output(ctx, out, ndim - !batched, sizes + !batched, NULL, w->dtype, x.device);
}

/* Check that only the batch dimension may have size 0.  DP_ERUNTIME: another one has. */
static int check_image(dp_ctx *ctx, const dp_view *x, int ndim, const char *what)
{
    char text[DP_SHAPE_TEXT];
    bool good = x->ndim == ndim || x->ndim == ndim - 1;

    for (int i = x->ndim == ndim; good && i < x->ndim; i++)
        good = x->sizes[i] != 0;
    if (good)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "Expected %dD or %dD (batch mode) tensor with possibly 0 batch size and other "
                   "non-zero dimensions for %s, but got: %s",
                   ndim - 1, ndim, what, dp_shape_text(text, x->sizes, (size_t)x->ndim));
}

static int unfold(dp_ctx *ctx, dp_tensor *self, const lists *l, dp_tensor **out)
{
    walk w = {.samples = 1};
    DP_VIEW(x, self);
    bool batched = x.ndim == 4;
    int rc = take_lists(ctx, l, &w.b);

    if (rc == 0)
        rc = check_image(ctx, &x, 4, "input");
    if (rc < 0)
        return rc;
    w.dtype = x.dtype;
    w.samples = batched ? x.sizes[0] : 1;
    w.channels = x.sizes[batched];
    memcpy(w.b.image, x.sizes + batched + 1, sizeof(w.b.image));
    if ((rc = count_blocks(ctx, &w.b)) == 0)
        rc = check_dtype(ctx, "im2col_out_cpu", x.dtype);
    if (rc < 0)
        return rc;
    int64_t rows[] = {w.channels, w.b.kernel[0], w.b.kernel[1]};
    int64_t sizes[] = {w.samples, (int64_t)dp_sizes_product(1, rows, 3),
                       (int64_t)dp_sizes_product(1, w.b.n, SIDES)};
    if (sizes[1] < 0 || sizes[2] < 0)
        return dp_fail(ctx, DP_ERESOURCE, "im2col: more columns than can be counted");
    rc = make(ctx, self, &w, batched, 3, sizes, out);
    return rc < 0 ? rc : run(ctx, &w, self, *out, true);
}

/* Check that the columns have the sizes of columns of images of b->image. */
static int check_columns(dp_ctx *ctx, const dp_view *x, const blocks *b)
{
    bool batched = x->ndim == 3;
    int64_t rows = x->sizes[batched], length = x->sizes[batched + 1];
    uint64_t kernel = dp_sizes_product(1, b->kernel, SIDES);

    if (kernel > INT64_MAX || rows % (int64_t)kernel != 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected size of input's dimension 1 to be divisible by the product of "
                       "kernel_size, but got input.size(1)=%" PRId64 " and kernel_size=(%" PRId64
                       ", %" PRId64 ").",
                       rows, b->kernel[0], b->kernel[1]);
    if ((uint64_t)length == dp_sizes_product(1, b->n, SIDES))
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "Given output_size=(%" PRId64 ", %" PRId64 "), kernel_size=(%" PRId64
                   ", %" PRId64
                   "), expected size of input's dimension 2 to match the calculated number of "
                   "sliding blocks %" PRId64 " * %" PRId64 ", but got input.size(2)=%" PRId64 ".",
                   b->image[0], b->image[1], b->kernel[0], b->kernel[1], b->n[0], b->n[1], length);
}

static int fold(dp_ctx *ctx, dp_tensor *self, const int64_t *size, size_t n_size, const lists *l,
                dp_tensor **out)
{
    walk w = {.samples = 1};
    DP_VIEW(x, self);
    bool batched = x.ndim == 3;
    int rc = take(ctx, "output_size", size, n_size, 1, "positive", w.b.image);

    if (rc == 0)
        rc = take_lists(ctx, l, &w.b);
    if (rc == 0)
        rc = check_image(ctx, &x, 3, "input");
    if (rc == 0)
        rc = count_blocks(ctx, &w.b);
    if (rc == 0)
        rc = check_columns(ctx, &x, &w.b);
    if (rc == 0)
        rc = check_dtype(ctx, "col2im_out_cpu", x.dtype);
    if (rc < 0)
        return rc;
    w.dtype = x.dtype;
    w.samples = batched ? x.sizes[0] : 1;
    w.channels = x.sizes[batched] / (w.b.kernel[0] * w.b.kernel[1]);
    int64_t sizes[] = {w.samples, w.channels, w.b.image[0], w.b.image[1]};
    rc = make(ctx, self, &w, batched, 4, sizes, out);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::zero_", "T>", *out);
    return rc < 0 ? rc : run(ctx, &w, *out, self, false);
}

#define PARAMS                                                                                     \
    const int64_t *kernel, size_t n_kernel, const int64_t *dilation, size_t n_dilation,            \
        const int64_t *padding, size_t n_padding, const int64_t *stride, size_t n_stride
#define LISTS                                                                                      \
    {                                                                                              \
        kernel, dilation, padding, stride, n_kernel, n_dilation, n_padding, n_stride               \
    }

/* aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) ->
 * Tensor self [N, C, H, W] or [C, H, W] -> [N, C kh kw, L] or [C kh kw, L] */
static int im2col(dp_ctx *ctx, dp_tensor *self, PARAMS, dp_tensor **out)
{
    const lists l = LISTS;
    *out = NULL;
    return unfold(ctx, self, &l, out);
}

static int im2col_out(dp_ctx *ctx, dp_tensor *self, PARAMS, dp_tensor *out)
{
    const lists l = LISTS;
    return unfold(ctx, self, &l, &out);
}

/* aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2]
 *     padding, int[2] stride) -> Tensor; the way back, where blocks overlap they are added */
static int col2im(dp_ctx *ctx, dp_tensor *self, const int64_t *size, size_t n_size, PARAMS,
                  dp_tensor **out)
{
    const lists l = LISTS;
    *out = NULL;
    return fold(ctx, self, size, n_size, &l, out);
}

static int col2im_out(dp_ctx *ctx, dp_tensor *self, const int64_t *size, size_t n_size, PARAMS,
                      dp_tensor *out)
{
    const lists l = LISTS;
    return fold(ctx, self, size, n_size, &l, &out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("im2col", im2col, (T, li, li, li, li), (T)),
                DP_IMPL_UNBOXED("im2col.out", im2col_out, (T, li, li, li, li, T), ()),
                DP_IMPL_UNBOXED("col2im", col2im, (T, li, li, li, li, li), (T)),
                DP_IMPL_UNBOXED("col2im.out", col2im_out, (T, li, li, li, li, li, T), ()))
