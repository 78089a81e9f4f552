/* entry.c -- computes the entry of an operator: its dispatch table, and what calls need of its
 * schema.
 *
 * Most operators have kernels for the same few keys as many others, so the cells of their tables
 * are the same but for the kernels themselves.  A cell is thus an index into the entry's own list
 * of kernels, and entries that one change builds share equal cells (dpi_cells). */
#include "registry.h"

static void cells_unref(dpi_cells *c)
{
    if (c != NULL && atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
        dp_free(c);
}

dpi_entry *dpi_entry_unref(dpi_entry *e)
{
    if (e != NULL && atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) == 1) {
        for (uint32_t i = 0; i < e->n_kernels; i++)
            dpi_kernel_unref(e->kernels[i]);
        dp_schema_free(e->schema);
        cells_unref(e->cells);
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

bool dpi_falls_back(const dpi_entry *e, dp_key key)
{
    return dpi_is_backend_key(key) && e->provenance[dpi_key_slot(key)] == DPI_P_FALLBACK &&
           !dpi_needs_no_bytes(e);
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

/* Fill in `e->mask` from `cells`, those of `e`: clear the bit of each key that calls pass over,
 * either always (the key falls through) or if no argument may need a gradient (its kernel has
 * DP_FLAG_GRAD). */
static void entry_masks(dpi_entry *e, const dpi_cell *cells)
{
    for (uint32_t i = 0; i < 2 * e->n_columns; i++)
        e->mask[i] = ~DPI_GRAD_BIT;
    for (uint32_t slot = 1; slot < e->n_slots; slot++) {
        dp_key k = dpi_slot_key(slot);
        dpi_cell cell = cells[slot];
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

/* -- cells, and sharing them -- */

/* Allocate the cells of `e`, and fill in what follows from them: `kernels` and `mask`. */
static bool cells_compute(dpi_entry *e, const dpi_truth *t, const dpi_fallbacks *fb)
{
    dpi_cell cells[DPI_SLOTS_MAX];
    uint64_t bytes = dp_size_times(e->n_slots, sizeof(*e->table) + sizeof(*e->provenance));

    e->cells = dp_calloc(1, dp_size_plus(sizeof(dpi_cells), bytes));
    if (e->cells == NULL)
        return false;
    atomic_init(&e->cells->refs, 1);
    e->table = e->cells->table;
    e->provenance = (uint8_t *)(e->table + e->n_slots);
    dpi_table_cells(t, fb, e->n_slots, cells);
    for (uint32_t slot = 0; slot < e->n_slots; slot++) {
        dpi_cell c = cells[slot];
        e->provenance[slot] = c.provenance;
        e->table[slot] = c.kernel != NULL                  ? entry_cell(e, c.kernel)
                         : c.provenance == DPI_P_AMBIGUOUS ? DPI_CELL_AMBIGUOUS
                                                           : DPI_CELL_MISSING;
    }
    entry_masks(e, cells);
    return true;
}

/* Return what stands in an entry of truth `t` where an entry of truth `like` has kernel `k`: the
 * kernel for the same key, or `k` itself if it is a fallback. */
static const dpi_kernel *counterpart(const dpi_truth *t, const dpi_truth *like, const dpi_kernel *k)
{
    for (uint32_t i = 0; i < like->n_stacks; i++)
        if (like->stacks[i].kernels[0] == k)
            return t->stacks[i].kernels[0];
    return k;
}

/* Give `e`, the entry of truth `t`, the cells of entry `model`. */
static void cells_share(dpi_entry *e, const dpi_truth *t, const dpi_model *model)
{
    const dpi_entry *from = model->entry;

    atomic_fetch_add_explicit(&from->cells->refs, 1, memory_order_relaxed);
    e->cells = from->cells;
    e->table = from->table;
    e->provenance = from->provenance;
    for (uint32_t i = 0; i < from->n_kernels; i++)
        entry_kernel(e, counterpart(t, model->truth, from->kernels[i]));
    dp_copy_n(e->mask, from->mask, e->n_columns, 2 * sizeof(*e->mask));
}

/* Do the newest kernels of `a` and `b` have the same keys and flags? */
static bool same_kernels(const dpi_truth *a, const dpi_truth *b)
{
    for (uint32_t i = 0; i < a->n_stacks && i < b->n_stacks; i++)
        if (a->stacks[i].key != b->stacks[i].key ||
            a->stacks[i].kernels[0]->flags != b->stacks[i].kernels[0]->flags)
            return false;
    return a->n_stacks == b->n_stacks;
}

/* Return the place in `models` for entries whose cells may be those of `e`. */
static dpi_model *model_of(dpi_models *models, const dpi_entry *e, const dpi_truth *t)
{
    uint64_t hash = has_tensors(e);

    for (uint32_t i = 0; i < t->n_stacks; i++) {
        uint64_t kernel = (uint64_t)t->stacks[i].key << 16 | t->stacks[i].kernels[0]->flags;
        hash = (hash ^ kernel) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return &models->at[hash % DPI_COUNT(models->at)];
}

dpi_entry *dpi_entry_build(const dpi_truth *t, const dp_op *op, const dpi_fallbacks *fb,
                           uint32_t n_named, dpi_models *models)
{
    uint32_t n_columns = DPI_COLUMNS_BUILTIN + n_named;
    uint32_t n_tags = t->schema != NULL ? t->schema->n_args + t->schema->n_rets : 0;
    uint32_t bound = max_kernels(t, fb, DPI_SLOTS(n_named));
    uint64_t bytes = sizeof(dpi_entry);
    dpi_entry *e;

    bytes = dp_size_plus(bytes, dp_size_times(n_columns, 2 * sizeof(*e->mask)));
    bytes = dp_size_plus(bytes, dp_size_times(bound, sizeof(*e->kernels)));
    bytes = dp_size_plus(bytes, dp_size_times(n_tags, sizeof(*e->arg_tags)));
    e = dp_calloc(1, bytes);
    if (e == NULL)
        return NULL;
    atomic_init(&e->refs, 1);
    e->op = op;
    e->n_slots = DPI_SLOTS(n_named);
    e->n_columns = n_columns;
    e->kernels = (dpi_kernel **)(e->mask + 2 * n_columns);
    e->arg_tags = (uint32_t *)(e->kernels + bound);
    e->ret_tags = e->arg_tags + (t->schema != NULL ? t->schema->n_args : 0);
    e->def_order = t->def_order;
    e->code = UINT32_MAX;
    entry_schema(e, t->schema, t->tags);
    if (t->schema != NULL && t->schema->code[0] != '\0' &&
        (e->code = dpi_registry_code(op->reg, t->schema->code)) == 0)
        return dpi_entry_unref(e);

    dpi_model *model = model_of(models, e, t);
    if (model->entry != NULL && has_tensors(model->entry) == has_tensors(e) &&
        same_kernels(model->truth, t))
        cells_share(e, t, model);
    else if (cells_compute(e, t, fb))
        *model = (dpi_model){t, e};
    else
        return dpi_entry_unref(e);
    e->composite = entry_composite(e, t);
    const dpi_stack *formulas = dpi_truth_stack(t, DP_KEY(DP_ALIAS_AutogradFormula));
    if (formulas != NULL)
        e->formula = e->kernels[entry_kernel(e, formulas->kernels[0])];
    for (uint32_t i = 0; i < e->n_kernels; i++)
        if (e->kernels[i]->dtypes != 0)
            e->boxes = e->settles = true; /* the dtypes of arguments are checked in each call */
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
