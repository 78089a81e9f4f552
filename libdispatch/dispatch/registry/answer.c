/* answer.c -- builds an answer by many small allocations in the caller's arena. */
#include "answer.h"
#include <stdio.h>

void *dpi_answer_alloc(dpi_answer *a, size_t n, size_t bytes)
{
    void *p = dp_arena_alloc_n(a->arena, n, bytes);

    if (p == NULL)
        a->failed = true;
    else
        dp_zero_n(p, n, bytes);
    return p;
}

const char *dpi_answer_str(dpi_answer *a, const char *s)
{
    if (s == NULL)
        return NULL;
    char *copy = dp_arena_dup(a->arena, s, strlen(s) + 1);
    a->failed |= copy == NULL;
    return copy;
}

const char *dpi_answer_printf(dpi_answer *a, const char *format, ...)
{
    char line[1024];
    va_list ap;

    va_start(ap, format);
    vsnprintf(line, sizeof(line), format, ap);
    va_end(ap);
    return dpi_answer_str(a, line);
}

dp_provenance dpi_answer_from(dpi_answer *a, const dpi_generation *gen, const char *file,
                              uint32_t line)
{
    dp_provenance from = {0};

    if (gen == NULL)
        return from;
    from.plugin = dpi_answer_str(a, gen->plugin);
    from.generation = gen->number;
    from.file = dpi_answer_str(a, file);
    from.line = line;
    return from;
}

dp_provenance dpi_answer_cell(dpi_answer *a, dpi_cell c)
{
    static const dp_provenance host = {.plugin = "(built in)", .file = ""};
    static const dp_provenance nothing;

    if (c.kernel != NULL)
        return dpi_answer_from(a, c.kernel->gen, c.kernel->file, c.kernel->line);
    return c.provenance == DPI_P_FALLTHROUGH ? host : nothing;
}
