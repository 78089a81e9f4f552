/* adamw.c -- one step of Adam and of AdamW (torch/optim/adam.py, adamw.py).
 *
 * Operators: adam, adamw, _fused_adam. */
#include "optim.h"

/* optim::adam_(Tensor(a!)[] params, Tensor?[] grads, Tensor(b!)[] exp_avgs,
 *     Tensor(c!)[] exp_avg_sqs, Tensor(d!)[] max_exp_avg_sqs, Tensor(e!)[] state_steps, *,
 *     float lr, float beta1=0.9, float beta2=0.999, float weight_decay=0, float eps=1e-08,
 *     bool amsgrad=False, bool maximize=False, Tensor? grad_scale=None, Tensor? found_inf=None)
 *     -> (), which has the arguments of aten::_fused_adam_ */
static optim_step begin_adam(const dp_call *call, const char *what)
{
    const dp_value *a = call->args;
    optim_step s = optim_begin(call, OPTIM_ADAM, what, 6);
    optim_options *o = &s.options;

    o->beta1 = a[7].u.d;
    o->beta2 = a[8].u.d;
    o->weight_decay = a[9].u.d;
    o->eps = a[10].u.d;
    o->amsgrad = a[11].u.b;
    o->maximize = a[12].u.b;
    blocks_add(&s.lists, "exp_avgs", &a[2], true);
    blocks_add(&s.lists, "exp_avg_sqs", &a[3], true);
    if (o->amsgrad)
        blocks_add(&s.lists, "max_exp_avg_sqs", &a[4], true);
    block_list steps = {"state_steps", a[5].u.tensors, a[5].len, true};
    s.steps = steps;
    return s;
}

static int adam_(dp_call *call)
{
    optim_step s = begin_adam(call, "adam");

    s.counts = true;
    return optim_run(call->ctx, &s);
}

/* optim::adamw_: the arguments of optim::adam_ */
static int adamw_(dp_call *call)
{
    optim_step s = begin_adam(call, "adamw");

    s.options.decoupled = s.counts = true;
    return optim_run(call->ctx, &s);
}

/* aten::_fused_adam_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs,
 *     Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr,
 *     float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize,
 *     Tensor? grad_scale=None, Tensor? found_inf=None) -> ()
 * state_steps have been increased by the caller; with grad_scale, grads get the unscaled values.
 * Source: aten/src/ATen/native/cuda/fused_adam_utils.cuh. */
static int fused_adam_(dp_call *call)
{
    optim_step s = begin_adam(call, "fused_adam");
    block_list *grads = &s.lists.of[OPTIM_GRAD];

    s.lists.of[OPTIM_PARAM].name = "self";
    grads->written = s.options.store_unscaled = s.grad_scale != NULL;
    return optim_run(call->ctx, &s);
}

DP_LIBRARY_META(optim, CPU, DP_IMPL("adam_", adam_), DP_IMPL("adam_.tensor_lr", adam_),
                DP_IMPL("adamw_", adamw_), DP_IMPL("adamw_.tensor_lr", adamw_))
DP_LIBRARY_IMPL(optim, BackendSelect, DP_IMPL_BELOW("adam_", optim_select_backend),
                DP_IMPL_BELOW("adamw_", optim_select_backend))
DP_LIBRARY_IMPL(optim, Autograd, DP_IMPL_FALLTHROUGH("adam_"),
                DP_IMPL_FALLTHROUGH("adam_.tensor_lr"), DP_IMPL_FALLTHROUGH("adamw_"),
                DP_IMPL_FALLTHROUGH("adamw_.tensor_lr"))
DP_LIBRARY_META(aten, CPU, DP_IMPL("_fused_adam_", fused_adam_))
DP_LIBRARY_IMPL(aten, Autograd, DP_IMPL_FALLTHROUGH("_fused_adam_"))
