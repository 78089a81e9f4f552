/* state.h -- dispatcher state of a request: key sets to include and exclude, and its mode. */
#ifndef DPI_STATE_H
#define DPI_STATE_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

/* Dispatcher state: of the request, or inside of a guard.  64 bytes: depths are shifts then. */
typedef struct dpi_state {
    dp_keyset include, exclude;
    const dp_mode *mode; /* the context's own, or modes[n_modes - 1] */
    uint64_t n_modes;    /* of dp_ctx.modes, in use */
    uint64_t unused[2];
} dpi_state;
_Static_assert(sizeof(dpi_state) == 64, "a power of 2");

void dpi_ctx_watch(dp_ctx *ctx);   /* sets ctx->watched */
void dpi_state_reset(dp_ctx *ctx); /* to the defaults, no guard open */
void dpi_state_fini(dp_ctx *ctx);

#pragma GCC visibility pop

#endif
