/* batch_norm.c -- batch normalisation (aten/src/ATen/native/Normalization.cpp).
 *
 * An input [N, C, ...] is read as N * C planes or, if the channels are innermost, as a matrix with
 * C columns; it is not copied.  For the statistics, short blocks of elements are summed in float32
 * or float64 (loops/norm.h), and all else is computed in double; bfloat16 is computed as float32.
 *
 * Operators: batch_norm_update_stats, native_batch_norm. */
#include "batch_norm.h"

/* -- checks -- */

/* Check that the parameters have the input's dtype, or that all are float32 and the input is
 * bfloat16. */
static int check_parameter_dtype(dp_ctx *ctx, bn_batch *b, dp_tensor *t)
{
    if (t == NULL)
        return 0;
    DP_VIEW(v, t);
    if (v.dtype != b->dtype && (b->dtype != DP_BFLOAT16 || v.dtype != DP_FLOAT32))
        return dp_fail(ctx, DP_ERUNTIME,
                       "mixed dtype (CPU): expect parameter to have scalar type of Float");
    if (v.dtype != b->dtype)
        b->parameter_dtype = v.dtype;
    return 0;
}

int bn_check_vector(dp_ctx *ctx, const char *name, dp_tensor *t, int64_t channels)
{
    if (t == NULL)
        return 0;
    DP_VIEW(v, t);
    if (v.numel == channels)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "%s should contain %" PRId64 " elements not %" PRId64, name,
                   channels, v.numel);
}

int bn_check(dp_ctx *ctx, bn_batch *b, bool training)
{
    static const char *const names[BN_PARAMETERS] = {"weight", "bias", "running_mean",
                                                     "running_var"};
    DP_VIEW(x, b->input);

    if (x.ndim < 2)
        return dp_fail(ctx, DP_ERUNTIME,
                       "batch norm of a %d-dimensional tensor: at least 2 expected", x.ndim);
    b->dtype = b->parameter_dtype = x.dtype;
    b->opmath = dense_opmath(x.dtype);
    int rc = dense_check_type(ctx, "batch_norm", x.dtype, DENSE_FLOATS);
    for (int i = 0; rc == 0 && i < BN_PARAMETERS; i++) {
        if (b->parameters[i] == NULL && i >= BN_MEAN && !training)
            rc = dp_fail(ctx, DP_ERUNTIME, "Expected %s to be defined when training=False",
                         names[i]);
        if (rc == 0)
            rc = bn_check_vector(ctx, names[i], b->parameters[i], x.sizes[1]);
        if (rc == 0)
            rc = check_parameter_dtype(ctx, b, b->parameters[i]);
    }
    return rc;
}

/* -- memory of the input -- */

void bn_prepare(bn_batch *b)
{
    DP_VIEW(x, b->input);

    b->format = dp_tensor_suggest_format(b->input);
    b->numel = x.numel;
    b->channels = x.sizes[1];
    b->n = x.sizes[0];
    b->size = x.numel == 0 ? 0 : x.numel / b->n / b->channels;
    b->columns = b->format != DP_CONTIGUOUS || b->size == 1;
    if (b->columns && x.numel > 0) {
        b->n = x.numel / b->channels;
        b->size = 1;
    }
    b->x = pack_as(&b->p, b->input, b->opmath, b->format);
    b->mean = pack_array(&b->p, b->channels, sizeof(double));
    b->squares = pack_array(&b->p, b->channels, sizeof(double));
}

int bn_run(bn_batch *b, int loop, int64_t n, double each, void *job)
{
    dp_range_fn fn = CPU_CHOSEN(nm_loops)[loop].run[b->opmath == DP_FLOAT64];
    return dp_parallel_for(b->p.ctx, 0, n, dense_grain(each), fn, job);
}

int64_t bn_planes(const bn_batch *b)
{
    return b->numel == 0 ? 0 : b->n * b->channels;
}

double *bn_by_plane(bn_batch *b, const double *of_channels)
{
    int64_t planes = bn_planes(b);
    double *each = pack_array(&b->p, planes, sizeof(double));
    for (int64_t i = 0; each && i < planes; i++)
        each[i] = of_channels[i % b->channels];
    return each;
}

int64_t bn_make_chunks(bn_batch *b, nm_columns *c)
{
    enum { CHUNKS = 16, LEAST = 64 };
    int64_t chunk = (b->n + CHUNKS - 1) / CHUNKS;

    c->rows = b->n;
    c->n = b->channels;
    c->chunk = chunk > LEAST ? chunk : LEAST;
    int64_t chunks = (b->n + c->chunk - 1) / c->chunk;
    c->sums = pack_array(&b->p, chunks, 2 * (size_t)b->channels * sizeof(double));
    return chunks;
}

void bn_add_chunks(const nm_columns *c, int64_t chunks, double *first, double *second)
{
    for (int64_t i = 0; i < chunks; i++) {
        const double *sums = c->sums + 2 * i * c->n, *more = sums + c->n;
        for (int64_t j = 0; j < c->n; j++)
            first[j] = i == 0 ? sums[j] : first[j] + sums[j];
        for (int64_t j = 0; second != NULL && j < c->n; j++)
            second[j] = i == 0 ? more[j] : second[j] + more[j];
    }
}

/* -- statistics -- */

static void column_moments(bn_batch *b)
{
    nm_columns c = {.x = b->x, .mean = b->mean};
    int64_t chunks = bn_make_chunks(b, &c);

    if (b->p.rc == 0)
        b->p.rc = bn_run(b, NM_COLUMN_SUMS, chunks, (double)c.chunk * (double)c.n, &c);
    if (b->p.rc < 0)
        return;
    bn_add_chunks(&c, chunks, b->mean, NULL);
    for (int64_t j = 0; j < b->channels; j++)
        b->mean[j] /= (double)b->n;
    b->p.rc = bn_run(b, NM_COLUMN_SQUARES, chunks, (double)c.chunk * (double)c.n, &c);
    double *low = pack_array(&b->p, b->channels, sizeof(double));
    if (b->p.rc < 0)
        return;
    bn_add_chunks(&c, chunks, b->squares, low);
    for (int64_t j = 0; j < b->channels; j++) { /* subtract what comes from rounding the means */
        b->squares[j] -= low[j] * low[j] / (double)b->n;
        b->squares[j] = b->squares[j] < 0 ? 0 : b->squares[j];
    }
}

/* Merge the statistics of the planes of each channel, which have the same size. */
static void merge_planes(bn_batch *b, const nm_planes *p)
{
    for (int64_t c = 0; c < b->channels; c++) {
        double mean = 0, squares = 0;
        for (int64_t i = 0; i < b->n; i++)
            mean += p->sum[i * b->channels + c];
        mean /= (double)b->n;
        for (int64_t i = 0; i < b->n; i++) {
            double apart = p->sum[i * b->channels + c] - mean;
            squares += p->more[i * b->channels + c] + (double)b->size * apart * apart;
        }
        b->mean[c] = mean;
        b->squares[c] = squares;
    }
}

/* Set b->mean and b->squares. */
static void take_moments(bn_batch *b)
{
    nm_planes p = {.x = b->x, .size = b->size};
    int64_t planes = bn_planes(b);

    for (int64_t c = 0; b->numel == 0 && b->mean && c < b->channels; c++)
        b->mean[c] = b->squares[c] = NAN;
    if (b->p.rc < 0 || b->numel == 0)
        return;
    if (b->columns) {
        column_moments(b);
        return;
    }
    p.sum = pack_array(&b->p, planes, sizeof(double));
    p.more = pack_array(&b->p, planes, sizeof(double));
    if (b->p.rc == 0)
        b->p.rc = bn_run(b, NM_PLANE_MOMENTS, planes, 2 * (double)b->size, &p);
    if (b->p.rc == 0)
        merge_planes(b, &p);
}

double bn_count(const bn_batch *b)
{
    return b->numel == 0 ? 0 : (double)(b->n * b->size);
}

void bn_give_vector(bn_batch *b, const double *values, int64_t n, dp_dtype dtype, dp_tensor **out)
{
    dp_tensor *made;
    double *data = pack_new(&b->p, DP_FLOAT64, 1, &n, &made);

    for (int64_t i = 0; b->p.rc == 0 && data && values && i < n; i++)
        data[i] = values[i];
    pack_give(&b->p, made, dtype, out);
}

/* Set *out to the new value of the running statistic `old`, momentum * factor * fresh + (1 -
 * momentum) * old, in double; update() copies it to old after both statistics were computed. */
static void blend(bn_batch *b, dp_tensor *old, const double *fresh, double factor, double momentum,
                  dp_tensor **out)
{
    const double *now = pack_get(&b->p, old, DP_FLOAT64);
    double *data = old ? pack_new(&b->p, DP_FLOAT64, 1, &b->channels, out) : NULL;

    if (old != NULL) { /* c10 rounds a double operand to the dtype of the 16-bit float tensor */
        DP_VIEW(x, old);
        momentum = as_stored(momentum, x.dtype);
    }

    for (int64_t c = 0; data && b->p.rc == 0 && !dp_memoryless(b->p.ctx) && c < b->channels; c++)
        data[c] = momentum * fresh[c] * factor + (1 - momentum) * now[c];
}

static void update(bn_batch *b, double momentum)
{
    dp_tensor *mean = b->parameters[BN_MEAN], *var = b->parameters[BN_VAR], *m = NULL, *v = NULL;

    blend(b, mean, b->mean, 1, momentum, &m);
    blend(b, var, b->squares, 1 / (bn_count(b) - 1), momentum, &v);
    if (b->p.rc == 0 && mean != NULL)
        b->p.rc = dp_copy(b->p.ctx, mean, m);
    if (b->p.rc == 0 && var != NULL)
        b->p.rc = dp_copy(b->p.ctx, var, v);
}

/* -- forward -- */

double *bn_inverse(bn_batch *b, bool training)
{
    const double *mean = pack_get(&b->p, training ? NULL : b->parameters[BN_MEAN], DP_FLOAT64);
    const double *var = pack_get(&b->p, training ? NULL : b->parameters[BN_VAR], DP_FLOAT64);
    double *inverse = pack_array(&b->p, b->channels, sizeof(double)), count = bn_count(b);

    for (int64_t c = 0; b->p.rc == 0 && !dp_memoryless(b->p.ctx) && c < b->channels; c++) {
        if (!training)
            b->mean[c] = mean[c];
        inverse[c] = 1 / sqrt((training ? b->squares[c] / count : var[c]) + b->eps);
    }
    return inverse;
}

/* Compute y = x * f + g for each channel. */
static void scale(bn_batch *b, const double *f, const double *g, void *y)
{
    if (b->p.rc < 0 || b->numel == 0)
        return;
    if (b->columns) {
        nm_columns c = {.x = b->x, .y = y, .rows = b->n, .n = b->channels, .f = f, .g = g};
        b->p.rc = bn_run(b, NM_COLUMN_SCALE, b->n, (double)b->channels, &c);
        return;
    }
    nm_planes p = {
        .x = b->x, .y = y, .size = b->size, .f = bn_by_plane(b, f), .g = bn_by_plane(b, g)};
    if (b->p.rc == 0)
        b->p.rc = bn_run(b, NM_PLANE_SCALE, bn_planes(b), (double)b->size, &p);
}

static void normalise(bn_batch *b, const double *inverse, void *y)
{
    const double *weight = pack_get(&b->p, b->parameters[BN_WEIGHT], DP_FLOAT64);
    const double *bias = pack_get(&b->p, b->parameters[BN_BIAS], DP_FLOAT64);
    double *f = pack_array(&b->p, b->channels, sizeof(double));
    double *g = pack_array(&b->p, b->channels, sizeof(double));

    if (b->p.rc < 0 || dp_memoryless(b->p.ctx))
        return;
    for (int64_t c = 0; c < b->channels; c++) {
        f[c] = inverse[c] * (weight ? weight[c] : 1);
        g[c] = (bias ? bias[c] : 0) - b->mean[c] * f[c];
    }
    scale(b, f, g, y);
}

int bn_finish(bn_batch *b, dp_tensor **const *results, int n)
{
    for (int i = 0; b->p.rc < 0 && i < n; i++)
        *results[i] = dp_tensor_unref(*results[i]);
    return pack_end(&b->p);
}

/* aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean,
 *     Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)
 * input [N, C, ...], the others [C].  In training the running statistics are updated in place and
 * the batch's mean and 1 / standard deviation are returned; otherwise these two are empty. */
static int native_batch_norm(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias,
                             dp_tensor *running_mean, dp_tensor *running_var, bool training,
                             double momentum, double eps, dp_tensor **out, dp_tensor **save_mean,
                             dp_tensor **save_invstd)
{
    bn_batch b = {.p = {.ctx = ctx},
                  .input = input,
                  .parameters = {weight, bias, running_mean, running_var},
                  .eps = eps};
    dp_tensor *y, **const results[] = {out, save_mean, save_invstd};
    DP_VIEW(x, input);

    *out = *save_mean = *save_invstd = NULL;
    b.p.rc = bn_check(ctx, &b, training);
    if (b.p.rc < 0)
        return b.p.rc;
    bn_prepare(&b);
    void *data = pack_new_as(&b.p, b.opmath, x.ndim, x.sizes, b.format, &y);
    if (training && !dp_memoryless(ctx))
        take_moments(&b);
    double *inverse = bn_inverse(&b, training);
    normalise(&b, inverse, data);
    pack_give(&b.p, y, b.dtype, out);
    int64_t kept = training ? b.channels : 0;
    bn_give_vector(&b, b.mean, kept, b.parameter_dtype, save_mean);
    bn_give_vector(&b, inverse, kept, b.parameter_dtype, save_invstd);
    if (training)
        update(&b, momentum);
    return bn_finish(&b, results, 3);
}

/* aten::batch_norm_update_stats(Tensor input, Tensor? running_mean, Tensor? running_var, float
 *     momentum) -> (Tensor, Tensor)
 * The results are the batch's mean and variance. */
static int batch_norm_update_stats(dp_ctx *ctx, dp_tensor *input, dp_tensor *running_mean,
                                   dp_tensor *running_var, double momentum, dp_tensor **mean,
                                   dp_tensor **var)
{
    bn_batch b = {
        .p = {.ctx = ctx}, .input = input, .parameters = {NULL, NULL, running_mean, running_var}};
    dp_tensor **const results[] = {mean, var};

    *mean = *var = NULL;
    b.p.rc = bn_check(ctx, &b, true);
    if (b.p.rc < 0)
        return b.p.rc;
    bn_prepare(&b);
    if (!dp_memoryless(ctx))
        take_moments(&b);
    double *v = pack_array(&b.p, b.channels, sizeof(double));
    for (int64_t c = 0; b.p.rc == 0 && !dp_memoryless(ctx) && c < b.channels; c++)
        v[c] = b.squares[c] / bn_count(&b);
    bn_give_vector(&b, b.mean, b.channels, b.parameter_dtype, mean);
    bn_give_vector(&b, v, b.channels, b.parameter_dtype, var);
    update(&b, momentum);
    return bn_finish(&b, results, 2);
}

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("native_batch_norm", native_batch_norm,
                                (T, oT, oT, oT, oT, b, f, f), (T, T, T)),
                DP_IMPL_UNBOXED("batch_norm_update_stats", batch_norm_update_stats, (T, oT, oT, f),
                                (T, T)))
