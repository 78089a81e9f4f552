/* layer_norm.h -- checks of the arguments of layer norms, for aten's kernels in any plugin.
 * Source: at::native::_check_layer_norm_inputs */
#ifndef PLUGINS_LAYER_H
#define PLUGINS_LAYER_H

#include <dispatchd/check.h>

/* Check that `t`, the argument called `name` (weight or bias), has the `n` sizes in `shape`.  `t`
 * is NULL if the argument was not given. */
static int check_parameter(dp_ctx *ctx, const char *name, const dp_tensor *t, const int64_t *shape,
                           size_t n)
{
    char want[DP_SHAPE_TEXT], have[DP_SHAPE_TEXT];

    if (t == NULL)
        return 0;
    DP_VIEW(v, t);
    if (dp_same_sizes(v.ndim, v.sizes, (int)n, shape))
        return 0;
    return dp_fail(
        ctx, DP_ERUNTIME,
        "Expected %s to be of same shape as normalized_shape, but got %s of shape %s and "
        "normalized_shape = %s",
        name, name, dp_shape_text(have, v.sizes, (size_t)v.ndim), dp_shape_text(want, shape, n));
}

/* Check that n >= 1, that the last `n` sizes of `x` are those in `shape`, and that weight and bias,
 * if given, have exactly these sizes. */
static int check_layer(dp_ctx *ctx, const dp_view *x, const int64_t *shape, size_t n,
                       const dp_tensor *weight, const dp_tensor *bias)
{
    char want[DP_SHAPE_TEXT], have[DP_SHAPE_TEXT];

    if (n == 0)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at "
            "least one element, but got normalized_shape = []");
    int rc = check_parameter(ctx, "weight", weight, shape, n);
    if (rc == 0)
        rc = check_parameter(ctx, "bias", bias, shape, n);
    if (rc < 0)
        return rc;
    if (n <= (size_t)x->ndim && dp_same_sizes((int)n, x->sizes + x->ndim - n, (int)n, shape))
        return 0;
    dp_shape_text(want, shape, n);
    return dp_fail(ctx, DP_ERUNTIME,
                   "Given normalized_shape=%s, expected input with shape [*, %s, but got input of "
                   "size %s",
                   want, want + 1, dp_shape_text(have, x->sizes, (size_t)x->ndim));
}

#endif
