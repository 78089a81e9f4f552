/* answer.h -- answers are copied into the asker's arena: what they are made from may be unloaded
 * the next moment. */
#ifndef DPI_ANSWER_H
#define DPI_ANSWER_H

#include "entry.h"

#pragma GCC visibility push(hidden)

/* An arena with a sticky failure: an answer is many small pieces and one check at its end. */
typedef struct dpi_answer {
    dp_arena *arena;
    bool failed;
} dpi_answer;
void *dpi_answer_alloc(dpi_answer *a, size_t n, size_t bytes); /* zeroed; NULL: no memory */
const char *dpi_answer_str(dpi_answer *a, const char *s);      /* NULL stays NULL */
const char *dpi_answer_printf(dpi_answer *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
dp_provenance dpi_answer_from(dpi_answer *a, const dpi_generation *gen, const char *file,
                              uint32_t line);
/* Where a cell's kernel comes from; the host itself for its fallthroughs, {0} for nothing. */
dp_provenance dpi_answer_cell(dpi_answer *a, dpi_cell c);

#pragma GCC visibility pop

#endif
