/* chain.h -- a composite as a chain of calls: each step's result is the chain's, and goes with it.
 *
 *     chain c = {ctx};
 *     dp_tensor *size = chain_T(&c, "aten::abs", self);
 *     return chain_end(&c, chain_Ts(&c, "aten::eq.Scalar", size, dp_double(INFINITY)), out);
 *
 * After a step that failed all others do nothing and return NULL; chain_end() returns its code. */
#ifndef COMPOSITE_CHAIN_H
#define COMPOSITE_CHAIN_H

#include "composite.h"

enum { CHAIN_MAX = 24 }; /* steps */

typedef struct chain {
    dp_ctx *ctx;
    int rc, n;
    dp_tensor *made[CHAIN_MAX];
} chain;

/* One step, by the letters of its arguments: tensors (T), Scalars (s). */
dp_tensor *chain_T(chain *c, const char *op, dp_tensor *a);
dp_tensor *chain_TT(chain *c, const char *op, dp_tensor *a, dp_tensor *b);
dp_tensor *chain_Ts(chain *c, const char *op, dp_tensor *a, dp_value b);
dp_tensor *chain_sT(chain *c, const char *op, dp_value a, dp_tensor *b);
/* A tensor that was made by hand becomes the chain's; returns it. */
dp_tensor *chain_keep(chain *c, dp_tensor *t);
/* By a loss's `reduction`: 0 t itself, 1 its mean, 2 its sum. */
dp_tensor *chain_reduced(chain *c, dp_tensor *t, int64_t reduction);
/* Release what the chain made, but for `result`, which becomes *out. */
int chain_end(chain *c, dp_tensor *result, dp_tensor **out);

#endif
