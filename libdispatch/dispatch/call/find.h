/* find.h -- finds operators by name in a snapshot of the registry. */
#ifndef DPI_FIND_H
#define DPI_FIND_H

#include "dispatch/registry/snapshot.h"

#pragma GCC visibility push(hidden)

/* Write the overloads of a base name (n bytes of `base`) to `out`, in the order of definition, but
 * at most `cap` of them.  Return the number of all overloads. */
size_t dpi_overloads(const dpi_snapshot *s, const char *base, size_t n, const dpi_entry **out,
                     size_t cap);
/* Fail with DP_ENOTFOUND for a name that is not in the snapshot; the error lists its overloads or
 * the nearest names. */
int dpi_no_operator(const dpi_snapshot *s, const char *name, dp_error *err);
/* Fail a call whose operator is NULL.  If the context has an error, as after a failed dp_op_find(),
 * keep that error. */
int dpi_fail_no_op(dp_ctx *ctx);

#pragma GCC visibility pop

#endif
