/* convolution_double_backward.c -- _convolution_double_backward, the gradient of a convolution's
 * gradients (aten/src/ATen/native/Convolution.cpp). */
#include "core/chain.h"

typedef struct settings {
    const int64_t *stride, *padding, *dilation, *output_padding;
    size_t n_stride, n_padding, n_dilation, n_output_padding;
    bool transposed;
    int64_t groups;
} settings;

static dp_tensor *convolve(chain *c, const settings *s, dp_tensor *input, dp_tensor *weight)
{
    return CHAIN(c, "aten::convolution", "TToTlililiblii>T", input, weight, NULL, s->stride,
                 s->n_stride, s->padding, s->n_padding, s->dilation, s->n_dilation,
                 (int)s->transposed, s->output_padding, s->n_output_padding, s->groups);
}

/* Return the gradient by the input if `i` is 0, by the weight if it is 1. */
static dp_tensor *gradient(chain *c, const settings *s, dp_tensor *grad, dp_tensor *input,
                           dp_tensor *weight, int i)
{
    const bool mask[] = {i == 0, i == 1, false};
    dp_tensor *made[3] = {0};

    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, "aten::convolution_backward",
                          "TTTolilililiblii"
                          "lb>TTT",
                          grad, input, weight, NULL, (size_t)0, s->stride, s->n_stride, s->padding,
                          s->n_padding, s->dilation, s->n_dilation, (int)s->transposed,
                          s->output_padding, s->n_output_padding, s->groups, mask, (size_t)3,
                          &made[0], &made[1], &made[2]);
    return c->rc < 0 ? NULL : chain_keep(c, made[i]);
}

/* Return the bias expanded to the sizes of the output. */
static dp_tensor *as_output(chain *c, dp_tensor *bias, dp_tensor *output)
{
    DP_VIEW(b, bias);
    DP_VIEW(y, output);
    int64_t sizes[DP_DIM_MAX];

    for (int i = 0; i < y.ndim; i++)
        sizes[i] = i == 1 ? b.numel : 1;
    dp_tensor *seen = CHAIN(c, "aten::reshape", "Tli>T", bias, sizes, (size_t)y.ndim);
    return CHAIN(c, "aten::expand", "Tli>T", seen, y.sizes, (size_t)y.ndim);
}

/* aten::_convolution_double_backward(Tensor? ggI, Tensor? ggW, Tensor? ggb, Tensor gO, Tensor
 *     weight, Tensor self, int[] stride, int[] padding, int[] dilation, bool transposed, int[]
 *     output_padding, int groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
 * The results are the gradients by gO, self and weight; a gradient that depends on no given
 * argument is None. */
static int double_backward(dp_ctx *ctx, dp_tensor *ggi, dp_tensor *ggw, dp_tensor *ggb,
                           dp_tensor *go, dp_tensor *weight, dp_tensor *self, const int64_t *stride,
                           size_t n_stride, const int64_t *padding, size_t n_padding,
                           const int64_t *dilation, size_t n_dilation, bool transposed,
                           const int64_t *output_padding, size_t n_output_padding, int64_t groups,
                           const bool *mask, size_t n_mask, dp_tensor **ggo, dp_tensor **gi,
                           dp_tensor **gw)
{
    const settings s = {stride,    padding,    dilation,         output_padding, n_stride,
                        n_padding, n_dilation, n_output_padding, transposed,     groups};
    chain c = {.ctx = ctx};
    dp_tensor *sum = NULL, *part, *by_input = NULL, *by_weight = NULL;
    DP_VIEW(x, self);
    bool some = x.numel != 0;

    (void)mask, (void)n_mask; /* as in PyTorch, the mask is ignored */
    if (ggi && some)
        sum = convolve(&c, &s, ggi, weight);
    if (ggw && some) {
        part = convolve(&c, &s, self, ggw);
        sum = sum ? chain_TT(&c, "aten::add.Tensor", sum, part) : part;
        by_input = gradient(&c, &s, go, self, ggw, 0);
    }
    if (ggb) {
        part = as_output(&c, ggb, go);
        sum = sum ? chain_TT(&c, "aten::add.Tensor", sum, part) : part;
    }
    if (ggi && some) { /* use PyTorch's order of dimensions in memory */
        part = CHAIN(&c, "aten::transpose.int", "Tii>T", gradient(&c, &s, go, ggi, weight, 1),
                     (int64_t)0, (int64_t)1);
        part = CHAIN(&c, "aten::contiguous", "T>T", part);
        by_weight = CHAIN(&c, "aten::transpose.int", "Tii>T", part, (int64_t)0, (int64_t)1);
    }
    if (c.rc == 0) {
        *ggo = sum ? dp_tensor_ref(sum) : NULL;
        *gi = by_input ? dp_tensor_ref(by_input) : NULL;
        *gw = by_weight ? dp_tensor_ref(by_weight) : NULL;
    }
    return chain_end(&c, NULL, NULL);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("_convolution_double_backward", double_backward,
                                (oT, oT, oT, T, T, T, li, li, li, b, li, i, lb), (T, T, T)))
