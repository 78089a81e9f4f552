/* alias.c -- find out which values of a program share memory, and which inputs its steps write to,
 * from the alias annotations in the operators' schemas, such as Tensor(a!).
 *
 * When a value is added to a program, its memory is derived from the values of its step's
 * arguments.  Written values are found when the program is finished, from its last step to its
 * first: a value is written if a step writes to it or to a view of it. */
#include "program_i.h"
#include "dispatch/call/ctx.h"

/* -- memory that values share -- */

static bool may_share(uint32_t tags)
{
    return (tags & (1u << DP_TAG_TENSOR | 1u << DP_TAG_TENSORS | 1u << DP_TAG_LIST |
                    1u << DP_TAG_OBJECT)) != 0;
}

static dpi_share share_of(const dp_program *p, dp_ref r)
{
    const dpi_share own = {DPI_SAME, r};

    if (DPI_REF_KIND(r) != DPI_REF_VALUE || p->values[r].share.how == DPI_OWN)
        return own;
    return p->values[r].share;
}

dpi_share dpi_share_view(const dp_builder *b, dp_ref r, bool same)
{
    dpi_share s = share_of(&b->p, r);

    if (s.how == DPI_SAME && !same)
        s.how = DPI_VIEW_OF;
    return s;
}

dpi_share dpi_share_any(const dp_builder *b, const dp_ref *refs, size_t n, bool same)
{
    dpi_share all = {DPI_OWN, 0};

    for (size_t i = 0; i < n; i++) {
        dpi_share s = dpi_share_view(b, refs[i], same);
        if (!may_share(dpi_builder_tags(b, refs[i])) || all.how == DPI_UNKNOWN)
            continue;
        if (all.how == DPI_OWN || s.how == DPI_UNKNOWN)
            all = s;
        else if (s.how == DPI_SEVERAL || s.base != all.base)
            all = (dpi_share){DPI_SEVERAL, 0};
        else if (s.how != all.how)
            all.how = DPI_VIEW_OF;
    }
    return all;
}

/* Operators that may return their first argument, though their schemas do not say so, as
 * PyTorch's. */
static const char *const quiet[] = {"aten::atleast_1d",
                                    "aten::atleast_2d",
                                    "aten::atleast_3d",
                                    "aten::type_as",
                                    "aten::to_dense",
                                    "aten::sum_to_size",
                                    "aten::dropout",
                                    "aten::feature_dropout",
                                    "aten::alpha_dropout",
                                    "aten::native_dropout",
                                    "aten::feature_alpha_dropout",
                                    "aten::conj_physical"};

/* Does the operator with this schema return its first argument unless argument 2, train, is true
 * and argument 1, a probability, is not 0? */
static bool is_dropout(const dp_schema *s)
{
    size_t n = strlen(s->base), suffix = strlen("dropout");

    return n >= suffix && strcmp(s->base + n - suffix, "dropout") == 0 && s->n_args == 3;
}

dpi_dropping dpi_dropout_of(const dp_program *p, const dp_schema *s, const dp_ref *args)
{
    const dp_value *chance, *train;

    if (!is_dropout(s))
        return DPI_DROPS_PERHAPS;
    chance = dp_program_constant(p, args[1]);
    train = dp_program_constant(p, args[2]);
    if (train == NULL || train->tag != DP_TAG_BOOL)
        return DPI_DROPS_PERHAPS;
    if (!train->u.b)
        return DPI_DROPS_NOTHING;
    bool some = chance != NULL && chance->tag == DP_TAG_DOUBLE && chance->u.d != 0;
    return some ? DPI_DROPS_SOME : DPI_DROPS_PERHAPS;
}

int dpi_viewed_by(const dp_program *p, const dp_schema *s, const dp_ref *args, uint32_t i)
{
    bool may = false;

    if (s->ret_view[i] >= 0 || i > 0)
        return s->ret_view[i];
    for (size_t k = 0; k < DPI_COUNT(quiet) && !may; k++)
        may = strcmp(quiet[k], s->name) == 0;
    return may && dpi_dropout_of(p, s, args) != DPI_DROPS_SOME ? 0 : -1;
}

/* -- aliases of outputs -- */

/* Return the alias of output i, whose memory is not an input's.  `leader`: index of the output that
 * all other outputs with this memory name in dp_alias.index. */
static dp_alias alias_of(uint32_t leader, uint32_t i, bool same)
{
    if (leader == i)
        return (dp_alias){.size = sizeof(dp_alias), .kind = DP_ALIAS_NONE};
    return (dp_alias){
        .size = sizeof(dp_alias), .kind = DP_ALIAS_OUTPUT, .index = leader, .same = same};
}

/* Choose leader[v], the output that stands for the memory of value v: the first output that is v
 * itself, else the first output that is a view of v. */
static void choose_leaders(const dp_program *p, uint32_t *leader)
{
    for (uint32_t v = 0; v < p->n_values; v++)
        leader[v] = UINT32_MAX;
    for (int same = 1; same >= 0; same--)
        for (uint32_t i = 0; i < p->n_outputs; i++) {
            dpi_share s = share_of(p, p->outputs[i].ref);
            bool counts = s.how == DPI_SAME || (s.how == DPI_VIEW_OF && !same);
            if (counts && DPI_REF_KIND(s.base) == DPI_REF_VALUE && leader[s.base] == UINT32_MAX)
                leader[s.base] = i;
        }
}

int dpi_alias_outputs(dp_builder *b)
{
    dp_program *p = &b->p;
    uint32_t *leader = dp_malloc_n((size_t)p->n_values + 1, sizeof(*leader));

    if (leader == NULL)
        return dpi_no_memory(&b->ctx->error, "a program");
    choose_leaders(p, leader);
    for (uint32_t i = 0; i < p->n_outputs; i++) {
        dpi_output *o = &p->outputs[i];
        dpi_share s = share_of(p, o->ref);
        o->alias = alias_of(i, i, false);
        if (!may_share(dpi_builder_tags(b, o->ref)))
            continue;
        if (s.how == DPI_SEVERAL || s.how == DPI_UNKNOWN)
            o->alias.kind = DP_ALIAS_UNKNOWN;
        else if (DPI_REF_KIND(s.base) == DPI_REF_VALUE && s.base < p->n_inputs)
            o->alias = (dp_alias){.size = sizeof(dp_alias),
                                  .kind = DP_ALIAS_INPUT,
                                  .index = s.base,
                                  .same = s.how == DPI_SAME};
        else if (DPI_REF_KIND(s.base) == DPI_REF_VALUE)
            o->alias = alias_of(leader[s.base], i, s.how == DPI_SAME);
    }
    dp_free(leader);
    return 0;
}

dpi_share dpi_share_of_output(const dp_builder *b, const dp_program *sub, uint32_t i,
                              const dp_ref *inputs, dp_ref first)
{
    const dp_alias *a = &sub->outputs[i].alias;

    if (a->kind == DP_ALIAS_INPUT)
        return dpi_share_view(b, inputs[a->index], a->same);
    if (a->kind == DP_ALIAS_OUTPUT)
        return (dpi_share){a->same ? DPI_SAME : DPI_VIEW_OF, first + a->index};
    dp_ref r = sub->outputs[i].ref;
    bool several = a->kind == DP_ALIAS_UNKNOWN && sub->values[r].share.how == DPI_SEVERAL;
    return (dpi_share){a->kind == DP_ALIAS_NONE ? DPI_OWN : several ? DPI_SEVERAL : DPI_UNKNOWN, 0};
}

/* -- written values -- */

static void write_to(dp_program *p, dp_ref r, uint8_t written)
{
    if (DPI_REF_KIND(r) == DPI_REF_VALUE && may_share(p->values[r].tags))
        p->values[r].written |= written;
}

static void write_to_args(dp_program *p, const dpi_step *s, uint32_t from, uint8_t written)
{
    for (uint32_t i = from; i < s->n_args && written != 0; i++)
        write_to(p, p->links[s->args + i], written);
}

/* Mark the arguments of a CALL step as written that the operator writes to.  If a later step writes
 * to a return, mark the argument of which that return is a view, too. */
static void write_through_call(dp_program *p, const dpi_step *s)
{
    const dpi_op_use *use = &p->ops[s->operand];
    const dp_ref *args = &p->links[s->args];

    for (uint32_t i = 0; i < s->n_rets; i++) {
        int viewed = dpi_viewed_by(p, use->schema, args, i);
        if (viewed >= 0)
            write_to(p, args[viewed], p->values[s->ret + i].written);
    }
    for (uint32_t i = 0; i < s->n_args; i++)
        if (use->written >> i & 1)
            write_to(p, args[i], use->schema->written >> i & 1 ? DPI_WRITTEN : DPI_PERHAPS_WRITTEN);
}

/* Do the same as write_through_call() for a step that runs a program. */
static void write_through_sub(dp_program *p, const dpi_step *s)
{
    const dp_program *sub = p->subs[s->operand];
    const dp_ref *args = &p->links[s->args];

    for (uint32_t i = 0; i < s->n_rets; i++) {
        const dp_alias *a = &sub->outputs[i].alias;
        if (a->kind == DP_ALIAS_OUTPUT)
            p->values[s->ret + a->index].written |= p->values[s->ret + i].written;
    }
    for (uint32_t i = 0; i < s->n_rets; i++) {
        const dp_alias *a = &sub->outputs[i].alias;
        if (a->kind == DP_ALIAS_INPUT)
            write_to(p, args[a->index], p->values[s->ret + i].written);
        if (a->kind == DP_ALIAS_UNKNOWN)
            write_to_args(p, s, 0, p->values[s->ret + i].written);
    }
    for (uint32_t i = 0; i < sub->n_inputs; i++)
        write_to(p, args[i], sub->values[i].written);
}

void dpi_find_written(dp_program *p)
{
    for (uint32_t k = p->n_steps; k-- > 0;) {
        const dpi_step *s = &p->steps[k];
        switch (s->kind) {
        case DP_STEP_CALL:
            write_through_call(p, s);
            break;
        case DP_STEP_SUB:
            write_through_sub(p, s);
            break;
        case DPI_STEP_BIND: /* may write to any argument; any return may be a view of one */
            write_to_args(p, s, 0, DPI_PERHAPS_WRITTEN);
            break;
        case DP_STEP_LIST:
        case DP_STEP_ITEM:
            write_to_args(p, s, 0, p->values[s->ret].written);
            break;
        case DP_STEP_SELECT: /* the first argument is the condition */
            write_to_args(p, s, 1, p->values[s->ret].written);
            break;
        default:
            break;
        }
    }
}
