/* cholesky.c -- Cholesky factors, and solutions and inverses computed from them
 * (aten/src/ATen/native/BatchLinearAlgebra.cpp; LAPACK routines potrf, potrs, potri).
 *
 * Operators: cholesky, cholesky_inverse, _cholesky_solve_helper, linalg_cholesky_ex. */
#include "matrices.h"
#include <complex.h>

typedef struct triangle {
    dp_dtype dtype;
    char uplo;
    int n;
} triangle;

static triangle triangle_of(const dp_view *a, bool upper)
{
    triangle t = {a->dtype, upper ? 'U' : 'L', (int)mx_rows(a)};
    return t;
}

/* -- factors -- */

/* Set the triangle of a [n, n] that `uplo` does not name to zeros. */
static void clear_other(const triangle *t, char *a)
{
    size_t item = dp_dtype_size(t->dtype), n = (size_t)t->n;

    for (size_t j = 0; j < n; j++)
        if (t->uplo == 'L')
            dp_zero_n(a + j * n * item, j, item);
        else
            dp_zero_n(a + (j * n + j + 1) * item, (n - j - 1), item);
}

static void factor_one(const mx_batch *b, char *const *at, char *work)
{
    const triangle *t = b->user;

    (void)work;
    lapack_potrf[la_index(t->dtype)](&t->uplo, &t->n, at[0], &t->n, (int *)at[1], 1);
    clear_other(t, at[0]);
}

/* Run `one` on each column-major matrix of `x`; `info` gets LAPACK's code for each matrix.  One
 * call costs n^3 / per multiplications. */
static int each_matrix(dp_ctx *ctx, dp_tensor *x, dp_tensor *info, bool upper, mx_one *one,
                       double per)
{
    mx_batch b;
    DP_VIEW(v, x);
    triangle t = triangle_of(&v, upper);

    mx_begin(&b, one, &t, v.ndim - 2, v.sizes);
    mx_add(&b, x, 2);
    mx_add(&b, info, 0);
    b.cost = (double)t.n * t.n * t.n / per;
    return mx_run(ctx, &b);
}

/* Replace the column-major matrices of `x` by their factors. */
static int factor(dp_ctx *ctx, dp_tensor *x, dp_tensor *info, bool upper)
{
    return each_matrix(ctx, x, info, upper, factor_one, 3);
}

static int check_ex(dp_ctx *ctx, const dp_view *a)
{
    int rc = mx_check_square(ctx, a, "linalg.cholesky");

    if (rc == 0)
        rc = mx_check_inexact(ctx, "linalg.cholesky", a->dtype);
    if (rc == 0 && a->numel > 0)
        rc = dense_check_type(ctx, "cholesky_cpu", a->dtype, MX_TYPES);
    return rc == 0 ? mx_check_fits(ctx, a) : rc;
}

/* aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False)
 *     -> (Tensor L, Tensor info) */
static int run_ex(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *x = NULL, *info = NULL;
    bool upper = args[1].u.b;
    DP_VIEW(a, args[0].u.t);
    int rc = check_ex(ctx, &a);

    if (rc == 0)
        rc = mx_out(ctx, o, 0, a.dtype, a.ndim, a.sizes, true);
    if (rc == 0)
        rc = mx_out(ctx, o, 1, DP_INT32, a.ndim - 2, a.sizes, false);
    if (rc == 0)
        rc = mx_work(ctx, o, 0, 2, &x);
    if (rc == 0)
        rc = mx_work(ctx, o, 1, 0, &info);
    o->written |= rc == 0;
    if (rc == 0)
        rc = mx_zero(ctx, info);
    if (rc == 0)
        rc = dp_copy(ctx, x, args[0].u.t);
    if (rc == 0 && a.numel > 0)
        rc = factor(ctx, x, info, upper);
    rc = mx_done(ctx, rc, o, 0, x);
    rc = mx_done(ctx, rc, o, 1, info);
    return rc == 0 && args[2].u.b ? mx_check_info(ctx, o->t[1], "linalg.cholesky_ex", a.ndim == 2)
                                  : rc;
}
MX_KERNEL(cholesky_ex, 3, run_ex)

/* Set *out, owned, to the factors of self. */
static int factor_of(dp_ctx *ctx, dp_tensor *self, bool upper, dp_tensor **out)
{
    dp_tensor *x = NULL, *info = NULL;
    DP_VIEW(a, self);
    int rc = dense_check_type(ctx, "cholesky_cpu", a.dtype, MX_TYPES);

    if (rc == 0)
        rc = mx_empty(ctx, a.dtype, a.device, a.ndim, a.sizes, true, &x);
    if (rc == 0)
        rc = mx_empty(ctx, DP_INT32, a.device, a.ndim - 2, a.sizes, false, &info);
    if (rc == 0)
        rc = dp_copy(ctx, x, self);
    if (rc == 0)
        rc = factor(ctx, x, info, upper);
    if (rc == 0)
        rc = mx_check_info(ctx, info, "cholesky", a.ndim == 2);
    dp_tensor_unref(info);
    if (rc < 0)
        x = dp_tensor_unref(x);
    *out = x;
    return rc;
}

/* aten::cholesky(Tensor self, bool upper=False) -> Tensor */
static int run_cholesky(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *made = NULL;
    DP_VIEW(a, args[0].u.t);
    int rc = mx_check_cast(ctx, o, 0, a.dtype, "cholesky", "result");

    if (rc < 0)
        return rc;
    dp_warn(ctx, "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be "
                 "removed in a future PyTorch release.\nL = torch.cholesky(A)\nshould be replaced "
                 "with\nL = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, upper=True)\n"
                 "should be replaced with\nU = torch.linalg.cholesky(A).mH().\nThis transform will "
                 "produce equivalent results for all valid (symmetric positive definite) inputs.");
    if (a.numel == 0)
        rc = dp_empty_like(ctx, args[0].u.t, DP_DTYPE_NONE, DP_CONTIGUOUS, &made);
    else
        rc = mx_check_square(ctx, &a, "cholesky");
    if (rc == 0 && made == NULL)
        rc = mx_check_fits(ctx, &a);
    if (rc == 0 && made == NULL)
        rc = factor_of(ctx, args[0].u.t, args[1].u.b, &made);
    return mx_give(ctx, rc, o, 0, made, false);
}
MX_KERNEL(cholesky, 2, run_cholesky)

/* -- solving -- */

static void solve_one(const mx_batch *b, char *const *at, char *work)
{
    const triangle *t = b->user;
    int info;

    (void)work;
    lapack_potrs[la_index(t->dtype)](&t->uplo, &t->n, (const int *)at[2], at[1], &t->n, at[0],
                                     &t->n, &info, 1);
}

static int check_helper(dp_ctx *ctx, const dp_view *b, const dp_view *a)
{
    int64_t sizes[DP_DIM_MAX];
    int ndim = 0;

    if (b->ndim < 2 || a->ndim < 2)
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s should have at least 2 dimensions, but has %d "
                       "dimensions instead",
                       b->ndim < 2 ? "b" : "u", b->ndim < 2 ? b->ndim : a->ndim);
    int rc = mx_check_solve(ctx, b, a, "cholesky_solve");
    if (rc == 0)
        rc = mx_broadcast(ctx, b, a, sizes, &ndim);
    if (rc == 0 &&
        (ndim != b->ndim || memcmp(sizes, b->sizes, (size_t)ndim * sizeof(int64_t)) != 0))
        rc = dp_fail(ctx, DP_ERUNTIME, "_cholesky_solve_helper: b does not have A's batch");
    if (rc == 0)
        rc = dense_check_type(ctx, "cholesky_solve_cpu", b->dtype, MX_TYPES);
    if (rc == 0)
        rc = mx_check_fits(ctx, b);
    return rc == 0 ? mx_check_fits(ctx, a) : rc;
}

/* aten::_cholesky_solve_helper(Tensor self, Tensor A, bool upper) -> Tensor
 * self [..., n, k], A [..., n, n], of one batch. */
static int run_helper(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *x = NULL, *factors = NULL;
    mx_batch b;
    DP_VIEW(v, args[0].u.t);
    DP_VIEW(a, args[1].u.t);
    int rc = check_helper(ctx, &v, &a);

    if (rc == 0)
        rc = mx_columns(ctx, args[0].u.t, &x);
    if (rc == 0)
        rc = mx_borrow(ctx, args[1].u.t, &factors);
    if (rc == 0 && v.numel > 0) {
        triangle t = triangle_of(&a, args[2].u.b);
        mx_begin(&b, solve_one, &t, v.ndim - 2, v.sizes);
        mx_add(&b, x, 2);
        mx_add(&b, factors, 2);
        b.cost = (double)t.n * t.n * (double)mx_cols(&v);
        rc = mx_cut(ctx, &b, mx_cols(&v), (size_t)t.n * dp_dtype_size(v.dtype));
        if (rc == 0)
            rc = mx_run(ctx, &b);
    }
    dp_tensor_unref(factors);
    return mx_give(ctx, rc, o, 0, x, false);
}
MX_KERNEL(solve_helper, 3, run_helper)

/* -- inverse -- */

/* Define a function that sets the triangle of a [n, n] that `uplo` does not name to the conjugate
 * transpose of the other one. */
#define REFLECT(name, type, CONJ)                                                                  \
    static void name(type *a, int64_t n, char uplo)                                                \
    {                                                                                              \
        for (int64_t j = 0; j < n; j++)                                                            \
            for (int64_t i = j + 1; i < n; i++)                                                    \
                if (uplo == 'U')                                                                   \
                    a[j * n + i] = CONJ(a[i * n + j]);                                             \
                else                                                                               \
                    a[i * n + j] = CONJ(a[j * n + i]);                                             \
    }
REFLECT(reflect_f32, float, )
REFLECT(reflect_f64, double, )
REFLECT(reflect_c64, float complex, conjf)
REFLECT(reflect_c128, double complex, conj)

static void inverse_one(const mx_batch *b, char *const *at, char *work)
{
    const triangle *t = b->user;

    (void)work;
    lapack_potri[la_index(t->dtype)](&t->uplo, &t->n, at[0], &t->n, (int *)at[1], 1);
    if (t->dtype == DP_FLOAT32)
        reflect_f32((float *)at[0], t->n, t->uplo);
    else if (t->dtype == DP_FLOAT64)
        reflect_f64((double *)at[0], t->n, t->uplo);
    else if (t->dtype == DP_COMPLEX64)
        reflect_c64((float complex *)at[0], t->n, t->uplo);
    else
        reflect_c128((double complex *)at[0], t->n, t->uplo);
}

/* aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor */
static int run_inverse(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *x = NULL, *info = NULL;
    DP_VIEW(a, args[0].u.t);
    int rc = mx_check_square(ctx, &a, "cholesky_inverse");

    if (rc == 0)
        rc = mx_check_cast(ctx, o, 0, a.dtype, "cholesky_inverse", "result");
    if (rc == 0)
        rc = dense_check_type(ctx, "cholesky_inverse_out_cpu", a.dtype, MX_TYPES);
    if (rc == 0)
        rc = mx_check_fits(ctx, &a);
    if (rc == 0)
        rc = mx_columns(ctx, args[0].u.t, &x);
    if (rc == 0)
        rc = mx_empty(ctx, DP_INT32, a.device, a.ndim - 2, a.sizes, false, &info);
    if (rc == 0)
        rc = mx_zero(ctx, info);
    if (rc == 0 && a.numel > 0)
        rc = each_matrix(ctx, x, info, args[1].u.b, inverse_one, 1);
    if (rc == 0)
        rc = mx_check_info(ctx, info, "cholesky_inverse", a.ndim == 2);
    dp_tensor_unref(info);
    return mx_give(ctx, rc, o, 0, x, true);
}
MX_KERNEL(cholesky_inverse, 2, run_inverse)

DP_LIBRARY_META(aten, CPU, DP_IMPL("linalg_cholesky_ex", cholesky_ex),
                DP_IMPL("linalg_cholesky_ex.L", cholesky_ex), DP_IMPL("cholesky", cholesky),
                DP_IMPL("cholesky.out", cholesky), DP_IMPL("_cholesky_solve_helper", solve_helper),
                DP_IMPL("cholesky_inverse", cholesky_inverse),
                DP_IMPL("cholesky_inverse.out", cholesky_inverse))
