/* dispatchd/sizes.h -- products and sums of sizes that do not wrap, and sizes as text; for the host
 * and for plugins.
 *
 * All code computes numbers that follow from sizes (elements, bytes, steps of a loop) with these
 * functions.  A result that does not fit is UINT64_MAX, which is over every limit. */
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

/* Return each * sizes[0] * ...  * sizes[n - 1], or UINT64_MAX.  The product is 0 when any size is
 * 0, even if the product of the others does not fit.  A negative size counts as a very large
 * one. */
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

/* dp_copy_n(), dp_move_n() and dp_zero_n() are memcpy, memmove, and memset to zero, for `n` items
 * of `each` bytes.  Since the arrays exist, n * each fits in size_t.  If it does not, `n` is wrong,
 * which is a bug: the process is ended before anything is written. */
static inline void dp_copy_n(void *to, const void *from, size_t n, size_t each)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, each, &bytes))
        __builtin_trap();
    if (bytes > 0) /* C forbids memcpy() from NULL, of 0 bytes too */
        memcpy(to, from, bytes);
}

static inline void dp_move_n(void *to, const void *from, size_t n, size_t each)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, each, &bytes))
        __builtin_trap();
    if (bytes > 0)
        memmove(to, from, bytes);
}

static inline void dp_zero_n(void *to, size_t n, size_t each)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, each, &bytes))
        __builtin_trap();
    if (bytes > 0)
        memset(to, 0, bytes);
}

enum { DP_SHAPE_TEXT = 512 }; /* bytes of printed sizes; longer texts are cut */

/* Write sizes [n] as "[2, 3]" into buf [DP_SHAPE_TEXT] and return `buf`. */
static inline const char *dp_shape_text(char *buf, const int64_t *sizes, size_t n)
{
    /* if `at` is below LAST, one more size and ", ...]" fit */
    enum { LAST = DP_SHAPE_TEXT - 32 };
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
