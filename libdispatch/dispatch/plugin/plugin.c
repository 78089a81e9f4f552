/* plugin.c -- plugins of a registry: load, unload, reload, list.
 *
 *     LIVE --unload--> gone          a file is mapped, its unit attached
 *     LIVE --reload--> DRAINING      replaced; calls that began before it finish on its code
 *     DRAINING --reap--> gone        nobody can run it: on_unload, dlclose, proof
 *     any --dlclose does not unmap--> KEPT    resident, or held by the dynamic linker
 *
 * One operation at a time (plugin_lock, outermost); the list itself and the states in it are also
 * under the registry's lock, so that listing never waits for a drain. */
#include "dispatch/registry/truth.h"
#include "plugin_i.h"
#include "threads.h"
#include <stdio.h>
#include <sys/stat.h>

enum { LIVE, DRAINING, KEPT };
enum { RELOAD_WAIT_MS = 20, RUNNING_MAX = 4096 };

struct dpi_plugin {
    struct dpi_plugin *next; /* by load number; generations of one place oldest first */
    int state;
    dpi_image *image;    /* owned */
    dp_unit *unit;       /* owned; NULL once its backends have ended */
    dpi_generation *gen; /* counted; NULL until attached */
    uint32_t defs, impls, fallbacks, backends;
    bool said_goodbye; /* DRAINING: its on_unload ran, only threads are left */
    char kept[256];    /* KEPT: why it is still mapped; DRAINING: who runs it */
};
typedef struct dpi_plugin plugin;

static const char *name_of(const plugin *p)
{
    return p->image->manifest.plugin;
}

static uint32_t registrations(const plugin *p)
{
    return p->defs + p->impls + p->fallbacks + p->backends;
}

static double millis_since(uint64_t start)
{
    return (double)(dpi_nanos() - start) / 1e6;
}

/* -- the list -- */

static bool plugins_free(dp_registry *reg);

static bool before(const plugin *a, const plugin *b)
{
    return a->gen->load_number != b->gen->load_number ? a->gen->load_number < b->gen->load_number
                                                      : a->gen->number < b->gen->number;
}

static void list_add(dp_registry *reg, plugin *p)
{
    plugin **at = &reg->plugins;

    pthread_mutex_lock(&reg->lock);
    reg->plugins_free = plugins_free;
    while (*at && p->gen && (*at)->gen && before(*at, p))
        at = &(*at)->next;
    p->next = *at;
    *at = p;
    pthread_mutex_unlock(&reg->lock);
}

static void list_remove(dp_registry *reg, plugin *p)
{
    pthread_mutex_lock(&reg->lock);
    for (plugin **at = &reg->plugins; *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            break;
        }
    pthread_mutex_unlock(&reg->lock);
}

static void set_state(dp_registry *reg, plugin *p, int state, const char *kept)
{
    pthread_mutex_lock(&reg->lock);
    p->state = state;
    snprintf(p->kept, sizeof(p->kept), "%s", kept);
    pthread_mutex_unlock(&reg->lock);
}

static plugin *find_live(dp_registry *reg, const char *name)
{
    for (plugin *p = reg->plugins; p; p = p->next)
        if (p->state == LIVE && strcmp(name_of(p), name) == 0)
            return p;
    return NULL;
}

/* Plugins in this state; name NULL: of any name. */
static size_t count(const dp_registry *reg, int state, const char *name)
{
    size_t n = 0;

    for (const plugin *p = reg->plugins; p; p = p->next)
        n += p->state == state && (name == NULL || strcmp(name_of(p), name) == 0);
    return n;
}

uint32_t dpi_plugins_draining(const dp_registry *reg)
{
    return (uint32_t)count(reg, DRAINING, NULL);
}

static int not_loaded(dp_registry *reg, const char *name, dp_error *err)
{
    const char *names[DP_LIMIT_PLUGINS];
    char near[DP_ERROR_NAME_MAX] = "";
    size_t n = 0;

    for (plugin *p = reg->plugins; p && n < DP_LIMIT_PLUGINS; p = p->next)
        if (p->state == LIVE)
            names[n++] = name_of(p);
    dpi_nearest(name, names, n, 3, near, sizeof(near));
    return dp_error_set(err, DP_ENOTFOUND, "no plugin '%.*s' is loaded%s%s", DP_LIMIT_NAME_BYTES,
                        name, near[0] ? "; nearest: " : "", near);
}

/* -- ends -- */

static plugin *plugin_free(plugin *p)
{
    dpi_image_free(p->image);
    dpi_generation_unref(p->gen);
    dp_free(p);
    return NULL;
}

/* Unmap and forget p, which is in no list and has no unit.  True: the mapping is gone.  Else it is
 * listed as KEPT, *why (256 bytes) says why. */
static bool retire(dp_registry *reg, plugin *p, char *why)
{
    if (!dpi_threads_end(reg, p->image, DPI_THREADS_WAIT_MS, why, sizeof(p->kept)))
        snprintf(p->image->stay, sizeof(p->image->stay), "%s", why);
    if (dpi_image_unmap(p->image, why, sizeof(p->kept))) {
        plugin_free(p);
        return true;
    }
    p->state = KEPT;
    snprintf(p->kept, sizeof(p->kept), "%s", why);
    list_add(reg, p);
    return false;
}

/* Run the plugin's on_load or on_unload; 0 when it has none. */
static int run_hook(dp_registry *reg, dpi_image *im, int kind, dp_error *err)
{
    const char *what = kind == DP_BLOCK_ON_LOAD ? "on_load" : "on_unload";
    const dp_block *b = dpi_image_block(im, kind);
    dp_ctx *ctx;
    int rc;

    if (b == NULL)
        return 0;
    rc = dp_ctx_new(reg, &ctx, err);
    if (rc)
        return rc;
    dp_ctx_set_label(ctx, what);
    im->ran = true;
    rc = ((dp_hook_fn)b->fn)(ctx);
    if (rc) {
        const char *said = dp_ctx_error(ctx)->message;
        int code = dp_error_name(rc) ? rc : DP_EPLUGIN;
        rc = dp_error_set(err, code, "plugin '%s': its %s (%s:%u) failed with %d: %s",
                          im->manifest.plugin, what, b->file, b->line, rc,
                          said[0] ? said : "it did not say why");
    }
    dp_ctx_free(ctx);
    return rc;
}

/* What is left of a detached plugin: its backends, whose memory is released, its place, its code.
 */
static bool leave(dp_registry *reg, plugin *p, char *why)
{
    dpi_unit_free(p->unit);
    p->unit = NULL;
    list_remove(reg, p);
    return retire(reg, p, why);
}

/* The same for one that has no say any more, and that nobody runs: a failing hook keeps it mapped,
 * and it stays DRAINING while a thread of it runs. */
static bool finish(dp_registry *reg, plugin *p, int timeout_ms, char *why)
{
    dp_error err = DP_ERROR_INIT;

    dpi_unit_free(p->unit);
    p->unit = NULL;
    if (!p->said_goodbye && run_hook(reg, p->image, DP_BLOCK_ON_UNLOAD, &err))
        snprintf(p->image->stay, sizeof(p->image->stay), "%.*s", (int)sizeof(p->image->stay) - 1,
                 err.message);
    p->said_goodbye = true;
    if (!dpi_threads_end(reg, p->image, timeout_ms, why, sizeof(p->kept))) {
        set_state(reg, p, DRAINING, why);
        return false;
    }
    return leave(reg, p, why);
}

/* Under plugin_lock.  close: old generations may no longer be entered from older snapshots. */
static size_t reap(dp_registry *reg, bool close)
{
    char who[sizeof(((plugin *)0)->kept)];
    size_t left = 0;

    for (plugin *p = reg->plugins, *next; p; p = next) {
        next = p->next;
        if (p->state == KEPT && dpi_image_gone(p->image)) {
            list_remove(reg, p);
            plugin_free(p);
        } else if (p->state == DRAINING) {
            if (dpi_generation_idle(reg, p->gen, close, who, sizeof(who))) {
                left += !finish(reg, p, 0, who) && p->state == DRAINING;
            } else {
                set_state(reg, p, DRAINING, who);
                left++;
            }
        }
    }
    dpi_registry_reclaim(reg);
    return left;
}

size_t dp_plugin_reap(dp_registry *reg)
{
    size_t left, aside = dpi_blocks_reap();

    if (pthread_mutex_trylock(&reg->plugin_lock) == 0) {
        left = reap(reg, false);
        left += dpi_registry_reclaim(reg);
        pthread_mutex_unlock(&reg->plugin_lock);
        return left + aside;
    }
    pthread_mutex_lock(&reg->lock); /* an operation is under way: it reaps */
    left = count(reg, DRAINING, NULL) + (reg->retired != NULL);
    pthread_mutex_unlock(&reg->lock);
    return left + aside;
}

/* -- finding the file -- */

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* DIR/NAME.so or DIR/NAME for the first directory that has one.  0 and NULL: none has. */
static int search(const char *dirs, const char *name, dp_arena *a, const char **out, dp_error *err)
{
    static const char *const suffixes[] = {".so", ""}; /* a build has a folder NAME beside it */
    size_t n;

    for (; dirs && *dirs; dirs += n + (dirs[n] == ':')) {
        n = strcspn(dirs, ":");
        for (size_t i = 0; n && i < DPI_COUNT(suffixes); i++) {
            *out = dp_arena_printf(a, "%.*s/%s%s", (int)n, dirs, name, suffixes[i]);
            if (*out == NULL)
                return dpi_no_memory(err, "a plugin's path");
            if (is_file(*out))
                return 0;
        }
    }
    *out = NULL;
    return 0;
}

static bool bare_name(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");

    return n > 0 && s[n] == '\0' && s[0] != '.';
}

int dp_plugin_find(const char *path, const char *search_path, dp_arena *a, const char **out,
                   dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, path, a, out))
        return DP_EVALUE;
    int rc;

    if (path[0] == '/') {
        *out = dp_arena_printf(a, "%s", path);
        return *out ? 0 : dpi_no_memory(err, "a plugin's path");
    }
    if (!bare_name(path))
        return dp_error_set(
            err, DP_EVALUE,
            "'%s' is neither an absolute path nor a bare name (letters, digits, '_', "
            "'.', '-')",
            path);
    rc = search(search_path, path, a, out, err);
    if (rc == 0 && *out == NULL)
        rc = dp_error_set(err, DP_ENOTFOUND,
                          "no file '%s.so' in the plugin path '%s', and no '%s' either", path,
                          search_path ? search_path : "", path);
    return rc;
}

/* -- reports -- */

/* Room for what is only known after the change is published, when nothing may fail any more. */
static int report_prepare(const dpi_image *im, dp_arena *a, dp_plugin_report *r, dp_error *err)
{
    const dp_manifest *m = &im->manifest;
    const char **backends = dp_arena_alloc(a, (m->n_backends + 1) * sizeof(*backends));

    memset(r, 0, sizeof(*r));
    r->dangling = dp_arena_alloc(a, (m->impls + 1) * sizeof(*r->dangling));
    r->overrides = dp_arena_alloc(a, (m->impls + m->fallbacks + 1) * sizeof(*r->overrides));
    r->backends = backends;
    if (!r->dangling || !r->overrides || !backends)
        return dpi_no_memory(err, "a plugin's report");
    for (uint32_t i = 0; i < m->n_backends; i++)
        if ((backends[r->n_backends++] = dp_arena_printf(a, "%s", m->backends[i])) == NULL)
            return dpi_no_memory(err, "a plugin's report");
    snprintf(r->plugin, sizeof(r->plugin), "%s", m->plugin);
    snprintf(r->version, sizeof(r->version), "%s", m->version);
    return 0;
}

/* Operators that have a kernel of p but no definition. */
static void report_dangling(dp_registry *reg, const plugin *p, dp_plugin_report *r)
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
    uint32_t room = im->manifest.impls + im->manifest.fallbacks;
    char *text = lines->len ? dp_arena_dup(a, lines->s, lines->len + 1) : NULL;

    if (lines->failed || (lines->len && text == NULL)) {
        out[0] = "(out of memory for the overrides)";
        r->n_overrides = room > 0;
        return;
    }
    for (char *line = text ? strtok_r(text, "\n", &text) : NULL; line && r->n_overrides < room;
         line = strtok_r(NULL, "\n", &text))
        out[r->n_overrides++] = line;
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

/* May this file be loaded as well (old NULL), or in old's place? */
static int check_place(dp_registry *reg, const dpi_image *im, const plugin *old, dp_error *err)
{
    const char *name = im->manifest.plugin;
    const plugin *live = find_live(reg, name);

    if (old && strcmp(name, name_of(old)) != 0)
        return dp_error_set(err, DP_EPLUGIN, "'%s' held plugin '%s' and now holds plugin '%s'",
                            im->path, name_of(old), name);
    if (!old && live)
        return dp_error_set(
            err, DP_EEXISTS,
            "plugin '%s' is loaded already, as generation %llu from '%s'; reload it to "
            "load its file again",
            name, (unsigned long long)live->gen->number, live->image->path);
    if (!old && count(reg, LIVE, NULL) >= DP_LIMIT_PLUGINS)
        return dp_error_set(err, DP_ERESOURCE,
                            "plugin '%s': %d plugins are loaded, the most there may be", name,
                            DP_LIMIT_PLUGINS);
    if (count(reg, KEPT, name) >= DP_LIMIT_DRAINING)
        return dp_error_set(
            err, DP_ERESOURCE,
            "plugin '%s': %d old generations of it are still mapped and will stay so; "
            "start the host again",
            name, DP_LIMIT_DRAINING);
    return 0;
}

/* The embedder's trial of the copy. */
static int probe(const dpi_image *im, const dp_load_options *o, dp_error *err)
{
    dp_error said = DP_ERROR_INIT;
    int rc = o->probe ? o->probe(im->copy, &said) : 0;

    return rc ? dp_error_set(err, rc, "cannot load plugin '%s' from '%s': %s", im->manifest.plugin,
                             im->path, said.message)
              : 0;
}

/* Run on_load and publish.  If publishing fails on_unload undoes on_load. */
static int publish(dp_registry *reg, plugin *p, const dp_load_options *o, plugin *old,
                   dpi_text *overrides, dp_error *err)
{
    dpi_attach_options ao = {.reject_override = o->reject_override,
                             .replace = old ? old->unit : NULL};
    dpi_image *im = p->image;
    dp_error ignored = DP_ERROR_INIT;
    int rc = run_hook(reg, im, DP_BLOCK_ON_LOAD, err);

    if (rc)
        return rc;
    rc = dpi_registry_attach(reg, name_of(p), im->manifest.version, im->blocks, im->n_blocks, &ao,
                             &p->unit, overrides, err);
    if (rc) {
        if (run_hook(reg, im, DP_BLOCK_ON_UNLOAD, &ignored))
            snprintf(im->stay, sizeof(im->stay), "its on_unload failed after its load was refused");
        return rc;
    }
    im->ran = true;
    p->gen = dpi_generation_ref(dpi_unit_generation(p->unit));
    p->defs = p->unit->defs;
    p->impls = p->unit->impls;
    p->fallbacks = p->unit->fallbacks;
    p->backends = p->unit->backends;
    return 0;
}

/* Everything up to a published, listed plugin; on failure nothing is left of it.  *out borrowed. */
static int bring_up(dp_registry *reg, const char *path, const dp_load_options *opts, plugin *old,
                    dp_arena *a, dp_plugin_report *r, plugin **out, dp_error *err)
{
    dp_load_options o = options(opts);
    dpi_text overrides = {NULL, 0, 0, false};
    char why[sizeof(((plugin *)0)->kept)];
    plugin *p = dp_calloc(1, sizeof(*p));
    int rc = p ? dpi_image_open(path, true, o.cache_dir, &p->image, err)
               : dpi_no_memory(err, "a plugin");

    if (rc) {
        dp_free(p);
        return rc;
    }
    rc = check_place(reg, p->image, old, err);
    if (rc == 0)
        rc = probe(p->image, &o, err);
    if (rc == 0)
        rc = dpi_image_map(p->image, err);
    if (rc == 0)
        rc = report_prepare(p->image, a, r, err);
    if (rc == 0)
        rc = publish(reg, p, &o, old, &overrides, err);
    if (rc) {
        retire(reg, p, why);
    } else {
        list_add(reg, p);
        r->generation = p->gen->number;
        r->defs = p->defs;
        r->impls = p->impls;
        r->fallbacks = p->fallbacks;
        report_dangling(reg, p, r);
        report_overrides(&overrides, p->image, a, r);
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
    plugin *p;
    const char *file;
    int rc = dp_plugin_find(path, options(o).search_path, a, &file, err);

    if (rc)
        return rc;
    pthread_mutex_lock(&reg->plugin_lock);
    reap(reg, false);
    rc = bring_up(reg, file, o, NULL, a, &r, &p, err);
    pthread_mutex_unlock(&reg->plugin_lock);
    if (rc)
        return rc;
    r.millis = millis_since(start);
    *report = r;
    return 0;
}

/* Old generations are bounded: the last places are given only after the older ones were closed. */
static int make_room(dp_registry *reg, dp_error *err)
{
    if (reap(reg, false) < DP_LIMIT_DRAINING || reap(reg, true) < DP_LIMIT_DRAINING)
        return 0;
    for (plugin *p = reg->plugins; p; p = p->next)
        if (p->state == DRAINING)
            return dp_error_set(
                err, DP_EBUSY,
                "%d old generations are still in use, the most there may be; the oldest "
                "is plugin '%s' generation %llu: %s",
                DP_LIMIT_DRAINING, name_of(p), (unsigned long long)p->gen->number, p->kept);
    return 0;
}

/* The replaced generation: gone if nobody runs it within RELOAD_WAIT_MS, else reaped later. */
static void let_drain(dp_registry *reg, plugin *old, dp_unload_report *r)
{
    uint64_t start = dpi_nanos();
    size_t bytes = old->image->bytes;
    char who[sizeof(old->kept)] = "";

    memset(r, 0, sizeof(*r));
    r->old_generation = old->gen->number;
    r->removed = registrations(old);
    set_state(reg, old, DRAINING, "");
    r->drained = dpi_generation_drain(reg, old->gen, false, RELOAD_WAIT_MS, who, sizeof(who));
    if (r->drained) {
        r->unmapped = finish(reg, old, RELOAD_WAIT_MS, who);
        r->drained = r->unmapped || old->state != DRAINING;
    } else {
        set_state(reg, old, DRAINING, who);
    }
    r->drained_ms = millis_since(start);
    r->bytes_returned = r->unmapped ? bytes : 0;
    snprintf(r->kept_because, sizeof(r->kept_because), "%s", who);
}

static int reload(dp_registry *reg, const char *name, const dp_load_options *o, dp_arena *a,
                  dp_plugin_report *report, dp_unload_report *old_report, dp_error *err)
{
    uint64_t start = dpi_nanos();
    dp_plugin_report r;
    dp_unload_report u;
    plugin *p, *old;
    int rc = make_room(reg, err);

    if (rc)
        return rc;
    old = find_live(reg, name);
    if (old == NULL)
        return not_loaded(reg, name, err);
    rc = bring_up(reg, old->image->path, o, old, a, &r, &p, err);
    if (rc)
        return rc;
    r.millis = millis_since(start);
    let_drain(reg, old, &u);
    *report = r;
    *old_report = u;
    return 0;
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

/* -- unload -- */

/* Storages of a backend of p keep p loaded: its device functions must free them.  The unit knows
 * its backends' bits, attached or not. */
static int check_storages(const plugin *p, dp_error *err)
{
    for (uint32_t i = 0; i < p->unit->n_regs; i++) {
        const dpi_reg *r = &p->unit->regs[i];
        if (r->kind == DPI_REG_BACKEND)
            dpi_blocks_settle(r->bit); /* what no tensor holds, only a copy that still runs */
        uint64_t n = r->kind == DPI_REG_BACKEND ? dpi_backend_storages(r->bit) : 0;
        if (n)
            return dp_error_set(
                err, DP_EBUSY,
                "plugin '%s': %llu storages of its backend '%s' are alive; release them, "
                "or unload with force",
                name_of(p), (unsigned long long)n, r->name);
    }
    return 0;
}

/* Its streams, events and pins go before on_unload, which may end what they need. */
static void quiet(const plugin *p)
{
    for (uint32_t i = 0; i < p->unit->n_regs; i++)
        if (p->unit->regs[i].kind == DPI_REG_BACKEND)
            dpi_device_quiet(p->unit->regs[i].device);
}

/* A step of an unload failed as *err says: attach it again.  If that fails too it can only go. */
static int put_back(dp_registry *reg, plugin *p, dp_error *err)
{
    dp_error again = DP_ERROR_INIT, first = *err;

    if (dpi_registry_reattach(reg, p->unit, &again) == 0)
        return err->code;
    set_state(reg, p, DRAINING, "");
    return dp_error_set(
        err, again.code,
        "%s; and it could not be attached again (%s): it is detached now and goes when it "
        "is idle",
        first.message, again.message);
}

static int end_threads(dp_registry *reg, const plugin *p, int timeout_ms, dp_error *err)
{
    int ms = timeout_ms < 0 || timeout_ms > DPI_THREADS_WAIT_MS ? DPI_THREADS_WAIT_MS : timeout_ms;
    char who[sizeof(p->kept)];

    if (dpi_threads_end(reg, p->image, ms, who, sizeof(who)))
        return 0;
    return dp_error_set(err, DP_EBUSY, "kept because: %s; its on_unload has to end and join it",
                        who);
}

static int unload(dp_registry *reg, plugin *p, int timeout_ms, bool force, dp_unload_report *r,
                  dp_error *err)
{
    uint64_t start = dpi_nanos();
    char who[sizeof(p->kept)] = "";
    size_t bytes = p->image->bytes;
    int rc = force ? 0 : check_storages(p, err);

    if (rc == 0)
        rc = dpi_registry_detach(reg, p->unit, err);
    if (rc)
        return rc;
    if (!dpi_generation_drain(reg, p->gen, true, timeout_ms, who, sizeof(who)))
        rc = dp_error_set(err, DP_EBUSY,
                          "plugin '%s' generation %llu is still in use after %d ms: %s", name_of(p),
                          (unsigned long long)p->gen->number, timeout_ms, who);
    if (rc == 0 && !force) /* calls that were under way may have made some */
        rc = check_storages(p, err);
    if (rc == 0) {
        r->drained_ms = millis_since(start);
        if (!force)
            quiet(p);
        rc = force ? 0 : run_hook(reg, p->image, DP_BLOCK_ON_UNLOAD, err);
    }
    if (rc == 0 && !force)
        rc = end_threads(reg, p, timeout_ms, err);
    if (rc)
        return put_back(reg, p, err);
    r->old_generation = p->gen->number;
    r->drained = true;
    r->removed = registrations(p);
    r->unmapped = force ? finish(reg, p, DPI_THREADS_WAIT_MS, who) : leave(reg, p, who);
    r->bytes_returned = r->unmapped ? bytes : 0;
    snprintf(r->kept_because, sizeof(r->kept_because), "%s", who);
    return 0;
}

int dp_plugin_unload(dp_registry *reg, const char *name, int timeout_ms, bool force,
                     dp_unload_report *report, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, reg, name, report))
        return DP_EVALUE;
    dp_unload_report r;
    dp_error local = DP_ERROR_INIT;
    plugin *p;
    int rc;

    memset(&r, 0, sizeof(r));
    pthread_mutex_lock(&reg->plugin_lock);
    reap(reg, false);
    p = find_live(reg, name);
    rc = p ? unload(reg, p, timeout_ms, force, &r, err ? err : &local) : not_loaded(reg, name, err);
    pthread_mutex_unlock(&reg->plugin_lock);
    if (rc == 0)
        *report = r;
    return rc;
}

/* Newest first, as a stack of loads is taken down.  No context exists but those of plugins'
 * threads, so nothing else runs. */
static bool plugins_free(dp_registry *reg)
{
    char why[sizeof(((plugin *)0)->kept)];
    plugin *p;

    for (;;) {
        plugin *last = NULL;
        for (p = reg->plugins; p; p = p->next)
            if (p->state != KEPT)
                last = p;
        if (last == NULL)
            break;
        if (last->state == LIVE)
            dpi_registry_detach(reg, last->unit, NULL);
        if (!finish(reg, last, DPI_THREADS_WAIT_MS, why) && last->state == DRAINING)
            return false;
    }
    while ((p = reg->plugins) != NULL) {
        reg->plugins = p->next;
        plugin_free(p);
    }
    return true;
}

/* -- list -- */

static uint64_t running(const dp_running *calls, size_t n, const plugin *p)
{
    uint64_t hits = 0;

    for (size_t i = 0; i < n; i++)
        hits += calls[i].generation == p->gen->number && strcmp(calls[i].plugin, name_of(p)) == 0;
    return hits;
}

static int describe(const plugin *p, const dp_running *calls, size_t n, dp_arena *a,
                    dp_plugin_info *i)
{
    char why[sizeof(p->kept)] = "";
    const dp_manifest *m = &p->image->manifest;

    i->resident = dpi_image_resident(p->image, why, sizeof(why));
    i->kept = p->state == KEPT;
    i->plugin = dp_arena_printf(a, "%s", m->plugin);
    i->version = dp_arena_printf(a, "%s", m->version);
    i->path = dp_arena_printf(a, "%s", p->image->path);
    i->mapped_file = dp_arena_printf(a, "%s", p->image->copy);
    i->kept_because = dp_arena_printf(a, "%s", p->state == LIVE ? why : p->kept);
    i->generation = p->gen ? p->gen->number : 0;
    i->load_number = p->gen ? p->gen->load_number : 0;
    i->defs = p->defs;
    i->impls = p->impls;
    i->fallbacks = p->fallbacks;
    i->backends = p->backends;
    i->draining = p->state == DRAINING;
    i->calls_running = p->gen ? running(calls, n, p) : 0;
    return i->plugin && i->version && i->path && i->mapped_file && i->kept_because ? 0
                                                                                   : DP_ERESOURCE;
}

int dp_plugin_list(dp_registry *reg, dp_arena *a, const dp_plugin_info **out, size_t *n,
                   dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, reg, a, out, n))
        return DP_EVALUE;
    dp_running *calls = dp_malloc(RUNNING_MAX * sizeof(*calls));
    size_t n_calls, all = 0, got = 0;
    dp_plugin_info *info;
    int rc = 0;

    if (calls == NULL)
        return dpi_no_memory(err, "the list of plugins");
    n_calls = dp_registry_running(reg, calls, RUNNING_MAX);
    n_calls = n_calls < RUNNING_MAX ? n_calls : RUNNING_MAX;
    pthread_mutex_lock(&reg->lock);
    for (plugin *p = reg->plugins; p; p = p->next)
        all++;
    info = dp_arena_alloc(a, (all + 1) * sizeof(*info));
    for (plugin *p = reg->plugins; p && info && rc == 0; p = p->next)
        rc = describe(p, calls, n_calls, a, &info[got++]);
    pthread_mutex_unlock(&reg->lock);
    dp_free(calls);
    if (info == NULL || rc)
        return dpi_no_memory(err, "the list of plugins");
    *out = info;
    *n = got;
    return 0;
}
