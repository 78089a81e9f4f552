/* grad_check.c -- method grad.check: compare gradients with finite differences. */
#include "methods.h"
#include <dispatchd/grad.h>
#include <dispatchd/program.h>

/* `random` may be refused this often for each set of arguments that is to be checked. */
enum { TRIES = 20 };

/* The sums over all sets of arguments, and what failed. */
typedef struct outcome {
    dp_grad_check_report report; /* of the last check */
    uint64_t compared, checked, refused;
    bool second;          /* gradgradcheck failed */
    const dp_value *args; /* the last arguments */
    uint32_t n_args;
} outcome;

/* -- the answer -- */

static int failure_to_json(request *rq, const outcome *o, bool drawn, jw *w, dp_error *err)
{
    const dp_grad_check_report *r = &o->report;
    const dp_dtype dtype = r->input_complex ? DP_COMPLEX128 : DP_FLOAT64;
    int rc = 0;

    jw_key(w, "failure");
    jw_object(w);
    member_str(w, "check", o->second ? "gradgradcheck" : "gradcheck");
    member_str(w, "input", r->input);
    ints_to_json(w, "input_index", r->input_at, r->input_ndim);
    member_str(w, "output", r->output);
    ints_to_json(w, "output_index", r->output_at, r->output_ndim);
    if (r->output_complex)
        member_str(w, "part", r->imaginary ? "imaginary" : "real");
    jw_key(w, "numerical");
    jw_element(w, dtype, r->numerical);
    jw_key(w, "analytical");
    jw_element(w, dtype, r->analytical);
    if (drawn) {
        jw_key(w, "args");
        jw_array(w);
        for (uint32_t i = 0; i < o->n_args && rc == 0; i++)
            rc = value_to_json(rq, w, &o->args[i], RETURN_DATA, NULL, err);
        jw_array_end(w);
    }
    jw_object_end(w);
    return rc;
}

static int write_outcome(request *rq, const outcome *o, bool drawn, jw *w, dp_error *err)
{
    int rc = 0;

    jw_object(w);
    member_bool(w, "passes", o->report.passes);
    member_int(w, "compared", (int64_t)o->compared);
    if (drawn) {
        member_int(w, "checked", (int64_t)o->checked);
        member_int(w, "refused", (int64_t)o->refused);
    }
    if (!o->report.passes)
        rc = failure_to_json(rq, o, drawn, w, err);
    jw_object_end(w);
    return rc;
}

/* -- the checks -- */

/* Check one set of arguments. */
static int check_one(request *rq, dp_grad_check_options *c, bool gradgrad, outcome *o,
                     dp_error *err)
{
    o->args = c->args;
    o->n_args = c->n_args;
    for (int second = 0; second < (gradgrad ? 2 : 1); second++) {
        o->report = (dp_grad_check_report){.size = sizeof(o->report)};
        c->second = second != 0;
        if (dp_grad_check(rq->ctx, c, &o->report) < 0)
            return run_ctx_error(rq, err);
        o->compared += o->report.compared;
        o->second = c->second;
        if (!o->report.passes || (c->finite_only && !o->report.finite))
            return 0;
    }
    return 0;
}

/* Does `err` say that these arguments do not fit, so that others may?  The operator refuses
 * them; or its backward does, if they are complex: some kernels of backward take no complex
 * numbers.  A backward that fails for real numbers is a wrong formula. */
static bool is_refusal(const outcome *o, const draws *d, const dp_error *err)
{
    bool refused = !o->report.called || (d->complex && !o->report.backward);

    return refused && err->code != DP_ECANCELLED && err->code != DP_EDEADLINE &&
           err->code != DP_ERESOURCE;
}

/* Check sets of random arguments until one fails, n are checked, or too many are refused. */
static int check_draws(request *rq, const grad_check_params *p, draws *d, dp_grad_check_options *c,
                       outcome *o, dp_error *err)
{
    const uint64_t n = (uint64_t)param_int(p->random, "n", 1);
    int refusal = 0;

    o->report.passes = true;
    while (o->report.passes && o->checked < n && o->refused < n * TRIES) {
        dp_bound b;
        int rc = draws_next(rq, d, &b, err);
        if (rc < 0)
            return rc;
        c->op = b.op;
        c->args = b.args;
        c->n_args = b.n_args;
        rc = check_one(rq, c, p->gradgrad, o, err);
        if (rc < 0 && !is_refusal(o, d, err))
            return rc;
        if (rc == 0 && o->report.finite) {
            o->checked++;
            continue;
        }
        o->refused++;
        o->report.passes = true;
        refusal = rc;
    }
    if (o->checked > 0 || refusal < 0)
        return o->checked > 0 ? 0 : refusal;
    return dp_error_set(err, DP_ERUNTIME,
                        "%s: its outputs are not finite for any of %llu sets of random arguments",
                        p->op, (unsigned long long)o->refused);
}

static int check_random(request *rq, const grad_check_params *p, outcome *o, jw *w, dp_error *err)
{
    const int64_t n = param_int(p->random, "n", 1);
    draws d = {.op = dp_op_find(rq->ctx, p->op),
               .state = (uint64_t)param_int(p->random, "seed", 0)};
    dp_grad_check_options c = {
        .size = sizeof(c), .max_elements = (uint64_t)LIMIT(CHECK_ELEMENTS), .finite_only = true};

    if (n > LIMIT(CHECK_DRAWS))
        return LIMIT_REACHED(CHECK_DRAWS, n,
                             json_path_fail(err, DP_ERESOURCE,
                                            &(json_path){&(json_path){NULL, "random", 0}, "n", 0},
                                            "%lld is more than the limit check_draws, %lld",
                                            (long long)n, (long long)LIMIT(CHECK_DRAWS)));
    if (d.op == NULL)
        return run_ctx_error(rq, err);
    int rc = draws_begin(rq, &d, p->args, p->kwargs, err);
    if (rc == 0)
        rc = check_draws(rq, p, &d, &c, o, err);
    if (rc == 0)
        rc = write_outcome(rq, o, true, w, err);
    draws_end(&d);
    return rc;
}

static int check_given(request *rq, const grad_check_params *p, outcome *o, jw *w, dp_error *err)
{
    dp_grad_check_options c = {.size = sizeof(c), .max_elements = (uint64_t)LIMIT(CHECK_ELEMENTS)};
    dp_program_info info = {.size = sizeof(info)};
    dp_program *program = NULL;
    dp_bound b;
    int rc;

    if (p->op != NULL) {
        rc = bind_from_json(rq, p->op, p->args, p->kwargs, &b, err);
        c.op = b.op;
        c.args = b.args;
        c.n_args = b.n_args;
    } else if ((rc = program_get(rq, p->program, NULL, &program, err)) == 0) {
        rc = program_inputs(rq, p->inputs, program, &c.args, err);
        dp_program_info_get(program, &info);
        c.program = program;
        c.n_args = info.n_inputs;
    }
    if (rc == 0)
        rc = check_one(rq, &c, p->gradgrad, o, err);
    if (rc == 0)
        rc = write_outcome(rq, o, false, w, err);
    dp_program_unref(program);
    return rc;
}

int grad_check(request *rq, const grad_check_params *p, jw *w, dp_error *err)
{
    outcome o = {.compared = 0};

    if ((p->op != NULL) == p->has_program)
        return json_path_fail(err, DP_EPARAMS, NULL, "expected either op or program");
    if (p->op != NULL ? p->inputs != NULL : p->args != NULL || p->kwargs != NULL || p->random)
        return json_path_fail(err, DP_EPARAMS, NULL,
                              "expected args, kwargs and random with op, and inputs with program");
    run_name(rq);
    return p->random != NULL ? check_random(rq, p, &o, w, err) : check_given(rq, p, &o, w, err);
}
