/* solve_triangular.c -- solutions of equations with triangular matrices
 * (aten/src/ATen/native/BatchLinearAlgebra.cpp; BLAS routine trsm).
 *
 * Operators: linalg_solve_triangular, triangular_solve. */
#include "matrices.h"

typedef struct triangular {
    dp_dtype dtype;
    char side, uplo, trans, diag;
    int m, n, lda; /* rows and columns of B; leading dimension of A */
} triangular;

static void one(const mx_batch *b, char *const *at, char *work)
{
    static const double one_f64[2] = {1, 0};
    static const float one_f32[2] = {1, 0};
    const triangular *t = b->user;
    const void *alpha = mx_is_double(t->dtype) ? (const void *)one_f64 : (const void *)one_f32;

    const int *lines = (const int *)at[2], *m = t->side == 'L' ? &t->m : lines;
    const int *n = t->side == 'L' ? lines : &t->n;

    (void)work;
    lapack_trsm[la_index(t->dtype)](&t->side, &t->uplo, &t->trans, &t->diag, m, n, alpha, at[1],
                                    &t->lda, at[0], &t->m, 1, 1, 1, 1);
}

/* Solve in place: x [..., m, n], column-major, has B and is replaced by A'^-1 B or B A'^-1.  `a`,
 * column-major, is broadcast. */
static int solve(dp_ctx *ctx, dp_tensor *x, dp_tensor *a, triangular *t)
{
    mx_batch b;
    DP_VIEW(v, x);
    int rc = dense_check_type(ctx, "triangular_solve_cpu", v.dtype, MX_TYPES);

    if (rc == 0)
        rc = mx_check_fits(ctx, &v);
    if (rc < 0 || v.numel == 0)
        return rc;
    t->dtype = v.dtype;
    t->m = (int)mx_rows(&v);
    t->n = (int)mx_cols(&v);
    t->lda = t->side == 'L' ? t->m : t->n;
    mx_begin(&b, one, t, v.ndim - 2, v.sizes);
    mx_add(&b, x, 2);
    mx_add(&b, a, 2);
    b.cost = (double)t->lda * t->m * t->n / 2;
    size_t item = dp_dtype_size(v.dtype);
    rc = t->side == 'L' ? mx_cut(ctx, &b, t->n, (size_t)t->m * item) : mx_cut(ctx, &b, t->m, item);
    return rc < 0 ? rc : mx_run(ctx, &b);
}

/* -- triangular_solve -- */

static int check_old(dp_ctx *ctx, const dp_view *b, const dp_view *a)
{
    if (b->ndim < 2 || a->ndim < 2)
        return dp_fail(ctx, DP_ERUNTIME,
                       "torch.triangular_solve: Expected %s to have at least 2 dimensions, but it "
                       "has %d dimensions instead",
                       b->ndim < 2 ? "b" : "A", b->ndim < 2 ? b->ndim : a->ndim);
    return mx_check_solve(ctx, b, a, "triangular_solve");
}

/* aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False,
 *     bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)
 * Both results have the broadcast batch dimensions. */
static int run_old(dp_ctx *ctx, const dp_value *args, outs *o)
{
    int64_t sizes[DP_DIM_MAX];
    int ndim;
    dp_tensor *work[2] = {NULL, NULL};
    DP_VIEW(b, args[0].u.t);
    DP_VIEW(a, args[1].u.t);
    triangular t = {.side = 'L',
                    .uplo = args[2].u.b ? 'U' : 'L',
                    .trans = args[3].u.b ? 'T' : 'N',
                    .diag = args[4].u.b ? 'U' : 'N'};
    int rc = check_old(ctx, &b, &a);

    if (rc == 0)
        rc = mx_check_fits(ctx, &a);
    if (rc == 0)
        rc = mx_broadcast(ctx, &b, &a, sizes, &ndim);
    if (rc < 0)
        return rc;
    dp_warn(ctx, "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangular"
                 "and will be removed in a future PyTorch release.\ntorch.linalg.solve_triangular "
                 "has its arguments reversed and does not return a copy of one of the inputs.\n"
                 "X = torch.triangular_solve(B, A).solution\nshould be replaced with\n"
                 "X = torch.linalg.solve_triangular(A, B).");
    rc = mx_out(ctx, o, 0, b.dtype, ndim, sizes, true);
    sizes[ndim - 1] = mx_cols(&a);
    if (rc == 0)
        rc = mx_out(ctx, o, 1, a.dtype, ndim, sizes, true);
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = mx_work(ctx, o, i, 2, &work[i]);
    o->written |= rc == 0;
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = dp_copy(ctx, work[i], args[i].u.t);
    if (rc == 0 && a.numel > 0)
        rc = solve(ctx, work[0], work[1], &t);
    for (int i = 0; i < 2; i++)
        rc = mx_done(ctx, rc, o, i, work[i]);
    return rc;
}
MX_KERNEL(triangular_solve, 5, run_old)

/* -- linalg.solve_triangular -- */

static int check(dp_ctx *ctx, const dp_view *a, const dp_view *b, bool left)
{
    const char *name = "linalg.solve_triangular";
    int rc = mx_check_square(ctx, a, name);

    if (rc == 0)
        rc = mx_check_matrix(ctx, b, name, "B");
    if (rc == 0 && (left ? mx_rows(a) != mx_rows(b) : mx_cols(a) != mx_cols(b)))
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "%s: Incompatible shapes of A and B for the equation %s (%" PRId64 "x%" PRId64
                     " and %" PRId64 "x%" PRId64 ")",
                     name, left ? "AX = B" : "XA = B", mx_rows(a), mx_cols(a), mx_rows(b),
                     mx_cols(b));
    if (rc == 0)
        rc = mx_check_fits(ctx, a);
    return rc == 0 ? mx_check_fits(ctx, b) : rc;
}

/* Set *out, owned, to A as trsm reads it: A itself if it is column-major, or row-major and read as
 * its transpose; else a copy. */
static int read_side(dp_ctx *ctx, dp_tensor *A, triangular *t, dp_tensor **out)
{
    if (!dp_tensor_is_contiguous(A, DP_CONTIGUOUS))
        return mx_borrow(ctx, A, out);
    t->trans = 'T';
    t->uplo = t->uplo == 'U' ? 'L' : 'U';
    return mx_transposed(ctx, A, out);
}

/* aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True,
 *     bool unitriangular=False) -> Tensor
 * The result has A's dtype, whatever the dtype of B. */
static int run_new(dp_ctx *ctx, const dp_value *args, outs *o)
{
    int64_t sizes[DP_DIM_MAX];
    int ndim;
    dp_tensor *x = NULL, *side = NULL;
    bool left = args[3].u.b;
    DP_VIEW(a, args[0].u.t);
    DP_VIEW(b, args[1].u.t);
    triangular t = {.side = left ? 'L' : 'R',
                    .uplo = args[2].u.b ? 'U' : 'L',
                    .trans = 'N',
                    .diag = args[4].u.b ? 'U' : 'N'};
    int rc = check(ctx, &a, &b, left);

    if (rc == 0)
        rc = mx_broadcast(ctx, &b, &a, sizes, &ndim);
    if (rc == 0)
        rc = mx_out(ctx, o, 0, a.dtype, ndim, sizes, true);
    if (rc == 0)
        rc = read_side(ctx, args[0].u.t, &t, &side);
    if (rc == 0)
        rc = mx_work(ctx, o, 0, 2, &x);
    if (rc == 0 && b.numel > 0)
        rc = dense_check_type(ctx, "triangular_solve_cpu", a.dtype, MX_TYPES);
    o->written |= rc == 0;
    if (rc == 0)
        rc = dp_copy(ctx, x, args[1].u.t);
    if (rc == 0 && b.numel > 0)
        rc = solve(ctx, x, side, &t);
    dp_tensor_unref(side);
    return mx_done(ctx, rc, o, 0, x);
}
MX_KERNEL(solve_triangular, 5, run_new)

DP_LIBRARY_META(aten, CPU, DP_IMPL("triangular_solve", triangular_solve),
                DP_IMPL("triangular_solve.X", triangular_solve),
                DP_IMPL("linalg_solve_triangular", solve_triangular),
                DP_IMPL("linalg_solve_triangular.out", solve_triangular))
