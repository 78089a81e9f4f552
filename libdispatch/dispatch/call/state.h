/* state.h -- dispatcher state of a request: key sets to include and exclude, and its mode. */
#ifndef DPI_STATE_H
#define DPI_STATE_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

/* The dispatcher state of a request, or of an open guard (dp_guard_enter()).  The struct has 64
 * bytes, so that indexing is a shift. */
typedef struct dpi_state {
    dp_keyset include, exclude;
    const dp_mode *mode; /* &ctx->mode, or modes[n_modes - 1] */
    uint64_t n_modes;    /* number of elements of dp_ctx.modes in use */
    uint64_t unused[2];
} dpi_state;
_Static_assert(sizeof(dpi_state) == 64, "a power of 2");

void dpi_ctx_watch(dp_ctx *ctx);   /* update ctx->watched and ctx->no_fast_path */
void dpi_state_reset(dp_ctx *ctx); /* set the defaults; no guard is open */
void dpi_state_fini(dp_ctx *ctx);
/* Enter a guard, as dp_guard_mode(), whose state is this and not a change of the current state.
 * Only key Fake stays included if it is: what has no memory stays so. */
int dpi_guard_state(dp_ctx *ctx, dp_keyset include, dp_keyset exclude, const dp_mode *mode);

#pragma GCC visibility pop

#endif
