/* activation.c -- activations and gradients of activations, computed with other operators as in
 * PyTorch (aten/src/ATen/native/Activation.cpp).  core/variants.c derives their in-place and out=
 * variants.
 *
 * Operators: celu, infinitely_differentiable_gelu_backward, log_sigmoid, mish_backward,
 * prelu_backward, relu6, selu, silu_backward. */
#include "core/chain.h"
#include <dispatchd/check.h>

/* -- gradients -- */

static int check_prelu(dp_ctx *ctx, const dp_view *g, const dp_view *x, const dp_view *w)
{
    int64_t channels = x->ndim > 1 ? x->sizes[1] : 1;

    if (x->dtype != DP_FLOAT32 && x->dtype != DP_FLOAT64 && x->dtype != DP_BFLOAT16)
        return dp_refuse_dtype(ctx, "prelu_backward_cpu", x->dtype);
    if (g->dtype != x->dtype || (w->dtype != x->dtype && x->dtype != DP_BFLOAT16))
        return dp_fail(ctx, DP_ERUNTIME, "Found dtype %s but expected %s",
                       dp_dtype_aten_name(g->dtype != x->dtype ? g->dtype : w->dtype),
                       dp_dtype_aten_name(x->dtype));
    if (w->ndim > 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "prelu: expected a weight of at most 1 dimension but got %d", w->ndim);
    if (w->numel != 1 && w->numel != channels)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Mismatch of parameter numbers and input channel size. Found parameter "
                       "numbers = %" PRId64 " and channel size = %" PRId64 ".",
                       w->numel, channels);
    return 0;
}

/* Return the sum over all dimensions except that of channels, or over all if the weight is one
 * number, in the shape of the weight. */
static dp_tensor *sum_channels(chain *c, dp_tensor *t, const dp_view *w)
{
    int64_t dims[DP_DIM_MAX];
    size_t n = 0;

    if (c->rc < 0)
        return NULL;
    DP_VIEW(x, t);
    for (int d = 0; d < x.ndim; d++)
        if (d != 1 || w->numel == 1)
            dims[n++] = d;
    t = CHAIN(c, "aten::sum.dim_IntList", "Tolib>T", t, dims, n, (int)false);
    return CHAIN(c, "aten::reshape", "Tli>T", t, w->sizes, (size_t)w->ndim);
}

/* aten::prelu_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor) */
static int prelu_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *weight,
                          dp_tensor **slope, dp_tensor **weight_slope)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(g, grad);
    DP_VIEW(x, self);
    DP_VIEW(v, weight);
    chain c = {.ctx = ctx, .rc = check_prelu(ctx, &g, &x, &v)};

    for (int d = 0; d < x.ndim; d++)
        sizes[d] = d == 1 ? v.numel : 1;
    size_t ndim = v.numel == 1 ? 0 : (size_t)x.ndim;
    dp_tensor *w = CHAIN(&c, "aten::to.dtype", "Ti>T", weight, (int64_t)x.dtype);
    w = CHAIN(&c, "aten::reshape", "Tli>T", w, sizes, ndim);
    dp_tensor *up = chain_Ts(&c, "aten::gt.Scalar", self, dp_int(0));
    dp_tensor *to_self = CHAIN(&c, "aten::where.self", "TTT>T", up, grad, chain_mul(&c, w, grad));
    dp_tensor *to_weight =
        CHAIN(&c, "aten::where.ScalarSelf", "TsT>T", up, dp_int(0), chain_mul(&c, self, grad));
    to_self = CHAIN(&c, "aten::contiguous", "T>T", to_self);
    to_weight = sum_channels(&c, to_weight, &v);
    if (c.rc == 0)
        *weight_slope = dp_tensor_ref(to_weight);
    return chain_end(&c, to_self, slope);
}

/* aten::infinitely_differentiable_gelu_backward(Tensor grad, Tensor self) -> Tensor
 * grad (cdf + self pdf) of a normal distribution */
static int gelu_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    const double scale = M_2_SQRTPI * M_SQRT1_2 * 0.5;
    dp_tensor *erf =
        chain_T(&c, "aten::erf", chain_Ts(&c, "aten::mul.Scalar", self, dp_double(M_SQRT1_2)));
    dp_tensor *cdf = chain_Ts(&c, "aten::mul.Scalar",
                              chain_Ts(&c, "aten::add.Scalar", erf, dp_double(1)), dp_double(0.5));
    dp_tensor *square =
        chain_mul(&c, chain_Ts(&c, "aten::mul.Scalar", self, dp_double(-0.5)), self);
    dp_tensor *pdf = chain_T(&c, "aten::exp", square);
    cdf = CHAIN(&c, "aten::addcmul", "TTTs>T", cdf, self, pdf, dp_double(scale));
    return chain_end(&c, chain_mul(&c, cdf, grad), out);
}

/* -- activations -- */

/* aten::celu(Tensor self, Scalar alpha=1.) -> Tensor */
static int celu(dp_ctx *ctx, dp_tensor *self, dp_value alpha, dp_tensor **out)
{
    if (as_double(alpha) == 0)
        return dp_fail(ctx, DP_ERUNTIME, "ZeroDivisionError: alpha cannot be 0 for CELU");
    return dp_invoke(ctx, "aten::elu", "Tsss>T", self, alpha, dp_double(1),
                     dp_double(1 / as_double(alpha)), out);
}

/* aten::selu(Tensor self) -> Tensor */
static int selu(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::elu", "Tsss>T", self, dp_double(1.6732632423543772848170429916717),
                     dp_double(1.0507009873554804934193349852946), dp_int(1), out);
}

/* aten::relu6(Tensor self) -> Tensor */
static int relu6(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::hardtanh", "Tss>T", self, dp_int(0), dp_int(6), out);
}

/* aten::log_sigmoid(Tensor self) -> Tensor */
static int log_sigmoid(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_tensor *buffer = NULL;
    int rc = dp_invoke(ctx, "aten::log_sigmoid_forward", "T>TT", self, out, &buffer);
    dp_tensor_unref(buffer);
    return rc;
}

/* aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor
 * grad s (1 + self (1 - s)), s being sigmoid(self).  For backends without a kernel
 * (math_silu_backward). */
static int silu_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *s = chain_T(&c, "aten::sigmoid", self);
    dp_tensor *x = chain_Ts(&c, "aten::rsub.Scalar", s, dp_int(1));
    x = chain_Ts(&c, "aten::add.Scalar", chain_TT(&c, "aten::mul.Tensor", self, x), dp_int(1));
    x = chain_TT(&c, "aten::mul.Tensor", s, x);
    return chain_end(&c, chain_TT(&c, "aten::mul.Tensor", grad, x), out);
}

/* aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor
 * grad (t + self sigmoid(self) (1 - t t)), t being tanh(softplus(self)).  For backends without a
 * kernel (math_mish_backward). */
static int mish_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *t = chain_T(&c, "aten::tanh", CHAIN(&c, "aten::softplus", "T>T", self));
    dp_tensor *s = chain_TT(&c, "aten::mul.Tensor", self, chain_T(&c, "aten::sigmoid", self));
    dp_tensor *x =
        chain_Ts(&c, "aten::rsub.Scalar", chain_TT(&c, "aten::mul.Tensor", t, t), dp_int(1));
    x = chain_TT(&c, "aten::add.Tensor", t, chain_TT(&c, "aten::mul.Tensor", s, x));
    return chain_end(&c, chain_TT(&c, "aten::mul.Tensor", grad, x), out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("prelu_backward", prelu_backward, (T, T, T), (T, T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("infinitely_differentiable_gelu_backward", gelu_backward, (T, T),
                                (T)),
                DP_IMPL_UNBOXED("selu", selu, (T), (T)), DP_IMPL_UNBOXED("relu6", relu6, (T), (T)),
                DP_IMPL_UNBOXED("log_sigmoid", log_sigmoid, (T), (T)))
/* In PyTorch, silu_backward and mish_backward are implicit, so a capture of calls decomposes them
 * even where a backend has kernels of its own, whose results differ in the last bits. */
DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("celu", celu, (T, s), (T)),
                DP_IMPL_UNBOXED("silu_backward", silu_backward, (T, T), (T)),
                DP_IMPL_UNBOXED("mish_backward", mish_backward, (T, T), (T)))
