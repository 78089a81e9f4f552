/* chain.h -- composite kernels written as a chain of calls of other operators.  The chain owns the
 * result of each step; chain_end() releases all of them.
 *
 *     chain c = {ctx};
 *     dp_tensor *size = chain_T(&c, "aten::abs", self);
 *     return chain_end(&c, chain_Ts(&c, "aten::eq.Scalar", size, dp_double(INFINITY)), out);
 *
 * After a step has failed, a later step does nothing, and returns NULL or its tensor argument;
 * chain_end() returns the code of the failed step. */
#ifndef COMPOSITE_CHAIN_H
#define COMPOSITE_CHAIN_H

#include "composite.h"

enum { CHAIN_MAX = 48 }; /* greatest number of tensors that one chain owns */

typedef struct chain {
    dp_ctx *ctx;
    int rc, n;       /* code of the step that failed, or 0; number of tensors in `made` */
    dp_tensor *slot; /* result of the running call, before it is moved to `made` */
    dp_tensor *made[CHAIN_MAX]; /* owned tensors [n] */
} chain;

/* Call operator `op` as the next step and return its result.  The letters in the function's name
 * are the types of the arguments: T for a tensor, s for a Scalar.  If the operator has one more
 * argument, `alpha`, that argument is 1.  An in-place operator returns its first argument. */
dp_tensor *chain_T(chain *c, const char *op, dp_tensor *a);
dp_tensor *chain_TT(chain *c, const char *op, dp_tensor *a, dp_tensor *b);
dp_tensor *chain_Ts(chain *c, const char *op, dp_tensor *a, dp_value b);
dp_tensor *chain_sT(chain *c, const char *op, dp_value a, dp_tensor *b);
/* Call the in-place operator `op`, which has no `alpha`, with arguments `t` and `v`; return t. */
dp_tensor *chain_Ts_(chain *c, const char *op, dp_tensor *t, dp_value v);
/* Return a + b, a - b and a * b. */
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
/* Call an operator that returns one Tensor, with any arguments.  The string `code` has a letter for
 * the type of each argument, as in dp_invoke():
 *     CHAIN(&c, "aten::sum.dim_IntList", "Tolib>T", t, dims, n, (int)keepdim)
 * A tensor argument may be the result of another step. */
#define CHAIN(c, op, code, ...) chain_call(c, op, code, __VA_ARGS__, &(c)->slot)
dp_tensor *chain_call(chain *c, const char *op, const char *code, ...);
/* Move the reference to `t` to the chain, and return t. */
dp_tensor *chain_keep(chain *c, dp_tensor *t);
/* Copy the CPU tensor `host` to `device` and return the copy; return `host` itself if device is the
 * CPU.  The reference to `host` moves to the chain, in which no step may have failed. */
dp_tensor *chain_move(chain *c, dp_tensor *host, dp_device device);
enum { REDUCTION_NONE, REDUCTION_MEAN, REDUCTION_SUM }; /* at::Reduction */
/* Reduce t, a loss, to its mean or its sum; any other `reduction` leaves t as it is. */
dp_tensor *chain_reduced(chain *c, dp_tensor *t, int64_t reduction);
/* Return the element of t, a 0-dim bool tensor; false if the chain has failed. */
bool chain_is_true(chain *c, dp_tensor *t);
/* Let the chain fail with error `code` and a printf-like message, unless an earlier step failed:
 *     chain_fail(&c, DP_ERUNTIME, "text %d", n) */
#define chain_fail(c, code, ...)                                                                   \
    ((c)->rc = (c)->rc < 0 ? (c)->rc : dp_fail((c)->ctx, code, __VA_ARGS__))
/* Release the chain's tensors and return its code.  If no step has failed and `out` is not NULL,
 * *out gets a new reference to `result`. */
int chain_end(chain *c, dp_tensor *result, dp_tensor **out);

#endif
