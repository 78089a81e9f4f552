/* norm.c -- native_batch_norm and native_layer_norm.
 *
 * Means and variances are computed in double, in two passes over packed data. */
#include "dense.h"
#include <math.h>

/* Mean and sum of squared distances from the mean.  The elements are `planes` runs of n, each
 * starting `step` elements after the one before it. */
typedef struct moments {
    double mean, squares;
} moments;

#define MOMENTS(name, type)                                                                        \
    static moments name(const type *x, int64_t planes, int64_t step, int64_t n)                    \
    {                                                                                              \
        moments m = {0};                                                                           \
        for (int64_t p = 0; p < planes; p++)                                                       \
            for (int64_t i = 0; i < n; i++)                                                        \
                m.mean += (double)x[p * step + i];                                                 \
        m.mean /= (double)(planes * n);                                                            \
        for (int64_t p = 0; p < planes; p++)                                                       \
            for (int64_t i = 0; i < n; i++) {                                                      \
                double d = (double)x[p * step + i] - m.mean;                                       \
                m.squares += d * d;                                                                \
            }                                                                                      \
        return m;                                                                                  \
    }
MOMENTS(moments_f32, float)
MOMENTS(moments_f64, double)

static double element(dp_dtype class, const void *p, int64_t i)
{
    return class == DP_FLOAT32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

static void set_element(dp_dtype class, void *p, int64_t i, double v)
{
    if (class == DP_FLOAT32)
        ((float *)p)[i] = (float)v;
    else
        ((double *)p)[i] = v;
}

/* dense_get(), but None (NULL) stays NULL. */
static int get_optional(dp_ctx *ctx, dp_tensor *t, dp_dtype class, dp_tensor **out)
{
    return t ? dense_get(ctx, t, class, out) : 0;
}

static const void *data_of(const dp_tensor *t)
{
    return t ? dense_data(t) : NULL;
}

/* Hands the three results to the caller; after a failure releases those that were made. */
static int give(int rc, dp_tensor *const result[3], dp_tensor **first, dp_tensor **second,
                dp_tensor **third)
{
    if (rc < 0) {
        for (int i = 0; i < 3; i++)
            dp_tensor_unref(result[i]);
        return rc;
    }
    *first = result[0];
    *second = result[1];
    *third = result[2];
    return 0;
}

/* A parameter must have the input's dtype; float32 is allowed with a bfloat16 input. */
static int check_parameter(dp_ctx *ctx, dp_dtype input, dp_tensor *t)
{
    if (t == NULL)
        return 0;
    DP_VIEW(v, t);
    if (v.dtype == input || (input == DP_BFLOAT16 && v.dtype == DP_FLOAT32))
        return 0;
    return dense_check_same(ctx, input, v.dtype);
}

/* -- batch norm -- */

enum { WEIGHT, BIAS, MEAN, VAR, PARAMETERS };

typedef struct batch {
    dp_dtype class;
    int64_t n, channels, size; /* x is [n, channels, size] */
    const void *x, *parameter[PARAMETERS];
    void *y;
    double *mean, *inverse; /* [channels]; inverse: 1 / sqrt(variance + eps) */
    double *unbiased;       /* [channels] variance by n - 1; training only */
    double eps;
} batch;

static void take_moments(int64_t begin, int64_t end, void *user)
{
    batch *b = user;
    int64_t step = b->channels * b->size;
    int64_t planes = b->size > 0 ? b->n : 0; /* do not loop over empty planes: n may be huge */
    double count = (double)(b->n * b->size);

    for (int64_t c = begin; c < end; c++) {
        moments m = b->class == DP_FLOAT32
                        ? moments_f32((const float *)b->x + c * b->size, planes, step, b->size)
                        : moments_f64((const double *)b->x + c * b->size, planes, step, b->size);
        b->mean[c] = m.mean;
        b->inverse[c] = 1 / sqrt(m.squares / count + b->eps);
        b->unbiased[c] = m.squares / (count - 1);
    }
}

#define SCALE(name, type)                                                                          \
    static void name(int64_t begin, int64_t end, void *user)                                       \
    {                                                                                              \
        const batch *b = user;                                                                     \
        const type *weight = b->parameter[WEIGHT], *bias = b->parameter[BIAS];                     \
        for (int64_t plane = begin; plane < end; plane++) {                                        \
            int64_t c = plane % b->channels;                                                       \
            double factor = b->inverse[c] * (weight ? (double)weight[c] : 1);                      \
            double offset = (bias ? (double)bias[c] : 0) - b->mean[c] * factor;                    \
            const type *x = (const type *)b->x + plane * b->size;                                  \
            type *y = (type *)b->y + plane * b->size;                                              \
            for (int64_t i = 0; i < b->size; i++)                                                  \
                y[i] = (type)(x[i] * factor + offset);                                             \
        }                                                                                          \
    }
SCALE(scale_f32, float)
SCALE(scale_f64, double)

/* A new 1-dim tensor `dtype` [n] of these values, rounded to `class` first. */
static int vector_new(dp_ctx *ctx, const double *values, int64_t n, dp_device device,
                      dp_dtype class, dp_dtype dtype, dp_tensor **out)
{
    dp_tensor *t = NULL;

    int rc = dp_empty(ctx, class, device, 1, &n, DP_CONTIGUOUS, &t);
    if (rc < 0)
        return rc;
    void *data = dense_data(t);
    if (dp_memoryless(ctx))
        n = 0;
    for (int64_t i = 0; i < n; i++)
        set_element(class, data, i, values[i]);
    return dense_put(ctx, t, dtype, DP_CONTIGUOUS, out);
}

/* The new running statistic: momentum * fresh + (1 - momentum) * old.  If there is none (old NULL),
 * *out is left alone. */
static int blended(dp_ctx *ctx, const void *old, const double *fresh, double momentum,
                   const batch *b, dp_device device, dp_tensor **out)
{
    if (dp_memoryless(ctx))
        return vector_new(ctx, NULL, b->channels, device, b->class, b->class, out);
    if (old == NULL)
        return 0;
    double *blend = dense_array(ctx, b->channels, sizeof(*blend));
    if (blend == NULL)
        return DP_ERESOURCE;
    for (int64_t c = 0; c < b->channels; c++)
        blend[c] = momentum * fresh[c] + (1 - momentum) * element(b->class, old, c);
    return vector_new(ctx, blend, b->channels, device, b->class, b->class, out);
}

/* Update the running statistics: both of them, or on failure neither. */
static int update(dp_ctx *ctx, dp_tensor *mean, dp_tensor *var, double momentum, const batch *b,
                  dp_device device)
{
    dp_tensor *new_mean = NULL, *new_var = NULL;

    int rc = blended(ctx, b->parameter[MEAN], b->mean, momentum, b, device, &new_mean);
    if (rc == 0)
        rc = blended(ctx, b->parameter[VAR], b->unbiased, momentum, b, device, &new_var);
    if (rc == 0 && mean)
        rc = dp_copy(ctx, mean, new_mean);
    if (rc == 0 && var)
        rc = dp_copy(ctx, var, new_var);
    dp_tensor_unref(new_mean);
    dp_tensor_unref(new_var);
    return rc;
}

static int check_batch(dp_ctx *ctx, const dp_view *x, dp_tensor *const *parameters, bool training)
{
    static const char *const names[PARAMETERS] = {"weight", "bias", "running_mean", "running_var"};

    if (x->ndim < 2)
        return dp_fail(ctx, DP_ERUNTIME,
                       "batch norm of a %d-dimensional tensor: at least 2 expected", x->ndim);
    int rc = dense_check_type(ctx, "batch_norm", x->dtype, DENSE_FLOATS);
    for (int p = 0; rc == 0 && p < PARAMETERS; p++) {
        if (parameters[p] == NULL) {
            if (p >= MEAN && !training)
                rc = dp_fail(ctx, DP_ERUNTIME, "Expected %s to be defined when training=False",
                             names[p]);
            continue;
        }
        DP_VIEW(v, parameters[p]);
        if (v.numel != x->sizes[1])
            rc = dp_fail(ctx, DP_ERUNTIME, "%s should contain %lld elements not %lld", names[p],
                         (long long)x->sizes[1], (long long)v.numel);
        else
            rc = check_parameter(ctx, x->dtype, parameters[p]);
    }
    return rc;
}

/* Dtype of save_mean and save_invstd: that of a parameter if it differs from the input's. */
static dp_dtype saved_dtype(dp_dtype input, dp_tensor *const *parameters)
{
    for (int p = 0; p < PARAMETERS; p++)
        if (parameters[p]) {
            DP_VIEW(v, parameters[p]);
            if (v.dtype != input)
                return v.dtype;
        }
    return input;
}

static int run_batch(dp_ctx *ctx, batch *b, bool training)
{
    if (dp_memoryless(ctx))
        return 0;
    b->mean = dense_array(ctx, b->channels, sizeof(double));
    b->inverse = dense_array(ctx, b->channels, sizeof(double));
    b->unbiased = dense_array(ctx, b->channels, sizeof(double));
    if (!b->mean || !b->inverse || !b->unbiased)
        return DP_ERESOURCE;
    int rc = 0;
    if (training)
        rc = dp_parallel_for(ctx, 0, b->channels, dense_grain(4.0 * (double)b->n * (double)b->size),
                             take_moments, b);
    for (int64_t c = 0; c < b->channels && !training; c++) {
        b->mean[c] = element(b->class, b->parameter[MEAN], c);
        b->inverse[c] = 1 / sqrt(element(b->class, b->parameter[VAR], c) + b->eps);
    }
    if (rc < 0 || b->size == 0) /* there may be very many empty planes: no loop over them */
        return rc;
    return dp_parallel_for(ctx, 0, b->n * b->channels, dense_grain((double)b->size),
                           b->class == DP_FLOAT32 ? scale_f32 : scale_f64, b);
}

/* Packs input and parameters and allocates y.  What is made goes to *x, *y and packed, also on
 * failure: the caller releases it. */
static int prepare_batch(dp_ctx *ctx, dp_tensor *input, dp_tensor *const *given, batch *b,
                         dp_tensor **x, dp_tensor **y, dp_tensor **packed)
{
    DP_VIEW(v, input);

    b->class = dense_class(v.dtype);
    b->n = v.sizes[0];
    b->channels = v.sizes[1];
    b->size = 1;
    for (int d = 2; d < v.ndim; d++)
        b->size *= v.sizes[d];
    int rc = dense_get(ctx, input, b->class, x);
    if (rc == 0)
        rc = dp_empty(ctx, b->class, v.device, v.ndim, v.sizes, DP_CONTIGUOUS, y);
    for (int p = 0; rc == 0 && p < PARAMETERS; p++) {
        rc = get_optional(ctx, given[p], b->class, &packed[p]);
        b->parameter[p] = data_of(packed[p]);
    }
    if (rc < 0)
        return rc;
    b->x = dense_data(*x);
    b->y = dense_data(*y);
    return 0;
}

/* save_mean and save_invstd; outside of training they are empty. */
static int saved_statistics(dp_ctx *ctx, const batch *b, dp_device device, dp_dtype dtype,
                            bool training, dp_tensor **mean, dp_tensor **invstd)
{
    int64_t n = training ? b->channels : 0;
    int rc = vector_new(ctx, b->mean, n, device, b->class, dtype, mean);

    return rc < 0 ? rc : vector_new(ctx, b->inverse, n, device, b->class, dtype, invstd);
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
    dp_tensor *const given[PARAMETERS] = {weight, bias, running_mean, running_var};
    dp_tensor *packed[PARAMETERS] = {0}, *x = NULL, *y = NULL, *result[3] = {0};
    batch b = {.eps = eps};
    DP_VIEW(v, input);

    int rc = check_batch(ctx, &v, given, training);
    if (rc == 0)
        rc = prepare_batch(ctx, input, given, &b, &x, &y, packed);
    if (rc == 0)
        rc = run_batch(ctx, &b, training);
    if (rc == 0)
        rc = saved_statistics(ctx, &b, v.device, saved_dtype(v.dtype, given), training, &result[1],
                              &result[2]);
    if (rc == 0) {
        rc = dense_put(ctx, y, v.dtype, dp_tensor_suggest_format(input), &result[0]);
        y = NULL;
    }
    if (rc == 0 && training)
        rc = update(ctx, running_mean, running_var, momentum, &b, v.device);
    for (int p = 0; p < PARAMETERS; p++)
        dp_tensor_unref(packed[p]);
    dp_tensor_unref(x);
    dp_tensor_unref(y);
    return give(rc, result, out, save_mean, save_invstd);
}

/* -- layer norm -- */

typedef struct layer {
    int64_t size; /* elements of a row */
    const void *x, *weight, *bias;
    void *y, *mean, *rstd;
    double eps;
} layer;

/* The mean of a row with an infinity is NaN and that of an empty row is 0, as in PyTorch.  rstd and
 * offset are rounded to the type while x * rstd + offset stays double: PyTorch does the same, and
 * the difference shows in rows whose elements are almost equal. */
#define ROWS(name, type, moments_)                                                                 \
    static void name(int64_t begin, int64_t end, void *user)                                       \
    {                                                                                              \
        const layer *l = user;                                                                     \
        const type *weight = l->weight, *bias = l->bias;                                           \
        for (int64_t row = begin; row < end; row++) {                                              \
            const type *x = (const type *)l->x + row * l->size;                                    \
            type *y = (type *)l->y + row * l->size;                                                \
            moments m = moments_(x, 1, 0, l->size);                                                \
            type variance = (type)(m.squares / (double)l->size);                                   \
            type rstd = 1 / (type)sqrt((double)(variance + (type)l->eps));                         \
            type offset = (type)-m.mean * rstd;                                                    \
            for (int64_t i = 0; i < l->size; i++) {                                                \
                double z = (double)x[i] * rstd + offset;                                           \
                y[i] = (type)(z * (weight ? weight[i] : 1) + (bias ? bias[i] : 0));                \
            }                                                                                      \
            ((type *)l->mean)[row] = (type)(l->size == 0             ? 0                           \
                                            : m.squares != m.squares ? NAN                         \
                                                                     : m.mean);                    \
            ((type *)l->rstd)[row] = rstd;                                                         \
        }                                                                                          \
    }
ROWS(rows_f32, float, moments_f32)
ROWS(rows_f64, double, moments_f64)

static int check_layer_parameter(dp_ctx *ctx, const char *name, const dp_view *x, dp_tensor *t,
                                 const int64_t *shape, size_t n)
{
    char have[DP_SHAPE_TEXT], want[DP_SHAPE_TEXT];

    if (t == NULL)
        return 0;
    DP_VIEW(v, t);
    bool same = (size_t)v.ndim == n;
    for (size_t i = 0; same && i < n; i++)
        same = v.sizes[i] == shape[i];
    if (same)
        return check_parameter(ctx, x->dtype, t);
    return dp_fail(
        ctx, DP_ERUNTIME,
        "Expected %s to be of same shape as normalized_shape, but got %s of shape %s and "
        "normalized_shape = %s",
        name, name, dp_shape_text(have, v.sizes, (size_t)v.ndim), dp_shape_text(want, shape, n));
}

static int check_layer(dp_ctx *ctx, const dp_view *x, const int64_t *shape, size_t n)
{
    char have[DP_SHAPE_TEXT], want[DP_SHAPE_TEXT];
    bool fits = n <= (size_t)x->ndim;

    if (n == 0)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at "
            "least one element, but got normalized_shape = []");
    for (size_t i = 0; fits && i < n; i++)
        fits = x->sizes[(size_t)x->ndim - n + i] == shape[i];
    if (fits)
        return 0;
    dp_shape_text(want, shape, n);
    return dp_fail(ctx, DP_ERUNTIME,
                   "Given normalized_shape=%s, expected input with shape [*, %s, but got input of "
                   "size %s",
                   want, want + 1, dp_shape_text(have, x->sizes, (size_t)x->ndim));
}

enum { X, W, B, Y, M, R, LAYER_TENSORS }; /* input, weight, bias; output, mean, rstd */

/* Packs the inputs and allocates the results, row statistics with sizes [ndim].  What is made goes
 * to t, also on failure: the caller releases it. */
static int prepare_layer(dp_ctx *ctx, dp_tensor *const in[3], const int64_t *sizes, layer *l,
                         dp_tensor **t)
{
    DP_VIEW(v, in[0]);
    dp_dtype class = dense_class(v.dtype);
    int rc = 0;

    for (int i = X; rc == 0 && i <= B; i++)
        rc = get_optional(ctx, in[i], class, &t[i]);
    for (int i = Y; rc == 0 && i <= R; i++)
        rc = dp_empty(ctx, class, v.device, v.ndim, i == Y ? v.sizes : sizes, DP_CONTIGUOUS, &t[i]);
    if (rc < 0)
        return rc;
    l->x = dense_data(t[X]);
    l->weight = data_of(t[W]);
    l->bias = data_of(t[B]);
    l->y = dense_data(t[Y]);
    l->mean = dense_data(t[M]);
    l->rstd = dense_data(t[R]);
    return 0;
}

static int check_layer_norm(dp_ctx *ctx, dp_tensor *const in[3], const int64_t *shape, size_t n)
{
    DP_VIEW(v, in[0]);
    int rc = check_layer(ctx, &v, shape, n);

    if (rc == 0)
        rc = check_layer_parameter(ctx, "weight", &v, in[1], shape, n);
    if (rc == 0)
        rc = check_layer_parameter(ctx, "bias", &v, in[2], shape, n);
    return rc < 0 ? rc : dense_check_type(ctx, "LayerNormKernelImpl", v.dtype, DENSE_FLOATS);
}

/* aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias,
 *     float eps) -> (Tensor, Tensor, Tensor)
 * Normalises over the last dimensions, whose sizes are normalized_shape; weight and bias have that
 * shape.  The second and third result, mean and 1 / standard deviation, have size 1 there. */
static int native_layer_norm(dp_ctx *ctx, dp_tensor *input, const int64_t *shape, size_t n,
                             dp_tensor *weight, dp_tensor *bias, double eps, dp_tensor **out,
                             dp_tensor **mean, dp_tensor **rstd)
{
    dp_tensor *const in[3] = {input, weight, bias};
    dp_tensor *t[LAYER_TENSORS] = {0}, *result[3] = {0};
    int64_t sizes[DP_DIM_MAX], rows = 1;
    layer l = {.size = 1, .eps = eps};
    DP_VIEW(v, input);

    int rc = check_layer_norm(ctx, in, shape, n);
    if (rc < 0)
        return rc;
    for (int d = 0; d < v.ndim; d++) {
        bool inner = (size_t)d >= (size_t)v.ndim - n;
        sizes[d] = inner ? 1 : v.sizes[d];
        *(inner ? &l.size : &rows) *= v.sizes[d];
    }
    rc = prepare_layer(ctx, in, sizes, &l, t);
    if (rc == 0 && !dp_memoryless(ctx))
        rc = dp_parallel_for(ctx, 0, rows, dense_grain(6 * (double)l.size),
                             dense_class(v.dtype) == DP_FLOAT32 ? rows_f32 : rows_f64, &l);
    for (int i = 0; rc == 0 && i < 3; i++) {
        rc = dense_put(ctx, t[Y + i], v.dtype, DP_CONTIGUOUS, &result[i]);
        t[Y + i] = NULL;
    }
    for (int i = 0; i < LAYER_TENSORS; i++)
        dp_tensor_unref(t[i]);
    return give(rc, result, out, mean, rstd);
}

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("native_batch_norm", native_batch_norm,
                                (T, oT, oT, oT, oT, b, f, f), (T, T, T)),
                DP_IMPL_UNBOXED("native_layer_norm", native_layer_norm, (T, li, oT, oT, f),
                                (T, T, T)))
