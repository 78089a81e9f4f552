/* unique.c -- which elements, or slices, of a tensor are there, and how often
 * (aten/src/ATen/native/Unique.cpp). */
#define _GNU_SOURCE /* qsort_r */
#include "along.h"
#include "order.h"
#include <stdlib.h>

/* n rows of m values each, packed. */
typedef struct rows {
    dp_view values; /* int64 or float64 */
    int64_t n, m;
} rows;

/* What is found: the rows in order, equal ones beside one another.  All in memory of the call. */
typedef struct groups {
    int64_t n;
    int64_t *order, *group, *first, *count; /* group: of each row; first, count: of each group */
} groups;

/* NaN is behind everything, and of two NaN neither is equal to the other. */
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

static int group_rows(dp_ctx *ctx, rows *r, bool sorted, groups *g)
{
    bool equal;

    g->n = 0;
    g->order = dp_alloc(ctx, 4 * (size_t)r->n * sizeof(int64_t));
    if (g->order == NULL)
        return DP_ERESOURCE;
    g->group = g->order + r->n;
    g->first = g->group + r->n;
    g->count = g->first + r->n;
    for (int64_t i = 0; i < r->n; i++)
        g->order[i] = i;
    if (sorted)
        qsort_r(g->order, (size_t)r->n, sizeof(int64_t), by_row, r);
    for (int64_t i = 0; i < r->n; i++) {
        equal = false;
        if (i > 0)
            compare_rows(r, g->order[i - 1], g->order[i], &equal);
        if (!equal) {
            g->first[g->n] = g->order[i];
            g->count[g->n++] = 0;
        }
        g->count[g->n - 1]++;
        g->group[g->order[i]] = g->n - 1;
    }
    return dp_checkpoint(ctx);
}

/* *out: int64, with these values [n] */
static int indices_of(dp_ctx *ctx, dp_device device, const int64_t *values, int64_t n, int ndim,
                      const int64_t *sizes, dp_tensor **out)
{
    int rc = dp_empty(ctx, DP_INT64, device, ndim, sizes, DP_CONTIGUOUS, out);

    if (rc < 0 || n == 0)
        return rc;
    DP_VIEW(y, *out);
    memcpy(y.data, values, (size_t)n * sizeof(int64_t));
    return 0;
}

/* What a call asks for, and gives. */
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

/* The rows of t [n, ...] that are there, each once, as *values [k, ...]; groups in *g. */
static int find_rows(dp_ctx *ctx, dp_tensor *t, bool sorted, groups *g, dp_tensor **values)
{
    dp_tensor *wide, *first = NULL;
    DP_VIEW(x, t);
    int rc = order_widen(ctx, t, x.dtype, &wide);

    if (rc < 0)
        return rc;
    DP_VIEW(w, wide);
    rows r = {w, x.sizes[0], x.sizes[0] ? x.numel / x.sizes[0] : 0};
    rc = group_rows(ctx, &r, sorted, g);
    if (rc == 0)
        rc = indices_of(ctx, x.device, g->first, g->n, 1, &g->n, &first);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::index_select", "TiT>T", t, (int64_t)0, first, values);
    dp_tensor_unref(first);
    dp_tensor_unref(wide);
    return rc;
}

/* All elements of self, in row-major order. */
static int unique_flat(dp_ctx *ctx, dp_tensor *self, unique *u)
{
    groups g;
    dp_tensor *flat;
    int64_t none = 0;
    DP_VIEW(x, self);
    int rc = check_type(ctx, "unique", x.dtype);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", self, &x.numel, (size_t)1, &flat);
    if (rc < 0)
        return rc;
    rc = find_rows(ctx, flat, u->sorted, &g, &u->values);
    if (rc == 0)
        rc = u->inverse ? indices_of(ctx, x.device, g.group, x.numel, x.ndim, x.sizes, &u->group)
                        : indices_of(ctx, x.device, NULL, 0, 1, &none, &u->group);
    if (rc == 0)
        rc = indices_of(ctx, x.device, g.count, u->counts ? g.n : 0, 1, u->counts ? &g.n : &none,
                        &u->count);
    dp_tensor_unref(flat);
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

/* self's slices along dim */
static int unique_slices(dp_ctx *ctx, dp_tensor *self, int64_t dim, unique *u)
{
    groups g;
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
    if (rc == 0)
        rc = indices_of(ctx, x.device, g.group, x.sizes[dim], 1, &x.sizes[dim], &u->group);
    if (rc == 0)
        rc = indices_of(ctx, x.device, g.count, g.n, 1, &g.n, &u->count);
    dp_tensor_unref(moved);
    dp_tensor_unref(packed);
    dp_tensor_unref(found);
    return rc;
}

/* aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False)
 *     -> (Tensor, Tensor, Tensor)
 * Sorted either way. */
static int unique2(dp_ctx *ctx, dp_tensor *self, bool sorted, bool inverse, bool counts,
                   dp_tensor **values, dp_tensor **group, dp_tensor **count)
{
    unique u = {true, inverse || counts, counts, NULL, NULL, NULL};

    (void)sorted;
    return unique_end(unique_flat(ctx, self, &u), &u, values, group, count);
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
 * All three are given whatever is asked for, and sorted. */
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

DP_LIBRARY_IMPL(aten, CPU, DP_IMPL_UNBOXED("_unique2", unique2, (T, b, b, b), (T, T, T)),
                DP_IMPL_UNBOXED("unique_consecutive", unique_consecutive, (T, b, b, oi), (T, T, T)),
                DP_IMPL_UNBOXED("unique_dim", unique_dim, (T, i, b, b, b), (T, T, T)),
                DP_IMPL_UNBOXED("unique_dim_consecutive", unique_dim_consecutive, (T, i, b, b),
                                (T, T, T)))
