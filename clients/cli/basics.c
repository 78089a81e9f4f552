/* basics.c -- memory, text and a clock for all files of dispatchctl; no memory ends it. */
#define _GNU_SOURCE /* vasprintf */
#include "cli.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void *need(void *p)
{
    if (p == NULL) {
        fprintf(stderr, "dispatchctl: out of memory\n");
        exit(CLI_NO_CONNECTION);
    }
    return p;
}

void *grown(void *array, size_t n, size_t bytes)
{
    return (n & (n - 1)) == 0 ? need(realloc(array, (2 * n + 1) * bytes)) : array;
}

double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

char *text_printf(const char *format, ...)
{
    va_list ap;
    char *s = NULL;

    va_start(ap, format);
    int n = vasprintf(&s, format, ap);
    va_end(ap);
    return need(n < 0 ? NULL : s);
}
