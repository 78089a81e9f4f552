/* answer.h -- copies the answer to a question about the registry into the caller's arena.
 *
 * An answer holds copies only, because the plugin whose data it was made from may be unloaded at
 * any time. */
#ifndef DPI_ANSWER_H
#define DPI_ANSWER_H

#include "entry.h"

#pragma GCC visibility push(hidden)

/* An arena, and whether any allocation from it failed.  An answer is built by many small
 * allocations; the caller checks `failed` once, when the answer is complete. */
typedef struct dpi_answer {
    dp_arena *arena; /* the caller's */
    bool failed;     /* some allocation found no memory */
} dpi_answer;
/* Allocate `n` elements of `bytes` bytes each, filled with zeros.  NULL: no memory. */
void *dpi_answer_alloc(dpi_answer *a, size_t n, size_t bytes);
/* Copy string `s`; the copy of NULL is NULL. */
const char *dpi_answer_str(dpi_answer *a, const char *s);
/* Format a string; it is cut off after 1023 bytes. */
const char *dpi_answer_printf(dpi_answer *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Describe the origin of a registration: `file`:`line` of the plugin that `gen` belongs to.  `gen`
 * NULL: return {0}. */
dp_provenance dpi_answer_from(dpi_answer *a, const dpi_generation *gen, const char *file,
                              uint32_t line);
/* Describe the origin of the kernel in table cell `c`.  If the key falls through by the
 * dispatcher's own rule, the origin is "(built in)"; for any other cell without a kernel, return
 * {0}. */
dp_provenance dpi_answer_cell(dpi_answer *a, dpi_cell c);

#pragma GCC visibility pop

#endif
