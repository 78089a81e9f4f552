/* narrow_copy.c -- narrow_copy, a copy of a slice (aten/src/ATen/native/TensorShape.cpp). */
#include "core/elements.h"

/* aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor */
static int narrow_copy(dp_ctx *ctx, dp_tensor *self, int64_t dim, int64_t start, int64_t length,
                       dp_tensor **out)
{
    int64_t contiguous = DP_CONTIGUOUS;
    dp_tensor *part;
    DP_VIEW(x, self);

    if (x.ndim > 0 && dim >= x.ndim)
        return dp_fail(ctx, DP_ERUNTIME,
                       "narrow_copy: dim %" PRId64 " is out of range for %d dimensions", dim,
                       x.ndim);
    if (x.ndim > 0 && dim >= 0 && length >= 0 && start > x.sizes[dim] - length)
        return dp_fail(ctx, DP_ERUNTIME,
                       "start (%" PRId64 ") + length (%" PRId64 ") exceeds dimension size (%" PRId64
                       ").",
                       start, length, x.sizes[dim]);
    int rc = dp_invoke(ctx, "aten::narrow", "Tiii>T", self, dim, start, length, &part);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::clone", "Toi>T", part, &contiguous, out);
    dp_tensor_unref(part);
    return rc;
}

/* The kernel only calls other operators, so it works for any backend. */
DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("narrow_copy", narrow_copy, (T, i, i, i), (T)))
DP_LIBRARY_META(aten, CompositeExplicitAutogradNonFunctional,
                DP_IMPL_UNBOXED("narrow_copy", narrow_copy, (T, i, i, i), (T)))
