/* registry.c -- creates and frees a registry; attaches units (a plugin's registrations) to it and
 * detaches them. */
#include "base/kind.h"
#include "base/process.h"
#include "change.h"
#include "thread.h"
#include <stdio.h>
#include <stdlib.h>

static void units_remove(dp_registry *reg, const dp_unit *u);

/* -- new and free -- */

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
    dpi_snapshot_publish(reg, &reg->current, s);
    return 0;
}

int dp_registry_new(dp_registry **out, dp_error *err)
{
    static atomic_uint n_made;

    if (!DPI_GIVEN(err, DP_EVALUE, out))
        return DP_EVALUE;
    dp_registry *reg = dp_calloc(1, sizeof(*reg));
    if (reg == NULL)
        return dpi_no_memory(err, "a registry");
    reg->number = atomic_fetch_add(&n_made, 1);
    dpi_membarrier_start();
    pthread_mutex_init(&reg->lock, NULL);
    pthread_mutex_init(&reg->plugin_lock, NULL);
    pthread_mutex_init(&reg->ctx_lock, NULL);
    reg->next_snapshot = reg->next_generation = reg->next_load = reg->next_kernel = 1;
    int rc = dp_generators_new(&reg->generators, err);
    if (rc == 0)
        rc = publish_first(reg, err);
    if (rc < 0) {
        dp_registry_free(reg);
        return rc;
    }
    *out = reg;
    return 0;
}

dp_registry *dp_registry_free(dp_registry *reg)
{
    if (reg == NULL)
        return NULL;
    if ((reg->plugins_free != NULL && !reg->plugins_free(reg)) ||
        (reg->threads_end != NULL && !reg->threads_end(reg)))
        return reg;
    while (reg->units != NULL) {
        dp_unit *u = reg->units;
        while (u->next != NULL) /* detach the newest first: it may use a backend of an older one */
            u = u->next;
        if (dpi_registry_detach(reg, u, NULL) < 0)
            units_remove(reg, u); /* no memory for the snapshot, which nobody needs any more */
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
        dpi_op_free(reg->ops[i]);
    dp_free(reg->ops);
    dp_free(reg->observers);
    dp_free(reg->counts_gone);
    dp_generators_free(reg->generators);
    pthread_mutex_destroy(&reg->lock);
    pthread_mutex_destroy(&reg->plugin_lock);
    pthread_mutex_destroy(&reg->ctx_lock);
    dp_free(reg);
    return NULL;
}

/* -- the registry's counters and list of units -- */

static void count_kernels(dp_registry *reg, const dp_unit *u, int sign)
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

/* Warn that `n` storages of backend `r` lost their memory in a reload, which itself succeeded. */
static void warn_lost(const dp_unit *u, const dpi_reg *r, uint64_t n)
{
    char text[DP_LIMIT_WARNING_BYTES + 1];

    snprintf(
        text, sizeof(text),
        "plugin '%s': %llu storage%s of its device '%s' went with the code before it, since %s",
        u->gen->plugin, (unsigned long long)n, n == 1 ? "" : "s", r->name,
        r->device->ops.adopt ? "its 'adopt' refused them" : "it has no 'adopt'");
    dpi_warn_listener(text);
}

/* For each backend that both `old` and the new unit `u` name, let `u` serve the backend's
 * devices. */
static void backends_inherit(const dp_unit *old, const dp_unit *u)
{
    for (uint32_t i = 0; i < old->n_regs; i++)
        for (uint32_t j = 0; old->regs[i].kind == DPI_REG_BACKEND && j < u->n_regs; j++)
            if (u->regs[j].kind == DPI_REG_BACKEND && u->regs[j].bit == old->regs[i].bit) {
                const dpi_reg *r = &u->regs[j];
                uint64_t lost = dpi_device_replace(old->regs[i].device, u->gen->plugin, r->device);
                if (lost)
                    warn_lost(u, r, lost);
            }
}

/* Is `k` a key of the backend or kind of wrapper tensors that registration `named` defines? */
static bool is_key_of(const dpi_reg *named, dp_key k)
{
    return named->kind == DPI_REG_KIND ? k == dpi_kind_key(named->bit)
                                       : dp_key_backend(k) == named->bit;
}

/* Find a registration of `u` for a key of the backend or kind that `named` defines. */
static const dpi_reg *key_user(const dp_unit *u, const dpi_reg *named)
{
    for (uint32_t i = 0; i < u->n_regs; i++) {
        const dpi_reg *r = &u->regs[i];
        bool has_key = r->kind == DPI_REG_IMPL || r->kind == DPI_REG_FALLBACK ||
                       (r->kind == DPI_REG_OBSERVER && r->key != DP_KEY_Undefined);
        if (has_key && is_key_of(named, r->key))
            return r;
    }
    return NULL;
}

/* Find a registration for a key of the backend or kind that `named` defines, in any unit but
 * `except`, or in a canary of any unit but `except`.  While there is one, the backend or kind must
 * not be removed. */
static const dpi_reg *name_user(const dp_registry *reg, const dp_unit *except, const dpi_reg *named)
{
    const dpi_reg *user = NULL;

    for (const dp_unit *u = reg->units; u != NULL && user == NULL; u = u->next)
        user = u != except ? key_user(u, named) : NULL;
    if (user == NULL && reg->canary != NULL && reg->canary_of != except)
        user = key_user(reg->canary, named);
    return user;
}

/* Check that unit `u` may be removed.  DP_EBUSY: another unit has registrations for a backend or
 * kind of `u`, and `next`, the unit that replaces `u` (may be NULL), does not name that backend or
 * kind. */
static int check_backends_free(const dp_registry *reg, const dp_unit *u, const dp_unit *next,
                               dp_error *err)
{
    for (uint32_t i = 0; i < u->n_regs; i++) {
        const dpi_reg *r = &u->regs[i], *user;
        bool named_again = false;
        if (r->kind != DPI_REG_BACKEND && r->kind != DPI_REG_KIND)
            continue;
        for (uint32_t j = 0; next && j < next->n_regs; j++)
            named_again |= next->regs[j].kind == r->kind && next->regs[j].bit == r->bit;
        if (!named_again && (user = name_user(reg, u, r)) != NULL)
            return dp_error_set(err, DP_EBUSY,
                                "%s '%s' of plugin '%s': plugin '%s' has %s it (%s:%u)",
                                r->kind == DPI_REG_KIND ? "kind" : "backend", r->name,
                                u->gen->plugin, user->gen->plugin,
                                user->kind == DPI_REG_OBSERVER ? "an observer of" : "kernels for",
                                user->file, user->line);
    }
    return 0;
}

/* -- what errors tell: they must not wait, as a call that fails may have stopped a change -- */

bool dpi_registry_gone(dp_registry *reg, const char *op, char plugin[DP_LIMIT_NAME_BYTES + 1])
{
    const dpi_generation *gone = NULL;

    if (pthread_mutex_trylock(&reg->lock) != 0)
        return false;
    int64_t id = dpi_names_find(reg->names, op, strlen(op));
    if (id >= 0 && reg->ops[id]->n_stacks == 0 && (gone = reg->ops[id]->gone) != NULL)
        strcpy(plugin, gone->plugin);
    pthread_mutex_unlock(&reg->lock);
    return gone != NULL;
}

bool dpi_registry_records(dp_registry *reg)
{
    if (pthread_mutex_trylock(&reg->lock) != 0)
        return true;
    const dp_key key = DP_KEY_OF(DP_F_AutogradFunctionality, DP_B_CPU);
    bool records = dpi_fallback_for(&reg->fallbacks, key) != NULL;
    pthread_mutex_unlock(&reg->lock);
    return records;
}

/* -- attach and detach -- */

/* List `u`, which a change has just attached in place of `replace` (may be NULL). */
static void attached(dp_registry *reg, dp_unit *u, const dp_unit *replace)
{
    if (replace != NULL) {
        units_remove(reg, replace);
        count_kernels(reg, replace, -1);
        backends_inherit(replace, u);
    }
    units_add(reg, u);
    count_kernels(reg, u, 1);
}

/* Do what dpi_change_run() does, and let the canary's snapshot follow. */
static int run_change(dpi_change *c, dp_unit *added, const dp_unit *removed, bool reject,
                      dpi_text *overrides, dp_error *err)
{
    int rc = dpi_change_run(c, added, removed, reject, overrides, err);

    if (rc == 0)
        dpi_canary_follow(c->reg);
    return rc;
}

static int attach(dp_registry *reg, const char *name, const char *version,
                  const dp_block *const *sorted, size_t n, const dpi_attach_options *o,
                  dp_unit **out, dpi_text *overrides, dp_error *err)
{
    dpi_change c;
    dp_unit *replace = o ? o->replace : NULL;
    bool canary = o != NULL && o->canary;

    if (canary && dpi_canary_check(reg, replace, sorted, n, err) < 0)
        return err->code;
    dp_unit *u = dpi_unit_new(reg, name, version, sorted, n, replace, err);
    if (u == NULL)
        return DP_ERESOURCE;
    dpi_change_begin(&c, reg);
    int rc = dpi_unit_fill(&c, u, sorted, n, replace, err);
    if (rc == 0 && replace != NULL)
        rc = check_backends_free(reg, replace, u, err);
    if (rc < 0)
        dpi_change_abort(&c);
    else if (canary)
        rc = dpi_canary_begin(&c, u, replace, overrides, err);
    else
        rc = run_change(&c, u, replace, o && o->reject_override, overrides, err);
    if (rc < 0) {
        dpi_unit_free(u);
        return rc;
    }
    if (!canary)
        attached(reg, u, replace);
    *out = u;
    return 0;
}

int dpi_canary_promote(dp_registry *reg, dpi_text *overrides, dp_error *err)
{
    dpi_change c;

    pthread_mutex_lock(&reg->lock);
    dp_unit *u = reg->canary, *of = reg->canary_of;
    int rc = check_backends_free(reg, of, u, err);
    if (rc == 0) {
        reg->canary = NULL; /* its snapshot does not follow this change */
        dpi_change_begin(&c, reg);
        rc = run_change(&c, u, of, false, overrides, err);
        reg->canary = rc < 0 ? u : NULL;
    }
    if (rc == 0) {
        atomic_store(&u->gen->canary, false);
        reg->canary_of = NULL;
        dpi_snapshot_publish(reg, &reg->candidate, NULL);
        attached(reg, u, of);
    }
    pthread_mutex_unlock(&reg->lock);
    dpi_registry_reclaim(reg);
    return rc;
}

static int by_position(const void *a, const void *b)
{
    const dp_block *x = *(const dp_block *const *)a, *y = *(const dp_block *const *)b;
    int c = strcmp(x->file, y->file);
    return c ? c : x->line < y->line ? -1 : x->line > y->line;
}

int dpi_registry_attach(dp_registry *reg, const char *name, const char *version,
                        const dp_block *const *blocks, size_t n, const dpi_attach_options *o,
                        dp_unit **out, dpi_text *overrides, dp_error *err)
{
    const dp_block **sorted = dp_malloc_n(n + 1, sizeof(*sorted));

    if (sorted == NULL)
        return dpi_no_memory(err, name);
    if (strlen(name) > DP_LIMIT_NAME_BYTES || name[0] == '\0') {
        dp_free(sorted);
        return dp_error_set(err, DP_EPLUGIN, "a plugin's name has 1 to %d bytes, this one %zu",
                            DP_LIMIT_NAME_BYTES, strlen(name));
    }
    dp_copy_n(sorted, blocks, n, sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_position);
    pthread_mutex_lock(&reg->lock);
    int rc = attach(reg, name, version, sorted, n, o, out, overrides, err);
    pthread_mutex_unlock(&reg->lock);
    dp_free(sorted);
    dpi_registry_reclaim(reg);
    return rc;
}

int dpi_registry_detach(dp_registry *reg, dp_unit *unit, dp_error *err)
{
    dpi_change c;

    pthread_mutex_lock(&reg->lock);
    int rc = check_backends_free(reg, unit, NULL, err);
    if (rc == 0) {
        dpi_change_begin(&c, reg);
        rc = run_change(&c, NULL, unit, false, NULL, err);
    }
    if (rc == 0) {
        units_remove(reg, unit);
        count_kernels(reg, unit, -1);
    }
    pthread_mutex_unlock(&reg->lock);
    dpi_registry_reclaim(reg);
    return rc;
}

int dpi_registry_reattach(dp_registry *reg, dp_unit *unit, dp_error *err)
{
    dpi_change c;

    pthread_mutex_lock(&reg->lock);
    dpi_change_begin(&c, reg);
    int rc = run_change(&c, unit, NULL, false, NULL, err);
    if (rc == 0) {
        units_add(reg, unit);
        count_kernels(reg, unit, 1);
        atomic_store_explicit(&unit->gen->closed, 0, memory_order_release);
    }
    pthread_mutex_unlock(&reg->lock);
    dpi_registry_reclaim(reg);
    return rc;
}

int dp_registry_attach(dp_registry *reg, const char *name, const char *version,
                       const dp_block *blocks, size_t n, dp_unit **out, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, reg, name, version, out))
        return DP_EVALUE;
    const dp_block **list = dp_malloc_n(n + 1, sizeof(*list));

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
    if (!DPI_GIVEN(err, DP_EVALUE, reg, unit))
        return DP_EVALUE;
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
