/* base.c -- the clock, and arrays that grow. */
#include "daemon.h"
#include <time.h>

uint64_t nanos(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void *array_grow(void *array, size_t n, size_t *cap, size_t item)
{
    if (n < *cap)
        return array;
    size_t more = *cap > 0 ? 2 * *cap : 4;
    void *p = dp_realloc(array, more * item);
    if (p != NULL)
        *cap = more;
    return p;
}
