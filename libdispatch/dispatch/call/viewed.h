/* viewed.h -- returns that are views of arguments (viewed.c). */
#ifndef DPI_VIEWED_H
#define DPI_VIEWED_H

#include "dispatch/registry/entry.h"

#pragma GCC visibility push(hidden)

/* After a kernel of an entry that `views`: its returns, settled, join what they share memory with.
 * DP_ERESOURCE. */
int dpi_viewed_join(dp_ctx *ctx, const dpi_entry *e, const dp_value *args, dp_value *rets);

/* A kernel made *out of t, by a host function: with DP_FLAG_VIEWS it joins t now. */
void dpi_viewed_made(dp_ctx *ctx, dp_tensor *t, dp_tensor *out);

#pragma GCC visibility pop

#endif
