/* rrelu.c -- the activation rrelu, and rrelu_with_noise_backward
 * (aten/src/ATen/native/Activation.cpp). */
#include "core/composite.h"

/* Run rrelu; `out` NULL: in place. */
static int run_rrelu(dp_ctx *ctx, dp_tensor *self, dp_value lower, dp_value upper, bool training,
                     dp_generator *g, dp_tensor **out)
{
    dp_tensor *noise;

    if (lower.tag == DP_TAG_COMPLEX || upper.tag == DP_TAG_COMPLEX ||
        !(as_double(lower) <= as_double(upper)))
        return dp_fail(ctx, DP_ERUNTIME,
                       "Lower bound should be less than or equal to the upper bound");
    int rc = call_empty_like(ctx, self, DP_DTYPE_NONE, DP_CONTIGUOUS, &noise);
    if (rc < 0)
        return rc;
    if (out)
        rc = dp_invoke(ctx, "aten::rrelu_with_noise", "TTssbog>T", self, noise, lower, upper,
                       (int)training, g, out);
    else
        rc = dp_invoke(ctx, "aten::rrelu_with_noise_", "TTssbog>", self, noise, lower, upper,
                       (int)training, g);
    dp_tensor_unref(noise);
    return rc;
}

/* aten::rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool
 *     training=False, Generator? generator=None) -> Tensor */
static int rrelu(dp_ctx *ctx, dp_tensor *self, dp_value lower, dp_value upper, bool training,
                 dp_generator *g, dp_tensor **out)
{
    return run_rrelu(ctx, self, lower, upper, training, g, out);
}

/* aten::rrelu_(Tensor(a!) self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool
 *     training=False, Generator? generator=None) -> Tensor(a!) */
static int rrelu_in_place(dp_ctx *ctx, dp_tensor *self, dp_value lower, dp_value upper,
                          bool training, dp_generator *g)
{
    return run_rrelu(ctx, self, lower, upper, training, g, NULL);
}

/* aten::rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower,
 *     Scalar upper, bool training, bool self_is_result) -> Tensor */
static int rrelu_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *noise,
                          dp_value lower, dp_value upper, bool training, bool is_result,
                          dp_tensor **out)
{
    if (lower.tag == DP_TAG_COMPLEX || upper.tag == DP_TAG_COMPLEX)
        return dp_fail(ctx, DP_ERUNTIME,
                       "rrelu: expected real lower and upper but got a complex number");
    if (training)
        return dp_invoke(ctx, "aten::mul.Tensor", "TT>T", grad, noise, out);
    return dp_invoke(ctx, "aten::leaky_relu_backward", "TTsb>T", grad, self,
                     dp_double((as_double(lower) + as_double(upper)) / 2), (int)is_result, out);
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("rrelu_with_noise_backward", rrelu_backward, (T, T, T, s, s, b, b),
                                (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("rrelu", rrelu, (T, s, s, b, og), (T)),
                DP_IMPL_UNBOXED("rrelu_", rrelu_in_place, (T, s, s, b, og), ()))
