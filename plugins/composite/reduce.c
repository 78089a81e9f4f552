/* reduce.c -- reductions by way of others. */
#include "composite.h"

/* aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor */
static int sum(dp_ctx *ctx, dp_tensor *self, const int64_t *dtype, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::sum.dim_IntList", "Toliboi>T", self, NULL, (size_t)0, (int)false,
                     dtype, out);
}

/* aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor */
static int mean(dp_ctx *ctx, dp_tensor *self, const int64_t *dtype, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::mean.dim", "Toliboi>T", self, NULL, (size_t)0, (int)false, dtype,
                     out);
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("sum", sum, (T, oi), (T)),
                DP_IMPL_UNBOXED("mean", mean, (T, oi), (T)))
