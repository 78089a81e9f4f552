/* reduce.c -- sum, mean, prod, max, min, argmax, argmin, any and all over some or all dimensions.
 *
 * The tensor is packed with its kept dimensions first, so that every output is the reduction of one
 * row.  A row is reduced by halves (pairwise summation), which keeps rounding errors small.  Few
 * long rows are cut into chunks for the threads.  Where a row is cut depends on its length only, so
 * the result does not depend on the number of threads. */
#include "dense.h"
#include <math.h>
#include <stdio.h>

enum {
    CHUNK = 65536,    /* elements of a long row that one thread reduces at a time */
    LEAF = 4096,      /* elements below which a row is not halved any more */
    ACCUMULATORS = 32 /* running results of a leaf */
};

/* Reduces n > 0 elements of the class at x to one element at out. */
typedef void (*row_fn)(const void *x, int64_t n, void *out);

/* A leaf is reduced into ACCUMULATORS running results.  They fill several vector registers, so that
 * no step has to wait for the one before it. */
#define ROW(name, type, start, step)                                                               \
    DENSE_LOOP static type name##_leaf(const type *x, int64_t n)                                   \
    {                                                                                              \
        type acc[ACCUMULATORS], all = start;                                                       \
        int64_t i = 0;                                                                             \
        for (int l = 0; l < ACCUMULATORS; l++)                                                     \
            acc[l] = start;                                                                        \
        for (; i + ACCUMULATORS <= n; i += ACCUMULATORS)                                           \
            for (int l = 0; l < ACCUMULATORS; l++)                                                 \
                step(acc[l], x[i + l]);                                                            \
        for (; i < n; i++)                                                                         \
            step(all, x[i]);                                                                       \
        for (int width = n < ACCUMULATORS ? 0 : ACCUMULATORS / 2; width > 0; width /= 2)           \
            for (int l = 0; l < width; l++)                                                        \
                step(acc[l], acc[l + width]);                                                      \
        step(all, acc[0]);                                                                         \
        return all;                                                                                \
    }                                                                                              \
    static type name##_row(const type *x, int64_t n)                                               \
    {                                                                                              \
        if (n <= LEAF)                                                                             \
            return name##_leaf(x, n);                                                              \
        int64_t half = n / 2 / ACCUMULATORS * ACCUMULATORS;                                        \
        type a = name##_row(x, half), b = name##_row(x + half, n - half);                          \
        step(a, b);                                                                                \
        return a;                                                                                  \
    }                                                                                              \
    static void name(const void *x, int64_t n, void *out)                                          \
    {                                                                                              \
        *(type *)out = name##_row(x, n);                                                           \
    }

#define ADD(a, b)      ((a) += (b))
#define MULTIPLY(a, b) ((a) *= (b))
/* A NaN wins over every number, and stays. */
#define GREATER(a, b) ((a) = (b) > (a) || (b) != (b) ? (b) : (a))
#define LESS(a, b)    ((a) = (b) < (a) || (b) != (b) ? (b) : (a))
#define OR(a, b)      ((a) |= (b))
#define AND(a, b)     ((a) &= (b))

ROW(sum_f32, float, 0, ADD)
ROW(sum_f64, double, 0, ADD)
ROW(sum_i64, int64_t, 0, ADD)
ROW(prod_f32, float, 1, MULTIPLY)
ROW(prod_f64, double, 1, MULTIPLY)
ROW(prod_i64, int64_t, 1, MULTIPLY)
ROW(max_f32, float, -INFINITY, GREATER)
ROW(max_f64, double, -INFINITY, GREATER)
ROW(max_i64, int64_t, INT64_MIN, GREATER)
ROW(min_f32, float, INFINITY, LESS)
ROW(min_f64, double, INFINITY, LESS)
ROW(min_i64, int64_t, INT64_MAX, LESS)
ROW(any_i64, int64_t, 0, OR)
ROW(all_i64, int64_t, 1, AND)

typedef struct operation {
    const char *name;
    row_fn row[3];    /* by class: float32, float64, int64 */
    double identity;  /* the result over no elements */
    bool no_identity; /* there is none: reducing no elements is an error */
} operation;

/* Of a class, in tables of loops. */
static int class_index(dp_dtype class)
{
    return class == DP_FLOAT32 ? 0 : class == DP_FLOAT64 ? 1 : 2;
}

static const operation sum_op = {"sum", {sum_f32, sum_f64, sum_i64}, 0, false};
static const operation prod_op = {"prod", {prod_f32, prod_f64, prod_i64}, 1, false};
static const operation max_op = {"max", {max_f32, max_f64, max_i64}, 0, true};
static const operation min_op = {"min", {min_f32, min_f64, min_i64}, 0, true};
static const operation amax_op = {"amax", {max_f32, max_f64, max_i64}, 0, true};
static const operation amin_op = {"amin", {min_f32, min_f64, min_i64}, 0, true};
static const operation any_op = {"any", {NULL, NULL, any_i64}, 0, false};
static const operation all_op = {"all", {NULL, NULL, all_i64}, 1, false};

/* -- the dimensions to reduce -- */

typedef struct layout {
    int ndim;                  /* of the result */
    int64_t sizes[DP_DIM_MAX]; /* of the result */
    int order[DP_DIM_MAX];     /* of the input: kept dimensions, then reduced ones */
    int n_in;                  /* entries of order */
    int64_t rows, length;      /* number of outputs; elements reduced to each */
} layout;

/* dims [n]; an empty list means all dimensions. */
static int plan(dp_ctx *ctx, const dp_view *x, const int64_t *dims, size_t n, bool keepdim,
                layout *l)
{
    bool reduced[DP_DIM_MAX] = {0};

    for (size_t i = 0; i < n; i++) {
        int64_t dim = dims[i];
        int rc = wrap_dim(ctx, &dim, x->ndim);
        if (rc < 0)
            return rc;
        if (reduced[dim])
            return dp_fail(ctx, DP_ERUNTIME, "dim %d appears multiple times in the list of dims",
                           (int)dim);
        reduced[dim] = true;
    }
    l->ndim = l->n_in = 0;
    l->rows = l->length = 1;
    for (int d = 0; d < x->ndim; d++) {
        reduced[d] = reduced[d] || n == 0;
        if (reduced[d]) {
            l->length *= x->sizes[d];
            if (keepdim)
                l->sizes[l->ndim++] = 1;
        } else {
            l->rows *= x->sizes[d];
            l->sizes[l->ndim++] = x->sizes[d];
            l->order[l->n_in++] = d;
        }
    }
    for (int d = 0; d < x->ndim; d++)
        if (reduced[d])
            l->order[l->n_in++] = d;
    return 0;
}

/* self with its dimensions in the layout's order, packed, as elements of the class.  *out owned. */
static int arrange(dp_ctx *ctx, dp_tensor *self, const layout *l, dp_dtype class, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX], strides[DP_DIM_MAX];
    dp_tensor *turned = NULL;
    DP_VIEW(x, self);
    bool as_it_is = true;

    for (int i = 0; i < l->n_in; i++) {
        sizes[i] = x.sizes[l->order[i]];
        strides[i] = x.strides[l->order[i]];
        as_it_is = as_it_is && l->order[i] == i;
    }
    if (as_it_is)
        return dense_get(ctx, self, class, out);
    int rc = dp_as_strided(ctx, self, l->n_in, sizes, strides, dp_tensor_offset(self), &turned);
    if (rc == 0)
        rc = dense_get(ctx, turned, class, out);
    dp_tensor_unref(turned);
    return rc;
}

/* -- running -- */

typedef struct job {
    const char *x;
    char *y;
    int64_t length, bytes;
    row_fn row;
    int64_t total; /* elements of the row that is cut into chunks */
} job;

static void run_rows(int64_t begin, int64_t end, void *user)
{
    const job *j = user;

    for (int64_t r = begin; r < end; r++)
        j->row(j->x + r * j->length * j->bytes, j->length, j->y + r * j->bytes);
}

static void run_chunks(int64_t begin, int64_t end, void *user)
{
    const job *j = user;

    for (int64_t c = begin; c < end; c++) {
        int64_t left = j->total - c * CHUNK;
        j->row(j->x + c * CHUNK * j->bytes, left < CHUNK ? left : CHUNK, j->y + c * j->bytes);
    }
}

static void fill(dp_dtype class, void *y, int64_t n, double value)
{
    for (int64_t i = 0; i < n; i++)
        if (class == DP_FLOAT32)
            ((float *)y)[i] = (float)value;
        else if (class == DP_FLOAT64)
            ((double *)y)[i] = value;
        else
            ((int64_t *)y)[i] = (int64_t)value;
}

static void divide_rows(dp_dtype class, const layout *l, char *y)
{
    for (int64_t i = 0; i < l->rows; i++)
        if (class == DP_FLOAT32)
            ((float *)(void *)y)[i] /= (float)l->length;
        else
            ((double *)(void *)y)[i] /= (double)l->length;
}

static int run_all(dp_ctx *ctx, const operation *op, dp_dtype class, const layout *l, const char *x,
                   char *y)
{
    enum { FEW_ROWS = 64 };
    int64_t bytes = (int64_t)dp_dtype_size(class);
    job j = {x, y, l->length, bytes, op->row[class_index(class)], l->length};

    if (l->length == 0)
        fill(class, y, l->rows, op->identity);
    if (l->length == 0 || l->rows == 0)
        return 0;
    if (l->length <= 2 * CHUNK || l->rows > FEW_ROWS) {
        return dp_parallel_for(ctx, 0, l->rows, dense_grain((double)l->length), run_rows, &j);
    }
    int64_t chunks = (l->length + CHUNK - 1) / CHUNK;
    char *partial = dp_alloc(ctx, (size_t)(chunks * bytes));
    if (partial == NULL)
        return DP_ERESOURCE;
    j.y = partial;
    for (int64_t r = 0; r < l->rows; r++) {
        j.x = x + r * l->length * bytes;
        int rc = dp_parallel_for(ctx, 0, chunks, 1, run_chunks, &j);
        if (rc < 0)
            return rc;
        j.row(partial, chunks, y + r * bytes);
    }
    return 0;
}

/* divide: by the number of elements of a row; a row without elements gives NaN. */
static int run(dp_ctx *ctx, const operation *op, dp_dtype class, const layout *l, const char *x,
               char *y, bool divide)
{
    int rc = run_all(ctx, op, class, l, x, y);

    if (rc == 0 && divide)
        divide_rows(class, l, y);
    return rc;
}

/* For reductions without an identity: an empty input is allowed only if the result is empty too. */
static int check_elements(dp_ctx *ctx, const char *name, const dp_view *x, const int64_t *dims,
                          size_t n)
{
    if (x->numel > 0)
        return 0;
    if (n == 0)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify "
            "the reduction dim with the 'dim' argument.",
            name);
    for (size_t i = 0; i < n; i++) {
        int64_t dim = dims[i];
        int rc = wrap_dim(ctx, &dim, x->ndim);
        if (rc < 0)
            return rc;
        if (x->ndim > 0 && x->sizes[dim] == 0)
            return dp_fail(ctx, DP_EINDEX,
                           "%s(): Expected reduction dim %lld to have non-zero size.", name,
                           (long long)dims[i]);
    }
    return 0;
}

/* Cast self to `from`, reduce it, and return the result as `to`.  divide: by the number of elements
 * of a row; a row without elements gives NaN. */
static int reduce(dp_ctx *ctx, const operation *op, dp_tensor *self, const int64_t *dims, size_t n,
                  bool keepdim, dp_dtype from, dp_dtype to, bool divide, dp_tensor **out)
{
    dp_tensor *cast = NULL, *x = NULL, *y = NULL;
    layout l;
    DP_VIEW(v, self);
    dp_dtype class = dense_class(from);

    int rc = op->no_identity ? check_elements(ctx, op->name, &v, dims, n) : 0;
    if (rc == 0)
        rc = plan(ctx, &v, dims, n, keepdim, &l);
    if (rc == 0 && from != v.dtype && from != class)
        rc = dense_get(ctx, self, from, &cast); /* a narrower dtype rounds before the reduction */
    if (rc == 0)
        rc = arrange(ctx, cast ? cast : self, &l, class, &x);
    if (rc == 0)
        rc = dp_empty(ctx, class, v.device, l.ndim, l.sizes, DP_CONTIGUOUS, &y);
    if (rc == 0 && !dp_memoryless(ctx))
        rc = run(ctx, op, class, &l, dense_data(x), dense_data(y), divide);
    if (rc == 0) {
        rc = dense_put(ctx, y, to, DP_CONTIGUOUS, out);
        y = NULL;
    }
    dp_tensor_unref(cast);
    dp_tensor_unref(x);
    dp_tensor_unref(y);
    return rc;
}

/* -- sum, mean, prod -- */

static int sum_like(dp_ctx *ctx, const operation *op, const char *what, unsigned types,
                    dp_tensor *self, const int64_t *dims, size_t n, bool keepdim,
                    const int64_t *dtype, dp_tensor **out)
{
    DP_VIEW(x, self);
    bool whole = dense_class(x.dtype) == DP_INT64;
    dp_dtype to = dtype ? (dp_dtype)*dtype : whole ? DP_INT64 : x.dtype;

    int rc = dense_check_type(ctx, what, x.dtype, types);
    if (rc == 0)
        rc = dense_check_type(ctx, what, to, types);
    if (rc < 0)
        return rc;
    return reduce(ctx, op, self, dims, n, keepdim, to, to, false, out);
}

/* aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor */
static int sum(dp_ctx *ctx, dp_tensor *self, const int64_t *dtype, dp_tensor **out)
{
    return sum_like(ctx, &sum_op, "sum_cpu", DENSE_ALL, self, NULL, 0, false, dtype, out);
}

/* aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)
 *     -> Tensor */
static int sum_dim(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n, bool keepdim,
                   const int64_t *dtype, dp_tensor **out)
{
    return sum_like(ctx, &sum_op, "sum_cpu", DENSE_ALL, self, dim, n, keepdim, dtype, out);
}

/* aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor */
static int prod(dp_ctx *ctx, dp_tensor *self, const int64_t *dtype, dp_tensor **out)
{
    unsigned types = DENSE_ALL & ~(DENSE_BIT(DP_FLOAT16) | DENSE_BIT(DP_BFLOAT16));
    return sum_like(ctx, &prod_op, "prod_cpu", types, self, NULL, 0, false, dtype, out);
}

/* aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None)
 *     -> Tensor */
static int prod_dim(dp_ctx *ctx, dp_tensor *self, int64_t dim, bool keepdim, const int64_t *dtype,
                    dp_tensor **out)
{
    unsigned types = DENSE_ALL & ~(DENSE_BIT(DP_FLOAT16) | DENSE_BIT(DP_BFLOAT16));
    return sum_like(ctx, &prod_op, "prod_cpu", types, self, &dim, 1, keepdim, dtype, out);
}

/* aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)
 *     -> Tensor */
static int mean_dim(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n, bool keepdim,
                    const int64_t *dtype, dp_tensor **out)
{
    DP_VIEW(x, self);
    dp_dtype to = dtype ? (dp_dtype)*dtype : x.dtype;

    if (dense_class(to) == DP_INT64)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "mean(): could not infer output dtype. %s dtype must be either a floating point "
            "or complex dtype. Got: %s",
            dtype ? "Optional" : "Input", dense_type_name(to));
    int rc = dense_check_type(ctx, "mean_cpu", x.dtype, DENSE_ALL);
    if (rc == 0)
        rc = dense_check_type(ctx, "mean_cpu", to, DENSE_ALL);
    if (rc < 0)
        return rc;
    return reduce(ctx, &sum_op, self, dim, n, keepdim, to, to, true, out);
}

/* aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor */
static int mean(dp_ctx *ctx, dp_tensor *self, const int64_t *dtype, dp_tensor **out)
{
    return mean_dim(ctx, self, NULL, 0, false, dtype, out);
}

/* -- max, min, any, all -- */

static int extreme(dp_ctx *ctx, const operation *op, const char *what, dp_tensor *self,
                   const int64_t *dims, size_t n, bool keepdim, dp_tensor **out)
{
    DP_VIEW(x, self);

    int rc = dense_check_type(ctx, what, x.dtype, DENSE_ALL);
    if (rc < 0)
        return rc;
    return reduce(ctx, op, self, dims, n, keepdim, x.dtype, x.dtype, false, out);
}

/* aten::max(Tensor self) -> Tensor */
static int max_all(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return extreme(ctx, &max_op, "max_all", self, NULL, 0, false, out);
}

/* aten::min(Tensor self) -> Tensor */
static int min_all(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return extreme(ctx, &min_op, "min_all", self, NULL, 0, false, out);
}

/* aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor */
static int amax(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n, bool keepdim,
                dp_tensor **out)
{
    return extreme(ctx, &amax_op, "amax_cpu", self, dim, n, keepdim, out);
}

/* aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor */
static int amin(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n, bool keepdim,
                dp_tensor **out)
{
    return extreme(ctx, &amin_op, "amin_cpu", self, dim, n, keepdim, out);
}

/* any and all return bool, but uint8 for a uint8 tensor. */
static int any_or_all(dp_ctx *ctx, const operation *op, dp_tensor *self, const int64_t *dims,
                      size_t n, bool keepdim, dp_tensor **out)
{
    DP_VIEW(x, self);
    dp_dtype to = x.dtype == DP_UINT8 ? DP_UINT8 : DP_BOOL;

    return reduce(ctx, op, self, dims, n, keepdim, DP_BOOL, to, false, out);
}

/* aten::any(Tensor self) -> Tensor */
static int any_all(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return any_or_all(ctx, &any_op, self, NULL, 0, false, out);
}

/* aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor */
static int any_dim(dp_ctx *ctx, dp_tensor *self, int64_t dim, bool keepdim, dp_tensor **out)
{
    return any_or_all(ctx, &any_op, self, &dim, 1, keepdim, out);
}

/* aten::all(Tensor self) -> Tensor */
static int all_all(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return any_or_all(ctx, &all_op, self, NULL, 0, false, out);
}

/* aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor */
static int all_dim(dp_ctx *ctx, dp_tensor *self, int64_t dim, bool keepdim, dp_tensor **out)
{
    return any_or_all(ctx, &all_op, self, &dim, 1, keepdim, out);
}

/* -- argmax, argmin, and max and min with indices -- */

typedef struct search {
    const void *x;
    void *values; /* may be NULL */
    int64_t *indices;
    int64_t length;
} search;

/* Of equal extremes the first counts; the first NaN wins over every number. */
#define SEARCH(name, type, beats)                                                                  \
    static void name(int64_t begin, int64_t end, void *user)                                       \
    {                                                                                              \
        const search *s = user;                                                                    \
        for (int64_t r = begin; r < end; r++) {                                                    \
            const type *x = (const type *)s->x + r * s->length;                                    \
            int64_t best = 0;                                                                      \
            for (int64_t i = 1; i < s->length && x[best] == x[best]; i++)                          \
                if (x[i] beats x[best] || x[i] != x[i])                                            \
                    best = i;                                                                      \
            s->indices[r] = best;                                                                  \
            if (s->values)                                                                         \
                ((type *)s->values)[r] = x[best];                                                  \
        }                                                                                          \
    }
SEARCH(greatest_f32, float, >)
SEARCH(greatest_f64, double, >)
SEARCH(greatest_i64, int64_t, >)
SEARCH(least_f32, float, <)
SEARCH(least_f64, double, <)
SEARCH(least_i64, int64_t, <)

static const dp_range_fn greatest[3] = {greatest_f32, greatest_f64, greatest_i64};
static const dp_range_fn least[3] = {least_f32, least_f64, least_i64};

/* values NULL: only the indices are wanted. */
static int search_run(dp_ctx *ctx, const dp_range_fn *find, dp_tensor *self, const layout *l,
                      dp_tensor **values, dp_tensor **indices)
{
    dp_tensor *x = NULL, *y = NULL, *p = NULL;
    DP_VIEW(v, self);
    dp_dtype class = dense_class(v.dtype);

    int rc = arrange(ctx, self, l, class, &x);
    if (rc == 0)
        rc = dp_empty(ctx, DP_INT64, v.device, l->ndim, l->sizes, DP_CONTIGUOUS, &p);
    if (rc == 0 && values)
        rc = dp_empty(ctx, class, v.device, l->ndim, l->sizes, DP_CONTIGUOUS, &y);
    if (rc == 0 && !dp_memoryless(ctx)) {
        search s = {dense_data(x), y ? dense_data(y) : NULL, dense_data(p), l->length};
        rc = dp_parallel_for(ctx, 0, l->rows, dense_grain((double)l->length),
                             find[class_index(class)], &s);
    }
    if (rc == 0 && values) {
        rc = dense_put(ctx, y, v.dtype, DP_CONTIGUOUS, values);
        y = NULL;
    }
    if (rc == 0) {
        *indices = p;
        p = NULL;
    }
    dp_tensor_unref(x);
    dp_tensor_unref(y);
    dp_tensor_unref(p);
    return rc;
}

/* dim NULL: over all elements, whose index then counts in row-major order. */
static int arg_extreme(dp_ctx *ctx, const char *name, const dp_range_fn *find, dp_tensor *self,
                       const int64_t *dim, bool keepdim, dp_tensor **out)
{
    char what[32];
    layout l;
    DP_VIEW(x, self);

    snprintf(what, sizeof(what), "%s_cpu", name);
    int rc = dense_check_type(ctx, what, x.dtype, DENSE_ALL & ~DENSE_BIT(DP_BOOL));
    if (rc == 0 && x.numel == 0 && dim == NULL)
        rc = dp_fail(ctx, DP_EINDEX,
                     "%s(): Expected reduction dim to be specified for input.numel() == 0.", name);
    if (rc == 0)
        rc = check_elements(ctx, name, &x, dim, dim ? 1 : 0);
    if (rc == 0)
        rc = plan(ctx, &x, dim, dim ? 1 : 0, keepdim, &l);
    return rc < 0 ? rc : search_run(ctx, find, self, &l, NULL, out);
}

/* aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor */
static int argmax(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, bool keepdim, dp_tensor **out)
{
    return arg_extreme(ctx, "argmax", greatest, self, dim, keepdim, out);
}

/* aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor */
static int argmin(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, bool keepdim, dp_tensor **out)
{
    return arg_extreme(ctx, "argmin", least, self, dim, keepdim, out);
}

static int extreme_dim(dp_ctx *ctx, const char *name, const dp_range_fn *find, dp_tensor *self,
                       int64_t dim, bool keepdim, dp_tensor **values, dp_tensor **indices)
{
    layout l;
    DP_VIEW(x, self);

    int rc = dense_check_type(ctx, name, x.dtype, DENSE_ALL);
    if (rc == 0)
        rc = check_elements(ctx, name, &x, &dim, 1);
    if (rc == 0)
        rc = plan(ctx, &x, &dim, 1, keepdim, &l);
    return rc < 0 ? rc : search_run(ctx, find, self, &l, values, indices);
}

/* aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices) */
static int max_dim(dp_ctx *ctx, dp_tensor *self, int64_t dim, bool keepdim, dp_tensor **values,
                   dp_tensor **indices)
{
    return extreme_dim(ctx, "max", greatest, self, dim, keepdim, values, indices);
}

/* aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices) */
static int min_dim(dp_ctx *ctx, dp_tensor *self, int64_t dim, bool keepdim, dp_tensor **values,
                   dp_tensor **indices)
{
    return extreme_dim(ctx, "min", least, self, dim, keepdim, values, indices);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("sum", sum, (T, oi), (T)),
                DP_IMPL_UNBOXED("sum.dim_IntList", sum_dim, (T, oli, b, oi), (T)),
                DP_IMPL_UNBOXED("prod", prod, (T, oi), (T)),
                DP_IMPL_UNBOXED("prod.dim_int", prod_dim, (T, i, b, oi), (T)),
                DP_IMPL_UNBOXED("mean", mean, (T, oi), (T)),
                DP_IMPL_UNBOXED("mean.dim", mean_dim, (T, oli, b, oi), (T)),
                DP_IMPL_UNBOXED("max", max_all, (T), (T)),
                DP_IMPL_UNBOXED("min", min_all, (T), (T)),
                DP_IMPL_UNBOXED("amax", amax, (T, li, b), (T)),
                DP_IMPL_UNBOXED("amin", amin, (T, li, b), (T)),
                DP_IMPL_UNBOXED("any", any_all, (T), (T)),
                DP_IMPL_UNBOXED("all", all_all, (T), (T)),
                DP_IMPL_UNBOXED("any.dim", any_dim, (T, i, b), (T)),
                DP_IMPL_UNBOXED("all.dim", all_dim, (T, i, b), (T)),
                DP_IMPL_UNBOXED("argmax", argmax, (T, oi, b), (T)),
                DP_IMPL_UNBOXED("argmin", argmin, (T, oi, b), (T)),
                DP_IMPL_UNBOXED("max.dim", max_dim, (T, i, b), (T, T)),
                DP_IMPL_UNBOXED("min.dim", min_dim, (T, i, b), (T, T)))
