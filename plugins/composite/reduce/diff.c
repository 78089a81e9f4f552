/* diff.c -- the operator diff, the n-th difference of neighbouring elements along a dimension
 * (aten/src/ATen/native/ReduceOps.cpp). */
#include "core/chain.h"

/* Check that `other`, which is prepended or appended to self along `dim`, has the sizes of self in
 * the other dimensions.  `x` is the view of self.  DP_ERUNTIME: the sizes differ. */
static int check_joined(dp_ctx *ctx, const dp_view *x, dp_tensor *other, int64_t dim)
{
    if (other == NULL)
        return 0;
    DP_VIEW(o, other);
    if (o.ndim != x->ndim)
        return dp_fail(ctx, DP_ERUNTIME,
                       "diff expects prepend or append to be the same dimension as input");
    for (int d = 0; d < x->ndim; d++)
        if (d != dim && o.sizes[d] != x->sizes[d])
            return dp_fail(
                ctx, DP_ERUNTIME,
                "diff expects the shape of tensor to prepend or append to match that of "
                "input except along the differencing dimension; input.size(%d) = %" PRId64
                ", but got tensor.size(%d) = %" PRId64,
                d, x->sizes[d], d, o.sizes[d]);
    return 0;
}

static dp_tensor *joined(chain *c, dp_tensor *before, dp_tensor *t, dp_tensor *after, int64_t dim)
{
    dp_tensor *list[3];
    size_t n = 0;

    for (int i = 0; i < 3; i++) {
        dp_tensor *next = i == 0 ? before : i == 1 ? t : after;
        if (next != NULL)
            list[n++] = next;
    }
    return n < 2 ? t : CHAIN(c, "aten::cat", "lTi>T", list, n, dim);
}

/* Return the `n`th differences of neighbouring elements of `t` along `dim`; n is at most the size
 * of that dimension.  If `out` is not NULL, write the differences to `out` and return NULL. */
static dp_tensor *differences(chain *c, dp_tensor *t, int64_t n, int64_t dim, dp_tensor *out)
{
    DP_VIEW(x, t);
    bool logical = x.dtype == DP_BOOL;

    if (n > x.sizes[dim])
        n = x.sizes[dim];
    if (n == 0 && out != NULL) /* PyTorch, too, fails by narrow, and only with out= */
        return CHAIN(c, "aten::narrow", "Tiii>T", t, dim, (int64_t)1, (int64_t)0);
    for (int64_t i = 0, left = x.sizes[dim] - 1; c->rc == 0 && i < n; i++, left--) {
        chain own = {.ctx = c->ctx};
        bool last = out != NULL && i == n - 1;
        dp_tensor *made = NULL;
        dp_tensor *upper = CHAIN(&own, "aten::narrow", "Tiii>T", t, dim, (int64_t)1, left);
        dp_tensor *lower = CHAIN(&own, "aten::narrow", "Tiii>T", t, dim, (int64_t)0, left);
        if (own.rc == 0 && last)
            own.rc =
                logical ? dp_invoke(c->ctx, "aten::logical_xor.out", "TTT>", upper, lower, out)
                        : dp_invoke(c->ctx, "aten::sub.out", "TTsT>", upper, lower, dp_int(1), out);
        else
            made = chain_TT(&own, logical ? "aten::logical_xor" : "aten::sub.Tensor", upper, lower);
        c->rc = chain_end(&own, made, last ? NULL : &made);
        if (i > 0)
            dp_tensor_unref(t);
        t = c->rc == 0 && !last ? made : NULL;
    }
    return c->rc == 0 && n > 0 && t != NULL ? chain_keep(c, t) : t;
}

static int run_diff(dp_ctx *ctx, dp_tensor *self, int64_t n, int64_t dim, dp_tensor *before,
                    dp_tensor *after, dp_tensor *given, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);

    if (x.ndim < 1)
        return dp_fail(ctx, DP_ERUNTIME, "diff expects input to be at least one-dimensional");
    int rc = n != 0 || before || after ? wrap_dim(ctx, &dim, x.ndim) : 0;
    if (rc == 0)
        rc = check_joined(ctx, &x, before, dim);
    if (rc == 0)
        rc = check_joined(ctx, &x, after, dim);
    if (rc < 0)
        return rc;
    dp_tensor *t = n != 0 ? joined(&c, before, self, after, dim) : self;
    if (c.rc == 0 && n > 0) {
        t = differences(&c, t, n, dim, given);
        return chain_end(&c, t, given ? NULL : out);
    }
    if (c.rc == 0 && given != NULL) {
        c.rc = give_out(ctx, 0, dp_tensor_ref(t), given);
        return chain_end(&c, NULL, NULL);
    }
    return chain_end(&c, CHAIN(&c, "aten::clone", "T>T", t), out);
}

/* aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) ->
 * Tensor */
static int diff(dp_ctx *ctx, dp_tensor *self, int64_t n, int64_t dim, dp_tensor *before,
                dp_tensor *after, dp_tensor **out)
{
    return run_diff(ctx, self, n, dim, before, after, NULL, out);
}

/* aten::diff.out(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None, *,
 *     Tensor(a!) out) -> Tensor(a!) */
static int diff_out(dp_ctx *ctx, dp_tensor *self, int64_t n, int64_t dim, dp_tensor *before,
                    dp_tensor *after, dp_tensor *out)
{
    return run_diff(ctx, self, n, dim, before, after, out, NULL);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("diff", diff, (T, i, i, oT, oT), (T)),
                DP_IMPL_UNBOXED("diff.out", diff_out, (T, i, i, oT, oT, T), ()))
