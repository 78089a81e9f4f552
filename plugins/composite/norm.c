/* norm.c -- normalisation by way of the operators that backends implement
 * (aten/src/ATen/native/Normalization.cpp, group_norm.cpp, WeightNorm.cpp). */
#include "chain.h"
#include "../layer.h"
#include <dispatchd/check.h>

/* -- batches and layers -- */

/* aten::_batch_norm_impl_index(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean,
 *     Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled)
 *     -> (Tensor, Tensor, Tensor, Tensor, int) */
static int batch_norm_index(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias,
                            dp_tensor *mean, dp_tensor *var, bool training, double momentum,
                            double eps, bool cudnn, dp_tensor **out, dp_tensor **save_mean,
                            dp_tensor **save_invstd, dp_tensor **reserve, int64_t *implementation)
{
    static const int64_t empty;
    dp_tensor *parts[3] = {0}, *none = NULL;
    DP_VIEW(x, input);

    (void)cudnn;
    int rc = dp_empty(ctx, DP_UINT8, x.device, 1, &empty, DP_CONTIGUOUS, &none);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::native_batch_norm", "ToToToToTbff>TTT", input, weight, bias,
                       mean, var, (int)training, momentum, eps, &parts[0], &parts[1], &parts[2]);
    if (rc < 0) {
        dp_tensor_unref(none);
        return rc;
    }
    *out = parts[0];
    *save_mean = parts[1];
    *save_invstd = parts[2];
    *reserve = none;
    *implementation = 0; /* PyTorch's number of the native one */
    return 0;
}

/* aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean,
 *     Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled)
 *     -> Tensor */
static int batch_norm(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias,
                      dp_tensor *mean, dp_tensor *var, bool training, double momentum, double eps,
                      bool cudnn, dp_tensor **out)
{
    dp_tensor *rest[3] = {0};
    int64_t implementation;
    int rc = dp_invoke(ctx, "aten::_batch_norm_impl_index", "ToToToToTbffb>TTTTi", input, weight,
                       bias, mean, var, (int)training, momentum, eps, (int)cudnn, out, &rest[0],
                       &rest[1], &rest[2], &implementation);

    for (int i = 0; i < 3; i++)
        dp_tensor_unref(rest[i]);
    return rc;
}

/* aten::layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None,
 *     float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor */
static int layer_norm(dp_ctx *ctx, dp_tensor *input, const int64_t *shape, size_t n,
                      dp_tensor *weight, dp_tensor *bias, double eps, bool cudnn, dp_tensor **out)
{
    dp_tensor *mean = NULL, *rstd = NULL;
    int rc = dp_invoke(ctx, "aten::native_layer_norm", "TlioToTf>TTT", input, shape, n, weight,
                       bias, eps, out, &mean, &rstd);

    (void)cudnn;
    dp_tensor_unref(mean);
    dp_tensor_unref(rstd);
    return rc;
}

/* aten::_batch_norm_impl_index_backward(int impl_index, Tensor input, Tensor grad_output, Tensor? weight,
 *     Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_var_transform, bool train,
 *     float eps, bool[3] output_mask, Tensor reservedSpace) -> (Tensor, Tensor, Tensor) */
static int batch_norm_index_backward(dp_ctx *ctx, int64_t implementation, dp_tensor *input,
                                     dp_tensor *grad, dp_tensor *weight, dp_tensor *mean,
                                     dp_tensor *var, dp_tensor *save_mean, dp_tensor *save_invstd,
                                     bool train, double eps, const bool *mask, size_t n_mask,
                                     dp_tensor *reserve, dp_tensor **dx, dp_tensor **dweight,
                                     dp_tensor **dbias)
{
    (void)reserve;
    if (implementation != 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Unsupported impl_index in _batch_norm_impl_index_backward: %" PRId64,
                       implementation);
    return dp_invoke(ctx, "aten::native_batch_norm_backward", "TToToToToToTbflb>TTT", grad, input,
                     weight, mean, var, save_mean, save_invstd, (int)train, eps, mask, n_mask, dx,
                     dweight, dbias);
}

/* -- groups and instances -- */

static int check_groups(dp_ctx *ctx, const dp_view *x, int64_t groups, dp_tensor *weight,
                        const char *name)
{
    char a[DP_SHAPE_TEXT], b[DP_SHAPE_TEXT];

    if (groups <= 0)
        return dp_fail(ctx, DP_ERUNTIME, "Expected num groups to be greater than 0, got %" PRId64,
                       groups);
    if (x->sizes[1] % groups != 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected number of channels in input to be divisible by num_groups, but "
                       "got input of shape %s and num_groups=%" PRId64,
                       dp_shape_text(a, x->sizes, (size_t)x->ndim), groups);
    if (weight == NULL)
        return 0;
    DP_VIEW(w, weight);
    if (w.ndim == 1 && w.numel == x->sizes[1])
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "Expected %s to be a vector of size equal to the number of channels in input, "
                   "but got %s of shape %s and input of shape %s",
                   name, name, dp_shape_text(b, w.sizes, (size_t)w.ndim),
                   dp_shape_text(a, x->sizes, (size_t)x->ndim));
}

/* [N, C, ...] */
static int check_rank(dp_ctx *ctx, const dp_view *x)
{
    if (x->ndim >= 2)
        return 0;
    if (x->ndim == 0)
        return dp_fail(ctx, DP_EINDEX, "Dimension specified as 0 but tensor has no dimensions");
    return dp_fail(ctx, DP_EINDEX,
                   "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
}

/* aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05,
 *     bool cudnn_enabled=True) -> Tensor */
static int group_norm(dp_ctx *ctx, dp_tensor *input, int64_t groups, dp_tensor *weight,
                      dp_tensor *bias, double eps, bool cudnn, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    int64_t format = dp_tensor_suggest_format(input), size = 1;
    dp_tensor *y = NULL, *mean = NULL, *rstd = NULL;
    DP_VIEW(x, input);

    (void)cudnn;
    c.rc = check_rank(ctx, &x);
    if (c.rc == 0)
        c.rc = check_groups(ctx, &x, groups, weight, "weight");
    if (c.rc == 0)
        c.rc = check_groups(ctx, &x, groups, bias, "bias");
    if (c.rc < 0)
        return c.rc;
    for (int i = 2; i < x.ndim; i++)
        if (__builtin_mul_overflow(size, x.sizes[i], &size))
            return dp_fail(ctx, DP_ERESOURCE, "out of memory: too many elements of a channel");
    dp_tensor *packed = CHAIN(&c, "aten::contiguous", "Ti>T", input, format);
    if (c.rc == 0)
        c.rc = dp_invoke(ctx, "aten::native_group_norm", "ToToTiiiif>TTT", packed, weight, bias,
                         x.sizes[0], x.sizes[1], size, groups, eps, &y, &mean, &rstd);
    if (c.rc == 0) {
        chain_keep(&c, y);
        chain_keep(&c, mean);
        chain_keep(&c, rstd);
    }
    return chain_end(&c, y, out);
}

/* t, a parameter of channels, as x's dimensions have it; NULL for one that is */
static dp_tensor *of_channels(chain *c, dp_tensor *t, const dp_view *x)
{
    int64_t sizes[DP_DIM_MAX];
    for (int i = 0; i < x->ndim; i++)
        sizes[i] = i == 1 ? -1 : 1;
    return t ? CHAIN(c, "aten::view", "Tli>T", t, sizes, (size_t)x->ndim) : NULL;
}

/* aten::native_group_norm, where a backend has none: a batch norm of one instance with N * group channels. */
static int group_norm_math(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias,
                           int64_t n, int64_t channels, int64_t size, int64_t groups, double eps,
                           dp_tensor **out, dp_tensor **mean, dp_tensor **rstd)
{
    chain c = {.ctx = ctx};
    int64_t flat[] = {1, n * groups, n ? -1 : 1}, sizes[] = {n, groups};
    dp_tensor *y = NULL, *m = NULL, *r = NULL, *const none = NULL;
    DP_VIEW(x, input);

    (void)channels, (void)size;
    c.rc = check_rank(ctx, &x);
    dp_tensor *t = CHAIN(&c, "aten::view", "Tli>T", input, flat, (size_t)3);
    if (c.rc == 0)
        c.rc = dp_invoke(ctx, "aten::native_batch_norm", "ToToToToTbff>TTT", t, none, none, none,
                         none, (int)true, 0.0, eps, &y, &m, &r);
    if (c.rc == 0) {
        chain_keep(&c, y);
        chain_keep(&c, m);
        chain_keep(&c, r);
    }
    y = CHAIN(&c, "aten::view", "Tli>T", y, x.sizes, (size_t)x.ndim);
    if (weight != NULL)
        y = chain_TT(&c, "aten::mul.Tensor", y, of_channels(&c, weight, &x));
    if (bias != NULL)
        y = chain_TT(&c, "aten::add.Tensor", y, of_channels(&c, bias, &x));
    m = CHAIN(&c, "aten::view", "Tli>T", m, sizes, (size_t)2);
    r = CHAIN(&c, "aten::view", "Tli>T", r, sizes, (size_t)2);
    if (c.rc == 0) {
        *mean = dp_tensor_ref(m);
        *rstd = dp_tensor_ref(r);
    }
    return chain_end(&c, y, out);
}

/* t for each of n instances; NULL for one that is */
static dp_tensor *for_each(chain *c, dp_tensor *t, int64_t n)
{
    return t ? CHAIN(c, "aten::repeat", "Tli>T", t, &n, (size_t)1) : NULL;
}

/* A running statistic becomes the mean of those of all instances. */
static void fold(chain *c, dp_tensor *t, dp_tensor *each, int64_t n, int64_t channels)
{
    int64_t sizes[] = {n, channels}, first = 0;
    if (t == NULL)
        return;
    each = CHAIN(c, "aten::view", "Tli>T", each, sizes, (size_t)2);
    each = CHAIN(c, "aten::mean.dim", "Toli>T", each, &first, (size_t)1);
    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, "aten::copy_", "TTb>", t, each, (int)false);
}

/* aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean,
 *     Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor
 * Batch normalisation of each instance's channels by themselves. */
static int instance_norm(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias,
                         dp_tensor *mean, dp_tensor *var, bool use_input_stats, double momentum,
                         double eps, bool cudnn, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(x, input);

    if (!use_input_stats && (mean == NULL || var == NULL))
        return dp_fail(
            ctx, DP_ERUNTIME,
            "Expected running_mean and running_var to be defined when use_input_stats is "
            "false");
    int rc = check_rank(ctx, &x);
    if (rc < 0)
        return rc;
    for (int i = 0; i < x.ndim; i++)
        sizes[i] = x.sizes[i];
    if (__builtin_mul_overflow(x.sizes[0], x.sizes[1], &sizes[1]))
        return dp_fail(ctx, DP_ERESOURCE, "out of memory: too many channels");
    sizes[0] = 1;
    dp_tensor *each_mean = for_each(&c, mean, x.sizes[0]),
              *each_var = for_each(&c, var, x.sizes[0]);
    dp_tensor *flat = CHAIN(&c, "aten::contiguous", "T>T", input);
    flat = CHAIN(&c, "aten::view", "Tli>T", flat, sizes, (size_t)x.ndim);
    dp_tensor *y = CHAIN(&c, "aten::batch_norm", "ToToToToTbffb>T", flat,
                         for_each(&c, weight, x.sizes[0]), for_each(&c, bias, x.sizes[0]),
                         each_mean, each_var, (int)use_input_stats, momentum, eps, (int)cudnn);
    fold(&c, mean, each_mean, x.sizes[0], x.sizes[1]);
    fold(&c, var, each_var, x.sizes[0], x.sizes[1]);
    return chain_end(&c, CHAIN(&c, "aten::view", "Tli>T", y, x.sizes, (size_t)x.ndim), out);
}

/* -- weights by their norm and direction -- */

/* aten::norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor */
static int norm_except_dim(dp_ctx *ctx, dp_tensor *v, int64_t power, int64_t dim, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    int64_t sizes[DP_DIM_MAX], flat[2] = {-1, -1}, along;
    dp_value p = dp_int(power);
    DP_VIEW(x, v);

    if (dim == -1)
        return dp_invoke(ctx, "aten::norm.Scalar", "Ts>T", v, p, out);
    c.rc = wrap_dim(ctx, &dim, x.ndim);
    bool swap = dim != 0 && dim != x.ndim - 1;
    if (swap)
        v = CHAIN(&c, "aten::transpose.int", "Tii>T", v, (int64_t)0, dim);
    if (c.rc < 0)
        return chain_end(&c, NULL, out);
    DP_VIEW(y, v);
    int64_t kept = swap ? 0 : dim;
    for (int i = 0; i < y.ndim; i++)
        sizes[i] = i == kept ? y.sizes[i] : 1;
    flat[kept == 0 ? 0 : 1] = y.ndim ? y.sizes[kept] : 1;
    along = kept == 0 ? 1 : 0;
    dp_tensor *t = CHAIN(&c, "aten::contiguous", "T>T", v);
    t = CHAIN(&c, "aten::view", "Tli>T", t, flat, (size_t)2);
    t = CHAIN(&c, "aten::norm.ScalarOpt_dim", "Tosli>T", t, &p, &along, (size_t)1);
    t = CHAIN(&c, "aten::view", "Tli>T", t, sizes, (size_t)y.ndim);
    if (swap)
        t = CHAIN(&c, "aten::transpose.int", "Tii>T", t, (int64_t)0, dim);
    return chain_end(&c, t, out);
}

static bool is_half(dp_dtype d)
{
    return d == DP_FLOAT16;
}

/* aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor */
static int weight_norm(dp_ctx *ctx, dp_tensor *v, dp_tensor *g, int64_t dim, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *w = NULL, *norm = NULL;
    DP_VIEW(x, v);
    DP_VIEW(y, g);

    v = CHAIN(&c, "aten::contiguous", "T>T", v);
    g = CHAIN(&c, "aten::contiguous", "T>T", g);
    if (is_half(x.dtype) || is_half(y.dtype) || (dim != 0 && dim != x.ndim - 1)) {
        norm = CHAIN(&c, "aten::norm_except_dim", "Tii>T", v, (int64_t)2, dim);
        w = chain_TT(&c, "aten::mul.Tensor", v, chain_TT(&c, "aten::div.Tensor", g, norm));
        return chain_end(&c, w, out);
    }
    if (c.rc == 0)
        c.rc = dp_invoke(ctx, "aten::_weight_norm_interface", "TTi>TT", v, g, dim, &w, &norm);
    if (c.rc == 0) {
        chain_keep(&c, w);
        chain_keep(&c, norm);
    }
    return chain_end(&c, w, out);
}

static int check_ends(dp_ctx *ctx, dp_tensor *v, int64_t dim)
{
    DP_VIEW(x, v);
    if (x.ndim > 0 && (dim == 0 || dim == x.ndim - 1))
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "Expected dim to be the first or last dimension");
}

/* aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)
 * v * (g / norm), and the norm of v over all dimensions but dim, the first or the last. */
static int weight_norm_interface(dp_ctx *ctx, dp_tensor *v, dp_tensor *g, int64_t dim,
                                 dp_tensor **w, dp_tensor **norm)
{
    chain c = {.ctx = ctx, .rc = check_ends(ctx, v, dim)};
    DP_VIEW(x, v);
    DP_VIEW(y, g);
    bool wide = x.dtype == DP_BFLOAT16;

    if (c.rc == 0 && !wide && x.dtype != DP_FLOAT32 && x.dtype != DP_FLOAT64)
        c.rc = dp_fail(ctx, DP_ERUNTIME, "\"weight_norm_kernel\" not implemented for '%s'",
                       dp_dtype_name(x.dtype));
    if (c.rc == 0 && x.dtype != y.dtype)
        c.rc = dp_fail(ctx, DP_ERUNTIME, "expected scalar type %s but found %s",
                       dp_dtype_name(x.dtype), dp_dtype_name(y.dtype));
    dp_tensor *from = wide ? CHAIN(&c, "aten::to.dtype", "Ti>T", v, (int64_t)DP_FLOAT32) : v;
    dp_tensor *n = CHAIN(&c, "aten::norm_except_dim", "Tii>T", from, (int64_t)2, dim);
    n = CHAIN(&c, "aten::reshape", "Tli>T", n, y.sizes, (size_t)y.ndim);
    dp_tensor *t = chain_TT(&c, "aten::mul.Tensor", from, chain_TT(&c, "aten::div.Tensor", g, n));
    if (wide)
        t = CHAIN(&c, "aten::to.dtype", "Ti>T", t, (int64_t)x.dtype);
    if (c.rc == 0)
        *norm = dp_tensor_ref(n);
    return chain_end(&c, t, w);
}

/* aten::_weight_norm_interface_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g,
 *     Tensor saved_norms, int dim) -> (Tensor, Tensor), and _weight_norm_differentiable_backward */
static int weight_norm_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *v, dp_tensor *g,
                                dp_tensor *norms, int64_t dim, dp_tensor **dv, dp_tensor **dg)
{
    static const char *const names[] = {"grad_w", "saved_v", "saved_g", "saved_norms"};
    dp_tensor *const given[] = {grad, v, g, norms};
    chain c = {.ctx = ctx, .rc = check_ends(ctx, v, dim)};
    int64_t flat[2] = {-1, -1}, sizes[DP_DIM_MAX], along = dim == 0 ? 1 : 0;
    DP_VIEW(x, v);
    DP_VIEW(y, g);

    for (int i = 0; c.rc == 0 && i < 4; i++)
        if (!dp_tensor_is_contiguous(given[i], DP_CONTIGUOUS))
            c.rc = dp_fail(ctx, DP_ERUNTIME, "%s must be contiguous", names[i]);
    if (c.rc < 0)
        return c.rc;
    for (int i = 0; i < x.ndim; i++)
        sizes[i] = i == dim ? x.sizes[i] : 1;
    flat[dim == 0 ? 0 : 1] = x.sizes[dim];
    norms = CHAIN(&c, "aten::to.dtype", "Ti>T", norms, (int64_t)y.dtype);
    dp_tensor *sums = chain_TT(&c, "aten::mul.Tensor", grad, v);
    sums = CHAIN(&c, "aten::view", "Tli>T", sums, flat, (size_t)2);
    sums = CHAIN(&c, "aten::sum.dim_IntList", "Toli>T", sums, &along, (size_t)1);
    sums = CHAIN(&c, "aten::view", "Tli>T", sums, sizes, (size_t)x.ndim);
    dp_tensor *part =
        chain_TT(&c, "aten::div.Tensor", sums, chain_TT(&c, "aten::mul.Tensor", norms, norms));
    part = chain_TT(&c, "aten::sub.Tensor", grad, chain_TT(&c, "aten::mul.Tensor", v, part));
    part = chain_TT(&c, "aten::mul.Tensor", chain_TT(&c, "aten::div.Tensor", g, norms), part);
    dp_tensor *slope = chain_TT(&c, "aten::div.Tensor", sums, norms);
    if (c.rc == 0)
        *dg = dp_tensor_ref(slope);
    return chain_end(&c, part, dv);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("batch_norm", batch_norm, (T, oT, oT, oT, oT, b, f, f, b), (T)),
                DP_IMPL_UNBOXED("_batch_norm_impl_index", batch_norm_index,
                                (T, oT, oT, oT, oT, b, f, f, b), (T, T, T, T, i)),
                DP_IMPL_UNBOXED("_batch_norm_impl_index_backward", batch_norm_index_backward,
                                (i, T, T, oT, oT, oT, oT, oT, b, f, lb, T), (T, T, T)),
                DP_IMPL_UNBOXED("layer_norm", layer_norm, (T, li, oT, oT, f, b), (T)),
                DP_IMPL_UNBOXED("group_norm", group_norm, (T, i, oT, oT, f, b), (T)),
                DP_IMPL_UNBOXED("instance_norm", instance_norm, (T, oT, oT, oT, oT, b, f, f, b),
                                (T)),
                DP_IMPL_UNBOXED("norm_except_dim", norm_except_dim, (T, i, i), (T)),
                DP_IMPL_UNBOXED("_weight_norm", weight_norm, (T, T, i), (T)))
DP_KERNEL_FLAGS(weight_norm_differentiable, DP_FLAG_META, aten, CompositeImplicitAutograd,
                "_weight_norm_differentiable_backward", weight_norm_backward, (T, T, T, T, i),
                (T, T))
/* -- layers, for backends without a kernel of their own -- */

/* An empty input has no rows to normalise; its statistics are as empty, in float32 at least. */
static int layer_of_none(dp_ctx *ctx, dp_tensor *input, dp_tensor *results[3])
{
    DP_VIEW(x, input);
    dp_dtype dtype = dp_promote_types(x.dtype, DP_FLOAT32);
    int rc = 0;

    for (int i = 0; rc == 0 && i < 3; i++)
        rc = dp_empty_like(ctx, input, i ? dtype : x.dtype, DP_PRESERVE, &results[i]);
    for (int i = 0; rc < 0 && i < 3; i++)
        results[i] = dp_tensor_unref(results[i]);
    return rc;
}

/* results: [1, rows, columns] normalised by rows, and two of rows.  parts: the chain's. */
static void normalise_rows(chain *c, dp_tensor *input, const int64_t *rows, double eps,
                           dp_tensor *parts[3])
{
    dp_tensor *flat = CHAIN(c, "aten::reshape", "Tli>T", input, rows, (size_t)3);

    parts[0] = parts[1] = parts[2] = NULL;
    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, "aten::native_batch_norm", "ToToToToTbff>TTT", flat, NULL, NULL,
                          NULL, NULL, (int)true, 0.0, eps, &parts[0], &parts[1], &parts[2]);
    for (int i = 0; i < 3; i++)
        parts[i] = c->rc == 0 ? chain_keep(c, parts[i]) : NULL;
}

/* aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias,
 *     float eps) -> (Tensor, Tensor, Tensor)
 * Source: math_native_layer_norm */
static int layer_norm_math(dp_ctx *ctx, dp_tensor *input, const int64_t *shape, size_t n,
                           dp_tensor *weight, dp_tensor *bias, double eps, dp_tensor **out,
                           dp_tensor **mean, dp_tensor **rstd)
{
    dp_tensor *results[3] = {0}, *parts[3];
    int64_t sizes[DP_DIM_MAX], rows[3] = {1, 1, -1};
    chain c = {.ctx = ctx};
    DP_VIEW(x, input);
    int rc = check_layer(ctx, &x, shape, n, weight, bias);

    if (rc == 0 && x.numel == 0)
        rc = layer_of_none(ctx, input, results);
    for (int d = 0; rc == 0 && d < x.ndim; d++) {
        sizes[d] = (size_t)d < (size_t)x.ndim - n ? x.sizes[d] : 1;
        rows[1] *= sizes[d];
    }
    c.rc = rc;
    if (rc == 0 && x.numel > 0) {
        normalise_rows(&c, input, rows, eps, parts);
        dp_tensor *y = CHAIN(&c, "aten::reshape", "Tli>T", parts[0], x.sizes, (size_t)x.ndim);
        if (weight != NULL && bias != NULL)
            y = CHAIN(&c, "aten::addcmul", "TTTs>T", bias, y, weight, dp_int(1));
        else if (weight != NULL || bias != NULL)
            y = weight ? chain_TT(&c, "aten::mul.Tensor", y, weight)
                       : CHAIN(&c, "aten::add.Tensor", "TTs>T", y, bias, dp_int(1));
        for (int i = 1; i < 3; i++)
            parts[i] = CHAIN(&c, "aten::reshape", "Tli>T", parts[i], sizes, (size_t)x.ndim);
        for (int i = 0; c.rc == 0 && i < 3; i++)
            results[i] = dp_tensor_ref(i ? parts[i] : y);
    }
    *out = results[0], *mean = results[1], *rstd = results[2];
    return chain_end(&c, NULL, NULL);
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("native_layer_norm", layer_norm_math, (T, li, oT, oT, f),
                                (T, T, T)),
                DP_IMPL_UNBOXED("native_group_norm", group_norm_math, (T, oT, oT, i, i, i, i, f),
                                (T, T, T)))
DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("_weight_norm_interface", weight_norm_interface, (T, T, i), (T, T)),
                DP_IMPL_UNBOXED("_weight_norm_interface_backward", weight_norm_backward,
                                (T, T, T, T, i), (T, T)))
