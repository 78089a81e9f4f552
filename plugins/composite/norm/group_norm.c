/* group_norm.c -- group_norm, and native_group_norm computed with other operators
 * (aten/src/ATen/native/group_norm.cpp). */
#include "check_rank.h"
#include "core/chain.h"
#include "lib/group_norm.h"

/* -- group norm -- */

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

/* aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float
 *     eps=1e-05, bool cudnn_enabled=True) -> Tensor */
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

/* View `t`, a parameter with one element per channel, with the dimensions of x; NULL stays NULL. */
static dp_tensor *of_channels(chain *c, dp_tensor *t, const dp_view *x)
{
    int64_t sizes[DP_DIM_MAX];
    for (int i = 0; i < x->ndim; i++)
        sizes[i] = i == 1 ? -1 : 1;
    return t ? CHAIN(c, "aten::view", "Tli>T", t, sizes, (size_t)x->ndim) : NULL;
}

/* aten::native_group_norm for backends without a kernel: a batch norm of one sample with N * group
 * channels. */
static int group_norm_math(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias,
                           int64_t n, int64_t channels, int64_t size, int64_t groups, double eps,
                           dp_tensor **out, dp_tensor **mean, dp_tensor **rstd)
{
    chain c = {.ctx = ctx};
    int64_t flat[] = {1, n * groups, n ? -1 : 1}, sizes[] = {n, groups};
    dp_tensor *y = NULL, *m = NULL, *r = NULL, *const none = NULL;
    DP_VIEW(x, input);

    c.rc = check_group_sizes(ctx, &x, n, channels, size, groups);
    if (c.rc == 0)
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

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("group_norm", group_norm, (T, i, oT, oT, f, b), (T)))
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("native_group_norm", group_norm_math, (T, oT, oT, i, i, i, i, f),
                                (T, T, T)))
