/* conv_tbc.c -- conv_tbc, a convolution over time of a tensor [time, batch, channels], and its
 * gradient (aten/src/ATen/native/ConvolutionTBC.cpp).
 *
 * Operators: conv_tbc, conv_tbc_backward. */
#include "core/chain.h"

/* -- conv_tbc: for each element of the kernel, a product of a part of the input with a part of the
 * output -- */

/* The time steps that element `k` of the kernel connects: `n` steps, from step `in` of the input
 * and step `out` of the output on. */
typedef struct slab {
    int64_t in, out, n;
} slab;

/* operands of a convolution; times and channels are sizes of the dimensions T, C and O */
typedef struct tbc {
    dp_tensor *input, *weight; /* [T, B, C], [K, C, O] */
    int64_t in_time, out_time, batch, in_channels, out_channels, kernel, pad;
} tbc;

static slab find_slab(const tbc *t, int64_t k)
{
    slab s = {k > t->pad ? k - t->pad : 0, t->pad > k ? t->pad - k : 0, 0};
    int64_t end = t->in_time + t->pad - k;

    s.n = (end < t->out_time ? end : t->out_time) - s.out;
    return s;
}

static int check_tbc(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias, int64_t pad,
                     tbc *t)
{
    DP_VIEW(x, input);
    DP_VIEW(w, weight);
    DP_VIEW(b, bias);

    if (x.ndim != 3)
        return dp_fail(ctx, DP_ERUNTIME, "Input must have 3 dims: time, batch, in_channel");
    if (w.ndim != 3)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.");
    if (b.ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME, "Bias must be 1-D");
    if (x.sizes[2] != w.sizes[1])
        return dp_fail(ctx, DP_ERUNTIME,
                       "Input dim 2 (input channels) is not == dim 1 in the weight tensor: %" PRId64
                       " and %" PRId64,
                       x.sizes[2], w.sizes[1]);
    if (b.sizes[0] != w.sizes[2])
        return dp_fail(ctx, DP_ERUNTIME,
                       "Bias size must equal dim 2 in the weight tensor (output channels): %" PRId64
                       " and %" PRId64,
                       b.sizes[0], w.sizes[2]);
    *t = (tbc){input, weight, x.sizes[0], 0, x.sizes[1], x.sizes[2], w.sizes[2], w.sizes[0], pad};
    if (__builtin_mul_overflow(pad, 2, &t->out_time) ||
        __builtin_add_overflow(t->out_time, x.sizes[0] - w.sizes[0] + 1, &t->out_time))
        return dp_fail(ctx, DP_ERUNTIME, "padding %" PRId64 " is too large", pad);
    if (t->out_time < 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Trying to create tensor with negative dimension %" PRId64 ": [%" PRId64
                       ", %" PRId64 ", %" PRId64 "]",
                       t->out_time, t->out_time, x.sizes[1], w.sizes[2]);
    return 0;
}

/* Return a view of `n` time steps as a matrix, from step `at` on, to which results are written. */
static dp_tensor *rows(chain *c, const char *view, dp_tensor *t, int64_t at, int64_t n,
                       int64_t batch, int64_t channels)
{
    int64_t sizes[] = {n * batch, channels};
    dp_tensor *part = CHAIN(c, "aten::narrow", "Tiii>T", t, (int64_t)0, at, n);
    return CHAIN(c, view, "Tli>T", part, sizes, (size_t)2);
}

static int add_product(chain *c, dp_tensor *to, dp_tensor *a, dp_tensor *b)
{
    int rc = c->rc < 0 ? c->rc : dp_invoke(c->ctx, "aten::addmm_", "TTT>", to, a, b);
    int ended = chain_end(c, NULL, NULL);
    return rc < 0 ? rc : ended;
}

/* aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor */
static int conv_tbc(dp_ctx *ctx, dp_tensor *self, dp_tensor *weight, dp_tensor *bias, int64_t pad,
                    dp_tensor **out)
{
    dp_tensor *y = NULL;
    tbc t;
    int rc = check_tbc(ctx, self, weight, bias, pad, &t);
    DP_VIEW(x, self);
    int64_t sizes[] = {rc < 0 ? 0 : t.out_time, rc < 0 ? 0 : t.batch, rc < 0 ? 0 : t.out_channels};

    if (rc == 0)
        rc = call_empty(ctx, x.dtype, x.device, 3, sizes, &y);
    if (rc == 0)
        rc = dp_copy(ctx, y, bias);
    for (int64_t k = 0; rc == 0 && k < t.kernel; k++) {
        chain c = {.ctx = ctx};
        slab s = find_slab(&t, k);
        if (s.n <= 0)
            continue;
        dp_tensor *to = rows(&c, "aten::view", y, s.out, s.n, t.batch, t.out_channels);
        dp_tensor *a = rows(&c, "aten::reshape", self, s.in, s.n, t.batch, t.in_channels);
        rc = add_product(&c, to, a, CHAIN(&c, "aten::select.int", "Tii>T", weight, (int64_t)0, k));
    }
    if (rc < 0)
        dp_tensor_unref(y);
    else
        *out = y;
    return rc;
}

/* Add the share of element `k` of the kernel to both gradients. */
static int add_grads(dp_ctx *ctx, const tbc *t, dp_tensor *grad, int64_t k, dp_tensor *of_input,
                     dp_tensor *of_weight)
{
    slab s = find_slab(t, k);
    chain c = {.ctx = ctx}, d = {.ctx = ctx};

    if (s.n <= 0)
        return 0;
    dp_tensor *g = rows(&c, "aten::reshape", grad, s.out, s.n, t->batch, t->out_channels);
    dp_tensor *to = rows(&c, "aten::view", of_input, s.in, s.n, t->batch, t->in_channels);
    dp_tensor *w = CHAIN(&c, "aten::select.int", "Tii>T", t->weight, (int64_t)0, k);
    int rc = add_product(&c, to, g, chain_T(&c, "aten::t", w));
    if (rc < 0)
        return rc;
    g = rows(&d, "aten::reshape", grad, s.out, s.n, t->batch, t->out_channels);
    dp_tensor *x = rows(&d, "aten::reshape", t->input, s.in, s.n, t->batch, t->in_channels);
    to = CHAIN(&d, "aten::select.int", "Tii>T", of_weight, (int64_t)0, k);
    return add_product(&d, to, chain_T(&d, "aten::t", x), g);
}

/* aten::conv_tbc_backward(Tensor self, Tensor input, Tensor weight, Tensor bias, int pad)
 *     -> (Tensor, Tensor, Tensor)
 * self is the gradient of the output */
static int conv_tbc_backward(dp_ctx *ctx, dp_tensor *self, dp_tensor *input, dp_tensor *weight,
                             dp_tensor *bias, int64_t pad, dp_tensor **of_input,
                             dp_tensor **of_weight, dp_tensor **of_bias)
{
    static const int64_t outer[] = {0, 1};
    dp_tensor *made[3] = {0};
    char got[DP_SHAPE_TEXT];
    tbc t;
    int rc = check_tbc(ctx, input, weight, bias, pad, &t);
    DP_VIEW(g, self);

    if (rc == 0 && (g.ndim != 3 || g.sizes[0] != t.out_time || g.sizes[1] != t.batch ||
                    g.sizes[2] != t.out_channels))
        rc = dp_fail(
            ctx, DP_ERUNTIME,
            "expected a gradient of shape [%" PRId64 ", %" PRId64 ", %" PRId64 "] but got %s",
            t.out_time, t.batch, t.out_channels, dp_shape_text(got, g.sizes, (size_t)g.ndim));
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::zeros_like", "T>T", input, &made[0]);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::zeros_like", "T>T", weight, &made[1]);
    for (int64_t k = 0; rc == 0 && k < t.kernel; k++)
        rc = add_grads(ctx, &t, self, k, made[0], made[1]);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::sum.dim_IntList", "Toli>T", self, outer, (size_t)2, &made[2]);
    for (int i = 0; rc < 0 && i < 3; i++)
        made[i] = dp_tensor_unref(made[i]);
    *of_input = made[0], *of_weight = made[1], *of_bias = made[2];
    return rc;
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("conv_tbc", conv_tbc, (T, T, T, i), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("conv_tbc_backward", conv_tbc_backward, (T, T, T, T, i), (T, T, T)))
