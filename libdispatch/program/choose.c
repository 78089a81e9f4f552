/* choose.c -- check SCALAR steps, which compute with numbers, SELECT steps, which choose between
 * two values, and the conditions of steps. */
#include "program_i.h"

static int fail_scalar(dp_builder *b, const char *name)
{
    const char *names[DPI_SCALARS_MAX];
    char near[200] = "";

    for (uint32_t i = 0; i < dpi_n_scalars; i++)
        names[i] = dpi_scalars[i].name;
    dpi_nearest(name, names, dpi_n_scalars, 3, near, sizeof(near));
    return dpi_builder_fail(b, DP_ENOTFOUND, "no scalar operation is called '%.64s'; nearest: %s",
                            name, near);
}

/* Return the set of tags that the result of `op` may have: arithmetic on ints gives an int. */
static uint32_t tags_of(const dp_builder *b, const dp_step *s, const dpi_scalar *op)
{
    const uint32_t integers = 1u << DP_TAG_INT | 1u << DP_TAG_BOOL;
    bool all = (op->result_tags & integers) == 1u << DP_TAG_INT;

    for (size_t k = 0; k < s->n_args; k++)
        all &= (dpi_builder_tags(b, s->args[k]) & ~integers) == 0;
    return all ? 1u << DP_TAG_INT : op->result_tags;
}

int dpi_check_scalar(dp_builder *b, const dp_step *s)
{
    uint32_t i = 0;

    if (s->name == NULL)
        return dpi_builder_fail(b, DP_EVALUE, "a scalar step without the name of its operation");
    while (i < dpi_n_scalars && strcmp(dpi_scalars[i].name, s->name) != 0)
        i++;
    if (i == dpi_n_scalars)
        return fail_scalar(b, s->name);
    const dpi_scalar *op = &dpi_scalars[i];
    if (s->n_args != op->n_args || s->n_kwargs > 0)
        return dpi_builder_fail(b, DP_ETYPE, "scalar '%s' takes %u arguments, but %zu were given",
                                op->name, op->n_args, s->n_args + s->n_kwargs);
    for (size_t k = 0; k < s->n_args; k++)
        if (!(dpi_builder_tags(b, s->args[k]) & op->arg_tags))
            return dpi_builder_fail(b, DP_ETYPE, "scalar '%s' of argument %zu, which is no number",
                                    op->name, k + 1);
    int rc =
        dpi_builder_push(b, s, DP_STEP_SCALAR, i, &(dpi_value_info){.tags = tags_of(b, s, op)});
    if (rc == 0 && strcmp(op->name, "expect") == 0) {
        b->p.steps[b->p.n_steps - 1].flags |= DP_STEP_FLAG_EFFECT;
        b->p.flags |= DP_STEP_FLAG_EFFECT;
    }
    return rc;
}

int dpi_check_select(dp_builder *b, const dp_step *s)
{
    if (s->n_args != 3 || s->n_kwargs > 0)
        return dpi_builder_fail(b, DP_ETYPE,
                                "select takes a condition and two values, but %zu arguments were "
                                "given",
                                s->n_args + s->n_kwargs);
    dpi_value_info v = {.tags = dpi_builder_tags(b, s->args[1]) | dpi_builder_tags(b, s->args[2])};
    for (int k = 1; k < 3; k++)
        v.from_constant |= dpi_builder_from_constant(b, s->args[k]);
    v.share = dpi_share_any(b, s->args + 1, 2, true);
    return dpi_builder_push(b, s, DP_STEP_SELECT, 0, &v);
}

int dpi_check_when(dp_builder *b, const dp_step *s)
{
    if (s->when == NULL)
        return 0;
    return dpi_builder_check(b, *s->when);
}
