/* ask.h -- declarations shared by the queries about the registry: info, dump, explain, check. */
#ifndef DPI_ASK_H
#define DPI_ASK_H

#include "dispatch/call/find.h"
#include "dispatch/registry/answer.h"

static inline bool dpi_same_cell(dpi_cell a, dpi_cell b)
{
    return a.kernel == b.kernel && a.provenance == b.provenance;
}

/* Does the operator have a schema or at least one kernel?  (info.c) */
bool dpi_op_alive(const dp_op *op);

#endif
