/* channel_shuffle.c -- channel_shuffle (aten/src/ATen/native/ChanelShuffle.cpp).
 *
 * Operators: channel_shuffle, native_channel_shuffle. */
#include "lib/dims.h"
#include <string.h>

/* View the channels of `t` as two dimensions [groups, each]. */
static int split_channels(dp_ctx *ctx, dp_tensor *t, int64_t groups, int64_t group_step,
                          int64_t step, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX], strides[DP_DIM_MAX];
    DP_VIEW(x, t);
    size_t rest = (size_t)x.ndim - 2;

    sizes[0] = x.sizes[0], strides[0] = x.strides[0];
    sizes[1] = groups, strides[1] = x.strides[1] * group_step;
    sizes[2] = x.sizes[1] / groups, strides[2] = x.strides[1] * step;
    dp_copy_n(sizes + 3, x.sizes + 2, rest, sizeof(*sizes));
    dp_copy_n(strides + 3, x.strides + 2, rest, sizeof(*strides));
    return dp_as_strided(ctx, t, x.ndim + 1, sizes, strides, dp_tensor_offset(t), out);
}

/* aten::native_channel_shuffle(Tensor self, int groups) -> Tensor
 * Channel c of group g becomes channel c * groups + g. */
static int native(dp_ctx *ctx, dp_tensor *self, int64_t groups, dp_tensor **out)
{
    dp_tensor *from = NULL, *to = NULL;
    DP_VIEW(x, self);

    if (x.ndim < 2 || x.ndim >= DP_DIM_MAX)
        return dp_fail(ctx, DP_ERUNTIME,
                       "native_channel_shuffle: expected 2 to %d dimensions but got %d",
                       DP_DIM_MAX - 1, x.ndim);
    if (groups <= 0 || x.sizes[1] % groups != 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "native_channel_shuffle: %" PRId64
                       " channels cannot be divided into %" PRId64 " groups",
                       x.sizes[1], groups);
    int rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, dp_tensor_suggest_format(self), out);
    if (rc < 0 || x.numel == 0)
        return rc;
    int64_t each = x.sizes[1] / groups;
    rc = split_channels(ctx, self, groups, each, 1, &from);
    if (rc == 0)
        rc = split_channels(ctx, *out, groups, 1, groups, &to);
    if (rc == 0)
        rc = dp_copy(ctx, to, from);
    dp_tensor_unref(from);
    dp_tensor_unref(to);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::channel_shuffle(Tensor self, int groups) -> Tensor */
static int shuffle(dp_ctx *ctx, dp_tensor *self, int64_t groups, dp_tensor **out)
{
    char shape[DP_SHAPE_TEXT];
    DP_VIEW(x, self);

    if (x.ndim < 3)
        return dp_fail(ctx, DP_ERUNTIME,
                       "channel_shuffle expects input with > 2 dims, but got input with sizes %s",
                       dp_shape_text(shape, x.sizes, (size_t)x.ndim));
    if (groups <= 0)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "Number of groups to divide channels in must be positive. Value of groups:%" PRId64,
            groups);
    if (x.sizes[1] % groups != 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Number of channels must be divisible by groups. Got %" PRId64
                       " channels and %" PRId64 " groups.",
                       x.sizes[1], groups);
    return dp_invoke(ctx, "aten::native_channel_shuffle", "Ti>T", self, groups, out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("channel_shuffle", shuffle, (T, i), (T)),
                DP_IMPL_UNBOXED("native_channel_shuffle", native, (T, i), (T)))
