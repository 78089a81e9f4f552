/* stack.c -- the bounds of the calling thread's stack. */
#define _GNU_SOURCE
#include "base.h"
#include <pthread.h>

enum { SEARCH_BYTES = 1 << 26 };   /* pointers farther below a frame are not recognised */
enum { KERNEL_BYTES = 256 << 10 }; /* stack that must be free for a kernel */

/* lowest address of the stack; 0: not queried yet; UINTPTR_MAX: unknown */
static _Thread_local uintptr_t lowest;

/* Return the lowest address of the thread's stack; `*bytes` gets its size.  UINTPTR_MAX:
 * unknown. */
static uintptr_t query_stack(size_t *bytes)
{
    pthread_attr_t attr;
    void *low = NULL;

    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return UINTPTR_MAX;
    if (pthread_attr_getstack(&attr, &low, bytes) != 0)
        low = NULL;
    pthread_attr_destroy(&attr);
    return low != NULL ? (uintptr_t)low : UINTPTR_MAX;
}

bool dpi_stack_left(const void *p, const void *frame)
{
    size_t bytes;

    if ((uintptr_t)p >= (uintptr_t)frame || (uintptr_t)frame - (uintptr_t)p > SEARCH_BYTES)
        return false;
    if (lowest == 0)
        lowest = query_stack(&bytes);
    return (uintptr_t)p >= lowest;
}

uintptr_t dpi_stack_floor(void)
{
    size_t bytes = 0;

    lowest = query_stack(&bytes);
    if (lowest == UINTPTR_MAX)
        return 0;
    return lowest + (bytes / 4 < KERNEL_BYTES ? bytes / 4 : KERNEL_BYTES);
}
