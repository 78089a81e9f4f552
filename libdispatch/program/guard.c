/* guard.c -- guards: what a program requires of its inputs.  They are added to a builder, and
 * described; guard_check.c checks them. */
#include "program_i.h"
#include "dispatch/call/ctx.h"

/* -- building -- */

dp_input_guard dpi_bump_guard(dpi_bump *m, const dp_input_guard *g)
{
    dp_input_guard copy = *g;

    if (g->kind == DP_GUARD_TENSOR) {
        copy.sizes = dpi_bump_add(m, g->sizes, (size_t)g->ndim * sizeof(*g->sizes));
        copy.strides = dpi_bump_add(m, g->strides, (size_t)g->ndim * sizeof(*g->strides));
    }
    if (g->kind == DP_GUARD_VALUE) {
        dp_value v = dpi_bump_value(m, g->value);
        copy.value = dpi_bump_add(m, &v, sizeof(v));
    }
    return copy;
}

/* Is `v` a value that can be compared with another one: neither a tensor nor a thing? */
static bool is_plain(const dp_value *v)
{
    bool plain = v->tag != DP_TAG_TENSOR && v->tag != DP_TAG_TENSORS &&
                 v->tag != DP_TAG_GENERATOR && v->tag != DP_TAG_OBJECT;

    for (uint32_t i = 0; plain && v->tag == DP_TAG_LIST && i < v->len; i++)
        plain = is_plain(&v->u.values[i]);
    return plain;
}

static bool is_valid(const dp_builder *b, const dp_input_guard *g)
{
    bool two = g->kind == DP_GUARD_EQUAL || g->kind == DP_GUARD_SHARE;

    if (g->kind == 0 || g->kind >= DP_GUARD_END)
        return false;
    if (g->kind != DP_GUARD_APART && g->of.input >= b->p.n_inputs)
        return false;
    if (two && g->other.input >= b->p.n_inputs)
        return false;
    if (g->kind == DP_GUARD_VALUE)
        return g->value != NULL && is_plain(g->value);
    if (g->kind == DP_GUARD_TENSOR)
        return g->ndim >= 0 && g->ndim <= DP_DIM_MAX &&
               (g->ndim == 0 || (g->sizes != NULL && g->strides != NULL));
    return true;
}

int dp_builder_guard(dp_builder *b, const dp_input_guard *given)
{
    dp_input_guard g = {0}; /* members that given->size does not cover stay 0 */
    dpi_bump m = {0};

    if (!DPI_GIVEN(&b->ctx->error, DP_EVALUE, given))
        return DP_EVALUE;
    memcpy(&g, given, given->size < sizeof(g) ? given->size : sizeof(g));
    g.size = sizeof(g);
    g.layout &= DPI_LAYOUT_BITS;
    if (!is_valid(b, &g))
        return dpi_builder_fail(b, DP_EVALUE,
                                "guard of kind %u of input %u is not valid; the program has %u "
                                "inputs",
                                g.kind, g.of.input, b->p.n_inputs);
    if (b->p.n_guards >= DP_LIMIT_PROGRAM_VALUES)
        return dp_error_limit(
            dpi_builder_fail(b, DP_ERESOURCE, "a program of more than %d guards (program_values)",
                             DP_LIMIT_PROGRAM_VALUES),
            "program_values", DP_LIMIT_PROGRAM_VALUES, DP_LIMIT_PROGRAM_VALUES + 1);
    dpi_bump_guard(&m, &g); /* only counts the bytes */
    m = (dpi_bump){dp_arena_alloc(b->arena, m.used + 1), 0};
    if (m.at == NULL || !DPI_GROW(b, guards, 1))
        return dpi_no_memory(&b->ctx->error, "a guard of a program");
    b->p.guards[b->p.n_guards++] = dpi_bump_guard(&m, &g);
    return 0;
}

/* Replace the index of an input of `from` by that of the builder's input with the same name. */
static int move_place(dp_builder *b, const dp_program *from, dp_input_place *at)
{
    const char *name = dp_program_input_name(from, at->input);
    dp_ref r = DPI_REF_NONE;

    if (dp_builder_find(b, name, &r) < 0 || DPI_REF_KIND(r) != DPI_REF_VALUE || r >= b->p.n_inputs)
        return dpi_builder_fail(b, DP_EVALUE, "a guard of input '%.64s', which the program has not",
                                name);
    at->input = r;
    return 0;
}

int dp_builder_guards_of(dp_builder *b, const dp_program *from)
{
    int rc = 0;

    for (uint32_t i = 0; i < from->n_guards && rc == 0; i++) {
        dp_input_guard g = from->guards[i];
        bool two = g.kind == DP_GUARD_EQUAL || g.kind == DP_GUARD_SHARE;
        rc = g.kind != DP_GUARD_APART ? move_place(b, from, &g.of) : 0;
        if (rc == 0 && two)
            rc = move_place(b, from, &g.other);
        if (rc == 0)
            rc = dp_builder_guard(b, &g);
    }
    return rc;
}

uint32_t dp_program_guards(const dp_program *p)
{
    return p->n_guards;
}

void dp_program_guard(const dp_program *p, uint32_t i, dp_input_guard *out)
{
    uint32_t size = out->size;

    memcpy(out, &p->guards[i], size < sizeof(*out) ? size : sizeof(*out));
    out->size = size;
}
