/* dropout.c -- dropout, feature_dropout, alpha_dropout and feature_alpha_dropout, which call
 * bernoulli_ (aten/src/ATen/native/Dropout.cpp). */
#include "core/composite.h"

/* FEATURE: whole channels are dropped; ALPHA: mean and deviation of all elements are preserved */
enum { PLAIN = 0, FEATURE = 1, ALPHA = 2 };

/* Multiply self by `factor`, in place if `out` is NULL. */
static int multiply(dp_ctx *ctx, dp_tensor *self, dp_tensor *factor, dp_tensor **out)
{
    return out ? dp_invoke(ctx, "aten::mul.Tensor", "TT>T", self, factor, out)
               : dp_invoke(ctx, "aten::mul_.Tensor", "TT>", self, factor);
}

/* Set the noise: 1 with probability 1 - p, else 0. */
static int make_noise(dp_ctx *ctx, dp_tensor *input, double p, int how, dp_tensor **noise)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(x, input);
    int rc;

    if ((how & FEATURE) && x.ndim < 2)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Feature dropout requires at least 2 dimensions in the input");
    for (int d = 0; d < x.ndim; d++)
        sizes[d] = d < 2 ? x.sizes[d] : 1;
    if (how & FEATURE)
        rc = call_empty(ctx, x.dtype, x.device, x.ndim, sizes, noise);
    else
        rc = call_empty_like(ctx, input, DP_DTYPE_NONE, DP_PRESERVE, noise);
    return rc < 0 ? rc
                  : dp_invoke(ctx, "aten::bernoulli_.float", "Tfog>", *noise, 1 - p,
                              (dp_generator *)NULL);
}

/* Set *shift to what is added to the product with the noise, and scale the noise. */
static int make_shift(dp_ctx *ctx, dp_tensor *noise, double p, dp_tensor **shift)
{
    const double alpha = 1.7580993408473766; /* alpha of SELU times its scale */
    double a = 1 / sqrt((alpha * alpha * p + 1) * (1 - p));
    int rc = dp_invoke(ctx, "aten::add.Scalar", "Tss>T", noise, dp_int(-1), dp_int(1), shift);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::mul_.Scalar", "Ts>", *shift, dp_double(alpha * a));
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::add_.Scalar", "Tss>", *shift, dp_double(alpha * a * p),
                       dp_int(1));
    return rc < 0 ? rc : dp_invoke(ctx, "aten::mul_.Scalar", "Ts>", noise, dp_double(a));
}

static int drop(dp_ctx *ctx, dp_tensor *input, double p, int how, temps *made, dp_tensor **out)
{
    dp_tensor **noise = temps_next(made), **shift = temps_next(made);
    DP_VIEW(x, input);
    int rc;

    if (p == 1) {
        rc = call_empty(ctx, x.dtype, x.device, 0, NULL, noise);
        if (rc == 0)
            rc = dp_invoke(ctx, "aten::zero_", "T>", *noise);
        return rc < 0 ? rc : multiply(ctx, input, *noise, out);
    }
    rc = make_noise(ctx, input, p, how, noise);
    if (rc == 0 && (how & ALPHA))
        rc = make_shift(ctx, *noise, p, shift);
    else if (rc == 0)
        rc = dp_invoke(ctx, "aten::div_.Scalar", "Ts>", *noise, dp_double(1 - p));
    if (rc == 0)
        rc = multiply(ctx, input, *noise, out);
    if (rc == 0 && (how & ALPHA))
        rc = dp_invoke(ctx, "aten::add_.Tensor", "TTs>", out ? *out : input, *shift, dp_int(1));
    return rc;
}

/* Run a dropout; `out` NULL: in place.  Source: at::native::_dropout_impl. */
static int run_dropout(dp_ctx *ctx, dp_tensor *input, double p, bool train, int how,
                       dp_tensor **out)
{
    temps made = {.n = 0};
    DP_VIEW(x, input);

    if (!(p >= 0 && p <= 1))
        return dp_fail(ctx, DP_ERUNTIME,
                       "dropout probability has to be between 0 and 1, but got %g", p);
    if (p == 0 || !train || x.numel == 0) {
        if (out)
            *out = dp_tensor_ref(input);
        return 0;
    }
    if (out)
        *out = NULL;
    int rc = drop(ctx, input, p, how, &made, out);
    if (rc < 0 && out)
        *out = dp_tensor_unref(*out);
    temps_fini(&made);
    return rc;
}

/* aten::<name>(Tensor input, float p, bool train) -> Tensor,
 * aten::<name>_(Tensor(a!) self, float p, bool train) -> Tensor(a!) */
#define DROPOUT(id, how)                                                                           \
    static int id(dp_ctx *ctx, dp_tensor *input, double p, bool train, dp_tensor **out)            \
    {                                                                                              \
        return run_dropout(ctx, input, p, train, how, out);                                        \
    }                                                                                              \
    static int id##_in_place(dp_ctx *ctx, dp_tensor *self, double p, bool train)                   \
    {                                                                                              \
        return run_dropout(ctx, self, p, train, how, NULL);                                        \
    }
DROPOUT(dropout, PLAIN)
DROPOUT(feature_dropout, FEATURE)
DROPOUT(alpha_dropout, ALPHA)
DROPOUT(feature_alpha_dropout, FEATURE | ALPHA)

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("dropout", dropout, (T, f, b), (T)),
                DP_IMPL_UNBOXED("dropout_", dropout_in_place, (T, f, b), ()),
                DP_IMPL_UNBOXED("feature_dropout", feature_dropout, (T, f, b), (T)),
                DP_IMPL_UNBOXED("feature_dropout_", feature_dropout_in_place, (T, f, b), ()),
                DP_IMPL_UNBOXED("alpha_dropout", alpha_dropout, (T, f, b), (T)),
                DP_IMPL_UNBOXED("alpha_dropout_", alpha_dropout_in_place, (T, f, b), ()),
                DP_IMPL_UNBOXED("feature_alpha_dropout", feature_alpha_dropout, (T, f, b), (T)),
                DP_IMPL_UNBOXED("feature_alpha_dropout_", feature_alpha_dropout_in_place, (T, f, b),
                                ()))
