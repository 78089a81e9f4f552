/* dims.h -- checks of dimensions, shapes and arange's arguments, and conversions of Scalars, as in
 * PyTorch, for aten's kernels in any plugin. */
#ifndef PLUGINS_DIMS_H
#define PLUGINS_DIMS_H

#include <dispatchd/plugin.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Convert a real Scalar (int, double or bool) to a double. */
__attribute__((unused)) static double as_double(dp_value v)
{
    return v.tag == DP_TAG_DOUBLE ? v.u.d : v.tag == DP_TAG_BOOL ? v.u.b : (double)v.u.i;
}

/* Convert a real Scalar to an integer.  A double is truncated; if it does not fit, the result is
 * INT64_MIN. */
__attribute__((unused)) static int64_t as_int(dp_value v)
{
    double d = as_double(v);
    return v.tag == DP_TAG_INT ? v.u.i : fabs(d) < 0x1p63 ? (int64_t)d : INT64_MIN;
}

/* Convert `d` to the floating-point type `dtype`, which rounds it, and back to double. */
__attribute__((unused)) static double as_stored(double d, dp_dtype dtype)
{
    char stored[sizeof(double)];

    dp_converter(dtype, DP_FLOAT64)(stored, sizeof(stored), (const char *)&d, sizeof(d), 1);
    dp_converter(DP_FLOAT64, dtype)((char *)&d, sizeof(d), stored, sizeof(stored), 1);
    return d;
}

/* Fail if `n` is more dimensions than a tensor may have. */
__attribute__((unused)) static int check_ndim(dp_ctx *ctx, size_t n)
{
    if (n <= DP_DIM_MAX)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "a tensor has at most %d dimensions, not %zu", DP_DIM_MAX, n);
}

/* Wrap `*dim`, which may be negative, into [0, ndim).  A 0-dim tensor counts as having one
 * dimension.  DP_EINDEX: out of range.  Source: c10::maybe_wrap_dim. */
__attribute__((unused)) static int wrap_dim(dp_ctx *ctx, int64_t *dim, int64_t ndim)
{
    int64_t n = ndim > 0 ? ndim : 1;

    if (*dim < -n || *dim >= n)
        return dp_fail(ctx, DP_EINDEX,
                       "Dimension out of range (expected to be in range of [%" PRId64 ", %" PRId64
                       "], but got %" PRId64 ")",
                       -n, n - 1, *dim);
    *dim += *dim < 0 ? n : 0;
    return 0;
}

/* Fail if a tensor with `ndim` dimensions cannot have the memory format `format`: channels_last
 * needs 4 dimensions, channels_last_3d needs 5. */
__attribute__((unused)) static int check_format(dp_ctx *ctx, int64_t format, int ndim)
{
    int rank = format == DP_CHANNELS_LAST ? 4 : format == DP_CHANNELS_LAST_3D ? 5 : ndim;

    if (ndim != rank)
        return dp_fail(ctx, DP_ERUNTIME, "required rank %d tensor to use channels_last%s format",
                       rank, rank == 5 ? "_3d" : "");
    return 0;
}

/* Copy `n` sizes to `out`; one of them may be -1, and becomes the size with which the shape has
 * `numel` elements.  DP_ERUNTIME: there is no such size, or the shape has another number of
 * elements.  Source: at::infer_size. */
__attribute__((unused)) static int infer_size(dp_ctx *ctx, int64_t numel, const int64_t *sizes,
                                              size_t n, int64_t *out)
{
    char text[DP_SHAPE_TEXT];
    int64_t known = 1, inferred = -1;
    int rc = check_ndim(ctx, n);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < n; i++) {
        out[i] = sizes[i];
        if (sizes[i] == -1 && inferred >= 0)
            return dp_fail(ctx, DP_ERUNTIME, "only one dimension can be inferred");
        if (sizes[i] < -1)
            return dp_fail(ctx, DP_ERUNTIME, "invalid shape dimension %" PRId64, sizes[i]);
        if (sizes[i] == -1)
            inferred = (int64_t)i;
        else if (__builtin_mul_overflow(known, sizes[i], &known))
            known = -1;
    }
    if (inferred >= 0 && known == 0 && numel == 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "cannot reshape tensor of 0 elements into shape %s because the unspecified "
                       "dimension size -1 can be any value and is ambiguous",
                       dp_shape_text(text, sizes, n));
    if (inferred >= 0 && known > 0 && numel % known == 0)
        out[inferred] = numel / known;
    else if (inferred >= 0 || known != numel)
        return dp_fail(ctx, DP_ERUNTIME, "shape '%s' is invalid for input of size %" PRId64,
                       dp_shape_text(text, sizes, n), numel);
    return 0;
}

/* Set `*count` to the number of values of arange(start, end, step) for a result of type `dtype`.
 * For int64 the number is computed with integers.  DP_ERUNTIME: PyTorch refuses the arguments.
 * Source: at::native::arange_out. */
__attribute__((unused)) static int count_range(dp_ctx *ctx, dp_value start, dp_value end,
                                               dp_value step, dp_dtype dtype, int64_t *count)
{
    if (start.tag == DP_TAG_COMPLEX || end.tag == DP_TAG_COMPLEX || step.tag == DP_TAG_COMPLEX)
        return dp_fail(ctx, DP_ERUNTIME, "arange takes no complex numbers");
    double from = as_double(start), to = as_double(end), by = as_double(step);
    double n = ceil((to - from) / by);
    bool integral = dp_dtype_is_integral(dtype, true), empty = from == to, up = from < to;

    if (by == 0 || isnan(by) || (integral && as_int(step) == 0))
        return dp_fail(ctx, DP_ERUNTIME, "step must be nonzero");
    if (!isfinite(from) || !isfinite(to))
        return dp_fail(ctx, DP_ERUNTIME, "unsupported range: %g -> %g", from, to);
    if (integral && (isinf(by) || (start.tag == DP_TAG_DOUBLE && fabs(from) >= 0x1p63) ||
                     (end.tag == DP_TAG_DOUBLE && fabs(to) >= 0x1p63)))
        return dp_fail(ctx, DP_ERUNTIME,
                       "value cannot be converted to type int64_t without overflow");
    if (integral) { /* start and end are compared without their fractions */
        empty = as_int(start) == as_int(end);
        up = as_int(start) < as_int(end);
    }
    if (!empty && up != (by > 0))
        return dp_fail(ctx, DP_ERUNTIME,
                       "upper bound and larger bound inconsistent with step sign");
    if (n >= 0x1p62)
        return dp_fail(ctx, DP_ERUNTIME, "invalid size, possible overflow?");
    *count = (int64_t)n;
    if (dtype == DP_INT64) {
        __int128 each = as_int(step), span = (__int128)as_int(end) - as_int(start);
        *count = (int64_t)((span + each + (each > 0 ? -1 : 1)) / each);
    }
    return 0;
}

#endif
