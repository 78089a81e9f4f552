/* softmax.c -- softmax and log_softmax, which call _softmax and _log_softmax
 * (aten/src/ATen/native/SoftMax.cpp). */
#include "core/composite.h"

/* Call op(self, dim, half_to_float=False), or its out= overload `given` if *out is not NULL; if a
 * dtype is given, convert self first. */
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
 * aten::softmax.int_out(Tensor self, int dim, ScalarType? dtype=None, *, Tensor(a!) out) ->
 * Tensor(a!) and of log_softmax */
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

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("softmax.int", softmax, (T, i, oi), (T)),
                DP_IMPL_UNBOXED("log_softmax.int", log_softmax, (T, i, oi), (T)))
