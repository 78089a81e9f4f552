/* lion.c -- one step of Lion ("Symbolic Discovery of Optimization Algorithms", algorithm 2).
 *
 * Operators: lion. */
#include "optim.h"

/* optim::lion_(Tensor(a!)[] params, Tensor?[] grads, Tensor(b!)[] exp_avgs, *, float lr,
 *     float beta1=0.9, float beta2=0.99, float weight_decay=0, bool maximize=False,
 *     Tensor? grad_scale=None, Tensor? found_inf=None) -> () */
static int lion_(dp_call *call)
{
    const dp_value *a = call->args;
    optim_step s = optim_begin(call, OPTIM_LION, "lion", 3);
    optim_options *o = &s.options;

    o->beta1 = a[4].u.d;
    o->beta2 = a[5].u.d;
    o->weight_decay = a[6].u.d;
    o->maximize = a[7].u.b;
    o->decoupled = true;
    blocks_add(&s.lists, "exp_avgs", &a[2], true);
    return optim_run(call->ctx, &s);
}

DP_LIBRARY_META(optim, CPU, DP_IMPL("lion_", lion_), DP_IMPL("lion_.tensor_lr", lion_))
DP_LIBRARY_IMPL(optim, BackendSelect, DP_IMPL_BELOW("lion_", optim_select_backend))
DP_LIBRARY_IMPL(optim, Autograd, DP_IMPL_FALLTHROUGH("lion_"),
                DP_IMPL_FALLTHROUGH("lion_.tensor_lr"))
