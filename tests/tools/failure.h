/* failure.h -- output of failures for the tools of this folder: the heading of the test, and below
 * it a line per failure. */
#ifndef FAILURE_H
#define FAILURE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/* Print a failure of `test`, a printf-like message.  If it is the test's first failure (*failed is
 * false), print the heading before it, with print_heading(test), and set *failed. */
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
