/* op.c -- kernels, an operator's truth, and the one function that derives its table from it.
 *
 * The rules are c10's OperatorEntry::computeDispatchTableEntryWithDebug. */
#include "op.h"

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

dpi_kernel *dpi_kernel_ref(dpi_kernel *k)
{
    atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
    return k;
}

dpi_kernel *dpi_kernel_unref(dpi_kernel *k)
{
    if (k != NULL && atomic_fetch_sub_explicit(&k->refs, 1, memory_order_acq_rel) == 1) {
        dpi_generation_unref(k->gen);
        dp_free(k->file);
        dp_free(k->code);
        dp_free(k);
    }
    return NULL;
}

/* -- truth ---------------------------------------------------------------------------------- */

/* Is kernel a newer than b?  Load number, then place in the plugin's source. */
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

static dpi_stack *stack_add(dpi_truth *t, dp_key key)
{
    uint32_t at = 0;
    dpi_stack *stacks = dpi_grow(t->stacks, &t->cap_stacks, t->n_stacks + 1, sizeof(dpi_stack));

    if (stacks == NULL)
        return NULL;
    t->stacks = stacks;
    while (at < t->n_stacks && stacks[at].key < key)
        at++;
    memmove(stacks + at + 1, stacks + at, (t->n_stacks - at) * sizeof(dpi_stack));
    t->n_stacks++;
    stacks[at] = (dpi_stack){.key = key};
    return &stacks[at];
}

int dpi_truth_add(dpi_truth *t, dpi_kernel *k, dp_error *err)
{
    dpi_stack *s = dpi_truth_stack(t, k->key);
    uint32_t at = 0;

    if (s == NULL && (s = stack_add(t, k->key)) == NULL)
        return dpi_no_memory(err, t->name);
    dpi_kernel **kernels = dpi_grow(s->kernels, &s->cap, s->n + 1, sizeof(dpi_kernel *));
    if (kernels == NULL)
        return dpi_no_memory(err, t->name);
    s->kernels = kernels;
    while (at < s->n && newer(kernels[at], k))
        at++;
    memmove(kernels + at + 1, kernels + at, (s->n - at) * sizeof(dpi_kernel *));
    kernels[at] = dpi_kernel_ref(k);
    s->n++;
    return 0;
}

void dpi_truth_remove(dpi_truth *t, const dpi_kernel *k)
{
    dpi_stack *s = dpi_truth_stack(t, k->key);

    for (uint32_t i = 0; s != NULL && i < s->n; i++) {
        if (s->kernels[i] != k)
            continue;
        dpi_kernel_unref(s->kernels[i]);
        s->n--;
        memmove(s->kernels + i, s->kernels + i + 1, (s->n - i) * sizeof(dpi_kernel *));
        break;
    }
    if (s != NULL && s->n == 0) {
        size_t i = (size_t)(s - t->stacks);
        dp_free(s->kernels);
        t->n_stacks--;
        memmove(s, s + 1, (t->n_stacks - i) * sizeof(dpi_stack));
    }
}

void dpi_truth_define(dpi_truth *t, const dpi_reg *def)
{
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
    for (uint32_t i = 0; i < from->n_stacks; i++)
        for (uint32_t j = 0; j < from->stacks[i].n; j++)
            if (dpi_truth_add(to, from->stacks[i].kernels[j], err) < 0) {
                dpi_truth_fini(to);
                return err ? err->code : DP_ERESOURCE;
            }
    return 0;
}

/* Not id and name: callers read those without a lock, and they never change. */
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
}

/* -- the table ------------------------------------------------------------------------------ */

const char *const dpi_provenance_names[] = {
    [DPI_P_KERNEL] = "kernel",
    [DPI_P_DEFAULT_BACKEND] = "default backend kernel",
    [DPI_P_MATH] = "math kernel",
    [DPI_P_NESTED] = "nested kernel",
    [DPI_P_AUTOGRAD] = "autograd kernel",
    [DPI_P_BATCHED] = "batched kernel",
    [DPI_P_AMBIGUOUS] = "ambiguous autogradother",
    [DPI_P_FALLBACK] = "backend fallback",
    [DPI_P_FALLTHROUGH] = "fallthrough",
    [DPI_P_MISSING] = "missing",
};

/* Layers that do nothing unless a plugin brings them: the host lets them fall through, as PyTorch's
 * VariableFallbackKernel.cpp and BackendSelectFallbackKernel.cpp do. */
static const uint64_t host_fallthrough =
    DP_AUTOGRAD_BITS | DP_FBIT(DP_F_ADInplaceOrView) | DP_FBIT(DP_F_BackendSelect) |
    DP_FBIT(DP_F_Tracer) | DP_FBIT(DP_F_AutocastCPU) | DP_FBIT(DP_F_AutocastMTIA) |
    DP_FBIT(DP_F_AutocastMAIA) | DP_FBIT(DP_F_AutocastXPU) | DP_FBIT(DP_F_AutocastIPU) |
    DP_FBIT(DP_F_AutocastHPU) | DP_FBIT(DP_F_AutocastXLA) | DP_FBIT(DP_F_AutocastMPS) |
    DP_FBIT(DP_F_AutocastCUDA) | DP_FBIT(DP_F_AutocastPrivateUse1) | DP_FBIT(DP_F_AutocastNamed);

/* Backends whose autograd is AutogradOther (autogradother_backends). */
static const uint64_t other_bits = DP_FBIT(DP_F_FPGA) | DP_FBIT(DP_F_Vulkan) | DP_FBIT(DP_F_Metal) |
                                   DP_FBIT(DP_F_CustomRNGKeyId) | DP_FBIT(DP_F_MkldnnCPU) |
                                   DP_FBIT(DP_F_Sparse) | DP_FBIT(DP_F_SparseCsr) |
                                   DP_FBIT(DP_F_Quantized);

/* Stands for a kernel that a what-if adds. */
static const dpi_kernel what_if_kernel;

enum { N_ALIASES = DP_ALIAS_END - DP_ALIAS_FIRST };

/* What the rules ask of one operator, gathered once for all its slots. */
typedef struct rules {
    const dpi_kernel *alias[N_ALIASES];
    uint64_t dense; /* backends with a Dense kernel of their own */
    bool nested;    /* any NestedTensor kernel */
    bool other;     /* any kernel of autogradother_backends */
} rules;

static void rules_note(rules *r, dp_key key, const dpi_kernel *k)
{
    int f = dp_key_functionality(key);

    if (dp_key_is_alias(key)) {
        r->alias[f - DP_ALIAS_FIRST] = k;
        return;
    }
    if (f == DP_F_Dense)
        r->dense |= DP_BBIT(dp_key_backend(key));
    r->nested |= f == DP_F_NestedTensor;
    r->other |= f != DP_F_Undefined && (other_bits & DP_FBIT(f)) != 0;
}

static void rules_gather(rules *r, const dpi_truth *t, const dp_key *extra, size_t n_extra)
{
    memset(r, 0, sizeof(*r));
    for (uint32_t i = 0; i < t->n_stacks; i++)
        rules_note(r, t->stacks[i].key, t->stacks[i].kernels[0]);
    for (size_t i = 0; i < n_extra; i++)
        rules_note(r, extra[i], &what_if_kernel);
}

/* Does the backend below autograd key k have a kernel of its own, so that the implicit one must not
 * stand above it? */
static bool has_backend_kernel(const rules *r, dp_key k)
{
    switch (dp_key_functionality(k)) {
    case DP_F_AutogradFunctionality:
        return (r->dense & DP_BBIT(dp_key_backend(k))) != 0;
    case DP_F_AutogradNestedTensor:
        return r->nested;
    case DP_F_AutogradOther:
        return r->other;
    default:
        return false;
    }
}

static dpi_cell cell_of(const rules *r, const dpi_kernel *direct, const dpi_fallbacks *fb, dp_key k)
{
    static const struct {
        uint8_t alias, provenance;
        bool undefined; /* serves Undefined too */
    } rule[] = {
        {DP_ALIAS_CompositeExplicitAutogradNonFunctional, DPI_P_DEFAULT_BACKEND, true },
        {DP_ALIAS_CompositeExplicitAutograd,              DPI_P_DEFAULT_BACKEND, true },
        {DP_ALIAS_CompositeImplicitAutogradNestedTensor,  DPI_P_NESTED,          false},
        {DP_ALIAS_CompositeImplicitAutograd,              DPI_P_MATH,            true },
        {DP_ALIAS_Autograd,                               DPI_P_AUTOGRAD,        false},
        {DP_ALIAS_FuncTorchBatchedDecomposition,          DPI_P_BATCHED,         false},
    };
    int f = dp_key_functionality(k);

    if (direct != NULL)
        return (dpi_cell){direct, DPI_P_KERNEL};
    for (size_t i = 0; i < DPI_COUNT(rule); i++) {
        const dpi_kernel *kernel = r->alias[rule[i].alias - DP_ALIAS_FIRST];
        if (kernel == NULL)
            continue;
        if (f == DP_F_Undefined ? !rule[i].undefined : !dpi_alias_has(DP_KEY(rule[i].alias), k))
            continue;
        if (rule[i].provenance == DPI_P_MATH) {
            if (f == DP_F_AutogradOther && r->other)
                return (dpi_cell){NULL, DPI_P_AMBIGUOUS};
            if (r->alias[DP_ALIAS_CompositeExplicitAutograd - DP_ALIAS_FIRST] != NULL ||
                has_backend_kernel(r, k))
                continue;
        }
        return (dpi_cell){kernel, rule[i].provenance};
    }
    const dpi_kernel *fallback = fb->kernel[dpi_key_slot(k)];
    if (fallback != NULL)
        return (dpi_cell){fallback, DPI_P_FALLBACK};
    if (f != DP_F_Undefined && (host_fallthrough & DP_FBIT(f)))
        return (dpi_cell){NULL, DPI_P_FALLTHROUGH};
    return (dpi_cell){NULL, DPI_P_MISSING};
}

dpi_cell dpi_table_cell(const dpi_truth *t, const dpi_fallbacks *f, dp_key k, const dp_key *extra,
                        size_t n_extra)
{
    rules r;
    const dpi_stack *s = dpi_truth_stack(t, k);
    const dpi_kernel *direct = s ? s->kernels[0] : NULL;

    rules_gather(&r, t, extra, n_extra);
    for (size_t i = 0; i < n_extra; i++)
        if (extra[i] == k)
            direct = &what_if_kernel;
    return cell_of(&r, direct, f, k);
}

/* -- entries -------------------------------------------------------------------------------- */

dpi_entry *dpi_entry_unref(dpi_entry *e)
{
    if (e != NULL && atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) == 1) {
        for (uint32_t i = 0; i < e->n_kernels; i++)
            dpi_kernel_unref(e->kernels[i]);
        dp_schema_free(e->schema);
        dp_free(e);
    }
    return NULL;
}

static void entry_schema(dpi_entry *e, dp_schema *s)
{
    if (s == NULL)
        return;
    e->schema = dpi_schema_ref(s);
    e->n_args = s->n_args;
    e->n_rets = s->n_rets;
    e->written = s->written;
    for (uint32_t i = 0; i < s->n_args; i++)
        e->arg_tags[i] = s->args[i].tags;
    for (uint32_t i = 0; i < s->n_rets; i++)
        e->ret_tags[i] = s->rets[i].tags;
}

/* Index of kernel k in the entry, added when it is new. */
static uint16_t entry_kernel(dpi_entry *e, const dpi_kernel *k)
{
    for (uint32_t i = e->n_kernels; i-- > 0;)
        if (e->kernels[i] == k)
            return (uint16_t)i;
    e->kernels[e->n_kernels] = dpi_kernel_ref((dpi_kernel *)(uintptr_t)k);
    return (uint16_t)e->n_kernels++;
}

/* Functionalities that are not skipped, for each backend column. */
static void entry_masks(dpi_entry *e)
{
    for (uint32_t c = 0; c < e->n_columns; c++)
        e->mask[c] = ~(uint64_t)0;
    for (uint32_t slot = 1; slot < e->n_slots; slot++) {
        dp_key k = dpi_slot_key(slot);
        uint64_t bit = DP_FBIT(dp_key_functionality(k));
        bool skip = e->provenance[slot] == DPI_P_FALLTHROUGH ||
                    (e->table[slot] < e->n_kernels &&
                     (e->kernels[e->table[slot]]->flags & DP_FLAG_FALLTHROUGH));
        if (!skip)
            continue;
        if (dp_key_backend(k) >= 0)
            e->mask[dpi_slot_rows[dp_key_backend(k)].column] &= ~bit;
        else
            for (uint32_t c = 0; c < e->n_columns; c++)
                e->mask[c] &= ~bit;
    }
}

/* Most kernels the table can name: one a registered key, and every fallback. */
static uint32_t entry_bound(const dpi_truth *t, const dpi_fallbacks *fb, uint32_t n_slots)
{
    uint32_t n = t->n_stacks;
    const dpi_kernel *last = NULL;

    for (uint32_t slot = 0; slot < n_slots; slot++)
        if (fb->kernel[slot] != NULL && fb->kernel[slot] != last) {
            last = fb->kernel[slot];
            n++;
        }
    return n;
}

dpi_entry *dpi_entry_build(const dpi_truth *t, const dp_op *op, const dpi_fallbacks *fb,
                           uint32_t n_named)
{
    rules r;
    const dpi_kernel *direct[DPI_SLOTS_MAX] = {NULL};
    uint32_t n_slots = DPI_SLOTS(n_named), n_columns = DPI_COLUMNS_BUILTIN + n_named;
    uint32_t bound = entry_bound(t, fb, n_slots);
    dpi_entry *e =
        dp_calloc(1, sizeof(*e) + n_columns * sizeof(*e->mask) + bound * sizeof(*e->kernels) +
                         n_slots * (sizeof(*e->table) + sizeof(*e->provenance)));

    if (e == NULL)
        return NULL;
    atomic_init(&e->refs, 1);
    e->op = op;
    e->n_slots = n_slots;
    e->n_columns = n_columns;
    e->kernels = (dpi_kernel **)(e->mask + n_columns);
    e->table = (uint16_t *)(e->kernels + bound);
    e->provenance = (uint8_t *)(e->table + n_slots);
    e->def_order = t->def_order;
    entry_schema(e, t->schema);
    if (t->schema != NULL && t->schema->code[0] != '\0' &&
        (e->code = dpi_code_intern(t->schema->code)) == 0)
        return dpi_entry_unref(e);

    rules_gather(&r, t, NULL, 0);
    for (uint32_t i = 0; i < t->n_stacks; i++)
        if (!dp_key_is_alias(t->stacks[i].key))
            direct[dpi_key_slot(t->stacks[i].key)] = t->stacks[i].kernels[0];
    for (uint32_t slot = 0; slot < n_slots; slot++) {
        dpi_cell c = cell_of(&r, direct[slot], fb, dpi_slot_key(slot));
        e->provenance[slot] = c.provenance;
        e->table[slot] = c.kernel != NULL                  ? entry_kernel(e, c.kernel)
                         : c.provenance == DPI_P_AMBIGUOUS ? DPI_CELL_AMBIGUOUS
                                                           : DPI_CELL_MISSING;
    }
    entry_masks(e);
    return e;
}
