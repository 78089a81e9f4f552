/* unique.c -- the distinct elements or slices of a tensor, and their counts
 * (aten/src/ATen/native/Unique.cpp).
 *
 * Operators: _unique, _unique2, unique_consecutive, unique_dim, unique_dim_consecutive. */
#define _GNU_SOURCE /* qsort_r */
#include "index/gather_scatter.h"
#include "core/dense.h"
#include "order.h"
#include <stdlib.h>

/* n rows of m values each, contiguous */
typedef struct rows {
    dp_view values; /* int64 or float64 */
    int64_t n, m;
} rows;

/* Runs of equal neighbours in n ordered rows.  The arrays are freed when the call ends, or belong
 * to a tensor. */
typedef struct runs {
    int64_t n, count;
    const int64_t *order; /* [n] order of the rows; NULL: they are in order */
    int64_t *starts;      /* [count + 1] index at which each run begins, then n */
    /* [n] elements of one byte, not in order, whose runs are run_of[byte]; NULL: not used */
    const uint8_t *bytes;
    const int64_t *run_of;
} runs;

/* Compare two rows.  NaN is greater than all numbers, and two NaN are not equal. */
static int compare_rows(const rows *r, int64_t a, int64_t b, bool *equal)
{
    const int64_t *i = r->values.data;
    const double *f = r->values.data;
    bool whole = r->values.dtype == DP_INT64;

    *equal = true;
    for (int64_t k = 0; k < r->m; k++) {
        int64_t x = a * r->m + k, y = b * r->m + k;
        int less = whole ? i[x] < i[y] : f[x] < f[y] || (f[x] == f[x] && f[y] != f[y]);
        int more = whole ? i[x] > i[y] : f[x] > f[y] || (f[y] == f[y] && f[x] != f[x]);
        *equal = *equal && (whole || f[x] == f[x]) && !less && !more;
        if (less || more)
            return more - less;
    }
    return 0;
}

static int by_row(const void *a, const void *b, void *user)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    bool equal;
    int order = compare_rows(user, x, y, &equal);
    return order ? order : (x > y) - (x < y);
}

static int new_runs(dp_ctx *ctx, int64_t n, const int64_t *order, runs *r)
{
    *r = (runs){.n = n, .order = order};
    r->starts = dp_alloc_n(ctx, (size_t)(n + 1), sizeof(int64_t));
    return r->starts ? 0 : DP_ERESOURCE;
}

static int group_rows(dp_ctx *ctx, rows *r, bool sorted, runs *g)
{
    bool equal;
    int64_t *order = dp_alloc_n(ctx, (size_t)r->n, sizeof(int64_t));
    int rc = order ? new_runs(ctx, r->n, order, g) : DP_ERESOURCE;

    if (rc < 0)
        return rc;
    for (int64_t i = 0; i < r->n; i++)
        order[i] = i;
    if (sorted)
        qsort_r(order, (size_t)r->n, sizeof(int64_t), by_row, r);
    for (int64_t i = 0; i < r->n; i++) {
        equal = false;
        if (i > 0)
            compare_rows(r, order[i - 1], order[i], &equal);
        if (!equal)
            g->starts[g->count++] = i;
    }
    g->starts[g->count] = r->n;
    return dp_checkpoint(ctx);
}

/* Find the runs of x [g->n], whose elements are in the order of g, without a branch for each
 * element. */
static void group_elements(dp_dtype dtype, const void *data, runs *g)
{
    int64_t *starts = g->starts, k = g->n > 0, n = g->n;

    starts[0] = 0;
    switch (dtype) {
#define EACH(name, dtype_of, memory, value, load, store)                                           \
    case dtype_of: {                                                                               \
        const memory *x = data;                                                                    \
        for (int64_t i = 1; i < n; i++) {                                                          \
            starts[k] = i;                                                                         \
            k += load(x[i]) != load(x[i - 1]);                                                     \
        }                                                                                          \
        break;                                                                                     \
    }
        DP_DTYPES_REAL(EACH)
#undef EACH
    default:
        break;
    }
    g->count = k;
    starts[k] = n;
}

/* -- results -- */

/* Set *out to the index of the run of each row, with these sizes. */
static int inverse_of(dp_ctx *ctx, const runs *g, dp_device device, int ndim, const int64_t *sizes,
                      dp_tensor **out)
{
    int rc = dp_empty(ctx, DP_INT64, device, ndim, sizes, DP_CONTIGUOUS, out);

    if (rc < 0)
        return rc;
    DP_VIEW(v, *out);
    int64_t *y = v.data;
    for (int64_t i = 0; g->bytes != NULL && i < g->n; i++)
        y[i] = g->run_of[g->bytes[i]];
    for (int64_t i = 0, k = 0; g->bytes == NULL && i < g->n; i++) {
        k += i == g->starts[k + 1];
        y[g->order ? g->order[i] : i] = k;
    }
    return 0;
}

/* Set *out to the lengths of the runs. */
static int counts_of(dp_ctx *ctx, const runs *g, dp_device device, dp_tensor **out)
{
    int rc = dp_empty(ctx, DP_INT64, device, 1, &g->count, DP_CONTIGUOUS, out);

    if (rc < 0)
        return rc;
    DP_VIEW(v, *out);
    int64_t *y = v.data;
    for (int64_t k = 0; k < g->count; k++)
        y[k] = g->starts[k + 1] - g->starts[k];
    return 0;
}

/* Set *out to the first element of each run of `data`, whose elements are in the order of g. */
static int firsts_of(dp_ctx *ctx, const runs *g, const dp_view *data, dp_tensor **out)
{
    int rc = dp_empty(ctx, data->dtype, data->device, 1, &g->count, DP_CONTIGUOUS, out);

    if (rc < 0)
        return rc;
    DP_VIEW(y, *out);
    switch (dp_dtype_size(data->dtype)) {
#define EACH(bytes, type)                                                                          \
    case bytes:                                                                                    \
        for (int64_t k = 0; k < g->count; k++)                                                     \
            ((type *)y.data)[k] = ((const type *)data->data)[g->starts[k]];                        \
        break;
        DP_DTYPE_SIZES(EACH)
#undef EACH
    }
    return 0;
}

static int no_indices(dp_ctx *ctx, dp_device device, dp_tensor **out)
{
    int64_t none = 0;
    return dp_empty(ctx, DP_INT64, device, 1, &none, DP_CONTIGUOUS, out);
}

/* options and results of a call */
typedef struct unique {
    bool sorted, inverse, counts;
    dp_tensor *values, *group, *count;
} unique;

static int unique_end(int rc, unique *u, dp_tensor **values, dp_tensor **group, dp_tensor **count)
{
    *values = rc < 0 ? dp_tensor_unref(u->values) : u->values;
    *group = rc < 0 ? dp_tensor_unref(u->group) : u->group;
    *count = rc < 0 ? dp_tensor_unref(u->count) : u->count;
    return rc;
}

static int check_type(dp_ctx *ctx, const char *what, dp_dtype dtype)
{
    if (!dp_dtype_is_complex(dtype))
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "\"%s\" not implemented for '%s'", what, dp_dtype_name(dtype));
}

/* Set the inverse, with these sizes, and the counts; those that are not wanted have no elements. */
static int give_groups(dp_ctx *ctx, const runs *g, const dp_view *x, int ndim, const int64_t *sizes,
                       unique *u)
{
    int rc = u->inverse ? inverse_of(ctx, g, x->device, ndim, sizes, &u->group)
                        : no_indices(ctx, x->device, &u->group);

    if (rc < 0)
        return rc;
    return u->counts ? counts_of(ctx, g, x->device, &u->count)
                     : no_indices(ctx, x->device, &u->count);
}

/* -- elements of one byte: counted, not sorted -- */

enum { BYTES = 256, SIDES = 4 }; /* SIDES: number of tables that count in parallel */

/* Return the rank of `byte` in the order of `dtype`; a bool is 0 or 1. */
static uint8_t rank_of(dp_dtype dtype, uint8_t byte)
{
    return dtype == DP_BOOL ? byte != 0 : dtype == DP_INT8 ? byte ^ 0x80 : byte;
}

/* Count x [n].  Set starts [BYTES + 1] and values [BYTES] to the runs that sorting x would give,
 * and run_of [BYTES] to the run of each byte.  Return the number of runs. */
static int64_t count_bytes(dp_dtype dtype, const uint8_t *x, int64_t n, int64_t *starts,
                           uint8_t *values, int64_t *run_of)
{
    int64_t counts[SIDES][BYTES] = {{0}}, by_rank[BYTES] = {0}, at[BYTES] = {0}, k = 0;

    for (int64_t i = 0; i < n; i++)
        counts[(uint64_t)i % SIDES][x[i]]++;
    for (int b = 0; b < BYTES; b++)
        for (int s = 0; s < SIDES; s++)
            by_rank[rank_of(dtype, (uint8_t)b)] += counts[s][b];
    starts[0] = 0;
    for (int r = 0; r < BYTES; r++)
        if (by_rank[r] > 0) {
            at[r] = k;
            values[k++] = rank_of(dtype, (uint8_t)r);
            starts[k] = starts[k - 1] + by_rank[r];
        }
    for (int b = 0; b < BYTES; b++)
        run_of[b] = at[rank_of(dtype, (uint8_t)b)];
    return k;
}

static int unique_bytes(dp_ctx *ctx, const dp_view *packed, const dp_view *x, unique *u)
{
    int64_t starts[BYTES + 1], run_of[BYTES], n = packed->numel;
    uint8_t values[BYTES];
    runs g = {.n = n, .starts = starts, .bytes = packed->data, .run_of = run_of};
    g.count = count_bytes(x->dtype, packed->data, n, starts, values, run_of);
    int rc = dp_empty(ctx, x->dtype, x->device, 1, &g.count, DP_CONTIGUOUS, &u->values);

    if (rc == 0 && g.count > 0) {
        DP_VIEW(v, u->values);
        memcpy(v.data, values, (size_t)g.count);
    }
    if (rc == 0)
        rc = give_groups(ctx, &g, x, x->ndim, x->sizes, u);
    return rc;
}

/* Find the runs of `packed`, sorted or in its own order.  The sort is stable, so the first of equal
 * elements is returned. */
static int unique_elements(dp_ctx *ctx, dp_tensor *packed, const dp_view *x, unique *u)
{
    runs g;
    dp_tensor *values = NULL, *order = NULL;
    const bool stable = true;
    int rc = !u->sorted ? 0
                        : dp_invoke(ctx, "aten::sort.stable", "Tobib>TT", packed, &stable,
                                    (int64_t)0, 0, &values, &order);

    if (rc == 0) {
        DP_VIEW(v, u->sorted ? values : packed);
        rc = new_runs(ctx, x->numel, u->sorted ? dense_data(order) : NULL, &g);
        if (rc == 0) {
            group_elements(v.dtype, v.data, &g);
            rc = firsts_of(ctx, &g, &v, &u->values);
        }
    }
    if (rc == 0)
        rc = give_groups(ctx, &g, x, x->ndim, x->sizes, u);
    dp_tensor_unref(values);
    dp_tensor_unref(order);
    return rc;
}

/* Run unique over all elements of self, in row-major order. */
static int unique_flat(dp_ctx *ctx, dp_tensor *self, unique *u)
{
    dp_tensor *flat = NULL, *packed = NULL;
    DP_VIEW(x, self);
    int rc = check_type(ctx, "unique", x.dtype);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", self, &x.numel, (size_t)1, &flat);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::contiguous", "T>T", flat, &packed);
    if (rc == 0) {
        DP_VIEW(v, packed);
        rc = u->sorted && dp_dtype_size(v.dtype) == 1 ? unique_bytes(ctx, &v, &x, u)
                                                      : unique_elements(ctx, packed, &x, u);
    }
    dp_tensor_unref(flat);
    dp_tensor_unref(packed);
    return rc;
}

static int check_slices(dp_ctx *ctx, const dp_view *x, int64_t dim)
{
    int zeros = 0;

    for (int d = 0; d < x->ndim; d++)
        zeros += x->sizes[d] == 0;
    if (x->ndim == 0)
        return dp_fail(ctx, DP_EINDEX,
                       "Dimension specified as %" PRId64 " but tensor has no dimensions", dim);
    if (x->sizes[dim] == 0 && zeros != 1)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "Number of zero sized dimensions is more than one, so unique cannot be applied ");
    if (x->sizes[dim] != 0 && zeros != 0)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be "
            "applied");
    return 0;
}

/* Set *values [k, ...] to the distinct rows of t [n, ...], and *g to their runs. */
static int find_rows(dp_ctx *ctx, dp_tensor *t, bool sorted, runs *g, dp_tensor **values)
{
    dp_tensor *wide, *first = NULL;
    DP_VIEW(x, t);
    int rc = order_widen(ctx, t, x.dtype, &wide);

    if (rc < 0)
        return rc;
    DP_VIEW(w, wide);
    rows r = {w, x.sizes[0], x.sizes[0] ? x.numel / x.sizes[0] : 0};
    rc = group_rows(ctx, &r, sorted, g);
    if (rc == 0) {
        dp_view order = {.data = (void *)g->order, .dtype = DP_INT64, .device = x.device};
        rc = firsts_of(ctx, g, &order, &first);
    }
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::index_select", "TiT>T", t, (int64_t)0, first, values);
    dp_tensor_unref(first);
    dp_tensor_unref(wide);
    return rc;
}

/* Run unique over the slices of self along dim. */
static int unique_slices(dp_ctx *ctx, dp_tensor *self, int64_t dim, unique *u)
{
    runs g;
    dp_tensor *moved = NULL, *packed = NULL, *found = NULL;
    DP_VIEW(x, self);
    int rc = check_type(ctx, "unique_dim", x.dtype);

    if (rc == 0)
        rc = wrap_dim(ctx, &dim, x.ndim);
    if (rc == 0)
        rc = check_slices(ctx, &x, dim);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::transpose.int", "Tii>T", self, dim, (int64_t)0, &moved);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::contiguous", "T>T", moved, &packed);
    if (rc == 0)
        rc = find_rows(ctx, packed, u->sorted, &g, &found);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::transpose.int", "Tii>T", found, (int64_t)0, dim, &u->values);
    u->inverse = u->counts = true;
    if (rc == 0)
        rc = give_groups(ctx, &g, &x, 1, &x.sizes[dim], u);
    dp_tensor_unref(moved);
    dp_tensor_unref(packed);
    dp_tensor_unref(found);
    return rc;
}

/* aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool
 *     return_counts=False) -> (Tensor, Tensor, Tensor)
 * The result is sorted even if `sorted` is false. */
static int unique2(dp_ctx *ctx, dp_tensor *self, bool sorted, bool inverse, bool counts,
                   dp_tensor **values, dp_tensor **group, dp_tensor **count)
{
    unique u = {true, inverse || counts, counts, NULL, NULL, NULL};

    (void)sorted;
    return unique_end(unique_flat(ctx, self, &u), &u, values, group, count);
}

/* aten::_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor) */
static int unique_pair(dp_ctx *ctx, dp_tensor *self, bool sorted, bool inverse, dp_tensor **values,
                       dp_tensor **group)
{
    dp_tensor *count;
    int rc = unique2(ctx, self, sorted, inverse, false, values, group, &count);

    dp_tensor_unref(count);
    return rc;
}

/* aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False,
 *     int? dim=None) -> (Tensor, Tensor, Tensor) */
static int unique_consecutive(dp_ctx *ctx, dp_tensor *self, bool inverse, bool counts,
                              const int64_t *dim, dp_tensor **values, dp_tensor **group,
                              dp_tensor **count)
{
    unique u = {false, inverse, counts, NULL, NULL, NULL};
    DP_VIEW(x, self);
    bool flat = dim == NULL || (*dim == 0 && x.ndim == 1);
    int rc = flat ? unique_flat(ctx, self, &u) : unique_slices(ctx, self, *dim, &u);

    return unique_end(rc, &u, values, group, count);
}

/* aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False,
 *     bool return_counts=False) -> (Tensor, Tensor, Tensor)
 * All three results are computed, and sorted, whatever the other arguments are. */
static int unique_dim(dp_ctx *ctx, dp_tensor *self, int64_t dim, bool sorted, bool inverse,
                      bool counts, dp_tensor **values, dp_tensor **group, dp_tensor **count)
{
    unique u = {true, true, true, NULL, NULL, NULL};

    (void)sorted, (void)inverse, (void)counts;
    return unique_end(unique_slices(ctx, self, dim, &u), &u, values, group, count);
}

/* aten::unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False,
 *     bool return_counts=False) -> (Tensor, Tensor, Tensor) */
static int unique_dim_consecutive(dp_ctx *ctx, dp_tensor *self, int64_t dim, bool inverse,
                                  bool counts, dp_tensor **values, dp_tensor **group,
                                  dp_tensor **count)
{
    unique u = {false, true, true, NULL, NULL, NULL};

    (void)inverse, (void)counts;
    return unique_end(unique_slices(ctx, self, dim, &u), &u, values, group, count);
}

DP_LIBRARY_IMPL(aten, CPU, DP_IMPL_UNBOXED("_unique", unique_pair, (T, b, b), (T, T)),
                DP_IMPL_UNBOXED("_unique2", unique2, (T, b, b, b), (T, T, T)),
                DP_IMPL_UNBOXED("unique_consecutive", unique_consecutive, (T, b, b, oi), (T, T, T)),
                DP_IMPL_UNBOXED("unique_dim", unique_dim, (T, i, b, b, b), (T, T, T)),
                DP_IMPL_UNBOXED("unique_dim_consecutive", unique_dim_consecutive, (T, i, b, b),
                                (T, T, T)))
