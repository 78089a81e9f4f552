/* cumulative.c -- cummax, cummin and logcumsumexp, which call backend kernels such as
 * _cummax_helper, and cumprod_backward (aten/src/ATen/native/ReduceOps.cpp). */
#include "core/chain.h"

/* Call `helper` to fill `values` and `indices`, which have the shape of `self`. */
static int extremes(dp_ctx *ctx, const char *helper, dp_tensor *self, int64_t dim,
                    dp_tensor *values, dp_tensor *indices)
{
    DP_VIEW(x, self);

    if (x.ndim > 0) /* as in PyTorch, `dim` of an empty or 0-dim tensor is not checked */
        return x.numel ? dp_invoke(ctx, helper, "TTTi>", self, values, indices, dim) : 0;
    int rc = dp_invoke(ctx, "aten::fill_.Tensor", "TT>", values, self);
    return rc == 0 ? dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", indices, dp_int(0)) : rc;
}

static int extremes_new(dp_ctx *ctx, const char *helper, dp_tensor *self, int64_t dim,
                        dp_tensor **values, dp_tensor **indices)
{
    int rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_CONTIGUOUS, values);

    if (rc < 0)
        return rc;
    rc = dp_empty_like(ctx, self, DP_INT64, DP_CONTIGUOUS, indices);
    if (rc == 0)
        rc = extremes(ctx, helper, self, dim, *values, *indices);
    if (rc < 0) {
        *values = dp_tensor_unref(*values);
        *indices = dp_tensor_unref(*indices);
    }
    return rc;
}

static int extremes_into(dp_ctx *ctx, const char *helper, dp_tensor *self, int64_t dim,
                         dp_tensor *values, dp_tensor *indices)
{
    DP_VIEW(x, self);
    int rc = dp_set_output(ctx, &values, x.ndim, x.sizes, NULL, x.dtype, x.device);

    if (rc == 0)
        rc = dp_set_output(ctx, &indices, x.ndim, x.sizes, NULL, DP_INT64, x.device);
    return rc < 0 ? dp_refuse(ctx, rc, NULL) : extremes(ctx, helper, self, dim, values, indices);
}

#define EXTREMES(name)                                                                             \
    static int name(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor **values,                 \
                    dp_tensor **indices)                                                           \
    {                                                                                              \
        return extremes_new(ctx, "aten::_" #name "_helper", self, dim, values, indices);           \
    }                                                                                              \
    static int name##_out(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *values,            \
                          dp_tensor *indices)                                                      \
    {                                                                                              \
        return extremes_into(ctx, "aten::_" #name "_helper", self, dim, values, indices);          \
    }
EXTREMES(cummax)
EXTREMES(cummin)

/* aten::logcumsumexp(Tensor self, int dim) -> Tensor */
static int logcumsumexp(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::_logcumsumexp", "Ti>T", self, dim, out);
}

/* aten::logcumsumexp.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!) */
static int logcumsumexp_out(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *out)
{
    return dp_invoke(ctx, "aten::_logcumsumexp.out", "TiT>", self, dim, out);
}

/* -- the gradient of cumprod (aten/src/ATen/native/ReduceOps.cpp) -- */

/* Return the sum of each element of `t` and all later elements along `dim`. */
static dp_tensor *sum_from(chain *c, dp_tensor *t, int64_t dim)
{
    t = CHAIN(c, "aten::flip", "Tli>T", t, &dim, (size_t)1);
    t = CHAIN(c, "aten::cumsum", "Ti>T", t, dim);
    return CHAIN(c, "aten::flip", "Tli>T", t, &dim, (size_t)1);
}

/* Return `t` where `mask` is true, and `value` elsewhere. */
static dp_tensor *masked(chain *c, dp_tensor *t, dp_tensor *mask, double value)
{
    dp_tensor *unmasked = chain_T(c, "aten::logical_not", mask);
    return CHAIN(c, "aten::masked_fill.Scalar", "TTs>T", t, unmasked, dp_double(value));
}

/* Return the gradient at the first zero of each 1-d slice along `dim`, and set *mask to true at
 * these zeros, else false.  The gradient is the product of the elements before the zero, times the
 * sum of grad[i] * (product of the elements after the zero up to and including i) for all i from
 * the zero to the last element before the next zero.  The caller sets the gradient of all later
 * elements to 0. */
static dp_tensor *at_first_zero(chain *c, dp_tensor *grad, dp_tensor *input, dp_tensor *output,
                                dp_tensor *zeros_so_far, int64_t dim, dp_tensor **mask)
{
    dp_tensor *one = chain_Ts(c, "aten::eq.Scalar", zeros_so_far, dp_int(1));
    dp_tensor *where =
        CHAIN(c, "aten::argmax", "Toib>T",
              CHAIN(c, "aten::to.dtype", "Ti>T", one, (int64_t)DP_UINT8), &dim, (int)true);
    dp_tensor *none = CHAIN(c, "aten::zeros_like", "T>T", one);
    dp_tensor *first = CHAIN(c, "aten::scatter.value", "TiTs>T", none, dim, where, dp_int(1));
    *mask = chain_TT(c, "aten::logical_and", first, one);
    dp_tensor *between =
        chain_TT(c, "aten::logical_and", one, chain_T(c, "aten::logical_not", *mask));
    dp_tensor *products = CHAIN(c, "aten::cumprod", "Ti>T", masked(c, input, between, 1), dim);
    dp_tensor *sum = chain_TT(c, "aten::mul.Tensor", products, masked(c, grad, one, 0));
    sum = CHAIN(c, "aten::sum.dim_IntList", "Tolib>T", sum, &dim, (size_t)1, (int)true);
    dp_tensor *before = chain_T(c, "aten::relu", chain_Ts(c, "aten::sub.Scalar", where, dp_int(1)));
    before = CHAIN(c, "aten::gather", "TiT>T", output, dim, before);
    before = masked(c, before, chain_Ts(c, "aten::ne.Scalar", where, dp_int(0)), 1);
    return chain_TT(c, "aten::mul.Tensor", sum, before);
}

/* Is an element of `zeros` true?  Of tensors without memory that is not known: what is computed if
 * it is so is right in any case. */
static bool has_zeros(chain *c, dp_tensor *zeros)
{
    dp_value v = dp_none();

    if (dp_memoryless(c->ctx))
        return true;
    dp_tensor *any = chain_T(c, "aten::any", zeros);
    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, "aten::item", "T>s", any, &v);
    return c->rc == 0 && v.tag == DP_TAG_BOOL && v.u.b;
}

/* aten::cumprod_backward(Tensor grad, Tensor input, int dim, Tensor output) -> Tensor */
static int cumprod_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *input, int64_t dim,
                            dp_tensor *output, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *mask = NULL;
    DP_VIEW(x, input);

    if (x.numel > 1)
        c.rc = wrap_dim(ctx, &dim, x.ndim);
    if (c.rc < 0 || x.numel <= 1 || x.sizes[dim] == 1)
        return chain_end(&c, grad, out);
    dp_tensor *zeros = chain_Ts(&c, "aten::eq.Scalar", input, dp_int(0));
    input = chain_T(&c, "aten::conj_physical", input);
    output = chain_T(&c, "aten::conj_physical", output);
    dp_tensor *w = chain_TT(&c, "aten::mul.Tensor", output, grad);
    if (!has_zeros(&c, zeros))
        return chain_end(&c, chain_TT(&c, "aten::div_.Tensor", sum_from(&c, w, dim), input), out);
    dp_tensor *so_far = CHAIN(&c, "aten::cumsum", "Ti>T", zeros, dim);
    dp_tensor *front = chain_Ts(&c, "aten::eq.Scalar", so_far, dp_int(0));
    w = chain_TT(&c, "aten::div_.Tensor", sum_from(&c, masked(&c, w, front, 0), dim), input);
    dp_tensor *result = masked(&c, w, front, 0);
    dp_tensor *at = at_first_zero(&c, grad, input, output, so_far, dim, &mask);
    return chain_end(&c, CHAIN(&c, "aten::where.self", "TTT>T", mask, at, result), out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("cumprod_backward", cumprod_backward, (T, T, i, T), (T)))
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("logcumsumexp", logcumsumexp, (T, i), (T)),
                DP_IMPL_UNBOXED("logcumsumexp.out", logcumsumexp_out, (T, i, T), ()),
                DP_IMPL_UNBOXED("cummax", cummax, (T, i), (T, T)),
                DP_IMPL_UNBOXED("cummax.out", cummax_out, (T, i, T, T), ()),
                DP_IMPL_UNBOXED("cummin", cummin, (T, i), (T, T)),
                DP_IMPL_UNBOXED("cummin.out", cummin_out, (T, i, T, T), ()))
