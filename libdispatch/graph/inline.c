/* inline.c -- the pass that puts the steps of inner programs in place of the SUB steps that run
 * them. */
#include "graph.h"
#include "dispatch/call/ctx.h"

/* Does input i of `sub` take a value that has one of the tags `tags` without converting it? */
static bool fits_unchanged(const dp_program *sub, uint32_t i, uint32_t tags)
{
    const dp_schema *type = sub->types[sub->inputs[i].type].schema;
    const dpi_type *t = type != NULL ? type->args[0].type : NULL;

    if (t == NULL)
        return true;
    if (t->kind == DPI_TYPE_OPTIONAL)
        t = t->elem;
    if (t->kind == DPI_TYPE_TENSOR)
        return (tags & ~(DPI_TENSOR | 1u << DP_TAG_NONE)) == 0;
    return type->args[0].tags == tags && (tags & (tags - 1)) == 0 && tags != 1u << DP_TAG_OBJECT;
}

/* May output i of `sub` contain constants of `sub` in a list?  A run would copy them. */
static bool lists_constants(const dp_program *sub, uint32_t i)
{
    dp_ref r = sub->outputs[i].ref;

    if (dpi_is_value(r))
        return sub->values[r].from_constant && sub->values[r].tags != DPI_TENSOR;
    uint32_t tag = sub->constants[DPI_REF_INDEX(r)].tag;
    return tag == DP_TAG_TENSORS || tag == DP_TAG_LIST;
}

/* Can the steps of the inner program stand in place of SUB step i? */
static int may_inline(dpi_rewrite *r, uint32_t i, bool *may)
{
    const dpi_step *s = &r->from->steps[i];
    const dp_program *sub = r->from->subs[s->operand];
    int rc = 0;

    *may = (s->flags & DP_STEP_FLAG_RECOMPUTE) == 0;
    for (uint32_t k = 0; k < s->n_args && *may && rc == 0; k++) {
        dp_ref ref;
        rc = dpi_rewrite_ref(r, r->from->links[s->args + k], &ref);
        *may = rc == 0 && fits_unchanged(sub, k, dpi_builder_tags(r->b, ref));
    }
    for (uint32_t k = 0; k < sub->n_outputs && *may; k++)
        *may = !lists_constants(sub, k);
    return rc == 0 && *may ? dpi_guards_may_rise(r, i, may) : rc;
}

/* Enter output i of the inner program as return i of the SUB step.  As in a run, a tensor that
 * shares memory with a constant is a copy, and all are None if the program does not run. */
static int take_output(dpi_rewrite *inner, uint32_t i)
{
    const dp_program *p = inner->from;
    dpi_rewrite *r = inner->outer;
    dp_ref old = p->outputs[i].ref, ref;
    bool returned = dpi_is_value(old) && old >= p->n_inputs;
    bool constant = dpi_is_value(old) ? p->values[old].from_constant
                                      : p->constants[DPI_REF_INDEX(old)].tag == DP_TAG_TENSOR;
    int rc = dpi_rewrite_ref(inner, old, &ref);

    if (rc == 0 && !returned && inner->when != DPI_REF_NONE)
        rc = dpi_rewrite_select(r, inner->like, inner->when, &ref, NULL);
    if (rc == 0 && constant) {
        dp_step s = {.kind = DP_STEP_CALL,
                     .name = "aten::clone",
                     .args = (dp_ref[]){ref},
                     .n_args = 1,
                     .n_rets = 1,
                     .when = inner->when != DPI_REF_NONE ? &inner->when : NULL};
        rc = dpi_rewrite_add(r, inner->like, &s, &ref);
    }
    return rc == 0 ? dpi_rewrite_set(r, r->from->steps[inner->like].ret + i, ref) : rc;
}

/* Copy the steps of r->from.  Calls itself for inner programs, at most DP_LIMIT_PROGRAM_DEPTH
 * deep. */
static int copy_steps(dpi_rewrite *r)
{
    int rc = 0;

    for (uint32_t i = 0; i < r->from->n_steps && rc == 0; i++) {
        const dpi_step *s = &r->from->steps[i];
        bool may = false;
        if (s->kind == DP_STEP_SUB)
            rc = may_inline(r, i, &may);
        if (!may) {
            rc = rc == 0 ? dpi_rewrite_keep(r, i) : rc;
            continue;
        }
        dpi_rewrite inner;
        rc = dpi_rewrite_within(&inner, r, i);
        for (uint32_t k = 0; k < s->n_args && rc == 0; k++)
            rc = dpi_rewrite_ref(r, r->from->links[s->args + k], &inner.values[k]);
        if (rc == 0)
            rc = dpi_guards_rise(&inner);
        if (rc == 0)
            rc = copy_steps(&inner);
        for (uint32_t k = 0; k < s->n_rets && rc == 0; k++)
            rc = take_output(&inner, k);
        dpi_rewrite_end(&inner);
    }
    return rc;
}

int dp_program_inline(dp_ctx *ctx, const dp_program *p, dp_program **out)
{
    dpi_rewrite r;
    int rc = dpi_rewrite_begin(&r, ctx, p);

    if (rc == 0)
        rc = copy_steps(&r);
    if (rc == 0)
        rc = dpi_rewrite_outputs(&r);
    if (rc == 0)
        rc = dpi_rewrite_finish(&r, out);
    dpi_rewrite_end(&r);
    return rc;
}
