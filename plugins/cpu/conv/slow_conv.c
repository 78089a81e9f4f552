/* slow_conv.c -- PyTorch's convolution kernels as operators of their own: each has a fixed number
 * of dimensions, no groups, and the kernel's size as an argument.
 *
 * Operators: _slow_conv2d_backward, _slow_conv2d_forward, slow_conv3d_forward,
 * slow_conv_dilated2d, slow_conv_dilated3d, slow_conv_transpose2d, slow_conv_transpose3d. */
#include "conv_ops.h"
#include "core/dense.h"

enum {
    WIDE = DP_DTYPE_BITS(DP_DTYPES_FLOATING) | DENSE_BIT(DP_INT64),
    FEW = WIDE | DENSE_BIT(DP_BFLOAT16)
};

/* an operator: its name in error messages and its dtypes, its dimensions, and its kind */
typedef struct slow {
    conv_served by;
    int dims;
    bool transposed, unbatched; /* unbatched: an input without a batch is accepted */
} slow;

static const slow conv2 = {{"slow_conv2d_cpu", DENSE_NUMBERS}, 2, false, false};
static const slow conv3 = {{"compute_columns3d", DENSE_NUMBERS}, 3, false, false};
static const slow dilated2 = {{"slow_conv_dilated<>", FEW}, 2, false, true};
static const slow dilated3 = {{"slow_conv_dilated<>", FEW}, 3, false, true};
static const slow transpose2 = {{"slow_conv_transpose2d_out_cpu", WIDE}, 2, true, false};
static const slow transpose3 = {{"slow_conv_transpose3d_out_cpu", WIDE}, 3, true, true};

static const int64_t zero = 0, one = 1;

typedef struct given {
    dp_tensor *input, *weight, *bias;
    const int64_t *kernel;
    size_t n_kernel;
    conv_lists lists;
} given;

static int check_kernel(dp_ctx *ctx, const slow *s, const given *g)
{
    char have[DP_SHAPE_TEXT], want[DP_SHAPE_TEXT];
    DP_VIEW(w, g->weight);
    bool same = w.ndim == s->dims + 2 && g->n_kernel == (size_t)s->dims;

    for (int i = 0; same && i < s->dims; i++)
        same = g->kernel[i] == w.sizes[2 + i];
    if (same)
        return 0;
    return dp_fail(
        ctx, DP_ERUNTIME,
        "weight must have %d dimensions, whose last must be equal to kernel_size %s, but "
        "got weight of size %s",
        s->dims + 2, dp_shape_text(want, g->kernel, g->n_kernel),
        dp_shape_text(have, w.sizes, (size_t)w.ndim));
}

/* Run the operator on an input without a batch: add a batch dimension of size 1, and remove it from
 * the result. */
static int run_unbatched(dp_ctx *ctx, const slow *s, const given *g, dp_tensor **out)
{
    dp_tensor *batch = NULL, *made = NULL, *result = NULL;
    int rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", g->input, (int64_t)0, &batch);

    if (rc == 0)
        rc = conv_run(ctx, &(conv_args){batch, g->weight, g->bias, g->lists, s->transposed, 1},
                      s->by, &made);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::squeeze.dim", "Ti>T", made, (int64_t)0, &result);
    if (rc == 0 && *out != NULL) {
        DP_VIEW(y, result);
        rc = dp_set_output(ctx, out, y.ndim, y.sizes, NULL, y.dtype, y.device);
        if (rc == 0)
            rc = dp_copy(ctx, *out, result);
    } else if (rc == 0) {
        *out = dp_tensor_ref(result);
    }
    dp_tensor_unref(batch);
    dp_tensor_unref(made);
    dp_tensor_unref(result);
    return rc;
}

static int run(dp_ctx *ctx, const slow *s, const given *g, dp_tensor **out)
{
    int rc = check_kernel(ctx, s, g);
    char text[DP_SHAPE_TEXT];
    DP_VIEW(x, g->input);

    if (rc < 0)
        return rc;
    if (s->transposed && x.numel == 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "non-empty input tensor expected but got a tensor with size %s",
                       dp_shape_text(text, x.sizes, (size_t)x.ndim));
    if (s->unbatched && x.ndim == s->dims + 1)
        return run_unbatched(ctx, s, g, out);
    return conv_run(ctx, &(conv_args){g->input, g->weight, g->bias, g->lists, s->transposed, 1},
                    s->by, out);
}

#define FIRST                                                                                      \
    dp_ctx *ctx, dp_tensor *self, dp_tensor *weight, const int64_t *kernel, size_t n_kernel,       \
        dp_tensor *bias, const int64_t *stride, size_t n_stride, const int64_t *padding,           \
        size_t n_padding
#define OUTER    , const int64_t *outer, size_t n_outer
#define DILATION , const int64_t *dilation, size_t n_dilation
#define GIVEN(dilation, outer, n_dilation, n_outer)                                                \
    {                                                                                              \
        self, weight, bias, kernel, n_kernel,                                                      \
        {                                                                                          \
            stride, padding, dilation, outer, n_stride, n_padding, n_dilation, n_outer             \
        }                                                                                          \
    }

/* Define the functional variant of an operator; SLOW_OUT() defines the out= variant. */
#define SLOW(name, params, which, ...)                                                             \
    static int name(FIRST params, dp_tensor **out)                                                 \
    {                                                                                              \
        const given g = GIVEN(__VA_ARGS__);                                                        \
        *out = NULL;                                                                               \
        return run(ctx, &which, &g, out);                                                          \
    }
#define SLOW_OUT(name, params, which, ...)                                                         \
    static int name(FIRST params, dp_tensor *out)                                                  \
    {                                                                                              \
        const given g = GIVEN(__VA_ARGS__);                                                        \
        return run(ctx, &which, &g, &out);                                                         \
    }

/* aten::_slow_conv2d_forward(Tensor self, Tensor weight, int[2] kernel_size, Tensor? bias,
 *     int[2] stride, int[2] padding) -> Tensor
 * aten::slow_conv3d_forward: the same with int[3] */
SLOW(forward2, , conv2, &one, &zero, 1, 1)
SLOW_OUT(forward2_out, , conv2, &one, &zero, 1, 1)
SLOW(forward3, , conv3, &one, &zero, 1, 1)
SLOW_OUT(forward3_out, , conv3, &one, &zero, 1, 1)
/* aten::slow_conv_dilated2d(..., int[2] stride=1, int[2] padding=0, int[2] dilation=1) -> Tensor */
SLOW(dilated2d, DILATION, dilated2, dilation, &zero, n_dilation, 1)
SLOW(dilated3d, DILATION, dilated3, dilation, &zero, n_dilation, 1)
/* aten::slow_conv_transpose2d(..., int[2] stride=1, int[2] padding=0, int[2] output_padding=0,
 *     int[2] dilation=1) -> Tensor */
SLOW(transpose2d, OUTER DILATION, transpose2, dilation, outer, n_dilation, n_outer)
SLOW_OUT(transpose2d_out, OUTER DILATION, transpose2, dilation, outer, n_dilation, n_outer)
SLOW(transpose3d, OUTER DILATION, transpose3, dilation, outer, n_dilation, n_outer)
SLOW_OUT(transpose3d_out, OUTER DILATION, transpose3, dilation, outer, n_dilation, n_outer)

/* aten::_slow_conv2d_backward.output_mask(Tensor grad_output, Tensor self, Tensor weight,
 *     int[2] kernel_size, int[2] stride, int[2] padding, bool[3] output_mask) -> (Tensor
 *     grad_input, Tensor grad_weight, Tensor grad_bias) */
static int backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *weight,
                    const int64_t *kernel, size_t n_kernel, const int64_t *stride, size_t n_stride,
                    const int64_t *padding, size_t n_padding, const bool *mask, size_t n_mask,
                    dp_tensor **of_input, dp_tensor **of_weight, dp_tensor **of_bias)
{
    const given g = {self,   weight,   NULL,
                     kernel, n_kernel, {stride, padding, &one, &zero, n_stride, n_padding, 1, 1}};
    int rc = check_kernel(ctx, &conv2, &g);

    return rc < 0 ? rc
                  : dp_invoke(ctx, "aten::convolution_backward_overrideable",
                              "TTTlililiblii"
                              "lb>TTT",
                              grad, self, weight, stride, n_stride, padding, n_padding, &one,
                              (size_t)1, 0, &zero, (size_t)1, (int64_t)1, mask, n_mask, of_input,
                              of_weight, of_bias);
}

/* aten::_slow_conv2d_backward.grad_input(..., *, Tensor(a!) grad_input, Tensor(b!) grad_weight,
 *     Tensor(c!) grad_bias) -> (Tensor(a!), Tensor(b!), Tensor(c!)) */
static int backward_out(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *weight,
                        const int64_t *kernel, size_t n_kernel, const int64_t *stride,
                        size_t n_stride, const int64_t *padding, size_t n_padding,
                        dp_tensor *of_input, dp_tensor *of_weight, dp_tensor *of_bias)
{
    static const bool all[] = {true, true, true};
    dp_tensor *made[3] = {0}, *out[] = {of_input, of_weight, of_bias};
    int rc = backward(ctx, grad, self, weight, kernel, n_kernel, stride, n_stride, padding,
                      n_padding, all, 3, &made[0], &made[1], &made[2]);

    for (int i = 0; rc == 0 && i < 3; i++) {
        DP_VIEW(y, made[i]);
        rc = dp_set_output(ctx, &out[i], y.ndim, y.sizes, NULL, y.dtype, y.device);
        if (rc == 0)
            rc = dp_copy(ctx, out[i], made[i]);
    }
    for (int i = 0; i < 3; i++)
        dp_tensor_unref(made[i]);
    return rc;
}

DP_LIBRARY_META(
    aten, CPU, DP_IMPL_UNBOXED("_slow_conv2d_forward", forward2, (T, T, li, oT, li, li), (T)),
    DP_IMPL_UNBOXED("_slow_conv2d_forward.output", forward2_out, (T, T, li, oT, li, li, T), ()),
    DP_IMPL_UNBOXED("slow_conv3d_forward", forward3, (T, T, li, oT, li, li), (T)),
    DP_IMPL_UNBOXED("slow_conv3d_forward.output", forward3_out, (T, T, li, oT, li, li, T), ()),
    DP_IMPL_UNBOXED("slow_conv_dilated2d", dilated2d, (T, T, li, oT, li, li, li), (T)),
    DP_IMPL_UNBOXED("slow_conv_dilated3d", dilated3d, (T, T, li, oT, li, li, li), (T)),
    DP_IMPL_UNBOXED("slow_conv_transpose2d", transpose2d, (T, T, li, oT, li, li, li, li), (T)),
    DP_IMPL_UNBOXED("slow_conv_transpose2d.out", transpose2d_out, (T, T, li, oT, li, li, li, li, T),
                    ()),
    DP_IMPL_UNBOXED("slow_conv_transpose3d", transpose3d, (T, T, li, oT, li, li, li, li), (T)),
    DP_IMPL_UNBOXED("slow_conv_transpose3d.out", transpose3d_out, (T, T, li, oT, li, li, li, li, T),
                    ()),
    DP_IMPL_UNBOXED("_slow_conv2d_backward.output_mask", backward, (T, T, T, li, li, li, lb),
                    (T, T, T)),
    DP_IMPL_UNBOXED("_slow_conv2d_backward.grad_input", backward_out,
                    (T, T, T, li, li, li, T, T, T), ()))
