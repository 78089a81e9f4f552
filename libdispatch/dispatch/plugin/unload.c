/* unload.c -- unloads a plugin: removes its registrations, waits until no call runs its code, runs
 * on_unload, joins its threads and unmaps it. */
#include "plugins.h"
#include "base/process.h"
#include "dispatch/registry/thread.h"
#include "tensor/object.h"
#include "threads.h"
#include <limits.h>
#include <stdio.h>

static dpi_plugin *plugin_free(dpi_plugin *p)
{
    dpi_image_free(p->image);
    dpi_generation_unref(p->gen);
    dp_free(p);
    return NULL;
}

bool dpi_plugin_retire(dp_registry *reg, dpi_plugin *p, char *why)
{
    if (!dpi_threads_end(reg, p->image, DPI_THREADS_WAIT_MS, why, sizeof(p->reason)))
        snprintf(p->image->never_close, sizeof(p->image->never_close), "%s", why);
    dpi_notes_close(reg, p->image);
    if (dpi_image_unmap(p->image, why, sizeof(p->reason))) {
        plugin_free(p);
        return true;
    }
    p->state = KEPT;
    snprintf(p->reason, sizeof(p->reason), "%s", why);
    dpi_plugins_add(reg, p);
    return false;
}

int dpi_plugin_hook(dp_registry *reg, dpi_image *im, int kind, dp_error *err)
{
    const char *what = kind == DP_BLOCK_ON_LOAD ? "on_load" : "on_unload";
    const dp_block *b = dpi_image_block(im, kind);
    dpi_process before;
    char step[16];
    dp_ctx *ctx;
    int rc;

    if (b == NULL)
        return 0;
    rc = dp_ctx_new(reg, &ctx, err);
    if (rc)
        return rc;
    dp_ctx_set_label(ctx, what);
    im->code_ran = true;
    snprintf(step, sizeof(step), "its %s", what);
    dpi_process_save(&before);
    rc = ((dp_hook_fn)b->fn)(ctx);
    dpi_process_settle(&before, im->manifest.plugin, step);
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

/* End the backends of a detached plugin, which releases their memory, remove the plugin from the
 * list and unmap it. */
static bool remove_and_retire(dp_registry *reg, dpi_plugin *p, char *why)
{
    dpi_unit_free(p->unit);
    p->unit = NULL;
    dpi_plugins_remove(reg, p);
    return dpi_plugin_retire(reg, p, why);
}

/* End the objects whose kinds `p` registered (DP_OBJECT_KIND), or hand them to the plugin that
 * replaces `p`.  No call uses these objects any more.  False: another thread is still ending an
 * object after `timeout_ms` (at most DPI_THREADS_WAIT_MS for each kind); `why` describes it. */
static bool end_objects(const dpi_plugin *p, int timeout_ms, char *why)
{
    int ms = timeout_ms < 0 || timeout_ms > DPI_THREADS_WAIT_MS ? DPI_THREADS_WAIT_MS : timeout_ms;
    bool all = true;

    for (uint32_t i = 0; p->unit != NULL && i < p->unit->n_regs && all; i++)
        if (p->unit->regs[i].objects != NULL)
            all = dpi_object_kind_end(p->unit->regs[i].objects, ms, why, sizeof(p->reason));
    return all;
}

/* A plugin that stays DRAINING because of a thread gets here again later: `unit` and
 * `on_unload_ran` tell which steps were done. */
bool dpi_plugin_finish(dp_registry *reg, dpi_plugin *p, int timeout_ms, char *why)
{
    dp_error err = DP_ERROR_INIT;

    if (!end_objects(p, timeout_ms, why)) {
        dpi_plugin_set_state(reg, p, DRAINING, why);
        return false;
    }
    dpi_unit_free(p->unit);
    p->unit = NULL;
    if (!p->on_unload_ran && dpi_plugin_hook(reg, p->image, DP_BLOCK_ON_UNLOAD, &err))
        snprintf(p->image->never_close, sizeof(p->image->never_close), "%.*s",
                 (int)sizeof(p->image->never_close) - 1, err.message);
    p->on_unload_ran = true;
    if (!dpi_threads_end(reg, p->image, timeout_ms, why, sizeof(p->reason))) {
        dpi_plugin_set_state(reg, p, DRAINING, why);
        return false;
    }
    return remove_and_retire(reg, p, why);
}

size_t dpi_plugins_reap(dp_registry *reg, bool close)
{
    char who[sizeof(((dpi_plugin *)0)->reason)];
    size_t left = 0;

    for (dpi_plugin *p = reg->plugins, *next; p; p = next) {
        next = p->next;
        if (p->state == KEPT && dpi_image_gone(p->image)) {
            dpi_plugins_remove(reg, p);
            plugin_free(p);
        } else if (p->state == DRAINING) {
            if (dpi_generation_idle(reg, p->gen, close, who, sizeof(who))) {
                left += !dpi_plugin_finish(reg, p, 0, who) && p->state == DRAINING;
            } else {
                dpi_plugin_set_state(reg, p, DRAINING, who);
                left++;
            }
        }
    }
    dpi_registry_reclaim(reg);
    return left;
}

size_t dp_plugin_reap(dp_registry *reg)
{
    size_t left, n_blocks = dpi_blocks_reap();

    if (pthread_mutex_trylock(&reg->plugin_lock) == 0) {
        left = dpi_plugins_reap(reg, false);
        left += dpi_registry_reclaim(reg);
        pthread_mutex_unlock(&reg->plugin_lock);
        return left + n_blocks;
    }
    /* Another thread loads or unloads, and frees plugins meanwhile: here they are only counted. */
    pthread_mutex_lock(&reg->lock);
    left = dpi_plugins_count(reg, DRAINING, NULL) + (reg->retired != NULL);
    pthread_mutex_unlock(&reg->lock);
    return left + n_blocks;
}

/* -- reload -- */

void dpi_plugin_drain(dp_registry *reg, dpi_plugin *old, int ms, dp_unload_report *r)
{
    uint64_t start = dpi_nanos();
    size_t bytes = old->image->bytes;
    char who[sizeof(old->reason)] = "";

    memset(r, 0, sizeof(*r));
    r->old_generation = old->gen->number;
    r->removed = dpi_plugin_registrations(old);
    dpi_plugin_set_state(reg, old, DRAINING, "");
    r->drained = dpi_generation_drain(reg, old->gen, false, ms, who, sizeof(who));
    if (r->drained) {
        r->unmapped = dpi_plugin_finish(reg, old, DPI_RELOAD_WAIT_MS, who);
        r->drained = r->unmapped || old->state != DRAINING;
    } else {
        dpi_plugin_set_state(reg, old, DRAINING, who);
    }
    r->drained_ms = dpi_millis_since(start);
    r->bytes_returned = r->unmapped ? bytes : 0;
    snprintf(r->kept_because, sizeof(r->kept_because), "%s", who);
}

void dpi_plugin_roll_back(dp_registry *reg, dpi_plugin *p, int ms, dp_unload_report *r)
{
    dpi_canary_end(reg);
    dpi_plugin_drain(reg, p, ms, r);
}

/* -- unload -- */

/* Refuse to unload `p` while storages of its backends exist: its device functions must free them.
 * `p` may be attached or detached. */
static int check_storages(const dpi_plugin *p, dp_error *err)
{
    for (uint32_t i = 0; i < p->unit->n_regs; i++) {
        const dpi_reg *r = &p->unit->regs[i];
        if (r->kind == DPI_REG_BACKEND)
            dpi_blocks_settle(r->bit); /* wait for blocks that only a running copy still uses */
        uint64_t n = r->kind == DPI_REG_BACKEND ? dpi_device_storages(r->device) : 0;
        if (n)
            return dp_error_set(
                err, DP_EBUSY,
                "plugin '%s': %llu storage%s of its backend '%s' %s alive; release %s, "
                "or unload with force",
                dpi_plugin_name(p), (unsigned long long)n, n == 1 ? "" : "s", r->name,
                n == 1 ? "is" : "are", n == 1 ? "it" : "them");
    }
    return 0;
}

/* Release the backends' streams, events and pinned memory before on_unload runs, because on_unload
 * may end the library that they need. */
static void quiet_backends(const dpi_plugin *p)
{
    for (uint32_t i = 0; i < p->unit->n_regs; i++)
        if (p->unit->regs[i].kind == DPI_REG_BACKEND)
            dpi_device_quiet(p->unit->regs[i].device);
}

/* Attach `p` again after a step of an unload failed with *err; return the code of *err.  If this
 * fails too, `p` is DRAINING: dpi_plugins_reap() unloads it when no call runs its code. */
static int reattach(dp_registry *reg, dpi_plugin *p, dp_error *err)
{
    dp_error again = DP_ERROR_INIT, first = *err;

    if (dpi_registry_reattach(reg, p->unit, &again) == 0)
        return err->code;
    dpi_plugin_set_state(reg, p, DRAINING, "");
    return dp_error_set(
        err, again.code,
        "%s; and it could not be attached again (%s): it is detached now and goes when it "
        "is idle",
        first.message, again.message);
}

static int end_threads(dp_registry *reg, const dpi_plugin *p, int timeout_ms, dp_error *err)
{
    int ms = timeout_ms < 0 || timeout_ms > DPI_THREADS_WAIT_MS ? DPI_THREADS_WAIT_MS : timeout_ms;
    char who[sizeof(p->reason)];

    if (dpi_threads_end(reg, p->image, ms, who, sizeof(who)))
        return 0;
    return dp_error_set(err, DP_EBUSY, "kept because: %s; its on_unload has to end and join it",
                        who);
}

/* Fill in the part of the report that needs `p`, before `p` is freed. */
static void report_leaving(const dpi_plugin *p, dp_unload_report *r)
{
    r->old_generation = p->gen->number;
    r->removed = dpi_plugin_registrations(p);
}

/* Fill in the result of unmapping a plugin of `bytes` bytes; `why` has the reason if it failed. */
static void report_gone(dp_unload_report *r, bool unmapped, size_t bytes, const char *why)
{
    r->drained = true;
    r->unmapped = unmapped;
    r->bytes_returned = unmapped ? bytes : 0;
    snprintf(r->kept_because, sizeof(r->kept_because), "%s", why);
}

static int fail_in_use(const dpi_plugin *p, int timeout_ms, const char *who, dp_error *err)
{
    return dp_error_set(err, DP_EBUSY,
                        "plugin '%s' generation %llu is still in use after %d ms: %s",
                        dpi_plugin_name(p), (unsigned long long)p->gen->number, timeout_ms, who);
}

/* Leave the detached plugin `p` DRAINING, because the call that `who` describes still runs its
 * code.  dp_plugin_reap() unloads `p` when no call runs its code any more. */
static int leave_draining(dp_registry *reg, dpi_plugin *p, const char *who, double ms,
                          dp_unload_report *r)
{
    dpi_plugin_set_state(reg, p, DRAINING, who);
    report_leaving(p, r);
    r->drained_ms = ms;
    snprintf(r->kept_because, sizeof(r->kept_because), "%s", who);
    return 0;
}

/* Unload `p`, unless a storage of its backends exists, another plugin has kernels for its backends,
 * a call, a thread or an object of `p` does not end in time, or on_unload fails.  If a step fails
 * after the detach, attach `p` again. */
static int unload(dp_registry *reg, dpi_plugin *p, int timeout_ms, dp_unload_report *r,
                  dp_error *err)
{
    uint64_t start = dpi_nanos();
    char who[sizeof(p->reason)] = "";
    size_t bytes = p->image->bytes;
    int rc = check_storages(p, err);

    if (rc == 0)
        rc = dpi_registry_detach(reg, p->unit, err);
    if (rc)
        return rc;
    if (!dpi_generation_drain(reg, p->gen, true, timeout_ms, who, sizeof(who)))
        rc = fail_in_use(p, timeout_ms, who, err);
    if (rc == 0) /* calls that ended meanwhile may have created storages */
        rc = check_storages(p, err);
    if (rc == 0 && !end_objects(p, timeout_ms, who))
        rc = fail_in_use(p, timeout_ms, who, err);
    if (rc == 0) {
        r->drained_ms = dpi_millis_since(start);
        quiet_backends(p);
        rc = dpi_plugin_hook(reg, p->image, DP_BLOCK_ON_UNLOAD, err);
    }
    if (rc == 0)
        rc = end_threads(reg, p, timeout_ms, err);
    if (rc)
        return reattach(reg, p, err);
    report_leaving(p, r);
    report_gone(r, remove_and_retire(reg, p, who), bytes, who);
    return 0;
}

/* Unload `p` even if storages of its backends exist or on_unload fails.  If a call or thread still
 * runs its code, `p` stays DRAINING, and dp_plugin_reap() unloads it later.  DP_EBUSY: a call runs
 * its code, and DP_LIMIT_DRAINING plugins are DRAINING already; `p` is attached again. */
static int unload_force(dp_registry *reg, dpi_plugin *p, int timeout_ms, dp_unload_report *r,
                        dp_error *err)
{
    uint64_t start = dpi_nanos();
    char who[sizeof(p->reason)] = "";
    size_t bytes = p->image->bytes;
    int rc = dpi_registry_detach(reg, p->unit, err);

    if (rc)
        return rc;
    if (!dpi_generation_drain(reg, p->gen, true, timeout_ms, who, sizeof(who))) {
        if (dpi_plugins_count(reg, DRAINING, NULL) < DP_LIMIT_DRAINING)
            return leave_draining(reg, p, who, dpi_millis_since(start), r);
        fail_in_use(p, timeout_ms, who, err);
        return reattach(reg, p, err);
    }
    r->drained_ms = dpi_millis_since(start);
    report_leaving(p, r);
    report_gone(r, dpi_plugin_finish(reg, p, DPI_THREADS_WAIT_MS, who), bytes, who);
    return 0;
}

int dp_plugin_unload(dp_registry *reg, const char *name, int timeout_ms, bool force,
                     dp_unload_report *report, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, reg, name, report))
        return DP_EVALUE;
    dp_unload_report r;
    dp_error local = DP_ERROR_INIT;
    dpi_plugin *p;
    int rc;

    memset(&r, 0, sizeof(r));
    pthread_mutex_lock(&reg->plugin_lock);
    dpi_plugins_reap(reg, false);
    if ((p = dpi_plugins_find(reg, CANARY, name)) != NULL) {
        dpi_plugin_roll_back(reg, p, timeout_ms >= 0 ? timeout_ms : INT_MAX, &r);
        memset(&r, 0, sizeof(r));
    }
    p = dpi_plugins_live(reg, name);
    if (p == NULL)
        rc = dpi_plugins_not_loaded(reg, name, err);
    else
        rc = (force ? unload_force : unload)(reg, p, timeout_ms, &r, err ? err : &local);
    pthread_mutex_unlock(&reg->plugin_lock);
    if (rc == 0)
        *report = r;
    return rc;
}

/* Unload all plugins, the newest first.  Only contexts of plugins' own threads exist now, so no
 * other call runs.  False: a thread of a plugin still runs. */
bool dpi_plugins_free(dp_registry *reg)
{
    char why[sizeof(((dpi_plugin *)0)->reason)];
    dpi_plugin *p;

    dpi_canary_end(reg);
    for (;;) {
        dpi_plugin *last = NULL;
        for (p = reg->plugins; p; p = p->next)
            if (p->state != KEPT)
                last = p;
        if (last == NULL)
            break;
        if (last->state == LIVE)
            dpi_registry_detach(reg, last->unit, NULL);
        if (!dpi_plugin_finish(reg, last, DPI_THREADS_WAIT_MS, why) && last->state == DRAINING)
            return false;
    }
    while ((p = reg->plugins) != NULL) {
        reg->plugins = p->next;
        plugin_free(p);
    }
    return true;
}
