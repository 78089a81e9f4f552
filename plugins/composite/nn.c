/* nn.c -- layers of neural networks, by way of the operators that backends implement. */
#include "composite.h"

/* -- softmax and the like -- */

/* op(self, dim, half_to_float=False), or its overload `given` if *out is; if a dtype is given, self is
 * converted first. */
static int softmax_op(dp_ctx *ctx, const char *op, const char *given, dp_tensor *self, int64_t dim,
                      const int64_t *dtype, dp_tensor **out)
{
    dp_tensor *converted = NULL;
    int rc = 0;

    if (dtype)
        rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", self, *dtype, &converted);
    dp_tensor *from = converted ? converted : self;
    if (rc == 0)
        rc = *out ? dp_invoke(ctx, given, "TibT>", from, dim, (int)false, *out)
                  : dp_invoke(ctx, op, "Tib>T", from, dim, (int)false, out);
    dp_tensor_unref(converted);
    return rc;
}

/* aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
 * aten::softmax.int_out(Tensor self, int dim, ScalarType? dtype=None, *, Tensor(a!) out) -> Tensor(a!)
 * and of log_softmax */
#define SOFTMAX(name)                                                                              \
    static int name(dp_ctx *ctx, dp_tensor *self, int64_t dim, const int64_t *dtype,               \
                    dp_tensor **out)                                                               \
    {                                                                                              \
        *out = NULL;                                                                               \
        return softmax_op(ctx, "aten::_" #name, NULL, self, dim, dtype, out);                      \
    }                                                                                              \
    static int name##_out(dp_ctx *ctx, dp_tensor *self, int64_t dim, const int64_t *dtype,         \
                          dp_tensor *out)                                                          \
    {                                                                                              \
        return softmax_op(ctx, NULL, "aten::_" #name ".out", self, dim, dtype, &out);              \
    }
SOFTMAX(softmax)
SOFTMAX(log_softmax)
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("softmax.int_out", softmax_out, (T, i, oi, T), ()),
                DP_IMPL_UNBOXED("log_softmax.int_out", log_softmax_out, (T, i, oi, T), ()))

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
