/* geqrf.c -- geqrf, which computes QR factors with Q as Householder reflectors, and
 * linalg_householder_product, which computes Q from them
 * (aten/src/ATen/native/BatchLinearAlgebra.cpp; LAPACK routines geqrf, orgqr). */
#include "qr.h"

typedef struct qr qr;
typedef void qr_call(const qr *q, void *a, void *tau, void *work);

struct qr {
    dp_dtype dtype;
    int m, n, k, lwork; /* k: number of reflectors */
    qr_call *call;
};

/* -- routines that work on (a, tau) -- */

static void call_geqrf(const qr *q, void *a, void *tau, void *work)
{
    int info;

    lapack_geqrf[la_index(q->dtype)](&q->m, &q->n, a, &q->m, tau, work, &q->lwork, &info);
}

static void call_orgqr(const qr *q, void *a, void *tau, void *work)
{
    int info;

    lapack_orgqr[la_index(q->dtype)](&q->m, &q->n, &q->k, a, &q->m, tau, work, &q->lwork, &info);
}

static void run_one(const mx_batch *b, char *const *at, char *work)
{
    const qr *q = b->user;

    q->call(q, at[0], at[1], work);
}

/* Run `call` on each column-major matrix of x [..., m, n] and each vector of tau [..., k].  `name`
 * is the name in error messages. */
static int run_batch(dp_ctx *ctx, const char *name, qr_call *call, dp_tensor *x, dp_tensor *tau)
{
    double answer[2];
    mx_batch b;
    DP_VIEW(v, x);
    DP_VIEW(t, tau);
    qr q = {.dtype = v.dtype,
            .m = (int)mx_rows(&v),
            .n = (int)mx_cols(&v),
            .k = (int)t.sizes[t.ndim - 1],
            .lwork = -1,
            .call = call};
    int rc = dense_check_type(ctx, name, v.dtype, MX_TYPES);

    if (rc < 0 || v.numel == 0)
        return rc;
    call(&q, answer, answer, answer);
    q.lwork = mx_lwork(ctx, v.dtype, answer, q.n);
    if (q.lwork == 0)
        return DP_ERESOURCE;
    mx_begin(&b, run_one, &q, v.ndim - 2, v.sizes);
    mx_add(&b, x, 2);
    mx_add(&b, tau, 1);
    mx_reserve(&b.work, (size_t)q.lwork, dp_dtype_size(v.dtype));
    b.cost = 2.0 * q.m * q.n * (call == call_geqrf ? q.n : q.k);
    return mx_run(ctx, &b);
}

/* Replace x [..., m, n], column-major, by R and the reflectors below it; set tau [..., k]. */
static int factor(dp_ctx *ctx, dp_tensor *x, dp_tensor *tau)
{
    return run_batch(ctx, "geqrf_cpu", call_geqrf, x, tau);
}

int qr_product(dp_ctx *ctx, dp_tensor *x, dp_tensor *tau)
{
    return run_batch(ctx, "orgqr_cpu", call_orgqr, x, tau);
}

int qr_factor_of(dp_ctx *ctx, dp_tensor *self, dp_tensor **x, dp_tensor **tau)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(a, self);
    int d = a.ndim - 1, rc = mx_check_fits(ctx, &a);

    dp_copy_n(sizes, a.sizes, (size_t)d, sizeof(int64_t));
    if (mx_cols(&a) < mx_rows(&a))
        sizes[d - 1] = mx_cols(&a);
    if (rc == 0)
        rc = mx_columns(ctx, self, x);
    if (rc == 0)
        rc = mx_empty(ctx, a.dtype, a.device, d, sizes, false, tau);
    return rc == 0 ? factor(ctx, *x, *tau) : rc;
}

/* -- geqrf -- */

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
        rc = qr_factor_of(ctx, args[0].u.t, &x, &tau);
    rc = mx_give(ctx, rc, o, 0, x, true);
    return mx_give(ctx, rc, o, 1, tau, true);
}
MX_KERNEL(geqrf, 1, run_geqrf)

/* -- householder_product -- */

int qr_check_tau(dp_ctx *ctx, const dp_view *a, const dp_view *t, const char *name,
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
    int rc = qr_check_tau(ctx, a, t, name, "torch.linalg.householder_product: ");
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
        rc = qr_product(ctx, x, tau);
    dp_tensor_unref(tau);
    return mx_give(ctx, rc, o, 0, x, true);
}
MX_KERNEL(householder_product, 2, run_product)

DP_LIBRARY_META(aten, CPU, DP_IMPL("geqrf", geqrf), DP_IMPL("geqrf.a", geqrf),
                DP_IMPL("linalg_householder_product", householder_product),
                DP_IMPL("linalg_householder_product.out", householder_product))
