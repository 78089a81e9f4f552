/* nonzero.h -- the search for elements that are not 0, which nonzero and masked_select share. */
#ifndef CPU_NONZERO_H
#define CPU_NONZERO_H

#include "core/elements.h"

enum { NZ_FLAGS = 1024 }; /* number of elements that are tested at a time */

/* A function that gets the indices of `n` nonzero elements, in row-major order: first + places[i],
 * for i in [0, n).  `to` is the number of nonzero elements before them. */
typedef void (*nz_found_fn)(const void *user, int64_t to, int64_t first, const int32_t *places,
                            int64_t n);

/* one search, whose elements are split into pieces for several threads */
typedef struct nz_search {
    dp_dtype dtype;
    const char *data;       /* contiguous elements */
    int64_t size, n, piece; /* bytes of an element; number of elements, in all and of a piece */
    int64_t *before; /* [pieces + 1] results before each piece, then the number of all results */
    nz_found_fn found;
    const void *user; /* argument of `found` */
} nz_search;

/* Set *total to the number of nonzero elements of the contiguous tensor `t`, and set up `s`. */
int nz_count(dp_ctx *ctx, dp_tensor *t, nz_search *s, int64_t *total);
/* Call `found` for all nonzero elements. */
int nz_find(dp_ctx *ctx, nz_search *s, nz_found_fn found, const void *user);

#endif
