/* convolution.c -- convolutions, which call the convolution operators of backends, and
 * _nnpack_available (aten/src/ATen/native/Convolution.cpp, NNPACK.cpp).
 *
 * Operators: conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d,
 * _convolution, convolution, convolution_backward, _convolution_mode, _nnpack_available,
 * slow_conv3d, thnn_conv2d. */
#include "core/composite.h"
#include <string.h>

enum { SPATIAL_MAX = 3 };

/* the arguments of a convolution that are lists or numbers */
typedef struct settings {
    const int64_t *stride, *padding, *dilation, *output_padding;
    size_t n_stride, n_padding, n_dilation, n_output_padding;
    dp_str mode; /* name of the padding, instead of `padding`; s NULL: no name */
    bool transposed;
    int64_t groups;
} settings;

/* Call aten::convolution, or aten::_convolution_mode if the padding has a name. */
static int convolve(dp_ctx *ctx, const settings *s, dp_tensor *input, dp_tensor *weight,
                    dp_tensor *bias, dp_tensor **out)
{
    if (s->mode.s)
        return dp_invoke(ctx, "aten::_convolution_mode", "TToTliSlii>T", input, weight, bias,
                         s->stride, s->n_stride, s->mode, s->dilation, s->n_dilation, s->groups,
                         out);
    return dp_invoke(ctx, "aten::convolution", "TToTlililiblii>T", input, weight, bias, s->stride,
                     s->n_stride, s->padding, s->n_padding, s->dilation, s->n_dilation,
                     (int)s->transposed, s->output_padding, s->n_output_padding, s->groups, out);
}

/* -- complex numbers: three convolutions of real ones, by Gauss --
 * a = conv(xr, wr, br), b = conv(xi, wi), c = conv(xr + xi, wr + wi, br + bi): (a - b) + i (c - a -
 * b) */

/* Set `parts` to the real part, the imaginary part and the sum of both parts of the complex tensor
 * `t`. */
static int take_parts(dp_ctx *ctx, temps *s, dp_tensor *t, dp_tensor *parts[3])
{
    dp_tensor *real;
    int rc = dp_invoke(ctx, "aten::resolve_conj", "T>T", t, temps_next(s));

    if (rc == 0) {
        t = temps_last(s);
        rc = dp_invoke(ctx, "aten::view_as_real", "T>T", t, temps_next(s));
    }
    real = temps_last(s);
    for (int i = 0; rc == 0 && i < 2; i++) {
        rc = dp_invoke(ctx, "aten::select.int", "Tii>T", real, (int64_t)-1, (int64_t)i,
                       temps_next(s));
        parts[i] = temps_last(s);
    }
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::add.Tensor", "TT>T", parts[0], parts[1], temps_next(s));
    parts[2] = temps_last(s);
    return rc;
}

/* Return (a - b) + i (c - a - b). */
static int join_parts(dp_ctx *ctx, dp_tensor *const abc[3], dp_tensor **out)
{
    dp_tensor *re = NULL, *im = NULL, *rest = NULL;
    int rc = dp_invoke(ctx, "aten::sub.Tensor", "TT>T", abc[0], abc[1], &re);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::sub.Tensor", "TT>T", abc[2], abc[0], &rest);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::sub.Tensor", "TT>T", rest, abc[1], &im);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::complex", "TT>T", re, im, out);
    dp_tensor_unref(re);
    dp_tensor_unref(im);
    dp_tensor_unref(rest);
    return rc;
}

static int convolve_complex(dp_ctx *ctx, const settings *s, dp_tensor *input, dp_tensor *weight,
                            dp_tensor *bias, dp_tensor **out)
{
    dp_tensor *x[3] = {0}, *w[3] = {0}, *b[3] = {0}, *abc[3] = {0};
    temps of[3] = {{.n = 0}, {.n = 0}, {.n = 0}};
    DP_VIEW(v, input);
    DP_VIEW(u, weight);

    if (u.dtype != v.dtype)
        return dp_fail(ctx, DP_ERUNTIME, "Input type (%s) and weight type (%s) should be the same",
                       dp_dtype_name(v.dtype), dp_dtype_name(u.dtype));
    int rc = take_parts(ctx, &of[0], input, x);
    if (rc == 0)
        rc = take_parts(ctx, &of[1], weight, w);
    if (rc == 0 && bias)
        rc = take_parts(ctx, &of[2], bias, b);
    for (int i = 0; rc == 0 && i < 3; i++)
        rc = convolve(ctx, s, x[i], w[i], i == 1 ? NULL : b[i], &abc[i]);
    if (rc == 0)
        rc = join_parts(ctx, abc, out);
    for (int i = 0; i < 3; i++) {
        temps_fini(&of[i]);
        dp_tensor_unref(abc[i]);
    }
    return rc;
}

/* -- conv1d, conv2d, conv3d -- */

static int convolve_any(dp_ctx *ctx, const settings *s, dp_tensor *input, dp_tensor *weight,
                        dp_tensor *bias, dp_tensor **out)
{
    DP_VIEW(x, input);
    return (dp_dtype_is_complex(x.dtype) ? convolve_complex : convolve)(ctx, s, input, weight, bias,
                                                                        out);
}

/* Run a convolution over `n` dimensions.  An input [C, ...] without a batch is viewed as a batch of
 * one, and the result without it. */
static int conv(dp_ctx *ctx, const char *name, int n, const settings *s, dp_tensor *input,
                dp_tensor *weight, dp_tensor *bias, dp_tensor **out)
{
    char shape[DP_SHAPE_TEXT];
    dp_tensor *batch, *result;
    DP_VIEW(x, input);

    if (x.ndim == n + 2)
        return convolve_any(ctx, s, input, weight, bias, out);
    if (x.ndim != n + 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected %dD (unbatched) or %dD (batched) input to %s, but got input of "
                       "size: %s",
                       n + 1, n + 2, name, dp_shape_text(shape, x.sizes, (size_t)x.ndim));
    int rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", input, (int64_t)0, &batch);
    if (rc < 0)
        return rc;
    rc = convolve_any(ctx, s, batch, weight, bias, &result);
    dp_tensor_unref(batch);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::squeeze.dim", "Ti>T", result, (int64_t)0, out);
    dp_tensor_unref(result);
    return rc;
}

static const int64_t zero;

/* aten::convNd(Tensor input, Tensor weight, Tensor? bias=None, int[N] stride=1, int[N] padding=0,
 *     int[N] dilation=1, int groups=1) -> Tensor
 * aten::convNd.padding: `str padding` for `int[N] padding`
 * aten::conv_transposeNd(Tensor input, Tensor weight, Tensor? bias=None, int[N] stride=1,
 *     int[N] padding=0, int[N] output_padding=0, int groups=1, int[N] dilation=1) -> Tensor */
#define CONV(n)                                                                                    \
    static int conv##n##d(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias,       \
                          const int64_t *stride, size_t n_stride, const int64_t *padding,          \
                          size_t n_padding, const int64_t *dilation, size_t n_dilation,            \
                          int64_t groups, dp_tensor **out)                                         \
    {                                                                                              \
        const settings s = {.stride = stride,                                                      \
                            .padding = padding,                                                    \
                            .dilation = dilation,                                                  \
                            .output_padding = &zero,                                               \
                            .n_stride = n_stride,                                                  \
                            .n_padding = n_padding,                                                \
                            .n_dilation = n_dilation,                                              \
                            .n_output_padding = 1,                                                 \
                            .groups = groups};                                                     \
        return conv(ctx, "conv" #n "d", n, &s, input, weight, bias, out);                          \
    }                                                                                              \
    static int conv##n##d_padding(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight,                \
                                  dp_tensor *bias, const int64_t *stride, size_t n_stride,         \
                                  dp_str padding, const int64_t *dilation, size_t n_dilation,      \
                                  int64_t groups, dp_tensor **out)                                 \
    {                                                                                              \
        const settings s = {.stride = stride,                                                      \
                            .n_stride = n_stride,                                                  \
                            .mode = padding,                                                       \
                            .dilation = dilation,                                                  \
                            .n_dilation = n_dilation,                                              \
                            .groups = groups};                                                     \
        return conv(ctx, "conv" #n "d", n, &s, input, weight, bias, out);                          \
    }                                                                                              \
    static int conv_transpose##n##d(                                                               \
        dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias, const int64_t *stride,  \
        size_t n_stride, const int64_t *padding, size_t n_padding, const int64_t *output_padding,  \
        size_t n_output_padding, int64_t groups, const int64_t *dilation, size_t n_dilation,       \
        dp_tensor **out)                                                                           \
    {                                                                                              \
        const settings s = {.stride = stride,                                                      \
                            .padding = padding,                                                    \
                            .dilation = dilation,                                                  \
                            .output_padding = output_padding,                                      \
                            .n_stride = n_stride,                                                  \
                            .n_padding = n_padding,                                                \
                            .n_dilation = n_dilation,                                              \
                            .n_output_padding = n_output_padding,                                  \
                            .transposed = true,                                                    \
                            .groups = groups};                                                     \
        return conv(ctx, "conv_transpose" #n "d", n, &s, input, weight, bias, out);                \
    }
CONV(1)
CONV(2)
CONV(3)

/* -- padding by name -- */

static int check_same(dp_ctx *ctx, const settings *s, dp_tensor *input, dp_tensor *weight)
{
    char xs[DP_SHAPE_TEXT], ws[DP_SHAPE_TEXT];
    DP_VIEW(x, input);
    DP_VIEW(w, weight);
    size_t n = (size_t)w.ndim - 2;

    if (w.ndim < 3)
        return dp_fail(ctx, DP_ERUNTIME, "weight should have at least three dimensions");
    if (x.ndim != w.ndim)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected %d-dimensional input for %d-dimensional weight%s, but got "
                       "%d-dimensional input of size %s instead",
                       w.ndim, w.ndim, dp_shape_text(ws, w.sizes, (size_t)w.ndim), x.ndim,
                       dp_shape_text(xs, x.sizes, (size_t)x.ndim));
    if (n > SPATIAL_MAX)
        return dp_fail(ctx, DP_ERUNTIME, "unsupported ConvNd parameters: weight has %d dimensions",
                       w.ndim);
    if (s->n_stride != n && s->n_stride != 1)
        return dp_fail(ctx, DP_ERUNTIME, "stride cannot broadcast to %zu dimensions", n);
    if (s->n_dilation != n && s->n_dilation != 1)
        return dp_fail(ctx, DP_ERUNTIME, "dilation cannot broadcast to %zu dimensions", n);
    for (size_t i = 0; i < s->n_stride; i++)
        if (s->stride[i] != 1)
            return dp_fail(ctx, DP_ERUNTIME,
                           "padding='same' is not supported for strided convolutions");
    return 0;
}

/* Run a convolution with padding "same".  Both sides get the same padding; if the total padding is
 * odd, a line of zeros is appended to the input. */
static int convolve_same(dp_ctx *ctx, settings *s, dp_tensor *input, dp_tensor *weight,
                         dp_tensor *bias, dp_tensor **out)
{
    int64_t padding[SPATIAL_MAX], behind[2 * SPATIAL_MAX] = {0};
    dp_tensor *padded = NULL;
    bool odd = false;
    DP_VIEW(w, weight);
    int n = w.ndim - 2;

    for (int i = 0; i < n; i++) {
        int64_t d = s->dilation[s->n_dilation == 1 ? 0 : i], all;
        if (__builtin_mul_overflow(d, w.sizes[2 + i] - 1, &all))
            return dp_fail(ctx, DP_ERUNTIME, "dilation %" PRId64 " is too large", d);
        padding[i] = all / 2;
        behind[2 * (n - 1 - i) + 1] = all - 2 * padding[i];
        odd = odd || behind[2 * (n - 1 - i) + 1] != 0;
    }
    s->padding = padding, s->n_padding = (size_t)n;
    if (!odd)
        return convolve(ctx, s, input, weight, bias, out);
    int rc = dp_invoke(ctx, "aten::constant_pad_nd", "Tlis>T", input, behind, (size_t)(2 * n),
                       dp_int(0), &padded);
    if (rc == 0)
        rc = convolve(ctx, s, padded, weight, bias, out);
    dp_tensor_unref(padded);
    return rc;
}

/* aten::_convolution_mode(Tensor input, Tensor weight, Tensor? bias, int[] stride, str padding,
 *     int[] dilation, int groups) -> Tensor */
static int convolution_mode(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias,
                            const int64_t *stride, size_t n_stride, dp_str padding,
                            const int64_t *dilation, size_t n_dilation, int64_t groups,
                            dp_tensor **out)
{
    settings s = {.stride = stride,
                  .padding = &zero,
                  .dilation = dilation,
                  .output_padding = &zero,
                  .n_stride = n_stride,
                  .n_padding = 1,
                  .n_dilation = n_dilation,
                  .n_output_padding = 1,
                  .groups = groups};

    if (strcmp(padding.s, "valid") == 0)
        return convolve(ctx, &s, input, weight, bias, out);
    if (strcmp(padding.s, "same") != 0)
        return dp_fail(ctx, DP_ERUNTIME, "Invalid padding string: '%s'", padding.s);
    int rc = check_same(ctx, &s, input, weight);
    return rc < 0 ? rc : convolve_same(ctx, &s, input, weight, bias, out);
}

/* -- operators that these call -- */

/* Call aten::convolution_overrideable, which has these arguments. */
static int overrideable(dp_ctx *ctx, const settings *s, dp_tensor *input, dp_tensor *weight,
                        dp_tensor *bias, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::convolution_overrideable", "TToTlililiblii>T", input, weight, bias,
                     s->stride, s->n_stride, s->padding, s->n_padding, s->dilation, s->n_dilation,
                     (int)s->transposed, s->output_padding, s->n_output_padding, s->groups, out);
}

#define CONVOLUTION_PARAMS                                                                         \
    dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias, const int64_t *stride,      \
        size_t n_stride, const int64_t *padding, size_t n_padding, const int64_t *dilation,        \
        size_t n_dilation, bool transposed, const int64_t *output_padding,                         \
        size_t n_output_padding, int64_t groups
#define CONVOLUTION_SETTINGS                                                                       \
    {                                                                                              \
        .stride = stride, .padding = padding, .dilation = dilation,                                \
        .output_padding = output_padding, .n_stride = n_stride, .n_padding = n_padding,            \
        .n_dilation = n_dilation, .n_output_padding = n_output_padding, .transposed = transposed,  \
        .groups = groups                                                                           \
    }

/* aten::convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding,
 *     int[] dilation, bool transposed, int[] output_padding, int groups) -> Tensor */
static int convolution(CONVOLUTION_PARAMS, dp_tensor **out)
{
    const settings s = CONVOLUTION_SETTINGS;
    return overrideable(ctx, &s, input, weight, bias, out);
}

/* aten::_convolution; benchmark, deterministic, cudnn_enabled and allow_tf32 only concern cuDNN */
static int convolution_full(CONVOLUTION_PARAMS, bool benchmark, bool deterministic, bool cudnn,
                            bool tf32, dp_tensor **out)
{
    const settings s = CONVOLUTION_SETTINGS;

    (void)benchmark, (void)deterministic, (void)cudnn, (void)tf32;
    return overrideable(ctx, &s, input, weight, bias, out);
}

/* aten::_convolution.deprecated, which has no argument allow_tf32 */
static int convolution_deprecated(CONVOLUTION_PARAMS, bool benchmark, bool deterministic,
                                  bool cudnn, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::_convolution", "TToTlililibliibbbb>T", input, weight, bias, stride,
                     n_stride, padding, n_padding, dilation, n_dilation, (int)transposed,
                     output_padding, n_output_padding, groups, (int)benchmark, (int)deterministic,
                     (int)cudnn, 1, out);
}

/* aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes,
 *     int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int
 *     groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor) */
static int convolution_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *input, dp_tensor *weight,
                                const int64_t *bias, size_t n_bias, const int64_t *stride,
                                size_t n_stride, const int64_t *padding, size_t n_padding,
                                const int64_t *dilation, size_t n_dilation, bool transposed,
                                const int64_t *output_padding, size_t n_output_padding,
                                int64_t groups, const bool *mask, size_t n_mask,
                                dp_tensor **of_input, dp_tensor **of_weight, dp_tensor **of_bias)
{
    /* the gradient of the bias has one element per channel of the output, so `bias` is not
     * needed */
    (void)bias, (void)n_bias;
    return dp_invoke(ctx, "aten::convolution_backward_overrideable", "TTTlililibliilb>TTT", grad,
                     input, weight, stride, n_stride, padding, n_padding, dilation, n_dilation,
                     (int)transposed, output_padding, n_output_padding, groups, mask, n_mask,
                     of_input, of_weight, of_bias);
}

/* -- operators named after PyTorch's kernels -- */

#define SLOW_PARAMS                                                                                \
    dp_ctx *ctx, dp_tensor *self, dp_tensor *weight, const int64_t *kernel, size_t n_kernel,       \
        dp_tensor *bias, const int64_t *stride, size_t n_stride, const int64_t *padding,           \
        size_t n_padding

/* aten::thnn_conv2d(Tensor self, Tensor weight, int[2] kernel_size, Tensor? bias=None, int[2]
 *     stride=1, int[2] padding=0) -> Tensor */
static int thnn_conv2d(SLOW_PARAMS, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::_slow_conv2d_forward", "TTlioTlili>T", self, weight, kernel,
                     n_kernel, bias, stride, n_stride, padding, n_padding, out);
}

static int thnn_conv2d_out(SLOW_PARAMS, dp_tensor *out)
{
    return dp_invoke(ctx, "aten::_slow_conv2d_forward.output", "TTlioTliliT>", self, weight, kernel,
                     n_kernel, bias, stride, n_stride, padding, n_padding, out);
}

/* aten::slow_conv3d, with int[3] instead of int[2] */
static int slow_conv3d(SLOW_PARAMS, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::slow_conv3d_forward", "TTlioTlili>T", self, weight, kernel,
                     n_kernel, bias, stride, n_stride, padding, n_padding, out);
}

static int slow_conv3d_out(SLOW_PARAMS, dp_tensor *out)
{
    return dp_invoke(ctx, "aten::slow_conv3d_forward.output", "TTlioTliliT>", self, weight, kernel,
                     n_kernel, bias, stride, n_stride, padding, n_padding, out);
}

/* aten::_nnpack_available() -> bool: NNPACK is not part of this */
static int nnpack_available(dp_ctx *ctx, bool *out)
{
    (void)ctx;
    *out = false;
    return 0;
}

DP_LIBRARY_META(
    aten, CompositeImplicitAutograd,
    DP_IMPL_UNBOXED("conv1d", conv1d, (T, T, oT, li, li, li, i), (T)),
    DP_IMPL_UNBOXED("conv1d.padding", conv1d_padding, (T, T, oT, li, S, li, i), (T)),
    DP_IMPL_UNBOXED("conv_transpose1d", conv_transpose1d, (T, T, oT, li, li, li, i, li), (T)),
    DP_IMPL_UNBOXED("conv2d", conv2d, (T, T, oT, li, li, li, i), (T)),
    DP_IMPL_UNBOXED("conv2d.padding", conv2d_padding, (T, T, oT, li, S, li, i), (T)),
    DP_IMPL_UNBOXED("conv_transpose2d.input", conv_transpose2d, (T, T, oT, li, li, li, i, li), (T)),
    DP_IMPL_UNBOXED("conv3d", conv3d, (T, T, oT, li, li, li, i), (T)),
    DP_IMPL_UNBOXED("conv3d.padding", conv3d_padding, (T, T, oT, li, S, li, i), (T)),
    DP_IMPL_UNBOXED("conv_transpose3d.input", conv_transpose3d, (T, T, oT, li, li, li, i, li), (T)),
    DP_IMPL_UNBOXED("_convolution_mode", convolution_mode, (T, T, oT, li, S, li, i), (T)),
    DP_IMPL_UNBOXED("thnn_conv2d", thnn_conv2d, (T, T, li, oT, li, li), (T)),
    DP_IMPL_UNBOXED("thnn_conv2d.out", thnn_conv2d_out, (T, T, li, oT, li, li, T), ()),
    DP_IMPL_UNBOXED("slow_conv3d", slow_conv3d, (T, T, li, oT, li, li), (T)),
    DP_IMPL_UNBOXED("slow_conv3d.out", slow_conv3d_out, (T, T, li, oT, li, li, T), ()),
    DP_IMPL_UNBOXED("_nnpack_available", nnpack_available, (), (b)),
    DP_IMPL_UNBOXED("_convolution.deprecated", convolution_deprecated,
                    (T, T, oT, li, li, li, b, li, i, b, b, b), (T)))
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("convolution", convolution, (T, T, oT, li, li, li, b, li, i), (T)),
                DP_IMPL_UNBOXED("_convolution", convolution_full,
                                (T, T, oT, li, li, li, b, li, i, b, b, b, b), (T)),
                DP_IMPL_UNBOXED("convolution_backward", convolution_backward,
                                (T, T, T, oli, li, li, li, b, li, i, lb), (T, T, T)))
