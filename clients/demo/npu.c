/* npu.c -- the demo's second plugin: a new backend, and its kernel for an existing operator.
 *
 * DP_BACKEND(npu) allocates host memory, so the kernel may read its arguments directly. */
#include <dispatchd/plugin.h>

DP_PLUGIN(npu, "1.0")
DP_BACKEND(npu)

/* Add `self` and `other`, contiguous float32 tensors with the same number of elements. */
static int myadd(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    DP_VIEW(a, self);
    DP_VIEW(b, other);

    if (a.dtype != DP_FLOAT32 || b.dtype != DP_FLOAT32)
        return dp_fail(ctx, DP_ETYPE, "npu adds float32, not %s and %s", dp_dtype_name(a.dtype),
                       dp_dtype_name(b.dtype));
    if (a.numel != b.numel || !dp_tensor_is_contiguous(self, DP_CONTIGUOUS) ||
        !dp_tensor_is_contiguous(other, DP_CONTIGUOUS))
        return dp_fail(ctx, DP_ERUNTIME,
                       "npu adds contiguous tensors of one size, not %lld and %lld",
                       (long long)a.numel, (long long)b.numel);
    int rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_CONTIGUOUS, out);
    if (rc)
        return rc;
    DP_VIEW(sum, *out);
    for (int64_t i = 0; i < a.numel; i++)
        ((float *)sum.data)[i] = ((const float *)a.data)[i] + ((const float *)b.data)[i];
    return 0;
}

DP_LIBRARY_IMPL(myops, npu, DP_IMPL_UNBOXED("myadd", myadd, (T, T), (T)))
