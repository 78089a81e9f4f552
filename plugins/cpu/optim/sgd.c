/* sgd.c -- one step of stochastic gradient descent (torch/optim/sgd.py).
 *
 * Operators: sgd. */
#include "optim.h"

/* optim::sgd_(Tensor(a!)[] params, Tensor?[] grads, Tensor(b!)[] momentum_buffers, *, float lr,
 *     float momentum=0, float dampening=0, float weight_decay=0, bool nesterov=False,
 *     bool maximize=False, bool is_first_step=False, Tensor? grad_scale=None,
 *     Tensor? found_inf=None) -> () */
static int sgd_(dp_call *call)
{
    const dp_value *a = call->args;
    optim_step s = optim_begin(call, OPTIM_SGD, "sgd", 3);
    optim_options *o = &s.options;

    o->momentum = a[4].u.d;
    o->dampening = a[5].u.d;
    o->weight_decay = a[6].u.d;
    o->nesterov = a[7].u.b;
    o->maximize = a[8].u.b;
    o->first = a[9].u.b;
    if (o->momentum != 0)
        blocks_add(&s.lists, "momentum_buffers", &a[2], true);
    return optim_run(call->ctx, &s);
}

DP_LIBRARY_META(optim, CPU, DP_IMPL("sgd_", sgd_), DP_IMPL("sgd_.tensor_lr", sgd_))
DP_LIBRARY_IMPL(optim, BackendSelect, DP_IMPL_BELOW("sgd_", optim_select_backend))
DP_LIBRARY_IMPL(optim, Autograd, DP_IMPL_FALLTHROUGH("sgd_"), DP_IMPL_FALLTHROUGH("sgd_.tensor_lr"))
