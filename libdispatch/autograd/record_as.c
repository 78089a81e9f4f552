/* record_as.c -- record a call whose gradients another operator computes (dp_record_as,
 * torch/csrc/autograd/custom_function.h).
 *
 * Such a call gets a formula, too, whose program is made here instead of read from text: its inputs
 * are the gradients of the returns and the saved values, its one step calls the backward
 * operator.  Values that are neither argument nor return are recorded as further arguments.  The
 * kernel that records keeps the formulas it has made, so that each is made once. */
#include "base/account.h"
#include "dispatch/call/enter.h"
#include "dispatch/plugin/plugins.h"
#include "history.h"
#include "program/program_i.h"
#include <stdio.h>

enum { LIMIT_MADE = 16 /* formulas that one kernel keeps */ };

typedef struct maker {
    dp_call *call;
    const dp_recording *how;
    const dp_schema *schema, *backward; /* of the recorded and of the backward operator */
    dp_builder *b;
    dpi_formula *f;
    dp_ref args[DP_LIMIT_ARGUMENTS]; /* arguments of the backward operator's call */
} maker;

static int fail(const maker *m, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int fail(const maker *m, int code, const char *format, ...)
{
    char what[400];
    va_list ap;

    va_start(ap, format);
    vsnprintf(what, sizeof(what), format, ap);
    va_end(ap);
    return dp_error_set(&m->call->ctx->error, code, "dp_record_as: %s: %s", m->schema->name, what);
}

/* Name the recorded operator in the error of the builder; returns `rc`, or the new code. */
static int named(const maker *m, int rc)
{
    dp_error *e = &m->call->ctx->error;
    char why[sizeof(e->message)];

    if (rc == 0 || rc == DP_ERESOURCE || rc == DP_ENOTIMPL)
        return rc;
    snprintf(why, sizeof(why), "%s", e->message);
    return fail(m, DP_EPLUGIN, "%s", why);
}

/* -- checks -- */

/* Is `t` the type Tensor, or an optional Tensor, or, with `list`, a list of such tensors? */
static bool is_tensor(const dpi_type *t, bool list)
{
    if (t->kind == DPI_TYPE_OPTIONAL)
        t = t->elem;
    if (list && t->kind != DPI_TYPE_LIST)
        return false;
    if (list)
        t = t->elem->kind == DPI_TYPE_OPTIONAL ? t->elem->elem : t->elem;
    return t->kind == DPI_TYPE_TENSOR;
}

static bool has_gradient(const maker *m, uint32_t arg)
{
    const dpi_type *t = m->schema->args[arg].type;

    return (is_tensor(t, false) || is_tensor(t, true)) &&
           (m->how->arguments == 0 || (m->how->arguments >> arg & 1));
}

/* Are only the first `n` bits of `mask` set? */
static bool is_within(uint64_t mask, uint32_t n)
{
    return n >= 64 || mask >> n == 0;
}

static int check_saved(const maker *m)
{
    const dp_schema *s = m->schema;
    size_t n = s->n_args;

    for (size_t i = 0; i < m->how->n_saved; i++) {
        const dp_saved *v = &m->how->saved[i];
        bool ret = v->kind == DP_SAVED_RETURN;
        if (v->kind < DP_SAVED_ARGUMENT || v->kind > DP_SAVED_VALUE)
            return fail(m, DP_EPLUGIN, "saved value %zu is of kind %u, want 1 to %d", i, v->kind,
                        DP_SAVED_VALUE);
        n += v->kind == DP_SAVED_VALUE;
        if (v->kind != DP_SAVED_VALUE && v->index >= (ret ? s->n_rets : s->n_args))
            return fail(m, DP_EPLUGIN, "saved value %zu is %s %u, and the operator has %u", i,
                        ret ? "return" : "argument", v->index, ret ? s->n_rets : s->n_args);
    }
    if (n > DP_LIMIT_ARGUMENTS)
        return fail(m, DP_EPLUGIN,
                    "its %u arguments and the saved values are %zu, at most %d are "
                    "possible",
                    s->n_args, n, DP_LIMIT_ARGUMENTS);
    return 0;
}

/* Check the returns of the backward operator: a gradient for each argument that has one. */
static int check_gradients(const maker *m)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < m->schema->n_args; i++) {
        if (!has_gradient(m, i))
            continue;
        bool list = is_tensor(m->schema->args[i].type, true);
        if (n < m->backward->n_rets && !is_tensor(m->backward->rets[n].type, list))
            return fail(m, DP_EPLUGIN, "return %u of %s is no %s, the gradient of '%s'", n,
                        m->backward->name, list ? "list of tensors" : "tensor",
                        m->schema->args[i].name);
        n++;
    }
    if (n != m->backward->n_rets)
        return fail(m, DP_EPLUGIN, "%s returns %u values, want %u, one for each tensor argument",
                    m->backward->name, m->backward->n_rets, n);
    return 0;
}

static int check(maker *m)
{
    const dp_recording *how = m->how;
    dp_ctx *ctx = m->call->ctx;
    const dp_op *op = how->backward != NULL ? dp_op_find(ctx, how->backward) : NULL;

    if (how->backward == NULL)
        return fail(m, DP_EPLUGIN, "it names no backward operator");
    if (op == NULL)
        return fail(m, DP_ENOTFOUND, "its backward operator %s is not defined", how->backward);
    m->backward = dpi_snapshot_entry(dpi_ctx_snapshot(ctx), op)->schema;
    if (!is_within(how->arguments, m->schema->n_args) ||
        !is_within(how->non_differentiable, m->schema->n_rets))
        return fail(m, DP_EPLUGIN,
                    "`arguments` %#llx or `non_differentiable` %#llx has bits for "
                    "more than %u arguments and %u returns",
                    (unsigned long long)how->arguments, (unsigned long long)how->non_differentiable,
                    m->schema->n_args, m->schema->n_rets);
    int rc = check_saved(m);
    return rc == 0 ? check_gradients(m) : rc;
}

/* -- making the program -- */

/* Add an input, the next argument of the step.  If another input has `name` already, the new input
 * gets no name.  `type` NULL: any type. */
static int add_input(maker *m, const char *name, const dpi_type *type, dpi_source from)
{
    dpi_formula *f = m->f;
    dpi_text text = {0};
    dp_ref taken;

    if (f->n_inputs == DP_LIMIT_ARGUMENTS)
        return fail(m, DP_EPLUGIN, "%s would get more than %d arguments", m->backward->name,
                    DP_LIMIT_ARGUMENTS);
    if (type != NULL)
        dpi_type_print(&text, type, true);
    if (type != NULL && from.kind == DPI_FROM_GRAD && from.optional && !from.list &&
        type->kind != DPI_TYPE_OPTIONAL)
        dpi_text_add(&text, "?");
    if (dp_builder_find(m->b, name, &taken) == 0)
        name = NULL;
    dp_error_clear(&m->call->ctx->error);
    int rc = text.failed ? dpi_no_memory(&m->call->ctx->error, "a formula")
                         : dp_builder_input(m->b, name, type != NULL ? text.s : NULL,
                                            &m->args[f->n_inputs]);
    dpi_text_fini(&text);
    if (rc == 0)
        f->inputs[f->n_inputs++] = from;
    return rc;
}

/* Add the gradients of the returns. */
static int add_gradients(maker *m)
{
    const dp_schema *s = m->schema;
    int rc = 0;

    for (uint32_t i = 0; i < s->n_rets && rc == 0; i++) {
        const dpi_type *t = s->rets[i].type;
        bool list = is_tensor(t, true);
        char name[16];
        if (list && s->n_rets > 1)
            return fail(m, DP_ENOTIMPL, "return %u is a list beside other returns", i);
        snprintf(name, sizeof(name), i > 0 ? "grad%u" : "grad", i);
        if (list || is_tensor(t, false))
            rc = add_input(m, name, list ? NULL : t,
                           (dpi_source){.kind = DPI_FROM_GRAD,
                                        .index = (uint16_t)i,
                                        .optional = (m->how->flags & DP_RECORD_UNDEFINED) != 0,
                                        .list = list});
    }
    return rc;
}

static int add_saved(maker *m)
{
    const dp_schema *s = m->schema;
    uint32_t extra = s->n_args;
    int rc = 0;

    for (size_t i = 0; i < m->how->n_saved && rc == 0; i++) {
        const dp_saved *v = &m->how->saved[i];
        dpi_source from = {.kind = DPI_FROM_ARG, .index = (uint16_t)v->index};
        char name[32];
        snprintf(name, sizeof(name), "saved%zu", i);
        if (v->kind == DP_SAVED_ARGUMENT) {
            rc = add_input(m, s->args[v->index].name, s->args[v->index].type, from);
        } else if (v->kind == DP_SAVED_RETURN) {
            from.kind = DPI_FROM_RET;
            snprintf(name, sizeof(name), v->index > 0 ? "result%u" : "result", v->index);
            rc = add_input(m, name, s->rets[v->index].type, from);
        } else if (v->kind == DP_SAVED_NEEDED) {
            from.kind = DPI_FROM_NEED;
            rc = add_input(m, name, NULL, from);
        } else {
            from.index = (uint16_t)extra++;
            rc = add_input(m, name, NULL, from);
        }
    }
    return rc;
}

/* Add the call of the backward operator, and its returns as outputs. */
static int add_call(maker *m)
{
    dpi_formula *f = m->f;
    dp_ref first = 0;
    const dp_step call = {.size = sizeof(call),
                          .kind = DP_STEP_CALL,
                          .name = m->how->backward,
                          .args = m->args,
                          .n_args = f->n_inputs,
                          .n_rets = m->backward->n_rets};
    int rc = dp_builder_add(m->b, &call, &first, NULL);

    for (uint32_t i = 0; i < m->schema->n_args && rc == 0; i++) {
        if (!has_gradient(m, i))
            continue;
        rc = dp_builder_output(m->b, m->schema->args[i].name, first + f->n_outputs);
        f->output_args[f->n_outputs++] = (uint16_t)i;
    }
    if (rc == 0)
        rc = dp_builder_finish(m->b, &f->program);
    return named(m, rc);
}

static int note(maker *m)
{
    const dp_recording *how = m->how;
    dpi_made *made = dp_calloc(
        1, dp_size_plus(sizeof(*made), dp_size_times(how->n_saved, 2 * sizeof(uint32_t))));

    if ((m->f->made = made) == NULL)
        return dpi_no_memory(&m->call->ctx->error, "a formula");
    made->op = m->call->op;
    made->schema = dpi_schema_ref((dp_schema *)(uintptr_t)m->schema);
    made->backward = dpi_schema_ref((dp_schema *)(uintptr_t)m->backward);
    made->arguments = how->arguments;
    made->non_differentiable = how->non_differentiable;
    made->flags = how->flags;
    made->n_saved = (uint32_t)how->n_saved;
    for (size_t i = 0; i < how->n_saved; i++) {
        made->saved[2 * i] = how->saved[i].kind;
        made->saved[2 * i + 1] = how->saved[i].index;
    }
    return 0;
}

static int make(maker *m, dpi_formula **out)
{
    dp_ctx *ctx = m->call->ctx;
    int rc = check(m);

    if (rc < 0)
        return rc;
    dpi_formula *f = m->f = dp_calloc(1, sizeof(*f));
    if (f == NULL)
        return dpi_no_memory(&ctx->error, "a formula");
    atomic_init(&f->refs, 1);
    f->differentiable = ~m->how->non_differentiable;
    f->once = (m->how->flags & DP_RECORD_ONCE) != 0;
    f->inputs = dp_calloc(DP_LIMIT_ARGUMENTS, sizeof(*f->inputs));
    f->output_args = dp_calloc(m->schema->n_args + 1, sizeof(*f->output_args));
    rc = f->inputs == NULL || f->output_args == NULL ? dpi_no_memory(&ctx->error, "a formula")
                                                     : dp_builder_new(ctx, &m->b);
    if (rc == 0)
        rc = add_gradients(m);
    if (rc == 0)
        rc = add_saved(m);
    if (rc == 0)
        rc = add_call(m);
    dp_builder_free(m->b);
    if (rc == 0)
        rc = dpi_formula_number(ctx, f);
    if (rc == 0)
        rc = note(m);
    if (rc == 0)
        *out = f;
    else
        dpi_formula_unref(f);
    return rc;
}

/* -- the formulas of a kernel -- */

static bool same_schema(const dp_schema *a, const dp_schema *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a->text, b->text) == 0);
}

/* Is `f` what make() would make? */
static bool fits(const maker *m, const dpi_formula *f)
{
    const dp_recording *how = m->how;
    const dpi_made *made = f->made;

    if (made == NULL || made->op != m->call->op || made->flags != how->flags ||
        made->n_saved != how->n_saved || made->arguments != how->arguments ||
        made->non_differentiable != how->non_differentiable || how->backward == NULL ||
        strcmp(f->program->ops[0].op->name, how->backward) != 0 ||
        !same_schema(made->schema, m->schema))
        return false;
    for (size_t i = 0; i < how->n_saved; i++)
        if (made->saved[2 * i] != how->saved[i].kind ||
            (how->saved[i].kind != DP_SAVED_VALUE && made->saved[2 * i + 1] != how->saved[i].index))
            return false;
    const dpi_entry *e = dpi_snapshot_entry(dpi_ctx_snapshot(m->call->ctx), f->program->ops[0].op);
    return e != NULL && same_schema(made->backward, e->schema);
}

/* Find or make the formula: *out, with a reference. */
static int formula_of(maker *m, dpi_formula **out)
{
    /* The cast drops const: only the list of formulas in `compiled` changes. */
    dpi_kernel *k = (dpi_kernel *)(uintptr_t)dpi_ctx_kernel(m->call->ctx);
    uint32_t n = 0;
    dpi_formula *f = k != NULL ? atomic_load_explicit(&k->compiled, memory_order_acquire) : NULL;
    dpi_formula *last = NULL;

    for (; f != NULL; last = f, f = atomic_load_explicit(&f->made->next, memory_order_acquire), n++)
        if (fits(m, f)) {
            *out = dpi_formula_ref(f);
            return 0;
        }
    int rc = make(m, out);
    if (rc < 0 || k == NULL || n >= LIMIT_MADE)
        return rc;
    void *none = NULL;
    dpi_formula *no_formula = NULL;
    dpi_formula_ref(*out);
    bool kept = last == NULL ? atomic_compare_exchange_strong(&k->compiled, &none, *out)
                             : atomic_compare_exchange_strong(&last->made->next, &no_formula, *out);
    if (!kept) /* another thread was faster; the next call finds what that one made */
        dpi_formula_unref(*out);
    return 0;
}

/* -- recording -- */

static int record(const maker *m, dpi_formula *f)
{
    const dp_recording *how = m->how;
    dp_call with = *m->call;
    dp_value args[DP_LIMIT_ARGUMENTS];
    uint32_t n_own = with.n_args;

    dp_copy_n(args, with.args, n_own, sizeof(dp_value));
    for (size_t i = 0; i < how->n_saved; i++)
        if (how->saved[i].kind == DP_SAVED_VALUE)
            args[with.n_args++] = how->saved[i].value;
    with.args = args;
    return dpi_record_with(&with, n_own, f);
}

/* Can some argument require a gradient? */
static bool may_record(const dp_call *call)
{
    if (dp_ctx_mode(call->ctx)->no_grad)
        return false;
    for (uint32_t i = 0; i < call->n_args; i++) {
        const dp_value *v = &call->args[i];
        if (v->tag == DP_TAG_TENSOR && dpi_may_have_edge(v->u.t))
            return true;
        for (uint32_t k = 0; v->tag == DP_TAG_TENSORS && k < v->len; k++)
            if (v->u.tensors[k] != NULL && dpi_may_have_edge(v->u.tensors[k]))
                return true;
    }
    return false;
}

int dp_record_as(dp_call *call, const dp_recording *how)
{
    if (!DPI_GIVEN(&call->ctx->error, DP_EPLUGIN, how))
        return DP_EPLUGIN;
    if (how->size < sizeof(*how))
        return dp_error_set(&call->ctx->error, DP_EPLUGIN,
                            "dp_record_as: how->size is %u, want at least %zu", how->size,
                            sizeof(*how));
    if (!may_record(call))
        return dpi_record_with(call, call->n_args, NULL);
    const dpi_entry *e = dpi_snapshot_entry(dpi_ctx_snapshot(call->ctx), call->op);
    maker m = {.call = call, .how = how, .schema = e->schema};
    dpi_formula *f = NULL;
    int rc = formula_of(&m, &f);

    if (rc < 0)
        return rc;
    rc = record(&m, f);
    dpi_formula_unref(f);
    return rc;
}

__attribute__((constructor)) static void fill(void)
{
    dpi_fill_dp_record_as(dp_record_as);
}
