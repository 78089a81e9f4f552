/* sizes.c -- the error for sizes that exceed a limit in bytes. */
#include "base.h"

int dp_sizes_check(uint64_t bytes, uint64_t limit, const char *name, const int64_t *sizes, size_t n,
                   size_t each, dp_error *err)
{
    char shape[DP_SHAPE_TEXT], count[32] = "2^64 or more";

    if (bytes <= limit)
        return DP_OK;
    if (bytes != UINT64_MAX)
        snprintf(count, sizeof(count), "%llu", (unsigned long long)bytes);
    return dp_error_limit(
        dp_error_set(err, DP_ERESOURCE,
                     "sizes %s with items of %zu bytes come to %s bytes, the limit is %llu (%s)",
                     dp_shape_text(shape, sizes, n), each, count, (unsigned long long)limit, name),
        name, limit, bytes);
}
