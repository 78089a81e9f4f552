/* lay.c -- make the finished program: compute which values each step uses last and which outputs
 * need it, sort the inputs by name, and copy everything into one block of memory.
 *
 * lay() is called twice: first only to count the bytes of the block, then to fill it. */
#include "program_i.h"
#include "dispatch/call/ctx.h"
#include "dispatch/call/enums.h"
#include <stdlib.h>

/* -- last uses -- */

/* Set last[v] to the index of the last step that uses value v; UINT32_MAX: v is an output. */
static void note_uses(const dp_program *p, uint32_t *last)
{
    for (uint32_t s = 0; s < p->n_steps; s++) {
        const dpi_step *step = &p->steps[s];
        for (uint32_t i = 0; i < step->n_rets; i++)
            last[step->ret + i] = s; /* an unused return is released after its own step */
        for (uint32_t i = 0; i < step->n_args; i++) {
            dp_ref r = p->links[step->args + i];
            if (DPI_REF_KIND(r) == DPI_REF_VALUE)
                last[DPI_REF_INDEX(r)] = s;
        }
        if (step->when != DPI_REF_NONE && DPI_REF_KIND(step->when) == DPI_REF_VALUE)
            last[DPI_REF_INDEX(step->when)] = s;
    }
    for (uint32_t i = 0; i < p->n_outputs; i++)
        if (DPI_REF_KIND(p->outputs[i].ref) == DPI_REF_VALUE)
            last[DPI_REF_INDEX(p->outputs[i].ref)] = UINT32_MAX;
}

/* Must `value` be released after step `last`, which uses it last?  This is so only if the value may
 * refer to a tensor or an object. */
static bool is_freed(const dp_program *p, uint32_t value, uint32_t last)
{
    const uint32_t needs_release =
        1u << DP_TAG_TENSOR | 1u << DP_TAG_TENSORS | 1u << DP_TAG_LIST | 1u << DP_TAG_OBJECT;

    return last != UINT32_MAX && (p->values[value].tags & needs_release) != 0;
}

/* Append to p->links, for each step, the values that are released after it. */
static int add_frees(dp_builder *b)
{
    dp_program *p = &b->p;
    uint32_t *last = dp_malloc_n((size_t)p->n_values, sizeof(*last));

    if (last == NULL || !DPI_GROW(b, links, p->n_values)) {
        dp_free(last);
        return dpi_no_memory(&b->ctx->error, "a program");
    }
    note_uses(p, last);
    for (uint32_t s = 0; s < p->n_steps; s++)
        p->steps[s].n_frees = 0;
    for (uint32_t v = p->n_inputs; v < p->n_values; v++) /* the caller owns the inputs */
        if (is_freed(p, v, last[v]))
            p->steps[last[v]].n_frees++;
    for (uint32_t s = 0; s < p->n_steps; s++) {
        p->steps[s].frees = p->n_links;
        p->n_links += p->steps[s].n_frees;
        p->steps[s].n_frees = 0;
    }
    for (uint32_t v = p->n_inputs; v < p->n_values; v++)
        if (is_freed(p, v, last[v])) {
            dpi_step *step = &p->steps[last[v]];
            p->links[step->frees + step->n_frees++] = DPI_REF(DPI_REF_VALUE, v);
        }
    dp_free(last);
    return 0;
}

/* -- the outputs for which each step is needed -- */

static void add_need(dpi_value_info *values, dp_ref r, uint64_t need)
{
    if (r != DPI_REF_NONE && DPI_REF_KIND(r) == DPI_REF_VALUE)
        values[DPI_REF_INDEX(r)].need |= need;
}

/* Set dpi_step.need of every step, from the last step to the first. */
static void add_needs(dp_program *p)
{
    for (uint32_t i = 0; i < p->n_values; i++)
        p->values[i].need = 0;
    for (uint32_t i = 0; i < p->n_outputs; i++)
        add_need(p->values, p->outputs[i].ref, (uint64_t)1 << (i < 63 ? i : 63));
    for (uint32_t s = p->n_steps; s-- > 0;) {
        dpi_step *step = &p->steps[s];
        step->need = step->flags & DP_STEP_FLAG_EFFECT ? (uint64_t)1 << 63 : 0;
        for (uint32_t i = 0; i < step->n_rets; i++)
            step->need |= p->values[step->ret + i].need;
        add_need(p->values, step->when, step->need);
        for (uint32_t i = 0; i < step->n_args; i++)
            add_need(p->values, p->links[step->args + i], step->need);
    }
}

/* -- inputs by name -- */

typedef struct named {
    const char *name;
    uint32_t i; /* index of the input */
} named;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

/* Fill dpi_input.by_name, which dp_program_input_find() searches. */
static int sort_inputs(dp_builder *b)
{
    uint32_t n = b->p.n_inputs;
    named *sorted = dp_malloc_n(n, sizeof(*sorted));

    if (sorted == NULL)
        return dpi_no_memory(&b->ctx->error, "a program");
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = (named){b->p.values[i].name != NULL ? b->p.values[i].name : "", i};
    if (n > 1)
        qsort(sorted, n, sizeof(*sorted), by_name);
    for (uint32_t i = 0; i < n; i++)
        b->p.inputs[i].by_name = sorted[i].i;
    dp_free(sorted);
    return 0;
}

/* -- copying into one block -- */

static const char *bump_str(dpi_bump *m, const char *s)
{
    return s != NULL ? dpi_bump_add(m, s, strlen(s) + 1) : NULL;
}

/* Append array `name` of program `p`. */
#define BUMP_ARRAY(m, p, name)                                                                     \
    dpi_bump_add((m), (p)->name, (size_t)(p)->n_##name * sizeof(*(p)->name))

/* In the lay_*() functions `to` is NULL while the bytes are only counted. */
static void lay_names(dpi_bump *m, const dp_program *from, dp_program *to)
{
    for (uint32_t i = 0; i < from->n_values; i++) {
        const char *name = bump_str(m, from->values[i].name);
        if (to != NULL)
            to->values[i].name = name;
    }
    for (uint32_t i = 0; i < from->n_types; i++) {
        const char *text = bump_str(m, from->types[i].text);
        if (to != NULL)
            to->types[i].text = text;
    }
    for (uint32_t i = 0; i < from->n_outputs; i++) {
        const char *name = bump_str(m, from->outputs[i].name);
        if (to != NULL)
            to->outputs[i].name = name;
    }
}

static void lay_constants(dpi_bump *m, const dp_program *from, dp_program *to)
{
    for (uint32_t i = 0; i < from->n_constants; i++) {
        dp_value v = dpi_bump_value(m, &from->constants[i]);
        const char *name = bump_str(m, from->constant_names[i]);
        if (to != NULL) {
            to->constants[i] = v;
            to->constant_names[i] = name;
        }
    }
}

static void lay_binds(dpi_bump *m, const dp_program *from, dp_program *to)
{
    for (uint32_t s = 0; s < from->n_steps; s++) {
        const dpi_step *step = &from->steps[s];
        if (step->kind != DPI_STEP_BIND)
            continue;
        const dpi_bind *bind = &from->binds[step->operand];
        const char *name = bump_str(m, bind->name);
        const char **kwargs = dpi_bump_add(m, bind->kwargs, step->n_args * sizeof(*kwargs));
        for (uint32_t i = 0; i < step->n_args; i++) {
            const char *kwarg = bump_str(m, bind->kwargs[i]);
            if (to != NULL)
                kwargs[i] = kwarg;
        }
        if (to != NULL)
            to->binds[step->operand] = (dpi_bind){name, kwargs};
    }
}

static void lay_guards(dpi_bump *m, const dp_program *from, dp_program *to)
{
    for (uint32_t i = 0; i < from->n_guards; i++) {
        dp_input_guard g = dpi_bump_guard(m, &from->guards[i]);
        if (to != NULL)
            to->guards[i] = g;
    }
}

/* Leave out APART guards but the first, and all of them if the program writes to no input: they
 * would hold nothing. */
static void drop_apart(dp_program *p)
{
    uint32_t n = 0;
    bool wanted = false;

    for (uint32_t i = 0; i < p->n_inputs; i++)
        wanted |= dp_program_input_written(p, i);
    for (uint32_t i = 0; i < p->n_guards; i++) {
        bool apart = p->guards[i].kind == DP_GUARD_APART;
        if (!apart || wanted)
            p->guards[n++] = p->guards[i];
        wanted &= !apart;
    }
    p->n_guards = n;
}

/* Append `from` and everything that it points to.  Returns the copy, or NULL when only counting. */
static dp_program *lay(dpi_bump *m, const dp_program *from)
{
    dp_program *to = dpi_bump_add(m, from, sizeof(*from)), unused = {0};
    dp_program *p = to != NULL ? to : &unused;

    p->inputs = BUMP_ARRAY(m, from, inputs);
    p->values = BUMP_ARRAY(m, from, values);
    p->constants = BUMP_ARRAY(m, from, constants);
    p->constant_names =
        dpi_bump_add(m, from->constant_names, from->n_constants * sizeof(*from->constant_names));
    p->steps = BUMP_ARRAY(m, from, steps);
    p->links = BUMP_ARRAY(m, from, links);
    p->types = BUMP_ARRAY(m, from, types);
    p->ops = BUMP_ARRAY(m, from, ops);
    p->binds = BUMP_ARRAY(m, from, binds);
    p->subs = BUMP_ARRAY(m, from, subs);
    p->outputs = BUMP_ARRAY(m, from, outputs);
    p->origins = BUMP_ARRAY(m, from, origins);
    p->modes = BUMP_ARRAY(m, from, modes);
    p->guards = BUMP_ARRAY(m, from, guards);
    lay_names(m, from, to);
    lay_constants(m, from, to);
    lay_binds(m, from, to);
    lay_guards(m, from, to);
    return to;
}

/* -- what is among the constants -- */

/* Find first_tensor and end_tensors: a run compares its outputs with these constants alone. */
static void find_tensors(dp_program *p)
{
    for (uint32_t i = 0; i < p->n_constants; i++) {
        uint32_t tag = p->constants[i].tag;
        if (tag != DP_TAG_TENSOR && tag != DP_TAG_TENSORS && tag != DP_TAG_LIST)
            continue;
        p->first_tensor = p->end_tensors == 0 ? i : p->first_tensor;
        p->end_tensors = i + 1;
    }
}

/* Return the bits of the backends of a constant that is a device or a list of devices. */
static uint64_t backends_of(const dp_value *v)
{
    uint64_t bits = 0;

    if (v->tag == DP_TAG_INT)
        bits = DP_BBIT(dp_device_backend((dp_device)v->u.i));
    for (uint32_t i = 0; v->tag == DP_TAG_INTS && i < v->len; i++)
        bits |= DP_BBIT(dp_device_backend((dp_device)v->u.ints[i]));
    return bits;
}

static uint64_t backends_used(const dp_program *p)
{
    uint64_t bits = 0;

    for (const dpi_step *s = p->steps; s < p->steps + p->n_steps; s++)
        for (uint32_t i = 0; s->kind == DP_STEP_CALL && i < s->n_args; i++) {
            const dp_value *v = dp_program_constant(p, p->links[s->args + i]);
            const dpi_type *type = p->ops[s->operand].schema->args[i].type;
            if (v != NULL && dpi_enum_kind(type) == DPI_TYPE_DEVICE)
                bits |= backends_of(v);
        }
    return bits;
}

int dpi_program_lay(dp_builder *b, dp_program **out)
{
    dpi_bump m = {0};
    int rc = add_frees(b);

    add_needs(&b->p);
    if (rc == 0)
        rc = dpi_alias_outputs(b);
    dpi_find_written(&b->p);
    drop_apart(&b->p);
    if (rc == 0)
        rc = dpi_program_hash(b);
    if (rc == 0)
        rc = sort_inputs(b);
    if (rc < 0)
        return rc;
    lay(&m, &b->p); /* only counts the bytes */
    size_t bytes = m.used;
    m = (dpi_bump){dp_malloc(bytes), 0};
    if (m.at == NULL)
        return dpi_no_memory(&b->ctx->error, "a program");
    dp_program *p = lay(&m, &b->p);
    atomic_init(&p->refs, 1);
    p->bytes = bytes;
    p->depth++;
    p->frame += p->n_values;
    p->is_plain = p->n_subs == 0 && p->n_binds == 0;
    for (uint32_t i = 0; i < p->n_steps; i++)
        p->is_plain &= p->steps[i].mode == 0;
    find_tensors(p);
    p->backends = dp_backends_pin(backends_used(p));
    b->p.n_constants = b->p.n_types = b->p.n_ops = b->p.n_subs = 0; /* p owns them now */
    *out = p;
    return 0;
}
