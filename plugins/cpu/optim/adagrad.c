/* adagrad.c -- one step of Adagrad (torch/optim/adagrad.py).
 *
 * Operators: adagrad. */
#include "optim.h"

/* optim::adagrad_(Tensor(a!)[] params, Tensor?[] grads, Tensor(b!)[] state_sums,
 *     Tensor(c!)[] state_steps, *, float lr, float lr_decay=0, float weight_decay=0,
 *     float eps=1e-10, bool maximize=False, Tensor? grad_scale=None, Tensor? found_inf=None)
 *     -> () */
static int adagrad_(dp_call *call)
{
    const dp_value *a = call->args;
    optim_step s = optim_begin(call, OPTIM_ADAGRAD, "adagrad", 4);
    optim_options *o = &s.options;
    block_list steps = {"state_steps", a[3].u.tensors, a[3].len, true};

    o->lr_decay = a[5].u.d;
    o->weight_decay = a[6].u.d;
    o->eps = a[7].u.d;
    o->maximize = a[8].u.b;
    s.steps = steps;
    s.counts = true;
    blocks_add(&s.lists, "state_sums", &a[2], true);
    return optim_run(call->ctx, &s);
}

DP_LIBRARY_META(optim, CPU, DP_IMPL("adagrad_", adagrad_), DP_IMPL("adagrad_.tensor_lr", adagrad_))
DP_LIBRARY_IMPL(optim, BackendSelect, DP_IMPL_BELOW("adagrad_", optim_select_backend))
DP_LIBRARY_IMPL(optim, Autograd, DP_IMPL_FALLTHROUGH("adagrad_"),
                DP_IMPL_FALLTHROUGH("adagrad_.tensor_lr"))
