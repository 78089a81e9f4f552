/* registry.c -- attaching and detaching units: all or nothing, one snapshot each.
 *
 * A change works on shadows: copies of the truths it touches, of the fallbacks and of the
 * observers. Everything that can fail happens on shadows; committing swaps pointers and cannot
 * fail.  So a failed attach, or a failed allocation anywhere, leaves the registry as it was. */
#include "op.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct shadow {
    uint32_t op;
    dpi_truth truth;
    dpi_entry *entry;
} shadow;

typedef struct change {
    dp_registry *reg;
    shadow *shadows;
    uint32_t n_shadows, cap_shadows;
    uint32_t n_ops_before;
    dpi_fallbacks fallbacks;
    bool fallbacks_changed;
    dpi_kernel **observers; /* borrowed from the units */
    uint32_t n_observers;
    dpi_names *names; /* new hash, when operators were interned */
    dpi_snapshot *snapshot;
} change;

static void units_remove(dp_registry *reg, const dp_unit *u);

/* -- new and free --------------------------------------------------------------------------- */

static int publish_first(dp_registry *reg, dp_error *err)
{
    dpi_snapshot *s = dp_calloc(1, sizeof(*s));

    reg->names = dpi_names_build(NULL, 0);
    if (s == NULL || reg->names == NULL) {
        dp_free(s);
        return dpi_no_memory(err, "a snapshot");
    }
    s->reg = reg;
    s->number = reg->next_snapshot++;
    s->names = dpi_names_ref(reg->names);
    dpi_snapshot_publish(reg, s);
    return 0;
}

int dp_registry_new(dp_registry **out, dp_error *err)
{
    dp_registry *reg = dp_calloc(1, sizeof(*reg));

    if (reg == NULL)
        return dpi_no_memory(err, "a registry");
    dpi_membarrier_start();
    pthread_mutex_init(&reg->lock, NULL);
    pthread_mutex_init(&reg->plugin_lock, NULL);
    pthread_mutex_init(&reg->ctx_lock, NULL);
    reg->next_snapshot = reg->next_generation = reg->next_load = reg->next_kernel = 1;
    int rc = publish_first(reg, err);
    if (rc < 0) {
        dp_registry_free(reg);
        return rc;
    }
    *out = reg;
    return 0;
}

static void op_free(dp_op *op)
{
    dpi_truth_fini(op);
    dp_free(op->name);
    dp_free(op);
}

dp_registry *dp_registry_free(dp_registry *reg)
{
    if (reg == NULL)
        return NULL;
    dpi_plugins_free(reg);
    while (reg->units != NULL) {
        dp_unit *u = reg->units;
        while (u->next != NULL) /* newest first: a backend's users came after it */
            u = u->next;
        if (dpi_registry_detach(reg, u, NULL) < 0)
            units_remove(reg, u); /* no memory for a snapshot that nobody would ask for */
        dpi_unit_free(u);
    }
    dpi_snapshot_free((dpi_snapshot *)(uintptr_t)atomic_load(&reg->current));
    while (reg->retired != NULL) {
        dpi_snapshot *s = reg->retired;
        reg->retired = s->next_retired;
        dpi_snapshot_free(s);
    }
    dpi_names_unref(reg->names);
    for (uint32_t i = 0; i < reg->n_ops; i++)
        op_free(reg->ops[i]);
    dp_free(reg->ops);
    dp_free(reg->observers);
    dp_free(reg->counts_gone);
    pthread_mutex_destroy(&reg->lock);
    pthread_mutex_destroy(&reg->plugin_lock);
    pthread_mutex_destroy(&reg->ctx_lock);
    dp_free(reg);
    return NULL;
}

/* -- interned names ------------------------------------------------------------------------- */

static int64_t op_find(const dp_registry *reg, const char *name, uint32_t from)
{
    int64_t id = dpi_names_find(reg->names, name, strlen(name));

    for (uint32_t i = from; id < 0 && i < reg->n_ops; i++) /* new in this change: not hashed yet */
        if (strcmp(reg->ops[i]->name, name) == 0)
            id = i;
    return id;
}

/* Operator id of a full name, interned if new. */
static int op_intern(change *c, const char *name, uint32_t *id, dp_error *err)
{
    dp_registry *reg = c->reg;
    int64_t found = op_find(reg, name, c->n_ops_before);

    if (found >= 0) {
        *id = (uint32_t)found;
        return 0;
    }
    if (reg->n_ops == DP_LIMIT_OPERATORS)
        return dp_error_set(err, DP_ERESOURCE, "over the limit of %d operator names",
                            DP_LIMIT_OPERATORS);
    dp_op **ops = dpi_grow(reg->ops, &reg->cap_ops, reg->n_ops + 1, sizeof(*ops));
    if (ops == NULL)
        return dpi_no_memory(err, name);
    reg->ops = ops;
    dp_op *op = dp_calloc(1, sizeof(*op));
    if (op == NULL || (op->name = dp_strdup(name)) == NULL) {
        dp_free(op);
        return dpi_no_memory(err, name);
    }
    op->id = reg->n_ops;
    *id = op->id;
    reg->ops[reg->n_ops++] = op;
    return 0;
}

/* -- changes -------------------------------------------------------------------------------- */

static void change_begin(change *c, dp_registry *reg)
{
    memset(c, 0, sizeof(*c));
    c->reg = reg;
    c->n_ops_before = reg->n_ops;
    c->fallbacks = reg->fallbacks;
}

static void change_abort(change *c)
{
    for (uint32_t i = 0; i < c->n_shadows; i++) {
        dpi_truth_fini(&c->shadows[i].truth);
        dpi_entry_unref(c->shadows[i].entry);
    }
    dp_free(c->shadows);
    dp_free(c->observers);
    dpi_names_unref(c->names);
    dpi_snapshot_free(c->snapshot);
    while (c->reg->n_ops > c->n_ops_before)
        op_free(c->reg->ops[--c->reg->n_ops]);
}

static int by_op(const void *a, const void *b)
{
    uint32_t x = ((const shadow *)a)->op, y = ((const shadow *)b)->op;
    return x < y ? -1 : x > y;
}

/* Shadows for every operator that regs touch, sorted by id, so that finding one is a search. */
static int shadows_make(change *c, const dp_unit *const *units, size_t n_units, dp_error *err)
{
    uint32_t n = 0, kept = 0;

    for (size_t u = 0; u < n_units; u++)
        n += units[u] ? units[u]->n_regs : 0;
    c->shadows = dp_calloc(n + 1, sizeof(shadow));
    if (c->shadows == NULL)
        return dpi_no_memory(err, "a change");
    n = 0;
    for (size_t u = 0; u < n_units; u++)
        for (uint32_t i = 0; units[u] && i < units[u]->n_regs; i++) {
            const dpi_reg *r = &units[u]->regs[i];
            if (r->kind == DPI_REG_DEF || r->kind == DPI_REG_IMPL)
                c->shadows[n++].op = r->op;
        }
    qsort(c->shadows, n, sizeof(shadow), by_op);
    for (uint32_t i = 0; i < n; i++)
        if (kept == 0 || c->shadows[kept - 1].op != c->shadows[i].op)
            c->shadows[kept++].op = c->shadows[i].op;
    for (uint32_t i = 0; i < kept; i++) {
        int rc = dpi_truth_copy(&c->shadows[i].truth, c->reg->ops[c->shadows[i].op], err);
        if (rc < 0)
            return rc;
        c->n_shadows++;
    }
    return 0;
}

static dpi_truth *shadow_of(change *c, uint32_t op)
{
    shadow want = {.op = op};
    shadow *s = bsearch(&want, c->shadows, c->n_shadows, sizeof(shadow), by_op);
    return &s->truth;
}

/* -- taking registrations out and putting them in -------------------------------------------- */

static void fallback_set(change *c, dp_key key, dpi_kernel *only, dpi_kernel *with)
{
    for (unsigned slot = 0; slot < DPI_SLOTS_MAX; slot++)
        if (dpi_alias_has(key, dpi_slot_key(slot)) &&
            (only == NULL || c->fallbacks.kernel[slot] == only))
            c->fallbacks.kernel[slot] = with;
    c->fallbacks_changed = true;
}

static void remove_unit(change *c, const dp_unit *u)
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

static int fail_twice(dp_error *err, const char *what, const char *name, const char *file,
                      uint32_t line, const char *old_plugin, const char *old_file,
                      uint32_t old_line)
{
    return dp_error_set(err, DP_EEXISTS,
                        "%s '%s' at %s:%u: already there, from plugin '%s' at %s:%u", what, name,
                        file, line, old_plugin, old_file, old_line);
}

static int add_def(change *c, const dpi_reg *r, dp_error *err)
{
    dpi_truth *t = shadow_of(c, r->op);

    if (t->schema != NULL)
        return fail_twice(err, "definition of", t->name, r->file, r->line, t->def_gen->plugin,
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

/* Every unboxed kernel of t has the C type of the schema, or, without one, that of the others. */
static int check_codes(const dpi_truth *t, dp_error *err)
{
    const dpi_kernel *first = NULL;

    for (uint32_t i = 0; i < t->n_stacks; i++)
        for (uint32_t j = 0; j < t->stacks[i].n; j++) {
            const dpi_kernel *k = t->stacks[i].kernels[j];
            if (k->unboxed == NULL)
                continue;
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

static int add_impl(change *c, const dpi_reg *r, bool reject, dpi_text *overrides, dp_error *err)
{
    dpi_truth *t = shadow_of(c, r->op);
    const dpi_stack *s = dpi_truth_stack(t, r->key);
    char key[DP_KEY_NAME_MAX];

    if (s != NULL && s->n == DP_LIMIT_KERNELS_PER_OP)
        return dp_error_set(err, DP_ERESOURCE, "%s: over the limit of %d kernels", t->name,
                            DP_LIMIT_KERNELS_PER_OP);
    if (s != NULL) {
        const dpi_kernel *old = s->kernels[0];
        dp_key_name(r->key, key);
        if (reject)
            return dp_error_set(
                err, DP_EEXISTS,
                "%s: plugin '%s' at %s:%u would replace the kernel for %s of plugin '%s' at %s:%u",
                t->name, r->gen->plugin, r->file, r->line, key, old->gen->plugin, old->file,
                old->line);
        if (overrides != NULL)
            dpi_text_printf(overrides, "%s %s: %s:%u over %s:%u\n", t->name, key, r->file, r->line,
                            old->file, old->line);
    }
    return dpi_truth_add(t, r->kernel, err);
}

static int add_fallback(change *c, const dpi_reg *r, dp_error *err)
{
    char key[DP_KEY_NAME_MAX];

    for (unsigned slot = 0; slot < DPI_SLOTS_MAX; slot++) {
        const dpi_kernel *old = c->fallbacks.kernel[slot];
        if (old != NULL && dpi_alias_has(r->key, dpi_slot_key(slot)))
            return fail_twice(err, "fallback for", dp_key_name(dpi_slot_key(slot), key), r->file,
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

static int add_library(change *c, const dpi_reg *r, const dp_unit *without, dp_error *err)
{
    const dpi_library *old = library_find(c->reg, r->library->ns);

    if (old == NULL || (without != NULL && old->gen == without->gen))
        return 0;
    return fail_twice(err, "namespace", old->ns, r->file, r->line, old->gen->plugin, old->file,
                      old->line);
}

static int add_unit(change *c, const dp_unit *u, const dp_unit *without, bool reject,
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
            rc = add_library(c, r, without, err);
    }
    for (uint32_t i = 0; i < c->n_shadows && rc == 0; i++)
        rc = check_codes(&c->shadows[i].truth, err);
    return rc;
}

/* -- committing ----------------------------------------------------------------------------- */

static bool truth_empty(const dpi_truth *t)
{
    return t->schema == NULL && t->n_stacks == 0;
}

/* Entries for the shadows; for every operator when the fallbacks or the backends changed. */
static int entries_build(change *c, uint32_t n_named, dp_error *err)
{
    dp_registry *reg = c->reg;
    const dpi_snapshot *old = atomic_load_explicit(&reg->current, memory_order_relaxed);
    dpi_snapshot *s = c->snapshot;
    uint32_t next = 0;

    for (uint32_t id = 0; id < reg->n_ops; id++) {
        bool touched = next < c->n_shadows && c->shadows[next].op == id;
        const dpi_truth *t = touched ? &c->shadows[next++].truth : reg->ops[id];
        dpi_entry *kept = id < old->n_entries ? old->entries[id] : NULL;

        if (truth_empty(t))
            continue;
        if (!touched && !c->fallbacks_changed && kept != NULL &&
            kept->n_slots == DPI_SLOTS(n_named)) {
            atomic_fetch_add_explicit(&kept->refs, 1, memory_order_relaxed);
            s->entries[id] = kept;
        } else if ((s->entries[id] = dpi_entry_build(t, reg->ops[id], &c->fallbacks, n_named)) ==
                   NULL) {
            return dpi_no_memory(err, t->name);
        }
    }
    return 0;
}

/* Load order, so that observers run in one order whatever happened before. */
static int observers_build(change *c, const dp_unit *added, const dp_unit *removed, dp_error *err)
{
    dp_registry *reg = c->reg;
    uint32_t n = 0, max = reg->n_observers + (added ? added->n_regs : 0);

    c->observers = dp_malloc((max + 1) * sizeof(dpi_kernel *));
    c->snapshot->observers = dp_malloc((max + 1) * sizeof(dpi_kernel *));
    if (c->observers == NULL || c->snapshot->observers == NULL)
        return dpi_no_memory(err, "observers");
    for (uint32_t i = 0; i < reg->n_observers; i++)
        if (removed == NULL || reg->observers[i]->gen != removed->gen)
            c->observers[n++] = reg->observers[i];
    for (uint32_t i = 0; added && i < added->n_regs; i++) {
        if (added->regs[i].kind != DPI_REG_OBSERVER)
            continue;
        uint32_t at = n++;
        while (at > 0 && c->observers[at - 1]->gen->load_number > added->gen->load_number) {
            c->observers[at] = c->observers[at - 1];
            at--;
        }
        c->observers[at] = added->regs[i].kernel;
    }
    c->n_observers = n;
    for (uint32_t i = 0; i < n; i++)
        c->snapshot->observers[i] = dpi_kernel_ref(c->observers[i]);
    c->snapshot->n_observers = n;
    c->snapshot->n_plain = n == 0 ? c->snapshot->n_entries : 0;
    return 0;
}

static int change_prepare(change *c, const dp_unit *added, const dp_unit *removed, dp_error *err)
{
    dp_registry *reg = c->reg;
    dpi_snapshot *s = c->snapshot = dp_calloc(1, sizeof(*s));

    if (s == NULL || (s->entries = dp_calloc(reg->n_ops + 1, sizeof(dpi_entry *))) == NULL)
        return dpi_no_memory(err, "a snapshot");
    s->n_entries = reg->n_ops;
    s->reg = reg;
    if (reg->n_ops > c->n_ops_before && (c->names = dpi_names_build(reg->ops, reg->n_ops)) == NULL)
        return dpi_no_memory(err, "the operators' names");
    s->names = dpi_names_ref(c->names ? c->names : reg->names);
    int rc = observers_build(c, added, removed, err);
    return rc < 0 ? rc : entries_build(c, dpi_backend_named_top(), err);
}

static void libraries_swap(dp_registry *reg, dp_unit *added, const dp_unit *removed)
{
    for (dpi_library **link = &reg->libraries; *link != NULL;)
        if (removed != NULL && (*link)->gen == removed->gen)
            *link = (*link)->next; /* the unit's record keeps it */
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

static void tell_definitions(dp_registry *reg, const dpi_truth *t, const dpi_truth *old);
static void tell_changed(dp_registry *reg, const dp_unit *u, uint32_t added, uint32_t removed);

/* Cannot fail. */
static void change_commit(change *c, dp_unit *added, const dp_unit *removed)
{
    dp_registry *reg = c->reg;

    c->snapshot->number = reg->next_snapshot++;
    for (uint32_t i = 0; i < c->n_shadows; i++) {
        dp_op *op = reg->ops[c->shadows[i].op];
        dpi_truth old = *op;
        dpi_truth_move(op, &c->shadows[i].truth);
        tell_definitions(reg, op, &old);
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
    dpi_snapshot_publish(reg, c->snapshot);
    dp_free(c->shadows);
    tell_changed(reg, added ? added : removed, added ? added->n_regs : 0,
                 removed ? removed->n_regs : 0);
}

/* One change: take `removed` out, put `added` in; either may be NULL.  Under the lock. */
static int change_run(dp_registry *reg, change *c, dp_unit *added, const dp_unit *removed,
                      bool reject, dpi_text *overrides, dp_error *err)
{
    const dp_unit *units[2] = {added, removed};
    int rc = shadows_make(c, units, 2, err);

    if (rc == 0 && removed != NULL)
        remove_unit(c, removed);
    if (rc == 0 && added != NULL)
        rc = add_unit(c, added, removed, reject, overrides, err);
    if (rc == 0)
        rc = change_prepare(c, added, removed, err);
    if (rc == 0)
        change_commit(c, added, removed);
    else
        change_abort(c);
    (void)reg;
    return rc;
}

/* -- units: from blocks to checked registrations --------------------------------------------- */

dpi_generation *dpi_unit_generation(const dp_unit *unit)
{
    return unit->gen;
}

void dpi_unit_free(dp_unit *u)
{
    if (u == NULL)
        return;
    for (uint32_t i = 0; i < u->n_regs; i++) {
        dpi_reg *r = &u->regs[i];
        if (r->owns_backend)
            dpi_backend_unregister(r->bit);
        dp_schema_free(r->schema);
        dpi_kernel_unref(r->kernel);
        if (r->library != NULL) {
            dp_free(r->library->ns);
            dp_free(r->library->file);
            dp_free(r->library);
        }
        dp_free(r->tags);
        dp_free(r->file);
        dp_free(r->name);
    }
    dp_free(u->regs);
    dpi_generation_unref(u->gen);
    dp_free(u);
}

static int kernel_make(dp_registry *reg, const dp_unit *u, const dpi_reg *r, dp_boxed_fn boxed,
                       dp_any_fn unboxed, const char *code, uint16_t flags, dpi_kernel **out,
                       dp_error *err)
{
    dpi_kernel *k = dp_calloc(1, sizeof(*k));

    if (k == NULL || (k->file = dp_strdup(r->file)) == NULL ||
        (k->code = dp_strdup(code ? code : "")) == NULL) {
        if (k != NULL)
            dp_free(k->file);
        dp_free(k);
        return dpi_no_memory(err, "a kernel's record");
    }
    atomic_init(&k->refs, 1);
    k->boxed = boxed;
    k->unboxed = unboxed;
    k->gen = dpi_generation_ref(u->gen);
    k->id = reg->next_kernel++;
    k->line = r->line;
    k->order = r->order;
    k->flags = flags;
    k->key = r->key;
    *out = k;
    return 0;
}

static bool valid_ns(const char *s)
{
    size_t n = s ? strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") : 0;
    return n > 0 && n <= DP_LIMIT_NAME_BYTES && s[n] == '\0';
}

static int fail_at(dp_error *err, int code, const dp_block *b, const char *what, const char *name,
                   const char *why)
{
    return dp_error_set(err, code, "%s '%s' at %s:%u: %s", what, name ? name : "", b->file, b->line,
                        why);
}

static int key_of(const dp_block *b, dp_key *key, dp_error *err)
{
    *key = dp_key_parse(b->key);
    if (*key == DP_KEY_Undefined)
        return fail_at(err, DP_EPLUGIN, b, "dispatch key", b->key,
                       "no such key (a named backend's keys exist while a plugin names it)");
    return 0;
}

static dpi_reg *reg_add(dp_unit *u, uint8_t kind, const dp_block *b, dp_error *err)
{
    dpi_reg *r = &u->regs[u->n_regs];

    memset(r, 0, sizeof(*r));
    if ((r->file = dp_strdup(b->file)) == NULL) {
        dpi_no_memory(err, b->file);
        return NULL;
    }
    r->kind = kind;
    r->gen = u->gen;
    r->line = b->line;
    r->order = u->n_regs++;
    r->bit = -1;
    return r;
}

static int reg_def(change *c, dp_unit *u, const dp_block *b, const dp_item *item, dp_error *err)
{
    dpi_reg *r;
    dp_error why = DP_ERROR_INIT;

    if (b->kind == DP_BLOCK_IMPL)
        return fail_at(
            err, DP_EPLUGIN, b, "definition", item->name,
            "DP_DEF stands in DP_LIBRARY or DP_LIBRARY_FRAGMENT, not in DP_LIBRARY_IMPL");
    if ((r = reg_add(u, DPI_REG_DEF, b, err)) == NULL)
        return DP_ERESOURCE;
    int rc = dpi_schema_parse(item->name, b->ns, &r->schema, &why);
    if (rc < 0)
        return rc == DP_ERESOURCE ? dp_error_set(err, rc, "%s", why.message)
                                  : fail_at(err, DP_EPLUGIN, b, "schema", item->name, why.message);
    if (r->schema->name_only)
        return fail_at(err, DP_EPLUGIN, b, "schema", item->name,
                       "only a name: the arguments are missing");
    if (item->tags != NULL && item->tags[0] != '\0' && (r->tags = dp_strdup(item->tags)) == NULL)
        return dpi_no_memory(err, "tags");
    u->defs++;
    return op_intern(c, r->schema->name, &r->op, err);
}

static int reg_impl(change *c, dp_unit *u, const dp_block *b, const dp_item *item, dp_error *err)
{
    char name[2 * DP_LIMIT_NAME_BYTES + 4];
    size_t ns = strlen(b->ns);
    const char *bare = item->name;
    bool fallthrough = item->flags & DP_FLAG_FALLTHROUGH;
    dpi_reg *r;

    if (strstr(bare, "::") != NULL) { /* a redundant namespace is welcome */
        if (strncmp(bare, b->ns, ns) != 0 || strncmp(bare + ns, "::", 2) != 0)
            return fail_at(err, DP_EPLUGIN, b, "kernel", bare, "its namespace is not the block's");
        bare += ns + 2;
    }
    if (bare[0] == '\0' || strlen(bare) > DP_LIMIT_NAME_BYTES)
        return fail_at(err, DP_EPLUGIN, b, "kernel", bare, "not an operator name");
    if (item->boxed == NULL && !fallthrough)
        return fail_at(err, DP_EPLUGIN, b, "kernel", bare, "no function");
    if (item->unboxed != NULL && (item->code == NULL || item->code[0] == '\0'))
        return fail_at(err, DP_EPLUGIN, b, "kernel", bare, "an unboxed kernel without its C type");
    if ((r = reg_add(u, DPI_REG_IMPL, b, err)) == NULL)
        return DP_ERESOURCE;
    r->key = DP_KEY(DP_ALIAS_CompositeImplicitAutograd); /* DP_IMPL in DP_LIBRARY: the catch-all */
    int rc = b->key[0] != '\0' ? key_of(b, &r->key, err) : 0;
    if (rc < 0)
        return rc;
    snprintf(name, sizeof(name), "%s::%s", b->ns, bare);
    u->impls++;
    if ((rc = op_intern(c, name, &r->op, err)) < 0)
        return rc;
    return kernel_make(c->reg, u, r, item->boxed, item->unboxed, item->code, item->flags,
                       &r->kernel, err);
}

static int reg_library(dp_unit *u, const dp_block *b, dp_error *err)
{
    dpi_reg *r = reg_add(u, DPI_REG_LIBRARY, b, err);

    if (r == NULL)
        return DP_ERESOURCE;
    if ((r->library = dp_calloc(1, sizeof(dpi_library))) == NULL ||
        (r->library->ns = dp_strdup(b->ns)) == NULL ||
        (r->library->file = dp_strdup(b->file)) == NULL)
        return dpi_no_memory(err, "a namespace");
    r->library->line = b->line;
    r->library->gen = u->gen;
    return 0;
}

static int reg_items(change *c, dp_unit *u, const dp_block *b, dp_error *err)
{
    int rc = 0;

    if (!valid_ns(b->ns))
        return fail_at(err, DP_EPLUGIN, b, "namespace", b->ns, "letters, digits and _ only");
    if (b->kind == DP_BLOCK_LIBRARY)
        rc = reg_library(u, b, err);
    for (uint32_t i = 0; i < b->n_items && rc == 0; i++) {
        dp_item item = {0}; /* what an older plugin's record does not cover is zero */
        const char *at = (const char *)b->items + (size_t)i * b->item_size;
        memcpy(&item, at, b->item_size < sizeof(item) ? b->item_size : sizeof(item));
        if (item.name == NULL)
            rc = fail_at(err, DP_EPLUGIN, b, "item", "", "no name");
        else if (item.kind == DP_ITEM_DEF)
            rc = reg_def(c, u, b, &item, err);
        else if (item.kind == DP_ITEM_IMPL)
            rc = reg_impl(c, u, b, &item, err);
        else
            rc = fail_at(err, DP_EPLUGIN, b, "item", item.name, "a kind this host does not know");
    }
    return rc;
}

static int reg_fallback(change *c, dp_unit *u, const dp_block *b, dp_error *err)
{
    bool fallthrough = b->flags & DP_FLAG_FALLTHROUGH;
    dpi_reg *r;

    if (b->fn == NULL && !fallthrough)
        return fail_at(err, DP_EPLUGIN, b, "fallback", b->key, "no function");
    if ((r = reg_add(u, DPI_REG_FALLBACK, b, err)) == NULL)
        return DP_ERESOURCE;
    int rc = key_of(b, &r->key, err);
    u->fallbacks++;
    return rc < 0
               ? rc
               : kernel_make(c->reg, u, r, (dp_boxed_fn)b->fn, NULL, "", b->flags, &r->kernel, err);
}

static int reg_observer(change *c, dp_unit *u, const dp_block *b, dp_error *err)
{
    dpi_reg *r;

    if (b->fn == NULL)
        return fail_at(err, DP_EPLUGIN, b, "observer", b->ns, "no function");
    if ((r = reg_add(u, DPI_REG_OBSERVER, b, err)) == NULL)
        return DP_ERESOURCE;
    return kernel_make(c->reg, u, r, NULL, b->fn, "", 0, &r->kernel, err);
}

/* A backend is named at once, so that the unit's own blocks can use its keys; dpi_unit_free ends
 * it, which is after the last call on its kernels left. */
static int reg_backend(dp_unit *u, const dp_block *b, const dp_unit *replace, dp_error *err)
{
    dpi_reg *r = reg_add(u, DPI_REG_BACKEND, b, err);

    if (r == NULL)
        return DP_ERESOURCE;
    if ((r->name = dp_strdup(b->ns)) == NULL)
        return dpi_no_memory(err, b->ns);
    r->device = b->data;
    u->backends++;
    for (uint32_t i = 0; replace && i < replace->n_regs; i++)
        if (replace->regs[i].kind == DPI_REG_BACKEND && strcmp(replace->regs[i].name, b->ns) == 0) {
            r->bit = replace->regs[i].bit; /* the records change when the change commits */
            return 0;
        }
    int rc = dpi_backend_register(b->ns, u->gen->plugin, r->device, &r->bit, err);
    r->owns_backend = rc == 0;
    return rc;
}

static int unit_fill(change *c, dp_unit *u, const dp_block *const *blocks, size_t n,
                     const dp_unit *replace, dp_error *err)
{
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        if (blocks[i]->kind == DP_BLOCK_BACKEND)
            rc = reg_backend(u, blocks[i], replace, err);
    for (size_t i = 0; i < n && rc == 0; i++)
        switch (blocks[i]->kind) {
        case DP_BLOCK_LIBRARY:
        case DP_BLOCK_FRAGMENT:
        case DP_BLOCK_IMPL:
            rc = reg_items(c, u, blocks[i], err);
            break;
        case DP_BLOCK_FALLBACK:
            rc = reg_fallback(c, u, blocks[i], err);
            break;
        case DP_BLOCK_OBSERVER:
            rc = reg_observer(c, u, blocks[i], err);
            break;
        default:
            break; /* the plugin's name, hooks: not the registry's */
        }
    return rc;
}

static dp_unit *unit_new(dp_registry *reg, const char *name, const char *version,
                         const dp_block *const *blocks, size_t n, const dp_unit *replace,
                         dp_error *err)
{
    size_t most = n;
    dp_unit *u = dp_calloc(1, sizeof(*u));

    for (size_t i = 0; i < n; i++)
        most += blocks[i]->n_items;
    if (u == NULL || (u->gen = dp_calloc(1, sizeof(*u->gen))) == NULL ||
        (u->regs = dp_calloc(most + 1, sizeof(dpi_reg))) == NULL) {
        if (u != NULL)
            dp_free(u->gen);
        dp_free(u);
        dpi_no_memory(err, name);
        return NULL;
    }
    u->reg = reg;
    atomic_init(&u->gen->refs, 1);
    atomic_init(&u->gen->gone_at, UINT64_MAX);
    u->gen->number = reg->next_generation++;
    u->gen->load_number = replace ? replace->gen->load_number : reg->next_load++;
    strncpy(u->gen->plugin, name, sizeof(u->gen->plugin) - 1);
    strncpy(u->gen->version, version, sizeof(u->gen->version) - 1);
    return u;
}

static int by_place(const void *a, const void *b)
{
    const dp_block *x = *(const dp_block *const *)a, *y = *(const dp_block *const *)b;
    int c = strcmp(x->file, y->file);
    return c ? c : x->line < y->line ? -1 : x->line > y->line;
}

/* -- the registry's counters and list of units ------------------------------------------------ */

static void account(dp_registry *reg, const dp_unit *u, int sign)
{
    reg->n_kernels += (uint32_t)sign * u->impls;
}

static void units_remove(dp_registry *reg, const dp_unit *u)
{
    for (dp_unit **link = &reg->units; *link != NULL; link = &(*link)->next)
        if (*link == u) {
            *link = u->next;
            return;
        }
}

static void units_add(dp_registry *reg, dp_unit *u)
{
    dp_unit **link = &reg->units;

    while (*link != NULL && (*link)->gen->load_number < u->gen->load_number)
        link = &(*link)->next;
    u->next = *link;
    *link = u;
}

/* The replaced unit's backends that the new one names, too, change hands. */
static void backends_inherit(dp_unit *old, dp_unit *u)
{
    for (uint32_t i = 0; i < old->n_regs; i++)
        for (uint32_t j = 0; old->regs[i].owns_backend && j < u->n_regs; j++) {
            if (u->regs[j].kind != DPI_REG_BACKEND || u->regs[j].bit != old->regs[i].bit)
                continue;
            dpi_backend_replace(u->regs[j].bit, u->gen->plugin, u->regs[j].device);
            old->regs[i].owns_backend = false;
            u->regs[j].owns_backend = true;
        }
}

/* Another unit's registrations at a key of backend `bit`: they would outlive its name. */
static const dpi_reg *backend_user(const dp_registry *reg, const dp_unit *except, int bit)
{
    for (const dp_unit *u = reg->units; u != NULL; u = u->next)
        for (uint32_t i = 0; u != except && i < u->n_regs; i++) {
            const dpi_reg *r = &u->regs[i];
            if ((r->kind == DPI_REG_IMPL || r->kind == DPI_REG_FALLBACK) &&
                dp_key_backend(r->key) == bit)
                return r;
        }
    return NULL;
}

static int check_backends_free(const dp_registry *reg, const dp_unit *u, const dp_unit *next,
                               dp_error *err)
{
    for (uint32_t i = 0; i < u->n_regs; i++) {
        const dpi_reg *r = &u->regs[i], *user;
        bool kept = false;
        if (r->kind != DPI_REG_BACKEND)
            continue;
        for (uint32_t j = 0; next && j < next->n_regs; j++)
            kept |= next->regs[j].kind == DPI_REG_BACKEND && next->regs[j].bit == r->bit;
        if (!kept && (user = backend_user(reg, u, r->bit)) != NULL)
            return dp_error_set(
                err, DP_EBUSY,
                "backend '%s' of plugin '%s': plugin '%s' has kernels for it (%s:%u)", r->name,
                u->gen->plugin, user->gen->plugin, user->file, user->line);
    }
    return 0;
}

/* -- attach and detach ------------------------------------------------------------------------ */

static int attach(dp_registry *reg, const char *name, const char *version,
                  const dp_block *const *sorted, size_t n, const dpi_attach_options *o,
                  dp_unit **out, dpi_text *overrides, dp_error *err)
{
    change c;
    dp_unit *replace = o ? o->replace : NULL;
    dp_unit *u = unit_new(reg, name, version, sorted, n, replace, err);

    if (u == NULL)
        return DP_ERESOURCE;
    change_begin(&c, reg);
    int rc = unit_fill(&c, u, sorted, n, replace, err);
    if (rc == 0 && replace != NULL)
        rc = check_backends_free(reg, replace, u, err);
    if (rc < 0)
        change_abort(&c);
    else
        rc = change_run(reg, &c, u, replace, o && o->reject_override, overrides, err);
    if (rc < 0) {
        dpi_unit_free(u);
        return rc;
    }
    if (replace != NULL) {
        units_remove(reg, replace);
        account(reg, replace, -1);
        backends_inherit(replace, u);
    }
    units_add(reg, u);
    account(reg, u, 1);
    *out = u;
    return 0;
}

int dpi_registry_attach(dp_registry *reg, const char *name, const char *version,
                        const dp_block *const *blocks, size_t n, const dpi_attach_options *o,
                        dp_unit **out, dpi_text *overrides, dp_error *err)
{
    const dp_block **sorted = dp_malloc((n + 1) * sizeof(*sorted));

    if (sorted == NULL)
        return dpi_no_memory(err, name);
    if (strlen(name) > DP_LIMIT_NAME_BYTES || name[0] == '\0') {
        dp_free(sorted);
        return dp_error_set(err, DP_EPLUGIN, "a plugin's name has 1 to %d bytes, this one %zu",
                            DP_LIMIT_NAME_BYTES, strlen(name));
    }
    memcpy(sorted, blocks, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_place);
    pthread_mutex_lock(&reg->lock);
    int rc = attach(reg, name, version, sorted, n, o, out, overrides, err);
    pthread_mutex_unlock(&reg->lock);
    dp_free(sorted);
    dpi_registry_reclaim(reg);
    return rc;
}

int dpi_registry_detach(dp_registry *reg, dp_unit *unit, dp_error *err)
{
    change c;

    pthread_mutex_lock(&reg->lock);
    int rc = check_backends_free(reg, unit, NULL, err);
    if (rc == 0) {
        change_begin(&c, reg);
        rc = change_run(reg, &c, NULL, unit, false, NULL, err);
    }
    if (rc == 0) {
        units_remove(reg, unit);
        account(reg, unit, -1);
    }
    pthread_mutex_unlock(&reg->lock);
    dpi_registry_reclaim(reg);
    return rc;
}

int dpi_registry_reattach(dp_registry *reg, dp_unit *unit, dp_error *err)
{
    change c;

    pthread_mutex_lock(&reg->lock);
    change_begin(&c, reg);
    int rc = change_run(reg, &c, unit, NULL, false, NULL, err);
    if (rc == 0) {
        units_add(reg, unit);
        account(reg, unit, 1);
        atomic_store_explicit(&unit->gen->closed, 0, memory_order_release);
    }
    pthread_mutex_unlock(&reg->lock);
    dpi_registry_reclaim(reg);
    return rc;
}

int dp_registry_attach(dp_registry *reg, const char *name, const char *version,
                       const dp_block *blocks, size_t n, dp_unit **out, dp_error *err)
{
    const dp_block **list = dp_malloc((n + 1) * sizeof(*list));

    if (list == NULL)
        return dpi_no_memory(err, name);
    for (size_t i = 0; i < n; i++)
        list[i] = &blocks[i];
    int rc = dpi_registry_attach(reg, name, version, list, n, NULL, out, NULL, err);
    dp_free(list);
    return rc;
}

int dp_registry_detach(dp_registry *reg, dp_unit *unit, int timeout_ms, dp_error *err)
{
    char who[128] = "";
    int rc = dpi_registry_detach(reg, unit, err);

    if (rc < 0)
        return rc;
    if (!dpi_generation_drain(reg, unit->gen, true, timeout_ms, who, sizeof(who))) {
        rc = dpi_registry_reattach(reg, unit, err);
        return rc < 0 ? rc
                      : dp_error_set(err, DP_EBUSY, "'%s' is in use: %s", unit->gen->plugin, who);
    }
    dpi_registry_reclaim(reg);
    dpi_unit_free(unit);
    return 0;
}

/* -- listeners ------------------------------------------------------------------------------ */

typedef struct dpi_listener_node {
    struct dpi_listener_node *next;
    const dp_listener *l;
} dpi_listener_node;

int dp_registry_listen(dp_registry *reg, const dp_listener *l, dp_error *err)
{
    dpi_listener_node *node = dp_calloc(1, sizeof(*node));

    if (node == NULL)
        return dpi_no_memory(err, "a listener");
    node->l = l;
    pthread_mutex_lock(&reg->lock);
    dpi_listener_node **link = (dpi_listener_node **)&reg->listeners;
    while (*link != NULL)
        link = &(*link)->next;
    *link = node;
    for (uint32_t i = 0; l->defined && i < reg->n_ops; i++)
        if (reg->ops[i]->schema != NULL)
            l->defined(l->arg, reg->ops[i]->name);
    pthread_mutex_unlock(&reg->lock);
    return 0;
}

void dp_registry_unlisten(dp_registry *reg, const dp_listener *l)
{
    pthread_mutex_lock(&reg->lock);
    for (dpi_listener_node **link = (dpi_listener_node **)&reg->listeners; *link;
         link = &(*link)->next)
        if ((*link)->l == l) {
            dpi_listener_node *gone = *link;
            *link = gone->next;
            dp_free(gone);
            break;
        }
    pthread_mutex_unlock(&reg->lock);
}

static void tell_definitions(dp_registry *reg, const dpi_truth *t, const dpi_truth *old)
{
    for (const dpi_listener_node *n = reg->listeners; n != NULL; n = n->next) {
        bool changed = old->schema != t->schema;
        if (changed && old->schema != NULL && n->l->undefined)
            n->l->undefined(n->l->arg, t->name);
        if (changed && t->schema != NULL && n->l->defined)
            n->l->defined(n->l->arg, t->name);
    }
}

static void tell_changed(dp_registry *reg, const dp_unit *u, uint32_t added, uint32_t removed)
{
    for (const dpi_listener_node *n = reg->listeners; n != NULL; n = n->next)
        if (n->l->changed)
            n->l->changed(n->l->arg, u->gen->plugin, u->gen->number, added, removed);
}

/* -- C types of operators, interned for ever --------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    uint32_t n, cap;
    char **text;
} codes = {.lock = PTHREAD_MUTEX_INITIALIZER};

uint32_t dpi_code_intern(const char *code)
{
    uint32_t number = 0;

    if (code[0] == '\0')
        return 0;
    pthread_mutex_lock(&codes.lock);
    for (uint32_t i = 0; i < codes.n && number == 0; i++)
        if (strcmp(codes.text[i], code) == 0)
            number = i + 1;
    char **text = number == 0 ? dpi_grow(codes.text, &codes.cap, codes.n + 1, sizeof(*text)) : NULL;
    if (text != NULL) {
        codes.text = text;
        if ((text[codes.n] = dp_strdup(code)) != NULL)
            number = ++codes.n;
    }
    pthread_mutex_unlock(&codes.lock);
    return number;
}

const char *dpi_code_text(uint32_t code)
{
    pthread_mutex_lock(&codes.lock);
    const char *s = code > 0 && code <= codes.n ? codes.text[code - 1] : "?";
    pthread_mutex_unlock(&codes.lock);
    return s;
}
