/* quantile.c -- the operators quantile and nanquantile (aten/src/ATen/native/Sorting.cpp). */
#include "core/chain.h"
#include <string.h>

enum { LINEAR, LOWER, HIGHER, MIDPOINT, NEAREST, MODES };

/* arguments of a call */
typedef struct quantile_call {
    dp_ctx *ctx;
    dp_tensor *self, *q;
    const int64_t *dim; /* dimension to reduce; NULL: all dimensions */
    bool keepdim, ignore_nan;
    dp_str interpolation;
    int mode;
    int64_t at; /* *dim, wrapped to [0, ndim), or 0 if `dim` is NULL */
} quantile_call;

static int find_mode(quantile_call *p)
{
    static const char *const names[MODES] = {"linear", "lower", "higher", "midpoint", "nearest"};

    for (p->mode = 0; p->mode < MODES; p->mode++)
        if (p->interpolation.len == strlen(names[p->mode]) &&
            memcmp(p->interpolation.s, names[p->mode], p->interpolation.len) == 0)
            return 0;
    return dp_fail(p->ctx, DP_ERUNTIME,
                   "quantile() interpolation must be one of linear, lower, higher, midpoint or "
                   "nearest, but got %.*s",
                   (int)p->interpolation.len, p->interpolation.s);
}

static int check_quantile(quantile_call *p)
{
    DP_VIEW(x, p->self);
    DP_VIEW(q, p->q);
    int rc = find_mode(p);

    if (rc < 0)
        return rc;
    if (x.numel == 0)
        return dp_fail(p->ctx, DP_ERUNTIME, "quantile() input tensor must be non-empty");
    if (q.ndim > 1)
        return dp_fail(p->ctx, DP_ERUNTIME, "quantile() q must be a scalar or 1D tensor");
    if (x.dtype != DP_FLOAT32 && x.dtype != DP_FLOAT64)
        return dp_fail(p->ctx, DP_ERUNTIME,
                       "quantile() input tensor must be either float or double dtype");
    if (x.dtype != q.dtype)
        return dp_fail(p->ctx, DP_ERUNTIME,
                       "quantile() q tensor must be same dtype as the input tensor");
    p->at = p->dim ? *p->dim : 0;
    return wrap_dim(p->ctx, &p->at, x.ndim);
}

/* Return self sorted along the reduced dimension, which becomes the last dimension, as a tensor
 * [.., n].  The dimensions before n are the dimensions of the result: the reduced dimension is left
 * out, or has size 1 with keepdim. */
static dp_tensor *sorted_lines(chain *c, const quantile_call *p)
{
    int64_t sizes[DP_DIM_MAX], any = -1;
    size_t n = 0;
    bool stable = true;
    dp_tensor *t = p->self, *indices = NULL, *sorted = NULL;
    DP_VIEW(x, p->self);

    for (int d = 0; d < x.ndim; d++)
        if (p->keepdim || (p->dim && d != p->at))
            sizes[n++] = p->dim && d != p->at ? x.sizes[d] : 1;
    sizes[n++] = p->dim && x.ndim ? x.sizes[p->at] : x.numel;
    if (n > DP_DIM_MAX - 1)
        chain_fail(c, DP_ERUNTIME, "quantile() of a tensor of %d dimensions", x.ndim);
    if (p->dim == NULL || x.ndim == 0)
        t = CHAIN(c, "aten::reshape", "Tli>T", t, &any, (size_t)1);
    else if (p->at != x.ndim - 1) {
        t = CHAIN(c, "aten::unsqueeze", "Ti>T", t, (int64_t)-1);
        t = CHAIN(c, "aten::transpose.int", "Tii>T", t, p->at, (int64_t)-1);
    }
    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, "aten::sort.stable", "Tobib>TT", t, &stable, (int64_t)-1,
                          (int)false, &sorted, &indices);
    if (c->rc < 0)
        return NULL;
    chain_keep(c, indices);
    return CHAIN(c, "aten::reshape", "Tli>T", chain_keep(c, sorted), sizes, n);
}

/* Return the ranks (indices, perhaps fractional) of the quantiles in the last dimension of
 * `sorted`, as a tensor [.., number of q].  If a 1-d slice of `sorted` along that dimension has a
 * NaN, the rank is the index of the slice's last element, which is NaN; with ignore_nan, NaNs do
 * not count. */
static dp_tensor *ranks_of(chain *c, const quantile_call *p, dp_tensor *sorted)
{
    int64_t last = -1;
    DP_VIEW(s, sorted);
    dp_tensor *nan = CHAIN(c, "aten::isnan", "T>T", sorted);

    if (p->ignore_nan) {
        dp_tensor *numbers = CHAIN(c, "aten::logical_not", "T>T", nan);
        numbers =
            CHAIN(c, "aten::sum.dim_IntList", "Tolib>T", numbers, &last, (size_t)1, (int)true);
        dp_tensor *r = chain_TT(c, "aten::mul.Tensor", p->q,
                                chain_Ts(c, "aten::sub.Scalar", numbers, dp_int(1)));
        dp_tensor *none = chain_Ts(c, "aten::lt.Scalar", r, dp_int(0));
        return CHAIN(c, "aten::masked_fill.Scalar", "TTs>T", r, none, dp_int(0));
    }
    dp_value end = dp_int(s.sizes[s.ndim - 1] - 1);
    dp_tensor *r = chain_Ts(c, "aten::mul.Scalar", p->q, end);
    dp_tensor *some = CHAIN(c, "aten::any.dim", "Tib>T", nan, (int64_t)-1, (int)true);
    return CHAIN(c, "aten::masked_fill.Scalar", "TTs>T", r, some, end);
}

static dp_tensor *elements_at(chain *c, dp_tensor *sorted, dp_tensor *ranks)
{
    dp_tensor *at = CHAIN(c, "aten::to.dtype", "Ti>T", ranks, (int64_t)DP_INT64);
    return CHAIN(c, "aten::gather", "TiT>T", sorted, (int64_t)-1, at);
}

/* Return the elements of `sorted` at `ranks`.  p->mode says whether a rank between two elements is
 * rounded, or the two elements are interpolated. */
static dp_tensor *interpolate(chain *c, const quantile_call *p, dp_tensor *sorted, dp_tensor *ranks)
{
    static const char *const rounding[MODES] = {
        [LOWER] = "aten::floor", [HIGHER] = "aten::ceil", [NEAREST] = "aten::round"};

    if (rounding[p->mode])
        return elements_at(c, sorted, CHAIN(c, rounding[p->mode], "T>T", ranks));
    dp_tensor *whole = CHAIN(c, "aten::trunc", "T>T", ranks);
    dp_tensor *below = elements_at(c, sorted, whole);
    dp_tensor *above = elements_at(c, sorted, CHAIN(c, "aten::ceil", "T>T", ranks));
    dp_tensor *weight = p->mode == MIDPOINT
                            ? CHAIN(c, "aten::full_like", "Ts>T", ranks, dp_double(0.5))
                            : chain_TT(c, "aten::sub.Tensor", ranks, whole);
    return CHAIN(c, "aten::lerp.Tensor", "TTT>T", below, above, weight);
}

static dp_tensor *compute(chain *c, const quantile_call *p)
{
    DP_VIEW(q, p->q);
    dp_tensor *low = chain_Ts(c, "aten::ge.Scalar", p->q, dp_int(0));
    dp_tensor *high = chain_Ts(c, "aten::le.Scalar", p->q, dp_int(1));
    dp_tensor *all = CHAIN(c, "aten::all", "T>T", chain_TT(c, "aten::logical_and", low, high));

    if (!chain_is_true(c, all))
        chain_fail(c, DP_ERUNTIME, "quantile() q values must be in the range [0, 1]");
    dp_tensor *sorted = sorted_lines(c, p);
    if (c->rc < 0)
        return NULL;
    DP_VIEW(s, sorted);
    if (s.sizes[s.ndim - 1] > 1 << 24)
        chain_fail(c, DP_ERUNTIME, "quantile() input tensor is too large");
    dp_tensor *t = interpolate(c, p, sorted, ranks_of(c, p, sorted));
    if (q.ndim == 0)
        return CHAIN(c, "aten::squeeze.dim", "Ti>T", t, (int64_t)-1);
    t = CHAIN(c, "aten::unsqueeze", "Ti>T", t, (int64_t)0);
    t = CHAIN(c, "aten::transpose.int", "Tii>T", t, (int64_t)0, (int64_t)-1);
    return CHAIN(c, "aten::squeeze.dim", "Ti>T", t, (int64_t)-1);
}

/* Compute the quantiles into `out`, or into a new tensor *made if `out` is NULL. */
static int run_quantile(quantile_call *p, dp_tensor *out, dp_tensor **made)
{
    chain c = {.ctx = p->ctx};
    int rc = check_quantile(p);

    if (rc == 0 && out != NULL) {
        DP_VIEW(y, out);
        DP_VIEW(x, p->self);
        if (y.dtype != x.dtype)
            rc = dp_fail(p->ctx, DP_ERUNTIME,
                         "quantile() out tensor must be same dtype as the input tensor");
    }
    if (rc < 0)
        return dp_refuse(p->ctx, rc, NULL);
    rc = chain_end(&c, compute(&c, p), made);
    if (out == NULL)
        return rc;
    return give_out(p->ctx, rc, *made, out);
}

/* Run run_quantile() with the number `q`, which is converted to a tensor. */
static int scalar_quantile(quantile_call *p, double q, dp_tensor *out, dp_tensor **made)
{
    DP_VIEW(x, p->self);

    if (!(q >= 0 && q <= 1))
        return dp_refuse(p->ctx, DP_ERUNTIME, "quantile() q must be in the range [0, 1] but got %g",
                         q);
    chain c = {.ctx = p->ctx};
    int rc = call_scalar_tensor(p->ctx, dp_double(q), x.dtype, DP_DEVICE_CPU, &p->q);
    if (rc < 0)
        return rc;
    p->q = chain_move(&c, p->q, x.device);
    if (c.rc == 0)
        c.rc = run_quantile(p, out, made);
    return chain_end(&c, NULL, NULL);
}

/* The kernels of the overloads default, out, scalar and scalar_out of an operator:
 * aten::quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *,
 *     str interpolation="linear") -> Tensor
 * `out` adds the argument `out`; in the scalar overloads, q is a float. */
#define QUANTILE(name, nan)                                                                        \
    static int name(dp_ctx *ctx, dp_tensor *self, dp_tensor *q, const int64_t *dim, bool keepdim,  \
                    dp_str interpolation, dp_tensor **out)                                         \
    {                                                                                              \
        quantile_call p = {ctx, self, q, dim, keepdim, nan, interpolation, 0, 0};                  \
        return run_quantile(&p, NULL, out);                                                        \
    }                                                                                              \
    static int name##_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *q, const int64_t *dim,          \
                          bool keepdim, dp_str interpolation, dp_tensor *out)                      \
    {                                                                                              \
        dp_tensor *made = NULL;                                                                    \
        quantile_call p = {ctx, self, q, dim, keepdim, nan, interpolation, 0, 0};                  \
        return run_quantile(&p, out, &made);                                                       \
    }                                                                                              \
    static int name##_scalar(dp_ctx *ctx, dp_tensor *self, double q, const int64_t *dim,           \
                             bool keepdim, dp_str interpolation, dp_tensor **out)                  \
    {                                                                                              \
        quantile_call p = {ctx, self, NULL, dim, keepdim, nan, interpolation, 0, 0};               \
        return scalar_quantile(&p, q, NULL, out);                                                  \
    }                                                                                              \
    static int name##_scalar_out(dp_ctx *ctx, dp_tensor *self, double q, const int64_t *dim,       \
                                 bool keepdim, dp_str interpolation, dp_tensor *out)               \
    {                                                                                              \
        dp_tensor *made = NULL;                                                                    \
        quantile_call p = {ctx, self, NULL, dim, keepdim, nan, interpolation, 0, 0};               \
        return scalar_quantile(&p, q, out, &made);                                                 \
    }
QUANTILE(quantile, false)
QUANTILE(nanquantile, true)

DP_LIBRARY_META(
    aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("quantile", quantile, (T, T, oi, b, S), (T)),
    DP_IMPL_UNBOXED("quantile.out", quantile_out, (T, T, oi, b, S, T), ()),
    DP_IMPL_UNBOXED("quantile.scalar", quantile_scalar, (T, f, oi, b, S), (T)),
    DP_IMPL_UNBOXED("quantile.scalar_out", quantile_scalar_out, (T, f, oi, b, S, T), ()),
    DP_IMPL_UNBOXED("nanquantile", nanquantile, (T, T, oi, b, S), (T)),
    DP_IMPL_UNBOXED("nanquantile.out", nanquantile_out, (T, T, oi, b, S, T), ()),
    DP_IMPL_UNBOXED("nanquantile.scalar", nanquantile_scalar, (T, f, oi, b, S), (T)),
    DP_IMPL_UNBOXED("nanquantile.scalar_out", nanquantile_scalar_out, (T, f, oi, b, S, T), ()))
