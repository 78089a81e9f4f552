/* ormqr.c -- ormqr, products with the matrix Q that Householder reflectors represent
 * (aten/src/ATen/native/BatchLinearAlgebra.cpp; LAPACK routine ormqr). */
#include "qr.h"

typedef struct qr {
    dp_dtype dtype;
    int m, n, k, lwork; /* k: number of reflectors */
    int lda;            /* leading dimension of the reflectors */
    char side, trans;
} qr;

static void call_apply(const qr *q, const void *a, const void *tau, void *c, void *work)
{
    int info;

    lapack_ormqr[la_index(q->dtype)](&q->side, &q->trans, &q->m, &q->n, &q->k, (void *)(uintptr_t)a,
                                     &q->lda, tau, c, &q->m, work, &q->lwork, &info, 1, 1);
}

/* Process one matrix; at[0]: C, at[1]: reflectors, at[2]: tau. */
static void apply_one(const mx_batch *b, char *const *at, char *work)
{
    call_apply(b->user, at[1], at[2], at[0], work);
}

/* Multiply `c` by Q.  The reflectors are copied, because LAPACK writes to them and restores
 * them. */
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
    int rc = qr_check_tau(ctx, a, t, "torch.ormqr", "torch.ormqr: ");
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
 * self: reflectors [..., m, n]; input2: tau [..., k]; input3: the matrix that is multiplied. */
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

DP_LIBRARY_META(aten, CPU, DP_IMPL("ormqr", ormqr), DP_IMPL("ormqr.out", ormqr))
