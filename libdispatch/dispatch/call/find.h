/* find.h -- operators by name in a snapshot. */
#ifndef DPI_FIND_H
#define DPI_FIND_H

#include "dispatch/registry/snapshot.h"

#pragma GCC visibility push(hidden)

/* The overloads of a base name (n bytes of `base`), in the order of definition: how many there are;
 * at most cap of them go to out. */
size_t dpi_overloads(const dpi_snapshot *s, const char *base, size_t n, const dpi_entry **out,
                     size_t cap);
/* DP_ENOTFOUND for a name the snapshot does not have: its overloads, or the nearest names. */
int dpi_no_operator(const dpi_snapshot *s, const char *name, dp_error *err);
/* The code of a call of NULL, which is what dp_op_find() gave: its error stands. */
int dpi_fail_no_op(dp_ctx *ctx);

#pragma GCC visibility pop

#endif
