/* stack.c -- where the calling thread's stack ends. */
#define _GNU_SOURCE
#include "base.h"
#include <pthread.h>

enum { FAR = 1 << 26 }; /* larger stacks than this are not looked through */

enum { KERNEL_BYTES = 256 << 10 }; /* of the stack, which a kernel finds left */

static _Thread_local uintptr_t lowest; /* of the thread's stack; 0: not asked yet */

/* *bytes: how large the stack is. */
static uintptr_t ask(size_t *bytes)
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

    if ((uintptr_t)p >= (uintptr_t)frame || (uintptr_t)frame - (uintptr_t)p > FAR)
        return false;
    if (lowest == 0)
        lowest = ask(&bytes);
    return (uintptr_t)p >= lowest;
}

uintptr_t dpi_stack_floor(void)
{
    size_t bytes = 0;

    lowest = ask(&bytes);
    if (lowest == UINTPTR_MAX)
        return 0;
    return lowest + (bytes / 4 < KERNEL_BYTES ? bytes / 4 : KERNEL_BYTES);
}
