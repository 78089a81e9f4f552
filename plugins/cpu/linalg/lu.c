/* lu.c -- LU factors, and solutions and inverses computed from them
 * (aten/src/ATen/native/{BatchLinearAlgebra,LinearAlgebra}.cpp; LAPACK routines getrf, getrs).
 *
 * A real row-major matrix is factored as its transpose, as in PyTorch, so that no transposed copy
 * is needed.
 *
 * Operators: linalg_inv_ex, linalg_lu_factor_ex, linalg_lu_solve, _linalg_solve_ex. */
#include "lu.h"

/* -- factors -- */

static void factor_one(const mx_batch *b, char *const *at, char *work)
{
    const dp_view *a = b->user;
    int m = (int)mx_rows(a), n = (int)mx_cols(a);

    (void)work;
    lapack_getrf[la_index(a->dtype)](&m, &n, at[0], &m, (int *)at[1], (int *)at[2]);
}

/* Set the tensor in which output `i` is computed; if `i` is -1, it is a temporary tensor. */
static int lu_place(dp_ctx *ctx, outs *o, int i, int inner, const dp_view *a, dp_dtype dtype,
                    int ndim, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];

    dp_copy_n(sizes, a->sizes, (size_t)a->ndim, sizeof(int64_t));
    if (ndim == a->ndim - 1 && mx_rows(a) < mx_cols(a))
        sizes[ndim - 1] = mx_rows(a);
    else if (ndim == a->ndim - 1)
        sizes[ndim - 1] = mx_cols(a);
    if (i < 0)
        return mx_empty(ctx, dtype, a->device, ndim, sizes, inner == 2, out);
    int rc = mx_out(ctx, o, i, dtype, ndim, sizes, inner == 2);
    return rc == 0 ? mx_work(ctx, o, i, inner, out) : rc;
}

int lu_begin(dp_ctx *ctx, outs *o, lu *f, const dp_view *a)
{
    int rc = mx_check_fits(ctx, a);

    f->lu = f->pivots = f->info = NULL;
    if (rc == 0)
        rc = lu_place(ctx, o, f->at[0], 2, a, a->dtype, a->ndim, &f->lu);
    if (rc == 0)
        rc = lu_place(ctx, o, f->at[1], 1, a, DP_INT32, a->ndim - 1, &f->pivots);
    if (rc == 0)
        rc = lu_place(ctx, o, f->at[2], 0, a, DP_INT32, a->ndim - 2, &f->info);
    return rc;
}

int lu_factor(dp_ctx *ctx, outs *o, lu *f, dp_tensor *A)
{
    mx_batch b;
    DP_VIEW(a, A);

    if (a.numel > 0) {
        int rc = dense_check_type(ctx, "lu_cpu", a.dtype, MX_TYPES);
        if (rc < 0)
            return rc;
    }
    o->written = true;
    int rc = mx_zero(ctx, f->info);
    if (rc < 0 || a.numel == 0)
        return rc;
    mx_begin(&b, factor_one, &a, a.ndim - 2, a.sizes);
    mx_add(&b, f->lu, 2);
    mx_add(&b, f->pivots, 1);
    mx_add(&b, f->info, 0);
    b.cost = (double)mx_rows(&a) * (double)mx_cols(&a) * (double)mx_cols(&a);
    rc = dp_copy(ctx, f->lu, A);
    return rc == 0 ? mx_run(ctx, &b) : rc;
}

int lu_end(dp_ctx *ctx, int rc, outs *o, lu *f)
{
    dp_tensor *work[] = {f->lu, f->pivots, f->info};

    for (int k = 0; k < 3; k++)
        if (f->at[k] >= 0 && work[k] != NULL)
            rc = mx_done(ctx, rc, o, f->at[k], work[k]);
        else
            dp_tensor_unref(work[k]);
    return rc;
}

int lu_side(dp_ctx *ctx, dp_tensor *A, bool *transposed, dp_tensor **out)
{
    DP_VIEW(a, A);

    *transposed = !dp_dtype_is_complex(a.dtype) && dp_tensor_is_contiguous(A, DP_CONTIGUOUS);
    if (*transposed)
        return mx_transposed(ctx, A, out);
    *out = dp_tensor_ref(A);
    return 0;
}

static int check_pivot(dp_ctx *ctx, const dp_view *a, bool pivot)
{
    if (pivot || a->numel == 0)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
}

/* aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False)
 *     -> (Tensor LU, Tensor pivots, Tensor info) */
static int run_factor(dp_ctx *ctx, const dp_value *args, outs *o)
{
    lu f = {.at = {0, 1, 2}};
    DP_VIEW(a, args[0].u.t);
    int rc = mx_check_dims(ctx, &a, "torch.lu_factor");

    if (rc == 0)
        rc = lu_begin(ctx, o, &f, &a);
    if (rc == 0)
        rc = check_pivot(ctx, &a, args[1].u.b);
    if (rc == 0)
        rc = lu_factor(ctx, o, &f, args[0].u.t);
    rc = lu_end(ctx, rc, o, &f);
    return rc == 0 && args[2].u.b
               ? mx_check_info(ctx, o->t[2], "torch.linalg.lu_factor_ex", a.ndim == 2)
               : rc;
}
MX_KERNEL(lu_factor_ex, 3, run_factor)

/* -- solving -- */

typedef struct solving {
    dp_dtype dtype;
    char trans;
    int n;
} solving;

static void solve_one(const mx_batch *b, char *const *at, char *work)
{
    const solving *s = b->user;
    int info;

    (void)work;
    lapack_getrs[la_index(s->dtype)](&s->trans, &s->n, (const int *)at[3], at[1], &s->n,
                                     (const int *)at[2], at[0], &s->n, &info, 1);
}

/* Solve in place: x [..., n, columns], column-major, has B and is replaced by the solution.
 * factors [..., n, n], column-major, and pivots [..., n] broadcast to the batch. */
static int lu_solve_into(dp_ctx *ctx, dp_tensor *x, dp_tensor *factors, dp_tensor *pivots,
                         bool adjoint)
{
    mx_batch b;
    DP_VIEW(v, x);
    solving s = {v.dtype, adjoint ? dp_dtype_is_complex(v.dtype) ? 'C' : 'T' : 'N',
                 (int)mx_rows(&v)};
    int rc = mx_check_fits(ctx, &v);

    if (rc < 0 || v.numel == 0)
        return rc;
    mx_begin(&b, solve_one, &s, v.ndim - 2, v.sizes);
    mx_add(&b, x, 2);
    mx_add(&b, factors, 2);
    mx_add(&b, pivots, 1);
    b.cost = (double)s.n * s.n * (double)mx_cols(&v);
    rc = mx_cut(ctx, &b, mx_cols(&v), (size_t)s.n * dp_dtype_size(v.dtype));
    return rc < 0 ? rc : mx_run(ctx, &b);
}

static int conjugate(dp_ctx *ctx, dp_tensor *t)
{
    DP_VIEW(v, t);
    return dp_dtype_is_complex(v.dtype) ? dp_invoke(ctx, "aten::conj_physical_", "T>", t) : 0;
}

/* Set `result` to B (A')^-1, by solving with transposed operands. */
static int lu_solve_right(dp_ctx *ctx, dp_tensor *result, dp_tensor *B, dp_tensor *factors,
                          dp_tensor *pivots, bool adjoint)
{
    dp_tensor *transposed = NULL, *x = NULL;
    int rc = mx_transposed(ctx, result, &transposed);

    if (rc == 0) {
        DP_VIEW(t, transposed);
        rc = mx_empty(ctx, t.dtype, t.device, t.ndim, t.sizes, true, &x);
    }
    dp_tensor *own = NULL;
    if (rc == 0)
        rc = mx_transposed(ctx, B, &own);
    if (rc == 0)
        rc = dp_copy(ctx, x, own);
    if (rc == 0)
        rc = conjugate(ctx, x);
    if (rc == 0)
        rc = lu_solve_into(ctx, x, factors, pivots, !adjoint);
    if (rc == 0)
        rc = conjugate(ctx, x);
    if (rc == 0)
        rc = dp_copy(ctx, transposed, x);
    dp_tensor_unref(own);
    dp_tensor_unref(x);
    dp_tensor_unref(transposed);
    return rc;
}

/* Set output `i`, which has its sizes, to A'^-1 B or, unless `left`, to B A'^-1; an output with one
 * dimension less is a vector. */
static int lu_solve_out(dp_ctx *ctx, outs *o, int i, dp_tensor *B, dp_tensor *factors,
                        dp_tensor *pivots, bool left, bool adjoint)
{
    dp_tensor *x = NULL;
    int rc;

    o->written = true;
    if (!left)
        return lu_solve_right(ctx, o->t[i], B, factors, pivots, adjoint);
    rc = mx_work(ctx, o, i, 2, &x);
    if (rc == 0)
        rc = dp_copy(ctx, x, B);
    if (rc == 0)
        rc = lu_solve_into(ctx, x, factors, pivots, adjoint);
    return mx_done(ctx, rc, o, i, x);
}

/* Check the arguments of an equation as checkInputsSolver does; A must be square. */
static int check_equation(dp_ctx *ctx, const dp_view *a, const dp_view *b, bool left,
                          const char *name)
{
    int rc = mx_check_square(ctx, a, name);

    if (rc == 0)
        rc = mx_check_matrix(ctx, b, name, "B");
    if (rc < 0 || (left ? mx_rows(a) == mx_rows(b) : mx_cols(a) == mx_cols(b)))
        return rc;
    return dp_fail(ctx, DP_ERUNTIME,
                   "%s: Incompatible shapes of A and B for the equation %s (%" PRId64 "x%" PRId64
                   " and %" PRId64 "x%" PRId64 ")",
                   name, left ? "AX = B" : "XA = B", mx_rows(a), mx_cols(a), mx_rows(b),
                   mx_cols(b));
}

/* Check the factors, the pivots and B of lu_solve. */
static int check_lu_solve(dp_ctx *ctx, const dp_view *f, const dp_view *p, const dp_view *b,
                          bool left)
{
    char text[DP_SHAPE_TEXT];
    int rc = mx_check_inexact(ctx, "torch.linalg.lu_solve", f->dtype);

    if (rc < 0)
        return rc;
    if (f->dtype != b->dtype)
        return dp_fail(ctx, DP_ERUNTIME,
                       "linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of "
                       "type %s and B of type %s instead",
                       dense_type_name(f->dtype), dense_type_name(b->dtype));
    if (p->dtype != DP_INT32)
        return dp_fail(ctx, DP_ERUNTIME,
                       "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32");
    rc = mx_check_square(ctx, f, "torch.linalg.lu_solve");
    if (rc == 0)
        rc = check_equation(ctx, f, b, left, "linalg.lu_solve");
    if (rc < 0)
        return rc;
    if (p->ndim == 0 || mx_cols(f) != p->sizes[p->ndim - 1])
        return dp_fail(ctx, DP_ERUNTIME,
                       "linalg.lu_solve: Number of pivots per batch should be same as the "
                       "dimension of the matrix");
    if (p->ndim == f->ndim - 1 &&
        memcmp(p->sizes, f->sizes, (size_t)p->ndim * sizeof(int64_t)) == 0)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but "
                   "got pivots with shape %s instead",
                   dp_shape_text(text, p->sizes, (size_t)p->ndim));
}

/* Check that the contiguous pivots are in [1, n]. */
static int check_pivot_range(dp_ctx *ctx, dp_tensor *pivots, int64_t n, const char *small,
                             const char *large)
{
    DP_VIEW(p, pivots);
    const int32_t *data = p.data;

    for (int64_t i = 0; data != NULL && i < p.numel; i++)
        if (data[i] < 1 || data[i] > n)
            return dp_fail(ctx, DP_ERUNTIME, "%s", data[i] < 1 ? small : large);
    return 0;
}

/* Set *out, owned, to a copy of the pivots, which no other thread can change after it was
 * checked. */
static int own_pivots(dp_ctx *ctx, dp_tensor *pivots, dp_tensor **out)
{
    DP_VIEW(p, pivots);
    int rc = mx_empty(ctx, p.dtype, p.device, p.ndim, p.sizes, false, out);
    return rc == 0 ? dp_copy(ctx, *out, pivots) : rc;
}

/* aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False)
 *     -> Tensor */
static int run_lu_solve(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *factors = NULL, *pivots = NULL, *B = args[2].u.t;
    bool left = args[3].u.b;
    int64_t sizes[DP_DIM_MAX];
    int ndim;
    DP_VIEW(f, args[0].u.t);
    DP_VIEW(p, args[1].u.t);
    DP_VIEW(b, B);
    int rc = check_lu_solve(ctx, &f, &p, &b, left);

    if (rc == 0)
        rc = mx_broadcast(ctx, &b, &f, sizes, &ndim);
    if (rc == 0)
        rc = mx_out(ctx, o, 0, b.dtype, ndim, sizes, left);
    if (rc < 0 || b.numel == 0 || f.numel == 0 || dp_memoryless(ctx))
        return rc;
    rc = dense_check_type(ctx, "linalg.lu_solve_cpu", f.dtype, MX_TYPES);
    if (rc == 0)
        rc = own_pivots(ctx, args[1].u.t, &pivots);
    if (rc == 0)
        rc = check_pivot_range(ctx, pivots, mx_rows(&f),
                               "Pivots given to lu_solve must all be greater or equal to 1. Did "
                               "you properly pass the result of lu_factor?",
                               "Pivots given to lu_solve must all be smaller or equal to "
                               "LU.size(-2). Did you properly pass the result of lu_factor?");
    if (rc == 0)
        rc = mx_borrow(ctx, args[0].u.t, &factors);
    if (rc == 0)
        rc = lu_solve_out(ctx, o, 0, B, factors, pivots, left, args[4].u.b);
    dp_tensor_unref(factors);
    dp_tensor_unref(pivots);
    return rc;
}
MX_KERNEL(lu_solve, 5, run_lu_solve)

/* -- solve -- */

/* Source: linalg_solve_is_vector_rhs */
static bool is_vector(const dp_view *a, const dp_view *b)
{
    return b->ndim == 1 || (b->ndim == a->ndim - 1 &&
                            memcmp(a->sizes, b->sizes, (size_t)b->ndim * sizeof(int64_t)) == 0);
}

static int check_solve(dp_ctx *ctx, const dp_view *a, const dp_view *b)
{
    int rc = mx_check_inexact(ctx, "linalg.solve", a->dtype);

    if (rc < 0 || a->dtype == b->dtype)
        return rc;
    return dp_fail(ctx, DP_ERUNTIME,
                   "linalg.solve: Expected A and B to have the same dtype, but found A of type %s "
                   "and B of type %s instead",
                   dense_type_name(a->dtype), dense_type_name(b->dtype));
}

/* Set *out, owned, to a view of `t` with one more dimension of size 1 at the end. */
static int as_column(dp_ctx *ctx, dp_tensor *t, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::unsqueeze", "Ti>T", t, (int64_t)-1, out);
}

/* Make output 0 of a solve with B, a matrix or a vector. */
static int solve_result(dp_ctx *ctx, outs *o, const dp_view *a, dp_tensor *B, bool vector,
                        bool left)
{
    int64_t sizes[DP_DIM_MAX];
    int ndim;
    DP_VIEW(b, B);
    int rc = check_equation(ctx, a, &b, left, "linalg.solve");

    if (rc == 0)
        rc = mx_broadcast(ctx, &b, a, sizes, &ndim);
    if (rc == 0 && !left && vector)
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "linalg.solve: Vector broadcasting of the left hand side is not supported for "
                     "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)");
    return rc == 0 ? mx_out(ctx, o, 0, b.dtype, ndim - vector, sizes, left) : rc;
}

/* Solve for a vector; the output may have any strides. */
static int solve_vector(dp_ctx *ctx, outs *o, dp_tensor *B, const lu *f, bool adjoint)
{
    outs one = {.n = 1, .device = o->device, .given = true, .aside = {o->aside[0]}};
    int rc = as_column(ctx, o->t[0], &one.t[0]);

    if (rc == 0)
        rc = lu_solve_out(ctx, &one, 0, B, f->lu, f->pivots, true, adjoint);
    dp_tensor_unref(one.t[0]);
    return rc;
}

/* Factor A, or its transpose, and write the solution to output 0. */
static int factor_and_solve(dp_ctx *ctx, outs *o, lu *f, dp_tensor *A, dp_tensor *B, bool vector,
                            bool left)
{
    dp_tensor *side = NULL;
    bool transposed;
    int rc = lu_side(ctx, A, &transposed, &side);

    if (rc == 0)
        rc = lu_factor(ctx, o, f, side);
    dp_tensor_unref(side);
    DP_VIEW(x, o->t[0]);
    if (rc < 0 || x.numel == 0 || dp_memoryless(ctx))
        return rc;
    return vector ? solve_vector(ctx, o, B, f, transposed)
                  : lu_solve_out(ctx, o, 0, B, f->lu, f->pivots, left, transposed);
}

/* aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False)
 *     -> (Tensor result, Tensor LU, Tensor pivots, Tensor info) */
static int run_solve(dp_ctx *ctx, const dp_value *args, outs *o)
{
    lu f = {.at = {1, 2, 3}};
    dp_tensor *B = NULL;
    bool left = args[2].u.b;
    DP_VIEW(a, args[0].u.t);
    DP_VIEW(b, args[1].u.t);
    int rc = check_solve(ctx, &a, &b);
    bool vector = is_vector(&a, &b);

    if (rc == 0 && vector)
        rc = as_column(ctx, args[1].u.t, &B);
    else if (rc == 0)
        B = dp_tensor_ref(args[1].u.t);
    if (rc == 0)
        rc = solve_result(ctx, o, &a, B, vector, left);
    if (rc == 0)
        rc = lu_begin(ctx, o, &f, &a);
    if (rc == 0)
        rc = factor_and_solve(ctx, o, &f, args[0].u.t, B, vector, left);
    rc = lu_end(ctx, rc, o, &f);
    dp_tensor_unref(B);
    return rc == 0 && args[3].u.b
               ? mx_check_info(ctx, o->t[3], "torch.linalg.solve_ex", a.ndim == 2)
               : rc;
}
MX_KERNEL(solve_ex, 4, run_solve)

/* -- inverse -- */

static int identities(dp_ctx *ctx, dp_tensor *like, dp_tensor **out)
{
    dp_tensor *diagonal = NULL;
    int rc = dp_empty_like(ctx, like, DP_DTYPE_NONE, DP_PRESERVE, out);

    if (rc == 0)
        rc = mx_zero(ctx, *out);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::diagonal", "Tiii>T", *out, (int64_t)0, (int64_t)-2, (int64_t)-1,
                       &diagonal);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", diagonal, dp_int(1));
    dp_tensor_unref(diagonal);
    return rc;
}

/* aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info) */
static int run_inverse(dp_ctx *ctx, const dp_value *args, outs *o)
{
    lu f = {.at = {-1, -1, 1}};
    dp_tensor *eye = NULL;
    DP_VIEW(a, args[0].u.t);
    int rc = mx_check_square(ctx, &a, "linalg.inv");

    if (rc == 0)
        rc = mx_check_precise(ctx, "linalg.inv", a.dtype);
    if (rc == 0)
        rc = mx_out(ctx, o, 0, a.dtype, a.ndim, a.sizes, true);
    if (rc == 0)
        rc = lu_begin(ctx, o, &f, &a);
    if (rc == 0)
        rc = identities(ctx, o->t[0], &eye);
    if (rc == 0)
        rc = factor_and_solve(ctx, o, &f, args[0].u.t, eye, false, true);
    rc = lu_end(ctx, rc, o, &f);
    dp_tensor_unref(eye);
    return rc == 0 && args[1].u.b ? mx_check_info(ctx, o->t[1], "linalg.inv_ex", a.ndim == 2) : rc;
}
MX_KERNEL(inv_ex, 2, run_inverse)

DP_LIBRARY_META(aten, CPU, DP_IMPL("linalg_lu_factor_ex", lu_factor_ex),
                DP_IMPL("linalg_lu_factor_ex.out", lu_factor_ex),
                DP_IMPL("linalg_lu_solve", lu_solve), DP_IMPL("linalg_lu_solve.out", lu_solve),
                DP_IMPL("_linalg_solve_ex", solve_ex), DP_IMPL("_linalg_solve_ex.result", solve_ex),
                DP_IMPL("linalg_inv_ex", inv_ex), DP_IMPL("linalg_inv_ex.inverse", inv_ex))
