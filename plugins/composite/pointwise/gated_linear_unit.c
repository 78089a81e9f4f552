/* gated_linear_unit.c -- glu_jvp and glu_backward_jvp, the forward-mode derivatives of glu and of
 * its gradient (aten/src/ATen/native/GatedLinearUnit.cpp). */
#include "core/chain.h"
#include <dispatchd/check.h>

/* Return half `i` of `t` along dim; a half has `n` elements. */
static dp_tensor *half(chain *c, dp_tensor *t, int64_t dim, int i, int64_t n)
{
    return CHAIN(c, "aten::narrow", "Tiii>T", t, dim, i * n, n);
}

/* Return the size of `t` in *dim, which is wrapped for x.  The chain fails if t has no such
 * dimension. */
static int64_t size_at(chain *c, dp_tensor *x, dp_tensor *t, int64_t *dim)
{
    int64_t n = 0;
    DP_VIEW(v, x);

    c->rc = wrap_dim(c->ctx, dim, v.ndim);
    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, "aten::size.int", "Ti>i", t, *dim, &n);
    return n;
}

/* aten::glu_jvp(Tensor glu, Tensor x, Tensor dx, int dim) -> Tensor */
static int glu_jvp(dp_ctx *ctx, dp_tensor *glu, dp_tensor *x, dp_tensor *dx, int64_t dim,
                   dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *made = NULL;
    DP_VIEW(g, glu);
    DP_VIEW(v, x);
    DP_VIEW(d, dx);
    int64_t n = size_at(&c, x, glu, &dim);

    if (c.rc < 0)
        return c.rc;
    if (g.dtype != v.dtype || g.dtype != d.dtype)
        return dp_fail(ctx, DP_ERUNTIME,
                       "expected glu, x and dx of one dtype, but got %s, %s and %s",
                       dp_dtype_name(g.dtype), dp_dtype_name(v.dtype), dp_dtype_name(d.dtype));
    if (g.dtype != DP_FLOAT32 && g.dtype != DP_FLOAT64)
        return dp_refuse_dtype(ctx, "glu_jvp_cpu", g.dtype);
    dp_tensor *s = chain_T(&c, "aten::sigmoid", half(&c, x, dim, 1, n));
    dp_tensor *da = half(&c, dx, dim, 0, n), *db = half(&c, dx, dim, 1, n);
    dp_tensor *first = chain_mul(&c, da, s),
              *second = chain_mul(&c, glu, chain_sub(&c, db, chain_mul(&c, s, db)));
    if (c.rc == 0)
        c.rc = dp_empty_like(ctx, glu, DP_DTYPE_NONE, DP_PRESERVE, &made);
    if (c.rc == 0)
        c.rc = dp_invoke(ctx, "aten::add.out", "TTsT>", first, second, dp_int(1),
                         chain_keep(&c, made));
    return chain_end(&c, made, out);
}

/* aten::glu_backward_jvp(Tensor grad_x, Tensor grad_glu, Tensor x, Tensor dgrad_glu, Tensor dx, int
 *     dim) -> Tensor */
static int glu_backward_jvp(dp_ctx *ctx, dp_tensor *grad_x, dp_tensor *grad_glu, dp_tensor *x,
                            dp_tensor *dgrad_glu, dp_tensor *dx, int64_t dim, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    int64_t n = size_at(&c, x, grad_glu, &dim);
    dp_tensor *a = half(&c, x, dim, 0, n), *b = half(&c, x, dim, 1, n);
    dp_tensor *da = half(&c, dx, dim, 0, n), *db = half(&c, dx, dim, 1, n);
    dp_tensor *grad_a = half(&c, grad_x, dim, 0, n);
    dp_tensor *s = chain_T(&c, "aten::sigmoid", b), *glu = chain_mul(&c, a, s);
    dp_tensor *rest = chain_sub(&c, db, chain_mul(&c, db, s)); /* db (1 - s) */

    dp_tensor *first = chain_add(&c, chain_mul(&c, dgrad_glu, s), chain_mul(&c, grad_a, rest));
    dp_tensor *slope = chain_sub(&c, da, chain_mul(&c, da, s));
    dp_tensor *second =
        chain_add(&c, chain_mul(&c, first, chain_sub(&c, a, glu)),
                  chain_mul(&c, grad_a, chain_sub(&c, slope, chain_mul(&c, glu, rest))));
    dp_tensor *const parts[] = {first, second};
    return chain_end(&c, CHAIN(&c, "aten::cat", "lTi>T", parts, (size_t)2, dim), out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("glu_jvp", glu_jvp, (T, T, T, i), (T)),
                DP_IMPL_UNBOXED("glu_backward_jvp", glu_backward_jvp, (T, T, T, T, T, i), (T)))
