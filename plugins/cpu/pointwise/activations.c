/* activations.c -- activations that are not one expression of an element: they split their input,
 * or return two results (aten/src/ATen/native/Activation.cpp, GatedLinearUnit.cpp).
 *
 * Operators: glu, glu_backward, log_sigmoid_forward, mish_backward, prelu. */
#include "core/dense.h"
#include "pointwise.h"

extern const pw_op pw_prelu, pw_glu, pw_glu_backward_first, pw_glu_backward_second, pw_log_sigmoid,
    pw_log_sigmoid_buffer;

static int refuse(dp_ctx *ctx, int rc)
{
    return rc < 0 ? dp_refuse(ctx, rc, NULL) : rc;
}

/* -- prelu -- */

/* Set *out, owned, to the weight, which has one number per channel (dimension 1), viewed so that it
 * broadcasts to x. */
static int weight_like(dp_ctx *ctx, const dp_view *x, dp_tensor *weight, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX], strides[DP_DIM_MAX];
    DP_VIEW(w, weight);
    int64_t channels = x->ndim > 1 ? x->sizes[1] : 1;

    if (w.ndim > 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "prelu: Expected `weight` to be a scalar or 1D tensor, but got ndim = %d",
                       w.ndim);
    if (w.numel != 1 && w.numel != channels)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Mismatch of parameter numbers and input channel size. Found parameter "
                       "numbers = %" PRId64 " and channel size = %" PRId64 ".",
                       w.numel, channels);
    for (int d = 0; d < x->ndim; d++) {
        bool channel = d == 1 && w.numel != 1;
        sizes[d] = channel ? channels : 1;
        strides[d] = channel ? w.strides[0] : 1;
    }
    return dp_as_strided(ctx, weight, x->ndim, sizes, strides, dp_tensor_offset(weight), out);
}

/* aten::prelu(Tensor self, Tensor weight) -> Tensor */
static int prelu(dp_ctx *ctx, dp_tensor *self, dp_tensor *weight, dp_tensor **out)
{
    dp_tensor *w = NULL;
    DP_VIEW(x, self);
    DP_VIEW(v, weight);

    if (x.dtype != v.dtype)
        return dp_fail(ctx, DP_ERUNTIME, "prelu: Type promoting not supported. Got %s and %s",
                       dense_type_name(x.dtype), dense_type_name(v.dtype));
    dp_tensor *made = NULL;
    int rc = weight_like(ctx, &x, weight, &w);
    if (rc == 0)
        rc = dp_empty_like(ctx, self, DP_DTYPE_NONE,
                           (dp_memory_format)dp_tensor_suggest_format(self), &made);
    if (rc == 0) {
        const dp_value ins[] = {dp_tensor_value(self), dp_tensor_value(w)};
        rc = pw_write(ctx, &pw_prelu, ins, NULL, made);
    }
    dp_tensor_unref(w);
    if (rc < 0)
        dp_tensor_unref(made);
    else
        *out = made;
    return rc;
}

/* -- glu -- */

/* Set the two outputs to views of the halves of `t` along dim; *dim is wrapped. */
static int halves(dp_ctx *ctx, dp_tensor *t, int64_t *dim, dp_tensor *out[2])
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(x, t);

    if (x.ndim == 0)
        return dp_fail(ctx, DP_ERUNTIME, "glu does not support 0-dimensional tensors");
    int rc = wrap_dim(ctx, dim, x.ndim);
    if (rc < 0)
        return rc;
    if (x.sizes[*dim] % 2 != 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Halving dimension must be even, but dimension %" PRId64 " is size %" PRId64,
                       *dim, x.sizes[*dim]);
    for (int d = 0; d < x.ndim; d++)
        sizes[d] = d == *dim ? x.sizes[d] / 2 : x.sizes[d];
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = dp_as_strided(ctx, t, x.ndim, sizes, x.strides,
                           dp_tensor_offset(t) + i * sizes[*dim] * x.strides[*dim], &out[i]);
    return rc;
}

static void drop(dp_tensor *pair[2])
{
    dp_tensor_unref(pair[0]);
    dp_tensor_unref(pair[1]);
}

/* aten::glu(Tensor self, int dim=-1) -> Tensor */
static int glu(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor **out)
{
    dp_tensor *half[2] = {0};
    int rc = halves(ctx, self, &dim, half);

    if (rc == 0) {
        const dp_value ins[] = {dp_tensor_value(half[0]), dp_tensor_value(half[1])};
        rc = pw_new(ctx, &pw_glu, ins, NULL, out);
    }
    drop(half);
    return rc;
}

/* aten::glu.out(Tensor self, int dim=-1, *, Tensor(a!) out) -> Tensor(a!) */
static int glu_out(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *dst)
{
    dp_tensor *half[2] = {0};
    int rc = refuse(ctx, halves(ctx, self, &dim, half));

    if (rc == 0) {
        const dp_value ins[] = {dp_tensor_value(half[0]), dp_tensor_value(half[1])};
        rc = pw_write(ctx, &pw_glu, ins, NULL, dst);
    }
    drop(half);
    return rc;
}

/* Resize *dst to the shape of self, unless it has that shape. */
static int glu_output(dp_ctx *ctx, dp_tensor *self, dp_tensor **dst)
{
    DP_VIEW(x, self);
    return *dst ? dp_set_output(ctx, dst, x.ndim, x.sizes, NULL, x.dtype, x.device)
                : dp_empty(ctx, x.dtype, x.device, x.ndim, x.sizes, DP_CONTIGUOUS, dst);
}

/* Compute the gradients of both halves into *dst; NULL: it is set to a new tensor.  `grad` must
 * broadcast to a half, because with another shape it would resize the halves. */
static int glu_slopes(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, int64_t dim, dp_tensor **dst)
{
    dp_tensor *half[2] = {0}, *to[2] = {0}, *wide = NULL;
    int rc = halves(ctx, self, &dim, half);

    if (rc == 0) {
        DP_VIEW(h, half[0]);
        rc = dp_invoke(ctx, "aten::expand", "Tlib>T", grad, h.sizes, (size_t)h.ndim, (int)false,
                       &wide);
    }
    if (rc == 0)
        rc = refuse(ctx, glu_output(ctx, self, dst));
    if (rc == 0)
        rc = halves(ctx, *dst, &dim, to);
    if (rc == 0) {
        const dp_value ins[] = {dp_tensor_value(wide), dp_tensor_value(half[1])};
        rc = pw_write(ctx, &pw_glu_backward_first, ins, NULL, to[0]);
    }
    if (rc == 0) {
        const dp_value ins[] = {dp_tensor_value(wide), dp_tensor_value(half[0]),
                                dp_tensor_value(half[1])};
        rc = pw_write(ctx, &pw_glu_backward_second, ins, NULL, to[1]);
    }
    dp_tensor_unref(wide);
    drop(half);
    drop(to);
    return rc;
}

/* aten::glu_backward.grad_input(Tensor grad_output, Tensor self, int dim, *, Tensor(a!) grad_input)
 *     -> Tensor(a!) */
static int glu_backward_out(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, int64_t dim,
                            dp_tensor *dst)
{
    return glu_slopes(ctx, grad, self, dim, &dst);
}

/* aten::glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor */
static int glu_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, int64_t dim, dp_tensor **out)
{
    dp_tensor *made = NULL;
    int rc = glu_slopes(ctx, grad, self, dim, &made);

    if (rc < 0)
        dp_tensor_unref(made);
    else
        *out = made;
    return rc;
}

/* -- log_sigmoid -- */

/* aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer) */
static int log_sigmoid(dp_ctx *ctx, dp_tensor *self, dp_tensor **out, dp_tensor **buffer)
{
    const dp_value ins[] = {dp_tensor_value(self)};
    dp_tensor *value = NULL;
    int rc = pw_new(ctx, &pw_log_sigmoid, ins, NULL, &value);

    if (rc == 0)
        rc = pw_new(ctx, &pw_log_sigmoid_buffer, ins, NULL, buffer);
    if (rc < 0)
        dp_tensor_unref(value);
    else
        *out = value;
    return rc;
}

/* aten::log_sigmoid_forward.output(Tensor self, *, Tensor(a!) output, Tensor(b!) buffer)
 *     -> (Tensor(a!), Tensor(b!)) */
static int log_sigmoid_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *out, dp_tensor *buffer)
{
    /* a copy of self, if `out` is self, because self is read again after out was written */
    dp_tensor *copy = NULL;
    DP_VIEW(x, self);
    int rc = dp_set_output(ctx, &buffer, x.ndim, x.sizes, NULL, x.dtype, x.device);

    if (rc == 0) /* make it contiguous, whatever its strides were */
        rc = dp_resize(ctx, buffer, x.ndim, x.sizes, DP_CONTIGUOUS);
    if (rc == 0 && dp_tensor_id(out) == dp_tensor_id(self))
        rc = dp_invoke(ctx, "aten::clone", "Toi>T", self, NULL, &copy);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    const dp_value ins[] = {dp_tensor_value(copy ? copy : self)};
    rc = pw_write(ctx, &pw_log_sigmoid, ins, NULL, out);
    if (rc == 0)
        rc = pw_write(ctx, &pw_log_sigmoid_buffer, ins, NULL, buffer);
    dp_tensor_unref(copy);
    return rc;
}

/* -- mish -- */

extern const pw_op pw_mish_backward;

/* aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor
 * The result has self's dtype. */
static int mish_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor **out)
{
    const dp_value ins[] = {dp_tensor_value(grad), dp_tensor_value(self)};
    dp_tensor *made = NULL;
    int64_t none = 0;
    DP_VIEW(x, self);
    int rc = dp_empty(ctx, x.dtype, x.device, 1, &none, DP_CONTIGUOUS, &made);

    if (rc == 0)
        rc = pw_write(ctx, &pw_mish_backward, ins, NULL, made);
    *out = rc < 0 ? dp_tensor_unref(made) : made;
    return rc;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("prelu", prelu, (T, T), (T)),
                DP_IMPL_UNBOXED("glu", glu, (T, i), (T)),
                DP_IMPL_UNBOXED("glu.out", glu_out, (T, i, T), ()),
                DP_IMPL_UNBOXED("glu_backward", glu_backward, (T, T, i), (T)),
                DP_IMPL_UNBOXED("glu_backward.grad_input", glu_backward_out, (T, T, i, T), ()),
                DP_IMPL_UNBOXED("log_sigmoid_forward", log_sigmoid, (T), (T, T)),
                DP_IMPL_UNBOXED("log_sigmoid_forward.output", log_sigmoid_out, (T, T, T), ()),
                DP_IMPL_UNBOXED("mish_backward", mish_backward, (T, T), (T)))
