/* group_norm.h -- checks of the sizes that group norms are told, for aten's kernels in any plugin.
 * Source: at::native::check_group_norm_inputs, and the checks of GroupNormKernelImplInternal */
#ifndef PLUGINS_GROUP_NORM_H
#define PLUGINS_GROUP_NORM_H

#include <dispatchd/check.h>

/* Check that `groups` is positive and divides `channels`, and that `x` has n * channels * size
 * elements. */
static int check_group_sizes(dp_ctx *ctx, const dp_view *x, int64_t n, int64_t channels,
                             int64_t size, int64_t groups)
{
    int64_t want;

    if (groups <= 0)
        return dp_fail(ctx, DP_ERUNTIME, "Expected num groups to be greater than 0, got %" PRId64,
                       groups);
    if (n < 0 || channels < 0 || size < 0 || channels % groups != 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected number of channels in input to be divisible by num_groups, but "
                       "got %" PRId64 " channels and num_groups=%" PRId64,
                       channels, groups);
    if (__builtin_mul_overflow(n, channels, &want) || __builtin_mul_overflow(want, size, &want) ||
        want != x->numel)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected input to have N * C * HxW elements, of %" PRId64 ", %" PRId64
                       " and %" PRId64 ", but got %" PRId64,
                       n, channels, size, x->numel);
    return 0;
}

#endif
