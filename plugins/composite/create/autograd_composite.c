/* autograd_composite.c -- lift, and helpers for the tangents of forward-mode autograd
 * (aten/src/ATen/native/AutogradComposite.cpp).
 *
 * Operators: _has_same_storage_numel, lift, lift_fresh, lift_fresh_copy,
 * _new_zeros_with_same_feature_meta. */
#include "core/composite.h"

/* Return the number of elements of t's dtype that its storage has. */
static int64_t storage_numel(dp_tensor *t)
{
    DP_VIEW(x, t);
    return (int64_t)(dp_tensor_storage_bytes(t) / dp_dtype_size(x.dtype));
}

/* aten::_has_same_storage_numel(Tensor self, Tensor other) -> bool */
static int same_storage_numel(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, bool *out)
{
    (void)ctx;
    *out = storage_numel(self) == storage_numel(other);
    return 0;
}

/* aten::lift_fresh_copy(Tensor self) -> Tensor */
static int lift_fresh_copy(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::clone", "T>T", self, out);
}

/* aten::_new_zeros_with_same_feature_meta(Tensor self, Tensor other, *, int self_num_batch_dims=0)
 * -> Tensor
 * The result is zeros with the sizes, strides and storage size of other, for each index of self's
 * first dimensions. */
static int zeros_laid_as(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, int64_t batches,
                         dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX], strides[DP_DIM_MAX], numel = storage_numel(other);
    dp_tensor *flat;
    DP_VIEW(x, self);
    DP_VIEW(y, other);

    if (batches < 0 || batches > x.ndim || batches + y.ndim > DP_DIM_MAX)
        return dp_fail(ctx, DP_ERUNTIME,
                       "self_num_batch_dims should be at least 0 and at most the %d dimensions of "
                       "self, but got "
                       "%" PRId64,
                       x.ndim, batches);
    for (int64_t d = batches - 1; d >= 0; d--) {
        sizes[d] = x.sizes[d];
        strides[d] = numel;
        if (__builtin_mul_overflow(numel, x.sizes[d], &numel))
            return dp_fail(ctx, DP_ERUNTIME,
                           "dimensions of self are too large for storages of %" PRId64
                           " elements each",
                           storage_numel(other));
    }
    dp_copy_n(sizes + batches, y.sizes, (size_t)y.ndim, sizeof(int64_t));
    dp_copy_n(strides + batches, y.strides, (size_t)y.ndim, sizeof(int64_t));
    int rc = dp_empty(ctx, y.dtype, y.device, 1, &numel, DP_CONTIGUOUS, &flat);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::zero_", "T>", flat);
    if (rc == 0)
        rc = dp_as_strided(ctx, flat, (int)batches + y.ndim, sizes, strides,
                           dp_tensor_offset(other), out);
    dp_tensor_unref(flat);
    return rc;
}

/* aten::lift(Tensor self) -> Tensor
 * The result is self, because there are no functional wrappers (functionalization) here. */
static int lift(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    (void)ctx;
    *out = dp_tensor_ref(self);
    return 0;
}

/* aten::lift_fresh(Tensor(a) self) -> Tensor(a) */
static int lift_fresh(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return lift(ctx, self, out);
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("lift_fresh_copy", lift_fresh_copy, (T), (T)),
                DP_IMPL_UNBOXED("_new_zeros_with_same_feature_meta", zeros_laid_as, (T, T, i), (T)),
                DP_IMPL_UNBOXED("_has_same_storage_numel", same_storage_numel, (T, T), (b)),
                DP_IMPL_UNBOXED("lift", lift, (T), (T)),
                DP_IMPL_UNBOXED("lift_fresh", lift_fresh, (T), (T)))
