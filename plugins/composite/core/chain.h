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

enum { CHAIN_MAX = 48 }; /* steps */

typedef struct chain {
    dp_ctx *ctx;
    int rc, n;
    dp_tensor *slot; /* where a call puts what becomes the chain's */
    dp_tensor *made[CHAIN_MAX];
} chain;

/* One step, by the letters of its arguments: tensors (T), Scalars (s).  One in place returns its
 * first argument. */
dp_tensor *chain_T(chain *c, const char *op, dp_tensor *a);
dp_tensor *chain_TT(chain *c, const char *op, dp_tensor *a, dp_tensor *b);
dp_tensor *chain_Ts(chain *c, const char *op, dp_tensor *a, dp_value b);
dp_tensor *chain_sT(chain *c, const char *op, dp_value a, dp_tensor *b);
/* A step in place that takes a Scalar, without a look at the operator's schema. */
dp_tensor *chain_Ts_(chain *c, const char *op, dp_tensor *t, dp_value v);
/* a + b, a - b and a * b */
static inline dp_tensor *chain_add(chain *c, dp_tensor *a, dp_tensor *b)
{
    return chain_TT(c, "aten::add.Tensor", a, b);
}
static inline dp_tensor *chain_sub(chain *c, dp_tensor *a, dp_tensor *b)
{
    return chain_TT(c, "aten::sub.Tensor", a, b);
}
static inline dp_tensor *chain_mul(chain *c, dp_tensor *a, dp_tensor *b)
{
    return chain_TT(c, "aten::mul.Tensor", a, b);
}
/* A step with any arguments and one Tensor returned, by its letters as for dp_invoke():
 *     CHAIN(&c, "aten::sum.dim_IntList", "Tolib>T", t, dims, n, (int)keepdim)
 * Tensors may be steps themselves. */
#define CHAIN(c, op, code, ...) chain_call(c, op, code, __VA_ARGS__, &(c)->slot)
dp_tensor *chain_call(chain *c, const char *op, const char *code, ...);
/* A tensor that was made by hand becomes the chain's; returns it. */
dp_tensor *chain_keep(chain *c, dp_tensor *t);
/* A tensor of the host, the chain's from now on, as one of `device`. */
dp_tensor *chain_move(chain *c, dp_tensor *host, dp_device device);
enum { REDUCTION_NONE, REDUCTION_MEAN, REDUCTION_SUM }; /* at::Reduction */
/* Reduce t, a loss, to its mean or its sum; any other `reduction` leaves t as it is. */
dp_tensor *chain_reduced(chain *c, dp_tensor *t, int64_t reduction);
/* Read t, a 0-dim tensor of bool; false where the chain has failed. */
bool chain_is_true(chain *c, dp_tensor *t);
/* Fails the chain, unless it has failed: chain_fail(&c, DP_ERUNTIME, "text %d", n). */
#define chain_fail(c, code, ...)                                                                   \
    ((c)->rc = (c)->rc < 0 ? (c)->rc : dp_fail((c)->ctx, code, __VA_ARGS__))
/* Release what the chain made, but for `result`, which becomes *out; out may be NULL. */
int chain_end(chain *c, dp_tensor *result, dp_tensor **out);

#endif
