/* stack.c -- the bounds of the calling thread's stack. */
#define _GNU_SOURCE
#include "base.h"
#include <pthread.h>

enum { SEARCH_BYTES = 1 << 26 };   /* pointers farther below a frame are not recognised */
enum { KERNEL_BYTES = 256 << 10 }; /* stack that must be free for a kernel */

/* lowest address of the stack; 0: not queried yet; UINTPTR_MAX: unknown */
static _Thread_local uintptr_t lowest;
static _Thread_local size_t stack_bytes;

/* Set `lowest` and `stack_bytes`, at the thread's first call: the stack of a thread stays. */
static void query_stack(void)
{
    pthread_attr_t attr;
    void *low = NULL;

    if (lowest != 0)
        return;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        if (pthread_attr_getstack(&attr, &low, &stack_bytes) != 0)
            low = NULL;
        pthread_attr_destroy(&attr);
    }
    lowest = low != NULL ? (uintptr_t)low : UINTPTR_MAX;
}

bool dpi_stack_left(const void *p, const void *frame)
{
    if ((uintptr_t)p >= (uintptr_t)frame || (uintptr_t)frame - (uintptr_t)p > SEARCH_BYTES)
        return false;
    query_stack();
    return (uintptr_t)p >= lowest;
}

uintptr_t dpi_stack_floor(void)
{
    query_stack();
    if (lowest == UINTPTR_MAX)
        return 0;
    return lowest + (stack_bytes / 4 < KERNEL_BYTES ? stack_bytes / 4 : KERNEL_BYTES);
}
