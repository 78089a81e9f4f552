/* optim_run.c -- one step of an optimizer: all checks, then one pass over parameters, gradients and
 * state (optim.h). */
#include "optim.h"
#include "core/dense.h"
#include <float.h>

static dp_tensor *tensor(const dp_value *v)
{
    return v->tag == DP_TAG_TENSOR ? v->u.t : NULL;
}

optim_step optim_begin(const dp_call *call, int rule, const char *what, int lr)
{
    const dp_value *a = call->args;
    optim_step s = {.rule = rule, .what = what};

    blocks_add(&s.lists, "params", &a[0], true);
    blocks_add(&s.lists, "grads", &a[1], false);
    s.lr = tensor(&a[lr]);
    s.options.lr = s.lr ? 0 : a[lr].u.d;
    s.grad_scale = tensor(&a[call->n_args - 2]);
    s.found_inf = tensor(&a[call->n_args - 1]);
    return s;
}

int optim_number(dp_ctx *ctx, dp_tensor *t, const char *name, double *out)
{
    DP_VIEW(v, t);

    if (v.numel != 1)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "%s must be a 1-element tensor, but it has %" PRId64 " elements", name,
                         v.numel);
    if (!(DENSE_BIT(v.dtype) & (DENSE_NUMBERS | DENSE_BIT(DP_FLOAT16))))
        return dp_refuse(ctx, DP_ERUNTIME,
                         "%s must be a tensor of a real number, but its dtype is %s", name,
                         dp_dtype_name(v.dtype));
    *out = 1;
    if (dp_memoryless(ctx))
        return 0;
    if (v.data == NULL || v.device != DP_DEVICE_CPU)
        return dp_refuse(ctx, DP_ERUNTIME, "%s must be on the CPU, as the parameters are", name);
    dp_converter(DP_FLOAT64, v.dtype)((char *)out, sizeof(*out), v.data, sizeof(*out), 1);
    return 0;
}

/* Read lr, grad_scale and found_inf, where they are tensors. */
static int read_numbers(dp_ctx *ctx, optim_step *s, double *found_inf)
{
    int rc = 0;

    *found_inf = 0;
    s->options.grad_scale = 1;
    if (s->lr)
        rc = optim_number(ctx, s->lr, "lr", &s->options.lr);
    if (rc == 0 && s->grad_scale)
        rc = optim_number(ctx, s->grad_scale, "grad_scale", &s->options.grad_scale);
    if (rc == 0 && s->found_inf)
        rc = optim_number(ctx, s->found_inf, "found_inf", found_inf);
    return rc;
}

static int check_at_least_0(dp_ctx *ctx, const char *what, double v)
{
    return v >= 0 ? 0 : dp_refuse(ctx, DP_EVALUE, "Invalid %s: %g", what, v);
}

static int check_beta(dp_ctx *ctx, int index, double v)
{
    if (v >= 0 && v < 1)
        return 0;
    return dp_refuse(ctx, DP_EVALUE, "Invalid beta parameter at index %d: %g", index, v);
}

/* Check the options with the errors of torch.optim's constructors. */
static int check_options(dp_ctx *ctx, const optim_options *o)
{
    const struct {
        const char *what;
        double value;
    } numbers[] = {{"learning rate", o->lr},
                   {"momentum value", o->momentum},
                   {"weight_decay value", o->weight_decay},
                   {"epsilon value", o->eps},
                   {"alpha value", o->alpha},
                   {"lr_decay value", o->lr_decay}};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof(numbers) / sizeof(*numbers); i++)
        rc = check_at_least_0(ctx, numbers[i].what, numbers[i].value);
    rc = rc == 0 ? check_beta(ctx, 0, o->beta1) : rc;
    rc = rc == 0 ? check_beta(ctx, 1, o->beta2) : rc;
    if (rc == 0 && o->nesterov && (o->momentum == 0 || o->dampening != 0))
        rc = dp_refuse(ctx, DP_EVALUE,
                       "Nesterov momentum requires a momentum and zero dampening, got momentum %g "
                       "and dampening %g",
                       o->momentum, o->dampening);
    return rc;
}

/* -- the numbers of each parameter -- */

static optim_own own_numbers(const optim_step *s, double step)
{
    const optim_options *o = &s->options;
    optim_own own = {0, 0};

    if (s->rule == OPTIM_ADAM) {
        own.size = o->lr / (1 - pow(o->beta1, step));
        own.root = sqrt(1 - pow(o->beta2, step));
    } else if (s->rule == OPTIM_ADAGRAD) {
        own.size = o->lr / (1 + (step - 1) * o->lr_decay);
    }
    return own;
}

static int check_step(dp_ctx *ctx, const optim_step *s, uint32_t i, double step)
{
    if (step >= 0 && step <= DBL_MAX)
        return 0;
    return dp_refuse(ctx, DP_EVALUE, "Invalid step: %s[%u] is %g, but it must be 0 or greater",
                     s->steps.name, i, step);
}

/* Add 1 to *step, a number of `dtype`: a floating-point dtype may round it to what it was. */
static int count_step(dp_ctx *ctx, const optim_step *s, uint32_t i, dp_dtype dtype, double *step)
{
    double next = as_stored(*step + 1, dtype);

    if (next < *step)
        return dp_refuse(ctx, DP_EVALUE, "Invalid step: %s[%u] is %g, the largest number of %s",
                         s->steps.name, i, *step, dp_dtype_name(dtype));
    *step = next;
    return 0;
}

/* Numbers that differ from parameter to parameter. */
typedef struct numbers {
    optim_own *own;  /* [number of parameters] what the loops of this step need */
    double *counted; /* [number of parameters] new values of the tensors that count steps */
} numbers;

static int read_steps(dp_ctx *ctx, const optim_step *s, numbers *out)
{
    const block_list *steps = &s->steps, *params = &s->lists.of[OPTIM_PARAM];
    char name[64];
    int rc = 0;

    if (steps->name && steps->len != params->len)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "Tensor lists must have the same number of tensors, got %u %s and %u %s",
                         params->len, params->name, steps->len, steps->name);
    out->own = dp_alloc_n(ctx, params->len, sizeof(optim_own));
    out->counted = dp_alloc_n(ctx, params->len, sizeof(double));
    if (out->own == NULL || out->counted == NULL)
        return DP_ERESOURCE;
    for (uint32_t i = 0; rc == 0 && i < params->len; i++) {
        double step = 0;
        if (steps->name) {
            DP_VIEW(v, steps->at[i]);
            snprintf(name, sizeof(name), "%s[%u]", steps->name, i);
            rc = optim_number(ctx, steps->at[i], name, &step);
            rc = rc == 0 ? check_step(ctx, s, i, step) : rc;
            if (rc == 0 && s->counts)
                rc = count_step(ctx, s, i, v.dtype, &step);
        }
        out->counted[i] = step;
        out->own[i] = own_numbers(s, step);
    }
    return rc;
}

static void write_steps(const optim_step *s, const numbers *n)
{
    const block_list *steps = &s->steps, *grads = &s->lists.of[OPTIM_GRAD];

    for (uint32_t i = 0; s->counts && i < grads->len; i++)
        if (grads->at[i]) {
            DP_VIEW(v, steps->at[i]);
            dp_converter(v.dtype, DP_FLOAT64)(v.data, sizeof(double), (char *)&n->counted[i],
                                              sizeof(double), 1);
        }
}

/* -- the step -- */

int optim_select_backend(dp_call *call)
{
    dp_keyset keys = dp_keyset_below(call->keys, call->key);

    if (keys.backend == 0) {
        keys = dp_keyset_of(DP_KEY(DP_F_Dense));
        keys.backend = dp_device_keys(DP_DEVICE_CPU).backend;
    }
    return dp_redispatch_boxed(call->ctx, call->op, keys, call->args, call->n_args, call->rets,
                               call->n_rets);
}

typedef struct job {
    const optim_step *s;
    const optim_own *own;
    optim_row row;
} job;

static void run_block(uint32_t item, int64_t block, bool wide, int64_t n, void *const *x,
                      void *user)
{
    const job *j = user;
    (void)block;
    j->row.of[wide](&j->s->options, j->own[item], n, x);
}

static int check_all(dp_ctx *ctx, optim_step *s, double *found_inf, numbers *n)
{
    int rc = read_numbers(ctx, s, found_inf);

    if (rc == 0)
        rc = check_options(ctx, &s->options);
    if (rc == 0)
        rc = blocks_check(ctx, &s->lists, s->what);
    if (rc == 0)
        rc = read_steps(ctx, s, n);
    if (rc == 0)
        rc = blocks_check_apart(ctx, &s->lists, s->counts ? &s->steps : NULL);
    return rc;
}

int optim_run(dp_ctx *ctx, optim_step *s)
{
    double found_inf;
    numbers n = {NULL, NULL};
    job j = {.s = s, .row = CPU_CHOSEN(optim_loops)[s->rule]};
    blocks_run run = {.fn = run_block, .user = &j};
    int rc = check_all(ctx, s, &found_inf, &n);

    if (rc == 0)
        rc = blocks_count(ctx, &s->lists, &run);
    if (rc == 0)
        rc = dp_checkpoint(ctx);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    if (dp_memoryless(ctx) || found_inf == 1)
        return 0;
    j.own = n.own;
    rc = blocks_each(&run, true);
    if (rc == 0)
        write_steps(s, &n);
    return rc;
}
