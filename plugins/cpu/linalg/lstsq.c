/* lstsq.c -- least squares solutions (aten/src/ATen/native/BatchLinearAlgebra.cpp; LAPACK routines
 * gels, gelsy, gelsd, gelss).
 *
 * Operators: linalg_lstsq. */
#include "matrices.h"
#include <strings.h>

enum { GELS, GELSY, GELSD, GELSS, DRIVERS };

typedef struct lstsq {
    dp_dtype dtype;
    int driver, m, n, columns, lda, ldb, lwork;
    double rcond;
    /* A is a copy that each matrix of the batch has for itself, and may be overwritten */
    bool in_place;
    size_t copy, work, rwork, iwork; /* offsets in the scratch memory */
} lstsq;

/* Call the driver routine.  `jpvt` is the permutation of gelsy, or the integer scratch memory of
 * gelsd. */
static void call(const lstsq *l, void *a, void *b, void *values, int *rank, void *work, void *rwork,
                 int *jpvt, int *info)
{
    int t = la_index(l->dtype);
    const int *m = &l->m, *n = &l->n, *k = &l->columns, *lda = &l->lda, *ldb = &l->ldb,
              *lwork = &l->lwork;
    float rcond_f = (float)l->rcond;
    const void *rcond = mx_is_double(l->dtype) ? (const void *)&l->rcond : (const void *)&rcond_f;

    if (l->driver == GELS)
        lapack_gels[t]("N", m, n, k, a, lda, b, ldb, work, lwork, info, 1);
    else if (l->driver == GELSY && t < 2)
        lapack_gelsy[t](m, n, k, a, lda, b, ldb, jpvt, rcond, rank, work, lwork, info);
    else if (l->driver == GELSY)
        lapack_gelsy_complex[t - 2](m, n, k, a, lda, b, ldb, jpvt, rcond, rank, work, lwork, rwork,
                                    info);
    else if (l->driver == GELSD && t < 2)
        lapack_gelsd[t](m, n, k, a, lda, b, ldb, values, rcond, rank, work, lwork, jpvt, info);
    else if (l->driver == GELSD)
        lapack_gelsd_complex[t - 2](m, n, k, a, lda, b, ldb, values, rcond, rank, work, lwork,
                                    rwork, jpvt, info);
    else if (t < 2)
        lapack_gelss[t](m, n, k, a, lda, b, ldb, values, rcond, rank, work, lwork, info);
    else
        lapack_gelss_complex[t - 2](m, n, k, a, lda, b, ldb, values, rcond, rank, work, lwork,
                                    rwork, info);
}

/* Process one matrix; at[0]: B, replaced by the solution, at[1]: A, at[2]: info, at[3]: rank,
 * at[4]: singular values. */
static void one(const mx_batch *b, char *const *at, char *scratch)
{
    const lstsq *l = b->user;
    size_t n = dp_size_times((size_t)l->m, (size_t)l->n);
    int rank = 0, *jpvt = (int *)(scratch + l->iwork);

    /* the SVD may not end for such a matrix */
    if (l->driver >= GELSD && !mx_finite(l->dtype, at[1], n)) {
        /* report that the SVD did not converge */
        *(int *)at[2] = l->m < l->n ? l->m : l->n;
        return;
    }
    if (!l->in_place)
        dp_copy_n(scratch + l->copy, at[1], n, dp_dtype_size(l->dtype));
    if (l->driver == GELSY)
        dp_zero_n(jpvt, (size_t)l->n, sizeof(int));
    call(l, l->in_place ? at[1] : scratch + l->copy, at[0], at[4], &rank, scratch + l->work,
         scratch + l->rwork, jpvt, (int *)at[2]);
    *(int64_t *)at[3] = rank;
}

static int plan(dp_ctx *ctx, lstsq *l, mx_batch *b)
{
    double answer[2], real_answer[2] = {0, 0};
    size_t item = dp_dtype_size(l->dtype), least = (size_t)(l->m < l->n ? l->m : l->n), rwork,
           iwork;
    int whole = 0, rank, info;

    l->lwork = -1;
    call(l, answer, answer, answer, &rank, answer, real_answer, &whole, &info);
    l->lwork = mx_lwork(ctx, l->dtype, answer, 1);
    if (l->lwork == 0)
        return DP_ERESOURCE;
    rwork = l->driver == GELSY ? 2 * (size_t)l->n : 5 * least;
    if (l->driver == GELSD && dp_dtype_is_complex(l->dtype)) {
        int asked = mx_lwork(ctx, mx_real(l->dtype), real_answer, 1);
        if (asked == 0)
            return DP_ERESOURCE;
        rwork = (size_t)asked;
    }
    iwork = l->driver == GELSD && whole > 0 ? (size_t)whole : (size_t)l->n;
    l->copy = mx_reserve(&b->work, l->in_place ? 0 : (size_t)l->m * (size_t)l->n, item);
    l->work = mx_reserve(&b->work, (size_t)l->lwork, item);
    l->rwork = mx_reserve(&b->work, rwork + 1, sizeof(double));
    l->iwork = mx_reserve(&b->work, iwork + 1, sizeof(int));
    b->cost = 4.0 * l->m * l->n * ((double)least + l->columns);
    return 0;
}

/* -- the arguments -- */

/* the equations and their solution, with the broadcast batch dimensions */
typedef struct problem {
    dp_tensor *input, *other; /* other has sizes [..., m, k] */
    bool vector;              /* the argument `other` had sizes [..., m] */
    int n_batch;
    int64_t batch[DP_DIM_MAX];
    /* x [..., max(m, n), k], column-major, gets the solution */
    dp_tensor *x, *rank, *values, *info;
} problem;

static int find_driver(dp_ctx *ctx, const dp_value *name, int *driver)
{
    static const char *const names[DRIVERS] = {"gels", "gelsy", "gelsd", "gelss"};

    *driver = GELSY;
    if (name->tag == DP_TAG_NONE)
        return 0;
    for (int i = 0; i < DRIVERS; i++)
        if (strcasecmp(name->u.s, names[i]) == 0) {
            *driver = i;
            return 0;
        }
    return dp_fail(ctx, DP_ERUNTIME,
                   "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, "
                   "gelss)");
}

static int check(dp_ctx *ctx, const dp_view *a, const dp_view *b)
{
    const char *name = "torch.linalg.lstsq";

    if (a->ndim < 2)
        return dp_fail(ctx, DP_ERUNTIME, "%s: input must have at least 2 dimensions.", name);
    if (b->ndim < 1)
        return dp_fail(ctx, DP_ERUNTIME, "%s: other must have at least 1 dimension.", name);
    if (a->dtype != b->dtype)
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s: Expected input and other to have the same dtype, but got input's dtype "
                       "%s and other's dtype %s",
                       name, dense_type_name(a->dtype), dense_type_name(b->dtype));
    if (a->ndim != b->ndim && a->ndim != b->ndim + 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s: input.dim() must be greater or equal to other.dim() and (input.dim() - "
                       "other.dim()) <= 1",
                       name);
    int last = a->ndim == b->ndim ? 2 : 1;
    if (mx_rows(a) != b->sizes[b->ndim - last])
        return dp_fail(ctx, DP_ERUNTIME, "%s: input.size(-2) should match other.size(-%d)", name,
                       last);
    return 0;
}

static int check_outputs(dp_ctx *ctx, const outs *o, dp_dtype d)
{
    static const char *const names[] = {"solution", "solution", "rank", "singular_values"};
    const dp_dtype types[] = {d, mx_real(d), DP_INT64, mx_real(d)};
    int rc = 0;

    for (int i = 0; i < 4 && rc == 0; i++)
        rc = mx_check_cast(ctx, o, i, types[i], "torch.linalg.lstsq", names[i]);
    return rc;
}

static int find_rcond(dp_ctx *ctx, const dp_value *given, const dp_view *a, double *rcond)
{
    int64_t most = mx_rows(a) > mx_cols(a) ? mx_rows(a) : mx_cols(a);

    if (given->tag != DP_TAG_NONE) {
        *rcond = given->u.d;
        return dense_check_type(ctx, "linalg_lstsq_cpu", a->dtype, MX_TYPES);
    }
    *rcond = (mx_is_double(a->dtype) ? __DBL_EPSILON__ : (double)__FLT_EPSILON__) * (double)most;
    if (MX_TYPES & DENSE_BIT(a->dtype))
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "This function doesn't handle types other than float and double");
}

/* -- solving -- */

/* Make x, with `other` in its first rows, and the tensors of all other results. */
static int prepare(dp_ctx *ctx, problem *p, const dp_view *a, const dp_view *b)
{
    int64_t sizes[DP_DIM_MAX], m = mx_rows(a), n = mx_cols(a), least = m < n ? m : n;
    int rc = dp_broadcast_shapes(ctx, a->ndim - 2, a->sizes, b->ndim - 2, b->sizes, p->batch), d;
    dp_tensor *top = NULL;

    d = p->n_batch = (a->ndim > b->ndim ? a->ndim : b->ndim) - 2;
    if (rc < 0)
        return rc;
    dp_copy_n(sizes, p->batch, (size_t)d, sizeof(int64_t));
    sizes[d] = m > n ? m : n;
    sizes[d + 1] = mx_cols(b);
    rc = mx_empty(ctx, a->dtype, a->device, d + 2, sizes, true, &p->x);
    if (rc == 0)
        rc = mx_empty(ctx, DP_INT64, a->device, d, sizes, false, &p->rank);
    if (rc == 0)
        rc = mx_empty(ctx, DP_INT32, a->device, d, sizes, false, &p->info);
    sizes[d] = least;
    if (rc == 0)
        rc = mx_empty(ctx, mx_real(a->dtype), a->device, d + 1, sizes, false, &p->values);
    if (rc == 0)
        rc = mx_zero(ctx, p->info);
    if (rc == 0)
        rc = mx_zero(ctx, p->rank);
    if (rc == 0)
        rc = mx_zero(ctx, p->x);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::narrow", "Tiii>T", p->x, (int64_t)-2, (int64_t)0, m, &top);
    if (rc == 0)
        rc = dp_copy(ctx, top, p->other);
    dp_tensor_unref(top);
    return rc;
}

static int solve(dp_ctx *ctx, problem *p, lstsq *l)
{
    mx_batch b;
    dp_tensor *columns = NULL;
    DP_VIEW(a, p->input);
    DP_VIEW(x, p->x);
    int64_t least = mx_rows(&a) < mx_cols(&a) ? mx_rows(&a) : mx_cols(&a);

    /* without equations or unknowns, gels gives zeros, and the other drivers leave B */
    if (x.numel == 0 || least == 0)
        return l->driver == GELS || mx_rows(&a) == 0 ? mx_zero(ctx, p->x) : 0;
    l->dtype = a.dtype;
    l->m = l->lda = (int)mx_rows(&a);
    l->n = (int)mx_cols(&a);
    l->columns = (int)mx_cols(&x);
    l->ldb = (int)mx_rows(&x);
    int rc = mx_borrow(ctx, p->input, &columns);
    if (rc == 0) {
        l->in_place = columns != p->input && a.ndim - 2 == p->n_batch &&
                      memcmp(a.sizes, p->batch, (size_t)p->n_batch * sizeof(int64_t)) == 0;
        mx_begin(&b, one, l, p->n_batch, p->batch);
        mx_add(&b, p->x, 2);
        mx_add(&b, columns, 2);
        mx_add(&b, p->info, 0);
        mx_add(&b, p->rank, 0);
        mx_add(&b, p->values, 1);
        rc = plan(ctx, l, &b);
    }
    if (rc == 0)
        rc = mx_run(ctx, &b);
    dp_tensor_unref(columns);
    return rc == 0 ? mx_check_info(ctx, p->info, "torch.linalg.lstsq", p->n_batch == 0) : rc;
}

/* -- outputs -- */

/* Set *all to whether every rank is `n`. */
static int has_full_rank(dp_ctx *ctx, const problem *p, int64_t n, bool *all)
{
    dp_tensor *same = NULL, *every = NULL;
    dp_value v = dp_bool(false);
    int rc = dp_invoke(ctx, "aten::eq.Scalar", "Ts>T", p->rank, dp_int(n), &same);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::all", "T>T", same, &every);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::item", "T>s", every, &v);
    dp_tensor_unref(same);
    dp_tensor_unref(every);
    *all = rc == 0 && as_int(v) != 0;
    return rc;
}

/* Set *out, owned, to the sums of squares of the rows of x from row `n` on. */
static int residuals_of(dp_ctx *ctx, const problem *p, int64_t m, int64_t n, dp_tensor **out)
{
    dp_tensor *rest = NULL, *size = NULL, *square = NULL;
    const int64_t rows = -2;
    int rc = dp_invoke(ctx, "aten::narrow", "Tiii>T", p->x, rows, n, m - n, &rest);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::abs", "T>T", rest, &size);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::mul.Tensor", "TT>T", size, size, &square);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::sum.dim_IntList", "Toli>T", square, &rows, (size_t)1, out);
    dp_tensor_unref(rest);
    dp_tensor_unref(size);
    dp_tensor_unref(square);
    return rc;
}

/* Set output `i` to the part of `from` with these sizes and strides: a view if the output has no
 * elements, else a copy. */
static int give_part(dp_ctx *ctx, outs *o, int i, dp_tensor *from, int ndim, const int64_t *sizes,
                     const int64_t *strides)
{
    dp_tensor *part = NULL;
    DP_VIEW(f, from);
    DP_VIEW(t, o->t[i]);

    o->written = true;
    if (t.numel == 0 && t.dtype == f.dtype)
        return dp_set_storage(ctx, o->t[i], from, dp_tensor_offset(from), ndim, sizes, strides);
    int rc = dp_as_strided(ctx, from, ndim, sizes, strides, dp_tensor_offset(from), &part);
    return mx_give(ctx, rc, o, i, part, false);
}

/* Set output 0 to the solution, the first `n` rows of x; if `other` was a vector, to its only
 * column. */
static int give_solution(dp_ctx *ctx, outs *o, const problem *p, int64_t n)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(x, p->x);

    dp_copy_n(sizes, x.sizes, (size_t)x.ndim, sizeof(int64_t));
    sizes[x.ndim - 2] = n;
    return give_part(ctx, o, 0, p->x, x.ndim - p->vector, sizes, x.strides);
}

/* Set output `i` to rank or values of the input's matrices; `all` has them for every matrix of the
 * broadcast batch. */
static int give_once(dp_ctx *ctx, outs *o, int i, dp_tensor *all, const dp_view *a, int inner)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(v, all);
    int own = a->ndim - 2, extra = v.ndim - inner - own;

    dp_copy_n(sizes, a->sizes, (size_t)own, sizeof(int64_t));
    if (inner > 0)
        sizes[own] = v.sizes[v.ndim - 1];
    return give_part(ctx, o, i, all, own + inner, sizes, v.strides + extra);
}

static int give_nothing(dp_ctx *ctx, outs *o, int i, dp_dtype d)
{
    int64_t none = 0;
    dp_tensor *made = NULL;
    int rc = dp_empty(ctx, d, o->device, 1, &none, DP_CONTIGUOUS, &made);

    return mx_give(ctx, rc, o, i, made, false);
}

static int give_all(dp_ctx *ctx, outs *o, const problem *p, const dp_view *a, int driver)
{
    int64_t m = mx_rows(a), n = mx_cols(a);
    dp_tensor *residuals = NULL;
    bool wanted = m > n && driver != GELSY;
    int rc = 0;

    if (wanted && driver != GELS)
        rc = has_full_rank(ctx, p, n, &wanted);
    if (rc == 0 && wanted)
        rc = residuals_of(ctx, p, m, n, &residuals);
    if (rc == 0 && wanted)
        rc = mx_give(ctx, rc, o, 1, residuals, false);
    else if (rc == 0)
        rc = give_nothing(ctx, o, 1, mx_real(a->dtype));
    if (rc == 0)
        rc = give_solution(ctx, o, p, n);
    if (rc == 0)
        rc = driver == GELS ? give_nothing(ctx, o, 2, DP_INT64)
                            : give_once(ctx, o, 2, p->rank, a, 0);
    if (rc == 0)
        rc = driver == GELSD || driver == GELSS ? give_once(ctx, o, 3, p->values, a, 1)
                                                : give_nothing(ctx, o, 3, mx_real(a->dtype));
    return rc;
}

static void problem_fini(problem *p)
{
    dp_tensor_unref(p->other);
    dp_tensor_unref(p->x);
    dp_tensor_unref(p->rank);
    dp_tensor_unref(p->values);
    dp_tensor_unref(p->info);
}

/* Set p->other to `other` as matrices; a vector becomes a matrix with one column. */
static int find_other(dp_ctx *ctx, problem *p, dp_tensor *other, const dp_view *a)
{
    DP_VIEW(b, other);

    p->vector = b.ndim == 1 || (b.ndim == a->ndim - 1 &&
                                memcmp(a->sizes, b.sizes, (size_t)b.ndim * sizeof(int64_t)) == 0);
    if (p->vector)
        return dp_invoke(ctx, "aten::unsqueeze", "Ti>T", other, (int64_t)-1, &p->other);
    if (b.ndim < a->ndim)
        return dp_fail(ctx, DP_ERUNTIME,
                       "torch.linalg.lstsq: other has one dimension less than input, and is no "
                       "batch of vectors of input's batch");
    p->other = dp_tensor_ref(other);
    return 0;
}

/* Make the tensors of the results, and compute them. */
static int run_problem(dp_ctx *ctx, problem *p, lstsq *l, const dp_view *a)
{
    int64_t least = mx_rows(a) < mx_cols(a) ? mx_rows(a) : mx_cols(a);
    DP_VIEW(b, p->other);
    int rc = mx_check_fits(ctx, a);

    if (rc == 0)
        rc = mx_check_fits(ctx, &b);
    if (rc == 0 && l->driver >= GELSD)
        rc = mx_check_square_scratch(ctx, least, "torch.linalg.lstsq");
    if (rc == 0)
        rc = prepare(ctx, p, a, &b);
    return rc == 0 ? solve(ctx, p, l) : rc;
}

/* aten::linalg_lstsq.out(Tensor self, Tensor b, float? rcond=None, *, str? driver=None,
 *     Tensor(a!) solution, Tensor(b!) residuals, Tensor(c!) rank, Tensor(d!) singular_values) ->
 *     ... */
static int run_lstsq(dp_ctx *ctx, const dp_value *args, outs *o)
{
    problem p = {.input = args[0].u.t};
    lstsq l = {0};
    DP_VIEW(a, args[0].u.t);
    DP_VIEW(b, args[1].u.t);
    int rc = check(ctx, &a, &b);

    if (rc == 0)
        rc = check_outputs(ctx, o, a.dtype);
    if (rc == 0)
        rc = find_driver(ctx, &args[3], &l.driver);
    if (rc == 0)
        rc = find_rcond(ctx, &args[2], &a, &l.rcond);
    if (rc == 0)
        rc = find_other(ctx, &p, args[1].u.t, &a);
    if (rc == 0)
        rc = run_problem(ctx, &p, &l, &a);
    if (rc == 0)
        rc = give_all(ctx, o, &p, &a, l.driver);
    problem_fini(&p);
    return rc;
}
MX_KERNEL(linalg_lstsq, 4, run_lstsq)

DP_LIBRARY_META(aten, CPU, DP_IMPL("linalg_lstsq.out", linalg_lstsq))
