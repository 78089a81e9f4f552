/* ldl.c -- LDL factors of symmetric and Hermitian matrices, and solutions computed from them
 * (aten/src/ATen/native/BatchLinearAlgebra.cpp; LAPACK routines sytrf, hetrf, sytrs, hetrs).  Only
 * the lower triangle is read.
 *
 * Operators: linalg_ldl_factor_ex, linalg_ldl_solve. */
#include "matrices.h"

typedef struct ldl {
    dp_dtype dtype;
    bool hermitian; /* the matrix is Hermitian and complex */
    int n, columns, lwork;
} ldl;

static ldl ldl_of(const dp_view *a, bool hermitian)
{
    ldl l = {a->dtype, hermitian && dp_dtype_is_complex(a->dtype), (int)mx_rows(a), 0, -1};
    return l;
}

/* -- factors -- */

static void call_factor(const ldl *l, void *a, int *pivots, void *work, int *info)
{
    if (l->hermitian)
        lapack_hetrf[la_index(l->dtype) - 2]("L", &l->n, a, &l->n, pivots, work, &l->lwork, info,
                                             1);
    else
        lapack_sytrf[la_index(l->dtype)]("L", &l->n, a, &l->n, pivots, work, &l->lwork, info, 1);
}

static void factor_one(const mx_batch *b, char *const *at, char *work)
{
    call_factor(b->user, at[0], (int *)at[1], work, (int *)at[2]);
}

/* Replace the column-major matrices of `x` by their factors. */
static int factor(dp_ctx *ctx, dp_tensor *x, dp_tensor *pivots, dp_tensor *info, bool hermitian)
{
    double answer[2];
    int ignored, pivot;
    mx_batch b;
    DP_VIEW(v, x);
    ldl l = ldl_of(&v, hermitian);
    int rc = dense_check_type(ctx, "ldl_factor_kernel_cpu", v.dtype, MX_TYPES);

    if (rc < 0)
        return rc;
    call_factor(&l, answer, &pivot, answer, &ignored);
    l.lwork = mx_lwork(ctx, v.dtype, answer, 1);
    if (l.lwork == 0)
        return DP_ERESOURCE;
    mx_begin(&b, factor_one, &l, v.ndim - 2, v.sizes);
    mx_add(&b, x, 2);
    mx_add(&b, pivots, 1);
    mx_add(&b, info, 0);
    mx_reserve(&b.work, (size_t)l.lwork, dp_dtype_size(v.dtype));
    b.cost = (double)l.n * l.n * l.n / 3;
    return mx_run(ctx, &b);
}

/* aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False)
 *     -> (Tensor LD, Tensor pivots, Tensor info) */
static int run_factor(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *work[3] = {NULL, NULL, NULL};
    DP_VIEW(a, args[0].u.t);
    int rc = mx_check_square(ctx, &a, "torch.linalg.ldl_factor_ex");

    if (rc == 0)
        rc = mx_check_inexact(ctx, "torch.linalg.ldl_factor_ex", a.dtype);
    if (rc == 0)
        rc = mx_check_fits(ctx, &a);
    for (int i = 0; i < 3 && rc == 0; i++)
        rc = mx_out(ctx, o, i, i == 0 ? a.dtype : DP_INT32, a.ndim - i, a.sizes, i == 0);
    for (int i = 0; i < 3 && rc == 0; i++)
        rc = mx_work(ctx, o, i, 2 - i, &work[i]);
    o->written |= rc == 0;
    if (rc == 0)
        rc = mx_zero(ctx, work[2]);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::tril.out", "TiT>", args[0].u.t, (int64_t)0, work[0]);
    if (rc == 0 && a.numel > 0)
        rc = factor(ctx, work[0], work[1], work[2], args[1].u.b);
    for (int i = 0; i < 3; i++)
        rc = mx_done(ctx, rc, o, i, work[i]);
    return rc == 0 && args[2].u.b
               ? mx_check_info(ctx, o->t[2], "torch.linalg.ldl_factor_ex", a.ndim == 2)
               : rc;
}
MX_KERNEL(ldl_factor_ex, 3, run_factor)

/* -- solving -- */

static void solve_one(const mx_batch *b, char *const *at, char *work)
{
    const ldl *l = b->user;
    const int *pivots = (const int *)at[2];
    int info, t = la_index(l->dtype);

    (void)work;
    if (l->hermitian)
        lapack_hetrs[t - 2]("L", &l->n, &l->columns, at[1], &l->n, pivots, at[0], &l->n, &info, 1);
    else
        lapack_sytrs[t]("L", &l->n, &l->columns, at[1], &l->n, pivots, at[0], &l->n, &info, 1);
}

/* Test whether p [n] are pivots of a lower factor: a negative pivot must be followed by an equal
 * one.  LAPACK does not check this. */
static bool are_pivots(const int32_t *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (p[i] == 0 || p[i] > n || p[i] < -n)
            return false;
        if (p[i] < 0 && (i + 1 == n || p[i + 1] != p[i]))
            return false;
        i += p[i] < 0;
    }
    return true;
}

static int check_pivots(dp_ctx *ctx, dp_tensor *pivots, int64_t n)
{
    DP_VIEW(p, pivots);

    for (int64_t i = 0; i < p.numel; i += n)
        if (!are_pivots((const int32_t *)p.data + i, n))
            return dp_fail(ctx, DP_ERUNTIME,
                           "torch.linalg.ldl_solve: matrix %" PRId64 " has pivots that "
                           "torch.linalg.ldl_factor does not give",
                           i / n);
    return 0;
}

static int check_solve(dp_ctx *ctx, const dp_view *a, const dp_view *p, const dp_view *b)
{
    char text[DP_SHAPE_TEXT];
    int rc = mx_check_square(ctx, a, "torch.linalg.ldl_solve");

    if (rc == 0)
        rc = mx_check_inexact(ctx, "torch.linalg.ldl_solve", a->dtype);
    if (rc == 0 && b->ndim < 2)
        rc = dp_fail(ctx, b->ndim == 0 ? DP_EINDEX : DP_ERUNTIME,
                     "torch.linalg.ldl_solve: Expected B to have at least 2 dimensions, but it has "
                     "%d dimensions instead",
                     b->ndim);
    if (rc == 0)
        rc = mx_check_solve(ctx, b, a, "torch.linalg.ldl_solve");
    if (rc == 0 && (p->ndim != a->ndim - 1 ||
                    memcmp(p->sizes, a->sizes, (size_t)p->ndim * sizeof(int64_t)) != 0))
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the "
                     "same, but got pivots with shape %s instead",
                     dp_shape_text(text, p->sizes, (size_t)p->ndim));
    if (rc == 0 && !dp_dtype_is_integral(p->dtype, false))
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "torch.linalg.ldl_solve: Expected pivots to be integers. Got %s",
                     dense_type_name(p->dtype));
    if (rc == 0)
        rc = mx_check_fits(ctx, a);
    return rc == 0 ? mx_check_fits(ctx, b) : rc;
}

/* Solve in place: x, column-major, has B and is replaced by the solution. */
static int solve(dp_ctx *ctx, dp_tensor *x, dp_tensor *factors, dp_tensor *pivots, bool hermitian)
{
    mx_batch b;
    DP_VIEW(v, x);
    DP_VIEW(a, factors);
    ldl l = ldl_of(&a, hermitian);

    l.columns = (int)mx_cols(&v);
    mx_begin(&b, solve_one, &l, v.ndim - 2, v.sizes);
    mx_add(&b, x, 2);
    mx_add(&b, factors, 2);
    mx_add(&b, pivots, 1);
    b.cost = (double)l.n * l.n * l.columns;
    return mx_run(ctx, &b);
}

/* Set *out, owned, to a copy of the pivots in LAPACK's type, which no other thread can change after
 * it was checked. */
static int own_pivots(dp_ctx *ctx, dp_tensor *pivots, dp_tensor **out)
{
    DP_VIEW(p, pivots);
    int rc = mx_empty(ctx, DP_INT32, p.device, p.ndim, p.sizes, false, out);
    return rc == 0 ? dp_copy(ctx, *out, pivots) : rc;
}

/* aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor */
static int run_solve(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *factors = NULL, *pivots = NULL, *x = NULL;
    int64_t sizes[DP_DIM_MAX];
    int ndim;
    DP_VIEW(a, args[0].u.t);
    DP_VIEW(p, args[1].u.t);
    DP_VIEW(b, args[2].u.t);
    int rc = check_solve(ctx, &a, &p, &b);

    if (rc == 0)
        rc = mx_broadcast(ctx, &b, &a, sizes, &ndim);
    if (rc == 0)
        rc = mx_out(ctx, o, 0, b.dtype, ndim, sizes, true);
    if (rc < 0 || a.numel == 0 || dp_memoryless(ctx))
        return rc;
    rc = dense_check_type(ctx, "ldl_solve_kernel_cpu", a.dtype, MX_TYPES);
    if (rc == 0)
        rc = own_pivots(ctx, args[1].u.t, &pivots);
    if (rc == 0)
        rc = check_pivots(ctx, pivots, mx_rows(&a));
    if (rc == 0)
        rc = mx_borrow(ctx, args[0].u.t, &factors);
    if (rc == 0)
        rc = mx_work(ctx, o, 0, 2, &x);
    o->written |= rc == 0;
    if (rc == 0)
        rc = dp_copy(ctx, x, args[2].u.t);
    if (rc == 0 && b.numel > 0)
        rc = solve(ctx, x, factors, pivots, args[3].u.b);
    dp_tensor_unref(factors);
    dp_tensor_unref(pivots);
    return mx_done(ctx, rc, o, 0, x);
}
MX_KERNEL(ldl_solve, 4, run_solve)

DP_LIBRARY_META(aten, CPU, DP_IMPL("linalg_ldl_factor_ex", ldl_factor_ex),
                DP_IMPL("linalg_ldl_factor_ex.out", ldl_factor_ex),
                DP_IMPL("linalg_ldl_solve", ldl_solve), DP_IMPL("linalg_ldl_solve.out", ldl_solve))
