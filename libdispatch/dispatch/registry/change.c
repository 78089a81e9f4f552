/* change.c -- applies one change to a registry completely or not at all, and publishes a snapshot.
 *
 * A change works on copies (shadows) of the truths (truth.h) that it modifies, of the fallbacks and
 * of the observers.  Only work on shadows can fail; the commit only swaps pointers.  So a change
 * that fails leaves the registry as it was; operators that it has interned are removed again. */
#include "change.h"
#include <stdlib.h>

void dpi_change_begin(dpi_change *c, dp_registry *reg)
{
    memset(c, 0, sizeof(*c));
    c->reg = reg;
    c->n_ops_before = reg->n_ops;
    c->fallbacks = reg->fallbacks;
}

void dpi_change_abort(dpi_change *c)
{
    for (uint32_t i = 0; i < c->n_shadows; i++)
        dpi_truth_fini(&c->shadows[i].truth);
    dp_free(c->shadows);
    dp_free(c->observers);
    dpi_names_unref(c->names);
    dpi_snapshot_free(c->snapshot);
    while (c->reg->n_ops > c->n_ops_before)
        dpi_op_free(c->reg->ops[--c->reg->n_ops]);
}

static int by_op(const void *a, const void *b)
{
    uint32_t x = ((const dpi_shadow *)a)->op, y = ((const dpi_shadow *)b)->op;
    return x < y ? -1 : x > y;
}

/* Copy the truths of all operators for which `units` have definitions or kernels, sorted by id. */
static int shadows_make(dpi_change *c, const dp_unit *const *units, size_t n_units, dp_error *err)
{
    uint32_t n = 0, n_unique = 0;

    for (size_t u = 0; u < n_units; u++)
        n += units[u] ? units[u]->n_regs : 0;
    c->shadows = dp_calloc(n + 1, sizeof(dpi_shadow));
    if (c->shadows == NULL)
        return dpi_no_memory(err, "a change");
    n = 0;
    for (size_t u = 0; u < n_units; u++)
        for (uint32_t i = 0; units[u] && i < units[u]->n_regs; i++) {
            const dpi_reg *r = &units[u]->regs[i];
            if (r->kind == DPI_REG_DEF || r->kind == DPI_REG_IMPL)
                c->shadows[n++].op = r->op;
        }
    qsort(c->shadows, n, sizeof(dpi_shadow), by_op);
    for (uint32_t i = 0; i < n; i++)
        if (n_unique == 0 || c->shadows[n_unique - 1].op != c->shadows[i].op)
            c->shadows[n_unique++].op = c->shadows[i].op;
    for (uint32_t i = 0; i < n_unique; i++) {
        int rc = dpi_truth_copy(&c->shadows[i].truth, c->reg->ops[c->shadows[i].op], err);
        if (rc < 0)
            return rc;
        c->n_shadows++;
    }
    return 0;
}

static dpi_truth *shadow_of(dpi_change *c, uint32_t op)
{
    dpi_shadow want = {.op = op};
    dpi_shadow *s = bsearch(&want, c->shadows, c->n_shadows, sizeof(dpi_shadow), by_op);
    return &s->truth;
}

/* -- adding and removing registrations -- */

/* Set each fallback for `key`, or for a runtime key that `key` covers, to `replacement`.  If
 * `expected` is not NULL, change only fallbacks that are `expected`. */
static void fallback_set(dpi_change *c, dp_key key, dpi_kernel *expected, dpi_kernel *replacement)
{
    dpi_kernel **of_all = dpi_is_functionality(key) ? &c->fallbacks.of_all[dpi_rank(key)] : NULL;

    if (of_all != NULL && (expected == NULL || *of_all == expected))
        *of_all = replacement;
    for (unsigned slot = 0; slot < DPI_SLOTS_MAX; slot++)
        if (dpi_alias_has(key, dpi_slot_key(slot)) &&
            (expected == NULL || c->fallbacks.kernel[slot] == expected))
            c->fallbacks.kernel[slot] = replacement;
    c->fallbacks_changed = true;
}

static void remove_unit(dpi_change *c, const dp_unit *u)
{
    for (uint32_t i = 0; i < u->n_regs; i++) {
        const dpi_reg *r = &u->regs[i];
        if (r->kind == DPI_REG_DEF)
            dpi_truth_define(shadow_of(c, r->op), NULL);
        else if (r->kind == DPI_REG_IMPL)
            dpi_truth_remove(shadow_of(c, r->op), r->kernel);
        else if (r->kind == DPI_REG_FALLBACK)
            fallback_set(c, r->key, r->kernel, NULL);
    }
}

static int fail_exists(dp_error *err, const char *what, const char *name, const char *file,
                       uint32_t line, const char *old_plugin, const char *old_file,
                       uint32_t old_line)
{
    return dp_error_set(err, DP_EEXISTS,
                        "%s '%s' at %s:%u: already there, from plugin '%s' at %s:%u", what, name,
                        file, line, old_plugin, old_file, old_line);
}

static int add_def(dpi_change *c, const dpi_reg *r, dp_error *err)
{
    dpi_truth *t = shadow_of(c, r->op);

    if (t->schema != NULL)
        return fail_exists(err, "definition of", t->name, r->file, r->line, t->def_gen->plugin,
                           t->def_file, t->def_line);
    dpi_truth_define(t, r);
    return 0;
}

static int fail_code(dp_error *err, const dpi_truth *t, const dpi_kernel *k, const char *code,
                     const char *plugin, const char *file, uint32_t line)
{
    char key[DP_KEY_NAME_MAX];

    return dp_error_set(
        err, DP_ETYPE,
        "%s: the kernel for %s of plugin '%s' at %s:%u has the C type '%s', but '%s' is that of "
        "plugin '%s' at %s:%u",
        t->name, dp_key_name(k->key, key), k->gen->plugin, k->file, k->line, k->code, code, plugin,
        file, line);
}

/* Return the name of the type variable in type `t`; NULL: `t` has none. */
static const char *type_variable_of(const dpi_type *t)
{
    while (t->kind == DPI_TYPE_OPTIONAL || t->kind == DPI_TYPE_LIST)
        t = t->elem;
    return t->kind == DPI_TYPE_VARIABLE ? t->name : NULL;
}

/* Append to `out` why schema `s` has no letters (dp_schema.code): its kernels must be boxed. */
static void explain_no_code(const dp_schema *s, dpi_text *out)
{
    const dpi_argument *a = dpi_schema_letterless(s);

    if (a == NULL) {
        dpi_text_add(out, "'...' stands for any number");
        return;
    }
    bool ret = a >= s->rets && a < s->rets + s->n_rets;
    const char *variable = type_variable_of(a->type);
    if (ret)
        dpi_text_printf(out, "return %d is ", (int)(a - s->rets) + 1);
    else
        dpi_text_printf(out, "argument '%s' is ", a->name);
    if (variable != NULL)
        dpi_text_printf(out, "'%s', a type variable (a C double is 'float')", variable);
    else
        dpi_type_print(out, a->type, true);
    if (dpi_type_reserved(a->type))
        dpi_text_add(out, ", for which letters are reserved");
}

static int fail_no_code(dp_error *err, const dpi_truth *t, const dpi_kernel *k)
{
    dpi_text why = {0};

    explain_no_code(t->schema, &why);
    dp_error_set(err, DP_ETYPE,
                 "%s: the kernel of plugin '%s' at %s:%u has the C type '%s', but no C type stands "
                 "for the schema at %s:%u: %s; its kernels are boxed",
                 t->name, k->gen->plugin, k->file, k->line, k->code, t->def_file, t->def_line,
                 why.s ? why.s : "?");
    dpi_text_fini(&why);
    return DP_ETYPE;
}

/* Check that all unboxed kernels of `t` have the same letters, and those of its schema if any. */
static int check_codes(const dpi_truth *t, dp_error *err)
{
    const dpi_kernel *first = NULL;

    for (uint32_t i = 0; i < t->n_stacks; i++)
        for (uint32_t j = 0; j < t->stacks[i].n; j++) {
            const dpi_kernel *k = t->stacks[i].kernels[j];
            if (k->unboxed == NULL)
                continue;
            if (t->schema != NULL && t->schema->code[0] == '\0')
                return fail_no_code(err, t, k);
            if (t->schema != NULL && strcmp(t->schema->code, k->code) != 0)
                return fail_code(err, t, k, t->schema->code, t->def_gen->plugin, t->def_file,
                                 t->def_line);
            if (first != NULL && strcmp(first->code, k->code) != 0)
                return fail_code(err, t, k, first->code, first->gen->plugin, first->file,
                                 first->line);
            first = k;
        }
    return 0;
}

/* Return the next older kernel for k's key, or NULL.  After a reload `k` need not be the newest. */
static const dpi_kernel *kernel_below(dpi_truth *t, const dpi_kernel *k)
{
    const dpi_stack *s = dpi_truth_stack(t, k->key);
    uint32_t index = 0;

    while (index < s->n && s->kernels[index] != k)
        index++;
    return index + 1 < s->n ? s->kernels[index + 1] : NULL;
}

static int add_impl(dpi_change *c, const dpi_reg *r, bool reject, dpi_text *overrides,
                    dp_error *err)
{
    dpi_truth *t = shadow_of(c, r->op);
    const dpi_stack *s = dpi_truth_stack(t, r->key);
    char key[DP_KEY_NAME_MAX];

    if (s != NULL && s->n == DP_LIMIT_KERNELS_PER_OP)
        return dp_error_set(err, DP_ERESOURCE, "%s: over the limit of %d kernels", t->name,
                            DP_LIMIT_KERNELS_PER_OP);
    dp_key_name(r->key, key);
    for (uint32_t i = 0; s != NULL && i < s->n; i++)
        if (s->kernels[i]->gen == r->gen)
            return dp_error_set(
                err, DP_EPLUGIN, "%s: plugin '%s' has two kernels for %s: %s:%u and %s:%u", t->name,
                r->gen->plugin, key, s->kernels[i]->file, s->kernels[i]->line, r->file, r->line);
    if (s != NULL && reject) {
        const dpi_kernel *old = s->kernels[0];
        return dp_error_set(
            err, DP_EEXISTS,
            "%s: plugin '%s' at %s:%u would replace the kernel for %s of plugin '%s' at %s:%u",
            t->name, r->gen->plugin, r->file, r->line, key, old->gen->plugin, old->file, old->line);
    }
    int rc = dpi_truth_add(t, r->kernel, err);
    const dpi_kernel *below = rc == 0 ? kernel_below(t, r->kernel) : NULL;
    if (below != NULL && overrides != NULL)
        dpi_text_printf(overrides, "%s %s: %s:%u over %s:%u\n", t->name, key, r->file, r->line,
                        below->file, below->line);
    return rc;
}

static int add_fallback(dpi_change *c, const dpi_reg *r, dp_error *err)
{
    char key[DP_KEY_NAME_MAX];
    const dpi_kernel *general =
        dpi_is_functionality(r->key) ? c->fallbacks.of_all[dpi_rank(r->key)] : NULL;

    if (general != NULL)
        return fail_exists(err, "fallback for", dp_key_name(r->key, key), r->file, r->line,
                           general->gen->plugin, general->file, general->line);
    for (unsigned slot = 0; slot < DPI_SLOTS_MAX; slot++) {
        const dpi_kernel *old = c->fallbacks.kernel[slot];
        if (old != NULL && dpi_alias_has(r->key, dpi_slot_key(slot)))
            return fail_exists(err, "fallback for", dp_key_name(dpi_slot_key(slot), key), r->file,
                               r->line, old->gen->plugin, old->file, old->line);
    }
    fallback_set(c, r->key, NULL, r->kernel);
    return 0;
}

static const dpi_library *library_find(const dp_registry *reg, const char *ns)
{
    for (const dpi_library *l = reg->libraries; l != NULL; l = l->next)
        if (strcmp(l->ns, ns) == 0)
            return l;
    return NULL;
}

static int add_library(dpi_change *c, const dpi_reg *r, const dp_unit *removed, dp_error *err)
{
    const dpi_library *old = library_find(c->reg, r->library->ns);

    if (old == NULL || (removed != NULL && old->gen == removed->gen))
        return 0;
    return fail_exists(err, "namespace", old->ns, r->file, r->line, old->gen->plugin, old->file,
                       old->line);
}

static int add_unit(dpi_change *c, const dp_unit *u, const dp_unit *removed, bool reject,
                    dpi_text *overrides, dp_error *err)
{
    int rc = 0;

    for (uint32_t i = 0; i < u->n_regs && rc == 0; i++) {
        const dpi_reg *r = &u->regs[i];
        if (r->kind == DPI_REG_DEF)
            rc = add_def(c, r, err);
        else if (r->kind == DPI_REG_IMPL)
            rc = add_impl(c, r, reject, overrides, err);
        else if (r->kind == DPI_REG_FALLBACK)
            rc = add_fallback(c, r, err);
        else if (r->kind == DPI_REG_LIBRARY)
            rc = add_library(c, r, removed, err);
    }
    for (uint32_t i = 0; i < c->n_shadows && rc == 0; i++)
        if ((rc = check_codes(&c->shadows[i].truth, err)) == 0)
            rc = dpi_truth_check_formula(&c->shadows[i].truth, u->gen, err);
    return rc;
}

/* -- committing -- */

static bool truth_empty(const dpi_truth *t)
{
    return t->schema == NULL && t->n_stacks == 0;
}

/* Build new entries: for the shadows, or for all operators if the fallbacks have changed or the old
 * entries do not have `n_named` columns for named backends.  Other operators keep their entries. */
static int entries_build(dpi_change *c, uint32_t n_named, dp_error *err)
{
    dp_registry *reg = c->reg;
    const dpi_snapshot *old = atomic_load_explicit(&reg->current, memory_order_relaxed);
    dpi_snapshot *s = c->snapshot;
    uint32_t next_shadow = 0;

    for (uint32_t id = 0; id < reg->n_ops; id++) {
        bool touched = next_shadow < c->n_shadows && c->shadows[next_shadow].op == id;
        const dpi_truth *t = touched ? &c->shadows[next_shadow++].truth : reg->ops[id];
        dpi_entry *old_entry = dpi_snapshot_at(old, id);

        if (truth_empty(t))
            continue;
        if (!touched && !c->fallbacks_changed && old_entry != NULL &&
            old_entry->n_slots == DPI_SLOTS(n_named)) {
            atomic_fetch_add_explicit(&old_entry->refs, 1, memory_order_relaxed);
            s->entries[id] = old_entry;
        } else if ((s->entries[id] = dpi_entry_build(t, reg->ops[id], &c->fallbacks, n_named,
                                                     &c->models)) == NULL) {
            return dpi_no_memory(err, t->name);
        }
    }
    return 0;
}

/* List the observers for the registry (borrowed) and for the snapshot (with references), sorted by
 * load number, so that their order does not depend on earlier changes. */
static int observers_build(dpi_change *c, const dp_unit *added, const dp_unit *removed,
                           dp_error *err)
{
    dp_registry *reg = c->reg;
    uint32_t n = 0, max = reg->n_observers + (added ? added->n_regs : 0);

    c->observers = dp_malloc_n(max + 1, sizeof(dpi_kernel *));
    c->snapshot->observers = dp_malloc_n(max + 1, sizeof(dpi_kernel *));
    if (c->observers == NULL || c->snapshot->observers == NULL)
        return dpi_no_memory(err, "observers");
    for (uint32_t i = 0; i < reg->n_observers; i++)
        if (removed == NULL || reg->observers[i]->gen != removed->gen)
            c->observers[n++] = reg->observers[i];
    for (uint32_t i = 0; added && i < added->n_regs; i++) {
        if (added->regs[i].kind != DPI_REG_OBSERVER)
            continue;
        uint32_t index = n++;
        while (index > 0 && c->observers[index - 1]->gen->load_number > added->gen->load_number) {
            c->observers[index] = c->observers[index - 1];
            index--;
        }
        c->observers[index] = added->regs[i].kernel;
    }
    if (n > DP_LIMIT_OBSERVERS)
        return dp_error_limit(
            dp_error_set(err, DP_ERESOURCE,
                         "plugin '%s': with it there would be %u observers, the limit is %d "
                         "(observers)",
                         added->gen->plugin, n, DP_LIMIT_OBSERVERS),
            "observers", DP_LIMIT_OBSERVERS, n);
    c->n_observers = n;
    for (uint32_t i = 0; i < n; i++)
        c->snapshot->observers[i] = dpi_kernel_ref(c->observers[i]);
    c->snapshot->n_observers = n;
    return 0;
}

static int snapshot_make(dpi_change *c, const dp_unit *added, const dp_unit *removed, dp_error *err)
{
    dp_registry *reg = c->reg;
    dpi_snapshot *s = c->snapshot = dp_calloc(1, sizeof(*s));

    if (s == NULL || (s->entries = dp_calloc(reg->n_ops + 1, sizeof(dpi_entry *))) == NULL)
        return dpi_no_memory(err, "a snapshot");
    s->n_entries = reg->n_ops;
    s->reg = reg;
    s->names = dpi_names_ref(c->names ? c->names : reg->names);
    int rc = observers_build(c, added, removed, err);
    if (rc == 0)
        rc = entries_build(c, dpi_backend_named_top(), err);
    return rc < 0 ? rc : dpi_snapshot_find_plain(s, err);
}

static void libraries_swap(dp_registry *reg, dp_unit *added, const dp_unit *removed)
{
    for (dpi_library **link = &reg->libraries; *link != NULL;)
        if (removed != NULL && (*link)->gen == removed->gen)
            *link = (*link)->next; /* the unit still owns it */
        else
            link = &(*link)->next;
    for (uint32_t i = 0; added && i < added->n_regs; i++) {
        dpi_library *l = added->regs[i].library;
        dpi_library **link = &reg->libraries;
        if (l == NULL)
            continue;
        while (*link != NULL && strcmp((*link)->ns, l->ns) < 0)
            link = &(*link)->next;
        l->next = *link;
        *link = l;
    }
}

/* Publish the prepared change.  Cannot fail. */
static void change_commit(dpi_change *c, dp_unit *added, const dp_unit *removed)
{
    dp_registry *reg = c->reg;

    c->snapshot->number = reg->next_snapshot++;
    for (uint32_t i = 0; i < c->n_shadows; i++) {
        dp_op *op = reg->ops[c->shadows[i].op];
        dpi_truth old = *op;
        dpi_truth_move(op, &c->shadows[i].truth);
        dpi_notify_definitions(reg, op, &old);
        dpi_truth_fini(&old);
    }
    reg->fallbacks = c->fallbacks;
    dp_free(reg->observers);
    reg->observers = c->observers;
    reg->n_observers = c->n_observers;
    if (c->names != NULL) {
        dpi_names_unref(reg->names);
        reg->names = c->names;
    }
    libraries_swap(reg, added, removed);
    if (removed != NULL)
        atomic_store_explicit(&removed->gen->gone_at, c->snapshot->number, memory_order_release);
    if (added != NULL)
        atomic_store_explicit(&added->gen->gone_at, UINT64_MAX, memory_order_release);
    dpi_snapshot_publish(reg, &reg->current, c->snapshot);
    dp_free(c->shadows);
    dpi_notify_changed(reg, added ? added : removed, added ? added->n_regs : 0,
                       removed ? removed->n_regs : 0);
}

int dpi_change_prepare(dpi_change *c, dp_unit *added, const dp_unit *removed, bool reject,
                       dpi_text *overrides, dp_error *err)
{
    const dp_unit *units[2] = {added, removed};
    int rc = shadows_make(c, units, 2, err);

    if (rc == 0 && removed != NULL)
        remove_unit(c, removed);
    if (rc == 0 && added != NULL)
        rc = add_unit(c, added, removed, reject, overrides, err);
    return rc < 0 ? rc : snapshot_make(c, added, removed, err);
}

int dpi_change_run(dpi_change *c, dp_unit *added, const dp_unit *removed, bool reject,
                   dpi_text *overrides, dp_error *err)
{
    int rc = dpi_change_prepare(c, added, removed, reject, overrides, err);

    if (rc < 0) {
        dpi_change_abort(c);
        return rc;
    }
    change_commit(c, added, removed);
    return 0;
}
