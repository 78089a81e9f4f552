/* run.c -- run a program: its steps in order, with the inputs and all values that steps return in
 * one array.
 *
 * A step calls an operator, computes with plain numbers, or runs another program (an inner
 * program).  This file owns the values that steps return, and releases each value after the last
 * step that reads it.  Inputs, constants and the arguments of a step are borrowed.  The values of
 * an inner program follow those of the outer one in the array, so that no array is allocated
 * between steps.
 *
 * Over 500 lines: run_step() and run_program() call each other, since a step may run a program. */
#include "machine.h"
#include "dispatch/call/ctx.h"
#include "dispatch/call/enter.h"
#include "dispatch/call/enums.h"
#include "dispatch/call/values.h"

/* Run the steps of p.  `base`, here and below: index in m->values of p's first value; 0 for the
 * outermost program. */
static int run_steps(dpi_machine *m, const dp_program *p, uint32_t base);

/* -- operators -- */

/* Fail because the operator of `use` is no longer registered (`now` is NULL), or because its schema
 * was changed to `now`. */
static int fail_op(dp_ctx *ctx, const dpi_op_use *use, const dp_schema *now)
{
    const char *name = use->schema->name;

    if (now == NULL)
        dp_error_set(&ctx->error, DP_ENOTFOUND,
                     "%s: no plugin defines this operator of the program any more", name);
    else
        dp_error_set(&ctx->error, DP_ERUNTIME,
                     "%s: its schema has changed since the program was made, from '%s' to '%s'",
                     name, use->schema->text, now->text);
    memset(ctx->error.op, 0, sizeof(ctx->error.op));
    strncpy(ctx->error.op, name, sizeof(ctx->error.op) - 1);
    return ctx->error.code;
}

/* Store the origin of the step that is about to run in dp_run.step, which other threads may
 * read. */
static inline void publish_step(dp_run *run, int64_t origin)
{
    __atomic_store_n(&run->step, origin, __ATOMIC_RELAXED);
}

int dpi_fail_at(dp_ctx *ctx, const dp_program *p, const dpi_step *s)
{
    uint32_t n;
    const uint32_t *origins = dpi_step_origins(p, s, &n);

    return dpi_step_fail(ctx, p, origins, n);
}

/* Call dpi_fail_at() for p's first step with this kind and operand. */
static int fail_step(dp_ctx *ctx, dp_run *run, const dp_program *p, uint32_t kind, uint32_t operand)
{
    for (const dpi_step *s = p->steps; s < p->steps + p->n_steps; s++)
        if (s->kind == kind && s->operand == operand) {
            publish_step(run, s->origin); /* an outer program then stores its own step */
            return dpi_fail_at(ctx, p, s);
        }
    return ctx->error.code;
}

DPI_HOT int dpi_check_ops(dp_ctx *ctx, const dp_program *p, dp_run *run)
{
    const dpi_snapshot *s = dpi_ctx_snapshot(ctx);

    for (uint32_t i = 0; i < p->n_ops; i++) {
        const dpi_op_use *use = &p->ops[i];
        const dpi_entry *e = use->op->id < s->n_entries ? s->entries[use->op->id] : NULL;
        const dp_schema *now = e != NULL ? e->schema : NULL;
        if (now != use->schema && (now == NULL || strcmp(now->text, use->schema->text) != 0)) {
            fail_op(ctx, use, now);
            return fail_step(ctx, run, p, DP_STEP_CALL, i);
        }
    }
    for (uint32_t i = 0; i < p->n_subs; i++)
        if (dpi_check_ops(ctx, p->subs[i], run) < 0)
            return fail_step(ctx, run, p, DP_STEP_SUB, i);
    return 0;
}

/* -- CALL -- */

/* List the tensors that the failed kernel may have written in part, in m->run->unspecified.  If
 * there is no memory for the list, it stays empty. */
static void note_unspecified(dpi_machine *m, const dp_value *args, uint32_t n_args)
{
    uint64_t written = m->ctx->error.written;
    size_t n = 0;

    for (uint32_t i = 0; i < n_args; i++)
        n += written >> i & 1 ? (args[i].tag == DP_TAG_TENSORS ? args[i].len : 1) : 0;
    const dp_tensor **list = n > 0 ? dp_arena_alloc_n(&m->ctx->arena, n, sizeof(*list)) : NULL;
    if (list == NULL)
        return;
    n = 0;
    for (uint32_t i = 0; i < n_args; i++) {
        if (!(written >> i & 1))
            continue;
        if (args[i].tag == DP_TAG_TENSOR)
            list[n++] = args[i].u.t;
        for (uint32_t k = 0; args[i].tag == DP_TAG_TENSORS && k < args[i].len; k++)
            if (args[i].u.tensors[k] != NULL)
                list[n++] = args[i].u.tensors[k];
    }
    m->run->unspecified = list;
    m->run->n_unspecified = n;
}

/* Set m->written for the returns of a call.  `first`: index of the first return in m->values. */
static void mark_written(dpi_machine *m, const dp_schema *schema, uint32_t first)
{
    for (uint32_t i = 0; i < schema->n_rets; i++)
        m->written[first + i] = schema->ret_alias[i] >= 0;
}

static int run_call(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s)
{
    const dpi_op_use *use = &p->ops[s->operand];
    dp_value args[DP_LIMIT_ARGUMENTS];
    uint32_t owned = m->ctx->n_owned;

    for (uint32_t i = 0; i < s->n_args; i++)
        args[i] = *dpi_machine_value(m, p, base, p->links[s->args + i]);
    int rc = s->late != 0 ? dpi_fit(m->ctx, use->schema, s->late, args) : 0;
    if (DPI_LIKELY(rc == 0)) {
        rc = dpi_call_for_all(m->ctx, use->op, args, s->n_args, &m->values[base + s->ret],
                              s->n_rets);
        if (DPI_UNLIKELY(rc < 0))
            note_unspecified(m, args, s->n_args);
    }
    if (DPI_UNLIKELY(s->names_written) && rc == 0)
        mark_written(m, use->schema, base + s->ret);
    dpi_release_owned(m->ctx, owned);
    return rc;
}

/* -- BIND: a CALL whose overload depends on the values of its arguments -- */

static int bind_now(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s,
                    dp_bound *bound)
{
    const dpi_bind *bind = &p->binds[s->operand];
    dp_value *args = dp_arena_alloc_n(&m->ctx->arena, s->n_args, sizeof(*args));
    dp_kwarg *kwargs = dp_arena_alloc_n(&m->ctx->arena, s->n_args, sizeof(*kwargs));
    size_t n_args = 0, n_kwargs = 0;

    if (args == NULL || kwargs == NULL)
        return dpi_no_memory(&m->ctx->error, "arguments of a step");
    for (uint32_t i = 0; i < s->n_args; i++) {
        const dp_value *v = dpi_machine_value(m, p, base, p->links[s->args + i]);
        if (bind->kwargs[i] == NULL)
            args[n_args++] = *v;
        else
            kwargs[n_kwargs++] = (dp_kwarg){bind->kwargs[i], *v};
    }
    int rc = dp_bind(m->ctx, bind->name, args, n_args, kwargs, n_kwargs, bound);
    if (rc == 0 && s->names_written && bound->n_rets != s->n_rets)
        return dp_error_set(&m->ctx->error, DP_EVALUE, "as names %u returns but %s has %u",
                            s->n_rets, dp_op_name(bound->op), bound->n_rets);
    return rc;
}

/* Is `v` a tensor with storage `s`, or a list that contains such a tensor? */
static bool contains_storage(const dp_value *v, const dpi_storage *s)
{
    bool found = v->tag == DP_TAG_TENSOR && dpi_storage_of(v->u.t) == s;

    for (uint32_t i = 0; v->tag == DP_TAG_TENSORS && i < v->len && !found; i++)
        found = v->u.tensors[i] != NULL && dpi_storage_of(v->u.tensors[i]) == s;
    for (uint32_t i = 0; v->tag == DP_TAG_LIST && i < v->len && !found; i++)
        found = contains_storage(&v->u.values[i], s);
    return found;
}

/* Does t share its storage with a constant of p? */
static bool shares_constant(const dp_program *p, const dp_tensor *t)
{
    uint32_t i = p->first_tensor;

    while (i < p->end_tensors && !contains_storage(&p->constants[i], dpi_storage_of(t)))
        i++;
    return i < p->end_tensors;
}

/* Check that the call writes to no constant of p, else DP_EVALUE.  Only BIND steps need this at run
 * time: CALL steps were checked when the program was built (check.c). */
static int check_written(dpi_machine *m, const dp_program *p, const dp_bound *bound)
{
    for (uint32_t i = 0; i < bound->n_args; i++)
        if ((bound->written >> i & 1) && bound->args[i].tag == DP_TAG_TENSOR &&
            shares_constant(p, bound->args[i].u.t))
            return dp_error_set(&m->ctx->error, DP_EVALUE,
                                "%s writes to argument %u, which is a constant",
                                dp_op_name(bound->op), i + 1);
    return 0;
}

static int run_bind(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s)
{
    dp_value rets[DP_LIMIT_ARGUMENTS];
    uint32_t owned = m->ctx->n_owned;
    dp_bound bound;
    int rc = bind_now(m, p, base, s, &bound);

    if (rc == 0)
        rc = check_written(m, p, &bound);
    if (rc == 0) {
        rc = dpi_call_for_all(m->ctx, bound.op, bound.args, bound.n_args, rets, bound.n_rets);
        if (rc < 0)
            note_unspecified(m, bound.args, bound.n_args);
        else if ((rc = dp_name_returns(m->ctx, &bound, rets)) < 0)
            dp_values_release(rets, bound.n_rets);
    }
    for (uint32_t i = 0; rc == 0 && i < s->n_rets; i++) {
        m->values[base + s->ret + i] = rets[i];
        m->written[base + s->ret + i] = bound.ret_alias[i] >= 0;
    }
    if (rc == 0 && s->n_rets == 0)
        dp_values_release(rets, bound.n_rets);
    dpi_release_owned(m->ctx, owned);
    return rc;
}

/* -- SUB -- */

dpi_checkpoint_fns dpi_checkpoints;

/* dpi_fit() failed for input i: replace the argument's name in the error's message by the input's
 * name. */
static int fail_input(dp_ctx *ctx, const dp_program *p, uint32_t i)
{
    char text[300];
    const char *what = strstr(ctx->error.message, " must be ");

    if (ctx->error.code != DP_ETYPE || what == NULL)
        return ctx->error.code;
    memset(text, 0, sizeof(text));
    strncpy(text, what, sizeof(text) - 1);
    dp_error_clear(&ctx->error);
    return dp_error_set(&ctx->error, DP_ETYPE, "input '%.64s'%s", dp_program_input_name(p, i),
                        text);
}

DPI_HOT int dpi_fit_inputs(const dpi_machine *m, const dp_program *p, dp_value *inputs)
{
    dp_ctx *ctx = m->ctx;

    for (uint32_t i = 0; i < p->n_inputs; i++) {
        if (m->is_formula && inputs == m->values &&
            (p->values[i].need & ~(m->run->unwanted & INT64_MAX)) == 0)
            continue;
        const dp_schema *type = p->types[p->inputs[i].type].schema;
        uint32_t tags = p->values[i].tags;
        bool fits = (tags & (tags - 1)) == 0 && tags == 1u << inputs[i].tag &&
                    inputs[i].tag != DP_TAG_OBJECT; /* dpi_fit() checks an object's class */
        if (type != NULL && !fits && dpi_fit(ctx, type, 1, &inputs[i]) < 0)
            return fail_input(ctx, p, i);
    }
    return 0;
}

/* -- outputs -- */

/* Copy `t` by a call, which a capture records: *out, owned. */
static int clone_by_call(dp_ctx *ctx, dp_tensor *t, dp_tensor **out)
{
    const dp_op *op = dp_op_find(ctx, "aten::clone");
    const dp_value args[2] = {dp_tensor_value(t)};
    dp_value ret = {0};
    int rc = op == NULL ? ctx->error.code : dpi_call_for_all(ctx, op, args, 2, &ret, 1);

    *out = rc == 0 ? ret.u.t : NULL;
    return rc;
}

/* If `*t`, which the run owns, shares its storage with a constant of p, replace it by a copy.  The
 * caller may write to an output, but a constant must not change. */
static int unshare_tensor(dpi_machine *m, const dp_program *p, dp_tensor **t)
{
    dp_error *err = &m->ctx->error;
    dpi_target target = {dpi_storage_of(*t)->device, m->ctx->streams_id, m->ctx->account};
    dp_tensor *copy = NULL;

    if (!shares_constant(p, *t))
        return 0;
    int rc = dp_checkpoint(m->ctx);
    if (rc == 0)
        rc = dpi_no_wrapper(*t, err);
    if (rc == 0 && m->ctx->capture != NULL) {
        rc = clone_by_call(m->ctx, *t, &copy);
    } else if (rc == 0) {
        rc = dpi_empty_like(*t, (*t)->dtype, target, DP_PRESERVE, &copy, err);
        if (rc == 0)
            rc = dpi_copy(copy, *t, m->ctx->threads, err);
    }
    if (rc < 0) {
        dp_tensor_unref(copy);
        return rc;
    }
    dp_tensor_unref(*t);
    *t = copy;
    return 0;
}

/* Call unshare_tensor() for every tensor in `*v`. */
static int unshare_output(dpi_machine *m, const dp_program *p, dp_value *v)
{
    int rc = v->tag == DP_TAG_TENSOR ? unshare_tensor(m, p, &v->u.t) : 0;

    for (uint32_t i = 0; v->tag == DP_TAG_TENSORS && i < v->len && rc == 0; i++)
        if (v->u.tensors[i] != NULL)
            rc = unshare_tensor(m, p, (dp_tensor **)(uintptr_t)&v->u.tensors[i]);
    for (uint32_t i = 0; v->tag == DP_TAG_LIST && i < v->len && rc == 0; i++)
        rc = unshare_output(m, p, (dp_value *)(uintptr_t)&v->u.values[i]);
    return rc;
}

/* Store the outputs of p in `out`, whose values are all None at entry; the caller owns the outputs.
 * On failure all are None again.  written[i], if `written` is not NULL: output i is an argument
 * that a step wrote. */
static int take_outputs(dpi_machine *m, const dp_program *p, uint32_t base, dp_value *out,
                        bool *written)
{
    for (uint32_t i = 0; i < p->n_outputs; i++) {
        if (base == 0 && i < 63 && (m->run->unwanted >> i & 1))
            continue;
        dp_ref r = p->outputs[i].ref;
        dp_value v = *dpi_machine_value(m, p, base, r);
        int rc = dpi_values_copy(&m->ctx->arena, &v, 1);
        if (rc < 0) {
            dpi_no_memory(&m->ctx->error, "outputs of a program");
        } else {
            dpi_values_ref(&v, 1);
            out[i] = v;
            rc = unshare_output(m, p, &out[i]);
        }
        if (rc < 0) {
            dp_values_release(out, i + 1); /* all outputs after i are still None */
            return rc;
        }
        if (written != NULL)
            written[i] = DPI_REF_KIND(r) == DPI_REF_VALUE && m->written[base + r];
    }
    return 0;
}

DPI_HOT int dpi_check_devices(dp_ctx *ctx, const dp_value *values, uint32_t n)
{
    int rc = 0;

    for (uint32_t i = 0; i < n && rc == 0; i++) {
        const dp_value *v = &values[i];
        if (v->tag == DP_TAG_TENSOR)
            rc = dpi_tensor_check_device(v->u.t, &ctx->error);
        for (uint32_t k = 0; v->tag == DP_TAG_TENSORS && k < v->len && rc == 0; k++)
            if (v->u.tensors[k] != NULL)
                rc = dpi_tensor_check_device(v->u.tensors[k], &ctx->error);
    }
    return rc;
}

/* Run p on the inputs in m->values from index `base` on.  Afterwards the values that p's steps
 * returned are released. */
static int run_program(dpi_machine *m, const dp_program *p, uint32_t base, dp_value *out,
                       bool *written)
{
    dp_value *returned = &m->values[base + p->n_inputs];
    uint32_t n_returned = p->n_values - p->n_inputs;

    dp_zero_n(returned, n_returned, sizeof(*returned));
    dp_zero_n(m->written + base, p->n_values, sizeof(bool));
    int rc = p->n_guards > 0 ? dp_program_guards_check(m->ctx, p, &m->values[base]) : 0;
    if (rc == 0)
        rc = dpi_fit_inputs(m, p, &m->values[base]);
    if (rc == 0)
        rc = dpi_check_devices(m->ctx, &m->values[base], p->n_inputs);
    if (rc == 0)
        rc = dpi_check_devices(m->ctx, p->constants, p->n_constants);
    if (rc == 0)
        rc = run_steps(m, p, base);
    if (rc == 0)
        rc = take_outputs(m, p, base, out, written);
    dp_values_release(returned, n_returned);
    return rc;
}

/* Does the context record calls of which another run of `p` would make others?  It would draw other
 * random numbers, and write to inputs once more, since the copies from which backward runs `p`
 * again are not recorded.  Then the calls save what backward needs. */
static bool recorded_once(const dp_ctx *ctx, const dp_program *p)
{
    bool once = (p->flags & DP_STEP_FLAG_RANDOM) != 0;

    for (uint32_t i = 0; i < p->n_inputs && !once; i++)
        once = p->values[i].written != 0;
    return ctx->capture != NULL && once;
}

static int run_sub(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s)
{
    uint32_t inner = base + p->n_values, owned = m->ctx->n_owned;
    const dp_program *sub = p->subs[s->operand];

    for (uint32_t i = 0; i < s->n_args; i++)
        m->values[inner + i] = *dpi_machine_value(m, p, base, p->links[s->args + i]);
    bool recompute = (s->flags & DP_STEP_FLAG_RECOMPUTE) != 0 && !recorded_once(m->ctx, sub);
    void *again = NULL;
    int rc = recompute ? dpi_checkpoints.begin(m->ctx, sub, &m->values[inner], &again) : 0;
    if (rc == 0) {
        rc = run_program(m, sub, inner, &m->values[base + s->ret], &m->written[base + s->ret]);
        if (recompute && dpi_checkpoints.end(m->ctx, again, rc) < 0 && rc == 0) {
            dp_values_release(&m->values[base + s->ret], s->n_rets);
            rc = m->ctx->error.code;
        }
    }
    dpi_release_owned(m->ctx, owned);
    return rc;
}

/* -- all steps -- */

static inline int run_step(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s)
{
    switch (s->kind) {
    case DP_STEP_CALL:
        return run_call(m, p, base, s);
    case DPI_STEP_BIND:
        return run_bind(m, p, base, s);
    case DP_STEP_SUB:
        return run_sub(m, p, base, s);
    default:
        return dpi_run_simple(m, p, base, s);
    }
}

/* Run a step that says what programs of gradients save: a capture of its calls notes it. */
static DPI_COLD int run_saved(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s)
{
    uint32_t before = m->ctx->save_flags;

    m->ctx->save_flags |= s->flags & DPI_SAVE_FLAGS;
    int rc = run_step(m, p, base, s);
    m->ctx->save_flags = before;
    return rc;
}

/* Let the next step see the current shapes of its tensors, as a separate call would.  Shapes that
 * tensors had before may then be freed.  But if a kernel runs the program, or if the caller
 * called dp_ctx_begin() first, that kernel or caller may still read old shapes: do nothing then. */
static void refresh_shapes(dp_ctx *ctx)
{
    dpi_thread *t = ctx->thread;
    bool outermost = ctx->pins == 1 && !ctx->shares_pin &&
                     atomic_load_explicit(&t->depth, memory_order_relaxed) == 0;

    if (outermost)
        dpi_call_begin(&t->looker);
}

/* Leave guard `*depth`, which set the mode of the previous steps (negative: there is none), and
 * enter a guard that sets the mode of step `s` (such as no_grad): its depth is `*depth` then. */
static DPI_COLD int change_mode(dpi_machine *m, const dp_program *p, const dpi_step *s, int *depth)
{
    if (*depth >= 0)
        dp_guard_leave(m->ctx, *depth);
    *depth = s->mode > 0 ? dpi_mode_enter(m->ctx, &p->modes[s->mode - 1]) : -1;
    return s->mode > 0 && *depth < 0 ? *depth : 0;
}

static int run_steps(dpi_machine *m, const dp_program *p, uint32_t base)
{
    int depth = -1;
    uint8_t mode = 0;

    for (uint32_t i = 0; i < p->n_steps; i++) {
        const dpi_step *s = &p->steps[i];
        refresh_shapes(m->ctx);
        if (base == 0)
            publish_step(m->run, s->origin);
        int rc = i > 0 || base == 0 ? dp_checkpoint(m->ctx) : 0;
        if (DPI_UNLIKELY(s->mode != mode) && rc == 0) {
            rc = change_mode(m, p, s, &depth);
            mode = s->mode;
        }
        if (DPI_LIKELY(rc == 0) && dpi_is_due(m, p, base, s))
            rc = DPI_LIKELY(!(s->flags & DPI_SAVE_FLAGS)) ? run_step(m, p, base, s)
                                                          : run_saved(m, p, base, s);
        if (DPI_UNLIKELY(rc < 0)) {
            if (depth >= 0)
                dp_guard_leave(m->ctx, depth);
            publish_step(m->run, s->origin); /* an outer program then stores its own step */
            return dpi_fail_at(m->ctx, p, s);
        }
        for (uint32_t k = 0; k < s->n_frees; k++)
            dp_values_release(&m->values[base + p->links[s->frees + k]], 1);
    }
    if (DPI_UNLIKELY(depth >= 0))
        dp_guard_leave(m->ctx, depth);
    if (base == 0)
        publish_step(m->run, -1);
    return 0;
}

int dpi_run_uncharged(dp_ctx *ctx, const dp_program *p, dp_run *run, bool is_formula)
{
    dpi_machine m = {.ctx = ctx, .run = run, .is_formula = is_formula};
    int rc = dpi_check_ops(ctx, p, run);

    if (rc < 0)
        return rc;
    m.values = dp_arena_alloc_n(&ctx->arena, (size_t)p->frame, sizeof(*m.values));
    m.written = dp_arena_alloc_n(&ctx->arena, (size_t)p->frame, sizeof(bool));
    if (m.values == NULL || m.written == NULL)
        return dp_arena_failed(&ctx->arena, (size_t)p->frame * sizeof(*m.values),
                               "a program's values", &ctx->error);
    if (p->n_inputs > 0)
        dp_copy_n(m.values, run->inputs, p->n_inputs, sizeof(*m.values));
    rc = run_program(&m, p, 0, run->outputs, run->written);
    for (uint32_t i = 0; rc == 0 && i < p->n_outputs; i++) {
        dp_ref r = p->outputs[i].ref;
        uint8_t enum_kind = DPI_REF_KIND(r) == DPI_REF_VALUE ? p->values[r].enum_kind : 0;
        if (enum_kind != 0)
            rc = dpi_name_value(ctx, enum_kind, &run->outputs[i]);
    }
    if (rc < 0)
        dp_values_release(run->outputs, p->n_outputs);
    return rc;
}

/* Run p while the number of its values is charged to the account.  The bytes of the array and of
 * the tensors are charged where they are allocated. */
static int run_pinned(dp_ctx *ctx, const dp_program *p, dp_run *run)
{
    if (ctx->account == NULL)
        return dpi_run_uncharged(ctx, p, run, false);
    int rc = dp_account_charge(ctx->account, DP_HOLDER_INTERMEDIATES, p->frame, 0, &ctx->error);
    if (rc < 0)
        return rc;
    rc = dpi_run_uncharged(ctx, p, run, false);
    dp_account_refund(ctx->account, DP_HOLDER_INTERMEDIATES, p->frame, 0);
    return rc;
}

int dp_program_run(dp_ctx *ctx, const dp_program *p, dp_run *run)
{
    if (!DPI_GIVEN(&ctx->error, DP_EVALUE, p, run))
        return DP_EVALUE;
    /* If a kernel runs the program, its call has pinned the registry's snapshot already. */
    bool begun = ctx->thread == NULL || ctx->pins > 0;

    publish_step(run, -1);
    run->unspecified = NULL;
    run->n_unspecified = 0;
    if (p->n_outputs > 0)
        dp_zero_n(run->outputs, p->n_outputs, sizeof(*run->outputs));
    dp_error_clear(&ctx->error);
    if (ctx->reg != p->reg)
        return dp_error_set(&ctx->error, DP_EVALUE, "the program was made for another registry");
    int rc = begun ? dp_ctx_begin(ctx) : 0;
    if (rc < 0)
        return rc;
    rc = run_pinned(ctx, p, run);
    if (begun)
        dp_ctx_end(ctx);
    return rc;
}
