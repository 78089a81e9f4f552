/* dead.c -- the pass that leaves out the steps that no output needs. */
#include "graph.h"
#include "dispatch/call/ctx.h"

/* Mark the values that others may share memory with in a way that schemas do not tell: the elements
 * of a list, and values that SELECT chooses between. */
static void mark_loose(const dp_program *p, bool *loose)
{
    for (const dpi_step *s = p->steps; s < p->steps + p->n_steps; s++)
        for (uint32_t i = 0; i < s->n_rets; i++) {
            uint32_t how = p->values[s->ret + i].share.how;
            for (uint32_t k = 0; k < s->n_args && (how == DPI_SEVERAL || how == DPI_UNKNOWN); k++)
                dpi_mark_shared(p, p->links[s->args + k], loose);
        }
}

/* Does argument i of CALL step `s`, which is written, matter to no step after it?  `read`: whether
 * a later step or an output reads the memory of a value; `loose`: see mark_loose(). */
static bool writes_unread(const dp_program *p, const dpi_step *s, uint32_t i, const bool *read,
                          const bool *loose)
{
    dp_ref r = p->links[s->args + i];

    if (!dpi_is_value(r))
        return true; /* None: the builder lets no step write to another constant */
    const dpi_share *share = &p->values[r].share;
    if (share->how == DPI_OWN)
        return r >= p->n_inputs && !read[r] && !loose[r];
    return (share->how == DPI_SAME || share->how == DPI_VIEW_OF) && dpi_is_value(share->base) &&
           share->base >= p->n_inputs && !read[share->base] && !loose[share->base];
}

static bool is_needed(const dp_program *p, const dpi_step *s, const bool *read, const bool *loose)
{
    bool effect = (s->flags & DP_STEP_FLAG_EFFECT) != 0, needed = false;

    for (uint32_t i = 0; i < s->n_rets; i++)
        needed |= read[s->ret + i];
    if (needed || (s->flags & DP_STEP_FLAG_RANDOM) || !effect)
        return needed || (s->flags & DP_STEP_FLAG_RANDOM);
    if (s->kind != DP_STEP_CALL || p->ops[s->operand].written == 0)
        return true;
    for (uint32_t i = 0; i < s->n_args && !needed; i++)
        needed = (p->ops[s->operand].written >> i & 1) && !writes_unread(p, s, i, read, loose);
    return needed;
}

/* Set needed[i] for the steps that must stay.  `read`, `loose`: [n_values] false at entry. */
static void find_needed(const dp_program *p, bool *read, bool *loose, bool *needed)
{
    mark_loose(p, loose);
    for (uint32_t i = 0; i < p->n_outputs; i++)
        dpi_mark_shared(p, p->outputs[i].ref, read);
    for (uint32_t i = p->n_steps; i-- > 0;) {
        const dpi_step *s = &p->steps[i];
        needed[i] = is_needed(p, s, read, loose);
        for (uint32_t k = 0; k < s->n_args && needed[i]; k++)
            dpi_mark_shared(p, p->links[s->args + k], read);
        if (needed[i])
            dpi_mark_shared(p, s->when, read);
    }
}

int dp_program_dead(dp_ctx *ctx, const dp_program *p, dp_program **out)
{
    dpi_rewrite r;
    int rc = dpi_rewrite_begin(&r, ctx, p);
    bool *read = dp_calloc((size_t)p->n_values + 1, sizeof(*read));
    bool *loose = dp_calloc((size_t)p->n_values + 1, sizeof(*loose));
    bool *needed = dp_calloc((size_t)p->n_steps + 1, sizeof(*needed));

    if (rc == 0 && (read == NULL || loose == NULL || needed == NULL))
        rc = dpi_no_memory(&ctx->error, "a pass over a program");
    if (rc == 0)
        find_needed(p, read, loose, needed);
    for (uint32_t i = 0; i < p->n_steps && rc == 0; i++)
        if (needed[i])
            rc = dpi_rewrite_keep(&r, i);
    if (rc == 0)
        rc = dpi_rewrite_outputs(&r);
    if (rc == 0)
        rc = dpi_rewrite_finish(&r, out);
    dp_free(read);
    dp_free(loose);
    dp_free(needed);
    dpi_rewrite_end(&r);
    return rc;
}
