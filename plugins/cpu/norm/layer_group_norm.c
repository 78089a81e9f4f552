/* layer_group_norm.c -- layer and group normalisation and their gradients
 * (aten/src/ATen/native/layer_norm.cpp, group_norm.cpp).
 *
 * Each row, or each group of planes, is normalised by its own mean and variance.  bfloat16 is
 * computed as float32.
 *
 * Operators: native_group_norm, native_group_norm_backward, native_layer_norm,
 * native_layer_norm_backward. */
#include "norm.h"
#include "core/dense.h"
#include "lib/group_norm.h"
#include "lib/layer_norm.h"
#include "core/pack.h"

static int run(pack *p, dp_dtype opmath, int loop, int64_t n, double each, void *job)
{
    dp_range_fn fn = CPU_CHOSEN(nm_loops)[loop].run[opmath == DP_FLOAT64];
    return dp_parallel_for(p->ctx, 0, n, dense_grain(each), fn, job);
}

/* Release all memory and, if the call failed, results [n]. */
static int finish(pack *p, dp_tensor **const *results, int n)
{
    for (int i = 0; p->rc < 0 && i < n; i++)
        *results[i] = dp_tensor_unref(*results[i]);
    return pack_end(p);
}

/* Set *out to a vector of `dtype` with values [n]. */
static void give_vector(pack *p, const double *values, int64_t n, dp_dtype dtype, dp_tensor **out)
{
    dp_tensor *made;
    double *data = pack_new(p, DP_FLOAT64, 1, &n, &made);

    for (int64_t i = 0; p->rc == 0 && data && i < n; i++)
        data[i] = values[i];
    pack_give(p, made, dtype, out);
}

/* -- layer norm -- */

/* Check that a parameter has the input's dtype. */
static int check_dtype(dp_ctx *ctx, const dp_view *x, const dp_tensor *t)
{
    if (t == NULL)
        return 0;
    DP_VIEW(v, t);
    return dense_check_same(ctx, x->dtype, v.dtype);
}

typedef struct layer {
    pack p;
    dp_dtype dtype, opmath;
    int64_t rows, n;
    int64_t sizes[DP_DIM_MAX]; /* sizes of mean and rstd */
} layer;

static int prepare_layer(dp_ctx *ctx, layer *l, dp_tensor *input, const int64_t *shape, size_t n,
                         dp_tensor *weight, dp_tensor *bias)
{
    DP_VIEW(x, input);
    int rc = check_layer(ctx, &x, shape, n, weight, bias);

    if (rc == 0)
        rc = check_dtype(ctx, &x, weight);
    if (rc == 0)
        rc = check_dtype(ctx, &x, bias);
    if (rc == 0)
        rc = dense_check_type(ctx, "LayerNormKernelImpl", x.dtype, DENSE_FLOATS);
    if (rc < 0)
        return rc;
    l->p.ctx = ctx;
    l->dtype = x.dtype;
    l->opmath = dense_opmath(x.dtype);
    l->rows = l->n = 1;
    for (int d = 0; d < x.ndim; d++) {
        bool inner = (size_t)d >= (size_t)x.ndim - n;
        l->sizes[d] = inner ? 1 : x.sizes[d];
        *(inner ? &l->n : &l->rows) *= x.sizes[d];
    }
    return 0;
}

/* aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias,
 *     float eps) -> (Tensor, Tensor, Tensor)
 * Normalises over the last dimensions, whose sizes are normalized_shape; weight and bias have that
 * shape.  The second and third result, mean and 1 / standard deviation, have size 1 there. */
static int native_layer_norm(dp_ctx *ctx, dp_tensor *input, const int64_t *shape, size_t n,
                             dp_tensor *weight, dp_tensor *bias, double eps, dp_tensor **out,
                             dp_tensor **mean, dp_tensor **rstd)
{
    layer l = {0};
    dp_tensor *y, *m, *r, **const results[] = {out, mean, rstd};
    DP_VIEW(x, input);
    int rc = prepare_layer(ctx, &l, input, shape, n, weight, bias);

    *out = *mean = *rstd = NULL;
    if (rc < 0)
        return rc;
    nm_rows job = {.x = pack_get(&l.p, input, l.opmath),
                   .gamma = pack_get(&l.p, weight, l.opmath),
                   .beta = pack_get(&l.p, bias, l.opmath),
                   .y = pack_new(&l.p, l.opmath, x.ndim, x.sizes, &y),
                   .mean = pack_new(&l.p, l.opmath, x.ndim, l.sizes, &m),
                   .rstd = pack_new(&l.p, l.opmath, x.ndim, l.sizes, &r),
                   .n = l.n,
                   .eps = eps};
    if (l.p.rc == 0 && !dp_memoryless(ctx))
        l.p.rc = run(&l.p, l.opmath, NM_ROW_NORM, l.rows, 3 * (double)l.n, &job);
    pack_give(&l.p, y, l.dtype, out);
    pack_give(&l.p, m, l.dtype, mean);
    pack_give(&l.p, r, l.dtype, rstd);
    return finish(&l.p, results, 3);
}

static int check_like(dp_ctx *ctx, const char *what, dp_tensor *t, const dp_view *x)
{
    char a[DP_SHAPE_TEXT], b[DP_SHAPE_TEXT];
    DP_VIEW(v, t);
    bool same = v.ndim == x->ndim;
    for (int i = 0; same && i < v.ndim; i++)
        same = v.sizes[i] == x->sizes[i];
    if (!same)
        return dp_fail(ctx, DP_ERUNTIME, "Expected %s to have the size of input, %s, but got %s",
                       what, dp_shape_text(b, x->sizes, (size_t)x->ndim),
                       dp_shape_text(a, v.sizes, (size_t)v.ndim));
    return dense_check_same(ctx, x->dtype, v.dtype);
}

static int check_count(dp_ctx *ctx, const char *what, dp_tensor *t, int64_t n, dp_dtype dtype)
{
    DP_VIEW(v, t);
    if (v.numel != n)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected %s to have %" PRId64 " elements, but got %" PRId64, what, n,
                       v.numel);
    return dense_check_same(ctx, dtype, v.dtype);
}

/* Set first [n] and second [n] to the sums over all chunks of rows. */
static int add_dots(layer *l, nm_rows *job, double *first, double *second)
{
    enum { CHUNKS = 16, LEAST = 64 };
    int64_t chunk = (l->rows + CHUNKS - 1) / CHUNKS;

    job->rows = l->rows;
    job->chunk = chunk > LEAST ? chunk : LEAST;
    int64_t chunks = (l->rows + job->chunk - 1) / job->chunk;
    job->sums = pack_array(&l->p, chunks, 2 * (size_t)l->n * sizeof(double));
    if (l->p.rc == 0)
        l->p.rc =
            run(&l->p, l->opmath, NM_ROW_DOTS, chunks, 2 * (double)job->chunk * (double)l->n, job);
    for (int64_t j = 0; l->p.rc == 0 && j < l->n; j++) {
        first[j] = second[j] = 0;
        for (int64_t i = 0; i < chunks; i++) {
            first[j] += job->sums[2 * i * l->n + j];
            second[j] += job->sums[(2 * i + 1) * l->n + j];
        }
    }
    return l->p.rc;
}

/* Set the gradients of weight and bias, each only if it is wanted. */
static void slope_parameters(layer *l, nm_rows *job, const int64_t *shape, size_t n, bool weight,
                             bool bias, dp_tensor **dweight, dp_tensor **dbias)
{
    dp_tensor *w, *b;
    double *dw = pack_new(&l->p, DP_FLOAT64, (int)n, shape, &w);
    double *db = pack_new(&l->p, DP_FLOAT64, (int)n, shape, &b);

    if (l->p.rc == 0 && !dp_memoryless(l->p.ctx))
        add_dots(l, job, dw, db);
    if (weight)
        pack_give(&l->p, w, l->dtype, dweight);
    if (bias)
        pack_give(&l->p, b, l->dtype, dbias);
}

/* aten::native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor
 *     mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor,
 *     Tensor)
 * A gradient whose mask is false, or whose parameter is None, is None. */
static int native_layer_norm_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *input,
                                      const int64_t *shape, size_t n, dp_tensor *mean,
                                      dp_tensor *rstd, dp_tensor *weight, dp_tensor *bias,
                                      const bool *mask, size_t n_mask, dp_tensor **dx,
                                      dp_tensor **dweight, dp_tensor **dbias)
{
    layer l = {0};
    dp_tensor *y = NULL, **const results[] = {dx, dweight, dbias};
    bool parameters = (mask[1] && weight) || (mask[2] && bias);
    DP_VIEW(x, input);
    int rc = prepare_layer(ctx, &l, input, shape, n, weight, bias);

    (void)n_mask;
    *dx = *dweight = *dbias = NULL;
    if (rc == 0)
        rc = check_like(ctx, "grad_out", grad, &x);
    if (rc == 0)
        rc = check_count(ctx, "mean", mean, l.rows, l.dtype);
    if (rc == 0)
        rc = check_count(ctx, "rstd", rstd, l.rows, l.dtype);
    if (rc < 0)
        return rc;
    nm_rows job = {.x = pack_get(&l.p, input, l.opmath),
                   .dy = pack_get(&l.p, grad, l.opmath),
                   .gamma = pack_get(&l.p, weight, l.opmath),
                   .mean = pack_get(&l.p, mean, l.opmath),
                   .rstd = pack_get(&l.p, rstd, l.opmath),
                   .n = l.n};
    if (mask[0])
        job.y = pack_new(&l.p, l.opmath, x.ndim, x.sizes, &y);
    if (l.p.rc == 0 && !dp_memoryless(ctx) && mask[0])
        l.p.rc = run(&l.p, l.opmath, NM_ROW_SLOPE, l.rows, 4 * (double)l.n, &job);
    if (mask[0])
        pack_give(&l.p, y, l.dtype, dx);
    if (parameters)
        slope_parameters(&l, &job, shape, n, mask[1] && weight, mask[2] && bias, dweight, dbias);
    return finish(&l.p, results, 3);
}

/* -- group norm: an input [N, C, HxW] has N * C planes; C / groups planes are a group -- */

typedef struct group {
    pack p;
    dp_dtype dtype, opmath;
    int64_t n, channels, size, groups;
    int64_t planes, each; /* n * channels; planes of a group */
    const double *gamma, *beta;
    /* [planes]: mean of the plane's group; its rstd, after scale_coefficients() times gamma */
    double *mean, *f;
} group;

static int check_sizes(dp_ctx *ctx, const group *g, dp_tensor *input, dp_tensor *weight,
                       dp_tensor *bias)
{
    DP_VIEW(x, input);
    int rc = check_group_sizes(ctx, &x, g->n, g->channels, g->size, g->groups);

    if (rc == 0)
        rc = dense_check_type(ctx, "GroupNormKernelImpl", x.dtype, DENSE_FLOATS);
    if (rc == 0 && weight != NULL)
        rc = check_count(ctx, "weight", weight, g->channels, x.dtype);
    return rc < 0 || bias == NULL ? rc : check_count(ctx, "bias", bias, g->channels, x.dtype);
}

static int prepare_group(dp_ctx *ctx, group *g, dp_tensor *input, dp_tensor *weight,
                         dp_tensor *bias)
{
    DP_VIEW(x, input);
    int rc = check_sizes(ctx, g, input, weight, bias);

    if (rc < 0)
        return rc;
    g->p.ctx = ctx;
    g->dtype = x.dtype;
    g->opmath = dense_opmath(x.dtype);
    g->planes = g->n * g->channels;
    g->each = g->channels / g->groups;
    g->gamma = pack_get(&g->p, weight, DP_FLOAT64);
    g->beta = pack_get(&g->p, bias, DP_FLOAT64);
    if (dp_memoryless(ctx))
        return g->p.rc;
    g->mean = pack_array(&g->p, g->planes, sizeof(double));
    g->f = pack_array(&g->p, g->planes, sizeof(double));
    return g->p.rc;
}

/* Set mean and rstd [n, groups] of the groups, and the coefficients of each plane. */
static void take_groups(group *g, const void *x, double eps, double *mean, double *rstd)
{
    int64_t groups = g->n * g->groups;
    nm_planes p = {.x = x, .size = g->each * g->size, .sum = mean, .more = rstd};

    g->p.rc = run(&g->p, g->opmath, NM_PLANE_MOMENTS, groups, 2 * (double)p.size, &p);
    for (int64_t i = 0; g->p.rc == 0 && i < groups; i++) {
        double variance = rstd[i] / (double)p.size;
        mean[i] = p.size == 0 ? 0 : variance != variance ? NAN : mean[i];
        rstd[i] = p.size == 0 ? NAN : 1 / sqrt(variance + eps);
        for (int64_t j = 0; j < g->each; j++) {
            g->mean[i * g->each + j] = mean[i];
            g->f[i * g->each + j] = rstd[i];
        }
    }
}

/* Compute y = x * f + g for each plane. */
static void scale_groups(group *g, const void *x, void *y)
{
    double *more = pack_array(&g->p, g->planes, sizeof(double));
    nm_planes p = {.x = x, .y = y, .size = g->size, .f = g->f, .g = more};

    if (g->p.rc < 0)
        return;
    for (int64_t i = 0; i < g->planes; i++) {
        int64_t c = i % g->channels;
        g->f[i] *= g->gamma ? g->gamma[c] : 1;
        more[i] = (g->beta ? g->beta[c] : 0) - g->mean[i] * g->f[i];
    }
    g->p.rc = run(&g->p, g->opmath, NM_PLANE_SCALE, g->planes, (double)g->size, &p);
}

/* aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt
 *     HxW, int group, float eps) -> (Tensor, Tensor, Tensor)
 * The second and third result, mean and 1 / standard deviation, are [N, group]. */
static int native_group_norm(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias,
                             int64_t n, int64_t channels, int64_t size, int64_t groups, double eps,
                             dp_tensor **out, dp_tensor **mean, dp_tensor **rstd)
{
    group g = {.n = n, .channels = channels, .size = size, .groups = groups};
    dp_memory_format format = dp_tensor_suggest_format(input);
    dp_tensor *y, *m, *r, **const results[] = {out, mean, rstd};
    int64_t sizes[] = {n, groups};
    DP_VIEW(x, input);

    *out = *mean = *rstd = NULL;
    int rc = prepare_group(ctx, &g, input, weight, bias);
    if (rc == 0 && !dp_tensor_is_contiguous(input, format))
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "Expected X.is_contiguous(memory_format) to be true, but got false.");
    g.p.rc = rc;
    const void *from = pack_get(&g.p, input, g.opmath);
    void *to = pack_new(&g.p, g.opmath, x.ndim, x.sizes, &y);
    double *means = pack_new(&g.p, DP_FLOAT64, 2, sizes, &m);
    double *rstds = pack_new(&g.p, DP_FLOAT64, 2, sizes, &r);
    if (g.p.rc == 0 && !dp_memoryless(ctx)) {
        take_groups(&g, from, as_stored(eps, g.opmath), means, rstds);
        scale_groups(&g, from, to);
    }
    if (format != DP_CONTIGUOUS && g.p.rc == 0) {
        dp_tensor *other;
        pack_new_as(&g.p, g.opmath, x.ndim, x.sizes, format, &other);
        if (g.p.rc == 0)
            g.p.rc = dp_copy(ctx, other, y);
        y = other;
    }
    pack_give(&g.p, y, g.dtype, out);
    pack_give(&g.p, m, g.dtype, mean);
    pack_give(&g.p, r, g.dtype, rstd);
    return finish(&g.p, results, 3);
}

/* Compute the coefficients of the gradient from the planes' sums of dy and of dy * (x - mean). */
static void slope_groups(group *g, const nm_planes *dots, double *k, double *more)
{
    double n = (double)(g->each * g->size);

    for (int64_t i = 0; i < g->planes; i += g->each) {
        double sum = 0, dot = 0, rstd = g->f[i];
        for (int64_t j = i; j < i + g->each; j++) {
            double gamma = g->gamma ? g->gamma[j % g->channels] : 1;
            sum += dots->sum[j] * gamma;
            dot += dots->more[j] * gamma;
            g->f[j] *= gamma;
        }
        for (int64_t j = i; j < i + g->each; j++) {
            k[j] = dot * rstd * rstd * rstd / n;
            more[j] = sum * rstd / n;
        }
    }
}

/* Set dgamma and dbeta [channels]. */
static void slope_channels(const group *g, const nm_planes *dots, double *dgamma, double *dbeta)
{
    for (int64_t c = 0; c < g->channels; c++)
        dgamma[c] = dbeta[c] = 0;
    for (int64_t i = 0; i < g->planes; i++) {
        dgamma[i % g->channels] += dots->more[i] * g->f[i];
        dbeta[i % g->channels] += dots->sum[i];
    }
}

static void run_group_slopes(group *g, nm_planes *p, double *dgamma, double *dbeta)
{
    double *k = pack_array(&g->p, g->planes, sizeof(double));
    double *more = pack_array(&g->p, g->planes, sizeof(double));

    p->sum = pack_array(&g->p, g->planes, sizeof(double));
    p->more = pack_array(&g->p, g->planes, sizeof(double));
    p->mean = g->mean;
    p->size = g->size;
    if (g->p.rc < 0)
        return;
    g->p.rc = run(&g->p, g->opmath, NM_PLANE_DOTS, g->planes, 2 * (double)g->size, p);
    if (g->p.rc < 0)
        return;
    slope_channels(g, p, dgamma, dbeta);
    slope_groups(g, p, k, more);
    p->f = g->f;
    p->k = k;
    p->g = more;
    if (p->y != NULL)
        g->p.rc = run(&g->p, g->opmath, NM_PLANE_SLOPE, g->planes, 2 * (double)g->size, p);
}

/* Load mean and rstd of the forward call, for each plane. */
static void load_groups(group *g, dp_tensor *mean, dp_tensor *rstd)
{
    const double *m = pack_get(&g->p, mean, DP_FLOAT64), *r = pack_get(&g->p, rstd, DP_FLOAT64);

    for (int64_t i = 0; g->p.rc == 0 && g->mean && i < g->planes; i++) {
        g->mean[i] = m[i / g->each];
        g->f[i] = r[i / g->each];
    }
}

/* aten::native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor?
 *     weight, SymInt N, SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor,
 *     Tensor)
 * A gradient whose mask is false, or whose parameter is None, is None. */
static int native_group_norm_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *input,
                                      dp_tensor *mean, dp_tensor *rstd, dp_tensor *weight,
                                      int64_t n, int64_t channels, int64_t size, int64_t groups,
                                      const bool *mask, size_t n_mask, dp_tensor **dx,
                                      dp_tensor **dweight, dp_tensor **dbias)
{
    group g = {.n = n, .channels = channels, .size = size, .groups = groups};
    dp_tensor *y = NULL, **const results[] = {dx, dweight, dbias};
    DP_VIEW(x, input);

    (void)n_mask;
    *dx = *dweight = *dbias = NULL;
    int rc = prepare_group(ctx, &g, input, weight, NULL);
    if (rc == 0)
        rc = check_like(ctx, "grad_out", grad, &x);
    if (rc == 0)
        rc = check_count(ctx, "mean", mean, n * groups, x.dtype);
    if (rc == 0)
        rc = check_count(ctx, "rstd", rstd, n * groups, x.dtype);
    g.p.rc = rc;
    load_groups(&g, mean, rstd);
    nm_planes p = {.x = pack_get(&g.p, input, g.opmath), .dy = pack_get(&g.p, grad, g.opmath)};
    double *dgamma = pack_array(&g.p, channels, sizeof(double));
    double *dbeta = pack_array(&g.p, channels, sizeof(double));
    if (mask[0])
        p.y = pack_new(&g.p, g.opmath, x.ndim, x.sizes, &y);
    if (g.p.rc == 0 && !dp_memoryless(ctx))
        run_group_slopes(&g, &p, dgamma, dbeta);
    if (mask[0])
        pack_give(&g.p, y, g.dtype, dx);
    if (mask[1])
        give_vector(&g.p, dgamma, channels, g.dtype, dweight);
    if (mask[2])
        give_vector(&g.p, dbeta, channels, g.dtype, dbias);
    return finish(&g.p, results, 3);
}

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("native_layer_norm", native_layer_norm, (T, li, oT, oT, f),
                                (T, T, T)),
                DP_IMPL_UNBOXED("native_layer_norm_backward", native_layer_norm_backward,
                                (T, T, li, T, T, oT, oT, lb), (T, T, T)),
                DP_IMPL_UNBOXED("native_group_norm", native_group_norm, (T, oT, oT, i, i, i, i, f),
                                (T, T, T)),
                DP_IMPL_UNBOXED("native_group_norm_backward", native_group_norm_backward,
                                (T, T, T, T, oT, i, i, i, i, lb), (T, T, T)))
