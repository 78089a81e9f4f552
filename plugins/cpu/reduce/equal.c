/* equal.c -- the operator equal, true if two tensors have the same sizes and elements
 * (aten/src/ATen/native/ReduceOps.cpp). */
#include "core/elements.h"

/* aten::equal(Tensor self, Tensor other) -> bool */
static int equal(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, bool *out)
{
    dp_tensor *same = NULL, *all = NULL;
    dp_value value = dp_none();
    DP_VIEW(x, self);
    DP_VIEW(y, other);
    bool same_sizes = x.ndim == y.ndim;

    for (int d = 0; same_sizes && d < x.ndim; d++)
        same_sizes = x.sizes[d] == y.sizes[d];
    *out = false;
    if (!same_sizes)
        return 0;
    int rc = dp_invoke(ctx, "aten::eq.Tensor", "TT>T", self, other, &same);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::all", "T>T", same, &all);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::_local_scalar_dense", "T>s", all, &value);
    if (rc == 0)
        *out = value.u.b;
    dp_tensor_unref(same);
    dp_tensor_unref(all);
    return rc;
}

DP_LIBRARY_IMPL(aten, CPU, DP_IMPL_UNBOXED("equal", equal, (T, T), (b)))
