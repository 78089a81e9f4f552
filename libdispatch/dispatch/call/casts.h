/* casts.h -- the cast cache of a context: what autocast cast before, for a second use of the same
 * parameter (at::autocast's cached_casts).
 *
 * An element is found by the tensor's id, the storage, geometry and version that the tensor had,
 * the dtype of the result, and whether gradients were recorded: what was cast without a history
 * must not stand for what needs one. */
#ifndef DPI_CASTS_H
#define DPI_CASTS_H

#include "ctx.h"

#pragma GCC visibility push(hidden)

enum {
    DPI_CASTS = 256
}; /* elements of the cache; a power of 2; a newer cast replaces an older one */

typedef struct dpi_cast_key {
    uint64_t tensor, storage, version;
    const void *geometry; /* only compared */
    int64_t offset;
    dp_dtype dtype;
    bool no_grad;
} dpi_cast_key;

dpi_cast_key dpi_cast_key_of(const dp_tensor *t, dp_dtype to, bool no_grad);
/* Return the result that was kept for `k`, borrowed; NULL: there is none. */
dp_tensor *dpi_casts_find(const dp_ctx *ctx, const dpi_cast_key *k);
/* Keep `cast` for `k` and take a reference.  Without memory nothing is kept. */
void dpi_casts_keep(dp_ctx *ctx, const dpi_cast_key *k, dp_tensor *cast);
void dpi_casts_drop(dp_ctx *ctx); /* release all that is kept */
static inline void dpi_casts_clear(dp_ctx *ctx)
{
    if (DPI_UNLIKELY(ctx->casts != NULL))
        dpi_casts_drop(ctx);
}

#pragma GCC visibility pop

#endif
