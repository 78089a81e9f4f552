/* repeat.c -- repeat_interleave for a tensor of repeats (aten/src/ATen/native/Repeat.cpp). */
#include "core/elements.h"

/* Set the sum of repeats [n].  DP_ERUNTIME: one of them is negative. */
static int count_repeats(dp_ctx *ctx, const int64_t *repeats, int64_t n, const int64_t *wanted,
                         int64_t *total)
{
    *total = 0;
    for (int64_t i = 0; i < n; i++) {
        if (repeats[i] < 0)
            return dp_fail(ctx, DP_ERUNTIME, "repeats can not be negative");
        if (__builtin_add_overflow(*total, repeats[i], total))
            return dp_fail(ctx, DP_ERUNTIME, "repeats do not add up in int64");
    }
    if (wanted && *wanted != *total)
        return dp_fail(ctx, DP_ERUNTIME, "allocated size does not match required size");
    return 0;
}

static int interleave(dp_ctx *ctx, dp_tensor *wide, const int64_t *wanted, dp_dtype dtype,
                      dp_tensor **out)
{
    int64_t total;
    dp_tensor *made;
    DP_VIEW(x, wide);
    const int64_t *repeats = x.data;
    int rc = count_repeats(ctx, repeats, x.numel, wanted, &total);

    if (rc == 0)
        rc = dp_empty(ctx, DP_INT64, DP_DEVICE_CPU, 1, &total, DP_CONTIGUOUS, &made);
    if (rc < 0)
        return rc;
    DP_VIEW(y, made);
    int64_t *to = y.data;
    for (int64_t i = 0; i < x.numel; i++)
        for (int64_t j = 0; j < repeats[i]; j++)
            *to++ = i;
    rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", made, (int64_t)dtype, out);
    dp_tensor_unref(made);
    return rc;
}

/* aten::repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None) -> Tensor */
static int repeat_interleave(dp_ctx *ctx, dp_tensor *repeats, const int64_t *wanted,
                             dp_tensor **out)
{
    dp_tensor *wide;
    DP_VIEW(x, repeats);

    if (x.ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME, "repeat_interleave only accept 1D vector as repeat");
    if (x.dtype != DP_INT64 && x.dtype != DP_INT32)
        return dp_fail(ctx, DP_ERUNTIME, "repeats has to be Long or Int tensor");
    if (x.numel == 0)
        return dp_empty_like(ctx, repeats, DP_DTYPE_NONE, DP_PRESERVE, out);
    int rc = dp_empty(ctx, DP_INT64, DP_DEVICE_CPU, 1, x.sizes, DP_CONTIGUOUS, &wide);
    if (rc < 0)
        return rc;
    rc = dp_copy(ctx, wide, repeats);
    if (rc == 0)
        rc = interleave(ctx, wide, wanted, x.dtype, out);
    dp_tensor_unref(wide);
    return rc;
}

DP_LIBRARY_IMPL(aten, CPU,
                DP_IMPL_UNBOXED("repeat_interleave.Tensor", repeat_interleave, (T, oi), (T)))
