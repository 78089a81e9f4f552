/* plugin.c -- loads and reloads the plugins of a registry.
 *
 * States of a plugin and their transitions.  LIVE: its file is mapped and its registrations are in
 * use.  CANARY: a reloaded plugin that serves some calls only (registry/canary.c), beside the LIVE
 * one of that name.
 *
 *     CANARY --promote--> LIVE       the plugin in whose place it stood becomes DRAINING
 *     CANARY --roll back--> DRAINING
 *     LIVE --unload--> freed
 *     LIVE --reload--> DRAINING      it was replaced; calls that began earlier finish on its code
 *     LIVE --unload by force--> DRAINING     if a call or thread still runs its code
 *     LIVE --unload--> DRAINING      if a step failed and it could not be attached again
 *     DRAINING --reap--> freed       no call or thread runs its code any more (dpi_plugins_reap())
 *     any --not unmapped--> KEPT     dlclose() is unsafe and is not called, or the dynamic linker
 *                                    keeps the file mapped
 *     KEPT --reap--> freed           the mapping has gone after all
 *
 * dlclose() is unsafe if the plugin is resident (it says so by DP_RESIDENT(), or the file's imports
 * make it so), if its on_unload failed, or if a thread of it did not end.
 *
 * plugin_lock, taken before any other lock, allows one load, unload or reload at a time.  The list
 * and the states are also protected by the registry's lock, so that listing plugins does not wait
 * while an unload waits for calls. */
#include "plugins.h"
#include "dispatch/registry/thread.h"
#include "threads.h"
#include <stdio.h>
#include <stdlib.h>

/* Allocate the report's arrays before the change is published, because nothing may fail later.
 * `old`: the plugin that is replaced, or NULL. */
static int report_prepare(const dpi_image *im, const dpi_plugin *old, dp_arena *a,
                          dp_plugin_report *r, dp_error *err)
{
    const dp_manifest *m = &im->manifest;
    const char **backends = dp_arena_alloc_n(a, m->n_backends + 1, sizeof(*backends));

    memset(r, 0, sizeof(*r));
    r->dangling = dp_arena_alloc_n(a, m->impls + 1, sizeof(*r->dangling));
    r->overrides = dp_arena_alloc_n(a, (m->impls + m->fallbacks + 1), sizeof(*r->overrides));
    r->dropped = dp_arena_alloc_n(a, old ? old->unit->n_regs + 1 : 1, sizeof(*r->dropped));
    r->backends = backends;
    if (!r->dangling || !r->overrides || !r->dropped || !backends)
        return dpi_no_memory(err, "a plugin's report");
    for (uint32_t i = 0; i < m->n_backends; i++)
        if ((backends[r->n_backends++] = dp_arena_printf(a, "%s", m->backends[i])) == NULL)
            return dpi_no_memory(err, "a plugin's report");
    snprintf(r->plugin, sizeof(r->plugin), "%s", m->plugin);
    snprintf(r->version, sizeof(r->version), "%s", m->version);
    return 0;
}

/* List the operators that have a kernel of `p` but no definition. */
static void report_dangling(dp_registry *reg, const dpi_plugin *p, dp_plugin_report *r)
{
    const dpi_snapshot *s = dpi_snapshot_get(reg);
    const char **names = (const char **)r->dangling;

    for (uint32_t i = 0; s && i < s->n_entries; i++) {
        const dpi_entry *e = s->entries[i];
        bool ours = false;
        for (uint32_t k = 0; e && !e->schema && k < e->n_kernels; k++)
            ours |= e->kernels[k]->gen == p->gen;
        if (ours && r->n_dangling < p->impls)
            names[r->n_dangling++] = e->op->name;
    }
    dpi_snapshot_put(s);
}

static void report_overrides(dpi_text *lines, const dpi_image *im, dp_arena *a, dp_plugin_report *r)
{
    const char **out = (const char **)r->overrides;
    uint32_t capacity = im->manifest.impls + im->manifest.fallbacks;
    char *text = lines->len ? dp_arena_dup(a, lines->s, lines->len + 1) : NULL;

    if (lines->failed || (lines->len && text == NULL)) {
        out[0] = "(out of memory for the overrides)";
        r->n_overrides = capacity > 0;
        return;
    }
    for (char *line = text ? strtok_r(text, "\n", &text) : NULL; line && r->n_overrides < capacity;
         line = strtok_r(NULL, "\n", &text))
        out[r->n_overrides++] = line;
}

/* Order registrations by kind, operator and key. */
static int by_target(const void *a, const void *b)
{
    const dpi_reg *x = *(dpi_reg *const *)a, *y = *(dpi_reg *const *)b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    return (x->key > y->key) - (x->key < y->key);
}

/* Is there a registration of this kind for this operator and key among the `n` in `sorted`? */
static bool has_target(dpi_reg *const *sorted, size_t n, int kind, uint32_t op, dp_key key)
{
    const dpi_reg wanted = {.kind = (uint8_t)kind, .op = op, .key = key}, *p = &wanted;

    return bsearch(&p, sorted, n, sizeof(*sorted), by_target) != NULL;
}

/* Sort pointers to the registrations of `u`.  Owned by the caller; NULL: no memory. */
static dpi_reg **sort_targets(const dp_unit *u)
{
    dpi_reg **sorted = dp_malloc_n(u->n_regs + 1, sizeof(dpi_reg *));

    for (uint32_t i = 0; sorted != NULL && i < u->n_regs; i++)
        sorted[i] = &u->regs[i];
    if (sorted != NULL)
        qsort(sorted, u->n_regs, sizeof(*sorted), by_target);
    return sorted;
}

static const char *dropped_name(const dp_registry *reg, const dpi_reg *r, dp_arena *a)
{
    char key[DP_KEY_NAME_MAX];

    if (r->kind == DPI_REG_DEF)
        return reg->ops[r->op]->name;
    return dp_arena_printf(a, "%s %s", r->kind == DPI_REG_IMPL ? reg->ops[r->op]->name : "fallback",
                           dp_key_name(r->key, key));
}

/* List what `old` registered and `p`, which replaced it, does not.  Kernels of an operator whose
 * definition is listed are not listed. */
static void report_dropped(dp_registry *reg, const dpi_plugin *old, const dpi_plugin *p,
                           dp_arena *a, dp_plugin_report *r)
{
    const dp_unit *was = old->unit, *now = p->unit;
    const char **out = (const char **)r->dropped;
    dpi_reg **had = sort_targets(was), **has = sort_targets(now);
    bool failed = had == NULL || has == NULL;

    pthread_mutex_lock(&reg->lock); /* for reg->ops */
    for (uint32_t i = 0; i < was->n_regs && !failed; i++) {
        const dpi_reg *x = &was->regs[i];
        if (x->kind != DPI_REG_DEF && x->kind != DPI_REG_IMPL && x->kind != DPI_REG_FALLBACK)
            continue;
        if (has_target(has, now->n_regs, x->kind, x->op, x->key) ||
            (x->kind == DPI_REG_IMPL && has_target(had, was->n_regs, DPI_REG_DEF, x->op, 0) &&
             !has_target(has, now->n_regs, DPI_REG_DEF, x->op, 0)))
            continue;
        out[r->n_dropped] = dropped_name(reg, x, a);
        failed = out[r->n_dropped++] == NULL;
    }
    pthread_mutex_unlock(&reg->lock);
    if (failed) {
        out[0] = "(out of memory for what was dropped)";
        r->n_dropped = 1;
    }
    dp_free(had);
    dp_free(has);
}

/* Fill in the report on `p`, which has been attached; `old`: the plugin that it replaces, or
 * NULL. */
static void report_fill(dp_registry *reg, const dpi_plugin *p, const dpi_plugin *old,
                        dpi_text *overrides, dp_arena *a, dp_plugin_report *r)
{
    r->generation = p->gen->number;
    r->defs = p->defs;
    r->impls = p->impls;
    r->fallbacks = p->fallbacks;
    report_dangling(reg, p, r);
    report_overrides(overrides, p->image, a, r);
    if (old != NULL)
        report_dropped(reg, old, p, a, r);
}

/* -- load and reload -- */

static dp_load_options options(const dp_load_options *o)
{
    dp_load_options all;

    memset(&all, 0, sizeof(all));
    if (o)
        memcpy(&all, o, o->size < sizeof(all) ? o->size : sizeof(all));
    return all;
}

/* Check that `im` may be loaded: to replace `old`, or as one more plugin if `old` is NULL. */
static int check_may_load(dp_registry *reg, const dpi_image *im, const dpi_plugin *old,
                          dp_error *err)
{
    const char *name = im->manifest.plugin;
    const dpi_plugin *live = dpi_plugins_live(reg, name);

    if (old && strcmp(name, dpi_plugin_name(old)) != 0)
        return dp_error_set(err, DP_EPLUGIN, "'%s' held plugin '%s' and now holds plugin '%s'",
                            im->path, dpi_plugin_name(old), name);
    if (!old && live)
        return dp_error_set(
            err, DP_EEXISTS,
            "plugin '%s' is loaded already, as generation %llu from '%s'; reload it to "
            "load its file again",
            name, (unsigned long long)live->gen->number, live->image->path);
    if (!old && dpi_plugins_count(reg, LIVE, NULL) >= DP_LIMIT_PLUGINS)
        return dp_error_set(err, DP_ERESOURCE,
                            "plugin '%s': %d plugins are loaded, the most there may be", name,
                            DP_LIMIT_PLUGINS);
    if (dpi_plugins_count(reg, KEPT, name) >= DP_LIMIT_DRAINING)
        return dp_error_set(
            err, DP_ERESOURCE,
            "plugin '%s': %d old generations of it are still mapped and will stay so; "
            "start the host again",
            name, DP_LIMIT_DRAINING);
    return 0;
}

/* Let the program that embeds this library try the private copy first, as the daemon does in a
 * child process (dp_load_options.probe). */
static int probe(const dpi_image *im, const dp_load_options *o, dp_error *err)
{
    dp_error trial = DP_ERROR_INIT;
    int rc = o->probe ? o->probe(im->copy, &trial) : 0;

    return rc ? dp_error_set(err, rc, "cannot load plugin '%s' from '%s': %s", im->manifest.plugin,
                             im->path, trial.message)
              : 0;
}

/* Run on_load, then publish the registrations; if that fails, run on_unload to undo on_load. */
static int publish(dp_registry *reg, dpi_plugin *p, const dp_load_options *o, dpi_plugin *old,
                   dpi_text *overrides, dp_error *err)
{
    dpi_attach_options ao = {.reject_override = o->reject_override,
                             .replace = old ? old->unit : NULL,
                             .canary = o->canary};
    dpi_image *im = p->image;
    dp_error ignored = DP_ERROR_INIT;
    int rc = dpi_plugin_hook(reg, im, DP_BLOCK_ON_LOAD, err);

    if (rc)
        return rc;
    rc = dpi_registry_attach(reg, dpi_plugin_name(p), im->manifest.version, im->blocks,
                             im->n_blocks, &ao, &p->unit, overrides, err);
    if (rc) {
        if (dpi_plugin_hook(reg, im, DP_BLOCK_ON_UNLOAD, &ignored))
            snprintf(im->never_close, sizeof(im->never_close),
                     "its on_unload failed after its load was refused");
        return rc;
    }
    im->code_ran = true;
    p->gen = dpi_generation_ref(dpi_unit_generation(p->unit));
    p->defs = p->unit->defs;
    p->impls = p->unit->impls;
    p->fallbacks = p->unit->fallbacks;
    p->backends = p->unit->backends;
    return 0;
}

/* Load the plugin file at `path`, publish its registrations and add the plugin to the list, which
 * owns *out.  `old`: the plugin that it replaces, or NULL.  On failure no registration has changed;
 * if the file was mapped and cannot be unmapped again, a plugin is added to the list as KEPT. */
static int bring_up(dp_registry *reg, const char *path, const dp_load_options *opts,
                    dpi_plugin *old, dp_arena *a, dp_plugin_report *r, dpi_plugin **out,
                    dp_error *err)
{
    dp_load_options o = options(opts);
    dpi_text overrides = {NULL, 0, 0, false};
    char why[sizeof(((dpi_plugin *)0)->reason)];
    dpi_plugin *p = dp_calloc(1, sizeof(*p));
    int rc = p ? dpi_image_open(path, true, o.cache_dir, &p->image, err)
               : dpi_no_memory(err, "a plugin");

    if (rc) {
        dp_free(p);
        return rc;
    }
    pthread_mutex_lock(&reg->lock);
    reg->plugins_free = dpi_plugins_free;
    pthread_mutex_unlock(&reg->lock);
    rc = check_may_load(reg, p->image, old, err);
    if (rc == 0)
        rc = probe(p->image, &o, err);
    if (rc == 0)
        rc = dpi_image_map(p->image, err);
    if (rc == 0)
        rc = report_prepare(p->image, old, a, r, err);
    dpi_notes_open(reg, p->image);
    if (rc == 0)
        rc = publish(reg, p, &o, old, &overrides, err);
    if (rc) {
        dpi_plugin_retire(reg, p, why);
    } else {
        p->state = o.canary ? CANARY : LIVE;
        dpi_plugins_add(reg, p);
        report_fill(reg, p, old, &overrides, a, r);
        *out = p;
    }
    dpi_text_fini(&overrides);
    return rc;
}

int dp_plugin_load(dp_registry *reg, const char *path, const dp_load_options *o, dp_arena *a,
                   dp_plugin_report *report, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, reg, path, a, report))
        return DP_EVALUE;
    uint64_t start = dpi_nanos();
    dp_plugin_report r;
    dpi_plugin *p;
    const char *file;
    int rc = dp_plugin_find(path, options(o).search_path, a, &file, err);

    if (rc)
        return rc;
    pthread_mutex_lock(&reg->plugin_lock);
    dpi_plugins_reap(reg, false);
    rc = bring_up(reg, file, o, NULL, a, &r, &p, err);
    pthread_mutex_unlock(&reg->plugin_lock);
    if (rc)
        return rc;
    r.millis = dpi_millis_since(start);
    *report = r;
    return 0;
}

/* Check that fewer than DP_LIMIT_DRAINING plugins are DRAINING.  If there are too many, close their
 * generations: calls that want to enter their kernels then fail.  DP_EBUSY: there are still too
 * many. */
static int limit_draining(dp_registry *reg, dp_error *err)
{
    if (dpi_plugins_reap(reg, false) < DP_LIMIT_DRAINING ||
        dpi_plugins_reap(reg, true) < DP_LIMIT_DRAINING)
        return 0;
    for (dpi_plugin *p = reg->plugins; p; p = p->next)
        if (p->state == DRAINING)
            return dp_error_set(
                err, DP_EBUSY,
                "%d old generations are still in use, the most there may be; the oldest "
                "is plugin '%s' generation %llu: %s",
                DP_LIMIT_DRAINING, dpi_plugin_name(p), (unsigned long long)p->gen->number,
                p->reason);
    return 0;
}

static int reload(dp_registry *reg, const char *name, const dp_load_options *o, dp_arena *a,
                  dp_plugin_report *report, dp_unload_report *old_report, dp_error *err)
{
    uint64_t start = dpi_nanos();
    dp_plugin_report r;
    dp_unload_report u;
    dpi_plugin *p, *old;
    int rc = limit_draining(reg, err);

    if (rc)
        return rc;
    old = dpi_plugins_live(reg, name);
    if (old == NULL)
        return dpi_plugins_not_loaded(reg, name, err);
    if ((p = dpi_plugins_find(reg, CANARY, name)) != NULL)
        return dp_error_set(err, DP_EEXISTS,
                            "plugin '%s' has a canary, generation %llu; promote it or roll it back "
                            "first",
                            name, (unsigned long long)p->gen->number);
    if (old->image->path[0] != '/')
        return dp_error_set(
            err, DP_EVALUE,
            "plugin '%s' was loaded from %s, which cannot be read again: unload the "
            "plugin, and load it",
            name, old->image->path);
    rc = bring_up(reg, old->image->path, o, old, a, &r, &p, err);
    if (rc)
        return rc;
    r.millis = dpi_millis_since(start);
    int ms = options(o).drain_ms;
    if (p->state == CANARY)
        u = (dp_unload_report){.old_generation = old->gen->number};
    else
        dpi_plugin_drain(reg, old, ms > 0 ? ms : DPI_RELOAD_WAIT_MS, &u);
    *report = r;
    *old_report = u;
    return 0;
}

/* Attach the canary `p` in place of `old`. */
static int promote(dp_registry *reg, dpi_plugin *p, dpi_plugin *old, int ms, dp_arena *a,
                   dp_plugin_report *r, dp_unload_report *u, dp_error *err)
{
    dpi_text overrides = {NULL, 0, 0, false};
    uint64_t start = dpi_nanos();
    int rc = report_prepare(p->image, old, a, r, err);

    if (rc == 0)
        rc = dpi_canary_promote(reg, &overrides, err);
    if (rc == 0) {
        dpi_plugin_set_state(reg, p, LIVE, "");
        report_fill(reg, p, old, &overrides, a, r);
        r->millis = dpi_millis_since(start);
        dpi_plugin_drain(reg, old, ms, u);
    }
    dpi_text_fini(&overrides);
    return rc;
}

int dp_plugin_canary_end(dp_registry *reg, const char *name, bool keep, int drain_ms, dp_arena *a,
                         dp_plugin_report *report, dp_unload_report *gone, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, reg, name, gone) ||
        (keep && !DPI_GIVEN(err, DP_EVALUE, a, report)))
        return DP_EVALUE;
    int ms = drain_ms > 0 ? drain_ms : DPI_RELOAD_WAIT_MS, rc = 0;
    dp_plugin_report r;

    pthread_mutex_lock(&reg->plugin_lock);
    dpi_plugin *p = dpi_plugins_find(reg, CANARY, name), *old = dpi_plugins_live(reg, name);
    if (p == NULL)
        rc = old == NULL ? dpi_plugins_not_loaded(reg, name, err)
                         : dp_error_set(err, DP_ENOTFOUND, "plugin '%s' has no canary", name);
    else if (keep)
        rc = promote(reg, p, old, ms, a, &r, gone, err);
    else
        dpi_plugin_roll_back(reg, p, ms, gone);
    if (rc == 0 && keep)
        *report = r;
    pthread_mutex_unlock(&reg->plugin_lock);
    return rc;
}

int dp_plugin_reload(dp_registry *reg, const char *name, const dp_load_options *o, dp_arena *a,
                     dp_plugin_report *report, dp_unload_report *old, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, reg, name, a, report, old))
        return DP_EVALUE;
    int rc;

    pthread_mutex_lock(&reg->plugin_lock);
    rc = reload(reg, name, o, a, report, old, err);
    pthread_mutex_unlock(&reg->plugin_lock);
    return rc;
}
