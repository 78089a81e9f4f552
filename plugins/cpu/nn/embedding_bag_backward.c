/* embedding_bag_backward.c -- the gradients of embedding_bag by the table and by the weights of the
 * samples (aten/src/ATen/native/EmbeddingBag.cpp).
 *
 * Operators: _embedding_bag_dense_backward, _embedding_bag_per_sample_weights_backward. */
#include "embedding_bag.h"
#include <string.h>

typedef struct slope {
    pack p;
    int64_t n, bags, rows, dim, mode, padding;
    const int64_t *at, *bag_of, *counts, *max_at;
    const double *grad, *factor;
    double *out; /* [rows, dim] the gradient */
} slope;

/* Return a copy of an index vector, checked to be in [0, limit) unless `any`. */
static const int64_t *own_indices(pack *p, dp_tensor *t, const char *name, int64_t n, int64_t limit,
                                  bool any)
{
    DP_VIEW(v, t);

    if (p->rc == 0)
        p->rc = eb_check_index_dtype(p->ctx, name, v.dtype);
    if (p->rc == 0 && v.numel != n)
        p->rc =
            dp_fail(p->ctx, DP_ERUNTIME,
                    "Expected %s to have %" PRId64 " elements, but got %" PRId64, name, n, v.numel);
    const int64_t *at = pack_own(p, t, DP_INT64);
    for (int64_t i = 0; p->rc == 0 && !any && !dp_memoryless(p->ctx) && i < n; i++)
        if (at[i] < 0 || at[i] >= limit)
            p->rc = dp_fail(p->ctx, DP_ERUNTIME,
                            "%s: index %" PRId64 " is out of range: there are %" PRId64, name,
                            at[i], limit);
    return at;
}

/* Return the factor of the bag's gradient for index `i`.  uses [rows] has the number of times that
 * each row is used, or is NULL. */
static double factor_of(const slope *s, int64_t i, const int64_t *uses)
{
    double f = s->factor ? s->factor[i] : 1;

    if (uses != NULL)
        f /= (double)uses[s->at[i]];
    if (s->mode == EB_MEAN && s->counts[s->bag_of[i]] > 0)
        f /= (double)s->counts[s->bag_of[i]];
    return f;
}

static void add_rows(const slope *s, const int64_t *uses)
{
    for (int64_t i = 0; i < s->n; i++) {
        if (s->at[i] == s->padding)
            continue;
        const double *from = s->grad + s->bag_of[i] * s->dim;
        double *to = s->out + s->at[i] * s->dim, f = factor_of(s, i, uses);
        for (int64_t d = 0; d < s->dim; d++)
            to[d] += f * from[d];
    }
}

static void add_maxima(const slope *s)
{
    for (int64_t bag = 0; bag < s->bags; bag++)
        for (int64_t d = 0; s->counts[bag] > 0 && d < s->dim; d++)
            s->out[s->max_at[bag * s->dim + d] * s->dim + d] += s->grad[bag * s->dim + d];
}

static void load_slope(slope *s, dp_tensor *indices, dp_tensor *bag_of, dp_tensor *counts,
                       dp_tensor *max_at)
{
    DP_VIEW(i, indices);

    s->n = i.numel;
    if (s->mode != EB_SUM)
        s->counts = own_indices(&s->p, counts, "bag_size", s->bags, 0, true);
    if (s->mode == EB_MAX)
        s->max_at = own_indices(&s->p, max_at, "max_indices", s->bags * s->dim, s->rows, false);
    else {
        s->at = own_indices(&s->p, indices, "indices", s->n, s->rows, false);
        s->bag_of = own_indices(&s->p, bag_of, "offset2bag", s->n, s->bags, false);
    }
}

/* Return the number of times that each row is used; NULL unless `scale`. */
static const int64_t *count_uses(slope *s, bool scale)
{
    if (!scale || s->mode == EB_MAX)
        return NULL;
    int64_t *uses = pack_array(&s->p, s->rows, sizeof(int64_t));
    if (uses == NULL)
        return NULL;
    dp_zero_n(uses, (size_t)s->rows, sizeof(int64_t));
    for (int64_t i = 0; i < s->n; i++)
        uses[s->at[i]]++;
    return uses;
}

static int check_grad(dp_ctx *ctx, const dp_view *g, int64_t rows, int64_t mode)
{
    if (g->ndim != 2)
        return dp_fail(ctx, DP_ERUNTIME, "Expected grad to be 2D, but got %d dimensions", g->ndim);
    if (rows < 0)
        return dp_fail(ctx, DP_ERUNTIME, "Trying to create tensor with negative dimension %" PRId64,
                       rows);
    if (mode < 0 || mode >= EB_MODES)
        return dp_fail(ctx, DP_ERUNTIME, "embedding_bag: mode must be 0, 1 or 2, not %" PRId64,
                       mode);
    return dense_check_type(ctx, "embedding_bag_backward", g->dtype,
                            DENSE_BIT(DP_FLOAT16) | DP_DTYPE_BITS(DP_DTYPES_FLOATING));
}

/* aten::_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offset2bag, Tensor
 *     bag_size, Tensor maximum_indices, int num_weights, bool scale_grad_by_freq, int mode, Tensor?
 *     per_sample_weights, int padding_idx=-1) -> Tensor */
static int dense_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *indices, dp_tensor *bag_of,
                          dp_tensor *counts, dp_tensor *max_at, int64_t rows, bool scale,
                          int64_t mode, dp_tensor *factors, int64_t padding, dp_tensor **out)
{
    DP_VIEW(g, grad);
    slope s = {.p = {.ctx = ctx, .rc = check_grad(ctx, &g, rows, mode)},
               .rows = rows,
               .mode = mode,
               .padding = padding};
    dp_tensor *made;

    *out = NULL;
    if (s.p.rc < 0)
        return s.p.rc;
    s.bags = g.sizes[0];
    s.dim = g.sizes[1];
    s.grad = pack_get(&s.p, grad, DP_FLOAT64);
    load_slope(&s, indices, bag_of, counts, max_at);
    if (factors != NULL) {
        DP_VIEW(f, factors);
        if (s.p.rc == 0 && f.numel != s.n)
            s.p.rc = dp_fail(ctx, DP_ERUNTIME,
                             "Expected per_sample_weights to have %" PRId64
                             " elements, but got %" PRId64,
                             s.n, f.numel);
        s.factor = pack_get(&s.p, factors, DP_FLOAT64);
    }
    int64_t sizes[] = {rows, s.dim};
    s.out = pack_zeros(&s.p, DP_FLOAT64, 2, sizes, &made);
    if (s.p.rc == 0 && !dp_memoryless(ctx)) {
        const int64_t *uses = count_uses(&s, scale);
        if (s.p.rc == 0 && mode == EB_MAX)
            add_maxima(&s);
        else if (s.p.rc == 0)
            add_rows(&s, uses);
    }
    pack_give(&s.p, made, g.dtype, out);
    return pack_end(&s.p);
}

/* aten::_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices,
 *     Tensor offsets, Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor
 * The gradient of an index's weight is the product of its row and the gradient of its bag. */
static int factors_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *weight, dp_tensor *indices,
                            dp_tensor *offsets, dp_tensor *bag_of, int64_t mode, int64_t padding,
                            dp_tensor **out)
{
    eb_bags b = {.weight = weight, .indices = indices, .offsets = offsets, .padding = padding};
    dp_tensor *made;
    DP_VIEW(g, grad);

    (void)bag_of; /* the bag of each index is computed from the offsets */
    *out = NULL;
    eb_prepare(ctx, &b);
    if (b.p.rc == 0 && mode != EB_SUM)
        b.p.rc =
            dp_fail(ctx, DP_ERUNTIME,
                    "embedding_bag_backward: per_sample_weights only supported for mode='sum'");
    b.last = g.ndim > 0 && g.sizes[0] == b.bags - 1;
    b.bags -= b.last;
    if (b.p.rc == 0 && (g.ndim != 2 || g.sizes[0] != b.bags || g.sizes[1] != b.dim))
        b.p.rc = dp_fail(ctx, DP_ERUNTIME, "Expected grad of %" PRId64 " bags and rows of %" PRId64,
                         b.bags, b.dim);
    if (b.p.rc == 0)
        b.p.rc = dense_check_same(ctx, b.dtype, g.dtype);
    const double *from = pack_get(&b.p, grad, DP_FLOAT64);
    double *y = pack_new(&b.p, DP_FLOAT64, 1, &b.n, &made);
    double *row = pack_array(&b.p, b.dim, sizeof(double));
    for (int64_t i = 0; b.p.rc == 0 && !dp_memoryless(ctx) && i < b.n; i++)
        y[i] = 0;
    for (int64_t k = 0; b.p.rc == 0 && !dp_memoryless(ctx) && k < b.bags; k++)
        for (int64_t i = b.from[k]; i < eb_end_of(&b, k); i++) {
            if (b.at[i] == padding)
                continue;
            eb_load_row(&b, b.at[i], row);
            for (int64_t d = 0; d < b.dim; d++)
                y[i] += row[d] * from[k * b.dim + d];
        }
    pack_give(&b.p, made, g.dtype, out);
    return pack_end(&b.p);
}

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("_embedding_bag_dense_backward", dense_backward,
                                (T, T, T, T, T, i, b, i, oT, i), (T)),
                DP_IMPL_UNBOXED("_embedding_bag_per_sample_weights_backward", factors_backward,
                                (T, T, T, T, T, i, i), (T)))
