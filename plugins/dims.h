/* dims.h -- dimensions as PyTorch counts and prints them; for aten's kernels in any plugin. */
#ifndef PLUGINS_DIMS_H
#define PLUGINS_DIMS_H

#include <dispatchd/plugin.h>
#include <inttypes.h>
#include <stdio.h>

enum { SHAPE_TEXT = 512 }; /* bytes; longer ones are cut */

/* "[2, 3]" into buf [SHAPE_TEXT]; returns buf. */
__attribute__((unused)) static const char *shape_text(char *buf, const int64_t *sizes, size_t n)
{
    size_t at = (size_t)snprintf(buf, SHAPE_TEXT, "[");

    for (size_t i = 0; i < n && at < SHAPE_TEXT; i++)
        at += (size_t)snprintf(buf + at, SHAPE_TEXT - at, "%s%" PRId64, i ? ", " : "", sizes[i]);
    if (at < SHAPE_TEXT)
        snprintf(buf + at, SHAPE_TEXT - at, "]");
    return buf;
}

/* *dim, which may count from the end, into [0, ndim); a 0-dim tensor counts as having one.
 * Source: c10::maybe_wrap_dim. */
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

/* channels_last is of 4 dimensions, channels_last_3d of 5. */
__attribute__((unused)) static int check_format(dp_ctx *ctx, int64_t format, int ndim)
{
    int rank = format == DP_CHANNELS_LAST ? 4 : format == DP_CHANNELS_LAST_3D ? 5 : ndim;

    if (ndim != rank)
        return dp_fail(ctx, DP_ERUNTIME, "required rank %d tensor to use channels_last%s format",
                       rank, rank == 5 ? "_3d" : "");
    return 0;
}

/* Sizes for `numel` elements with the one -1 filled in; out [n].  Source: at::infer_size. */
__attribute__((unused)) static int infer_size(dp_ctx *ctx, int64_t numel, const int64_t *sizes,
                                              size_t n, int64_t *out)
{
    char text[SHAPE_TEXT];
    int64_t known = 1, hole = -1;

    if (n > DP_DIM_MAX)
        return dp_fail(ctx, DP_ERUNTIME, "a tensor has at most %d dimensions, not %zu", DP_DIM_MAX,
                       n);
    for (size_t i = 0; i < n; i++) {
        out[i] = sizes[i];
        if (sizes[i] == -1 && hole >= 0)
            return dp_fail(ctx, DP_ERUNTIME, "only one dimension can be inferred");
        if (sizes[i] < -1)
            return dp_fail(ctx, DP_ERUNTIME, "invalid shape dimension %" PRId64, sizes[i]);
        if (sizes[i] == -1)
            hole = (int64_t)i;
        else if (__builtin_mul_overflow(known, sizes[i], &known))
            known = -1;
    }
    if (hole >= 0 && known == 0 && numel == 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "cannot reshape tensor of 0 elements into shape %s because the unspecified "
                       "dimension size -1 can be any value and is ambiguous",
                       shape_text(text, sizes, n));
    if (hole >= 0 && known > 0 && numel % known == 0)
        out[hole] = numel / known;
    else if (hole >= 0 || known != numel)
        return dp_fail(ctx, DP_ERUNTIME, "shape '%s' is invalid for input of size %" PRId64,
                       shape_text(text, sizes, n), numel);
    return 0;
}

#endif
