/* truth.c -- keeps the kernels of an operator in a stack for each key, newest first. */
#include "truth.h"

dpi_generation *dpi_generation_ref(dpi_generation *g)
{
    atomic_fetch_add_explicit(&g->refs, 1, memory_order_relaxed);
    return g;
}

dpi_generation *dpi_generation_unref(dpi_generation *g)
{
    if (g != NULL && atomic_fetch_sub_explicit(&g->refs, 1, memory_order_acq_rel) == 1)
        dp_free(g);
    return NULL;
}

static _Atomic(dpi_formula_check_fn) formula_check;
static _Atomic(dpi_formula_end_fn) formula_end;

void dpi_on_formula(dpi_formula_check_fn check, dpi_formula_end_fn end)
{
    atomic_store(&formula_check, check);
    atomic_store(&formula_end, end);
}

dpi_kernel *dpi_kernel_ref(dpi_kernel *k)
{
    atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
    return k;
}

dpi_kernel *dpi_kernel_unref(dpi_kernel *k)
{
    if (k != NULL && atomic_fetch_sub_explicit(&k->refs, 1, memory_order_acq_rel) == 1) {
        void *compiled = atomic_load_explicit(&k->compiled, memory_order_acquire);
        if (compiled != NULL)
            atomic_load (&formula_end)(compiled);
        dpi_generation_unref(k->gen);
        dp_free(k->file);
        dp_free(k->code);
        dp_free(k);
    }
    return NULL;
}

/* -- an operator's truth: its definition and its registered kernels -- */

/* Is `a` newer than `b`, by load number, then generation, then order in the plugin's source? */
static bool newer(const dpi_kernel *a, const dpi_kernel *b)
{
    if (a->gen->load_number != b->gen->load_number)
        return a->gen->load_number > b->gen->load_number;
    if (a->gen->number != b->gen->number)
        return a->gen->number > b->gen->number;
    return a->order > b->order;
}

dpi_stack *dpi_truth_stack(const dpi_truth *t, dp_key key)
{
    for (uint32_t i = 0; i < t->n_stacks; i++)
        if (t->stacks[i].key == key)
            return &t->stacks[i];
    return NULL;
}

int dpi_truth_check_formula(const dpi_truth *t, const dpi_generation *gen, dp_error *err)
{
    const dpi_stack *s = dpi_truth_stack(t, DP_KEY(DP_ALIAS_AutogradFormula));
    const dpi_formula_check_fn check = atomic_load(&formula_check);

    for (uint32_t i = 0; s != NULL && t->schema != NULL && check != NULL && i < s->n; i++)
        if (s->kernels[i]->gen == gen)
            return check(t->name, t->schema, s->kernels[i], err);
    return 0;
}

static dpi_stack *stack_add(dpi_truth *t, dp_key key)
{
    uint32_t index = 0;
    dpi_stack *stacks = dpi_grow(t->stacks, &t->cap_stacks, t->n_stacks + 1, sizeof(dpi_stack));

    if (stacks == NULL)
        return NULL;
    t->stacks = stacks;
    while (index < t->n_stacks && stacks[index].key < key)
        index++;
    dp_move_n(stacks + index + 1, stacks + index, t->n_stacks - index, sizeof(dpi_stack));
    t->n_stacks++;
    stacks[index] = (dpi_stack){.key = key};
    return &stacks[index];
}

int dpi_truth_add(dpi_truth *t, dpi_kernel *k, dp_error *err)
{
    dpi_stack *s = dpi_truth_stack(t, k->key);
    uint32_t index = 0;

    if (s == NULL && (s = stack_add(t, k->key)) == NULL)
        return dpi_no_memory(err, t->name);
    dpi_kernel **kernels = dpi_grow(s->kernels, &s->cap, s->n + 1, sizeof(dpi_kernel *));
    if (kernels == NULL)
        return dpi_no_memory(err, t->name);
    s->kernels = kernels;
    while (index < s->n && newer(kernels[index], k))
        index++;
    dp_move_n(kernels + index + 1, kernels + index, s->n - index, sizeof(dpi_kernel *));
    kernels[index] = dpi_kernel_ref(k);
    s->n++;
    return 0;
}

static void set_gone(dpi_truth *t, dpi_generation *gen)
{
    if (gen != NULL)
        dpi_generation_ref(gen);
    dpi_generation_unref(t->gone);
    t->gone = gen;
}

void dpi_truth_remove(dpi_truth *t, const dpi_kernel *k)
{
    dpi_stack *s = dpi_truth_stack(t, k->key);

    for (uint32_t i = 0; s != NULL && i < s->n; i++) {
        if (s->kernels[i] != k)
            continue;
        set_gone(t, k->gen);
        dpi_kernel_unref(s->kernels[i]);
        s->n--;
        dp_move_n(s->kernels + i, s->kernels + i + 1, s->n - i, sizeof(dpi_kernel *));
        break;
    }
    if (s != NULL && s->n == 0) {
        size_t i = (size_t)(s - t->stacks);
        dp_free(s->kernels);
        t->n_stacks--;
        dp_move_n(s, s + 1, t->n_stacks - i, sizeof(dpi_stack));
    }
}

void dpi_truth_define(dpi_truth *t, const dpi_reg *def)
{
    if (def == NULL)
        set_gone(t, t->def_gen);
    dp_schema_free(t->schema);
    dpi_generation_unref(t->def_gen);
    t->schema = def ? dpi_schema_ref(def->schema) : NULL;
    t->def_gen = def ? dpi_generation_ref(def->gen) : NULL;
    t->def_file = def ? def->file : NULL;
    t->tags = def ? def->tags : NULL;
    t->def_line = def ? def->line : 0;
    t->def_order = def ? def->gen->load_number << 32 | def->order : 0;
}

void dpi_truth_fini(dpi_truth *t)
{
    for (uint32_t i = 0; i < t->n_stacks; i++) {
        for (uint32_t j = 0; j < t->stacks[i].n; j++)
            dpi_kernel_unref(t->stacks[i].kernels[j]);
        dp_free(t->stacks[i].kernels);
    }
    dp_free(t->stacks);
    dp_schema_free(t->schema);
    dpi_generation_unref(t->def_gen);
    dpi_generation_unref(t->gone);
    t->gone = NULL;
    t->stacks = NULL;
    t->schema = NULL;
    t->def_gen = NULL;
    t->n_stacks = t->cap_stacks = 0;
}

int dpi_truth_copy(dpi_truth *to, const dpi_truth *from, dp_error *err)
{
    *to = *from;
    to->stacks = NULL;
    to->n_stacks = to->cap_stacks = 0;
    if (to->schema != NULL)
        dpi_schema_ref(to->schema);
    if (to->def_gen != NULL)
        dpi_generation_ref(to->def_gen);
    if (to->gone != NULL)
        dpi_generation_ref(to->gone);
    for (uint32_t i = 0; i < from->n_stacks; i++)
        for (uint32_t j = 0; j < from->stacks[i].n; j++)
            if (dpi_truth_add(to, from->stacks[i].kernels[j], err) < 0) {
                dpi_truth_fini(to);
                return err ? err->code : DP_ERESOURCE;
            }
    return 0;
}

/* Leave id, reg and name as they are: callers read these fields without a lock. */
void dpi_truth_move(dpi_truth *to, const dpi_truth *from)
{
    to->schema = from->schema;
    to->def_gen = from->def_gen;
    to->def_file = from->def_file;
    to->tags = from->tags;
    to->def_line = from->def_line;
    to->def_order = from->def_order;
    to->n_stacks = from->n_stacks;
    to->cap_stacks = from->cap_stacks;
    to->stacks = from->stacks;
    to->gone = from->gone;
}

void dpi_op_free(dp_op *op)
{
    dpi_truth_fini(op);
    dp_free(op->name);
    dp_free(op);
}
