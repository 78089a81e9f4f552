/* viewed.h -- returns that are views of arguments (viewed.c). */
#ifndef DPI_VIEWED_H
#define DPI_VIEWED_H

#include "dispatch/registry/entry.h"

#pragma GCC visibility push(hidden)

/* Join each return that is a view with the argument with which it shares memory: the return gets
 * the argument's version counter and root (dpi_tensor_join()).  Call this function if e->views is
 * true, after dpi_values_settle().  DP_ERESOURCE: no memory. */
int dpi_viewed_join(dp_ctx *ctx, const dpi_entry *e, const dp_value *args, dp_value *rets);

/* Join `out` with `t`, after a function of api.h made `out` as a view of `t`.  Do nothing unless
 * the running kernel has DP_FLAG_VIEWS and its operator returns just a view
 * (dpi_entry.views_one). */
void dpi_viewed_made(dp_ctx *ctx, dp_tensor *t, dp_tensor *out);

#pragma GCC visibility pop

#endif
