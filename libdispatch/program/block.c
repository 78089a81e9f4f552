/* block.c -- a finished program: its reference count, and queries about its steps and values. */
#include "program_i.h"
#include "dispatch/call/enums.h"
#include <stdio.h>

/* -- life -- */

void dpi_program_drop(dp_program *p)
{
    dp_backends_unpin(p->backends);
    dp_values_release(p->constants, p->n_constants);
    for (uint32_t i = 0; i < p->n_types; i++)
        dp_schema_free(p->types[i].schema);
    for (uint32_t i = 0; i < p->n_ops; i++)
        dp_schema_free(p->ops[i].schema);
    for (uint32_t i = 0; i < p->n_subs; i++)
        dp_program_unref(p->subs[i]);
}

dp_program *dp_program_ref(dp_program *p)
{
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return p;
}

dp_program *dp_program_unref(dp_program *p)
{
    if (p == NULL || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) > 1)
        return NULL;
    dpi_program_drop(p);
    dp_free(p);
    return NULL;
}

/* -- queries -- */

/* Copy the first `size` bytes of `from` [bytes].  `size`: size of the struct in the version of the
 * header that the caller was compiled with. */
static void copy_sized(void *out, uint32_t size, const void *from, size_t bytes)
{
    memcpy(out, from, size < bytes ? size : bytes);
    memcpy(out, &size, sizeof(size));
}

void dp_program_info_get(const dp_program *p, dp_program_info *out)
{
    dp_program_info info = {.n_inputs = p->n_inputs,
                            .n_outputs = p->n_outputs,
                            .n_steps = p->n_steps,
                            .n_constants = p->n_constants,
                            .depth = p->depth,
                            .expanded = p->expanded,
                            .bytes = p->bytes,
                            .constant_bytes = p->constant_bytes};

    copy_sized(out, out->size, &info, sizeof(info));
}

const char *dp_program_input_name(const dp_program *p, uint32_t i)
{
    return p->values[i].name != NULL ? p->values[i].name : "";
}

const char *dp_program_input_type(const dp_program *p, uint32_t i)
{
    return p->types[p->inputs[i].type].text;
}

bool dp_program_input_written(const dp_program *p, uint32_t i)
{
    return p->values[i].written != 0;
}

const char *dp_program_output_name(const dp_program *p, uint32_t i)
{
    return p->outputs[i].name;
}

void dp_program_output_alias(const dp_program *p, uint32_t i, dp_alias *out)
{
    const dp_alias *alias = &p->outputs[i].alias;

    copy_sized(out, out->size, alias, sizeof(*alias));
}

dp_ref dp_program_output(const dp_program *p, uint32_t i)
{
    return p->outputs[i].ref;
}

const dp_value *dp_program_constant(const dp_program *p, dp_ref r)
{
    return DPI_REF_KIND(r) == DPI_REF_CONSTANT ? &p->constants[DPI_REF_INDEX(r)] : NULL;
}

const char *dp_program_value_name(const dp_program *p, dp_ref r, char buf[DP_KEY_NAME_MAX])
{
    uint32_t i = DPI_REF_INDEX(r);
    bool constant = DPI_REF_KIND(r) == DPI_REF_CONSTANT;
    const char *name = constant ? p->constant_names[i] : p->values[i].name;

    if (name != NULL || constant)
        snprintf(buf, DP_KEY_NAME_MAX, "%s", name != NULL ? name : "");
    else
        snprintf(buf, DP_KEY_NAME_MAX, "%%%u", i);
    return buf;
}

const uint32_t *dpi_step_origins(const dp_program *p, const dpi_step *s, uint32_t *n)
{
    *n = s->origins > 0 ? p->origins[s->origins - 1] : 1;
    return s->origins > 0 ? &p->origins[s->origins] : &s->origin;
}

static void fill_step_info(const dp_program *p, uint32_t i, dp_step_info *out)
{
    static const char *const kinds[] = {
        [DP_STEP_CALL] = "CALL",     [DP_STEP_GET] = "GET",       [DP_STEP_LIST] = "LIST",
        [DP_STEP_ITEM] = "ITEM",     [DP_STEP_SUB] = "SUB",       [DPI_STEP_BIND] = "CALL",
        [DP_STEP_SCALAR] = "SCALAR", [DP_STEP_SELECT] = "SELECT",
    };
    const dpi_step *s = &p->steps[i];

    *out = (dp_step_info){.kind = kinds[s->kind],
                          .name = "",
                          .origin = s->origin,
                          .decided = s->kind != DPI_STEP_BIND,
                          .n_args = s->n_args,
                          .n_rets = s->n_rets,
                          .n_frees = s->n_frees,
                          .args = p->links + s->args,
                          .frees = p->links + s->frees,
                          .first = DPI_REF(DPI_REF_VALUE, s->ret),
                          .flags = s->flags,
                          .index = s->kind == DP_STEP_ITEM ? (int64_t)s->operand : -1,
                          .program = s->kind == DP_STEP_SUB ? p->subs[s->operand] : NULL};
    if (s->mode > 0)
        out->mode = &p->modes[s->mode - 1];
    out->origins = dpi_step_origins(p, s, &out->n_origins);
    if (s->kind == DP_STEP_CALL)
        out->name = p->ops[s->operand].schema->name;
    if (s->kind == DP_STEP_SCALAR)
        out->name = dpi_scalars[s->operand].name;
    if (s->kind == DP_STEP_SELECT)
        out->name = "select";
    if (s->when != DPI_REF_NONE)
        out->when = &s->when;
    if (s->kind == DP_STEP_GET)
        out->name = dpi_gets[s->operand].name;
    if (s->kind == DPI_STEP_BIND) {
        out->name = p->binds[s->operand].name;
        out->kwargs = p->binds[s->operand].kwargs;
    }
}

void dp_program_step(const dp_program *p, uint32_t i, dp_step_info *out)
{
    dp_step_info info;

    fill_step_info(p, i, &info);
    copy_sized(out, out->size, &info, sizeof(info));
}

const char *dp_program_argument_name(const dp_program *p, uint32_t step, uint32_t arg,
                                     char buf[DP_KEY_NAME_MAX])
{
    const dpi_step *s = &p->steps[step];
    const dp_value *v = dp_program_constant(p, p->links[s->args + arg]);

    if (s->kind != DP_STEP_CALL || v == NULL || v->tag != DP_TAG_INT)
        return NULL;
    return dpi_enum_name(dpi_enum_kind(p->ops[s->operand].schema->args[arg].type), v->u.i, buf);
}

int64_t dp_program_input_find(const dp_program *p, const char *name)
{
    uint32_t low = 0, high = p->n_inputs;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2, i = p->inputs[mid].by_name;
        int order = strcmp(dp_program_input_name(p, i), name);
        if (order == 0)
            return i;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return -1;
}
