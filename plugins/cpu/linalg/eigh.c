/* eigh.c -- eigenvalues and eigenvectors of symmetric and Hermitian matrices
 * (aten/src/ATen/native/BatchLinearAlgebra.cpp; LAPACK routines syevd, heevd; for symeig syev,
 * heev).
 *
 * Operators: _linalg_eigh, _symeig_helper. */
#include "matrices.h"

typedef struct eigh {
    dp_dtype dtype;
    char job, uplo;
    bool divide; /* use syevd (divide and conquer), else syev */
    int n, lwork, lrwork, liwork;
    size_t rwork, iwork; /* offsets in the scratch memory; the work array is at offset 0 */
} eigh;

static void call(const eigh *e, void *a, void *values, void *work, void *rwork, int *iwork,
                 int *info)
{
    int t = la_index(e->dtype);

    if (e->divide && t < 2)
        lapack_syevd[t](&e->job, &e->uplo, &e->n, a, &e->n, values, work, &e->lwork, iwork,
                        &e->liwork, info, 1, 1);
    else if (e->divide)
        lapack_heevd[t - 2](&e->job, &e->uplo, &e->n, a, &e->n, values, work, &e->lwork, rwork,
                            &e->lrwork, iwork, &e->liwork, info, 1, 1);
    else if (t < 2)
        lapack_syev[t](&e->job, &e->uplo, &e->n, a, &e->n, values, work, &e->lwork, info, 1, 1);
    else
        lapack_heev[t - 2](&e->job, &e->uplo, &e->n, a, &e->n, values, work, &e->lwork, rwork, info,
                           1, 1);
}

/* Test whether the triangle that is read has only finite numbers. */
static bool is_finite(const eigh *e, const char *a)
{
    size_t n = (size_t)e->n, item = dp_dtype_size(e->dtype);
    bool finite = true;

    for (size_t j = 0; j < n && finite; j++)
        finite = e->uplo == 'U' ? mx_finite(e->dtype, a + j * n * item, j + 1)
                                : mx_finite(e->dtype, a + (j * n + j) * item, n - j);
    return finite;
}

/* Process one matrix; at[0]: A, replaced by the vectors, at[1]: values, at[2]: info. */
static void one(const mx_batch *b, char *const *at, char *scratch)
{
    /* syevd divides larger matrices, and prints messages if they are not finite */
    enum { DIVIDES = 25 };
    const eigh *e = b->user;

    if (e->n > DIVIDES && !is_finite(e, at[0])) {
        *(int *)at[2] = e->n;
        return;
    }
    call(e, at[0], at[1], scratch, scratch + e->rwork, (int *)(scratch + e->iwork), (int *)at[2]);
}

static int plan(dp_ctx *ctx, eigh *e, mx_batch *b)
{
    double answer[2], real_answer[2];
    int whole = 0, info;
    size_t item = dp_dtype_size(e->dtype);

    e->lwork = e->lrwork = e->liwork = -1;
    call(e, answer, answer, answer, real_answer, &whole, &info);
    e->lwork = mx_lwork(ctx, e->dtype, answer, 1);
    if (e->lwork == 0)
        return DP_ERESOURCE;
    mx_reserve(&b->work, (size_t)e->lwork, item);
    e->rwork = b->work;
    if (dp_dtype_is_complex(e->dtype)) {
        e->lrwork = 3 * e->n;
        if (e->divide)
            e->lrwork = mx_lwork(ctx, mx_real(e->dtype), real_answer, 1);
        if (e->lrwork == 0)
            return DP_ERESOURCE;
        mx_reserve(&b->work, (size_t)e->lrwork, item / 2);
    }
    e->iwork = b->work;
    e->liwork = whole > 1 ? whole : 1;
    mx_reserve(&b->work, (size_t)e->liwork, sizeof(int));
    b->cost = 9.0 * e->n * e->n * e->n;
    return 0;
}

/* Compute the values of the column-major matrices of x [..., n, n], and replace x by the vectors;
 * if only values are computed, x has no meaning afterwards. */
static int decompose(dp_ctx *ctx, dp_tensor *x, dp_tensor *values, dp_tensor *info, eigh *e)
{
    mx_batch b;
    DP_VIEW(v, x);

    e->dtype = v.dtype;
    e->n = (int)mx_rows(&v);
    mx_begin(&b, one, e, v.ndim - 2, v.sizes);
    mx_add(&b, x, 2);
    mx_add(&b, values, 1);
    mx_add(&b, info, 0);
    int rc = mx_check_square_scratch(ctx, e->n, "linalg.eigh");
    if (rc == 0)
        rc = plan(ctx, e, &b);
    return rc == 0 ? mx_run(ctx, &b) : rc;
}

static int new_info(dp_ctx *ctx, const dp_view *a, dp_tensor **info)
{
    int rc = mx_empty(ctx, DP_INT32, a->device, a->ndim - 2, a->sizes, false, info);
    return rc == 0 ? mx_zero(ctx, *info) : rc;
}

/* -- linalg.eigh -- */

static int check_uplo(dp_ctx *ctx, const dp_value *uplo, char *out)
{
    char c = uplo->len == 1 ? (char)(uplo->u.s[0] & ~0x20) : 0;

    *out = c;
    if (c == 'U' || c == 'L')
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "Expected UPLO argument to be 'L' or 'U', but got %.*s",
                   (int)(uplo->len < 100 ? uplo->len : 100), uplo->u.s);
}

/* Set *x, owned, to the tensor in which the vectors are computed, with the elements of A; it is
 * output 1 if vectors are wanted. */
static int vectors_of(dp_ctx *ctx, outs *o, dp_tensor *A, bool vectors, dp_tensor **x)
{
    if (!vectors)
        return mx_columns(ctx, A, x);
    int rc = mx_work(ctx, o, 1, 2, x);
    return rc == 0 ? dp_copy(ctx, *x, A) : rc;
}

/* aten::_linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True)
 *     -> (Tensor eigenvalues, Tensor eigenvectors) */
static int run_eigh(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *x = NULL, *values = NULL, *info = NULL;
    bool vectors = args[2].u.b;
    int64_t none = 0;
    eigh e = {.job = vectors ? 'V' : 'N', .divide = true};
    DP_VIEW(a, args[0].u.t);
    int rc = mx_check_square(ctx, &a, "linalg.eigh");

    if (rc == 0)
        rc = check_uplo(ctx, &args[1], &e.uplo);
    if (rc == 0 && a.numel > 0)
        rc = dense_check_type(ctx, "linalg_eigh_cpu", a.dtype, MX_TYPES);
    if (rc == 0)
        rc = mx_check_fits(ctx, &a);
    if (rc == 0)
        rc = mx_out(ctx, o, 1, a.dtype, vectors ? a.ndim : 1, vectors ? a.sizes : &none, vectors);
    if (rc == 0)
        rc = mx_out(ctx, o, 0, mx_real(a.dtype), a.ndim - 1, a.sizes, false);
    if (rc < 0 || a.numel == 0)
        return rc;
    o->written = true;
    rc = vectors_of(ctx, o, args[0].u.t, vectors, &x);
    if (rc == 0)
        rc = mx_work(ctx, o, 0, 1, &values);
    if (rc == 0)
        rc = new_info(ctx, &a, &info);
    if (rc == 0)
        rc = decompose(ctx, x, values, info, &e);
    rc = mx_done(ctx, rc, o, 0, values);
    if (vectors)
        rc = mx_done(ctx, rc, o, 1, x);
    else
        dp_tensor_unref(x);
    if (rc == 0)
        rc = mx_check_info(ctx, info, "linalg.eigh", a.ndim == 2);
    dp_tensor_unref(info);
    return rc;
}
MX_KERNEL(linalg_eigh, 3, run_eigh)

/* -- symeig -- */

/* Run symeig into new tensors `values` and `vectors`. */
static int symeig(dp_ctx *ctx, dp_tensor *self, bool vectors, bool upper, dp_tensor **values,
                  dp_tensor **x)
{
    eigh e = {.job = vectors ? 'V' : 'N', .uplo = upper ? 'U' : 'L'};
    dp_tensor *info = NULL;
    DP_VIEW(a, self);
    int rc = mx_empty(ctx, mx_real(a.dtype), a.device, a.ndim - 1, a.sizes, false, values);

    if (rc == 0 && a.numel == 0)
        return dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_CONTIGUOUS, x);
    if (rc == 0)
        rc = dense_check_type(ctx, "symeig_cpu", a.dtype, MX_TYPES);
    if (rc == 0)
        rc = mx_columns(ctx, self, x);
    if (rc == 0)
        rc = new_info(ctx, &a, &info);
    if (rc == 0)
        rc = decompose(ctx, *x, *values, info, &e);
    if (rc == 0)
        rc = mx_check_info(ctx, info, "symeig", a.ndim == 2);
    dp_tensor_unref(info);
    if (rc < 0 || vectors)
        return rc;
    int64_t none = 0;
    dp_tensor_unref(*x);
    *x = NULL;
    return dp_empty(ctx, a.dtype, a.device, 1, &none, DP_CONTIGUOUS, x);
}

/* aten::_symeig_helper(Tensor self, bool eigenvectors, bool upper) -> (Tensor, Tensor) */
static int run_symeig(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *values = NULL, *x = NULL;
    DP_VIEW(a, args[0].u.t);
    int rc = mx_check_square(ctx, &a, "linalg.symeig");

    if (rc == 0)
        rc = mx_check_fits(ctx, &a);
    if (rc == 0)
        rc = symeig(ctx, args[0].u.t, args[1].u.b, args[2].u.b, &values, &x);
    rc = mx_give(ctx, rc, o, 0, values, false);
    return mx_give(ctx, rc, o, 1, x, false);
}
MX_KERNEL(symeig_helper, 3, run_symeig)

DP_LIBRARY_META(aten, CPU, DP_IMPL("_linalg_eigh", linalg_eigh),
                DP_IMPL("_linalg_eigh.eigenvalues", linalg_eigh),
                DP_IMPL("_symeig_helper", symeig_helper))
