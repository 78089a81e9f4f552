/* dispatchd/sizes.h -- what sizes multiply to, and how they are printed; for host and plugins
 * alike.
 *
 * Every count that follows from sizes (elements, bytes, brackets, steps of a loop) is made here, so
 * that none wraps.  What does not fit is UINT64_MAX, which is over every limit. */
#ifndef DISPATCHD_SIZES_H
#define DISPATCHD_SIZES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline uint64_t dp_size_times(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static inline uint64_t dp_size_plus(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* each * sizes[0] * ... * sizes[n - 1]; 0 when one of them is, however large the others are.
 * A negative size is a large one. */
static inline uint64_t dp_sizes_product(uint64_t each, const int64_t *sizes, size_t n)
{
    uint64_t product = each;

    for (size_t i = 0; i < n; i++)
        if (sizes[i] == 0)
            return 0;
    for (size_t i = 0; i < n; i++)
        product = dp_size_times(product, (uint64_t)sizes[i]);
    return product;
}

/* memcpy, memmove and memset to zero of n items of `each` bytes.  The arrays exist, so their bytes
 * can be counted: an n that cannot be theirs ends the process at once instead of writing a part of
 * them. */
static inline void dp_copy_n(void *to, const void *from, size_t n, size_t each)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, each, &bytes))
        __builtin_trap();
    memcpy(to, from, bytes);
}

static inline void dp_move_n(void *to, const void *from, size_t n, size_t each)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, each, &bytes))
        __builtin_trap();
    memmove(to, from, bytes);
}

static inline void dp_zero_n(void *to, size_t n, size_t each)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, each, &bytes))
        __builtin_trap();
    memset(to, 0, bytes);
}

enum { DP_SHAPE_TEXT = 512 }; /* bytes of printed sizes; longer ones are cut */

/* "[2, 3]" into buf [DP_SHAPE_TEXT]; returns buf. */
static inline const char *dp_shape_text(char *buf, const int64_t *sizes, size_t n)
{
    enum { LAST = DP_SHAPE_TEXT - 32 }; /* what stands behind it has room for one more */
    size_t at = (size_t)snprintf(buf, DP_SHAPE_TEXT, "["), i = 0;

    for (; i < n && at < LAST; i++)
        at += (size_t)snprintf(buf + at, DP_SHAPE_TEXT - at, "%s%lld", i ? ", " : "",
                               (long long)sizes[i]);
    snprintf(buf + at, DP_SHAPE_TEXT - at, "%s]", i < n ? ", ..." : "");
    return buf;
}

#ifdef __cplusplus
}
#endif

#endif
