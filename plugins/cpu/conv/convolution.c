/* convolution.c -- convolutions and their gradients: which of PyTorch's kernels would run, the
 * dtypes and layouts that this kernel takes, and the shapes and strides of its results
 * (aten/src/ATen/native/Convolution.cpp).
 *
 * aten::convolution is a composite.  It calls convolution_overrideable, which backends
 * implement.
 *
 * Operators: convolution_backward_overrideable, convolution_overrideable. */
#include "conv_ops.h"
#include "core/dense.h"
#include "core/elements.h"
#include <string.h>

/* dtypes that PyTorch's kernels take */
enum { WIDE = DP_DTYPE_BITS(DP_DTYPES_FLOATING) };

static bool is_dilated(const conv_shape *s)
{
    return s->dilation[0] != 1 || s->dilation[1] != 1 || s->dilation[2] != 1;
}

static conv_served serve(const conv_plan *p)
{
    bool deep = p->dims == 3;

    if (p->transposed)
        return (conv_served){deep ? "slow_conv_transpose3d_out_cpu"
                                  : "slow_conv_transpose2d_out_cpu",
                             WIDE | DENSE_BIT(DP_INT64)};
    if (is_dilated(&p->s))
        return (conv_served){"slow_conv_dilated<>", DENSE_FLOATS | DENSE_BIT(DP_INT64)};
    return (conv_served){deep ? "compute_columns3d" : "slow_conv2d_cpu", DENSE_NUMBERS};
}

static conv_served serve_grad(const conv_plan *p, bool input)
{
    bool deep = p->dims == 3;

    if (p->transposed)
        return (conv_served){deep ? "slow_conv_transpose3d_backward_out_cpu"
                                  : "slow_conv_transpose2d_backward_out_cpu",
                             WIDE};
    if (is_dilated(&p->s))
        return serve(p);
    if (input)
        return (conv_served){deep ? "slow_conv3d_cpu_grad_input" : "slow_conv2d_cpu_grad_input",
                             DENSE_FLOATS};
    return (conv_served){deep ? "slow_conv3d_cpu_grad_weight" : "slow_conv2d_cpu_grad_weight",
                         DENSE_FLOATS};
}

/* Set *last to whether a 3-d weight, viewed as 4-d with height 1, is channels_last. */
static int suggests_last(dp_ctx *ctx, dp_tensor *weight, bool *last)
{
    dp_tensor *seen = NULL;
    DP_VIEW(w, weight);
    int64_t sizes[] = {w.sizes[0], w.sizes[1], 1, w.sizes[2]};
    int64_t strides[] = {w.strides[0], w.strides[1], w.sizes[2] * w.strides[2], w.strides[2]};
    int rc = dp_as_strided(ctx, weight, 4, sizes, strides, dp_tensor_offset(weight), &seen);

    if (rc == 0)
        *last = dp_tensor_suggest_format(seen) == DP_CHANNELS_LAST;
    dp_tensor_unref(seen);
    return rc;
}

/* Set *last to whether the result is channels_last: in 2-d if input or weight is, in 1-d if the
 * weight is (suggests_last), never in 3-d or if transposed. */
static int find_last(dp_ctx *ctx, const conv_plan *p, dp_tensor *input, dp_tensor *weight,
                     bool *last)
{
    *last = false;
    if (p->empty || p->transposed || p->dims == 3)
        return 0;
    if (p->dims == 1)
        return suggests_last(ctx, weight, last);
    *last = dp_tensor_suggest_format(input) == DP_CHANNELS_LAST ||
            dp_tensor_suggest_format(weight) == DP_CHANNELS_LAST;
    return 0;
}

static int make_result(dp_ctx *ctx, dp_dtype dtype, dp_device device, int ndim,
                       const int64_t *sizes, bool last, dp_tensor **out)
{
    if (!last || ndim == 4)
        return dp_empty(ctx, dtype, device, ndim, sizes, last ? DP_CHANNELS_LAST : DP_CONTIGUOUS,
                        out);
    int64_t strides[] = {sizes[1] * sizes[2], 1, sizes[1]};
    return dp_empty_strided(ctx, dtype, device, ndim, sizes, strides, out);
}

/* Set *data to the contiguous elements of `bias`, or NULL; *copy, owned, is a contiguous copy or
 * NULL. */
static int bias_data(dp_ctx *ctx, dp_tensor *bias, dp_tensor **copy, const void **data)
{
    *copy = NULL;
    *data = NULL;
    if (bias == NULL)
        return 0;
    if (!dp_tensor_is_contiguous(bias, DP_CONTIGUOUS)) {
        int rc = dp_empty_like(ctx, bias, DP_DTYPE_NONE, DP_CONTIGUOUS, copy);
        if (rc < 0 || (rc = dp_copy(ctx, *copy, bias)) < 0)
            return rc;
        bias = *copy;
    }
    DP_VIEW(b, bias);
    *data = b.data;
    return 0;
}

static int compute(dp_ctx *ctx, const conv_plan *p, dp_tensor *input, dp_tensor *weight,
                   dp_tensor *bias, dp_tensor *out)
{
    conv_side x = conv_side_of(input), w = conv_side_of(weight), y = conv_side_of(out);
    dp_tensor *copy;
    const void *b;
    int rc = bias_data(ctx, bias, &copy, &b);

    if (rc == 0 && p->transposed)
        rc = conv_input(ctx, p->dtype, &p->s, &x, &w, b, true, &y);
    else if (rc == 0)
        rc = conv_forward(ctx, p->dtype, &p->s, &x, &w, b, &y);
    dp_tensor_unref(copy);
    return rc;
}

static int make_output(dp_ctx *ctx, const conv_args *a, const conv_plan *p, dp_tensor **out)
{
    dp_tensor *both[] = {a->input, a->weight};
    dp_dtype dtype = p->empty ? dp_result_type(both, 2) : p->dtype;
    bool last = false;
    DP_VIEW(x, a->input);

    int rc = find_last(ctx, p, a->input, a->weight, &last);
    if (rc == 0 && *out != NULL) {
        rc = dp_set_output(ctx, out, x.ndim, p->sizes, NULL, dtype, x.device);
        return rc < 0 || !last ? rc : dp_resize(ctx, *out, x.ndim, p->sizes, DP_CHANNELS_LAST);
    }
    return rc < 0 ? rc : make_result(ctx, dtype, x.device, x.ndim, p->sizes, last, out);
}

int conv_run(dp_ctx *ctx, const conv_args *a, conv_served by, dp_tensor **out)
{
    dp_tensor *inputs[] = {a->input, a->weight, a->bias}, *y = *out;
    conv_plan p;
    int rc = conv_check(ctx, a->input, a->weight, a->bias, &a->lists, a->transposed, a->groups, &p);

    if (rc < 0)
        return rc;
    bool named = by.name != NULL;
    if (!named)
        by = serve(&p);
    if (named || !p.empty)
        rc = dense_check_type(ctx, by.name, p.dtype, by.types);
    if (rc == 0)
        rc = make_output(ctx, a, &p, &y);
    if (rc == 0 && *out != NULL)
        rc = check_apart(ctx, y, inputs, a->bias ? 3 : 2);
    if (rc == 0 && !p.empty && !dp_memoryless(ctx))
        rc = compute(ctx, &p, a->input, a->weight, a->bias, y);
    if (*out == NULL && rc < 0)
        dp_tensor_unref(y);
    else
        *out = y;
    return rc;
}

/* aten::convolution_overrideable(Tensor input, Tensor weight, Tensor? bias, int[] stride,
 *     int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups) -> Tensor
 * input [N, C, ...], weight [O, C / groups, ...], bias [O]; transposed: weight [C, O / groups,
 * ...]. */
static int convolution(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias,
                       const int64_t *stride, size_t n_stride, const int64_t *padding,
                       size_t n_padding, const int64_t *dilation, size_t n_dilation,
                       bool transposed, const int64_t *output_padding, size_t n_output_padding,
                       int64_t groups, dp_tensor **out)
{
    const conv_args a = {input,
                         weight,
                         bias,
                         {stride, padding, dilation, output_padding, n_stride, n_padding,
                          n_dilation, n_output_padding},
                         transposed,
                         groups};
    *out = NULL;
    return conv_run(ctx, &a, (conv_served){0}, out);
}

/* -- gradients -- */

/* Make the gradient of the input if `of_input`, else the gradient of the weight. */
static int make_grad(dp_ctx *ctx, const conv_plan *p, dp_tensor *input, dp_tensor *weight,
                     bool of_input, dp_tensor **out)
{
    bool last = false;
    conv_served by = serve_grad(p, of_input);
    int rc = dense_check_type(ctx, by.name, p->dtype, by.types);
    DP_VIEW(v, of_input ? input : weight);

    if (rc == 0)
        rc = find_last(ctx, p, input, weight, &last);
    return rc < 0 ? rc : make_result(ctx, v.dtype, v.device, v.ndim, v.sizes, last, out);
}

static int grad_input(dp_ctx *ctx, const conv_plan *p, dp_tensor *grad, dp_tensor *input,
                      dp_tensor *weight, dp_tensor **out)
{
    int rc = make_grad(ctx, p, input, weight, true, out);

    if (rc < 0 || dp_memoryless(ctx))
        return rc;
    conv_side g = conv_side_of(grad), w = conv_side_of(weight), x = conv_side_of(*out);
    return p->transposed ? conv_forward(ctx, p->dtype, &p->s, &g, &w, NULL, &x)
                         : conv_input(ctx, p->dtype, &p->s, &g, &w, NULL, false, &x);
}

static int grad_weight(dp_ctx *ctx, const conv_plan *p, dp_tensor *grad, dp_tensor *input,
                       dp_tensor *weight, dp_tensor **out)
{
    int rc = make_grad(ctx, p, input, weight, false, out);

    if (rc < 0 || dp_memoryless(ctx))
        return rc;
    conv_side g = conv_side_of(grad), x = conv_side_of(input), w = conv_side_of(*out);
    return p->transposed ? conv_weight(ctx, p->dtype, &p->s, &g, &x, &w)
                         : conv_weight(ctx, p->dtype, &p->s, &x, &g, &w);
}

/* Sum `grad` over all dimensions except channels; *out owned. */
static int grad_bias(dp_ctx *ctx, dp_tensor *grad, dp_tensor **out)
{
    static const int64_t dims[] = {0, 2, 3, 4};
    DP_VIEW(g, grad);
    int64_t dtype = g.dtype;

    return dp_invoke(ctx, "aten::sum.dim_IntList", "Toliboi>T", grad, dims, (size_t)g.ndim - 1, 0,
                     &dtype, out);
}

/* Make gradients of zeros, for a convolution without samples or channels. */
static int no_grads(dp_ctx *ctx, dp_tensor *grad, dp_tensor *input, dp_tensor *weight,
                    const bool *mask, dp_tensor **grads)
{
    DP_VIEW(g, grad);
    int rc = mask[0] ? dp_invoke(ctx, "aten::zeros_like", "T>T", input, &grads[0]) : 0;

    if (rc == 0 && mask[1])
        rc = dp_invoke(ctx, "aten::zeros_like", "T>T", weight, &grads[1]);
    if (rc == 0 && mask[2])
        rc = dp_invoke(ctx, "aten::new_zeros", "Tli>T", weight, &g.sizes[1], (size_t)1, &grads[2]);
    return rc;
}

/* aten::convolution_backward_overrideable(Tensor grad_output, Tensor input, Tensor weight,
 *     int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int
 *     groups, bool[3] output_mask) -> (Tensor grad_input, Tensor grad_weight, Tensor grad_bias)
 * A gradient whose mask is false is None. */
static int convolution_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *input, dp_tensor *weight,
                                const int64_t *stride, size_t n_stride, const int64_t *padding,
                                size_t n_padding, const int64_t *dilation, size_t n_dilation,
                                bool transposed, const int64_t *output_padding,
                                size_t n_output_padding, int64_t groups, const bool *mask,
                                size_t n_mask, dp_tensor **of_input, dp_tensor **of_weight,
                                dp_tensor **of_bias)
{
    const conv_lists lists = {stride,   padding,   dilation,   output_padding,
                              n_stride, n_padding, n_dilation, n_output_padding};
    dp_tensor *grads[3] = {0};
    conv_plan p;
    int rc = conv_check(ctx, input, weight, NULL, &lists, transposed, groups, &p);

    conv_served by = serve_grad(&p, false);

    (void)n_mask; /* the length 3 is fixed by the schema */
    if (rc == 0)
        rc = conv_check_grad(ctx, grad, &p);
    if (rc == 0 && p.empty)
        rc = no_grads(ctx, grad, input, weight, mask, grads);
    if (rc == 0 && mask[0] && !p.empty)
        rc = grad_input(ctx, &p, grad, input, weight, &grads[0]);
    if (rc == 0 && mask[1] && !p.empty)
        rc = grad_weight(ctx, &p, grad, input, weight, &grads[1]);
    if (rc == 0 && mask[2] && !p.empty && transposed)
        rc = dense_check_type(ctx, by.name, p.dtype, by.types);
    if (rc == 0 && mask[2] && !p.empty)
        rc = grad_bias(ctx, grad, &grads[2]);
    for (int i = 0; rc < 0 && i < 3; i++)
        grads[i] = dp_tensor_unref(grads[i]);
    *of_input = grads[0], *of_weight = grads[1], *of_bias = grads[2];
    return rc;
}

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("convolution_overrideable", convolution,
                                (T, T, oT, li, li, li, b, li, i), (T)),
                DP_IMPL_UNBOXED("convolution_backward_overrideable", convolution_backward,
                                (T, T, T, li, li, li, b, li, i, lb), (T, T, T)))
