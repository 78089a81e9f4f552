/* guards.c -- guards in a pass: those of a part of a program, and those of an inner program whose
 * steps stand in place of the step that ran it.
 *
 * An inner program checks its guards when its step runs.  Once inlined, they are guards of the
 * program around it, which a run checks before all steps.  That is the same only where they are
 * about inputs of that program which no earlier step may have given another geometry; a guard of a
 * constant is checked at once. */
#include "graph.h"
#include "dispatch/call/ctx.h"

static bool names_two(const dp_input_guard *g)
{
    return g->kind == DP_GUARD_EQUAL || g->kind == DP_GUARD_SHARE;
}

/* -- of a part -- */

int dpi_rewrite_guards(dpi_rewrite *r, uint32_t first, uint32_t end)
{
    int rc = 0;

    for (uint32_t i = 0; i < r->from->n_guards && rc == 0; i++) {
        dp_input_guard g = r->from->guards[i];
        bool all = g.kind == DP_GUARD_APART;
        if (!all && (g.of.input < first || g.of.input >= end))
            continue;
        if (names_two(&g) && (g.other.input < first || g.other.input >= end))
            continue;
        g.of.input = all ? 0 : r->values[g.of.input];
        g.other.input = names_two(&g) ? r->values[g.other.input] : 0;
        rc = dp_builder_guard(r->b, &g);
    }
    return rc;
}

/* -- of an inner program -- */

/* The arguments of a SUB step, as references of the new program. */
typedef struct arguments {
    dp_ctx *ctx;
    const dp_builder *b;
    const dp_program *sub;
    const dp_ref *refs; /* [sub->n_inputs] */
    dp_value *known;    /* [sub->n_inputs] values of those that are constants */
} arguments;

static bool is_input(const arguments *a, uint32_t i)
{
    return dpi_is_value(a->refs[i]) && a->refs[i] < a->b->p.n_inputs;
}

static bool is_constant(const arguments *a, uint32_t i)
{
    return !dpi_is_value(a->refs[i]);
}

/* May a step of `p` change the geometry of a tensor that existed before it? */
static bool may_change_geometry(const dp_program *p)
{
    bool may = false;

    for (uint32_t i = 0; i < p->n_steps && !may; i++) {
        const dpi_step *s = &p->steps[i];
        may = s->kind == DPI_STEP_BIND;
        if (s->kind == DP_STEP_SUB)
            may = may_change_geometry(p->subs[s->operand]);
        if (s->kind != DP_STEP_CALL)
            continue;
        const dp_schema *schema = p->ops[s->operand].schema;
        may = dpi_changes_tensor(schema);
        for (uint32_t k = 0; k < schema->n_args && !may; k++) /* out= may be resized */
            may = (schema->written >> k & 1) && schema->args[k].kwarg_only;
    }
    return may;
}

/* Can an APART guard be one of the inputs around the step?  Two inner inputs that are one input
 * would not be compared there, nor would constants. */
static bool are_distinct_inputs(const arguments *a)
{
    for (uint32_t i = 0; i < a->sub->n_inputs; i++) {
        if (is_constant(a, i) && (a->known[i].tag == DP_TAG_TENSOR || dp_is_list(&a->known[i])))
            return false;
        for (uint32_t k = 0; k < i; k++)
            if (is_input(a, i) && a->refs[i] == a->refs[k])
                return false;
    }
    return true;
}

/* Does guard `i` of the inner program hold, or can it be one of the program around? */
static bool may_rise(const arguments *a, uint32_t i)
{
    const dp_input_guard *g = &a->sub->guards[i];

    if (g->kind == DP_GUARD_APART)
        return are_distinct_inputs(a);
    if (names_two(g))
        return is_input(a, g->of.input) && is_input(a, g->other.input);
    if (is_input(a, g->of.input))
        return true;
    if (!is_constant(a, g->of.input))
        return false;
    bool holds = dpi_guard_check(a->ctx, a->sub, i, a->known) == 0;
    dp_error_clear(&a->ctx->error);
    return holds;
}

int dpi_guards_may_rise(dpi_rewrite *r, uint32_t step, bool *may)
{
    const dpi_step *s = &r->from->steps[step];
    const dp_program *sub = r->from->subs[s->operand];
    dp_ref *refs = NULL;
    int rc = 0;

    *may = true;
    if (sub->n_guards == 0)
        return 0;
    *may = s->when == DPI_REF_NONE && r->when == DPI_REF_NONE && !may_change_geometry(&r->b->p);
    if (!*may)
        return 0;
    arguments a = {.ctx = r->ctx, .b = r->b, .sub = sub};
    a.known = dp_calloc((size_t)sub->n_inputs + 1, sizeof(*a.known));
    a.refs = refs = dp_malloc_n((size_t)sub->n_inputs + 1, sizeof(*refs));
    if (a.known == NULL || refs == NULL)
        rc = dpi_no_memory(&r->ctx->error, "a pass over a program");
    for (uint32_t k = 0; k < sub->n_inputs && rc == 0; k++) {
        rc = dpi_rewrite_ref(r, r->from->links[s->args + k], &refs[k]);
        if (rc == 0 && is_constant(&a, k))
            a.known[k] = r->b->p.constants[DPI_REF_INDEX(refs[k])];
    }
    for (uint32_t i = 0; i < sub->n_guards && rc == 0 && *may; i++)
        *may = may_rise(&a, i);
    dp_free(a.known);
    dp_free(refs);
    return rc;
}

int dpi_guards_rise(const dpi_rewrite *inner)
{
    const dp_builder *b = inner->b;
    int rc = 0;

    for (uint32_t i = 0; i < inner->from->n_guards && rc == 0; i++) {
        dp_input_guard g = inner->from->guards[i];
        bool all = g.kind == DP_GUARD_APART;
        dp_ref of = all ? 0 : inner->values[g.of.input];
        if (!all && (!dpi_is_value(of) || of >= b->p.n_inputs))
            continue; /* a constant, which was checked */
        g.of.input = of;
        if (names_two(&g))
            g.other.input = inner->values[g.other.input];
        rc = dp_builder_guard(inner->b, &g);
    }
    return rc;
}
