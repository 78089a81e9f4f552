/* repeat_interleave.c -- repeat_interleave, which calls index_select
 * (aten/src/ATen/native/Repeat.cpp). */
#include "core/chain.h"

/* aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *,
 *     int? output_size=None) -> Tensor */
static int repeat_by(dp_ctx *ctx, dp_tensor *self, dp_tensor *repeats, const int64_t *given,
                     const int64_t *output_size, dp_tensor **out)
{
    int64_t any = -1, one = 1, dim = given ? *given : 0;
    chain c = {.ctx = ctx};
    DP_VIEW(r, repeats);

    if (given == NULL)
        self = CHAIN(&c, "aten::reshape", "Tli>T", self, &any, (size_t)1);
    if (c.rc < 0)
        return chain_end(&c, NULL, NULL);
    DP_VIEW(x, self);
    if (x.ndim == 0)
        chain_fail(&c, DP_EINDEX, "Dimension specified as %" PRId64 " but tensor has no dimensions",
                   dim);
    else if (wrap_dim(ctx, &dim, x.ndim) < 0)
        c.rc = DP_EINDEX;
    else if (r.numel == 1 && r.ndim <= 1) {
        repeats = CHAIN(&c, "aten::reshape", "Tli>T", repeats, &one, (size_t)1);
        repeats = CHAIN(&c, "aten::expand", "Tli>T", repeats, &x.sizes[dim], (size_t)1);
    } else if (r.ndim != 1)
        chain_fail(&c, DP_ERUNTIME, "repeats must be 0-dim or 1-dim tensor");
    else if (r.sizes[0] != x.sizes[dim])
        chain_fail(&c, DP_ERUNTIME, "repeats must have the same size as input along dim");
    dp_tensor *at = CHAIN(&c, "aten::repeat_interleave.Tensor", "Toi>T", repeats, output_size);
    return chain_end(&c, CHAIN(&c, "aten::index_select", "TiT>T", self, dim, at), out);
}

/* aten::repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, int?
 *     output_size=None) -> Tensor */
static int repeat_int(dp_ctx *ctx, dp_tensor *self, int64_t repeats, const int64_t *dim,
                      const int64_t *output_size, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *t;
    DP_VIEW(x, self);
    int rc = call_scalar_tensor(ctx, dp_int(repeats), DP_INT64, DP_DEVICE_CPU, &t);

    if (rc < 0)
        return rc;
    t = chain_move(&c, t, x.device);
    if (c.rc == 0)
        c.rc = repeat_by(ctx, self, t, dim, output_size, out);
    return chain_end(&c, NULL, NULL);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("repeat_interleave.self_Tensor", repeat_by, (T, T, oi, oi), (T)),
                DP_IMPL_UNBOXED("repeat_interleave.self_int", repeat_int, (T, i, oi, oi), (T)))
