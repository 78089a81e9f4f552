/* slots.c -- what the pass that makes a program functional knows of each value, and making a value
 * again after a write to its memory. */
#include "functional.h"
#include "dispatch/call/ctx.h"

/* -- which values are out of date -- */

/* Was something written to the memory of value `v` after its new value was made? */
static bool is_stale(const dpi_functional *f, uint32_t v, bool settled)
{
    const dpi_slot *s = &f->slots[v];

    if (s->kind == DPI_SLOT_PLAIN || s->kind == DPI_SLOT_ROOT)
        return false;
    if (s->root == DPI_SLOT_NONE)
        return f->now > s->made;
    const dpi_slot *root = &f->slots[s->root];
    return root->written > s->made || (settled && root->settled > s->made);
}

static int push(dpi_functional *f, uint32_t v)
{
    uint32_t *grown = dpi_grow(f->stack, &f->cap_stack, f->n_stack + 1, sizeof(*f->stack));

    if (grown == NULL)
        return dpi_no_memory(&f->r.ctx->error, "a pass over a program");
    f->stack = grown;
    f->stack[f->n_stack++] = v;
    return 0;
}

/* Return the old references from which value `v`, which is no root, is made: *n of them. */
static const dp_ref *sources(const dpi_functional *f, uint32_t v, uint32_t *n)
{
    const dpi_slot *slot = &f->slots[v];
    const dpi_step *s = &f->r.from->steps[slot->step];

    *n = slot->kind == DPI_SLOT_GATED ? 1 : s->n_args;
    return slot->kind == DPI_SLOT_GATED ? &slot->parent : &f->r.from->links[s->args];
}

/* -- making values again -- */

/* Would the step of `v` read the same values as when it was added last?  Then what was written is
 * another one of its several roots. */
static bool reads_the_same(const dpi_functional *f, uint32_t v)
{
    const dpi_step *s = &f->r.from->steps[f->slots[v].step];
    const dpi_step *last = &f->r.b->p.steps[f->slots[v].added];
    bool same = f->slots[v].kind == DPI_SLOT_DERIVED && f->slots[v].root == DPI_SLOT_NONE;

    for (uint32_t i = 0; i < s->n_args && same; i++) {
        dp_ref old = f->r.from->links[s->args + i];
        same = !dpi_is_value(old) || f->r.values[old] == f->r.b->p.links[last->args + i];
    }
    return same;
}

/* Add the step of `v` again; what it reads is up to date. */
static int make_again(dpi_functional *f, uint32_t v)
{
    dpi_slot *slot = &f->slots[v];
    const dpi_step *s = &f->r.from->steps[slot->step];
    dp_ref first, when;

    if (slot->kind == DPI_SLOT_GATED) {
        slot->made = f->now;
        first = f->r.values[slot->parent];
        int rc = dpi_rewrite_ref(&f->r, s->when, &when);
        if (rc == 0)
            rc = dpi_rewrite_select(&f->r, slot->step, when, &first, NULL);
        f->r.values[v] = first;
        return rc;
    }
    if (reads_the_same(f, v)) {
        slot->made = f->now;
        return 0;
    }
    if (slot->perhaps && is_stale(f, v, false)) {
        f->step = slot->step;
        return dpi_functional_fail(f, "it may return a view or a copy, and its argument is written "
                                      "before the result is read");
    }
    int rc = dpi_rewrite_step(&f->r, slot->step, &first);
    for (uint32_t i = 0; i < s->n_rets && rc == 0; i++)
        if (f->slots[s->ret + i].kind == DPI_SLOT_DERIVED) {
            f->r.values[s->ret + i] = first + i;
            f->slots[s->ret + i].made = f->now;
            f->slots[s->ret + i].added = f->r.b->p.n_steps - 1;
        }
    return rc;
}

/* Fail if `v` is a list of which an item was written: its length is not known. */
static int check_whole(dpi_functional *f, uint32_t v)
{
    char name[DP_KEY_NAME_MAX];

    if (!f->slots[v].broken)
        return 0;
    return dpi_functional_fail(f,
                               "the list '%.64s' is used as a whole after one of its items was "
                               "written",
                               dp_program_value_name(f->r.from, v, name));
}

/* Push the sources of `v` that are stale.  If there are none, enter the new values of those that
 * are the same tensor as another value. */
static int check_sources(dpi_functional *f, uint32_t v)
{
    uint32_t n, before = f->n_stack;
    const dp_ref *refs = sources(f, v, &n);
    int rc = 0;

    for (uint32_t i = 0; i < n && rc == 0; i++)
        if (dpi_is_value(refs[i]) && is_stale(f, dpi_same(f, refs[i]), true))
            rc = push(f, dpi_same(f, refs[i]));
    for (uint32_t i = 0; i < n && rc == 0 && f->n_stack == before; i++)
        if (dpi_is_value(refs[i])) {
            rc = check_whole(f, dpi_same(f, refs[i]));
            f->r.values[refs[i]] = f->r.values[dpi_same(f, refs[i])];
        }
    return rc;
}

/* Bring value `v` up to date, and first what it is made from.  A stack takes the place of
 * recursion, since a program may have 100,000 views of views. */
static int refresh(dpi_functional *f, uint32_t v)
{
    uint32_t step = f->step;
    int rc = is_stale(f, v, true) ? push(f, v) : 0;

    while (f->n_stack > 0 && rc == 0) {
        uint32_t top = f->stack[f->n_stack - 1], n = f->n_stack;
        if (!is_stale(f, top, true)) {
            f->n_stack--;
            continue;
        }
        rc = check_sources(f, top);
        if (rc == 0 && f->n_stack == n)
            rc = make_again(f, top);
    }
    f->n_stack = 0;
    if (rc == 0)
        f->step = step;
    return rc;
}

int dpi_functional_now(dpi_functional *f, dp_ref old, dp_ref *out)
{
    if (!dpi_is_value(old))
        return dpi_rewrite_ref(&f->r, old, out);
    uint32_t v = dpi_same(f, old);
    int rc = refresh(f, v);

    if (rc == 0)
        rc = check_whole(f, v);
    f->r.values[old] = f->r.values[v];
    return rc == 0 ? dpi_rewrite_ref(&f->r, old, out) : rc;
}

dp_ref dpi_functional_element(const dpi_functional *f, uint32_t list, uint32_t index)
{
    const dpi_step *s = dpi_derived_by(f, list);
    bool is_list = s != NULL && s->kind == DP_STEP_LIST && s->when == DPI_REF_NONE;

    return is_list && index < s->n_args ? f->r.from->links[s->args + index] : DPI_REF_NONE;
}

/* -- writes -- */

/* Enter the items of list `v`, which was written as a whole, again. */
static int write_items(dpi_functional *f, uint32_t v, dp_ref list)
{
    int rc = 0;

    for (uint32_t i = f->slots[v].items; i != DPI_SLOT_NONE && rc == 0; i = f->slots[i].next) {
        dp_step s = {.kind = DP_STEP_ITEM,
                     .args = &list,
                     .n_args = 1,
                     .n_rets = 1,
                     .index = f->slots[i].index};
        rc = dpi_rewrite_add(&f->r, f->step, &s, &f->r.values[i]);
        f->slots[i].written = f->now;
    }
    return rc;
}

int dpi_functional_write(dpi_functional *f, uint32_t v, dp_ref ref)
{
    dpi_slot *slot = &f->slots[v];

    slot->written = ++f->now;
    slot->writer = f->step;
    slot->private_copy = false;
    if (slot->list != DPI_SLOT_NONE)
        f->slots[slot->list].broken = true;
    f->r.values[v] = ref;
    return slot->items != DPI_SLOT_NONE ? write_items(f, v, ref) : 0;
}

/* -- slots of new values -- */

static dpi_slot plain(uint32_t v, uint32_t step)
{
    return (dpi_slot){.kind = DPI_SLOT_PLAIN,
                      .same = v,
                      .root = v,
                      .step = step,
                      .parent = DPI_SLOT_NONE,
                      .list = DPI_SLOT_NONE,
                      .items = DPI_SLOT_NONE,
                      .next = DPI_SLOT_NONE};
}

void dpi_functional_inputs(dpi_functional *f)
{
    const dp_program *p = f->r.from;

    for (uint32_t v = 0; v < p->n_inputs; v++) {
        f->slots[v] = plain(v, DPI_SLOT_NONE);
        if (p->values[v].written != 0)
            f->slots[v].kind = DPI_SLOT_ROOT;
    }
}

/* Does something write to the memory of `ref`? */
static bool is_live(const dpi_functional *f, dp_ref ref)
{
    return dpi_is_value(ref) && f->slots[dpi_same(f, ref)].kind != DPI_SLOT_PLAIN;
}

static uint32_t root_of(const dpi_functional *f, uint32_t v)
{
    return f->slots[v].kind == DPI_SLOT_ROOT ? v : f->slots[v].root;
}

/* Make `v` a value that step i makes from its arguments. */
static void derive(dpi_functional *f, uint32_t v, uint32_t i)
{
    const dpi_step *s = &f->r.from->steps[i];
    const dp_ref *args = &f->r.from->links[s->args];
    uint32_t root = DPI_SLOT_NONE;
    bool several = false;

    for (uint32_t k = 0; k < s->n_args; k++)
        if (is_live(f, args[k])) {
            uint32_t of = root_of(f, dpi_same(f, args[k]));
            several |= root != DPI_SLOT_NONE && of != root;
            root = of;
            several |= of == DPI_SLOT_NONE;
        }
    if (root == DPI_SLOT_NONE && !several)
        return;
    f->slots[v].kind = DPI_SLOT_DERIVED;
    f->slots[v].root = several ? DPI_SLOT_NONE : root;
    f->slots[v].made = f->now;
    f->slots[v].added = f->r.b->p.n_steps - 1;
}

uint32_t dpi_functional_item(dpi_functional *f, uint32_t list, uint32_t index, uint32_t v)
{
    uint64_t key = ((uint64_t)list << 32 | index) + 1;
    uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32) & f->item_mask;

    while (f->item_keys[at] != 0 && f->item_keys[at] != key)
        at = (at + 1) & f->item_mask;
    if (f->item_keys[at] == 0) {
        if (v == DPI_SLOT_NONE)
            return v;
        f->item_keys[at] = key;
        f->item_values[at] = v;
    }
    return f->item_values[at];
}

/* Make the slot of `v`, which ITEM step i returns. */
static void enter_item(dpi_functional *f, uint32_t v, uint32_t i)
{
    const dpi_step *s = &f->r.from->steps[i];
    dp_ref from = f->r.from->links[s->args];

    if (!is_live(f, from))
        return;
    uint32_t list = dpi_same(f, from);
    dpi_slot *slot = &f->slots[v], *l = &f->slots[list];
    if (l->kind != DPI_SLOT_ROOT) {
        derive(f, v, i);
        slot->parent = list;
        dp_ref element = dpi_functional_element(f, list, s->operand);
        if (element != DPI_REF_NONE && dpi_is_value(element) && s->when == DPI_REF_NONE)
            slot->same = dpi_same(f, element);
        return;
    }
    uint32_t item = dpi_functional_item(f, list, s->operand, v);
    slot->same = item;
    if (item != v)
        return;
    *slot = (dpi_slot){.kind = DPI_SLOT_ROOT,
                       .same = v,
                       .root = v,
                       .step = i,
                       .parent = DPI_SLOT_NONE,
                       .list = list,
                       .index = s->operand,
                       .items = DPI_SLOT_NONE,
                       .next = l->items};
    l->items = v;
}

/* Make the slot of return k of CALL step i. */
static void enter_return(dpi_functional *f, uint32_t i, uint32_t k)
{
    const dpi_step *s = &f->r.from->steps[i];
    const dp_schema *schema = f->r.from->ops[s->operand].schema;
    dpi_slot *slot = &f->slots[s->ret + k];
    int viewed = dpi_viewed_by(f->r.from, schema, &f->r.from->links[s->args], k);
    dp_ref of = viewed >= 0 ? f->r.from->links[s->args + (uint32_t)viewed] : 0;

    if (viewed < 0) {
        if (f->r.from->values[s->ret + k].written != 0)
            slot->kind = DPI_SLOT_ROOT;
        return;
    }
    if (!is_live(f, of))
        return;
    if (schema->ret_alias[k] < 0) {
        derive(f, s->ret + k, i);
        slot->root = root_of(f, dpi_same(f, of));
        slot->parent = dpi_same(f, of);
        slot->perhaps = dpi_view_of(f->r.from, s)->how == DPI_VIEW_PERHAPS;
        return;
    }
    if (s->when == DPI_REF_NONE) {
        slot->same = dpi_same(f, of);
        return;
    }
    slot->kind = DPI_SLOT_GATED;
    slot->parent = dpi_same(f, of);
    slot->root = root_of(f, slot->parent);
    slot->made = 0; /* a step that chooses None or the argument is still to be added */
}

static bool any_live(const dpi_functional *f, const dpi_step *s)
{
    bool any = false;

    for (uint32_t k = 0; k < s->n_args; k++)
        any |= is_live(f, f->r.from->links[s->args + k]);
    return any;
}

int dpi_functional_enter(dpi_functional *f, uint32_t i)
{
    const dp_program *p = f->r.from;
    const dpi_step *s = &p->steps[i];

    for (uint32_t k = 0; k < s->n_rets; k++) {
        f->slots[s->ret + k] = plain(s->ret + k, i);
        if (s->kind == DP_STEP_CALL)
            enter_return(f, i, k);
        else if (s->kind == DP_STEP_ITEM)
            enter_item(f, s->ret + k, i);
        else if (s->kind == DP_STEP_LIST || s->kind == DP_STEP_SELECT)
            derive(f, s->ret + k, i);
        else if (p->values[s->ret + k].written != 0 ||
                 (s->kind == DP_STEP_SUB && p->values[s->ret + k].share.how != DPI_OWN &&
                  any_live(f, s)))
            return dpi_functional_fail(
                f, "the program that it runs returns memory that a step writes to");
    }
    return 0;
}
