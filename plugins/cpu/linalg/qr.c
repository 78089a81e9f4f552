/* qr.c -- linalg_qr, the QR factors of matrices (aten/src/ATen/native/BatchLinearAlgebra.cpp). */
#include "qr.h"

static bool is(const dp_value *v, const char *text)
{
    return v->len == strlen(text) && memcmp(v->u.s, text, v->len) == 0;
}

/* Set *out, owned, to a view of the first `size` columns or rows of `t`. */
static int first(dp_ctx *ctx, dp_tensor *t, bool columns, int64_t size, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::narrow", "Tiii>T", t, (int64_t)(columns ? -1 : -2), (int64_t)0,
                     size, out);
}

/* Set output 1 to R of x, the factored [..., m, n], and, with `compute_q`, output 0 to Q. */
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
        rc = qr_product(ctx, q, tau);
    dp_tensor_unref(part);
    dp_tensor_unref(into);
    return mx_done(ctx, rc, o, 0, q);
}

/* aten::linalg_qr(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)
 * [..., m, n] -> Q [..., m, m or k], R [..., m or k, n]; k is the least of m and n.  Mode r: no
 * Q. */
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
    dp_copy_n(sizes, a.sizes, (size_t)d, sizeof(int64_t));
    sizes[d - 1] = complete ? m : k;
    rc = mx_out(ctx, o, 0, a.dtype, r ? 1 : d, r ? &none : sizes, !r);
    sizes[d - 2] = complete ? m : k;
    sizes[d - 1] = n;
    if (rc == 0)
        rc = mx_out(ctx, o, 1, a.dtype, d, sizes, true);
    if (rc == 0)
        rc = qr_factor_of(ctx, args[0].u.t, &x, &tau);
    o->written |= rc == 0;
    if (rc == 0)
        rc = unpack(ctx, o, x, tau, !r);
    dp_tensor_unref(x);
    dp_tensor_unref(tau);
    return rc;
}
MX_KERNEL(linalg_qr, 2, run_qr)

DP_LIBRARY_META(aten, CPU, DP_IMPL("linalg_qr", linalg_qr), DP_IMPL("linalg_qr.out", linalg_qr))
