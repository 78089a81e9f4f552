/* distance.c -- p-norm distances between rows, of one matrix (pdist) or of two batches of matrices
 * (cdist), and their gradients (aten/src/ATen/native/Distance.cpp).  The gradients, and norms other
 * than 0, 1, 2 and infinity, are computed in double.
 *
 * Operators: _cdist_backward, _cdist_forward, _pdist_backward, _pdist_forward. */
#include "distance.h"
#include "core/dense.h"
#include "lib/poll.h"
#include "core/pack.h"
#include <string.h>

enum { NORM_STEPS = 16, SLOPE_STEPS = 4 /* cost of an element for poll_stops() (poll.h) */ };

/* Return the norm of `n` differences, for an order that distance.h has no loop for. */
static double norm_of(const double *a, const double *b, int64_t n, double p)
{
    double sum = 0;

    for (int64_t i = 0, end; i < n && (end = poll_next(NULL, i, n)) > i;)
        for (; i < end; i++)
            sum += pow(fabs(a[i] - b[i]), p);
    return pow(sum, 1 / p);
}

/* Add the derivative of the norm by `a`, times `grad`, to `out`.  `single`: dist was rounded to
 * float32. */
static void add_slope(const double *a, const double *b, int64_t n, double p, bool single,
                      double dist, double grad, double *out)
{
    if (p == 0)
        return;
    double factor = p == 1 || isinf(p) ? grad : dist == 0 ? 0 : grad / pow(dist, p - 1);
    poll look = {0};
    for (int64_t i = 0; i < n && !poll_stops(&look, SLOPE_STEPS); i++) {
        double d = a[i] - b[i], sign = (d > 0) - (d < 0);
        if (p == 1)
            out[i] += factor * sign;
        else if (isinf(p))
            out[i] += (single ? fabs((double)(float)d) : fabs(d)) == dist ? factor * sign : 0;
        else if (p == 2)
            out[i] += factor * d;
        else if (d != 0)
            out[i] += factor * sign * pow(fabs(d), p - 1);
    }
}

typedef struct distances {
    const double *x, *y, *dist, *grad; /* x, y and out may be float32 (run_norm()) */
    double *out;
    int64_t rows, others, columns; /* rows of a matrix x; rows of a matrix y; columns of both */
    double p;
    bool single;
} distances;

/* -- pdist: distances of rows i < j, ordered by i and then by j -- */

static int64_t place_of(const distances *d, int64_t i, int64_t j)
{
    return i * d->rows - i * (i + 1) / 2 + j - i - 1;
}

static void pdist_rows(int64_t begin, int64_t end, void *user)
{
    const distances *d = user;
    poll look = {0};
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = i + 1; j < d->rows && !poll_stops(&look, NORM_STEPS * d->columns); j++)
            d->out[place_of(d, i, j)] =
                norm_of(d->x + i * d->columns, d->x + j * d->columns, d->columns, d->p);
}

static void pdist_slopes(int64_t begin, int64_t end, void *user)
{
    const distances *d = user;
    poll look = {0};
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < d->rows && !poll_stops(&look, SLOPE_STEPS * d->columns); j++) {
            int64_t k = i < j ? place_of(d, i, j) : place_of(d, j, i);
            if (i != j)
                add_slope(d->x + i * d->columns, d->x + j * d->columns, d->columns, d->p, d->single,
                          d->dist[k], d->grad[k], d->out + i * d->columns);
        }
}

/* -- cdist: the rows of all matrices x, one matrix after the other -- */

static void cdist_rows(int64_t begin, int64_t end, void *user)
{
    const distances *d = user;
    poll look = {0};
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < d->others && !poll_stops(&look, NORM_STEPS * d->columns); j++)
            d->out[i * d->others + j] =
                norm_of(d->x + i * d->columns, d->y + (i / d->rows * d->others + j) * d->columns,
                        d->columns, d->p);
}

static void cdist_slopes(int64_t begin, int64_t end, void *user)
{
    const distances *d = user;
    poll look = {0};
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < d->others && !poll_stops(&look, SLOPE_STEPS * d->columns); j++)
            add_slope(d->x + i * d->columns, d->y + (i / d->rows * d->others + j) * d->columns,
                      d->columns, d->p, d->single, d->dist[i * d->others + j],
                      d->grad[i * d->others + j], d->out + i * d->columns);
}

static int run(dp_ctx *ctx, distances *d, int64_t n, dp_range_fn fn)
{
    return dp_parallel_for(ctx, 0, n, dense_grain((double)d->others * (double)d->columns), fn, d);
}

/* Compute `n` rows of distances of kind `form`, in the type of the packed operands. */
static int run_norm(dp_ctx *ctx, distances *d, dp_dtype type, int form, int64_t n)
{
    const ds_job job = {d->x, d->y, d->out, d->rows, d->others, d->columns};
    int norm = d->p == 0     ? DS_COUNT
               : d->p == 1   ? DS_SUM
               : d->p == 2   ? DS_SQUARES
               : isinf(d->p) ? DS_MOST
                             : DS_NORMS;

    if (norm == DS_NORMS)
        return run(ctx, d, n, form == DS_PAIRS ? pdist_rows : cdist_rows);
    return dp_parallel_for(ctx, 0, n, dense_grain((double)d->others * (double)d->columns),
                           CPU_CHOSEN(ds_loops)[norm].run[type == DP_FLOAT64][form], (void *)&job);
}

static dp_dtype type_of(double p, dp_dtype dtype)
{
    bool plain = p == 0 || p == 1 || p == 2 || isinf(p);
    return plain && dtype == DP_FLOAT32 ? DP_FLOAT32 : DP_FLOAT64;
}

/* -- pdist -- */

static const unsigned pairs_types = DP_DTYPE_BITS(DP_DTYPES_FLOATING);

/* Set *out to the number of pairs of `n` rows.  DP_ERESOURCE: it is greater than the number of
 * elements that a tensor can have. */
static int count_pairs(dp_ctx *ctx, int64_t n, int64_t *out)
{
    __int128 pairs = n <= 1 ? 0 : (__int128)n * (n - 1) / 2;
    if (pairs > INT64_MAX / 8)
        return dp_fail(ctx, DP_ERESOURCE, "out of memory: the pairs of %" PRId64 " rows", n);
    *out = (int64_t)pairs;
    return 0;
}

static int check_pdist(dp_ctx *ctx, const char *what, const dp_view *x, dp_tensor *self)
{
    if (!dp_tensor_is_contiguous(self, DP_CONTIGUOUS))
        return dp_fail(ctx, DP_ERUNTIME, "%s requires self to be contiguous", what);
    if (x->ndim != 2)
        return dp_fail(ctx, DP_EINDEX, "%s only supports 2D tensors, got: %dD", what, x->ndim);
    return x->numel == 0 || x->sizes[0] <= 1
               ? 0
               : dense_check_type(ctx, "pdist", x->dtype, pairs_types);
}

/* aten::_pdist_forward(Tensor self, float p=2.) -> Tensor */
static int pdist_forward(dp_ctx *ctx, dp_tensor *self, double p, dp_tensor **out)
{
    DP_VIEW(x, self);
    pack k = {.ctx = ctx, .rc = check_pdist(ctx, "_pdist_forward", &x, self)};
    distances d = {.p = p};
    dp_tensor *made;
    int64_t n = 0;

    *out = NULL;
    if (k.rc == 0)
        k.rc = count_pairs(ctx, x.sizes[0], &n);
    dp_dtype type = type_of(p, x.dtype);
    d.x = pack_get(&k, self, type);
    d.out = pack_new(&k, type, 1, &n, &made);
    if (k.rc == 0 && !dp_memoryless(ctx)) {
        d.rows = d.others = x.sizes[0];
        d.columns = x.sizes[1];
        k.rc = run_norm(ctx, &d, type, DS_PAIRS, n ? d.rows : 0);
    }
    pack_give(&k, made, x.dtype, out);
    return pack_end(&k);
}

static int check_counts(dp_ctx *ctx, const char *what, dp_tensor *t, int64_t n, dp_dtype dtype)
{
    DP_VIEW(v, t);
    if (v.numel != n)
        return dp_fail(ctx, DP_ERUNTIME,
                       "expected %s to have %" PRId64
                       " elements, one for each pair, but got %" PRId64,
                       what, n, v.numel);
    return dense_check_same(ctx, dtype, v.dtype);
}

/* aten::_pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor */
static int pdist_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, double p, dp_tensor *pdist,
                          dp_tensor **out)
{
    DP_VIEW(x, self);
    pack k = {.ctx = ctx, .rc = check_pdist(ctx, "_pdist_backward", &x, self)};
    distances d = {.p = p, .single = x.dtype == DP_FLOAT32};
    dp_tensor *made;
    int64_t n = 0;

    *out = NULL;
    if (k.rc == 0)
        k.rc = count_pairs(ctx, x.sizes[0], &n);
    if (k.rc == 0 && !dp_tensor_is_contiguous(pdist, DP_CONTIGUOUS))
        k.rc = dp_fail(ctx, DP_ERUNTIME, "_pdist_backward requires pdist to be contiguous");
    if (k.rc == 0)
        k.rc = check_counts(ctx, "grad", grad, n, x.dtype);
    if (k.rc == 0)
        k.rc = check_counts(ctx, "pdist", pdist, n, x.dtype);
    d.x = pack_get(&k, self, DP_FLOAT64);
    d.grad = pack_get(&k, grad, DP_FLOAT64);
    d.dist = pack_get(&k, pdist, DP_FLOAT64);
    d.out = pack_zeros(&k, DP_FLOAT64, 2, x.sizes, &made);
    if (k.rc == 0 && !dp_memoryless(ctx)) {
        d.rows = d.others = x.sizes[0];
        d.columns = x.sizes[1];
        k.rc = run(ctx, &d, x.numel ? d.rows : 0, pdist_slopes);
    }
    pack_give(&k, made, x.dtype, out);
    return pack_end(&k);
}

/* -- cdist -- */

typedef struct batches {
    int ndim;
    int64_t sizes[DP_DIM_MAX]; /* sizes of the result */
    int64_t rows, others, columns, n;
} batches;

/* Check x and y, whose leading dimensions must broadcast. */
static int check_cdist(dp_ctx *ctx, const dp_view *x, const dp_view *y, batches *b)
{
    if (x->ndim < 2 || y->ndim < 2)
        return dp_fail(ctx, DP_ERUNTIME, "cdist only supports at least 2D tensors, X%d got: %dD",
                       x->ndim < 2 ? 1 : 2, x->ndim < 2 ? x->ndim : y->ndim);
    if (x->sizes[x->ndim - 1] != y->sizes[y->ndim - 1])
        return dp_fail(ctx, DP_ERUNTIME,
                       "X1 and X2 must have the same number of columns. X1: %" PRId64
                       " X2: %" PRId64,
                       x->sizes[x->ndim - 1], y->sizes[y->ndim - 1]);
    if (!dp_dtype_is_floating(x->dtype) || !dp_dtype_is_floating(y->dtype))
        return dp_fail(ctx, DP_ERUNTIME, "cdist only supports floating-point dtypes, X%d got: %s",
                       dp_dtype_is_floating(x->dtype) ? 2 : 1,
                       dp_dtype_name(dp_dtype_is_floating(x->dtype) ? y->dtype : x->dtype));
    b->ndim = x->ndim > y->ndim ? x->ndim : y->ndim;
    b->rows = x->sizes[x->ndim - 2];
    b->others = y->sizes[y->ndim - 2];
    b->columns = x->sizes[x->ndim - 1];
    int rc = dp_broadcast_shapes(ctx, x->ndim - 2, x->sizes, y->ndim - 2, y->sizes, b->sizes);
    if (rc < 0)
        return rc;
    b->n = 1;
    for (int i = 0; i < b->ndim - 2; i++)
        if (__builtin_mul_overflow(b->n, b->sizes[i], &b->n))
            return dp_fail(ctx, DP_ERESOURCE, "out of memory: too many matrices");
    b->sizes[b->ndim - 2] = b->rows;
    b->sizes[b->ndim - 1] = b->others;
    return 0;
}

/* Set *out, owned, to `t`, whose matrices have `rows` rows, expanded to all leading dimensions. */
static int widen(dp_ctx *ctx, dp_tensor *t, const batches *b, int64_t rows, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];

    memcpy(sizes, b->sizes, sizeof(sizes));
    sizes[b->ndim - 2] = rows;
    sizes[b->ndim - 1] = b->columns;
    return dp_invoke(ctx, "aten::expand", "Tli>T", t, sizes, (size_t)b->ndim, out);
}

static bool by_product(const batches *b, double p, int64_t mode)
{
    enum { WIDE = 25 }; /* number of rows from which on a matrix product is faster */
    return p == 2 && (mode == 1 || (mode == 0 && (b->rows > WIDE || b->others > WIDE)));
}

static int check_mode(dp_ctx *ctx, double p, int64_t mode)
{
    if (!(p >= 0))
        return dp_fail(ctx, DP_ERUNTIME, "cdist only supports non-negative p values");
    if (mode < 0 || mode > 2)
        return dp_fail(ctx, DP_ERUNTIME, "possible modes: 0, 1, 2, but was: %" PRId64, mode);
    return 0;
}

/* Compute cdist of x1 and x2, which are expanded, in `wide`. */
static int cdist_of(dp_ctx *ctx, dp_tensor *const wide[2], const batches *b, double p,
                    dp_dtype dtype, dp_tensor **out)
{
    pack k = {.ctx = ctx};
    distances d = {.rows = b->rows, .others = b->others, .columns = b->columns, .p = p};
    dp_tensor *made;
    bool empty = b->rows == 0 || b->others == 0 || b->n == 0;

    if (!empty && b->columns > 0)
        k.rc = dense_check_type(ctx, "cdist", dtype, pairs_types);
    dp_dtype type = type_of(p, dtype);
    d.x = pack_get(&k, wide[0], type);
    d.y = pack_get(&k, wide[1], type);
    d.out = pack_new(&k, type, b->ndim, b->sizes, &made);
    if (k.rc == 0 && !dp_memoryless(ctx) && !empty)
        k.rc = run_norm(ctx, &d, type, DS_ROWS, b->n * b->rows);
    pack_give(&k, made, dtype, out);
    return pack_end(&k);
}

/* aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor */
static int cdist_forward(dp_ctx *ctx, dp_tensor *x1, dp_tensor *x2, double p, const int64_t *given,
                         dp_tensor **out)
{
    dp_tensor *wide[2] = {0};
    batches b;
    DP_VIEW(x, x1);
    DP_VIEW(y, x2);
    int rc = check_cdist(ctx, &x, &y, &b);

    *out = NULL;
    if (rc == 0)
        rc = check_mode(ctx, p, given ? *given : 0);
    if (rc == 0)
        rc = widen(ctx, x1, &b, b.rows, &wide[0]);
    if (rc == 0)
        rc = widen(ctx, x2, &b, b.others, &wide[1]);
    bool some = rc == 0 && b.rows > 0 && b.others > 0 && b.columns > 0 && b.n > 0;
    if (some && by_product(&b, p, given ? *given : 0))
        rc = dp_invoke(ctx, "aten::_euclidean_dist", "TT>T", wide[0], wide[1], out);
    else if (rc == 0)
        rc = cdist_of(ctx, wide, &b, p, x.dtype, out);
    dp_tensor_unref(wide[0]);
    dp_tensor_unref(wide[1]);
    return rc;
}

static int check_cdist_gradient(dp_ctx *ctx, const batches *b, dp_tensor *cdist, dp_tensor *grad,
                                dp_dtype dtype)
{
    int64_t n = b->n * b->rows * b->others;

    if (!dp_tensor_is_contiguous(cdist, DP_CONTIGUOUS))
        return dp_fail(ctx, DP_ERUNTIME, "_cdist_backward requires dist to be contiguous");
    int rc = check_counts(ctx, "dist", cdist, n, dtype);
    if (rc == 0)
        rc = check_counts(ctx, "grad", grad, n, dtype);
    return rc < 0 ? rc : dense_check_type(ctx, "cdist_backward", dtype, pairs_types);
}

static int cdist_slope(dp_ctx *ctx, dp_tensor *const wide[2], const batches *b, double p,
                       dp_tensor *grad, dp_tensor *cdist, dp_tensor **out)
{
    pack k = {.ctx = ctx};
    distances d = {.rows = b->rows, .others = b->others, .columns = b->columns, .p = p};
    dp_tensor *made;
    DP_VIEW(x, wide[0]);

    d.single = x.dtype == DP_FLOAT32;
    d.x = pack_get(&k, wide[0], DP_FLOAT64);
    d.y = pack_get(&k, wide[1], DP_FLOAT64);
    d.dist = pack_get(&k, cdist, DP_FLOAT64);
    d.grad = pack_get(&k, grad, DP_FLOAT64);
    d.out = pack_zeros(&k, DP_FLOAT64, x.ndim, x.sizes, &made);
    if (k.rc == 0 && !dp_memoryless(ctx))
        k.rc = run(ctx, &d, b->n * b->rows, cdist_slopes);
    pack_give(&k, made, x.dtype, out);
    return pack_end(&k);
}

/* aten::_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor */
static int cdist_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *x1, dp_tensor *x2, double p,
                          dp_tensor *cdist, dp_tensor **out)
{
    dp_tensor *wide[2] = {0};
    batches b;
    DP_VIEW(x, x1);
    DP_VIEW(y, x2);
    int rc = check_cdist(ctx, &x, &y, &b);

    *out = NULL;
    if (rc < 0)
        return rc;
    if (b.rows == 0 || b.others == 0 || b.columns == 0 || b.n == 0)
        return dp_invoke(ctx, "aten::zeros_like", "T>T", x1, out);
    rc = check_cdist_gradient(ctx, &b, cdist, grad, x.dtype);
    if (rc == 0)
        rc = widen(ctx, x1, &b, b.rows, &wide[0]);
    if (rc == 0)
        rc = widen(ctx, x2, &b, b.others, &wide[1]);
    if (rc == 0)
        rc = cdist_slope(ctx, wide, &b, p, grad, cdist, out);
    dp_tensor_unref(wide[0]);
    dp_tensor_unref(wide[1]);
    return rc;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("_pdist_forward", pdist_forward, (T, f), (T)),
                DP_IMPL_UNBOXED("_pdist_backward", pdist_backward, (T, T, f, T), (T)),
                DP_IMPL_UNBOXED("_cdist_forward", cdist_forward, (T, T, f, oi), (T)),
                DP_IMPL_UNBOXED("_cdist_backward", cdist_backward, (T, T, T, f, T), (T)))
