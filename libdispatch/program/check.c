/* check.c -- check one step of a program being built, and add the step with its values.
 *
 * No operator runs here.  Of a value that a run will compute, only the tags (types, DP_TAG_*) that
 * it may have are known.  If the tags decide the overload of a call, it is chosen now, and the
 * arguments are stored in the schema's order, with defaults.  All checks are made before the step
 * is added, so that nothing must be removed after a failure. */
#include "dispatch/call/ctx.h"
#include "dispatch/call/find.h"
#include "program_i.h"
#include <stdio.h>

static const struct {
    uint8_t list, element;
} list_elements[] = {
    {DP_TAG_TENSORS, DP_TAG_TENSOR},
    {DP_TAG_INTS, DP_TAG_INT},
    {DP_TAG_DOUBLES, DP_TAG_DOUBLE},
    {DP_TAG_BOOLS, DP_TAG_BOOL},
};

/* -- CALL -- */

/* Return the value with which overloads are chosen for argument r: the constant itself, or else a
 * value of tag DPI_TAG_SYMBOL, which stands for any value with one of the tags that r may have. */
static dp_value symbol(const dp_builder *b, dp_ref r)
{
    if (DPI_REF_KIND(r) == DPI_REF_CONSTANT)
        return b->p.constants[DPI_REF_INDEX(r)];
    dp_value v = {DPI_TAG_SYMBOL, r, {0}};
    v.u.i = b->p.values[r].tags;
    return v;
}

static int fail_returns(dp_builder *b, const dp_step *s, const char *what, size_t has)
{
    return dpi_builder_fail(b, DP_EVALUE, "as names %lld returns but %s has %zu",
                            (long long)s->n_rets, what, has);
}

/* Find the operator of `e` in the program's ops, or add it.  Returns its index or an error code. */
static int64_t op_find(dp_builder *b, const dpi_entry *e)
{
    for (uint32_t i = b->p.n_ops; i-- > 0;)
        if (b->p.ops[i].op == e->op)
            return i;
    if (!DPI_GROW(b, ops, 1))
        return DP_ERESOURCE;
    b->p.ops[b->p.n_ops] = (dpi_op_use){
        e->op, strcmp(e->op->name, "aten::conj") == 0 || strcmp(e->op->name, "aten::real") == 0,
        dpi_schema_ref(e->schema), e->written};
    return b->p.n_ops++;
}

/* Find the constant among the arguments of `s` that dpi_bind_kinds() left unchanged as `v`: *out.
 * False: there is none. */
static bool find_passed_constant(const dp_builder *b, const dp_step *s, const dp_value *v,
                                 dp_ref *out)
{
    for (size_t i = 0; i < s->n_args + s->n_kwargs; i++) {
        dp_ref r = i < s->n_args ? s->args[i] : s->kwargs[i - s->n_args].value;
        const dp_value *c = dp_program_constant(&b->p, r);
        *out = r;
        if (c != NULL && c->tag == v->tag && c->len == v->len && c->u.i == v->u.i)
            return true;
    }
    return false;
}

/* Is `v` None or an empty list?  A step may write to such a constant: it has no tensor. */
static bool holds_nothing(const dp_value *v)
{
    return v->tag == DP_TAG_NONE || (dp_is_list(v) && v->len == 0);
}

/* Store the dp_ref of each argument in `bound` in `out`.  Defaults and converted constants become
 * new constants.  DP_EVALUE: the operator would write to a constant. */
static int bound_refs(dp_builder *b, const dp_step *s, const dp_bound *bound,
                      const dp_schema *schema, dp_ref *out)
{
    for (uint32_t i = 0; i < bound->n_args; i++) {
        const dp_value *v = &bound->args[i];
        int rc = 0;
        if (v->tag == DPI_TAG_SYMBOL)
            out[i] = v->len;
        else if (!find_passed_constant(b, s, v, &out[i]))
            rc = dp_builder_constant(b, NULL, v, &out[i]);
        if (rc < 0)
            return rc;
        if ((bound->written >> i & 1) && !holds_nothing(v) && dpi_builder_from_constant(b, out[i]))
            return dpi_builder_fail(b, DP_EVALUE,
                                    "%s writes to its argument '%s', which is a constant",
                                    schema->name, schema->args[i].name);
    }
    return 0;
}

/* Return the set of tags that a return may have.  A list of optional elements may have any list's
 * tag. */
static uint32_t return_tags(const dpi_argument *ret)
{
    const dpi_type *t = ret->type;
    bool optional_elements = t->kind == DPI_TYPE_LIST && t->elem->kind == DPI_TYPE_OPTIONAL;

    return optional_elements ? DPI_TAGS_ANY : ret->tags;
}

/* Return the flags of a step that calls the operator of `e`. */
static uint32_t flags_of(const dpi_entry *e)
{
    return (e->random ? DP_STEP_FLAG_RANDOM : 0) |
           (e->written != 0 || e->n_rets == 0 ? DP_STEP_FLAG_EFFECT : 0);
}

/* Set the flags of a step that was just added. */
static void set_flags(dp_builder *b, dpi_step *step, uint32_t flags)
{
    step->flags = (uint16_t)flags;
    b->p.flags |= flags;
}

static int add_call(dp_builder *b, const dp_step *s, const dp_bound *bound, const dpi_kinds *kinds)
{
    dp_ref refs[DP_LIMIT_ARGUMENTS];
    const dp_schema *schema = kinds->schema;

    if (s->n_rets >= 0 && s->n_rets != bound->n_rets)
        return fail_returns(b, s, schema->name, bound->n_rets);
    int rc = bound_refs(b, s, bound, schema, refs);
    if (rc == 0)
        rc = dpi_reserve_step(b, bound->n_args, bound->n_rets, 0, 1);
    const dpi_entry *e = dpi_ctx_snapshot(b->ctx)->entries[bound->op->id];
    int64_t op = rc == 0 ? op_find(b, e) : rc;
    if (op < 0)
        return (int)op;
    dpi_step *step = dpi_add_step(b, DP_STEP_CALL, (uint32_t)op, s);
    step->late = kinds->late;
    set_flags(b, step, flags_of(e));
    step->names_written = bound->ret_written != 0;
    for (uint32_t i = 0; i < bound->n_args; i++)
        dpi_add_link(b, step, refs[i]);
    for (uint32_t i = 0; i < bound->n_rets; i++) {
        int viewed = dpi_viewed_by(&b->p, schema, refs, i);
        bool same = schema->ret_alias[i] >= 0;
        dpi_add_value(b, step,
                      (dpi_value_info){.tags = return_tags(&schema->rets[i]),
                                       .enum_kind = bound->ret_names[i],
                                       .from_constant = viewed >= 0 &&
                                                        dpi_builder_from_constant(b, refs[viewed]),
                                       .share = viewed >= 0 ? dpi_share_view(b, refs[viewed], same)
                                                            : (dpi_share){DPI_OWN, 0}});
    }
    return 0;
}

/* Check that some overload of the operator has the number of returns that the step expects, and
 * store the flags that some overload has in `*flags`. */
static int check_overloads(dp_builder *b, const dp_step *s, uint32_t *flags)
{
    size_t base = dpi_base_bytes(s->name), n;
    const dpi_entry **list = NULL;
    bool begun, some = s->n_rets < 0;
    int rc = dpi_ctx_pin(b->ctx, &begun);

    if (rc < 0)
        return rc;
    n = dpi_overloads(dpi_ctx_snapshot(b->ctx), s->name, base, NULL, 0);
    list = dp_arena_alloc_n(&b->ctx->arena, n, sizeof(*list));
    if (list != NULL)
        dpi_overloads(dpi_ctx_snapshot(b->ctx), s->name, base, list, n);
    for (size_t i = 0; list != NULL && i < n; i++)
        if (list[i]->schema != NULL) {
            some |= list[i]->schema->n_rets == s->n_rets;
            *flags |= flags_of(list[i]);
        }
    dpi_ctx_unpin(b->ctx, begun);
    if (list == NULL)
        return dpi_no_memory(&b->ctx->error, "overloads of an operator");
    return some ? 0
                : dpi_builder_fail(b, DP_EVALUE, "as names %lld returns but no %s has so many",
                                   (long long)s->n_rets, s->name);
}

/* Add a CALL whose overload is chosen at run time, when the values are known. */
static int add_bind(dp_builder *b, const dp_step *s)
{
    size_t n = s->n_args + s->n_kwargs, n_rets = s->n_rets > 0 ? (size_t)s->n_rets : 0;
    const char **names = dp_arena_alloc_n(b->arena, n, sizeof(*names));
    dpi_bind bind = {dpi_builder_str(b, s->name), names};
    uint32_t flags = DP_STEP_FLAG_EFFECT; /* a plugin loaded later may define a writing overload */

    if (names == NULL || bind.name == NULL)
        return dpi_no_memory(&b->ctx->error, "a program");
    if (check_overloads(b, s, &flags) < 0)
        return b->ctx->error.code;
    for (size_t i = 0; i < n; i++) {
        names[i] = i < s->n_args ? NULL : dpi_builder_str(b, s->kwargs[i - s->n_args].name);
        if (i >= s->n_args && names[i] == NULL)
            return DP_ERESOURCE;
    }
    int rc = dpi_reserve_step(b, n, n_rets, 0, 1);
    if (rc < 0 || !DPI_GROW(b, binds, 1))
        return rc < 0 ? rc : DP_ERESOURCE;
    b->p.binds[b->p.n_binds] = bind;
    dpi_step *step = dpi_add_step(b, DPI_STEP_BIND, b->p.n_binds++, s);
    step->names_written = s->n_rets >= 0; /* the run checks the number of returns */
    set_flags(b, step, flags);
    for (size_t i = 0; i < n; i++)
        dpi_add_link(b, step, i < s->n_args ? s->args[i] : s->kwargs[i - s->n_args].value);
    for (size_t i = 0; i < n_rets; i++)
        dpi_add_value(b, step, (dpi_value_info){.tags = DPI_TAGS_ANY, .share = {DPI_UNKNOWN, 0}});
    return 0;
}

static int check_call(dp_builder *b, const dp_step *s)
{
    dp_value *args = dp_arena_alloc_n(&b->ctx->arena, s->n_args, sizeof(*args));
    dp_kwarg *kwargs = dp_arena_alloc_n(&b->ctx->arena, s->n_kwargs, sizeof(*kwargs));
    dp_bound bound;
    dpi_kinds kinds = {0};

    if (args == NULL || kwargs == NULL)
        return dpi_no_memory(&b->ctx->error, "arguments of a step");
    for (size_t i = 0; i < s->n_args; i++)
        args[i] = symbol(b, s->args[i]);
    for (size_t i = 0; i < s->n_kwargs; i++)
        kwargs[i] = (dp_kwarg){s->kwargs[i].name, symbol(b, s->kwargs[i].value)};
    int rc = dpi_bind_kinds(b->ctx, s->name, b->whole_names, args, s->n_args, kwargs, s->n_kwargs,
                            &bound, &kinds);
    if (rc < 0)
        return rc;
    return kinds.schema != NULL ? add_call(b, s, &bound, &kinds) : add_bind(b, s);
}

/* Write the quoted name of r to `buf`, or the kind of its value if it is an unnamed constant. */
static const char *describe(const dp_builder *b, dp_ref r, char buf[DP_KEY_NAME_MAX])
{
    char name[DP_KEY_NAME_MAX];

    dpi_builder_name_of(b, r, name);
    if (name[0] != '\0')
        snprintf(buf, DP_KEY_NAME_MAX, "'%.60s'", name);
    else
        snprintf(buf, DP_KEY_NAME_MAX, "%s", dpi_value_kind(dp_program_constant(&b->p, r)));
    return buf;
}

/* -- GET -- */

static int fail_get(dp_builder *b, const char *name)
{
    const char *names[DPI_GETS_MAX];
    char near[200] = "";

    for (uint32_t i = 0; i < dpi_n_gets; i++)
        names[i] = dpi_gets[i].name;
    dpi_nearest(name, names, dpi_n_gets, 3, near, sizeof(near));
    return dpi_builder_fail(b, DP_ENOTFOUND, "nothing to get is called '%.64s'; nearest: %s", name,
                            near);
}

static int check_get(dp_builder *b, const dp_step *s)
{
    char name[DP_KEY_NAME_MAX];
    uint32_t i = 0;

    while (i < dpi_n_gets && strcmp(dpi_gets[i].name, s->name) != 0)
        i++;
    if (i == dpi_n_gets)
        return fail_get(b, s->name);
    const dpi_get *g = &dpi_gets[i];
    if (s->n_args != g->n_args || s->n_kwargs > 0)
        return dpi_builder_fail(b, DP_ETYPE, "get '%s' takes %u arguments, but %zu were given",
                                g->name, g->n_args, s->n_args + s->n_kwargs);
    if (!(dpi_builder_tags(b, s->args[0]) & g->arg_tags))
        return dpi_builder_fail(b, DP_ETYPE, "get '%s' is of a %s, which %s is not", g->name,
                                g->arg_tags == DPI_TENSOR ? "Tensor" : "list",
                                describe(b, s->args[0], name));
    if (s->n_rets >= 0 && s->n_rets != 1)
        return fail_returns(b, s, g->name, 1);
    int rc = dpi_reserve_step(b, s->n_args, 1, 0, 1);
    if (rc < 0)
        return rc;
    dpi_step *step = dpi_add_step(b, DP_STEP_GET, i, s);
    for (size_t k = 0; k < s->n_args; k++)
        dpi_add_link(b, step, s->args[k]);
    dpi_add_value(b, step,
                  (dpi_value_info){.tags = 1u << g->result_tag, .enum_kind = g->enum_kind});
    return 0;
}

/* -- LIST and ITEM -- */

/* Return the set of tags that a list of the elements `args` may have: one tag if all elements
 * surely have the same tag. */
static uint32_t list_tags(const dp_builder *b, const dp_ref *args, size_t n)
{
    for (size_t k = 0; k < DPI_COUNT(list_elements); k++) {
        size_t i = 0;
        while (i < n && dpi_builder_tags(b, args[i]) == 1u << list_elements[k].element)
            i++;
        if (i == n)
            return 1u << list_elements[k].list;
    }
    return DPI_LISTS;
}

static int check_list(dp_builder *b, const dp_step *s)
{
    dpi_value_info list = {0};
    int rc = dpi_reserve_step(b, s->n_args, 1, 0, 1);

    if (rc < 0)
        return rc;
    if (s->n_args == 0)
        return dpi_builder_fail(b, DP_EVALUE, "a list of nothing is a constant, not a step");
    list.tags = list_tags(b, s->args, s->n_args);
    list.share = dpi_share_any(b, s->args, s->n_args, false);
    dpi_step *step = dpi_add_step(b, DP_STEP_LIST, 0, s);
    for (size_t i = 0; i < s->n_args; i++) {
        list.from_constant |= dpi_builder_from_constant(b, s->args[i]);
        dpi_add_link(b, step, s->args[i]);
    }
    dpi_add_value(b, step, list);
    return 0;
}

/* Return the set of tags that an element of a list may have.  `list`: the list's set of tags. */
static uint32_t item_tags(uint32_t list)
{
    uint32_t tags = list >> DP_TAG_LIST & 1 ? DPI_TAGS_ANY : 0;

    for (size_t k = 0; k < DPI_COUNT(list_elements); k++)
        if (list >> list_elements[k].list & 1)
            tags |= 1u << list_elements[k].element;
    return tags;
}

static int check_item(dp_builder *b, const dp_step *s)
{
    char name[DP_KEY_NAME_MAX];

    if (s->n_args != 1 || s->index < 0 || s->index > UINT32_MAX)
        return dpi_builder_fail(b, DP_EVALUE, "index %lld of %zu lists", (long long)s->index,
                                s->n_args);
    uint32_t tags = dpi_builder_tags(b, s->args[0]) & DPI_LISTS;
    if (tags == 0)
        return dpi_builder_fail(b, DP_ETYPE, "index %lld of %s, which is no list",
                                (long long)s->index, describe(b, s->args[0], name));
    int rc = dpi_reserve_step(b, 1, 1, 0, 1);
    if (rc < 0)
        return rc;
    dpi_step *step = dpi_add_step(b, DP_STEP_ITEM, (uint32_t)s->index, s);
    dpi_add_link(b, step, s->args[0]);
    dpi_add_value(b, step,
                  (dpi_value_info){.tags = item_tags(tags),
                                   .from_constant = dpi_builder_from_constant(b, s->args[0]),
                                   .share = dpi_share_view(b, s->args[0], false)});
    return 0;
}

/* -- SUB -- */

/* Replace the argument's name in dpi_fit()'s message by the input's name. */
static int fail_input(dp_builder *b, const dp_program *sub, uint32_t i)
{
    const char *what = strstr(b->ctx->error.message, " must be ");
    char text[300];

    snprintf(text, sizeof(text), "%s", what != NULL ? what : " has another type");
    return dpi_builder_fail(b, DP_ETYPE, "input '%.64s'%s", dp_program_input_name(sub, i), text);
}

/* Check that r fits input i of `sub`, and that r is no constant if `sub` writes to the input. */
static int check_input(dp_builder *b, const dp_program *sub, uint32_t i, dp_ref r)
{
    const dp_schema *schema = sub->types[sub->inputs[i].type].schema;
    dp_value v = symbol(b, r);

    if (schema != NULL && dpi_fit(b->ctx, schema, 1, &v) < 0)
        return b->ctx->error.code == DP_ETYPE ? fail_input(b, sub, i) : b->ctx->error.code;
    if ((sub->values[i].written & DPI_WRITTEN) && dpi_builder_from_constant(b, r))
        return dpi_builder_fail(b, DP_EVALUE,
                                "the program writes to its input '%.64s', which is a constant",
                                dp_program_input_name(sub, i));
    return 0;
}

/* Store the step's keyword arguments in out[], in the order of the program's inputs. */
static int sub_inputs(dp_builder *b, const dp_step *s, dp_ref *out)
{
    const dp_program *sub = s->program;

    for (uint32_t i = 0; i < sub->n_inputs; i++)
        out[i] = UINT32_MAX;
    for (size_t k = 0; k < s->n_kwargs; k++) {
        int64_t i = dp_program_input_find(sub, s->kwargs[k].name);
        if (i < 0)
            return dpi_builder_fail(b, DP_ENOTFOUND, "the program has no input '%.64s'",
                                    s->kwargs[k].name);
        if (out[i] != UINT32_MAX)
            return dpi_builder_fail(b, DP_EVALUE, "input '%.64s' has more than one value",
                                    s->kwargs[k].name);
        out[i] = s->kwargs[k].value;
    }
    for (uint32_t i = 0; i < sub->n_inputs; i++) {
        if (out[i] == UINT32_MAX)
            return dpi_builder_fail(b, DP_ETYPE, "missing input '%.64s'",
                                    dp_program_input_name(sub, i));
        int rc = check_input(b, sub, i, out[i]);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Add the returns of a step that runs `sub`.  An output of `sub` never shares memory with a
 * constant of `sub`, since a run copies such an output.  It may share memory with a constant of
 * the program being built that is an input of `sub`. */
static void sub_outputs(dp_builder *b, const dp_program *sub, const dp_ref *inputs, dpi_step *step)
{
    bool any_constant = false;

    for (uint32_t i = 0; i < sub->n_inputs; i++)
        any_constant |= dpi_builder_from_constant(b, inputs[i]);
    for (uint32_t i = 0; i < sub->n_outputs; i++) {
        dp_ref r = sub->outputs[i].ref;
        dpi_value_info v = {0};
        if (DPI_REF_KIND(r) == DPI_REF_VALUE) {
            const dpi_value_info *from = &sub->values[DPI_REF_INDEX(r)];
            const dp_alias *a = &sub->outputs[i].alias;
            v = (dpi_value_info){.tags = from->tags, .enum_kind = from->enum_kind};
            v.share = dpi_share_of_output(b, sub, i, inputs, step->ret);
            v.from_constant = a->kind == DP_ALIAS_INPUT
                                  ? dpi_builder_from_constant(b, inputs[a->index])
                                  : any_constant && v.share.how == DPI_SEVERAL;
        } else {
            v.tags = 1u << sub->constants[DPI_REF_INDEX(r)].tag;
        }
        dpi_add_value(b, step, v);
    }
}

static int check_sub(dp_builder *b, const dp_step *s)
{
    const dp_program *sub = s->program;

    if (sub == NULL || s->n_args > 0 || sub->reg != b->p.reg)
        return dpi_builder_fail(b, DP_EVALUE,
                                "a step runs a program of its registry, with inputs by name");
    if (sub->depth >= DP_LIMIT_PROGRAM_DEPTH)
        return dp_error_limit(
            dpi_builder_fail(b, DP_ERESOURCE,
                             "programs in programs, more than %d deep (program_depth)",
                             DP_LIMIT_PROGRAM_DEPTH),
            "program_depth", DP_LIMIT_PROGRAM_DEPTH, sub->depth + 1);
    if (s->n_rets >= 0 && s->n_rets != sub->n_outputs)
        return fail_returns(b, s, "the program", sub->n_outputs);
    dp_ref *refs = dp_arena_alloc_n(&b->ctx->arena, sub->n_inputs, sizeof(*refs));
    int rc = refs != NULL ? sub_inputs(b, s, refs) : dpi_no_memory(&b->ctx->error, "a program");
    if (rc == 0)
        rc = dpi_reserve_step(b, sub->n_inputs, sub->n_outputs, sub->frame, sub->expanded + 1);
    if (rc < 0 || !DPI_GROW(b, subs, 1))
        return rc < 0 ? rc : DP_ERESOURCE;
    b->p.subs[b->p.n_subs] = dp_program_ref(s->program);
    dpi_step *step = dpi_add_step(b, DP_STEP_SUB, b->p.n_subs++, s);
    set_flags(b, step, sub->flags);
    for (uint32_t i = 0; i < sub->n_inputs; i++)
        dpi_add_link(b, step, refs[i]);
    sub_outputs(b, sub, refs, step);
    b->p.expanded += sub->expanded;
    if (b->p.depth < sub->depth)
        b->p.depth = sub->depth;
    if (b->p.frame < sub->frame)
        b->p.frame = sub->frame;
    return 0;
}

/* -- all kinds -- */

static int check_reserved(dp_builder *b, const dp_step *s)
{
    return dpi_builder_fail(b, DP_ENOTIMPL, "step kind '%s' is reserved",
                            s->kind == DP_STEP_COND ? "cond" : "while");
}

int dpi_check_step(dp_builder *b, const dp_step *s)
{
    static int (*const kinds[DP_STEP_END])(dp_builder *, const dp_step *) = {
        [DP_STEP_CALL] = check_call,         [DP_STEP_GET] = check_get,
        [DP_STEP_LIST] = check_list,         [DP_STEP_ITEM] = check_item,
        [DP_STEP_SUB] = check_sub,           [DP_STEP_SCALAR] = dpi_check_scalar,
        [DP_STEP_SELECT] = dpi_check_select, [DP_STEP_COND] = check_reserved,
        [DP_STEP_WHILE] = check_reserved,
    };

    if (s->kind >= DP_STEP_END || kinds[s->kind] == NULL)
        return dpi_builder_fail(b, DP_EVALUE, "there is no step kind %u", s->kind);
    int rc = dpi_check_when(b, s);
    return rc < 0 ? rc : kinds[s->kind](b, s);
}
