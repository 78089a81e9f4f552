/* text.c -- growable text, clocks and a hash. */
#include "base.h"
#include <stdio.h>
#include <time.h>

/* Make the capacity large enough for `more` bytes after the present text, and a NUL.  False: there
 * is no memory, or an earlier append failed. */
static bool reserve(dpi_text *t, size_t more)
{
    size_t need = t->len + more + 1, cap = t->cap ? t->cap : 64;

    if (t->failed || need <= t->cap)
        return !t->failed;
    while (cap < need)
        cap *= 2;
    char *s = dp_realloc(t->s, cap);
    if (s == NULL) {
        t->failed = true;
        return false;
    }
    t->s = s;
    t->cap = cap;
    return true;
}

void dpi_text_addn(dpi_text *t, const char *s, size_t n)
{
    if (!reserve(t, n))
        return;
    memcpy(t->s + t->len, s, n);
    t->len += n;
    t->s[t->len] = '\0';
}

void dpi_text_add(dpi_text *t, const char *s)
{
    dpi_text_addn(t, s, strlen(s));
}

void dpi_text_printf(dpi_text *t, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    int n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    if (n < 0)
        t->failed = true;
    else if (reserve(t, (size_t)n)) {
        va_start(ap, format);
        vsnprintf(t->s + t->len, (size_t)n + 1, format, ap);
        va_end(ap);
        t->len += (size_t)n;
    }
}

void dpi_text_fini(dpi_text *t)
{
    dp_free(t->s);
    *t = (dpi_text){0};
}

static uint64_t read_clock(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

struct timespec dpi_time_after(int ms)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000L;
    if (t.tv_nsec >= 1000000000L) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000L;
    }
    return t;
}

uint64_t dpi_nanos(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t dpi_nanos_about(void)
{
    return read_clock(CLOCK_MONOTONIC_COARSE);
}

/* Hash eight bytes at a time.  The last step mixes high bits into the low bits, which hash tables
 * use as index. */
uint64_t dpi_hash(const char *s, size_t n)
{
    uint64_t h = n * 0x9e3779b97f4a7c15u, word;

    for (; n >= 8; n -= 8, s += 8) {
        memcpy(&word, s, 8);
        h = (h ^ word) * 0x9fb21c651e98df25u;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, s, n);
    h = (h ^ word) * 0x9fb21c651e98df25u;
    return h ^ h >> 29;
}
