/* failure.h -- how a tool of this folder prints what failed: below the heading of the test, one
 * line each. */
#ifndef FAILURE_H
#define FAILURE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/* The first failure of a test (*failed is false) prints the heading, by print_heading(test). */
__attribute__((format(printf, 4, 0))) static inline void
failure_print(bool *failed, void (*print_heading)(const void *test), const void *test,
              const char *format, va_list ap)
{
    if (!*failed)
        print_heading(test);
    *failed = true;
    printf("  ");
    vprintf(format, ap);
    printf("\n");
}

#endif
