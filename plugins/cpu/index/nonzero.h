/* nonzero.h -- the search for elements that are not 0, which nonzero and masked_select share. */
#ifndef CPU_NONZERO_H
#define CPU_NONZERO_H

#include "core/elements.h"

enum { NZ_FLAGS = 1024 };

/* places [n] of elements from number `first` on, all of one block, are the results `to` and
 * following. */
typedef void (*nz_found_fn)(const void *user, int64_t to, int64_t first, const int32_t *places,
                            int64_t n);

typedef struct nz_search {
    dp_dtype dtype;
    const char *data; /* packed */
    int64_t size, n, piece;
    int64_t *before; /* of each piece, and of what follows the last: how many come first */
    nz_found_fn found;
    const void *user;
} nz_search;

/* Count the elements of t, which is contiguous, that are not 0, and set up `s`. */
int nz_count(dp_ctx *ctx, dp_tensor *t, nz_search *s, int64_t *total);
/* Call `found` for all of them. */
int nz_find(dp_ctx *ctx, nz_search *s, nz_found_fn found, const void *user);

#endif
