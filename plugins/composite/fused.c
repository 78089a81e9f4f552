/* fused.c -- sums with an activation behind them, and gradients of activations, step by step where PyTorch has
 * one loop (aten/src/ATen/native/BinaryOps.cpp, LinearAlgebra.cpp, GatedLinearUnit.cpp, Activation.cpp). */
#include "chain.h"
#include <dispatchd/check.h>
#include <float.h>

/* -- _add_relu -- */

/* The largest value of a dtype; None for those that it has no loop for. */
static dp_value largest(dp_dtype dtype)
{
    switch (dtype) {
    case DP_UINT8:
        return dp_int(UINT8_MAX);
    case DP_INT8:
        return dp_int(INT8_MAX);
    case DP_INT16:
        return dp_int(INT16_MAX);
    case DP_INT32:
        return dp_int(INT32_MAX);
    case DP_INT64:
        return dp_int(INT64_MAX);
    case DP_FLOAT32:
        return dp_double(FLT_MAX);
    case DP_FLOAT64:
        return dp_double(DBL_MAX);
    default:
        return dp_none();
    }
}

/* aten::_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor */
static int add_relu(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_value alpha, dp_tensor **out)
{
    dp_tensor *both[] = {self, other};
    dp_dtype dtype = dp_result_type(both, 2);
    DP_VIEW(x, self);
    dp_value most = largest(x.dtype), bound = largest(dtype);

    if (most.tag == DP_TAG_NONE || x.dtype == DP_UINT8)
        return dp_fail(ctx, DP_ERUNTIME, "Unsupported datatype for add_relu: %s",
                       dp_dtype_name(x.dtype));
    if (bound.tag == DP_TAG_NONE)
        return dp_refuse_dtype(ctx, "add_clamp_cpu", dtype);
    if (as_double(bound) < as_double(most)) /* the other is a number of its kind, or larger */
        return dp_fail(ctx, DP_ERUNTIME,
                       "the largest %s cannot be converted to %s without overflow",
                       dp_dtype_name(x.dtype), dp_dtype_name(dtype));
    if (dp_dtype_is_integral(dtype, true) && alpha.tag == DP_TAG_DOUBLE)
        alpha = dp_int(as_int(alpha));
    int rc = dp_invoke(ctx, "aten::add.Tensor", "TTs>T", self, other, alpha, out);
    if (rc < 0)
        return rc;
    const dp_value least = dp_int(0);
    rc = dp_invoke(ctx, "aten::clamp_", "Tosos>", *out, &least, &most);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::_add_relu.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor */
static int add_relu_scalar(dp_ctx *ctx, dp_tensor *self, dp_value other, dp_value alpha,
                           dp_tensor **out)
{
    dp_tensor *number = NULL;
    int rc = wrap_scalar(ctx, other, &number);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::_add_relu.Tensor", "TTs>T", self, number, alpha, out);
    dp_tensor_unref(number);
    return rc;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("_add_relu.Tensor", add_relu, (T, T, s), (T)),
                DP_IMPL_UNBOXED("_add_relu.Scalar", add_relu_scalar, (T, s, s), (T)))

/* -- _addmm_activation -- */

static int activate(dp_ctx *ctx, int rc, bool gelu, dp_tensor *t)
{
    return rc < 0 ? rc : dp_invoke(ctx, gelu ? "aten::gelu_" : "aten::relu_", "T>", t);
}

/* aten::_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1,
 *     bool use_gelu=False) -> Tensor */
static int addmm_activation(dp_ctx *ctx, dp_tensor *self, dp_tensor *a, dp_tensor *b, dp_value beta,
                            dp_value alpha, bool gelu, dp_tensor **out)
{
    int rc = dp_invoke(ctx, "aten::addmm", "TTTss>T", self, a, b, beta, alpha, out);

    if (rc == 0 && (rc = activate(ctx, rc, gelu, *out)) < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::_addmm_activation.out(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1,
 *     bool use_gelu=False, Tensor(a!) out) -> Tensor(a!) */
static int addmm_activation_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *a, dp_tensor *b,
                                dp_value beta, dp_value alpha, bool gelu, dp_tensor *out)
{
    int rc = dp_invoke(ctx, "aten::addmm.out", "TTTssT>", self, a, b, beta, alpha, out);
    return activate(ctx, rc, gelu, out);
}

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("_addmm_activation", addmm_activation, (T, T, T, s, s, b), (T)),
                DP_IMPL_UNBOXED("_addmm_activation.out", addmm_activation_out,
                                (T, T, T, s, s, b, T), ()))

/* -- glu, forwards -- */

/* Half i of t along dim, of n each. */
static dp_tensor *half(chain *c, dp_tensor *t, int64_t dim, int i, int64_t n)
{
    return CHAIN(c, "aten::narrow", "Tiii>T", t, dim, i * n, n);
}

/* t's size at dim, which is brought into x's range; fails the chain where t has none. */
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

/* aten::glu_backward_jvp(Tensor grad_x, Tensor grad_glu, Tensor x, Tensor dgrad_glu, Tensor dx, int dim)
 *     -> Tensor */
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

/* -- gradients -- */

static int check_prelu(dp_ctx *ctx, const dp_view *g, const dp_view *x, const dp_view *w)
{
    int64_t channels = x->ndim > 1 ? x->sizes[1] : 1;

    if (x->dtype != DP_FLOAT32 && x->dtype != DP_FLOAT64 && x->dtype != DP_BFLOAT16)
        return dp_refuse_dtype(ctx, "prelu_backward_cpu", x->dtype);
    if (g->dtype != x->dtype || (w->dtype != x->dtype && x->dtype != DP_BFLOAT16))
        return dp_fail(ctx, DP_ERUNTIME, "Found dtype %s but expected %s",
                       dp_dtype_aten_name(g->dtype != x->dtype ? g->dtype : w->dtype),
                       dp_dtype_aten_name(x->dtype));
    if (w->ndim > 1)
        return dp_fail(ctx, DP_ERUNTIME, "a weight of prelu has at most 1 dimension, not %d",
                       w->ndim);
    if (w->numel != 1 && w->numel != channels)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Mismatch of parameter numbers and input channel size. Found parameter "
                       "numbers = %" PRId64 " and channel size = %" PRId64 ".",
                       w->numel, channels);
    return 0;
}

/* The sum over all dimensions but that of channels, or over all if the weight is one number; in its shape. */
static dp_tensor *sum_channels(chain *c, dp_tensor *t, const dp_view *w)
{
    int64_t dims[DP_DIM_MAX];
    size_t n = 0;

    if (c->rc < 0)
        return NULL;
    DP_VIEW(x, t);
    for (int d = 0; d < x.ndim; d++)
        if (d != 1 || w->numel == 1)
            dims[n++] = d;
    t = CHAIN(c, "aten::sum.dim_IntList", "Tolib>T", t, dims, n, (int)false);
    return CHAIN(c, "aten::reshape", "Tli>T", t, w->sizes, (size_t)w->ndim);
}

/* aten::prelu_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor) */
static int prelu_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *weight,
                          dp_tensor **slope, dp_tensor **weight_slope)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(g, grad);
    DP_VIEW(x, self);
    DP_VIEW(v, weight);
    chain c = {.ctx = ctx, .rc = check_prelu(ctx, &g, &x, &v)};

    for (int d = 0; d < x.ndim; d++)
        sizes[d] = d == 1 ? v.numel : 1;
    size_t ndim = v.numel == 1 ? 0 : (size_t)x.ndim;
    dp_tensor *w = CHAIN(&c, "aten::to.dtype", "Ti>T", weight, (int64_t)x.dtype);
    w = CHAIN(&c, "aten::reshape", "Tli>T", w, sizes, ndim);
    dp_tensor *up = chain_Ts(&c, "aten::gt.Scalar", self, dp_int(0));
    dp_tensor *to_self = CHAIN(&c, "aten::where.self", "TTT>T", up, grad, chain_mul(&c, w, grad));
    dp_tensor *to_weight =
        CHAIN(&c, "aten::where.ScalarSelf", "TsT>T", up, dp_int(0), chain_mul(&c, self, grad));
    to_self = CHAIN(&c, "aten::contiguous", "T>T", to_self);
    to_weight = sum_channels(&c, to_weight, &v);
    if (c.rc == 0)
        *weight_slope = dp_tensor_ref(to_weight);
    return chain_end(&c, to_self, slope);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("prelu_backward", prelu_backward, (T, T, T), (T, T)))

/* aten::infinitely_differentiable_gelu_backward(Tensor grad, Tensor self) -> Tensor
 * grad (cdf + self pdf) of a normal distribution */
static int gelu_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    const double scale = M_2_SQRTPI * M_SQRT1_2 * 0.5;
    dp_tensor *erf =
        chain_T(&c, "aten::erf", chain_Ts(&c, "aten::mul.Scalar", self, dp_double(M_SQRT1_2)));
    dp_tensor *cdf = chain_Ts(&c, "aten::mul.Scalar",
                              chain_Ts(&c, "aten::add.Scalar", erf, dp_double(1)), dp_double(0.5));
    dp_tensor *square =
        chain_mul(&c, chain_Ts(&c, "aten::mul.Scalar", self, dp_double(-0.5)), self);
    dp_tensor *pdf = chain_T(&c, "aten::exp", square);
    cdf = CHAIN(&c, "aten::addcmul", "TTTs>T", cdf, self, pdf, dp_double(scale));
    return chain_end(&c, chain_mul(&c, cdf, grad), out);
}

/* aten::_test_serialization_subcmul(Tensor self, Tensor other, Scalar alpha=1) -> Tensor */
static int subcmul(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_value alpha, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    return chain_end(&c, chain_sub(&c, self, chain_Ts(&c, "aten::mul.Scalar", other, alpha)), out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("infinitely_differentiable_gelu_backward", gelu_backward, (T, T),
                                (T)),
                DP_IMPL_UNBOXED("_test_serialization_subcmul", subcmul, (T, T, s), (T)))
