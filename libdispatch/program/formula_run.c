/* formula_run.c -- run the program of a gradient formula (autograd), with less work around each
 * step than run.c.
 *
 * A formula runs while backward walks a graph; backward has pinned a snapshot of the registry.  The
 * values of a small program lie on the stack, and a call that would only return its argument is
 * skipped.  A program that is not plain (dp_program.is_plain) is run by run.c. */
#include "machine.h"
#include "dispatch/call/bind.h"
#include "dispatch/call/ctx.h"

enum { FEW_VALUES = 24 };

static int run_call(dpi_machine *m, const dp_program *p, const dpi_step *s)
{
    const dpi_op_use *use = &p->ops[s->operand];
    dp_value *rets = &m->values[s->ret], args[DP_LIMIT_ARGUMENTS];
    uint32_t owned = m->ctx->n_owned;

    for (uint32_t i = 0; i < s->n_args; i++)
        args[i] = *dpi_machine_value(m, p, 0, p->links[s->args + i]);
    if (use->keeps_real && args[0].tag == DP_TAG_TENSOR &&
        !dp_dtype_is_complex(args[0].u.t->dtype)) {
        rets[0] = dp_tensor_value(dp_tensor_ref(args[0].u.t));
        return 0;
    }
    int rc = s->late != 0 ? dpi_fit(m->ctx, use->schema, s->late, args) : 0;
    if (DPI_LIKELY(rc == 0))
        rc = dpi_call_within(m->ctx, use->op, args, s->n_args, rets, s->n_rets);
    dpi_release_owned(m->ctx, owned);
    return rc;
}

static inline void release(dp_value *v)
{
    if (v->tag == DP_TAG_TENSOR) {
        dp_tensor_unref(v->u.t);
        v->tag = DP_TAG_NONE;
    } else if (v->tag != DP_TAG_NONE) {
        dp_values_release(v, 1);
    }
}

static int run_steps(dpi_machine *m, const dp_program *p)
{
    for (const dpi_step *s = p->steps; s < p->steps + p->n_steps; s++) {
        if (!dpi_is_due(m, p, 0, s))
            continue;
        int rc = s->kind == DP_STEP_CALL ? run_call(m, p, s) : dpi_run_simple(m, p, 0, s);
        if (DPI_UNLIKELY(rc < 0))
            return dpi_fail_at(m->ctx, p, s);
        for (uint32_t k = 0; k < s->n_frees; k++)
            release(&m->values[p->links[s->frees + k]]);
    }
    return 0;
}

/* Store the wanted outputs in `out`.  Tensors get a new reference; lists lie in the context's
 * arena. */
static int give_outputs(dpi_machine *m, const dp_program *p, uint64_t unwanted, dp_value *out)
{
    for (uint32_t i = 0; i < p->n_outputs; i++) {
        if (i < 63 && (unwanted >> i & 1))
            continue;
        dp_value v = *dpi_machine_value(m, p, 0, p->outputs[i].ref);
        if (v.tag == DP_TAG_TENSOR) {
            dp_tensor_ref(v.u.t);
        } else if (dpi_value_ref(&m->ctx->arena, &v, &m->ctx->error) < 0) {
            dp_values_release(out, i);
            return m->ctx->error.code;
        }
        out[i] = v;
    }
    return 0;
}

DPI_HOT int dpi_program_run_formula(dp_ctx *ctx, const dp_program *p, dp_run *run)
{
    dp_value few[FEW_VALUES];
    dpi_machine m = {.ctx = ctx, .run = run, .is_formula = true};
    uint64_t unwanted = run->unwanted & INT64_MAX;

    if (p->n_outputs > 0)
        dp_zero_n(run->outputs, p->n_outputs, sizeof(*run->outputs));
    if (!p->is_plain)
        return dpi_run_uncharged(ctx, p, run, true);
    int rc = dpi_check_ops(ctx, p, run);
    if (rc < 0)
        return rc;
    m.values = p->n_values <= FEW_VALUES
                   ? few
                   : dp_arena_alloc_n(&ctx->arena, p->n_values, sizeof(*m.values));
    if (m.values == NULL)
        return dpi_no_memory(&ctx->error, "the values of a formula");
    for (uint32_t i = 0; i < p->n_inputs; i++)
        m.values[i] = run->inputs[i];
    for (uint32_t i = p->n_inputs; i < p->n_values; i++)
        m.values[i] = (dp_value){0};
    rc = dpi_fit_inputs(&m, p, m.values);
    if (rc == 0)
        rc = dpi_check_devices(ctx, m.values, p->n_inputs);
    if (rc == 0)
        rc = run_steps(&m, p);
    if (rc == 0)
        rc = give_outputs(&m, p, unwanted, run->outputs);
    for (uint32_t i = p->n_inputs; i < p->n_values; i++)
        release(&m.values[i]);
    return rc;
}
