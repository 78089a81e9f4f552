/* stack.c -- where the calling thread's stack ends. */
#define _GNU_SOURCE
#include "base.h"
#include <pthread.h>

enum { FAR = 1 << 26 }; /* larger stacks than this are not looked through */

static _Thread_local uintptr_t lowest; /* of the thread's stack; 0: not asked yet */

static uintptr_t ask(void)
{
    pthread_attr_t attr;
    void *low = NULL;
    size_t bytes;

    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return UINTPTR_MAX;
    if (pthread_attr_getstack(&attr, &low, &bytes) != 0)
        low = NULL;
    pthread_attr_destroy(&attr);
    return low != NULL ? (uintptr_t)low : UINTPTR_MAX;
}

bool dpi_stack_left(const void *p, const void *frame)
{
    if ((uintptr_t)p >= (uintptr_t)frame || (uintptr_t)frame - (uintptr_t)p > FAR)
        return false;
    if (lowest == 0)
        lowest = ask();
    return (uintptr_t)p >= lowest;
}
