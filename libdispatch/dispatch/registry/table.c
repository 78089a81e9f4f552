/* table.c -- computes the dispatch table of an operator from its truth: its definition and kernels.
 *
 * The rules are those of c10's OperatorEntry::computeDispatchTableEntryWithDebug, and one more: a
 * CPU kernel with DP_FLAG_META also serves Meta, if no kernel is registered for Meta. */
#include "registry.h"

/* -- the table -- */

const char *const dpi_provenance_names[] = {
    [DPI_P_KERNEL] = "kernel",
    [DPI_P_DEFAULT_BACKEND] = "default backend kernel",
    [DPI_P_MATH] = "math kernel",
    [DPI_P_NESTED] = "nested kernel",
    [DPI_P_AUTOGRAD] = "autograd kernel",
    [DPI_P_BATCHED] = "batched kernel",
    [DPI_P_META] = "cpu kernel without memory",
    [DPI_P_AMBIGUOUS] = "ambiguous autogradother",
    [DPI_P_FALLBACK] = "backend fallback",
    [DPI_P_FALLTHROUGH] = "fallthrough",
    [DPI_P_MISSING] = "missing",
};

/* Functionalities that fall through unless a plugin registers kernels for them.  In PyTorch,
 * VariableFallbackKernel.cpp, BackendSelectFallbackKernel.cpp and VmapModeRegistrations.cpp
 * register the same fallthroughs. */
static const uint64_t host_fallthrough =
    DPI_AUTOGRAD_BITS | DPI_AUTOCAST_BITS | DPI_BIT(ADInplaceOrView) | DPI_BIT(BackendSelect) |
    DPI_BIT(Tracer) | DPI_BIT(FuncTorchVmapMode) | DPI_BIT(VmapMode);

/* Backends whose autograd key is AutogradOther: c10's autogradother_backends. */
static const uint64_t autogradother_backends =
    DPI_BIT(FPGA) | DPI_BIT(Vulkan) | DPI_BIT(Metal) | DPI_BIT(CustomRNGKeyId) |
    DPI_BIT(MkldnnCPU) | DPI_BIT(Sparse) | DPI_BIT(SparseCsr) | DPI_BIT(Quantized);

/* Stands for a kernel that does not exist, but that a query assumes (`extra` in
 * dpi_table_cell()). */
static const dpi_kernel what_if_kernel;

enum { N_ALIASES = DP_ALIAS_END - DP_ALIAS_FIRST };

/* Properties of one operator that the rules use, collected once for all table cells. */
typedef struct rules {
    const dpi_kernel *alias[N_ALIASES]; /* newest kernel for each alias key; NULL: none */
    const dpi_kernel *cpu;              /* newest kernel for CPU; NULL: none */
    uint64_t dense;                     /* bits of backends that have a Dense kernel */
    bool nested;                        /* some kernel is for NestedTensor */
    bool autogradother;                 /* some kernel is for one of autogradother_backends */
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
    if (key == DP_KEY_OF(DP_F_Dense, DP_B_CPU))
        r->cpu = k;
    r->nested |= f == DP_F_NestedTensor;
    r->autogradother |= (autogradother_backends & dpi_key_bit(key)) != 0;
}

static bool cpu_serves_meta(const rules *r)
{
    return r->cpu != NULL && (r->cpu->flags & DP_FLAG_META) != 0;
}

static void rules_gather(rules *r, const dpi_truth *t, const dp_key *extra, size_t n_extra)
{
    memset(r, 0, sizeof(*r));
    for (uint32_t i = 0; i < t->n_stacks; i++)
        rules_note(r, t->stacks[i].key, t->stacks[i].kernels[0]);
    for (size_t i = 0; i < n_extra; i++)
        rules_note(r, extra[i], &what_if_kernel);
    if (cpu_serves_meta(r))
        r->dense |= DP_BBIT(DP_B_Meta);
}

/* Does the backend of autograd key `k` have its own kernel?  If so, the CompositeImplicitAutograd
 * kernel must not serve `k`. */
static bool has_backend_kernel(const rules *r, dp_key k)
{
    switch (dp_key_functionality(k)) {
    case DP_F_AutogradFunctionality:
        return (r->dense & DP_BBIT(dp_key_backend(k))) != 0;
    case DP_F_AutogradNestedTensor:
        return r->nested;
    case DP_F_AutogradOther:
        return r->autogradother;
    default:
        return false;
    }
}

static dpi_cell cell_of(const rules *r, const dpi_kernel *own, const dpi_fallbacks *fb, dp_key k)
{
    static const struct {
        uint8_t alias, provenance;
        bool undefined; /* also serves Undefined */
    } rule[] = {
        {DP_ALIAS_CompositeExplicitAutogradNonFunctional, DPI_P_DEFAULT_BACKEND, true},
        {DP_ALIAS_CompositeExplicitAutograd, DPI_P_DEFAULT_BACKEND, true},
        {DP_ALIAS_CompositeImplicitAutogradNestedTensor, DPI_P_NESTED, false},
        {DP_ALIAS_CompositeImplicitAutograd, DPI_P_MATH, true},
        {DP_ALIAS_Autograd, DPI_P_AUTOGRAD, false},
        {DP_ALIAS_FuncTorchBatchedDecomposition, DPI_P_BATCHED, false},
    };
    int f = dp_key_functionality(k);

    if (own != NULL)
        return (dpi_cell){own, DPI_P_KERNEL};
    if (k == DP_KEY_OF(DP_F_Dense, DP_B_Meta) && cpu_serves_meta(r))
        return (dpi_cell){r->cpu, DPI_P_META};
    for (size_t i = 0; i < DPI_COUNT(rule); i++) {
        const dpi_kernel *kernel = r->alias[rule[i].alias - DP_ALIAS_FIRST];
        if (kernel == NULL)
            continue;
        if (f == DP_F_Undefined ? !rule[i].undefined : !dpi_alias_has(DP_KEY(rule[i].alias), k))
            continue;
        if (rule[i].provenance == DPI_P_MATH) {
            if (f == DP_F_AutogradOther && r->autogradother)
                return (dpi_cell){NULL, DPI_P_AMBIGUOUS};
            if (r->alias[DP_ALIAS_CompositeExplicitAutograd - DP_ALIAS_FIRST] != NULL ||
                has_backend_kernel(r, k))
                continue;
        }
        return (dpi_cell){kernel, rule[i].provenance};
    }
    const dpi_kernel *fallback = dpi_fallback_for(fb, k);
    if (fallback != NULL)
        return (dpi_cell){fallback, DPI_P_FALLBACK};
    if (host_fallthrough & dpi_key_bit(k))
        return (dpi_cell){NULL, DPI_P_FALLTHROUGH};
    return (dpi_cell){NULL, DPI_P_MISSING};
}

dpi_cell dpi_table_cell(const dpi_truth *t, const dpi_fallbacks *f, dp_key k, const dp_key *extra,
                        size_t n_extra)
{
    rules r;
    const dpi_stack *s = dpi_truth_stack(t, k);
    const dpi_kernel *own = s ? s->kernels[0] : NULL;

    rules_gather(&r, t, extra, n_extra);
    for (size_t i = 0; i < n_extra; i++)
        if (extra[i] == k)
            own = &what_if_kernel;
    return cell_of(&r, own, f, k);
}

/* -- entries -- */

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

/* Is `tag`, or "tag:value" if `value` is not NULL, one of the space-separated `tags`? */
static bool has_tag(const char *tags, const char *tag, const char *value)
{
    size_t n = strlen(tag), m = value ? strlen(value) : 0;

    for (const char *p = tags; p != NULL && *p != '\0'; p += strspn(p, " ")) {
        size_t length = strcspn(p, " ");
        if (memcmp(p, tag, n < length ? n : length) == 0 &&
            (value ? length == n + 1 + m && p[n] == ':' && memcmp(p + n + 1, value, m) == 0
                   : length == n))
            return true;
        p += length;
    }
    return false;
}

/* Find the arguments that kernels write, and those whose versions a call increases. */
static void entry_written(dpi_entry *e, const dp_schema *s, const char *tags)
{
    e->written = s->written;
    e->counted = has_tag(tags, "keeps_version", NULL) ? 0 : s->written;
    for (uint32_t i = 0; i < s->n_args && i < 64; i++)
        if (has_tag(tags, "also_written", s->args[i].name))
            e->written |= (uint64_t)1 << i;
}

static void entry_viewed(dpi_entry *e, const dp_schema *s, const char *tags)
{
    for (uint32_t i = 0; i < s->n_rets; i++)
        e->views |= s->ret_view[i] >= 0 && s->ret_alias[i] < 0;
    e->views_one = e->views && s->n_rets == 1 && s->written == 0 &&
                   s->rets[0].tags == 1u << DP_TAG_TENSOR &&
                   s->args[s->ret_view[0]].tags == 1u << DP_TAG_TENSOR;
    e->detached = has_tag(tags, "detached", NULL);
}

/* May the operator return None for some tensors?  By PyTorch's convention it does so for gradients
 * that argument output_mask excludes, and for attention weights if need_weights is false. */
static bool masks_returns(const dp_schema *s)
{
    static const char *const names[] = {"output_mask", "need_weights"};

    for (uint32_t i = 0; i < s->n_args; i++)
        for (size_t k = 0; k < DPI_COUNT(names); k++)
            if (strcmp(s->args[i].name, names[k]) == 0)
                return true;
    return false;
}

static void entry_schema(dpi_entry *e, dp_schema *s, const char *tags)
{
    if (s == NULL)
        return;
    uint32_t none = masks_returns(s) ? 1u << DP_TAG_NONE : 0;
    e->schema = dpi_schema_ref(s);
    e->callable = e->op;
    e->n_args = s->n_args;
    e->n_rets = s->n_rets;
    entry_written(e, s, tags);
    entry_viewed(e, s, tags);
    e->reads_once = has_tag(tags, "reads_once", NULL);
    e->random = has_tag(tags, "nondeterministic_seeded", NULL);
    e->boxes = e->counted != 0 || e->views;
    e->settles = e->written != 0 || e->views;
    for (uint32_t i = 0; i < s->n_args; i++)
        e->arg_tags[i] = s->args[i].tags;
    for (uint32_t i = 0; i < s->n_rets; i++) {
        e->ret_tags[i] = s->ret_alias[i] >= 0 ? 1u << DP_TAG_NONE : s->rets[i].tags | none;
        e->returns_memory |= (e->ret_tags[i] & (DPI_TAGS_MEMORY | 1u << DP_TAG_OBJECT)) != 0;
        e->settles |= e->returns_memory;
    }
}

/* Return the index of kernel `k` in `e->kernels`; append `k` if it is not there yet. */
static uint16_t entry_kernel(dpi_entry *e, const dpi_kernel *k)
{
    for (uint32_t i = e->n_kernels; i-- > 0;)
        if (e->kernels[i] == k)
            return (uint16_t)i;
    e->kernels[e->n_kernels] = dpi_kernel_ref((dpi_kernel *)(uintptr_t)k);
    return (uint16_t)e->n_kernels++;
}

static bool has_tensors(const dpi_entry *e)
{
    uint32_t tags = 0;

    for (uint32_t i = 0; i < e->n_args; i++)
        tags |= e->arg_tags[i];
    for (uint32_t i = 0; i < e->n_rets; i++)
        tags |= e->ret_tags[i];
    return (tags & (1u << DP_TAG_TENSOR | 1u << DP_TAG_TENSORS)) != 0;
}

bool dpi_is_composite(dp_key k)
{
    static const bool composite[N_ALIASES] = {
        [DP_ALIAS_CompositeImplicitAutograd - DP_ALIAS_FIRST] = true,
        [DP_ALIAS_CompositeImplicitAutogradNestedTensor - DP_ALIAS_FIRST] = true,
        [DP_ALIAS_CompositeExplicitAutograd - DP_ALIAS_FIRST] = true,
        [DP_ALIAS_CompositeExplicitAutogradNonFunctional - DP_ALIAS_FIRST] = true};

    return dp_key_is_alias(k) && composite[dp_key_functionality(k) - DP_ALIAS_FIRST];
}

bool dpi_may_want_bytes(const dpi_entry *e, const dpi_kernel *k)
{
    return dpi_is_composite(k->key) && !(k->flags & (DP_FLAG_META | DP_FLAG_FALLTHROUGH)) &&
           has_tensors(e);
}

bool dpi_needs_no_bytes(const dpi_entry *e)
{
    const uint16_t geometry = DP_FLAG_META | DP_FLAG_VIEWS;
    dpi_cell c = dpi_entry_cell(e, DP_KEY_OF(DP_F_Dense, DP_B_CPU));

    return c.kernel != NULL && (c.kernel->flags & geometry) == geometry;
}

static uint16_t entry_cell(dpi_entry *e, const dpi_kernel *k)
{
    return entry_kernel(e, k) | (dpi_may_want_bytes(e, k) ? DPI_CELL_WARY : 0);
}

/* Return the kernel that decomposes the operator into others: CompositeImplicitAutograd's if there
 * is one, else an explicit composite's, whose derivative is registered separately.  The kernel need
 * not be in any table slot. */
static const dpi_kernel *entry_composite(dpi_entry *e, const dpi_truth *t)
{
    static const uint8_t aliases[] = {DP_ALIAS_CompositeImplicitAutograd,
                                      DP_ALIAS_CompositeExplicitAutograd,
                                      DP_ALIAS_CompositeExplicitAutogradNonFunctional};

    for (size_t i = 0; i < DPI_COUNT(aliases); i++) {
        const dpi_stack *s = dpi_truth_stack(t, DP_KEY(aliases[i]));
        if (s != NULL && !(s->kernels[0]->flags & DP_FLAG_FALLTHROUGH))
            return e->kernels[entry_kernel(e, s->kernels[0])];
    }
    return NULL;
}

/* Fill in `e->mask`: clear the bit of each key that calls pass over, either always (the key falls
 * through) or if no argument may need a gradient (its kernel has DP_FLAG_GRAD). */
static void entry_masks(dpi_entry *e)
{
    for (uint32_t i = 0; i < 2 * e->n_columns; i++)
        e->mask[i] = ~DPI_GRAD_BIT;
    for (uint32_t slot = 1; slot < e->n_slots; slot++) {
        dp_key k = dpi_slot_key(slot);
        dpi_cell cell = dpi_entry_cell(e, k);
        uint64_t without_key = ~dpi_key_bit(k);
        bool always = dpi_cell_falls_through(cell);
        int b = dp_key_backend(k);
        uint32_t c = b < 0 ? 0 : dpi_slot_rows[b].column, end = b < 0 ? e->n_columns : c + 1;
        for (; c < end && (always || dpi_cell_needs_grad(cell)); c++) {
            e->mask[2 * c] &= without_key;
            e->mask[2 * c + 1] &= always ? without_key : ~(uint64_t)0;
        }
    }
}

/* Return an upper bound for the number of kernels in an entry: one for each registered key, and
 * every fallback. */
static uint32_t max_kernels(const dpi_truth *t, const dpi_fallbacks *fb, uint32_t n_slots)
{
    uint32_t n = t->n_stacks;
    const dpi_kernel *last = NULL;

    for (uint32_t slot = 0; slot < n_slots; slot++)
        if (fb->kernel[slot] != NULL && fb->kernel[slot] != last) {
            last = fb->kernel[slot];
            n++;
        }
    for (int r = 0; r < DPI_RANKS; r++)
        n += fb->of_all[r] != NULL;
    return n;
}

dpi_entry *dpi_entry_build(const dpi_truth *t, const dp_op *op, const dpi_fallbacks *fb,
                           uint32_t n_named)
{
    rules r;
    const dpi_kernel *own[DPI_SLOTS_MAX] = {NULL};
    uint32_t n_slots = DPI_SLOTS(n_named), n_columns = DPI_COLUMNS_BUILTIN + n_named;
    uint32_t bound = max_kernels(t, fb, n_slots);
    uint64_t bytes = sizeof(dpi_entry);
    dpi_entry *e;

    bytes = dp_size_plus(bytes, dp_size_times(n_columns, 2 * sizeof(*e->mask)));
    bytes = dp_size_plus(bytes, dp_size_times(bound, sizeof(*e->kernels)));
    bytes = dp_size_plus(bytes, dp_size_times(n_slots, sizeof(*e->table) + sizeof(*e->provenance)));
    e = dp_calloc(1, bytes);
    if (e == NULL)
        return NULL;
    atomic_init(&e->refs, 1);
    e->op = op;
    e->n_slots = n_slots;
    e->n_columns = n_columns;
    e->kernels = (dpi_kernel **)(e->mask + 2 * n_columns);
    e->table = (uint16_t *)(e->kernels + bound);
    e->provenance = (uint8_t *)(e->table + n_slots);
    e->def_order = t->def_order;
    e->code = UINT32_MAX;
    entry_schema(e, t->schema, t->tags);
    if (t->schema != NULL && t->schema->code[0] != '\0' &&
        (e->code = dpi_registry_code(op->reg, t->schema->code)) == 0)
        return dpi_entry_unref(e);

    rules_gather(&r, t, NULL, 0);
    for (uint32_t i = 0; i < t->n_stacks; i++)
        if (!dp_key_is_alias(t->stacks[i].key))
            own[dpi_key_slot(t->stacks[i].key)] = t->stacks[i].kernels[0];
    for (uint32_t slot = 0; slot < n_slots; slot++) {
        dpi_cell c = cell_of(&r, own[slot], fb, dpi_slot_key(slot));
        e->provenance[slot] = c.provenance;
        e->table[slot] = c.kernel != NULL                  ? entry_cell(e, c.kernel)
                         : c.provenance == DPI_P_AMBIGUOUS ? DPI_CELL_AMBIGUOUS
                                                           : DPI_CELL_MISSING;
    }
    for (uint32_t i = 0; i < e->n_kernels; i++)
        if (e->kernels[i]->dtypes != 0)
            e->boxes = e->settles = true; /* the dtypes of arguments are checked in each call */
    entry_masks(e);
    e->composite = entry_composite(e, t);
    const dpi_stack *formulas = dpi_truth_stack(t, DP_KEY(DP_ALIAS_AutogradFormula));
    if (formulas != NULL)
        e->formula = e->kernels[entry_kernel(e, formulas->kernels[0])];
    return e;
}

dpi_cell dpi_entry_cell(const dpi_entry *e, dp_key k)
{
    unsigned slot = dpi_key_slot(k);
    dpi_cell c = {NULL, DPI_P_MISSING};

    if (slot >= e->n_slots)
        return c;
    c.provenance = e->provenance[slot];
    unsigned kernel = e->table[slot] & ~DPI_CELL_WARY;
    if (kernel < e->n_kernels)
        c.kernel = e->kernels[kernel];
    return c;
}

bool dpi_cell_falls_through(dpi_cell c)
{
    if (c.kernel == NULL)
        return c.provenance == DPI_P_FALLTHROUGH;
    return (c.kernel->flags & DP_FLAG_FALLTHROUGH) != 0;
}

void dpi_entry_list(const dpi_entry *e, dpi_text *t)
{
    enum { SHOWN = 8 };
    dp_key keys[DPI_SLOTS_MAX];
    char name[DP_KEY_NAME_MAX];
    size_t n = dpi_runtime_keys(keys), found = 0;

    for (size_t i = 0; i < n; i++) {
        dpi_cell c = dpi_entry_cell(e, keys[i]);
        if (c.kernel == NULL || dpi_cell_falls_through(c))
            continue;
        if (c.provenance == DPI_P_FALLBACK && !dpi_is_backend_key(keys[i]))
            continue; /* a layer's fallback passes calls on to a backend's kernel */
        if (found++ < SHOWN)
            dpi_text_printf(t, "%s%s", found > 1 ? ", " : "", dp_key_name(keys[i], name));
    }
    if (found > SHOWN)
        dpi_text_printf(t, ", ... %zu more", found - SHOWN);
    if (found == 0)
        dpi_text_add(t, "none");
}

bool dpi_cell_needs_grad(dpi_cell c)
{
    return c.kernel != NULL && (c.kernel->flags & DP_FLAG_GRAD) != 0;
}
