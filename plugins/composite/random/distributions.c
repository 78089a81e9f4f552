/* distributions.c -- functional bernoulli and normal, which call the in-place operators
 * (aten/src/ATen/native/Distributions.cpp).
 *
 * Operators: bernoulli, normal, normal_functional. */
#include "core/composite.h"

/* aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor */
static int bernoulli(dp_ctx *ctx, dp_tensor *self, dp_generator *g, dp_tensor **out)
{
    int rc = call_empty_like(ctx, self, DP_DTYPE_NONE, DP_CONTIGUOUS, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::bernoulli_.Tensor", "TTog>", *out, self, g);
    return release_on_error(rc, out);
}

/* aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor */
static int bernoulli_p(dp_ctx *ctx, dp_tensor *self, double p, dp_generator *g, dp_tensor **out)
{
    int rc = call_empty_like(ctx, self, DP_DTYPE_NONE, DP_CONTIGUOUS, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::bernoulli_.float", "Tfog>", *out, p, g);
    return release_on_error(rc, out);
}

/* aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None)
 * -> Tensor */
static int normal_functional(dp_ctx *ctx, dp_tensor *self, double mean, double std, dp_generator *g,
                             dp_tensor **out)
{
    int rc = call_empty_like(ctx, self, DP_DTYPE_NONE, DP_PRESERVE, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::normal_", "Tffog>", *out, mean, std, g);
    return release_on_error(rc, out);
}

/* aten::normal.float_float(float mean, float std, int[] size, *, Generator? generator=None,
 *     ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) ->
 *     Tensor */
static int normal_sized(dp_ctx *ctx, double mean, double std, const int64_t *sizes, size_t n,
                        dp_generator *g, OPTIONS_PARAMS, dp_tensor **out)
{
    int rc = dp_invoke(ctx, "aten::empty.memory_format", "lioioioioboi>T", sizes, n, dtype, layout,
                       device, pin, (const int64_t *)NULL, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::normal_", "Tffog>", *out, mean, std, g);
    return release_on_error(rc, out);
}

/* aten::normal.float_float_out(float mean, float std, int[] size, *, Generator? generator=None,
 *     Tensor(a!) out) -> Tensor(a!) */
static int normal_sized_out(dp_ctx *ctx, double mean, double std, const int64_t *sizes, size_t n,
                            dp_generator *g, dp_tensor *out)
{
    int rc = check_ndim(ctx, n);

    if (rc == 0)
        rc = dp_resize(ctx, out, (int)n, sizes, DP_PRESERVE);
    return rc < 0 ? rc : dp_invoke(ctx, "aten::normal_", "Tffog>", out, mean, std, g);
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("bernoulli", bernoulli, (T, og), (T)),
                DP_IMPL_UNBOXED("normal_functional", normal_functional, (T, f, f, og), (T)),
                DP_IMPL_UNBOXED("normal.float_float", normal_sized, (f, f, li, og, oi, oi, oi, ob),
                                (T)),
                DP_IMPL_UNBOXED("normal.float_float_out", normal_sized_out, (f, f, li, og, T), ()))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("bernoulli.p", bernoulli_p, (T, f, og), (T)))
