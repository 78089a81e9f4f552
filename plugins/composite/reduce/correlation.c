/* correlation.c -- covariance and correlation matrices: cov and corrcoef
 * (aten/src/ATen/native/Correlation.cpp). */
#include "core/chain.h"

/* Check that the input of operator `name` has at most two dimensions. */
static int check_rank(dp_ctx *ctx, const char *name, int ndim)
{
    return ndim <= 2 ? 0
                     : dp_fail(ctx, DP_ERUNTIME,
                               "%s(): expected input to have two or fewer dimensions but got an "
                               "input with %d dimensions",
                               name, ndim);
}

/* Check `w`, the weights of `n` observations, which are the argument `name` of cov; `w` may be
 * NULL.  `whole` true means that the weights must be integers, false that they must be floats. */
static int check_weights(dp_ctx *ctx, const char *name, dp_tensor *w, int64_t n, bool whole)
{
    chain c = {.ctx = ctx};

    if (w == NULL)
        return 0;
    DP_VIEW(v, w);
    if (v.ndim > 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "cov(): expected %s to have one or fewer dimensions but got %s with %d "
                       "dimensions",
                       name, name, v.ndim);
    if (whole ? !dp_dtype_is_integral(v.dtype, false) : !dp_dtype_is_floating(v.dtype))
        return dp_fail(ctx, DP_ERUNTIME,
                       "cov(): expected %s to have %s dtype but got %s with %s dtype", name,
                       whole ? "integral" : "floating point", name, dp_dtype_name(v.dtype));
    if (v.numel != n)
        return dp_fail(ctx, DP_ERUNTIME,
                       "cov(): expected %s to have the same numel as there are observations in the "
                       "input but got %" PRId64 " != %" PRId64,
                       name, v.numel, n);
    if (n > 0 && !chain_is_true(&c, chain_Ts(&c, "aten::ge.Scalar",
                                             CHAIN(&c, "aten::min", "T>T", w), dp_int(0))))
        chain_fail(&c, DP_ERUNTIME, "cov(): %s cannot be negative", name);
    return chain_end(&c, NULL, NULL);
}

/* Return the divisor of the covariances: `sum`, the sum of the weights `w` or the number of
 * observations, minus a term for `correction` (1 is Bessel's correction); or 0, with a warning, if
 * this difference is not positive.  `w` and `aweights`, an argument of cov, may be NULL. */
static dp_tensor *divisor(chain *c, dp_tensor *w, dp_tensor *sum, dp_tensor *aweights,
                          int64_t correction)
{
    dp_tensor *n;

    if (w && aweights && correction != 0) {
        n = CHAIN(c, "aten::sum", "T>T", chain_TT(c, "aten::mul.Tensor", w, aweights));
        n = chain_Ts(c, "aten::mul.Scalar", n, dp_int(correction));
        n = chain_TT(c, "aten::sub.Tensor", sum, chain_TT(c, "aten::div.Tensor", n, sum));
    } else {
        n = chain_Ts(c, "aten::sub.Scalar", sum, dp_int(correction));
    }
    if (chain_is_true(c, chain_Ts(c, "aten::le.Scalar", n, dp_int(0)))) {
        dp_warn(c->ctx,
                "cov(): degrees of freedom is <= 0. Correction should be strictly less than "
                "the number of observations.");
        n = CHAIN(c, "aten::zeros_like", "T>T", n);
    }
    return n;
}

/* Return the covariance matrix of x [variables, observations].  `w` has the weights of the
 * observations, the product of cov's arguments fweights and `aweights`; both may be NULL. */
static dp_tensor *covariance(chain *c, dp_tensor *x, dp_tensor *w, dp_tensor *aweights,
                             int64_t correction)
{
    int64_t one = 1;
    dp_tensor *sum = NULL;
    DP_VIEW(v, x);

    if (w == NULL) {
        c->rc = c->rc < 0
                    ? c->rc
                    : call_scalar_tensor(c->ctx, dp_int(v.sizes[1]), DP_INT64, DP_DEVICE_CPU, &sum);
        sum = c->rc < 0 ? NULL : chain_keep(c, sum);
    } else {
        sum = CHAIN(c, "aten::sum", "T>T", w);
        if (!chain_is_true(c, chain_Ts(c, "aten::ne.Scalar", sum, dp_int(0))))
            chain_fail(c, DP_ERUNTIME, "cov(): weights sum to zero, can't be normalized");
    }
    dp_tensor *mean = w ? chain_TT(c, "aten::mul.Tensor", x, w) : x;
    mean = CHAIN(c, "aten::sum.dim_IntList", "Toli>T", mean, &one, (size_t)1);
    mean = chain_TT(c, "aten::div.Tensor", mean, sum);
    dp_tensor *n = divisor(c, w, sum, aweights, correction);
    x = chain_TT(c, "aten::sub.Tensor", x, CHAIN(c, "aten::unsqueeze", "Ti>T", mean, (int64_t)1));
    dp_tensor *y = w ? chain_TT(c, "aten::mul.Tensor", x, w) : x;
    y = CHAIN(c, "aten::conj", "T>T", CHAIN(c, "aten::t", "T>T", y));
    dp_tensor *products = CHAIN(c, "aten::mm", "TT>T", x, y);
    return CHAIN(c, "aten::squeeze", "T>T", chain_TT(c, "aten::div.Tensor", products, n));
}

/* aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) ->
 * Tensor */
static int cov(dp_ctx *ctx, dp_tensor *self, int64_t correction, dp_tensor *fweights,
               dp_tensor *aweights, dp_tensor **out)
{
    int64_t row[2] = {1, -1};
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);

    int rc = check_rank(ctx, "cov", x.ndim);
    if (rc < 0)
        return rc;
    if (x.dtype == DP_BOOL)
        return dp_fail(ctx, DP_ERUNTIME, "cov(): bool dtype is not supported for input");
    int64_t n = x.ndim < 2 ? x.numel : x.sizes[1];
    rc = check_weights(ctx, "fweights", fweights, n, true);
    if (rc == 0)
        rc = check_weights(ctx, "aweights", aweights, n, false);
    if (rc < 0)
        return rc;
    if (x.ndim < 2)
        self = CHAIN(&c, "aten::view", "Tli>T", self, row, (size_t)2);
    dp_tensor *w = fweights && aweights ? chain_TT(&c, "aten::mul.Tensor", fweights, aweights)
                   : fweights           ? fweights
                                        : aweights;
    if (c.rc == 0)
        self = covariance(&c, self, w, aweights, correction);
    return chain_end(&c, self, out);
}

/* Return `t` clamped to [-1, 1]. */
static dp_tensor *clipped(chain *c, dp_tensor *t)
{
    dp_value low = dp_int(-1), high = dp_int(1);
    return CHAIN(c, "aten::clamp", "Tosos>T", t, &low, &high);
}

/* aten::corrcoef(Tensor self) -> Tensor */
static int corrcoef(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    int64_t column[2] = {-1, 1}, row[2] = {1, -1};
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);

    int rc = check_rank(ctx, "corrcoef", x.ndim);
    if (rc < 0)
        return rc;
    dp_tensor *t = CHAIN(&c, "aten::cov", "T>T", self);
    if (c.rc < 0)
        return chain_end(&c, NULL, NULL);
    DP_VIEW(v, t);
    bool complex = dp_dtype_is_complex(v.dtype);
    if (v.ndim == 0)
        return chain_end(&c, chain_TT(&c, "aten::div.Tensor", t, t), out);
    dp_tensor *deviation = CHAIN(&c, "aten::diag", "T>T", t);
    if (complex)
        deviation = CHAIN(&c, "aten::real", "T>T", deviation);
    deviation = CHAIN(&c, "aten::sqrt", "T>T", deviation);
    t = chain_TT(&c, "aten::div.Tensor", t,
                 CHAIN(&c, "aten::view", "Tli>T", deviation, column, (size_t)2));
    t = chain_TT(&c, "aten::div.Tensor", t,
                 CHAIN(&c, "aten::view", "Tli>T", deviation, row, (size_t)2));
    if (!complex)
        return chain_end(&c, clipped(&c, t), out);
    dp_tensor *re = clipped(&c, CHAIN(&c, "aten::real", "T>T", t));
    dp_tensor *im = clipped(&c, CHAIN(&c, "aten::imag", "T>T", t));
    return chain_end(&c, chain_TT(&c, "aten::complex", re, im), out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("cov", cov, (T, i, oT, oT), (T)),
                DP_IMPL_UNBOXED("corrcoef", corrcoef, (T), (T)))
