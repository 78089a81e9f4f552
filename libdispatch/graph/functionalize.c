/* functionalize.c -- the pass that replaces calls that write to their arguments by calls that
 * return new values (torch/_functorch, aten/src/ATen/FunctionalTensorWrapper.cpp).
 *
 * A call that writes is replaced by its functional form (partner.c), whose results are stored in
 * the roots of the values that were written (undo.c).  If it has no functional form, or if a view
 * cannot be turned back, the call stays as it is and writes to a copy of the root, which no other
 * value shares: its views are made again from the copy (slots.c). */
#include "functional.h"
#include "dispatch/call/ctx.h"
#include <stdio.h>

/* Note which values are tensors because step i takes them as such: an input without a type, and an
 * item of one, may be anything. */
static void note_tensors(dpi_functional *f, uint32_t i)
{
    const dp_program *p = f->r.from;
    const dpi_step *s = &p->steps[i];

    for (uint32_t k = 0; k < s->n_args && s->kind == DP_STEP_CALL; k++)
        if (p->ops[s->operand].schema->args[k].type->kind == DPI_TYPE_TENSOR &&
            dpi_is_value(p->links[s->args + k]))
            f->tensors[dpi_same(f, p->links[s->args + k])] = true;
}

/* Bring the arguments of step i up to date. */
static int read_arguments(dpi_functional *f, uint32_t i)
{
    const dpi_step *s = &f->r.from->steps[i];
    dp_ref ref;
    int rc = 0;

    for (uint32_t k = 0; k < s->n_args && rc == 0; k++)
        rc = dpi_functional_now(f, f->r.from->links[s->args + k], &ref);
    return rc;
}

/* -- what a step writes -- */

typedef int each_fn(dpi_functional *f, uint32_t v, void *arg);

/* Call `fn` for every argument of the step that it writes or, if not `writes`, only reads, as a
 * value.  A list that a LIST step makes counts as its elements; other lists are values
 * themselves. */
static int each(dpi_functional *f, const dpi_step *s, bool writes, each_fn *fn, void *arg)
{
    const dp_program *p = f->r.from;
    uint64_t written = p->ops[s->operand].written;
    int rc = 0;

    for (uint32_t i = 0; i < s->n_args && rc == 0; i++) {
        dp_ref r = p->links[s->args + i];
        if ((written >> i & 1) != writes || !dpi_is_value(r))
            continue;
        uint32_t v = dpi_same(f, r);
        const dpi_step *list = dpi_derived_by(f, v);
        if (list == NULL || list->kind != DP_STEP_LIST) {
            rc = fn(f, v, arg);
            continue;
        }
        for (uint32_t k = 0; k < list->n_args && rc == 0; k++)
            if (dpi_is_value(p->links[list->args + k]))
                rc = fn(f, dpi_same(f, p->links[list->args + k]), arg);
    }
    return rc;
}

/* The tensors that a step writes. */
typedef struct writes {
    uint32_t n;  /* number of tensors */
    bool copies; /* the step must write to copies */
} writes;

/* Look at value `v`, which the step writes.  The step must write to copies if a view has no
 * inverse, or if two of the values have one root. */
static int ask(dpi_functional *f, uint32_t v, void *arg)
{
    writes *w = arg;
    dpi_undo how;
    uint32_t root;
    int rc = dpi_undo_ask(f, v, &how, &root);

    if (rc < 0)
        return rc;
    if (how == DPI_UNDO_EXPANDED)
        return dpi_functional_fail(f, "it writes to an expanded tensor");
    if (how == DPI_UNDO_PERHAPS)
        return dpi_functional_fail(f, "it writes to what may be a view or a copy");
    w->copies |= how == DPI_UNDO_COPY || f->slots[root].seen == f->step + 1 ||
                 (dpi_is_list(f, v) && v != root);
    w->n += dpi_is_list(f, root) ? 2 : 1;
    f->slots[root].seen = f->step + 1;
    return 0;
}

/* Look at value `v`, which a step reads that writes several tensors: a kernel may read `v` after it
 * has written to it. */
static int ask_read(dpi_functional *f, uint32_t v, void *arg)
{
    uint32_t root = f->slots[v].kind == DPI_SLOT_ROOT ? v : f->slots[v].root;
    writes *w = arg;

    if (f->slots[v].kind != DPI_SLOT_PLAIN)
        w->copies |= root == DPI_SLOT_NONE || f->slots[root].seen == f->step + 1;
    return 0;
}

/* Give the root of `v` a copy as its new value, unless it has one already. */
static int copy_root(dpi_functional *f, uint32_t v, void *unused)
{
    dpi_undo how;
    uint32_t root;
    dp_ref copy, when = f->when;
    int rc = dpi_undo_ask(f, v, &how, &root);

    (void)unused;
    if (rc < 0 || f->slots[root].private_copy)
        return rc;
    if (dpi_is_list(f, root))
        return dpi_functional_fail(f,
                                   "it writes to the tensors of a list whose length is not known");
    f->when = DPI_REF_NONE;
    if (f->slots[root].step != DPI_SLOT_NONE &&
        f->r.from->steps[f->slots[root].step].when != DPI_REF_NONE)
        rc = dpi_rewrite_when(&f->r, f->slots[root].step, &f->when);
    if (rc == 0)
        rc = dpi_functional_call(f, "aten::clone", &f->r.values[root], 1, &copy);
    f->when = when;
    if (rc == 0)
        rc = dpi_functional_write(f, root, copy);
    f->slots[root].private_copy = true;
    return rc;
}

/* Let step i write to copies. */
static int write_copies(dpi_functional *f, uint32_t i)
{
    int rc = each(f, &f->r.from->steps[i], true, copy_root, NULL);

    if (rc == 0)
        rc = read_arguments(f, i);
    return rc == 0 ? dpi_rewrite_keep(&f->r, i) : rc;
}

/* -- functional forms -- */

/* Add a call of the functional form of step i: *first is its first return. */
static int call_partner(dpi_functional *f, const dpi_step *s, const dp_schema *partner,
                        dp_ref *first)
{
    const dp_program *p = f->r.from;
    const dp_schema *schema = p->ops[s->operand].schema;
    dp_ref args[DP_LIMIT_ARGUMENTS];
    dp_ref_kwarg kwargs[DP_LIMIT_ARGUMENTS];
    dp_step call = {.kind = DP_STEP_CALL,
                    .name = partner->name,
                    .args = args,
                    .kwargs = kwargs,
                    .n_rets = partner->n_rets};
    uint32_t n = 0;
    int rc = 0;

    for (uint32_t k = 0; k < s->n_args && rc == 0; k++) {
        dp_ref ref;
        if (schema->variant == DP_VARIANT_OUT && (schema->written >> k & 1))
            continue;
        rc = dpi_functional_now(f, p->links[s->args + k], &ref);
        if (partner->args[n].kwarg_only)
            kwargs[call.n_kwargs++] = (dp_ref_kwarg){partner->args[n].name, ref};
        else
            args[call.n_args++] = ref;
        n++;
    }
    return rc == 0 ? dpi_functional_add(f, &call, first) : rc;
}

/* Store `ref`, the new value of argument `old` of the step. */
static int store(dpi_functional *f, dp_ref old, int fit, dp_ref ref)
{
    uint32_t v = dpi_same(f, old);
    const dpi_step *list = dpi_derived_by(f, v);
    int rc = 0;

    if (list == NULL || list->kind != DP_STEP_LIST) {
        if (!dpi_is_list(f, v))
            rc = dpi_functional_fit(f, v, fit, &ref);
        return rc == 0 ? dpi_undo_store(f, v, ref) : rc;
    }
    for (uint32_t k = 0; k < list->n_args && rc == 0; k++) {
        dp_ref item, element = f->r.from->links[list->args + k];
        dp_step s = {.kind = DP_STEP_ITEM, .args = &ref, .n_args = 1, .n_rets = 1, .index = k};
        if (!dpi_is_value(element))
            continue;
        rc = dpi_functional_add(f, &s, &item);
        if (rc == 0)
            rc = dpi_functional_fit(f, dpi_same(f, element), fit, &item);
        if (rc == 0)
            rc = dpi_undo_store(f, dpi_same(f, element), item);
    }
    return rc;
}

static int write_partner(dpi_functional *f, uint32_t i, const dpi_partner *partner)
{
    const dp_program *p = f->r.from;
    const dpi_step *s = &p->steps[i];
    const dp_schema *schema = p->ops[s->operand].schema;
    dp_ref first = 0;
    int rc = call_partner(f, s, partner->schema, &first);

    for (uint32_t k = 0, n = 0; k < s->n_args && rc == 0; k++) {
        dp_ref r = p->links[s->args + k];
        if (!(schema->written >> k & 1))
            continue;
        if (dpi_is_value(r))
            rc = store(f, r, partner->fit, first + n);
        n++;
    }
    /* all returns are written arguments (dpi_partner_find()); a view is made when it is read */
    for (uint32_t k = 0; k < s->n_rets && rc == 0; k++) {
        uint32_t v = dpi_same(f, p->links[s->args + schema->ret_alias[k]]);
        if (f->slots[v].kind == DPI_SLOT_ROOT && f->when == DPI_REF_NONE)
            rc = dpi_rewrite_set(&f->r, s->ret + k, f->r.values[v]);
    }
    return rc;
}

/* -- steps -- */

static int write_step(dpi_functional *f, uint32_t i)
{
    const dpi_step *s = &f->r.from->steps[i];
    const dpi_partner *partner = dpi_partner_find(f, s->operand);
    writes w = {0, partner->schema == NULL};

    if (dpi_changes_tensor(f->r.from->ops[s->operand].schema))
        return dpi_functional_fail(f,
                                   "it changes the sizes, the memory or the gradient of a tensor");
    int rc = dpi_rewrite_when(&f->r, i, &f->when);
    if (rc == 0)
        rc = each(f, s, true, ask, &w);
    if (rc == 0 && w.n > 1)
        rc = each(f, s, false, ask_read, &w);
    if (rc < 0)
        return rc;
    return w.copies ? write_copies(f, i) : write_partner(f, i, partner);
}

/* Make an item of a root list, whose other items may be out of date, if it is the first step to do
 * so. */
static int item_step(dpi_functional *f, uint32_t i)
{
    const dpi_step *s = &f->r.from->steps[i];
    uint32_t list = dpi_same(f, f->r.from->links[s->args]);
    uint32_t item = dpi_functional_item(f, list, s->operand, DPI_SLOT_NONE);

    if (item != DPI_SLOT_NONE)
        return dpi_rewrite_set(&f->r, s->ret, f->r.values[item]);
    f->r.values[f->r.from->links[s->args]] = f->r.values[list];
    return dpi_rewrite_keep(&f->r, i);
}

/* Does the step make a view by the strides of the memory, not by the sizes of its argument? */
static bool reads_by_strides(const dp_program *p, const dpi_step *s)
{
    const char *name = s->kind == DP_STEP_CALL ? p->ops[s->operand].schema->name : "";

    return strcmp(name, "aten::as_strided") == 0 || strcmp(name, "aten::_reshape_alias") == 0;
}

/* Check that the root of `v`, which is made by strides, is no input: its strides and its offset are
 * not known, and a new value would have others. */
static int check_strided(dpi_functional *f, uint32_t v)
{
    const dpi_slot *slot = &f->slots[v];

    if (slot->kind != DPI_SLOT_DERIVED || slot->root == DPI_SLOT_NONE)
        return 0;
    const dpi_slot *root = &f->slots[slot->root];
    if (root->step != DPI_SLOT_NONE && root->list == DPI_SLOT_NONE)
        return 0;
    return dpi_functional_fail(f, "it views the memory of an input that a step writes to");
}

/* Make the program functional that SUB step i runs. */
static int replace_program(dpi_functional *f, uint32_t i)
{
    uint32_t at = f->r.from->steps[i].operand;
    const dp_program *sub = f->r.from->subs[at];

    for (uint32_t k = 0; k < sub->n_inputs; k++)
        if (dp_program_input_written(sub, k))
            return dpi_functional_fail(f,
                                       "it runs a program that writes to its input '%.64s' and "
                                       "cannot be inlined",
                                       dp_program_input_name(sub, k));
    int rc = dp_program_functionalize(f->r.ctx, sub, &f->subs[at]);
    return rc < 0 ? dpi_rewrite_fail(&f->r, i) : 0;
}

static int replace_step(dpi_functional *f, uint32_t i)
{
    const dp_program *p = f->r.from;
    const dpi_step *s = &p->steps[i];
    int rc;

    f->step = i;
    f->when = DPI_REF_NONE;
    note_tensors(f, i);
    if (s->kind == DPI_STEP_BIND)
        return dpi_functional_fail(f, "its overload is chosen when the program runs; give types to "
                                      "the inputs, or name the overload");
    bool is_item = s->kind == DP_STEP_ITEM && dpi_is_value(p->links[s->args]) &&
                   f->slots[dpi_same(f, p->links[s->args])].kind == DPI_SLOT_ROOT;
    if (s->kind == DP_STEP_CALL && p->ops[s->operand].written != 0)
        rc = write_step(f, i);
    else if (is_item)
        rc = item_step(f, i);
    else {
        rc = read_arguments(f, i);
        if (rc == 0 && s->kind == DP_STEP_SUB && (s->flags & DP_STEP_FLAG_EFFECT))
            rc = replace_program(f, i);
        if (rc == 0)
            rc = dpi_rewrite_keep(&f->r, i);
    }
    f->when = DPI_REF_NONE;
    if (rc == 0)
        rc = dpi_functional_enter(f, i);
    return rc == 0 && reads_by_strides(p, s) ? check_strided(f, s->ret) : rc;
}

/* -- the pass -- */

/* Mark the roots whose memory some step reads by strides. */
static bool *find_strided(const dp_program *p)
{
    bool *strided = dp_calloc((size_t)p->n_values + 1, sizeof(*strided));

    for (uint32_t i = 0; i < p->n_steps && strided != NULL; i++) {
        const dpi_step *s = &p->steps[i];
        if (!reads_by_strides(p, s))
            continue;
        dp_ref root = dpi_root_of(p, s->ret);
        if (root != s->ret)
            strided[root] = true;
    }
    return strided;
}

static int make_slots(dpi_functional *f)
{
    const dp_program *p = f->r.from;

    for (f->item_mask = 15; f->item_mask < 2 * p->n_steps; f->item_mask = 2 * f->item_mask + 1)
        ;
    f->slots = dp_calloc((size_t)p->n_values + 1, sizeof(*f->slots));
    f->tensors = dp_calloc((size_t)p->n_values + 1, sizeof(*f->tensors));
    f->partners = dp_calloc((size_t)p->n_ops + 1, sizeof(*f->partners));
    f->item_keys = dp_calloc((size_t)f->item_mask + 1, sizeof(*f->item_keys));
    f->item_values = dp_malloc_n((size_t)f->item_mask + 1, sizeof(*f->item_values));
    f->r.subs = f->subs = dp_calloc((size_t)p->n_subs + 1, sizeof(*f->subs));
    if (f->subs == NULL || f->slots == NULL || f->tensors == NULL || f->partners == NULL ||
        f->item_keys == NULL || f->item_values == NULL)
        return dpi_no_memory(&f->r.ctx->error, "a pass over a program");
    dpi_functional_inputs(f);
    return 0;
}

static int replace_steps(dpi_functional *f)
{
    const dp_program *p = f->r.from;
    bool *strided = find_strided(p);
    int rc = strided != NULL ? 0 : dpi_no_memory(&f->r.ctx->error, "a pass over a program");

    for (uint32_t v = 0; v < p->n_inputs && rc == 0; v++)
        f->slots[v].strided = strided[v];
    for (uint32_t i = 0; i < p->n_steps && rc == 0; i++) {
        rc = replace_step(f, i);
        for (uint32_t k = 0; k < p->steps[i].n_rets && rc == 0; k++)
            f->slots[p->steps[i].ret + k].strided = strided[p->steps[i].ret + k];
    }
    dp_free(strided);
    return rc;
}

int dp_program_functionalize(dp_ctx *ctx, const dp_program *p, dp_program **out)
{
    dpi_functional f = {0};
    dp_program *flat = NULL;
    int rc = dp_program_inline(ctx, p, &flat);

    if (rc < 0)
        return rc;
    rc = dpi_rewrite_begin(&f.r, ctx, flat);
    if (rc == 0)
        rc = make_slots(&f);
    if (rc == 0)
        rc = replace_steps(&f);
    if (rc == 0)
        rc = dpi_functional_finish(&f, out);
    for (uint32_t i = 0; f.subs != NULL && i < flat->n_subs; i++)
        dp_program_unref(f.subs[i]);
    dp_free(f.subs);
    dp_free(f.slots);
    dp_free(f.tensors);
    dp_free(f.partners);
    dp_free(f.stack);
    dp_free(f.item_keys);
    dp_free(f.item_values);
    dpi_rewrite_end(&f.r);
    dp_program_unref(flat);
    return rc;
}
