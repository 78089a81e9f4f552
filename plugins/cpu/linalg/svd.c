/* svd.c -- singular values and singular vectors (aten/src/ATen/native/BatchLinearAlgebra.cpp;
 * LAPACK routine gesdd).
 *
 * Operators: _linalg_svd. */
#include "matrices.h"
#include <math.h>

typedef struct svd {
    dp_dtype dtype;
    char job; /* A: all columns of U and Vh, S: as many vectors as values, N: no vectors */
    int m, n, ldu, ldvt, lwork;
    bool in_place;                   /* A is a copy and may be overwritten */
    size_t copy, work, rwork, iwork; /* offsets in the scratch memory */
} svd;

static void call(const svd *s, void *a, void *values, void *u, void *vt, void *work, void *rwork,
                 int *iwork, int *info)
{
    int t = la_index(s->dtype);

    if (t < 2)
        lapack_gesdd[t](&s->job, &s->m, &s->n, a, &s->m, values, u, &s->ldu, vt, &s->ldvt, work,
                        &s->lwork, iwork, info, 1);
    else
        lapack_gesdd_complex[t - 2](&s->job, &s->m, &s->n, a, &s->m, values, u, &s->ldu, vt,
                                    &s->ldvt, work, &s->lwork, rwork, iwork, info, 1);
}

static bool has_nan(dp_dtype dtype, const void *data, size_t n)
{
    bool nan = false;

    n *= dp_dtype_is_complex(dtype) ? 2 : 1;
    for (size_t i = 0; i < n; i++)
        nan |= mx_is_double(dtype) ? isnan(((const double *)data)[i])
                                   : isnan(((const float *)data)[i]);
    return nan;
}

static void fill_nan(dp_dtype dtype, void *data, size_t n)
{
    n *= dp_dtype_is_complex(dtype) ? 2 : 1;
    for (size_t i = 0; i < n; i++)
        if (mx_is_double(dtype))
            ((double *)data)[i] = NAN;
        else
            ((float *)data)[i] = NAN;
}

/* Fill the results with NaN for a matrix with an infinity or NaN, as PyTorch does if gesdd
 * returns. */
static void set_nan(const svd *s, char *const *at)
{
    int least = s->m < s->n ? s->m : s->n;

    fill_nan(mx_real(s->dtype), at[1], (size_t)least);
    if (s->job == 'N')
        return;
    fill_nan(s->dtype, at[3], (size_t)s->ldu * (size_t)(s->job == 'A' ? s->m : least));
    fill_nan(s->dtype, at[4], (size_t)s->ldvt * (size_t)s->n);
}

/* Process one matrix; at[0]: A, at[1]: S, at[2]: info, at[3] and at[4]: U and Vh, if vectors are
 * computed. */
static void one(const mx_batch *b, char *const *at, char *scratch)
{
    const svd *s = b->user;
    bool vectors = s->job != 'N';
    size_t n = dp_size_times((size_t)s->m, (size_t)s->n);

    if (!mx_finite(s->dtype, at[0], n)) { /* with an infinity, gesdd may not end */
        if (has_nan(s->dtype, at[0], n))
            *(int *)at[2] = -4;
        else
            set_nan(s, at);
        return;
    }
    if (!s->in_place)
        dp_copy_n(scratch + s->copy, at[0], n, dp_dtype_size(s->dtype));
    call(s, s->in_place ? at[0] : scratch + s->copy, at[1], vectors ? at[3] : NULL,
         vectors ? at[4] : NULL, scratch + s->work, scratch + s->rwork, (int *)(scratch + s->iwork),
         (int *)at[2]);
}

/* Return the length of the real work array that gesdd's documentation requires. */
static size_t real_work(const svd *s)
{
    size_t least = (size_t)(s->m < s->n ? s->m : s->n), most = (size_t)(s->m < s->n ? s->n : s->m);
    size_t squares = 5 * least * least + 5 * least,
           mixed = 2 * most * least + 2 * least * least + least;

    if (s->job == 'N')
        return 7 * least;
    return squares > mixed ? squares : mixed;
}

/* Plan the scratch memory for one matrix. */
static int plan(dp_ctx *ctx, svd *s, mx_batch *b)
{
    double answer[2];
    int iwork, info, least = s->m < s->n ? s->m : s->n;
    size_t item = dp_dtype_size(s->dtype);

    s->lwork = -1;
    call(s, answer, answer, answer, answer, answer, answer, &iwork, &info);
    s->lwork = mx_lwork(ctx, s->dtype, answer, 1);
    if (s->lwork == 0)
        return DP_ERESOURCE;
    s->copy = mx_reserve(&b->work, s->in_place ? 0 : (size_t)s->m * (size_t)s->n, item);
    s->work = mx_reserve(&b->work, (size_t)s->lwork, item);
    s->rwork = b->work;
    if (dp_dtype_is_complex(s->dtype))
        mx_reserve(&b->work, real_work(s), item / 2);
    s->iwork = mx_reserve(&b->work, 8 * (size_t)least, sizeof(int));
    b->cost = 20.0 * s->m * s->n * least;
    return 0;
}

/* -- outputs -- */

static int check(dp_ctx *ctx, const dp_view *a, const dp_value *driver)
{
    int rc = mx_check_matrix(ctx, a, "linalg.svd", "A");

    if (rc == 0)
        rc = mx_check_inexact(ctx, "linalg.svd", a->dtype);
    if (rc == 0 && driver->tag != DP_TAG_NONE)
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA "
                     "inputs with cuSOLVER backend.");
    if (rc == 0)
        rc = mx_check_fits(ctx, a);
    int64_t k = mx_rows(a) < mx_cols(a) ? mx_rows(a) : mx_cols(a);
    return rc == 0 && a->numel > 0 ? mx_check_square_scratch(ctx, k, "linalg.svd") : rc;
}

static int make_outputs(dp_ctx *ctx, outs *o, const dp_view *a, bool full, bool vectors)
{
    int64_t sizes[DP_DIM_MAX], none = 0, m = mx_rows(a), n = mx_cols(a), k = m < n ? m : n;
    int d = a->ndim, rc;

    dp_copy_n(sizes, a->sizes, (size_t)d, sizeof(int64_t));
    sizes[d - 1] = full ? m : k;
    rc = mx_out(ctx, o, 0, a->dtype, vectors ? d : 1, vectors ? sizes : &none, vectors);
    sizes[d - 2] = full ? n : k;
    sizes[d - 1] = n;
    if (rc == 0)
        rc = mx_out(ctx, o, 2, a->dtype, vectors ? d : 1, vectors ? sizes : &none, vectors);
    sizes[d - 2] = k;
    return rc == 0 ? mx_out(ctx, o, 1, mx_real(a->dtype), d - 1, sizes, false) : rc;
}

/* Set the full U or Vh of an empty matrix to the identity. */
static int set_identity(dp_ctx *ctx, dp_tensor *t)
{
    dp_tensor *diagonal = NULL;
    DP_VIEW(v, t);

    if (v.numel == 0)
        return 0;
    int rc = mx_zero(ctx, t);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::diagonal", "Tiii>T", t, (int64_t)0, (int64_t)-2, (int64_t)-1,
                       &diagonal);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", diagonal, dp_int(1));
    dp_tensor_unref(diagonal);
    return rc;
}

static int of_empty(dp_ctx *ctx, outs *o, bool full, bool vectors)
{
    if (!full || !vectors)
        return 0;
    o->written = true;
    int rc = set_identity(ctx, o->t[0]);
    return rc == 0 ? set_identity(ctx, o->t[2]) : rc;
}

/* Compute u, s and vh, the tensors in which the outputs are computed. */
static int decompose(dp_ctx *ctx, dp_tensor *A, dp_tensor *u, dp_tensor *s, dp_tensor *vh,
                     dp_tensor *info, svd *job)
{
    mx_batch b;
    dp_tensor *columns = NULL;
    DP_VIEW(a, A);
    int rc = dense_check_type(ctx, "linalg_svd_cpu", a.dtype, MX_TYPES);

    if (rc == 0)
        rc = mx_borrow(ctx, A, &columns);
    if (rc < 0)
        return rc;
    job->in_place = columns != A;
    mx_begin(&b, one, job, a.ndim - 2, a.sizes);
    mx_add(&b, columns, 2);
    mx_add(&b, s, 1);
    mx_add(&b, info, 0);
    if (job->job != 'N') {
        mx_add(&b, u, 2);
        mx_add(&b, vh, 2);
    }
    rc = plan(ctx, job, &b);
    if (rc == 0)
        rc = mx_run(ctx, &b);
    dp_tensor_unref(columns);
    return rc;
}

static svd job_of(const dp_view *a, bool full, bool vectors)
{
    svd s = {.dtype = a->dtype, .job = !vectors ? 'N' : full ? 'A' : 'S'};

    s.m = (int)mx_rows(a);
    s.n = (int)mx_cols(a);
    s.ldu = s.m;
    s.ldvt = full || s.n < s.m ? s.n : s.m;
    return s;
}

/* aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None)
 *     -> (Tensor U, Tensor S, Tensor Vh)
 * A [..., m, n] -> U [..., m, m or k], S [..., k], Vh [..., n or k, n]; k is the least of m and
 * n. */
static int run_svd(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *work[3] = {NULL, NULL, NULL}, *info = NULL;
    bool full = args[1].u.b, vectors = args[2].u.b;
    DP_VIEW(a, args[0].u.t);
    int rc = check(ctx, &a, &args[3]);

    if (rc == 0)
        rc = make_outputs(ctx, o, &a, full, vectors);
    if (rc < 0)
        return rc;
    if (a.numel == 0)
        return of_empty(ctx, o, full, vectors);
    svd job = job_of(&a, full, vectors);
    for (int i = 0; i < 3 && rc == 0; i++)
        rc = mx_work(ctx, o, i, i == 1 || !vectors ? 1 : 2, &work[i]);
    if (rc == 0)
        rc = mx_empty(ctx, DP_INT32, a.device, a.ndim - 2, a.sizes, false, &info);
    if (rc == 0)
        rc = mx_zero(ctx, info);
    o->written |= rc == 0;
    if (rc == 0)
        rc = decompose(ctx, args[0].u.t, work[0], work[1], work[2], info, &job);
    for (int i = 0; i < 3; i++)
        rc = mx_done(ctx, rc, o, i, work[i]);
    if (rc == 0)
        rc = mx_check_info(ctx, info, "linalg.svd", a.ndim == 2);
    dp_tensor_unref(info);
    return rc;
}
MX_KERNEL(linalg_svd, 4, run_svd)

DP_LIBRARY_META(aten, CPU, DP_IMPL("_linalg_svd", linalg_svd), DP_IMPL("_linalg_svd.U", linalg_svd))
