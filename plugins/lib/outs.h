/* outs.h -- a kernel for both variants of an operator with several outputs: `f`, which makes its
 * outputs, and `f.out`, which gets them as its last arguments. */
#ifndef PLUGINS_OUTS_H
#define PLUGINS_OUTS_H

#include <dispatchd/plugin.h>

enum { OUTS_MAX = 4 };

/* the outputs of one call */
typedef struct outs {
    /* the outputs: if `given`, borrowed from the caller; otherwise NULL until the outs_fn makes
     * them, and then owned */
    dp_tensor *t[OUTS_MAX];
    /* The output is given and may share memory with a Tensor argument: the outs_fn must write the
     * output only after it has read that argument. */
    bool aside[OUTS_MAX];
    uint32_t n;       /* number of outputs */
    dp_device device; /* device of the first argument */
    bool given;       /* the variant is f.out */
    /* The outs_fn sets `written` when it writes to a given output.  If it fails before that,
     * outs_run() fails by dp_refuse(), which tells the caller that no argument has changed. */
    bool written;
} outs;

/* A function that computes the outputs `o`; `args` are the arguments of `f`.  If the function
 * fails, outs_run() releases the outputs that the function made. */
typedef int outs_fn(dp_ctx *ctx, const dp_value *args, outs *o);

/* Run `fn` for a call of either variant.  `f` has `n_args` arguments, and the first one is a
 * tensor. */
__attribute__((unused)) static int outs_run(dp_call *call, uint32_t n_args, outs_fn *fn)
{
    outs o = {.n = call->n_rets, .given = call->n_args > n_args};
    DP_VIEW(first, call->args[0].u.t);

    o.device = first.device;
    if (o.n > OUTS_MAX)
        return dp_fail(call->ctx, DP_EPLUGIN, "%s has %u outputs, more than %d",
                       dp_op_name(call->op), o.n, OUTS_MAX);
    for (uint32_t i = 0; o.given && i < o.n; i++) {
        o.t[i] = call->args[n_args + i].u.t;
        for (uint32_t k = 0; k < i; k++)
            if (dp_tensor_id(o.t[k]) == dp_tensor_id(o.t[i]))
                return dp_refuse(call->ctx, DP_ERUNTIME, "%s: outputs %u and %u are one tensor",
                                 dp_op_name(call->op), k, i);
        for (uint32_t a = 0; a < n_args; a++)
            o.aside[i] |=
                call->args[a].tag == DP_TAG_TENSOR && dp_overlap(o.t[i], call->args[a].u.t) != 0;
    }
    int rc = fn(call->ctx, call->args, &o);
    if (o.given)
        return rc < 0 && !o.written ? dp_refuse(call->ctx, rc, NULL) : rc;
    for (uint32_t i = 0; rc < 0 && i < o.n; i++)
        dp_tensor_unref(o.t[i]);
    return rc < 0 ? rc : dp_return_tensors(call, o.n, o.t);
}

/* Define a boxed kernel `name` for both variants. */
#define OUTS_KERNEL(name, n_args, fn)                                                              \
    static int name(dp_call *call)                                                                 \
    {                                                                                              \
        return outs_run(call, n_args, fn);                                                         \
    }

#endif
