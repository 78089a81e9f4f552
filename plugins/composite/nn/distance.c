/* distance.c -- distances between vectors, and cosine similarity
 * (aten/src/ATen/native/Distance.cpp).
 *
 * Operators: cdist, cosine_similarity, dist, _euclidean_dist, pairwise_distance, pdist. */
#include "core/chain.h"
#include <string.h>

/* aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor */
static int dist(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_value p, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *apart = chain_TT(&c, "aten::sub.Tensor", self, other);
    return chain_end(&c, chain_Ts(&c, "aten::norm.Scalar", apart, p), out);
}

/* aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=1e-06, bool keepdim=False)
 *     -> Tensor */
static int pairwise_distance(dp_ctx *ctx, dp_tensor *x1, dp_tensor *x2, double p, double eps,
                             bool keepdim, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_value order = dp_double(p);
    DP_VIEW(a, x1);
    DP_VIEW(b, x2);
    int64_t last = (a.ndim > b.ndim ? a.ndim : b.ndim) - 1;
    dp_tensor *apart =
        chain_Ts(&c, "aten::add.Scalar", chain_TT(&c, "aten::sub.Tensor", x1, x2), dp_double(eps));
    return chain_end(&c,
                     CHAIN(&c, "aten::norm.ScalarOpt_dim", "Toslib>T", apart, &order, &last,
                           (size_t)1, (int)keepdim),
                     out);
}

/* Return `t` expanded to sizes [n]; a tensor of integers is converted to `dtype`. */
static dp_tensor *as_vector(chain *c, dp_tensor *t, dp_dtype dtype, const int64_t *sizes, size_t n)
{
    DP_VIEW(x, t);
    if (dp_dtype_is_integral(x.dtype, true))
        t = CHAIN(c, "aten::to.dtype", "Ti>T", t, (int64_t)dtype);
    return CHAIN(c, "aten::expand", "Tli>T", t, sizes, n);
}

/* Return x / max(|x|, eps) along dim. */
static dp_tensor *unit(chain *c, dp_tensor *x, int64_t dim, double eps)
{
    dp_tensor *norm =
        CHAIN(c, "aten::linalg_vector_norm", "Tsolib>T", x, dp_int(2), &dim, (size_t)1, (int)true);
    return chain_TT(c, "aten::div.Tensor", x, chain_Ts(c, "aten::clamp_min", norm, dp_double(eps)));
}

/* aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor */
static int cosine_similarity(dp_ctx *ctx, dp_tensor *x1, dp_tensor *x2, int64_t dim, double eps,
                             dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *pair[] = {x1, x2};
    dp_dtype dtype = dp_result_type(pair, 2);
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(a, x1);
    DP_VIEW(b, x2);
    size_t n = (size_t)(a.ndim > b.ndim ? a.ndim : b.ndim);

    if (dtype == DP_DTYPE_NONE)
        return dp_fail(ctx, DP_ERUNTIME,
                       "expected x1 and x2 of a common dtype, but %s and %s have none",
                       dp_dtype_name(a.dtype), dp_dtype_name(b.dtype));
    if (!dp_dtype_is_floating(dtype))
        return dp_fail(ctx, DP_ERUNTIME,
                       "expected common dtype to be floating point, yet common dtype is %s",
                       dp_dtype_name(dtype));
    c.rc = dp_broadcast_shapes(ctx, a.ndim, a.sizes, b.ndim, b.sizes, sizes);
    dp_tensor *u = unit(&c, as_vector(&c, x1, dtype, sizes, n), dim, eps);
    dp_tensor *v = unit(&c, as_vector(&c, x2, dtype, sizes, n), dim, eps);
    dp_tensor *product = chain_TT(&c, "aten::mul.Tensor", u, v);
    return chain_end(&c, CHAIN(&c, "aten::sum.dim_IntList", "Toli>T", product, &dim, (size_t)1),
                     out);
}

/* -- distances between all rows of two matrices -- */

/* aten::_euclidean_dist(Tensor x1, Tensor x2) -> Tensor
 * |a - b|^2 = |a|^2 - 2ab + |b|^2 as one product of [-2a, |a|^2, 1] and [b, 1, |b|^2]. */
static int euclidean_dist(dp_ctx *ctx, dp_tensor *x1, dp_tensor *x2, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *x[] = {x1, x2}, *joined[2], *parts[3];
    int64_t last = -1;

    for (int i = 0; i < 2; i++) {
        dp_tensor *square = chain_Ts(&c, "aten::pow.Tensor_Scalar", x[i], dp_int(2));
        dp_tensor *norm =
            CHAIN(&c, "aten::sum.dim_IntList", "Tolib>T", square, &last, (size_t)1, (int)true);
        dp_tensor *ones = CHAIN(&c, "aten::ones_like", "T>T", norm);
        parts[0] = i == 0 ? chain_Ts(&c, "aten::mul.Scalar", x[i], dp_int(-2)) : x[i];
        parts[1] = i == 0 ? norm : ones;
        parts[2] = i == 0 ? ones : norm;
        joined[i] = CHAIN(&c, "aten::cat", "lTi>T", parts, (size_t)3, last);
    }
    dp_tensor *transposed =
        CHAIN(&c, "aten::transpose.int", "Tii>T", joined[1], (int64_t)-2, (int64_t)-1);
    dp_tensor *square = chain_TT(&c, "aten::matmul", joined[0], transposed);
    square = chain_Ts(&c, "aten::clamp_min", square, dp_int(0));
    return chain_end(&c, chain_T(&c, "aten::sqrt", square), out);
}

/* aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor */
static int cdist(dp_ctx *ctx, dp_tensor *x1, dp_tensor *x2, double p, const int64_t *mode,
                 dp_tensor **out)
{
    return dp_invoke(ctx, "aten::_cdist_forward", "TTfoi>T", x1, x2, p, mode, out);
}

/* aten::pdist(Tensor self, float p=2.) -> Tensor */
static int pdist(dp_ctx *ctx, dp_tensor *self, double p, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);

    if (x.ndim != 2)
        return dp_fail(ctx, DP_ERUNTIME, "pdist only supports 2D tensors, got: %dD", x.ndim);
    if (!dp_dtype_is_floating(x.dtype))
        return dp_fail(ctx, DP_ERUNTIME, "pdist only supports floating-point dtypes");
    if (p < 0)
        return dp_fail(ctx, DP_ERUNTIME, "pdist only supports non-negative p values");
    return chain_end(
        &c,
        CHAIN(&c, "aten::_pdist_forward", "Tf>T", CHAIN(&c, "aten::contiguous", "T>T", self), p),
        out);
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("dist", dist, (T, T, s), (T)),
                DP_IMPL_UNBOXED("_euclidean_dist", euclidean_dist, (T, T), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("pairwise_distance", pairwise_distance, (T, T, f, f, b), (T)),
                DP_IMPL_UNBOXED("cosine_similarity", cosine_similarity, (T, T, i, f), (T)),
                DP_IMPL_UNBOXED("cdist", cdist, (T, T, f, oi), (T)),
                DP_IMPL_UNBOXED("pdist", pdist, (T, f), (T)))
