/* nn.c -- layers of neural networks, by way of the operators that backends implement. */
#include "composite.h"

/* -- softmax and the like -- */

/* op(self, dim, half_to_float=False); if a dtype is given, self is converted first. */
static int softmax_op(dp_ctx *ctx, const char *op, dp_tensor *self, int64_t dim,
                      const int64_t *dtype, dp_tensor **out)
{
    dp_tensor *converted = NULL;
    int rc = 0;

    if (dtype)
        rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", self, *dtype, &converted);
    if (rc == 0)
        rc = dp_invoke(ctx, op, "Tib>T", converted ? converted : self, dim, (int)false, out);
    dp_tensor_unref(converted);
    return rc;
}

/* aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor */
static int softmax(dp_ctx *ctx, dp_tensor *self, int64_t dim, const int64_t *dtype, dp_tensor **out)
{
    return softmax_op(ctx, "aten::_softmax", self, dim, dtype, out);
}

/* aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor */
static int log_softmax(dp_ctx *ctx, dp_tensor *self, int64_t dim, const int64_t *dtype,
                       dp_tensor **out)
{
    return softmax_op(ctx, "aten::_log_softmax", self, dim, dtype, out);
}

/* aten::max.other(Tensor self, Tensor other) -> Tensor */
static int max_other(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::maximum", "TT>T", self, other, out);
}

/* aten::min.other(Tensor self, Tensor other) -> Tensor */
static int min_other(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::minimum", "TT>T", self, other, out);
}

/* aten::max.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!) */
static int max_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor *out)
{
    return dp_invoke(ctx, "aten::maximum.out", "TTT>", self, other, out);
}

/* aten::min.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!) */
static int min_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor *out)
{
    return dp_invoke(ctx, "aten::minimum.out", "TTT>", self, other, out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("max.out", max_out, (T, T, T), ()),
                DP_IMPL_UNBOXED("min.out", min_out, (T, T, T), ()),
                DP_IMPL_UNBOXED("softmax.int", softmax, (T, i, oi), (T)),
                DP_IMPL_UNBOXED("log_softmax.int", log_softmax, (T, i, oi), (T)),
                DP_IMPL_UNBOXED("max.other", max_other, (T, T), (T)),
                DP_IMPL_UNBOXED("min.other", min_other, (T, T), (T)))
