/* conv_check.c -- checks of the arguments of a convolution. */
#include "conv_check.h"
#include "core/dense.h"
#include <string.h>

static int check_list(dp_ctx *ctx, const char *name, const int64_t *list, size_t n, int dims,
                      int64_t *out)
{
    char text[DP_SHAPE_TEXT];

    if (n != 1 && n != (size_t)dims)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "expected %s to be a single integer value or a list of %d values to match the "
            "convolution dimensions, but got %s=%s",
            name, dims, name, dp_shape_text(text, list, n));
    for (int s = 0; s < dims; s++)
        out[CONV_SPACE - dims + s] = list[n == 1 ? 0 : s];
    return 0;
}

/* Test whether a value of list [n] is less than `least`. */
static bool is_under(const int64_t *list, size_t n, int64_t least)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] < least)
            return true;
    return false;
}

static int check_lists(dp_ctx *ctx, const conv_lists *l, int64_t groups, int64_t *outer,
                       conv_plan *p)
{
    static const int64_t zeros[CONV_SPACE];
    conv_shape *s = &p->s;
    int rc = check_list(ctx, "stride", l->stride, l->n_stride, p->dims, s->stride);

    memcpy(outer, zeros, sizeof(zeros));
    if (rc == 0)
        rc = check_list(ctx, "padding", l->padding, l->n_padding, p->dims, s->padding);
    if (rc == 0)
        rc = check_list(ctx, "dilation", l->dilation, l->n_dilation, p->dims, s->dilation);
    if (rc == 0)
        rc = check_list(ctx, "output_padding", l->output_padding, l->n_output_padding, p->dims,
                        outer);
    if (rc < 0)
        return rc;
    if (groups <= 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "non-positive groups is not supported, but got groups=%" PRId64, groups);
    if (is_under(l->padding, l->n_padding, 0))
        return dp_fail(ctx, DP_ERUNTIME, "negative padding is not supported");
    if (is_under(l->output_padding, l->n_output_padding, 0))
        return dp_fail(ctx, DP_ERUNTIME, "negative output_padding is not supported");
    if (is_under(l->stride, l->n_stride, 1))
        return dp_fail(ctx, DP_ERUNTIME, "non-positive stride is not supported");
    return 0;
}

static int check_channels(dp_ctx *ctx, const dp_view *x, const dp_view *w, const conv_plan *p,
                          const char *xs, const char *ws)
{
    int64_t groups = p->s.groups, want = p->transposed ? w->sizes[0] : w->sizes[1] * groups;
    char given[64];

    if (x->ndim != w->ndim)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected %d-dimensional input for %d-dimensional weight %s, but got "
                       "%d-dimensional input of size %s instead",
                       w->ndim, w->ndim, ws, x->ndim, xs);
    if (w->sizes[0] < groups)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Given groups=%" PRId64 ", expected weight to be at least %" PRId64
                       " at dimension 0, but got weight of size %s instead",
                       groups, groups, ws);
    if (w->sizes[0] % groups != 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Given groups=%" PRId64 ", expected weight to be divisible by %" PRId64
                       " at dimension 0, but got weight of size [%s] instead",
                       groups, groups, ws);
    snprintf(given, sizeof(given), p->transposed ? "transposed=1" : "groups=%" PRId64, groups);
    if (x->sizes[1] != want)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Given %s, weight of size %s, expected input%s to have %" PRId64
                       " channels, but got %" PRId64 " channels instead",
                       given, ws, xs, want, x->sizes[1]);
    return 0;
}

static int check_bias(dp_ctx *ctx, const dp_view *w, dp_tensor *bias, const conv_plan *p,
                      const char *ws)
{
    int64_t want = p->transposed ? w->sizes[1] * p->s.groups : w->sizes[0];
    char text[DP_SHAPE_TEXT];

    if (bias == NULL)
        return 0;
    DP_VIEW(b, bias);
    if (b.ndim == 1 && b.sizes[0] == want)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "Given %sweight of size %s, expected bias to be 1-dimensional with %" PRId64
                   " elements, but got bias of size %s instead",
                   p->transposed ? "transposed=1, " : "", ws, want,
                   dp_shape_text(text, b.sizes, (size_t)b.ndim));
}

/* Write sizes [n] to `buf` in the form "3 x 5". */
static const char *cross_text(const int64_t *s, int n, char *buf, size_t bytes)
{
    size_t at = 0;

    buf[0] = '\0';
    for (int i = 0; i < n && at < bytes; i++)
        at += (size_t)snprintf(buf + at, bytes - at, "%s%lld", i ? " x " : "", (long long)s[i]);
    return buf;
}

/* Set `span` to the size of the dilated kernel in each dimension. */
static int find_spans(dp_ctx *ctx, const conv_plan *p, int64_t span[CONV_SPACE])
{
    const conv_shape *s = &p->s;

    for (int i = 0; i < CONV_SPACE; i++)
        if (__builtin_mul_overflow(s->dilation[i], s->kernel[i] - 1, &span[i]) ||
            __builtin_add_overflow(span[i], 1, &span[i]))
            return dp_fail(ctx, DP_ERUNTIME, "dilation %" PRId64 " is too large", s->dilation[i]);
    return 0;
}

/* Set s.out.  DP_ERUNTIME: the dilated kernel is larger than the padded input. */
static int find_output(dp_ctx *ctx, conv_plan *p)
{
    conv_shape *s = &p->s;
    int64_t padded[CONV_SPACE], span[CONV_SPACE];
    int first = CONV_SPACE - p->dims, rc = find_spans(ctx, p, span);
    char have[96], want[96];
    bool fits = true;

    for (int i = 0; rc == 0 && i < CONV_SPACE; i++) {
        if (__builtin_add_overflow(s->in[i], s->padding[i], &padded[i]) ||
            __builtin_add_overflow(padded[i], s->padding[i], &padded[i]))
            return dp_fail(ctx, DP_ERUNTIME, "padding %" PRId64 " is too large", s->padding[i]);
        fits = fits && span[i] <= padded[i];
        s->out[i] = fits ? (padded[i] - span[i]) / s->stride[i] + 1 : 0;
    }
    if (rc < 0 || fits)
        return rc;
    return dp_fail(ctx, DP_ERUNTIME,
                   "Calculated padded input size per channel: (%s). Kernel size: (%s). Kernel size "
                   "can't be greater than actual input size",
                   cross_text(padded + first, p->dims, have, sizeof(have)),
                   cross_text(span + first, p->dims, want, sizeof(want)));
}

/* Set the sizes of a transposed convolution: s.in are the sizes of its output, s.out those of its
 * input. */
static int find_transposed(dp_ctx *ctx, const int64_t *outer, conv_plan *p)
{
    conv_shape *s = &p->s;
    int64_t span[CONV_SPACE];
    int first = CONV_SPACE - p->dims, rc = find_spans(ctx, p, span);
    char have[96], made[96];
    bool fits = true;

    for (int i = 0; rc == 0 && i < CONV_SPACE; i++) {
        int64_t last, pad;
        if (!p->empty && i >= first && outer[i] >= s->stride[i] && outer[i] >= s->dilation[i])
            return dp_fail(ctx, DP_ERUNTIME,
                           "output padding must be smaller than either stride or dilation, but got "
                           "output_padding %" PRId64 ", stride %" PRId64 ", dilation %" PRId64,
                           outer[i], s->stride[i], s->dilation[i]);
        if (__builtin_mul_overflow(s->out[i] - 1, s->stride[i], &last) ||
            __builtin_mul_overflow(s->padding[i], 2, &pad) ||
            __builtin_add_overflow(last, span[i], &last) ||
            __builtin_add_overflow(last, outer[i], &last) ||
            __builtin_sub_overflow(last, pad, &s->in[i]))
            return dp_fail(ctx, DP_ERUNTIME,
                           "stride %" PRId64 " or padding %" PRId64 " is too large", s->stride[i],
                           s->padding[i]);
        fits = fits && s->in[i] > 0;
    }
    if (rc < 0 || fits)
        return rc;
    return dp_fail(ctx, DP_ERUNTIME,
                   "Given input size per channel: (%s). Calculated output size per channel: (%s). "
                   "Output size is too small",
                   cross_text(s->out + first, p->dims, have, sizeof(have)),
                   cross_text(s->in + first, p->dims, made, sizeof(made)));
}

/* Set strides and dilations that are never used (one result, one tap) to 1, and check that the
 * others, and the padding, are so small that positions in the input cannot overflow. */
static int check_steps(dp_ctx *ctx, conv_shape *s)
{
    for (int i = 0; i < CONV_SPACE; i++) {
        if (s->kernel[i] == 1)
            s->dilation[i] = 1;
        if (s->out[i] == 1)
            s->stride[i] = 1;
        if (s->dilation[i] > INT32_MAX || s->stride[i] > INT32_MAX || s->padding[i] > INT32_MAX)
            return dp_fail(ctx, DP_ERUNTIME,
                           "stride %" PRId64 ", dilation %" PRId64 " or padding %" PRId64
                           " is too large",
                           s->stride[i], s->dilation[i], s->padding[i]);
    }
    return 0;
}

/* Source: at::native::check_input_same_type_as_parameters. */
static int check_type(dp_ctx *ctx, const dp_view *x, const char *what, dp_dtype dtype)
{
    if (dtype == x->dtype)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "Input type (torch.%sTensor) and %s type (torch.%sTensor) should be the same",
                   dense_type_name(x->dtype), what, dense_type_name(dtype));
}

/* Check arguments that PyTorch checks only if the convolution has elements to compute. */
static int check_contents(dp_ctx *ctx, const dp_view *x, const dp_view *w, dp_tensor *bias,
                          const conv_plan *p, const char *xs, const char *ws)
{
    const conv_shape *s = &p->s;
    int64_t sum[] = {p->transposed ? s->out_channels : s->in_channels, s->kernel[0], s->kernel[1],
                     s->kernel[2]};
    int rc;

    if (x->numel == 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Only zero batch or zero channel inputs are supported, but got input "
                       "shape: %s",
                       xs);
    for (int i = CONV_SPACE - p->dims; i < CONV_SPACE; i++)
        if (s->kernel[i] == 0)
            return dp_fail(ctx, DP_ERUNTIME,
                           "kernel size should be greater than zero, but got weight of size %s",
                           ws);
    if (w->numel == 0)
        return dp_fail(ctx, DP_ERUNTIME, "non-empty weight tensor expected, but got: %s", ws);
    if (dp_sizes_product(1, sum, 4) > INT32_MAX)
        return dp_fail(ctx, DP_ERESOURCE, "a convolution whose sums are of more than %d products",
                       INT32_MAX);
    if ((rc = check_type(ctx, x, "weight", w->dtype)) < 0 || bias == NULL)
        return rc;
    DP_VIEW(b, bias);
    return check_type(ctx, x, "bias", b.dtype);
}

static void set_shape(const dp_view *x, const dp_view *w, int64_t groups, conv_plan *p)
{
    conv_shape *s = &p->s;

    p->empty = x->sizes[0] == 0 || x->sizes[1] == 0;
    s->n = x->sizes[0];
    s->groups = groups;
    s->in_channels = w->sizes[1];
    s->out_channels = w->sizes[0] / groups;
    for (int i = 0; i < p->dims; i++) {
        int at = CONV_SPACE - p->dims + i;
        *(p->transposed ? &s->out[at] : &s->in[at]) = x->sizes[2 + i];
        s->kernel[at] = w->sizes[2 + i];
    }
}

static void set_sizes(const dp_view *x, const dp_view *w, conv_plan *p)
{
    const int64_t *space = p->transposed ? p->s.in : p->s.out;

    p->sizes[0] = x->sizes[0];
    p->sizes[1] = p->transposed ? w->sizes[1] * p->s.groups : w->sizes[0];
    if (x->sizes[1] == 0)
        p->sizes[1] = 0; /* as in PyTorch, the output has no channels if the input has none */
    dp_copy_n(p->sizes + 2, space + CONV_SPACE - p->dims, (size_t)p->dims, sizeof(*p->sizes));
}

int conv_check(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias,
               const conv_lists *lists, bool transposed, int64_t groups, conv_plan *p)
{
    static const conv_shape ones = {.in = {1, 1, 1},
                                    .out = {1, 1, 1},
                                    .kernel = {1, 1, 1},
                                    .stride = {1, 1, 1},
                                    .padding = {0},
                                    .dilation = {1, 1, 1}};
    int64_t outer[CONV_SPACE];
    char xs[DP_SHAPE_TEXT], ws[DP_SHAPE_TEXT];
    DP_VIEW(x, input);
    DP_VIEW(w, weight);

    *p = (conv_plan){.s = ones, .dims = w.ndim - 2, .transposed = transposed, .dtype = x.dtype};
    if (p->dims < 1)
        return dp_fail(ctx, DP_ERUNTIME, "weight should have at least three dimensions");
    if (p->dims > CONV_SPACE)
        return dp_fail(ctx, DP_ERUNTIME, "unsupported ConvNd parameters: weight has %d dimensions",
                       w.ndim);
    dp_shape_text(xs, x.sizes, (size_t)x.ndim);
    dp_shape_text(ws, w.sizes, (size_t)w.ndim);
    p->s.groups = groups;
    int rc = check_lists(ctx, lists, groups, outer, p);
    if (rc == 0)
        rc = check_channels(ctx, &x, &w, p, xs, ws);
    if (rc == 0)
        rc = check_bias(ctx, &w, bias, p, ws);
    if (rc < 0)
        return rc;
    if (is_under(lists->dilation, lists->n_dilation, 1))
        return dp_fail(ctx, DP_ERUNTIME, "dilation should be greater than zero, but got %s",
                       dp_shape_text(ws, lists->dilation, lists->n_dilation));
    set_shape(&x, &w, groups, p);
    rc = transposed ? find_transposed(ctx, outer, p) : find_output(ctx, p);
    if (rc == 0)
        rc = check_steps(ctx, &p->s);
    set_sizes(&x, &w, p);
    if (rc == 0 && p->empty && x.sizes[1] > 0 &&
        w.numel == 0) /* like ConvBackend::Empty, which tests the first dimension of the weight */
        return dp_fail(ctx, DP_EINDEX,
                       "a convolution needs a weight that is not empty, but got: %s", ws);
    return rc < 0 || p->empty ? rc : check_contents(ctx, &x, &w, bias, p, xs, ws);
}

int conv_check_grad(dp_ctx *ctx, dp_tensor *grad, const conv_plan *p)
{
    DP_VIEW(g, grad);

    if (g.ndim != p->dims + 2)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected input and grad_output to have the same number of dimensions, but "
                       "got: %d and %d",
                       p->dims + 2, g.ndim);
    for (int i = 0; i < g.ndim; i++)
        if (g.sizes[i] != p->sizes[i])
            return dp_fail(ctx, DP_ERUNTIME,
                           "Expected a tensor of dimension %d and tensor.size[%d] == %" PRId64
                           " but got: dimension %d and tensor.size[%d] = %" PRId64,
                           g.ndim, i, p->sizes[i], g.ndim, i, g.sizes[i]);
    return p->empty ? 0 : dense_check_same(ctx, p->dtype, g.dtype);
}

conv_side conv_side_of(dp_tensor *t)
{
    DP_VIEW(v, t);
    int dims = v.ndim - 2;
    conv_side s = {v.data, v.strides[0], v.strides[1], {0}};

    for (int i = 0; i < dims; i++)
        s.at[CONV_SPACE - dims + i] = v.strides[2 + i];
    return s;
}
