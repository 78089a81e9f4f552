/* weight_norm.c -- weight normalization, and norms over all dimensions except one
 * (aten/src/ATen/native/WeightNorm.cpp).
 *
 * Operators: norm_except_dim, _weight_norm, _weight_norm_differentiable_backward,
 * _weight_norm_interface, _weight_norm_interface_backward. */
#include "core/chain.h"

/* -- weights as a norm times a direction -- */

/* aten::norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor */
static int norm_except_dim(dp_ctx *ctx, dp_tensor *v, int64_t power, int64_t dim, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    int64_t sizes[DP_DIM_MAX], flat[2] = {-1, -1}, along;
    dp_value p = dp_int(power);
    DP_VIEW(x, v);

    if (dim == -1)
        return dp_invoke(ctx, "aten::norm.Scalar", "Ts>T", v, p, out);
    c.rc = wrap_dim(ctx, &dim, x.ndim);
    bool swap = dim != 0 && dim != x.ndim - 1;
    if (swap)
        v = CHAIN(&c, "aten::transpose.int", "Tii>T", v, (int64_t)0, dim);
    if (c.rc < 0)
        return chain_end(&c, NULL, out);
    DP_VIEW(y, v);
    int64_t kept = swap ? 0 : dim;
    for (int i = 0; i < y.ndim; i++)
        sizes[i] = i == kept ? y.sizes[i] : 1;
    flat[kept == 0 ? 0 : 1] = y.ndim ? y.sizes[kept] : 1;
    along = kept == 0 ? 1 : 0;
    dp_tensor *t = CHAIN(&c, "aten::contiguous", "T>T", v);
    t = CHAIN(&c, "aten::view", "Tli>T", t, flat, (size_t)2);
    t = CHAIN(&c, "aten::norm.ScalarOpt_dim", "Tosli>T", t, &p, &along, (size_t)1);
    t = CHAIN(&c, "aten::view", "Tli>T", t, sizes, (size_t)y.ndim);
    if (swap)
        t = CHAIN(&c, "aten::transpose.int", "Tii>T", t, (int64_t)0, dim);
    return chain_end(&c, t, out);
}

static bool is_half(dp_dtype d)
{
    return d == DP_FLOAT16;
}

/* aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor */
static int weight_norm(dp_ctx *ctx, dp_tensor *v, dp_tensor *g, int64_t dim, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *w = NULL, *norm = NULL;
    DP_VIEW(x, v);
    DP_VIEW(y, g);

    v = CHAIN(&c, "aten::contiguous", "T>T", v);
    g = CHAIN(&c, "aten::contiguous", "T>T", g);
    if (is_half(x.dtype) || is_half(y.dtype) || (dim != 0 && dim != x.ndim - 1)) {
        norm = CHAIN(&c, "aten::norm_except_dim", "Tii>T", v, (int64_t)2, dim);
        w = chain_TT(&c, "aten::mul.Tensor", v, chain_TT(&c, "aten::div.Tensor", g, norm));
        return chain_end(&c, w, out);
    }
    if (c.rc == 0)
        c.rc = dp_invoke(ctx, "aten::_weight_norm_interface", "TTi>TT", v, g, dim, &w, &norm);
    if (c.rc == 0) {
        chain_keep(&c, w);
        chain_keep(&c, norm);
    }
    return chain_end(&c, w, out);
}

static int check_ends(dp_ctx *ctx, dp_tensor *v, int64_t dim)
{
    DP_VIEW(x, v);
    if (x.ndim > 0 && (dim == 0 || dim == x.ndim - 1))
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "Expected dim to be the first or last dimension");
}

/* aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)
 * v * (g / norm), and the norm of v over all dimensions but dim, the first or the last. */
static int weight_norm_interface(dp_ctx *ctx, dp_tensor *v, dp_tensor *g, int64_t dim,
                                 dp_tensor **w, dp_tensor **norm)
{
    chain c = {.ctx = ctx, .rc = check_ends(ctx, v, dim)};
    DP_VIEW(x, v);
    DP_VIEW(y, g);
    bool wide = x.dtype == DP_BFLOAT16;

    if (c.rc == 0 && !wide && x.dtype != DP_FLOAT32 && x.dtype != DP_FLOAT64)
        c.rc = dp_fail(ctx, DP_ERUNTIME, "\"weight_norm_kernel\" not implemented for '%s'",
                       dp_dtype_name(x.dtype));
    if (c.rc == 0 && x.dtype != y.dtype)
        c.rc = dp_fail(ctx, DP_ERUNTIME, "expected scalar type %s but found %s",
                       dp_dtype_name(x.dtype), dp_dtype_name(y.dtype));
    dp_tensor *from = wide ? CHAIN(&c, "aten::to.dtype", "Ti>T", v, (int64_t)DP_FLOAT32) : v;
    dp_tensor *n = CHAIN(&c, "aten::norm_except_dim", "Tii>T", from, (int64_t)2, dim);
    n = CHAIN(&c, "aten::reshape", "Tli>T", n, y.sizes, (size_t)y.ndim);
    dp_tensor *t = chain_TT(&c, "aten::mul.Tensor", from, chain_TT(&c, "aten::div.Tensor", g, n));
    if (wide)
        t = CHAIN(&c, "aten::to.dtype", "Ti>T", t, (int64_t)x.dtype);
    if (c.rc == 0)
        *norm = dp_tensor_ref(n);
    return chain_end(&c, t, w);
}

/* aten::_weight_norm_interface_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g,
 *     Tensor saved_norms, int dim) -> (Tensor, Tensor), and _weight_norm_differentiable_backward */
static int weight_norm_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *v, dp_tensor *g,
                                dp_tensor *norms, int64_t dim, dp_tensor **dv, dp_tensor **dg)
{
    static const char *const names[] = {"grad_w", "saved_v", "saved_g", "saved_norms"};
    dp_tensor *const given[] = {grad, v, g, norms};
    chain c = {.ctx = ctx, .rc = check_ends(ctx, v, dim)};
    int64_t flat[2] = {-1, -1}, sizes[DP_DIM_MAX], along = dim == 0 ? 1 : 0;
    DP_VIEW(x, v);
    DP_VIEW(y, g);

    for (int i = 0; c.rc == 0 && i < 4; i++)
        if (!dp_tensor_is_contiguous(given[i], DP_CONTIGUOUS))
            c.rc = dp_fail(ctx, DP_ERUNTIME, "%s must be contiguous", names[i]);
    if (c.rc < 0)
        return c.rc;
    for (int i = 0; i < x.ndim; i++)
        sizes[i] = i == dim ? x.sizes[i] : 1;
    flat[dim == 0 ? 0 : 1] = x.sizes[dim];
    norms = CHAIN(&c, "aten::to.dtype", "Ti>T", norms, (int64_t)y.dtype);
    dp_tensor *sums = chain_TT(&c, "aten::mul.Tensor", grad, v);
    sums = CHAIN(&c, "aten::view", "Tli>T", sums, flat, (size_t)2);
    sums = CHAIN(&c, "aten::sum.dim_IntList", "Toli>T", sums, &along, (size_t)1);
    sums = CHAIN(&c, "aten::view", "Tli>T", sums, sizes, (size_t)x.ndim);
    dp_tensor *part =
        chain_TT(&c, "aten::div.Tensor", sums, chain_TT(&c, "aten::mul.Tensor", norms, norms));
    part = chain_TT(&c, "aten::sub.Tensor", grad, chain_TT(&c, "aten::mul.Tensor", v, part));
    part = chain_TT(&c, "aten::mul.Tensor", chain_TT(&c, "aten::div.Tensor", g, norms), part);
    dp_tensor *slope = chain_TT(&c, "aten::div.Tensor", sums, norms);
    if (c.rc == 0)
        *dg = dp_tensor_ref(slope);
    return chain_end(&c, part, dv);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("norm_except_dim", norm_except_dim, (T, i, i), (T)),
                DP_IMPL_UNBOXED("_weight_norm", weight_norm, (T, T, i), (T)))
DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("_weight_norm_interface", weight_norm_interface, (T, T, i), (T, T)),
                DP_IMPL_UNBOXED("_weight_norm_interface_backward", weight_norm_backward,
                                (T, T, T, T, i), (T, T)))
DP_KERNEL_FLAGS(weight_norm_differentiable, DP_FLAG_META, aten, CompositeImplicitAutograd,
                "_weight_norm_differentiable_backward", weight_norm_backward, (T, T, T, T, i),
                (T, T))
