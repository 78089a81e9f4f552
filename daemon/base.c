/* base.c -- the tables of limits, the monotonic clock, and helpers for growable arrays. */
#include "daemon.h"
#include <time.h>

#define DEFAULT_(NAME, name, value) [LIMIT_AT_##NAME] = (value),
const int64_t limit_defaults[LIMITS] = {LIMIT_MAP(DEFAULT_)};
atomic_int_fast64_t limits_in_force[LIMITS] = {LIMIT_MAP(DEFAULT_)};
#undef DEFAULT_
#define NAME_(NAME, name, value) #name,
const char *const limit_names[LIMITS] = {LIMIT_MAP(NAME_)};
#undef NAME_
#define LIBRARY_(NAME, name, value) {#name, DP_LIMIT_##NAME},
const library_limit library_limits[LIBRARY_LIMITS] = {DP_LIMIT_MAP(LIBRARY_)
                                                          DP_PROGRAM_LIMIT_MAP(LIBRARY_)};
#undef LIBRARY_

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
    void *p = dp_realloc_n(array, more, item);
    if (p != NULL)
        *cap = more;
    return p;
}

void *array_find(const void *array, size_t n, size_t item, uint64_t id)
{
    const char *items = array;
    size_t low = 0, high = n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        uint64_t at = *(const uint64_t *)(items + mid * item);
        if (at == id)
            return (void *)(uintptr_t)(items + mid * item);
        if (at < id)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}
