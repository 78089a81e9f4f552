/* list.c -- the list of a registry's plugins, sorted by load number, and their description. */
#include "plugins.h"
#include "dispatch/registry/thread.h"
#include <stdio.h>

enum { RUNNING_MAX = 4096 };

const char *dpi_plugin_name(const dpi_plugin *p)
{
    return p->image->manifest.plugin;
}

uint32_t dpi_plugin_registrations(const dpi_plugin *p)
{
    return p->defs + p->impls + p->fallbacks + p->backends;
}

double dpi_millis_since(uint64_t start)
{
    return (double)(dpi_nanos() - start) / 1e6;
}

static bool loaded_before(const dpi_plugin *a, const dpi_plugin *b)
{
    return a->gen->load_number != b->gen->load_number ? a->gen->load_number < b->gen->load_number
                                                      : a->gen->number < b->gen->number;
}

void dpi_plugins_add(dp_registry *reg, dpi_plugin *p)
{
    dpi_plugin **link = &reg->plugins;

    pthread_mutex_lock(&reg->lock);
    while (*link && p->gen && (*link)->gen && loaded_before(*link, p))
        link = &(*link)->next;
    p->next = *link;
    *link = p;
    pthread_mutex_unlock(&reg->lock);
}

void dpi_plugins_remove(dp_registry *reg, dpi_plugin *p)
{
    pthread_mutex_lock(&reg->lock);
    for (dpi_plugin **link = &reg->plugins; *link; link = &(*link)->next)
        if (*link == p) {
            *link = p->next;
            break;
        }
    pthread_mutex_unlock(&reg->lock);
}

void dpi_plugin_set_state(dp_registry *reg, dpi_plugin *p, int state, const char *reason)
{
    pthread_mutex_lock(&reg->lock);
    p->state = state;
    snprintf(p->reason, sizeof(p->reason), "%s", reason);
    pthread_mutex_unlock(&reg->lock);
}

dpi_plugin *dpi_plugins_find(dp_registry *reg, int state, const char *name)
{
    for (dpi_plugin *p = reg->plugins; p; p = p->next)
        if (p->state == state && strcmp(dpi_plugin_name(p), name) == 0)
            return p;
    return NULL;
}

dpi_plugin *dpi_plugins_live(dp_registry *reg, const char *name)
{
    return dpi_plugins_find(reg, LIVE, name);
}

size_t dpi_plugins_count(const dp_registry *reg, int state, const char *name)
{
    size_t n = 0;

    for (const dpi_plugin *p = reg->plugins; p; p = p->next)
        n += p->state == state && (name == NULL || strcmp(dpi_plugin_name(p), name) == 0);
    return n;
}

uint32_t dpi_plugins_draining(const dp_registry *reg)
{
    return (uint32_t)dpi_plugins_count(reg, DRAINING, NULL);
}

int dpi_plugins_not_loaded(dp_registry *reg, const char *name, dp_error *err)
{
    const char *names[DP_LIMIT_PLUGINS];
    char nearest[DP_ERROR_NAME_MAX] = "";
    size_t n = 0;

    for (dpi_plugin *p = reg->plugins; p && n < DP_LIMIT_PLUGINS; p = p->next)
        if (p->state == LIVE)
            names[n++] = dpi_plugin_name(p);
    dpi_nearest(name, names, n, 3, nearest, sizeof(nearest));
    return dp_error_set(err, DP_ENOTFOUND, "no plugin '%.*s' is loaded%s%s", DP_LIMIT_NAME_BYTES,
                        name, nearest[0] ? "; nearest: " : "", nearest);
}

static uint64_t running(const dp_running *calls, size_t n, const dpi_plugin *p)
{
    uint64_t hits = 0;

    for (size_t i = 0; i < n; i++)
        hits += calls[i].generation == p->gen->number &&
                strcmp(calls[i].plugin, dpi_plugin_name(p)) == 0;
    return hits;
}

static uint32_t count_kinds(const dpi_image *im)
{
    uint32_t n = 0;

    for (size_t i = 0; i < im->n_blocks; i++)
        n += im->blocks[i]->kind == DP_BLOCK_KIND;
    return n;
}

static int describe(const dpi_plugin *p, const dp_running *calls, size_t n, dp_arena *a,
                    dp_plugin_info *i)
{
    char why[sizeof(p->reason)] = "";
    const dp_manifest *m = &p->image->manifest;

    i->resident = dpi_image_resident(p->image, why, sizeof(why));
    i->kept = p->state == KEPT;
    i->plugin = dp_arena_printf(a, "%s", m->plugin);
    i->version = dp_arena_printf(a, "%s", m->version);
    i->path = dp_arena_printf(a, "%s", p->image->path);
    i->mapped_file = dp_arena_printf(a, "%s", p->image->copy);
    i->kept_because = dp_arena_printf(a, "%s", p->state <= CANARY ? why : p->reason);
    i->generation = p->gen ? p->gen->number : 0;
    i->load_number = p->gen ? p->gen->load_number : 0;
    i->defs = p->defs;
    i->impls = p->impls;
    i->fallbacks = p->fallbacks;
    i->backends = p->backends;
    i->kinds = count_kinds(p->image);
    i->draining = p->state == DRAINING;
    i->canary = p->state == CANARY;
    i->calls_running = p->gen ? running(calls, n, p) : 0;
    if (!i->plugin || !i->version || !i->path || !i->mapped_file || !i->kept_because)
        return DP_ERESOURCE;
    return dpi_notes_copy(p->image, a, &i->notes, &i->n_notes);
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
    for (dpi_plugin *p = reg->plugins; p; p = p->next)
        all++;
    info = dp_arena_alloc_n(a, all + 1, sizeof(*info));
    for (dpi_plugin *p = reg->plugins; p && info && rc == 0; p = p->next)
        rc = describe(p, calls, n_calls, a, &info[got++]);
    pthread_mutex_unlock(&reg->lock);
    dp_free(calls);
    if (info == NULL || rc)
        return dpi_no_memory(err, "the list of plugins");
    *out = info;
    *n = got;
    return 0;
}
