/* nonzero.h -- the search for elements that are not 0, which nonzero and masked_select share. */
#ifndef CPU_NONZERO_H
#define CPU_NONZERO_H

#include "core/elements.h"

enum { NZ_FLAGS = 1024 };

/* Receives found elements: `first` + places [n] are their indices in row-major order, all from one
 * block; they are the results from index `to` on. */
typedef void (*nz_found_fn)(const void *user, int64_t to, int64_t first, const int32_t *places,
                            int64_t n);

typedef struct nz_search {
    dp_dtype dtype;
    const char *data; /* contiguous */
    int64_t size, n, piece;
    int64_t *before; /* [pieces + 1] results before each piece, then the number of all results */
    nz_found_fn found;
    const void *user;
} nz_search;

/* Count the nonzero elements of the contiguous tensor `t`, and set up `s`. */
int nz_count(dp_ctx *ctx, dp_tensor *t, nz_search *s, int64_t *total);
/* Call `found` for all nonzero elements. */
int nz_find(dp_ctx *ctx, nz_search *s, nz_found_fn found, const void *user);

#endif
