/* qr.c -- QR factors, and products with the Q that reflectors stand for
 * (aten/src/ATen/native/BatchLinearAlgebra.cpp; routines geqrf, orgqr, ormqr). */
#include "matrices.h"

typedef struct qr {
    dp_dtype dtype;
    int m, n, k, lwork; /* k: reflectors */
    int lda;            /* of ormqr: of the reflectors */
    char side, trans;
} qr;

/* -- geqrf -- */

static void call_factor(const qr *q, void *a, void *tau, void *work)
{
    int info;

    lapack_geqrf[la_index(q->dtype)](&q->m, &q->n, a, &q->m, tau, work, &q->lwork, &info);
}

static void factor_one(const mx_batch *b, char *const *at, char *work)
{
    call_factor(b->user, at[0], at[1], work);
}

/* x [..., m, n], by columns, becomes R and the reflectors below it; tau [..., k]. */
static int factor(dp_ctx *ctx, dp_tensor *x, dp_tensor *tau)
{
    double answer[2];
    mx_batch b;
    DP_VIEW(v, x);
    qr q = {.dtype = v.dtype, .m = (int)mx_rows(&v), .n = (int)mx_cols(&v), .lwork = -1};
    int rc = dense_check_type(ctx, "geqrf_cpu", v.dtype, MX_TYPES);

    if (rc < 0 || v.numel == 0)
        return rc;
    call_factor(&q, answer, answer, answer);
    q.lwork = mx_lwork(ctx, v.dtype, answer, q.n);
    if (q.lwork == 0)
        return DP_ERESOURCE;
    mx_begin(&b, factor_one, &q, v.ndim - 2, v.sizes);
    mx_add(&b, x, 2);
    mx_add(&b, tau, 1);
    mx_reserve(&b.work, (size_t)q.lwork, dp_dtype_size(v.dtype));
    b.cost = 2.0 * q.m * q.n * q.n;
    return mx_run(ctx, &b);
}

/* *x: a copy of self that was factored; *tau: its reflectors. */
static int factor_of(dp_ctx *ctx, dp_tensor *self, dp_tensor **x, dp_tensor **tau)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(a, self);
    int d = a.ndim - 1, rc = mx_check_fits(ctx, &a);

    memcpy(sizes, a.sizes, (size_t)d * sizeof(int64_t));
    if (mx_cols(&a) < mx_rows(&a))
        sizes[d - 1] = mx_cols(&a);
    if (rc == 0)
        rc = mx_columns(ctx, self, x);
    if (rc == 0)
        rc = mx_empty(ctx, a.dtype, a.device, d, sizes, false, tau);
    return rc == 0 ? factor(ctx, *x, *tau) : rc;
}

/* aten::geqrf(Tensor self) -> (Tensor a, Tensor tau) */
static int run_geqrf(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *x = NULL, *tau = NULL;
    DP_VIEW(a, args[0].u.t);
    int rc = 0;

    if (a.ndim < 2)
        rc = dp_fail(ctx, DP_ERUNTIME, "torch.geqrf: input must have at least 2 dimensions.");
    if (rc == 0)
        rc = mx_check_cast(ctx, o, 0, a.dtype, "torch.geqrf", "a");
    if (rc == 0)
        rc = mx_check_cast(ctx, o, 1, a.dtype, "torch.geqrf", "tau");
    if (rc == 0)
        rc = factor_of(ctx, args[0].u.t, &x, &tau);
    rc = mx_give(ctx, rc, o, 0, x, true);
    return mx_give(ctx, rc, o, 1, tau, true);
}
MX_KERNEL(geqrf, 1, run_geqrf)

/* -- orgqr -- */

static void call_product(const qr *q, void *a, const void *tau, void *work)
{
    int info;

    lapack_orgqr[la_index(q->dtype)](&q->m, &q->n, &q->k, a, &q->m, tau, work, &q->lwork, &info);
}

static void product_one(const mx_batch *b, char *const *at, char *work)
{
    call_product(b->user, at[0], at[1], work);
}

/* x [..., m, n], by columns, whose columns hold reflectors, becomes their product; tau [..., k],
 * m >= n >= k. */
static int product(dp_ctx *ctx, dp_tensor *x, dp_tensor *tau)
{
    double answer[2];
    mx_batch b;
    DP_VIEW(v, x);
    DP_VIEW(t, tau);
    qr q = {.dtype = v.dtype, .m = (int)mx_rows(&v), .n = (int)mx_cols(&v), .lwork = -1};
    int rc = dense_check_type(ctx, "orgqr_cpu", v.dtype, MX_TYPES);

    q.k = (int)t.sizes[t.ndim - 1];
    if (rc < 0 || v.numel == 0)
        return rc;
    call_product(&q, answer, answer, answer);
    q.lwork = mx_lwork(ctx, v.dtype, answer, q.n);
    if (q.lwork == 0)
        return DP_ERESOURCE;
    mx_begin(&b, product_one, &q, v.ndim - 2, v.sizes);
    mx_add(&b, x, 2);
    mx_add(&b, tau, 1);
    mx_reserve(&b.work, (size_t)q.lwork, dp_dtype_size(v.dtype));
    b.cost = 2.0 * q.m * q.n * q.k;
    return mx_run(ctx, &b);
}

/* "name: Expected tau to have one dimension less ...": of reflectors and their factors. */
static int check_tau(dp_ctx *ctx, const dp_view *a, const dp_view *t, const char *name,
                     const char *dims)
{
    char text[DP_SHAPE_TEXT];

    if (a->ndim - t->ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "%sExpected tau to have one dimension less than input, but got tau.ndim "
                       "equal to %d and input.ndim is equal to %d",
                       dims, t->ndim, a->ndim);
    if (memcmp(t->sizes, a->sizes, (size_t)(a->ndim - 2) * sizeof(int64_t)) != 0)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "%s: Expected batch dimensions of tau to be equal to input.shape[:-2], but got %s",
            name, dp_shape_text(text, t->sizes, (size_t)t->ndim - 1));
    return 0;
}

static int check_product(dp_ctx *ctx, const dp_view *a, const dp_view *t)
{
    const char *name = "torch.linalg.householder_product";

    if (a->ndim < 2)
        return dp_fail(ctx, DP_ERUNTIME, "%s: input must have at least 2 dimensions.", name);
    if (mx_rows(a) < mx_cols(a))
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s: input.shape[-2] must be greater than or equal to input.shape[-1]",
                       name);
    if (t->ndim == 0)
        return dp_fail(ctx, DP_EINDEX, "Dimension specified as -1 but tensor has no dimensions");
    if (mx_cols(a) < t->sizes[t->ndim - 1])
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s: input.shape[-1] must be greater than or equal to tau.shape[-1]", name);
    int rc = check_tau(ctx, a, t, name, "torch.linalg.householder_product: ");
    if (rc == 0 && t->dtype != a->dtype)
        rc = dp_fail(ctx, DP_ERUNTIME, "%s: tau dtype %s does not match input dtype %s", name,
                     dense_type_name(t->dtype), dense_type_name(a->dtype));
    return rc == 0 ? mx_check_fits(ctx, a) : rc;
}

/* aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor */
static int run_product(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *x = NULL, *tau = NULL;
    DP_VIEW(a, args[0].u.t);
    DP_VIEW(t, args[1].u.t);
    int rc = check_product(ctx, &a, &t);

    if (rc == 0)
        rc = mx_check_cast(ctx, o, 0, a.dtype, "torch.linalg.householder_product", "result");
    if (rc == 0)
        rc = mx_columns(ctx, args[0].u.t, &x);
    if (rc == 0)
        rc = mx_contiguous(ctx, args[1].u.t, &tau);
    if (rc == 0)
        rc = product(ctx, x, tau);
    dp_tensor_unref(tau);
    return mx_give(ctx, rc, o, 0, x, true);
}
MX_KERNEL(householder_product, 2, run_product)

/* -- ormqr -- */

static void call_apply(const qr *q, const void *a, const void *tau, void *c, void *work)
{
    int info;

    lapack_ormqr[la_index(q->dtype)](&q->side, &q->trans, &q->m, &q->n, &q->k, (void *)(uintptr_t)a,
                                     &q->lda, tau, c, &q->m, work, &q->lwork, &info, 1, 1);
}

/* at: C, reflectors, tau */
static void apply_one(const mx_batch *b, char *const *at, char *work)
{
    call_apply(b->user, at[1], at[2], at[0], work);
}

/* Routines write to the reflectors and restore them: they are a copy. */
static int apply(dp_ctx *ctx, dp_tensor *c, dp_tensor *reflectors, dp_tensor *tau, qr *q)
{
    double answer[2];
    mx_batch b;
    DP_VIEW(v, c);
    DP_VIEW(t, tau);
    int rc = dense_check_type(ctx, "ormqr_cpu", v.dtype, MX_TYPES);

    q->dtype = v.dtype;
    q->m = (int)mx_rows(&v);
    q->n = (int)mx_cols(&v);
    q->k = (int)t.sizes[t.ndim - 1];
    q->lda = q->side == 'L' ? q->m : q->n;
    q->lwork = -1;
    if (rc < 0 || v.numel == 0)
        return rc;
    q->lda = q->lda > 0 ? q->lda : 1;
    call_apply(q, answer, answer, answer, answer);
    q->lwork = mx_lwork(ctx, v.dtype, answer, q->side == 'L' ? q->n : q->m);
    if (q->lwork == 0)
        return DP_ERESOURCE;
    mx_begin(&b, apply_one, q, v.ndim - 2, v.sizes);
    mx_add(&b, c, 2);
    mx_add(&b, reflectors, 2);
    mx_add(&b, tau, 1);
    mx_reserve(&b.work, (size_t)q->lwork, dp_dtype_size(v.dtype));
    b.cost = 4.0 * q->m * q->n * q->k;
    return mx_run(ctx, &b);
}

static int check_apply_type(dp_ctx *ctx, const dp_view *a, const dp_view *odd, const char *what)
{
    if (odd->dtype == a->dtype)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "torch.ormqr: Expected input and %s to have the same dtype, but input has dtype"
                   "%s and %s has dtype %s",
                   what, dense_type_name(a->dtype), what, dense_type_name(odd->dtype));
}

static int check_apply(dp_ctx *ctx, const dp_view *a, const dp_view *t, const dp_view *c, bool left)
{
    char text[DP_SHAPE_TEXT];
    int side = left ? 2 : 1;

    if (a->ndim < 2 || c->ndim < 2)
        return dp_fail(ctx, DP_ERUNTIME, "torch.ormqr: %s must have at least 2 dimensions.",
                       a->ndim < 2 ? "input" : "other");
    if (t->ndim == 0)
        return dp_fail(ctx, DP_EINDEX, "Dimension specified as -1 but tensor has no dimensions");
    if (c->sizes[c->ndim - side] < t->sizes[t->ndim - 1])
        return dp_fail(ctx, DP_ERUNTIME,
                       "torch.ormqr: other.shape[%d] must be greater than or equal to "
                       "tau.shape[-1]",
                       -side);
    if (c->sizes[c->ndim - side] != mx_rows(a))
        return dp_fail(ctx, DP_ERUNTIME,
                       "torch.ormqr: other.shape[%d] must be equal to input.shape[-2]", -side);
    if (t->sizes[t->ndim - 1] > mx_cols(a))
        return dp_fail(ctx, DP_ERUNTIME,
                       "torch.ormqr: tau.shape[-1] must be less than or equal to input.shape[-1]");
    int rc = check_tau(ctx, a, t, "torch.ormqr", "torch.ormqr: ");
    if (rc == 0 && a->ndim != c->ndim)
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "torch.ormqr: Expected other to have the same number of dimensions as input, "
                     "but got other.ndim equal to %d and input.ndim is equal to %d",
                     c->ndim, a->ndim);
    if (rc == 0 && memcmp(c->sizes, a->sizes, (size_t)(a->ndim - 2) * sizeof(int64_t)) != 0)
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "torch.ormqr: Expected batch dimensions of other to be equal to "
                     "input.shape[:-2], but got %s",
                     dp_shape_text(text, c->sizes, (size_t)c->ndim - 2));
    if (rc == 0)
        rc = mx_check_fits(ctx, a);
    return rc == 0 ? mx_check_fits(ctx, c) : rc;
}

/* aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False)
 *     -> Tensor
 * self: reflectors [..., m, n]; input2: tau [..., k]; input3: what is multiplied. */
static int run_apply(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *c = NULL, *reflectors = NULL, *tau = NULL;
    DP_VIEW(a, args[0].u.t);
    DP_VIEW(t, args[1].u.t);
    DP_VIEW(x, args[2].u.t);
    qr q = {.side = args[3].u.b ? 'L' : 'R', .trans = 'N'};
    int rc = check_apply(ctx, &a, &t, &x, args[3].u.b);

    if (rc == 0)
        rc = check_apply_type(ctx, &a, &t, "tau");
    if (rc == 0)
        rc = check_apply_type(ctx, &a, &x, "other");
    if (rc == 0 && o->given) {
        DP_VIEW(y, o->t[0]);
        rc = check_apply_type(ctx, &a, &y, "result");
    }
    if (args[4].u.b)
        q.trans = dp_dtype_is_complex(a.dtype) ? 'C' : 'T';
    if (rc == 0)
        rc = mx_columns(ctx, args[2].u.t, &c);
    if (rc == 0)
        rc = mx_columns(ctx, args[0].u.t, &reflectors);
    if (rc == 0)
        rc = mx_contiguous(ctx, args[1].u.t, &tau);
    if (rc == 0)
        rc = apply(ctx, c, reflectors, tau, &q);
    dp_tensor_unref(reflectors);
    dp_tensor_unref(tau);
    return mx_give(ctx, rc, o, 0, c, true);
}
MX_KERNEL(ormqr, 5, run_apply)

/* -- linalg.qr -- */

static bool is(const dp_value *v, const char *text)
{
    return v->len == strlen(text) && memcmp(v->u.s, text, v->len) == 0;
}

/* The first `size` columns, or rows, of t; *out owned. */
static int first(dp_ctx *ctx, dp_tensor *t, bool columns, int64_t size, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::narrow", "Tiii>T", t, (int64_t)(columns ? -1 : -2), (int64_t)0,
                     size, out);
}

/* Output 1 becomes R of x, the factored [..., m, n]; output 0, of so many columns, the whole of Q. */
static int unpack(dp_ctx *ctx, outs *o, dp_tensor *x, dp_tensor *tau, bool compute_q)
{
    dp_tensor *part = NULL, *q = NULL, *into = NULL;
    DP_VIEW(v, x);
    DP_VIEW(r, o->t[1]);
    int rc = first(ctx, x, false, mx_rows(&r), &part);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::triu.out", "TiT>", part, (int64_t)0, o->t[1]);
    part = dp_tensor_unref(part);
    if (rc < 0 || !compute_q)
        return rc;
    rc = mx_work(ctx, o, 0, 2, &q);
    if (rc == 0) {
        DP_VIEW(w, q);
        int64_t shared = mx_cols(&w) < mx_cols(&v) ? mx_cols(&w) : mx_cols(&v);
        rc = first(ctx, x, true, shared, &part);
        if (rc == 0)
            rc = first(ctx, q, true, shared, &into);
    }
    if (rc == 0)
        rc = dp_copy(ctx, into, part);
    if (rc == 0)
        rc = product(ctx, q, tau);
    dp_tensor_unref(part);
    dp_tensor_unref(into);
    return mx_done(ctx, rc, o, 0, q);
}

/* aten::linalg_qr(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)
 * [..., m, n] -> Q [..., m, m or k], R [..., m or k, n]; k is the least of m and n.  Mode r: no Q. */
static int run_qr(dp_ctx *ctx, const dp_value *args, outs *o)
{
    bool complete = is(&args[1], "complete"), r = is(&args[1], "r");
    int64_t sizes[DP_DIM_MAX], none = 0;
    dp_tensor *x = NULL, *tau = NULL;
    DP_VIEW(a, args[0].u.t);
    int d = a.ndim, rc = mx_check_matrix(ctx, &a, "linalg.qr", "A");

    if (rc == 0)
        rc = mx_check_inexact(ctx, "linalg.qr", a.dtype);
    if (rc == 0 && !complete && !r && !is(&args[1], "reduced"))
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "qr received unrecognized mode '%.*s' but expected one of 'reduced' "
                     "(default), 'r', or 'complete'",
                     (int)(args[1].len < 100 ? args[1].len : 100), args[1].u.s);
    if (rc < 0)
        return rc;
    int64_t m = mx_rows(&a), n = mx_cols(&a), k = m < n ? m : n;
    memcpy(sizes, a.sizes, (size_t)d * sizeof(int64_t));
    sizes[d - 1] = complete ? m : k;
    rc = mx_out(ctx, o, 0, a.dtype, r ? 1 : d, r ? &none : sizes, !r);
    sizes[d - 2] = complete ? m : k;
    sizes[d - 1] = n;
    if (rc == 0)
        rc = mx_out(ctx, o, 1, a.dtype, d, sizes, true);
    if (rc == 0)
        rc = factor_of(ctx, args[0].u.t, &x, &tau);
    o->written |= rc == 0;
    if (rc == 0)
        rc = unpack(ctx, o, x, tau, !r);
    dp_tensor_unref(x);
    dp_tensor_unref(tau);
    return rc;
}
MX_KERNEL(linalg_qr, 2, run_qr)

DP_LIBRARY_META(aten, CPU, DP_IMPL("geqrf", geqrf), DP_IMPL("geqrf.a", geqrf),
                DP_IMPL("linalg_householder_product", householder_product),
                DP_IMPL("linalg_householder_product.out", householder_product),
                DP_IMPL("ormqr", ormqr), DP_IMPL("ormqr.out", ormqr),
                DP_IMPL("linalg_qr", linalg_qr), DP_IMPL("linalg_qr.out", linalg_qr))
