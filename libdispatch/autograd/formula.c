/* formula.c -- compile the text of a formula: make its program, and find the source of each of the
 * program's inputs by the input's name (formula.h). */
#include "formula.h"
#include "dispatch/call/ctx.h"
#include "program/program_i.h"
#include <stdio.h>
#include <stdlib.h>

/* -- properties of tensors that a formula can read without saving the tensor -- */

/* dpi_source.field is one of these or an index in dpi_gets, the properties that GET steps read. */
enum { FIELD_DEFINED = DPI_GETS_MAX, FIELD_LEN };

int dpi_field_find(const char *name)
{
    if (strcmp(name, "defined") == 0)
        return FIELD_DEFINED;
    if (strcmp(name, "len") == 0)
        return FIELD_LEN;
    if (strcmp(name, "dtypes") == 0)
        return dpi_field_find("dtype");
    for (uint32_t i = 0; i < dpi_n_gets; i++)
        if (dpi_gets[i].n_args == 1 && strcmp(dpi_gets[i].name, name) == 0)
            return (int)i;
    return -1;
}

int dpi_field_read(dp_ctx *ctx, uint16_t field, const dp_value *v, dp_value *out)
{
    char *at = ctx->arena.at;
    dp_value found = {0};
    int rc = 0;

    if (field == FIELD_DEFINED) {
        found = dp_bool(v->tag == DP_TAG_TENSOR);
    } else if (field == FIELD_LEN) {
        found = dp_int(v->tag == DP_TAG_TENSORS ? v->len : 0);
    } else if (v->tag == DP_TAG_TENSOR) {
        rc = dpi_gets[field].fn(ctx, v, &found);
    } else if (v->tag == DP_TAG_TENSORS) {
        dp_value *items = dp_arena_alloc_n(&ctx->arena, v->len, sizeof(*items));
        if (items == NULL)
            rc = dpi_no_memory(&ctx->error, "what a formula saves");
        for (uint32_t i = 0; i < v->len && rc == 0; i++) {
            const dp_value item = dp_list_item(v, i);
            items[i] = (dp_value){0};
            if (item.u.t != NULL)
                rc = dpi_gets[field].fn(ctx, &item, &items[i]);
        }
        found = (dp_value){DP_TAG_LIST, v->len, {.values = items}};
    }
    if (rc == 0)
        rc = dp_value_copy(ctx, &found, out);
    dpi_arena_rewind(&ctx->arena, at);
    return rc;
}

/* -- compiling -- */

typedef struct compiler {
    dp_ctx *ctx;
    const dpi_entry *e;
    const dpi_kernel *k;
} compiler;

static int fail(const compiler *c, const char *what, const char *name)
{
    char why[sizeof(c->ctx->error.message)];

    snprintf(why, sizeof(why), "%s", c->ctx->error.code != 0 ? c->ctx->error.message : "");
    dp_error_clear(&c->ctx->error);
    return dp_error_set(&c->ctx->error, DP_EPLUGIN, "the formula of %s (%s:%u): %s '%.40s'%s%s",
                        c->e->op->name, c->k->file, c->k->line, what, name, why[0] ? ": " : "",
                        why);
}

static int argument_find(const dp_schema *s, const char *name, size_t n)
{
    for (uint32_t i = 0; i < s->n_args; i++)
        if (strlen(s->args[i].name) == n && memcmp(s->args[i].name, name, n) == 0)
            return (int)i;
    return -1;
}

/* Find the return that `name` [n] means: its name in the schema, "result" or "result1"; -1:
 * none. */
static int return_find(const dp_schema *s, const char *name, size_t n)
{
    for (uint32_t i = 0; i < s->n_rets; i++)
        if (s->rets[i].name != NULL && s->rets[i].name[0] != '\0' && strlen(s->rets[i].name) == n &&
            memcmp(s->rets[i].name, name, n) == 0)
            return (int)i;
    if (n < 6 || memcmp(name, "result", 6) != 0)
        return -1;
    int i = n == 6 ? 0 : name[6] - '0';
    return n <= 7 && i >= 0 && i < (int)s->n_rets ? i : -1;
}

/* Find the return whose gradient `name` means: "grad" or "grads" is that of return 0, "grad1" that
 * of return 1; -1: none. */
static int grad_find(const dp_schema *s, const char *name)
{
    if (strcmp(name, "grads") == 0) /* the return is a list */
        return s->n_rets > 0 ? 0 : -1;
    if (strncmp(name, "grad", 4) != 0)
        return -1;
    char *end;
    long i = name[4] == '\0' ? 0 : strtol(name + 4, &end, 10);
    return (name[4] == '\0' || *end == '\0') && i >= 0 && i < (long)s->n_rets ? (int)i : -1;
}

static int source_of(const compiler *c, const char *name, const char *type, dpi_source *out)
{
    const dp_schema *s = c->e->schema;
    const char *dot = strchr(name, '.');
    size_t n = dot != NULL ? (size_t)(dot - name) : strlen(name);
    int i;

    *out = (dpi_source){.kind = DPI_FROM_GRAD};
    if (strcmp(name, "create_graph") == 0) {
        out->kind = DPI_FROM_CREATE;
        return 0;
    }
    if (dot != NULL && n == 4 && memcmp(name, "need", 4) == 0) {
        i = argument_find(s, dot + 1, strlen(dot + 1));
        out->kind = DPI_FROM_NEED;
        out->index = (uint16_t)i;
        return i >= 0 ? 0 : fail(c, "no argument is called", dot + 1);
    }
    if (dot == NULL && argument_find(s, name, n) < 0 && (i = grad_find(s, name)) >= 0) {
        out->index = (uint16_t)i;
        out->optional = type[strlen(type) - 1] == '?';
        out->list = s->rets[i].type->kind == DPI_TYPE_LIST;
        return 0;
    }
    i = argument_find(s, name, n);
    out->kind = dot != NULL ? DPI_FROM_ARG_FIELD : DPI_FROM_ARG;
    if (i < 0) {
        i = return_find(s, name, n);
        out->kind = dot != NULL ? DPI_FROM_RET_FIELD : DPI_FROM_RET;
    }
    int field = dot != NULL ? dpi_field_find(dot + 1) : 0;
    if (i < 0 || field < 0)
        return fail(c, i < 0 ? "no argument or return is called" : "no field is called", name);
    out->index = (uint16_t)i;
    out->field = (uint16_t)field;
    return 0;
}

static int fail_flag(const compiler *c, const char *what, const char *at, size_t n)
{
    char name[41];

    snprintf(name, sizeof(name), "%.*s", (int)(n < sizeof(name) ? n : sizeof(name) - 1), at);
    return fail(c, what, name);
}

static bool read_switch(dpi_formula *f, const char *word, size_t n)
{
    const struct {
        const char *name;
        bool *on;
    } switches[] = {{"detaches", &f->detaches},
                    {"once_differentiable", &f->once},
                    {"reshapes", &f->reshapes},
                    {"through", &f->through},
                    {"unrecorded", &f->unrecorded}};

    for (size_t i = 0; i < DPI_COUNT(switches); i++)
        if (strlen(switches[i].name) == n && memcmp(switches[i].name, word, n) == 0)
            return *switches[i].on = true;
    return false;
}

/* Read the first line of a formula, such as "flags differentiable=101 clone=self", and move *text
 * behind that line. */
static int read_flags(const compiler *c, dpi_formula *f, const char **text)
{
    const char *end = strchr(*text, '\n'), *at = *text + strlen("flags");

    if (strncmp(*text, "flags", strlen("flags")) != 0 || end == NULL)
        return fail(c, "its text does not begin with", "flags");
    *text = end + 1;
    f->differentiable = ~(uint64_t)0;
    while (at < end) {
        size_t n;
        at += strspn(at, " ");
        n = strcspn(at, " \n");
        if (n > 15 && strncmp(at, "differentiable=", 15) == 0) {
            f->differentiable = 0;
            for (size_t i = 15; i < n; i++)
                f->differentiable |= (uint64_t)(at[i] == '1') << (i - 15);
        } else if (n > 6 && strncmp(at, "clone=", 6) == 0) {
            int i = argument_find(c->e->schema, at + 6, n - 6);
            if (i < 0)
                return fail_flag(c, "it clones no argument", at + 6, n - 6);
            f->clone |= (uint64_t)1 << i;
        } else if (n > 0 && !read_switch(f, at, n)) {
            return fail_flag(c, "no flag is called", at, n);
        }
        at += n;
    }
    return 0;
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
        int rc = source_of(c, name, dp_program_input_type(f->program, i), from);
        if (rc < 0)
            return rc;
    }
    return dpi_formula_number(c->ctx, f);
}

static int read_outputs(const compiler *c, dpi_formula *f)
{
    f->output_args = dp_calloc(f->n_outputs + 1, sizeof(*f->output_args));
    if (f->output_args == NULL)
        return dpi_no_memory(&c->ctx->error, "a formula");
    for (uint32_t i = 0; i < f->n_outputs; i++) {
        const char *name = dp_program_output_name(f->program, i);
        const dp_value *v = dp_program_constant(f->program, dp_program_output(f->program, i));
        int arg = argument_find(c->e->schema, name, strlen(name));
        if (arg < 0)
            return fail(c, "no argument is called", name);
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
    int rc = read_flags(c, f, &text);
    if (rc == 0 && (rc = dp_builder_new(c->ctx, &b)) == 0) {
        rc = dp_builder_text(b, text);
        if (rc == 0)
            rc = dp_builder_finish(b, &f->program);
        dp_builder_free(b);
        if (rc < 0 && rc != DP_ERESOURCE)
            rc = fail(c, "its text is wrong", "");
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
    dpi_on_formula_end(formula_end);
}

int dpi_formula_compile(dp_ctx *ctx, const dpi_entry *e, dpi_formula **out)
{
    dpi_kernel *k = e->formula;
    void *none = NULL;
    int rc = compile(&(compiler){ctx, e, k}, out);

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
