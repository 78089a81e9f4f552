/* ask.h -- what the files that answer questions about the registry share: info, dump, explain. */
#ifndef DPI_ASK_H
#define DPI_ASK_H

#include "dispatch/call/find.h"
#include "dispatch/registry/answer.h"

static inline bool dpi_same_cell(dpi_cell a, dpi_cell b)
{
    return a.kernel == b.kernel && a.provenance == b.provenance;
}

/* Defined, or at least one kernel. */
bool dpi_op_alive(const dp_op *op);

#endif
