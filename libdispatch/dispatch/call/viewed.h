/* viewed.h -- returns that are views of arguments (viewed.c). */
#ifndef DPI_VIEWED_H
#define DPI_VIEWED_H

#include "dispatch/registry/entry.h"

#pragma GCC visibility push(hidden)

/* Join the returns of an entry with `views` with the arguments that they share memory with.  Call
 * after dpi_values_settle().  DP_ERESOURCE: no memory. */
int dpi_viewed_join(dp_ctx *ctx, const dpi_entry *e, const dp_value *args, dp_value *rets);

/* Join *out with `t`, after a host function made it as a view of `t`.  It does so only if the
 * running kernel has DP_FLAG_VIEWS. */
void dpi_viewed_made(dp_ctx *ctx, dp_tensor *t, dp_tensor *out);

#pragma GCC visibility pop

#endif
