/* statistics.c -- quantiles, covariances, histogramdd
 * (aten/src/ATen/native/Sorting.cpp, Correlation.cpp, Histogram.cpp). */
#include "chain.h"
#include <string.h>

/* Is a 0-dim tensor of bool true? */
static bool is_true(chain *c, dp_tensor *t)
{
    dp_value v = dp_none();

    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, "aten::item", "T>s", t, &v);
    return c->rc == 0 && v.u.b;
}

/* -- quantiles -- */

enum { LINEAR, LOWER, HIGHER, MIDPOINT, NEAREST, MODES };

typedef struct asked {
    dp_ctx *ctx;
    dp_tensor *self, *q;
    const int64_t *dim; /* NULL: of all elements */
    bool keepdim, ignore_nan;
    dp_str interpolation;
    int mode;
    int64_t at; /* *dim in range */
} asked;

static int find_mode(asked *p)
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

static int check_quantile(asked *p)
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

/* The lines in order, as the last dimension of what is left of self's shape: [.., n]. */
static dp_tensor *sorted_lines(chain *c, const asked *p)
{
    int64_t sizes[DP_DIM_MAX], any = -1;
    size_t n = 0;
    bool stable = true;
    dp_tensor *t = p->self, *places = NULL, *sorted = NULL;
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
                          (int)false, &sorted, &places);
    if (c->rc < 0)
        return NULL;
    chain_keep(c, places);
    return CHAIN(c, "aten::reshape", "Tli>T", chain_keep(c, sorted), sizes, n);
}

/* Where in the lines the quantiles lie: [.., number of q]; at a NaN in lines that have one. */
static dp_tensor *ranks_of(chain *c, const asked *p, dp_tensor *sorted)
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

/* Elements at ranks, or between two of them. */
static dp_tensor *interpolate(chain *c, const asked *p, dp_tensor *sorted, dp_tensor *ranks)
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

static dp_tensor *compute(chain *c, const asked *p)
{
    DP_VIEW(q, p->q);
    dp_tensor *low = chain_Ts(c, "aten::ge.Scalar", p->q, dp_int(0));
    dp_tensor *high = chain_Ts(c, "aten::le.Scalar", p->q, dp_int(1));
    dp_tensor *all = CHAIN(c, "aten::all", "T>T", chain_TT(c, "aten::logical_and", low, high));

    if (!is_true(c, all))
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

/* out NULL: *made is. */
static int run_quantile(asked *p, dp_tensor *out, dp_tensor **made)
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

/* q as a tensor, by number. */
static int scalar_quantile(asked *p, double q, dp_tensor *out, dp_tensor **made)
{
    DP_VIEW(x, p->self);

    if (!(q >= 0 && q <= 1))
        return dp_refuse(p->ctx, DP_ERUNTIME, "quantile() q must be in the range [0, 1] but got %g",
                         q);
    chain c = {.ctx = p->ctx};
    int rc = dp_scalar_tensor(p->ctx, dp_double(q), x.dtype, &p->q);
    if (rc < 0)
        return rc;
    p->q = chain_move(&c, p->q, x.device);
    if (c.rc == 0)
        c.rc = run_quantile(p, out, made);
    return chain_end(&c, NULL, NULL);
}

/* aten::quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *,
 *     str interpolation="linear") -> Tensor */
#define QUANTILE(name, nan)                                                                        \
    static int name(dp_ctx *ctx, dp_tensor *self, dp_tensor *q, const int64_t *dim, bool keepdim,  \
                    dp_str interpolation, dp_tensor **out)                                         \
    {                                                                                              \
        asked p = {ctx, self, q, dim, keepdim, nan, interpolation, 0, 0};                          \
        return run_quantile(&p, NULL, out);                                                        \
    }                                                                                              \
    static int name##_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *q, const int64_t *dim,          \
                          bool keepdim, dp_str interpolation, dp_tensor *out)                      \
    {                                                                                              \
        dp_tensor *made = NULL;                                                                    \
        asked p = {ctx, self, q, dim, keepdim, nan, interpolation, 0, 0};                          \
        return run_quantile(&p, out, &made);                                                       \
    }                                                                                              \
    static int name##_scalar(dp_ctx *ctx, dp_tensor *self, double q, const int64_t *dim,           \
                             bool keepdim, dp_str interpolation, dp_tensor **out)                  \
    {                                                                                              \
        asked p = {ctx, self, NULL, dim, keepdim, nan, interpolation, 0, 0};                       \
        return scalar_quantile(&p, q, NULL, out);                                                  \
    }                                                                                              \
    static int name##_scalar_out(dp_ctx *ctx, dp_tensor *self, double q, const int64_t *dim,       \
                                 bool keepdim, dp_str interpolation, dp_tensor *out)               \
    {                                                                                              \
        dp_tensor *made = NULL;                                                                    \
        asked p = {ctx, self, NULL, dim, keepdim, nan, interpolation, 0, 0};                       \
        return scalar_quantile(&p, q, out, &made);                                                 \
    }                                                                                              \
    DP_LIBRARY_META(                                                                               \
        aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED(#name, name, (T, T, oi, b, S), (T)),      \
        DP_IMPL_UNBOXED(#name ".out", name##_out, (T, T, oi, b, S, T), ()),                        \
        DP_IMPL_UNBOXED(#name ".scalar", name##_scalar, (T, f, oi, b, S), (T)),                    \
        DP_IMPL_UNBOXED(#name ".scalar_out", name##_scalar_out, (T, f, oi, b, S, T), ()))
QUANTILE(quantile, false)
QUANTILE(nanquantile, true)

/* -- covariances -- */

/* fweights or aweights, NULL if there are none. */
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
    if (n > 0 &&
        !is_true(&c, chain_Ts(&c, "aten::ge.Scalar", CHAIN(&c, "aten::min", "T>T", w), dp_int(0))))
        chain_fail(&c, DP_ERUNTIME, "cov(): %s cannot be negative", name);
    return chain_end(&c, NULL, NULL);
}

/* What the products are divided by: the sum of the weights, less what the mean takes of it. */
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
    if (is_true(c, chain_Ts(c, "aten::le.Scalar", n, dp_int(0)))) {
        dp_warn(c->ctx,
                "cov(): degrees of freedom is <= 0. Correction should be strictly less than "
                "the number of observations.");
        n = CHAIN(c, "aten::zeros_like", "T>T", n);
    }
    return n;
}

/* x: [variables, observations]; w: weights of observations or NULL. */
static dp_tensor *covariance(chain *c, dp_tensor *x, dp_tensor *w, dp_tensor *aweights,
                             int64_t correction)
{
    int64_t one = 1;
    dp_tensor *sum = NULL;
    DP_VIEW(v, x);

    if (w == NULL) {
        c->rc = c->rc < 0 ? c->rc : dp_scalar_tensor(c->ctx, dp_int(v.sizes[1]), DP_INT64, &sum);
        sum = c->rc < 0 ? NULL : chain_keep(c, sum);
    } else {
        sum = CHAIN(c, "aten::sum", "T>T", w);
        if (!is_true(c, chain_Ts(c, "aten::ne.Scalar", sum, dp_int(0))))
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

/* aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor */
static int cov(dp_ctx *ctx, dp_tensor *self, int64_t correction, dp_tensor *fweights,
               dp_tensor *aweights, dp_tensor **out)
{
    int64_t row[2] = {1, -1};
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);

    if (x.ndim > 2)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "cov(): expected input to have two or fewer dimensions but got an input with %d "
            "dimensions",
            x.ndim);
    if (x.dtype == DP_BOOL)
        return dp_fail(ctx, DP_ERUNTIME, "cov(): bool dtype is not supported for input");
    int64_t n = x.ndim < 2 ? x.numel : x.sizes[1];
    int rc = check_weights(ctx, "fweights", fweights, n, true);
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

    if (x.ndim > 2)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "corrcoef(): expected input to have two or fewer dimensions but got an input "
            "with %d dimensions",
            x.ndim);
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

/* -- histogramdd -- */

static int histogram_by(dp_call *call, const dp_value *bins)
{
    const dp_value *a = call->args;
    dp_value edges_args[5] = {a[0], *bins, a[2], a[3], a[4]};
    int rc = dp_call_boxed(call->ctx, dp_op_find(call->ctx, "aten::_histogramdd_bin_edges"),
                           edges_args, 5, &call->rets[1], 1);

    if (rc == 0)
        rc = dp_call_boxed(call->ctx, dp_op_find(call->ctx, "aten::_histogramdd_from_bin_cts"),
                           edges_args, 5, &call->rets[0], 1);
    if (rc < 0)
        dp_values_release(call->rets, 2);
    return rc;
}

/* aten::histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None,
 *     bool density=False) -> (Tensor hist, Tensor[] bin_edges) */
static int histogramdd(dp_call *call)
{
    return histogram_by(call, &call->args[1]);
}

/* aten::histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None,
 *     bool density=False) -> (Tensor hist, Tensor[] bin_edges) */
static int histogramdd_int(dp_call *call)
{
    int64_t bins[DP_DIM_MAX];
    DP_VIEW(x, call->args[0].u.t);
    int64_t n = x.ndim ? x.sizes[x.ndim - 1] : 0;

    if (x.ndim == 0)
        return dp_fail(call->ctx, DP_EINDEX,
                       "Dimension specified as -1 but tensor has no dimensions");
    if (n > DP_DIM_MAX)
        return check_ndim(call->ctx, (size_t)n);
    for (int64_t d = 0; d < n; d++)
        bins[d] = call->args[1].u.i;
    dp_value list = dp_ints(bins, (size_t)n);
    return histogram_by(call, &list);
}

/* aten::histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None,
 *     Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges) */
static int histogramdd_edges(dp_call *call)
{
    const dp_value *a = call->args;
    dp_value args[4] = {a[0], a[1], a[3], a[4]};
    dp_tensor **edges = dp_alloc(call->ctx, a[1].len * sizeof(*edges));

    if (edges == NULL)
        return DP_ERESOURCE;
    int rc = dp_call_boxed(call->ctx, dp_op_find(call->ctx, "aten::_histogramdd_from_bin_tensors"),
                           args, 4, &call->rets[0], 1);
    for (uint32_t i = 0; rc == 0 && i < a[1].len; i++)
        edges[i] = dp_tensor_ref(a[1].u.tensors[i]);
    if (rc == 0)
        call->rets[1] = dp_tensors(edges, a[1].len);
    return rc;
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL("histogramdd", histogramdd),
                DP_IMPL("histogramdd.int_bins", histogramdd_int),
                DP_IMPL("histogramdd.TensorList_bins", histogramdd_edges))
