/* mem.c -- allocation in host memory, with failures that a test can inject.
 *
 * The memory is the C library's.  `countdown`, which dp_fault_arm() sets, is decreased by each
 * allocation, also by those from an arena.  While it is 0, it costs each allocation one relaxed
 * load.  An allocation of 0 bytes returns a pointer that is not NULL, so that NULL always means "no
 * memory".  Allocations of more than BYTES_MAX fail here, because the sanitizers' allocators would
 * end the process. */
#include "base.h"
#include <stdlib.h>

#define BYTES_MAX ((size_t)1 << 40)

static atomic_uint_fast64_t countdown; /* n: the n-th allocation from now fails; 0: none */
static atomic_bool hit;                /* an allocation failed since dp_fault_arm() */

void dp_fault_arm(uint64_t n)
{
    atomic_store(&hit, false);
    atomic_store(&countdown, n);
}

bool dp_fault_hit(void)
{
    return atomic_load(&hit);
}

bool dpi_fault(void)
{
    uint_fast64_t n = atomic_load_explicit(&countdown, memory_order_relaxed);

    while (DPI_UNLIKELY(n != 0))
        if (atomic_compare_exchange_weak(&countdown, &n, n - 1))
            break;
    if (DPI_LIKELY(n != 1))
        return false;
    atomic_store(&hit, true);
    return true;
}

DPI_HOT void *dp_malloc(size_t bytes)
{
    return dpi_fault() || bytes > BYTES_MAX ? NULL : malloc(bytes + !bytes);
}

void *dp_calloc(size_t n, size_t bytes)
{
    size_t total;

    if (dpi_fault() || __builtin_mul_overflow(n, bytes, &total) || total > BYTES_MAX)
        return NULL;
    return calloc(1, total + !total);
}

void *dp_realloc(void *p, size_t bytes)
{
    return dpi_fault() || bytes > BYTES_MAX ? NULL : realloc(p, bytes + !bytes);
}

char *dp_strdup(const char *s)
{
    size_t bytes = strlen(s) + 1;
    char *copy = dp_malloc(bytes);
    return copy ? memcpy(copy, s, bytes) : NULL;
}

DPI_HOT void dp_free(void *p)
{
    free(p);
}

void *dpi_grow(void *array, uint32_t *cap, uint32_t need, size_t item)
{
    uint32_t want = *cap ? *cap : 2;

    while (want < need)
        want *= 2;
    void *p = want == *cap ? array : dp_realloc_n(array, want, item);
    if (p != NULL)
        *cap = want;
    return p;
}
