/* renorm.c -- renorm, which scales slices of a tensor so that no slice exceeds a norm, computed
 * with other operators (aten/src/ATen/native/Normalization.cpp). */
#include "core/chain.h"

static int check(dp_ctx *ctx, dp_value p, int64_t *dim, dp_value most, int ndim)
{
    if (p.tag == DP_TAG_COMPLEX)
        return dp_fail(ctx, DP_ERUNTIME, "renorm: p must be real-valued");
    if (!(as_double(p) > 0))
        return dp_fail(ctx, DP_ERUNTIME, "renorm: non-positive-norm not supported");
    if (most.tag == DP_TAG_COMPLEX)
        return dp_fail(ctx, DP_ERUNTIME, "renorm: maxnorm must be real-valued");
    if (!(as_double(most) >= 0))
        return dp_fail(ctx, DP_ERUNTIME, "renorm: expected maxnorm to be >= 0 but got %g",
                       as_double(most));
    if (ndim < 2)
        return dp_fail(ctx, DP_ERUNTIME,
                       "renorm: input needs at least 2 dimensions, got %d dimensions", ndim);
    return wrap_dim(ctx, dim, ndim);
}

/* Return the factor of each slice: most / (norm + 1e-7) if the norm of the slice exceeds `most`,
 * else 1. */
static dp_tensor *factors(chain *c, dp_tensor *self, dp_value p, int64_t dim, dp_value most)
{
    int64_t dims[DP_DIM_MAX], wide = DP_FLOAT32;
    size_t n = 0;
    DP_VIEW(x, self);
    bool half = x.dtype == DP_FLOAT16 || x.dtype == DP_BFLOAT16;

    for (int i = 0; i < x.ndim; i++)
        if (i != dim)
            dims[n++] = i;
    dp_tensor *norm = CHAIN(c, "aten::linalg_vector_norm", "Tsoliboi>T", self,
                            dp_double(as_double(p)), dims, n, (int)true, half ? &wide : NULL);
    dp_tensor *large = chain_Ts(c, "aten::gt.Scalar", norm, most);
    dp_tensor *f =
        chain_T(c, "aten::reciprocal", chain_Ts(c, "aten::add.Scalar", norm, dp_double(1e-7)));
    f = chain_Ts(c, "aten::mul.Scalar", f, dp_double(as_double(most)));
    f = CHAIN(c, "aten::where.ScalarOther", "TTs>T", large, f, dp_double(1));
    return half ? CHAIN(c, "aten::to.dtype", "Ti>T", f, (int64_t)x.dtype) : f;
}

static int into(dp_ctx *ctx, dp_tensor *self, dp_value p, int64_t dim, dp_value most,
                dp_tensor *out)
{
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);

    c.rc = check(ctx, p, &dim, most, x.ndim);
    dp_tensor *f = factors(&c, self, p, dim, most);
    if (c.rc < 0)
        c.rc = dp_refuse(ctx, c.rc, NULL);
    else
        c.rc = dp_invoke(ctx, "aten::mul.out", "TTT>", self, f, out);
    return chain_end(&c, NULL, NULL);
}

/* aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor */
static int renorm(dp_ctx *ctx, dp_tensor *self, dp_value p, int64_t dim, dp_value most,
                  dp_tensor **out)
{
    DP_VIEW(x, self);
    int rc = dp_empty(ctx, x.dtype, x.device, x.ndim, x.sizes, DP_CONTIGUOUS, out);

    if (rc < 0)
        return rc;
    rc = into(ctx, self, p, dim, most, *out);
    return release_on_error(rc, out);
}

static int renorm_in(dp_ctx *ctx, dp_tensor *self, dp_value p, int64_t dim, dp_value most)
{
    return into(ctx, self, p, dim, most, self);
}

static int renorm_out(dp_ctx *ctx, dp_tensor *self, dp_value p, int64_t dim, dp_value most,
                      dp_tensor *out)
{
    DP_VIEW(x, self);
    int rc = check(ctx, p, &dim, most, x.ndim);

    if (rc == 0)
        rc = dp_set_output(ctx, &out, x.ndim, x.sizes, NULL, x.dtype, x.device);
    return rc < 0 ? dp_refuse(ctx, rc, NULL) : into(ctx, self, p, dim, most, out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("renorm", renorm, (T, s, i, s), (T)),
                DP_IMPL_UNBOXED("renorm_", renorm_in, (T, s, i, s), ()),
                DP_IMPL_UNBOXED("renorm.out", renorm_out, (T, s, i, s, T), ()))
