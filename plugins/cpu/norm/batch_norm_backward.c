/* batch_norm_backward.c -- the gradient of batch normalisation
 * (aten/src/ATen/native/Normalization.cpp).
 *
 * Operators: native_batch_norm_backward. */
#include "batch_norm.h"

/* Set sum [channels] to the sums of dy, and dot [channels] to the sums of dy * (x - mean). */
static void take_dots(bn_batch *b, const void *dy, double *sum, double *dot)
{
    if (b->columns) {
        nm_columns c = {.x = b->x, .dy = dy, .mean = b->mean};
        int64_t chunks = bn_make_chunks(b, &c);
        if (b->p.rc == 0)
            b->p.rc = bn_run(b, NM_COLUMN_DOTS, chunks, 2 * (double)c.chunk * (double)c.n, &c);
        if (b->p.rc == 0)
            bn_add_chunks(&c, chunks, sum, dot);
        return;
    }
    int64_t planes = bn_planes(b);
    nm_planes p = {.x = b->x, .dy = dy, .size = b->size, .mean = bn_by_plane(b, b->mean)};
    p.sum = pack_array(&b->p, planes, sizeof(double));
    p.more = pack_array(&b->p, planes, sizeof(double));
    if (b->p.rc == 0)
        b->p.rc = bn_run(b, NM_PLANE_DOTS, planes, 2 * (double)b->size, &p);
    for (int64_t i = 0; b->p.rc == 0 && i < planes; i++) {
        int64_t c = i % b->channels;
        sum[c] = (i < b->channels ? 0 : sum[c]) + p.sum[i];
        dot[c] = (i < b->channels ? 0 : dot[c]) + p.more[i];
    }
}

/* Compute y = dy * f - ((x - mean) * k + g) for each channel; outside training, y = dy * f. */
static void take_slope(bn_batch *b, const void *dy, const double *f, const double *k,
                       const double *g, void *y)
{
    if (b->columns) {
        nm_columns c = {
            .x = b->x, .dy = dy, .y = y, .n = b->channels, .f = f, .k = k, .g = g, .mean = b->mean};
        b->p.rc = bn_run(b, NM_COLUMN_SLOPE, b->n, 2 * (double)b->channels, &c);
        return;
    }
    nm_planes p = {.x = b->x,
                   .dy = dy,
                   .y = y,
                   .size = b->size,
                   .f = bn_by_plane(b, f),
                   .k = bn_by_plane(b, k),
                   .g = bn_by_plane(b, g),
                   .mean = bn_by_plane(b, b->mean)};
    if (b->p.rc == 0)
        b->p.rc = bn_run(b, NM_PLANE_SLOPE, bn_planes(b), 2 * (double)b->size, &p);
}

/* arguments of the gradient's loops; `inverse`, `sum` and `dot` have [channels] elements */
typedef struct slopes {
    bool train;
    const void *dy;
    void *dx;
    double *inverse, *sum, *dot;
} slopes;

static void run_slopes(bn_batch *b, slopes *s)
{
    const double *weight = pack_get(&b->p, b->parameters[BN_WEIGHT], DP_FLOAT64);
    double *f = pack_array(&b->p, b->channels, sizeof(double));
    double *k = pack_array(&b->p, b->channels, sizeof(double));
    double *g = pack_array(&b->p, b->channels, sizeof(double)), n = bn_count(b);

    if (b->p.rc < 0 || b->numel == 0)
        return;
    take_dots(b, s->dy, s->sum, s->dot);
    for (int64_t c = 0; b->p.rc == 0 && c < b->channels; c++) {
        f[c] = s->inverse[c] * (weight ? weight[c] : 1);
        k[c] = s->train ? s->dot[c] * s->inverse[c] * s->inverse[c] / n * f[c] : 0;
        g[c] = s->train ? s->sum[c] / n * f[c] : 0;
    }
    if (b->p.rc == 0 && s->dx != NULL)
        take_slope(b, s->dy, f, k, g, s->dx);
}

/* Load mean and inverse: those that the forward call saved or, outside training, those of the
 * running statistics. */
static void load_statistics(bn_batch *b, slopes *s, dp_tensor *save_mean, dp_tensor *save_invstd)
{
    if (!s->train) {
        s->inverse = bn_inverse(b, false);
        return;
    }
    const double *mean = pack_get(&b->p, save_mean, DP_FLOAT64);
    s->inverse = pack_get(&b->p, save_invstd, DP_FLOAT64);
    for (int64_t c = 0; b->p.rc == 0 && !dp_memoryless(b->p.ctx) && c < b->channels; c++)
        b->mean[c] = mean[c];
}

static int check_backward(dp_ctx *ctx, bn_batch *b, dp_tensor *grad, bool train,
                          dp_tensor *save_mean, dp_tensor *save_invstd)
{
    char a[DP_SHAPE_TEXT], c[DP_SHAPE_TEXT];
    int rc = bn_check(ctx, b, train);

    if (rc < 0)
        return rc;
    DP_VIEW(x, b->input);
    DP_VIEW(g, grad);
    bool same = x.ndim == g.ndim;
    for (int i = 0; same && i < x.ndim; i++)
        same = x.sizes[i] == g.sizes[i];
    if (!same)
        return dp_fail(
            ctx, DP_ERUNTIME, "Expected grad_output to have the size of input, %s, but got %s",
            dp_shape_text(a, x.sizes, (size_t)x.ndim), dp_shape_text(c, g.sizes, (size_t)g.ndim));
    rc = dense_check_same(ctx, x.dtype, g.dtype);
    if (rc == 0 && train && (save_mean == NULL || save_invstd == NULL))
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "Expected save_mean and save_invstd to be defined when train=True");
    if (rc == 0 && train)
        rc = bn_check_vector(ctx, "save_mean", save_mean, x.sizes[1]);
    return rc < 0 || !train ? rc : bn_check_vector(ctx, "save_invstd", save_invstd, x.sizes[1]);
}

/* aten::native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor?
 *     running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float
 *     eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
 * A gradient whose mask is false is None. */
static int native_batch_norm_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *input,
                                      dp_tensor *weight, dp_tensor *running_mean,
                                      dp_tensor *running_var, dp_tensor *save_mean,
                                      dp_tensor *save_invstd, bool train, double eps,
                                      const bool *mask, size_t n_mask, dp_tensor **dx,
                                      dp_tensor **dweight, dp_tensor **dbias)
{
    bn_batch b = {.p = {.ctx = ctx},
                  .input = input,
                  .parameters = {weight, NULL, running_mean, running_var},
                  .eps = eps};
    slopes s = {.train = train};
    dp_tensor *made = NULL, **const results[] = {dx, dweight, dbias};
    DP_VIEW(x, input);

    (void)n_mask;
    *dx = *dweight = *dbias = NULL;
    b.p.rc = check_backward(ctx, &b, grad, train, save_mean, save_invstd);
    if (b.p.rc < 0)
        return b.p.rc;
    bn_prepare(&b);
    load_statistics(&b, &s, save_mean, save_invstd);
    s.dy = pack_as(&b.p, grad, b.opmath, b.format);
    s.sum = pack_array(&b.p, b.channels, sizeof(double));
    s.dot = pack_array(&b.p, b.channels, sizeof(double));
    for (int64_t c = 0; b.p.rc == 0 && c < b.channels; c++)
        s.sum[c] = s.dot[c] = 0;
    if (mask[0])
        s.dx = pack_new_as(&b.p, b.opmath, x.ndim, x.sizes, b.format, &made);
    if (!dp_memoryless(ctx))
        run_slopes(&b, &s);
    for (int64_t c = 0; b.p.rc == 0 && !dp_memoryless(ctx) && c < b.channels; c++)
        s.dot[c] *= s.inverse[c];
    if (mask[0])
        pack_give(&b.p, made, b.dtype, dx);
    if (mask[1])
        bn_give_vector(&b, s.dot, b.channels, b.parameter_dtype, dweight);
    if (mask[2])
        bn_give_vector(&b, s.sum, b.channels, b.parameter_dtype, dbias);
    return bn_finish(&b, results, 3);
}

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("native_batch_norm_backward", native_batch_norm_backward,
                                (T, T, oT, oT, oT, oT, oT, b, f, lb), (T, T, T)))
