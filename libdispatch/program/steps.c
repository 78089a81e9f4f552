/* steps.c -- run the steps of a program that call no operator: GET, LIST, ITEM, SCALAR, SELECT. */
#include "dispatch/call/ctx.h"
#include "dispatch/call/values.h"
#include "machine.h"

/* -- GET, LIST, ITEM -- */

int dpi_run_get(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s)
{
    const dpi_get *g = &dpi_gets[s->operand];
    dp_value args[2];

    for (uint32_t i = 0; i < s->n_args; i++)
        args[i] = *dpi_machine_value(m, p, base, p->links[s->args + i]);
    if (!(g->arg_tags >> args[0].tag & 1))
        return dp_error_set(&m->ctx->error, DP_ETYPE, "get '%s' of %s", g->name,
                            dpi_value_kind(&args[0]));
    return g->fn(m->ctx, args, &m->values[base + s->ret]);
}

/* Make a list.  If all elements are tensors, ints, floats or bools, its tag is DP_TAG_TENSORS,
 * DP_TAG_INTS, ..., as operators expect; otherwise DP_TAG_LIST. */
int dpi_run_list(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s)
{
    dp_value *items = dp_arena_alloc_n(&m->ctx->arena, s->n_args, sizeof(*items));
    uint64_t *words = (uint64_t *)items;
    static const uint8_t tags[DP_TAG_END] = {[DP_TAG_TENSOR] = DP_TAG_TENSORS,
                                             [DP_TAG_INT] = DP_TAG_INTS,
                                             [DP_TAG_DOUBLE] = DP_TAG_DOUBLES,
                                             [DP_TAG_BOOL] = DP_TAG_BOOLS};
    uint32_t tags_seen = 0;

    if (items == NULL)
        return dpi_no_memory(&m->ctx->error, "a list");
    for (uint32_t i = 0; i < s->n_args; i++) {
        items[i] = *dpi_machine_value(m, p, base, p->links[s->args + i]);
        tags_seen |= 1u << items[i].tag;
    }
    dp_value *out = &m->values[base + s->ret], list = {DP_TAG_LIST, s->n_args, {0}};
    uint8_t tag = tags[items[0].tag];
    if (tag != 0 && tags_seen == 1u << items[0].tag) {
        list.tag = tag;
        for (uint32_t i = 0; i < s->n_args; i++)
            if (tag == DP_TAG_BOOLS) /* in place: words[i] is not after items[i] */
                ((bool *)words)[i] = items[i].u.b;
            else
                memcpy(&words[i], &items[i].u, sizeof(*words));
    }
    list.u.values = items;
    int rc = dpi_value_ref(&m->ctx->arena, &list, &m->ctx->error);
    if (rc == 0)
        *out = list;
    return rc;
}

int dpi_run_item(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s)
{
    char name[DP_KEY_NAME_MAX];
    dp_ref r = p->links[s->args];
    const dp_value *list = dpi_machine_value(m, p, base, r);

    if (list->tag < DP_TAG_TENSORS || list->tag > DP_TAG_LIST)
        return dp_error_set(&m->ctx->error, DP_ETYPE, "index %u of '%.64s', which is no list",
                            s->operand, dp_program_value_name(p, r, name));
    if (s->operand >= list->len)
        return dp_error_set(&m->ctx->error, DP_EINDEX, "index %u of '%.64s', a list of %u",
                            s->operand, dp_program_value_name(p, r, name), list->len);
    dp_value item = dp_list_item(list, s->operand);
    int rc = dpi_value_ref(&m->ctx->arena, &item, &m->ctx->error);
    if (rc == 0)
        m->values[base + s->ret] = item;
    return rc;
}

/* -- SCALAR, SELECT -- */

int dpi_run_scalar(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s)
{
    dp_value args[2] = {{0}};

    for (uint32_t i = 0; i < s->n_args; i++)
        args[i] = *dpi_machine_value(m, p, base, p->links[s->args + i]);
    return dpi_scalar_run(m->ctx, &dpi_scalars[s->operand], args, &m->values[base + s->ret]);
}

int dpi_run_select(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s)
{
    const dp_ref *args = &p->links[s->args];
    bool first = dpi_scalar_true(dpi_machine_value(m, p, base, args[0]));
    dp_value chosen = *dpi_machine_value(m, p, base, args[first ? 1 : 2]);
    int rc = dpi_value_ref(&m->ctx->arena, &chosen, &m->ctx->error);

    if (rc == 0)
        m->values[base + s->ret] = chosen;
    return rc;
}

int dpi_run_simple(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s)
{
    switch (s->kind) {
    case DP_STEP_GET:
        return dpi_run_get(m, p, base, s);
    case DP_STEP_LIST:
        return dpi_run_list(m, p, base, s);
    case DP_STEP_ITEM:
        return dpi_run_item(m, p, base, s);
    case DP_STEP_SCALAR:
        return dpi_run_scalar(m, p, base, s);
    default:
        return dpi_run_select(m, p, base, s);
    }
}
