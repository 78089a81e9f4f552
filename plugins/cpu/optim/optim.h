/* optim.h -- one step of an optimizer over lists of parameters, gradients and state.  Each
 * parameter gets the values that torch.optim of PyTorch 1.13.1 gives it (torch/optim,
 * _single_tensor_adam and its like).  The operators, each in a source of its name, pass the keys of
 * autograd: nothing is recorded, and leaves that require a gradient may be written, as in
 * torch.optim. */
#ifndef CPU_OPTIM_H
#define CPU_OPTIM_H

#include "blocks.h"

enum { OPTIM_SGD, OPTIM_ADAM, OPTIM_RMSPROP, OPTIM_ADAGRAD, OPTIM_LION, OPTIM_RULES };
/* order of the lists: parameters, gradients, then state in the order of the rule's arguments */
enum { OPTIM_PARAM, OPTIM_GRAD, OPTIM_STATE };

/* The options of a step, named as in torch.optim. */
typedef struct optim_options {
    double lr, weight_decay, momentum, dampening, beta1, beta2, alpha, eps, lr_decay;
    double grad_scale; /* gradients are divided by it; 1: not scaled */
    bool maximize, nesterov, amsgrad, centered;
    bool first;          /* sgd: the momentum buffers have no values yet */
    bool decoupled;      /* adamw: weight_decay multiplies the parameter, not the gradient */
    bool store_unscaled; /* gradients are written, divided by grad_scale */
} optim_options;

/* Numbers that depend on the step of a parameter.  adam: its step size, and the square root of the
 * second bias correction; adagrad: its learning rate, and 0. */
typedef struct optim_own {
    double size, root;
} optim_own;

/* The loops of one rule, for float32 and for float64: one step for `n` <= BLOCK elements, x[k] of
 * list k.  State that the options do not need has no list. */
typedef void (*optim_loop)(const optim_options *o, optim_own own, int64_t n, void *const *x);
typedef struct optim_row {
    optim_loop of[2];
} optim_row;
DP_ISA_TABLE(optim_row, optim_loops) /* [OPTIM_RULES] */

typedef struct optim_step {
    int rule;
    const char *what; /* the kernel's name in the error about a dtype */
    optim_options options;
    block_lists lists;
    block_list steps; /* one number for each parameter: how many steps it made; .name NULL: none */
    /* the steps are written: each grows by 1 before its parameter's step is computed */
    bool counts;
    dp_tensor *lr, *grad_scale, *found_inf; /* tensors of one element; NULL: not given */
} optim_step;

/* Begin a step from what all operators of namespace optim have: parameters and gradients first, the
 * learning rate, a number or a tensor, at index `lr`, grad_scale and found_inf last. */
optim_step optim_begin(const dp_call *call, int rule, const char *what, int lr);
/* Check everything, then take the step, or change nothing if found_inf is 1.  DP_ERUNTIME,
 * DP_EVALUE: the lists do not fit each other, or a number is not valid; nothing was written. */
int optim_run(dp_ctx *ctx, optim_step *s);
/* Redispatch a call with empty lists, which has no key of a backend, to the CPU's kernel: it checks
 * the options and loops over no parameter, as torch.optim does.  A kernel for BackendSelect. */
int optim_select_backend(dp_call *call);
/* Read the one element of `t`, called `name` in errors, as a double.  DP_ERUNTIME: `t` has another
 * number of elements, is complex or bool, or is not on the CPU.  In a call without memory, *out is
 * 1. */
int optim_number(dp_ctx *ctx, dp_tensor *t, const char *name, double *out);

#endif
