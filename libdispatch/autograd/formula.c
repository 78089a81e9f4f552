/* formula.c -- compile the text of a formula: make its program, and number what it saves
 * (formula.h). */
#include "formula.h"
#include "dispatch/call/ctx.h"
#include "program/program_i.h"

/* -- compiling -- */

typedef struct compiler {
    dp_ctx *ctx;
    const dpi_kernel *k;
    dpi_formula_site at;
} compiler;

/* Put the place of the formula before the error that its program's text has. */
static int fail_text(const compiler *c)
{
    const dp_error why = c->ctx->error;

    return dp_error_set(&c->ctx->error, DP_EPLUGIN, "the formula of %s (%s:%u): %s", c->at.op,
                        c->at.file, c->at.line, why.message);
}

static bool is_of(const dpi_source *from, int whole, int field)
{
    return (int)from->kind == whole || (int)from->kind == field;
}

/* Give each value that the formula saves a slot, first those of arguments, then those of
 * returns. */
int dpi_formula_number(dp_ctx *ctx, dpi_formula *f)
{
    f->saves = dp_calloc(f->n_inputs + 1, sizeof(*f->saves));
    if (f->saves == NULL)
        return dpi_no_memory(&ctx->error, "a formula");
    for (uint32_t i = 0; i < f->n_inputs; i++)
        f->inputs[i].need = f->program->values[i].need;
    for (int rets = 0; rets < 2; rets++) {
        for (uint32_t i = 0; i < f->n_inputs; i++) {
            dpi_source *from = &f->inputs[i];
            if (!is_of(from, rets ? DPI_FROM_RET : DPI_FROM_ARG,
                       rets ? DPI_FROM_RET_FIELD : DPI_FROM_ARG_FIELD))
                continue;
            from->slot = (uint16_t)f->n_slots;
            f->saves[f->n_slots++] = (uint16_t)i;
        }
        f->n_arg_saves = rets ? f->n_arg_saves : f->n_slots;
    }
    return 0;
}

static int read_inputs(const compiler *c, dpi_formula *f)
{
    f->inputs = dp_calloc(f->n_inputs + 1, sizeof(*f->inputs));
    if (f->inputs == NULL)
        return dpi_no_memory(&c->ctx->error, "a formula");
    for (uint32_t i = 0; i < f->n_inputs; i++) {
        const char *name = dp_program_input_name(f->program, i);
        dpi_source *from = &f->inputs[i];
        int rc = dpi_formula_source(&c->at, name, dp_program_input_type(f->program, i), from);
        if (rc < 0)
            return rc;
    }
    return dpi_formula_number(c->ctx, f);
}

static int read_outputs(const compiler *c, dpi_formula *f)
{
    uint64_t given = 0;

    f->output_args = dp_calloc(f->n_outputs + 1, sizeof(*f->output_args));
    if (f->output_args == NULL)
        return dpi_no_memory(&c->ctx->error, "a formula");
    for (uint32_t i = 0; i < f->n_outputs; i++) {
        const char *name = dp_program_output_name(f->program, i);
        const dp_value *v = dp_program_constant(f->program, dp_program_output(f->program, i));
        int arg = dpi_formula_output(&c->at, name, &given);
        if (arg < 0)
            return arg;
        f->output_args[i] = (uint16_t)arg;
        if (v != NULL && v->tag == DP_TAG_STR)
            f->missing |= (uint64_t)1 << arg;
    }
    return 0;
}

static int compile(const compiler *c, dpi_formula **out)
{
    dpi_formula *f = dp_calloc(1, sizeof(*f));
    const char *text = c->k->code;
    dp_builder *b = NULL;

    if (f == NULL)
        return dpi_no_memory(&c->ctx->error, "a formula");
    atomic_init(&f->refs, 1);
    int rc = dpi_formula_check(c->at.op, c->at.schema, c->k, &c->ctx->error);
    if (rc == 0)
        rc = dpi_formula_flags(&c->at, f, &text);
    if (rc == 0 && (rc = dp_builder_new(c->ctx, &b)) == 0) {
        rc = dp_builder_text(b, text);
        if (rc == 0)
            rc = dp_builder_finish(b, &f->program);
        dp_builder_free(b);
        if (rc < 0 && rc != DP_ERESOURCE)
            rc = fail_text(c);
    }
    if (rc == 0) {
        dp_program_info info = {.size = sizeof(info)};
        dp_program_info_get(f->program, &info);
        f->n_inputs = info.n_inputs;
        f->n_outputs = info.n_outputs;
        rc = read_inputs(c, f);
    }
    if (rc == 0)
        rc = read_outputs(c, f);
    if (rc == 0)
        *out = f;
    else
        dpi_formula_unref(f);
    return rc;
}

/* -- the cache: dpi_kernel.compiled of the plugin's registration -- */

static void formula_end(void *compiled)
{
    for (dpi_formula *f = compiled, *next; f != NULL; f = next) {
        next = f->made != NULL ? atomic_load(&f->made->next) : NULL;
        dpi_formula_unref(f);
    }
}

__attribute__((constructor)) static void listen(void)
{
    dpi_on_formula(dpi_formula_check, formula_end);
}

int dpi_formula_compile(dp_ctx *ctx, const dpi_entry *e, dpi_formula **out)
{
    dpi_kernel *k = e->formula;
    void *none = NULL;
    const dpi_formula_site at = {&ctx->error, e->op->name, e->schema, k->file, k->line};
    int rc = compile(&(compiler){ctx, k, at}, out);

    if (rc == 0 && !atomic_compare_exchange_strong(&k->compiled, &none, *out)) {
        dpi_formula_unref(*out); /* another thread was faster */
        *out = none;
    }
    return rc;
}

void dpi_formula_unref(dpi_formula *f)
{
    if (f == NULL || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1)
        return;
    dp_program_unref(f->program);
    dp_free(f->inputs);
    dp_free(f->output_args);
    dp_free(f->saves);
    if (f->made != NULL) {
        dp_schema_free(f->made->schema);
        dp_schema_free(f->made->backward);
        dp_free(f->made);
    }
    dp_free(f);
}
