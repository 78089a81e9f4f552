/* fake_quant.c -- fake quantization, which calls the operators that also return a mask, and its
 * gradient (aten/src/ATen/native/quantized/FakeQuantPerTensorAffine.cpp,
 * FakeQuantPerChannelAffine.cpp).
 *
 * Operators: fake_quantize_per_channel_affine,
 * fake_quantize_per_channel_affine_cachemask_backward, fake_quantize_per_tensor_affine,
 * fake_quantize_per_tensor_affine_cachemask_backward. */
#include "core/chain.h"

/* aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min,
 *     int quant_max) -> Tensor */
static int per_tensor(dp_ctx *ctx, dp_tensor *self, double scale, int64_t zero, int64_t min,
                      int64_t max, dp_tensor **out)
{
    dp_tensor *mask = NULL;
    int rc = dp_invoke(ctx, "aten::fake_quantize_per_tensor_affine_cachemask", "Tfiii>TT", self,
                       scale, zero, min, max, out, &mask);

    dp_tensor_unref(mask);
    return rc;
}

/* aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor
 *     zero_point, int quant_min, int quant_max) -> Tensor */
static int by_tensors(dp_ctx *ctx, dp_tensor *self, dp_tensor *scale, dp_tensor *zero, int64_t min,
                      int64_t max, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *mask = NULL, *made = NULL;
    const int64_t dtype = DP_INT64, one = 1;
    dp_tensor *on = CHAIN(&c, "aten::ones", "lioi>T", &one, (size_t)1, &dtype);

    if (c.rc == 0)
        c.rc = dp_invoke(ctx, "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
                         "TTTTii>TT", self, scale, zero, on, min, max, &made, &mask);
    dp_tensor_unref(mask);
    return chain_end(&c, c.rc == 0 ? chain_keep(&c, made) : NULL, out);
}

/* aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis,
 *     int quant_min, int quant_max) -> Tensor */
static int per_channel(dp_ctx *ctx, dp_tensor *self, dp_tensor *scale, dp_tensor *zero,
                       int64_t axis, int64_t min, int64_t max, dp_tensor **out)
{
    dp_tensor *mask = NULL;
    int rc = dp_invoke(ctx, "aten::fake_quantize_per_channel_affine_cachemask", "TTTiii>TT", self,
                       scale, zero, axis, min, max, out, &mask);

    dp_tensor_unref(mask);
    return rc;
}

/* aten::fake_quantize_per_tensor_affine_cachemask_backward(Tensor grad, Tensor mask) -> Tensor
 * The result is grad where mask is true, else 0. */
static int masked(dp_ctx *ctx, dp_tensor *grad, dp_tensor *mask, dp_tensor **out)
{
    DP_VIEW(g, grad);
    DP_VIEW(m, mask);

    if (m.dtype != DP_BOOL)
        return dp_fail(ctx, DP_ERUNTIME, "`mask` should be of bool, but is of %s",
                       dp_dtype_name(m.dtype));
    if (g.numel != m.numel)
        return dp_fail(ctx, DP_ERUNTIME,
                       "`mask` and `dY` are not the same size: `mask` is size %" PRId64
                       " and `dY` is size %" PRId64,
                       m.numel, g.numel);
    if (g.numel > 0)
        return dp_invoke(ctx, "aten::mul.Tensor", "TT>T", grad, mask, out);
    *out = dp_tensor_ref(grad);
    return 0;
}
static int masked_channels(dp_ctx *ctx, dp_tensor *grad, dp_tensor *mask, dp_tensor **out)
{
    return masked(ctx, grad, mask, out);
}

DP_LIBRARY_META(
    aten, CompositeImplicitAutograd,
    DP_IMPL_UNBOXED("fake_quantize_per_tensor_affine", per_tensor, (T, f, i, i, i), (T)),
    DP_IMPL_UNBOXED("fake_quantize_per_tensor_affine.tensor_qparams", by_tensors, (T, T, T, i, i),
                    (T)),
    DP_IMPL_UNBOXED("fake_quantize_per_channel_affine", per_channel, (T, T, T, i, i, i), (T)),
    DP_IMPL_UNBOXED("fake_quantize_per_tensor_affine_cachemask_backward", masked, (T, T), (T)),
    DP_IMPL_UNBOXED("fake_quantize_per_channel_affine_cachemask_backward", masked_channels, (T, T),
                    (T)))
