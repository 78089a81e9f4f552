/* dropout.c -- native_dropout and its gradient (aten/src/ATen/native/Dropout.cpp).
 *
 * Operators: native_dropout, native_dropout_backward. */
#include "draw.h"
#include "core/pack.h"
#include "core/dense.h"
#include "core/elements.h"

/* Set *out, owned, to input * mask * scale. */
static int masked(dp_ctx *ctx, dp_tensor *input, dp_tensor *mask, double scale, dp_tensor **out)
{
    int rc = dp_invoke(ctx, "aten::mul.Tensor", "TT>T", input, mask, out);

    if (rc == 0 && (rc = dp_invoke(ctx, "aten::mul_.Scalar", "Ts>", *out, dp_double(scale))) < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)
 * The results are the elements after dropout, and a bool mask that is true for those that were
 * kept. */
static int native_dropout(dp_ctx *ctx, dp_tensor *input, double p, const bool *train,
                          dp_tensor **out, dp_tensor **mask)
{
    bool drops = train == NULL || *train;
    DP_VIEW(x, input);
    int rc = dp_empty_like(ctx, input, x.numel > 0 ? DP_BOOL : x.dtype, DP_PRESERVE, mask);

    if (rc < 0)
        return rc;
    if (x.numel == 0)
        *out = dp_tensor_ref(input);
    else if (drops)
        rc = dp_invoke(ctx, "aten::bernoulli_.float", "Tfog>", *mask, 1 - p, (dp_generator *)NULL);
    else
        rc = dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", *mask, dp_int(1));
    if (rc == 0 && x.numel > 0)
        rc = drops ? masked(ctx, input, *mask, p == 1 ? 0 : 1 / (1 - p), out)
                   : dp_invoke(ctx, "aten::clone", "Toi>T", input, (const int64_t *)NULL, out);
    if (rc < 0)
        *mask = dp_tensor_unref(*mask);
    return rc;
}

/* aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor */
static int native_dropout_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *mask, double scale,
                                   dp_tensor **out)
{
    dp_tensor *kept;
    int rc = dp_invoke(ctx, "aten::mul.Tensor", "TT>T", grad, mask, &kept);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::mul.Scalar", "Ts>T", kept, dp_double(scale), out);
    dp_tensor_unref(kept);
    return rc;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("native_dropout", native_dropout, (T, f, ob), (T, T)),
                DP_IMPL_UNBOXED("native_dropout_backward", native_dropout_backward, (T, T, f), (T)))
