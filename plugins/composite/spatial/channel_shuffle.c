/* channel_shuffle.c -- native_channel_shuffle, computed with views
 * (aten/src/ATen/native/ChanelShuffle.cpp). */
#include "core/composite.h"

/* aten::native_channel_shuffle(Tensor self, int groups) -> Tensor, from views.  Source:
 * math_channel_shuffle */
static int channel_shuffle(dp_ctx *ctx, dp_tensor *self, int64_t groups, dp_tensor **out)
{
    static const int64_t order[] = {0, 2, 1, 3};
    temps t = {.n = 0};
    DP_VIEW(x, self);

    if (x.ndim < 2 || groups <= 0 || x.sizes[1] % groups != 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Number of channels must be divisible by groups. Got %" PRId64
                       " channels and %" PRId64 " groups.",
                       x.ndim < 2 ? 0 : x.sizes[1], groups);
    const int64_t sizes[] = {x.sizes[0], groups, x.sizes[1] / groups, -1};
    int rc = dp_invoke(ctx, "aten::reshape", "Tli>T", self, sizes, (size_t)4, temps_next(&t));
    dp_tensor *last = temps_last(&t);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::permute", "Tli>T", last, order, (size_t)4, temps_next(&t));
    last = temps_last(&t);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::contiguous", "T>T", last, temps_next(&t));
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", temps_last(&t), x.sizes, (size_t)x.ndim, out);
    temps_fini(&t);
    return rc;
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("native_channel_shuffle", channel_shuffle, (T, i), (T)))
