/* rmsprop.c -- one step of RMSprop (torch/optim/rmsprop.py).
 *
 * Operators: rmsprop. */
#include "optim.h"

/* optim::rmsprop_(Tensor(a!)[] params, Tensor?[] grads, Tensor(b!)[] square_avgs,
 *     Tensor(c!)[] grad_avgs, Tensor(d!)[] momentum_buffers, *, float lr, float alpha=0.99,
 *     float eps=1e-08, float weight_decay=0, float momentum=0, bool centered=False,
 *     bool maximize=False, Tensor? grad_scale=None, Tensor? found_inf=None) -> () */
static int rmsprop_(dp_call *call)
{
    const dp_value *a = call->args;
    optim_step s = optim_begin(call, OPTIM_RMSPROP, "rmsprop", 5);
    optim_options *o = &s.options;

    o->alpha = a[6].u.d;
    o->eps = a[7].u.d;
    o->weight_decay = a[8].u.d;
    o->momentum = a[9].u.d;
    o->centered = a[10].u.b;
    o->maximize = a[11].u.b;
    blocks_add(&s.lists, "square_avgs", &a[2], true);
    if (o->centered)
        blocks_add(&s.lists, "grad_avgs", &a[3], true);
    if (o->momentum > 0)
        blocks_add(&s.lists, "momentum_buffers", &a[4], true);
    return optim_run(call->ctx, &s);
}

DP_LIBRARY_META(optim, CPU, DP_IMPL("rmsprop_", rmsprop_), DP_IMPL("rmsprop_.tensor_lr", rmsprop_))
DP_LIBRARY_IMPL(optim, BackendSelect, DP_IMPL_BELOW("rmsprop_", optim_select_backend))
DP_LIBRARY_IMPL(optim, Autograd, DP_IMPL_FALLTHROUGH("rmsprop_"),
                DP_IMPL_FALLTHROUGH("rmsprop_.tensor_lr"))
