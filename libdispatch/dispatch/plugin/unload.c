/* unload.c -- the end of a plugin: detached, drained, its on_unload, its threads, unmapped. */
#include "plugins.h"
#include "base/process.h"
#include "dispatch/registry/thread.h"
#include "tensor/object.h"
#include "threads.h"
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
    if (!dpi_threads_end(reg, p->image, DPI_THREADS_WAIT_MS, why, sizeof(p->kept)))
        snprintf(p->image->stay, sizeof(p->image->stay), "%s", why);
    dpi_notes_close(reg, p->image);
    if (dpi_image_unmap(p->image, why, sizeof(p->kept))) {
        plugin_free(p);
        return true;
    }
    p->state = KEPT;
    snprintf(p->kept, sizeof(p->kept), "%s", why);
    dpi_plugins_add(reg, p);
    return false;
}

int dpi_plugin_hook(dp_registry *reg, dpi_image *im, int kind, dp_error *err)
{
    const char *what = kind == DP_BLOCK_ON_LOAD ? "on_load" : "on_unload";
    const dp_block *b = dpi_image_block(im, kind);
    dpi_process before;
    char its[16];
    dp_ctx *ctx;
    int rc;

    if (b == NULL)
        return 0;
    rc = dp_ctx_new(reg, &ctx, err);
    if (rc)
        return rc;
    dp_ctx_set_label(ctx, what);
    im->ran = true;
    snprintf(its, sizeof(its), "its %s", what);
    dpi_process_save(&before);
    rc = ((dp_hook_fn)b->fn)(ctx);
    dpi_process_settle(&before, im->manifest.plugin, its);
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
static bool leave(dp_registry *reg, dpi_plugin *p, char *why)
{
    dpi_unit_free(p->unit);
    p->unit = NULL;
    dpi_plugins_remove(reg, p);
    return dpi_plugin_retire(reg, p, why);
}

/* End the objects of p's kinds, which nobody uses any more, or hand them to the version that
 * replaces p.  False: *why. */
static bool end_objects(const dpi_plugin *p, int timeout_ms, char *why)
{
    int ms = timeout_ms < 0 || timeout_ms > DPI_THREADS_WAIT_MS ? DPI_THREADS_WAIT_MS : timeout_ms;
    bool all = true;

    for (uint32_t i = 0; p->unit != NULL && i < p->unit->n_regs && all; i++)
        if (p->unit->regs[i].objects != NULL)
            all = dpi_object_kind_end(p->unit->regs[i].objects, ms, why, sizeof(p->kept));
    return all;
}

/* The same for one that has no say any more, and that nobody runs: a failing hook keeps it mapped,
 * and it stays DRAINING while a thread of it runs. */
bool dpi_plugin_finish(dp_registry *reg, dpi_plugin *p, int timeout_ms, char *why)
{
    dp_error err = DP_ERROR_INIT;

    if (!end_objects(p, timeout_ms, why)) {
        dpi_plugin_set_state(reg, p, DRAINING, why);
        return false;
    }
    dpi_unit_free(p->unit);
    p->unit = NULL;
    if (!p->said_goodbye && dpi_plugin_hook(reg, p->image, DP_BLOCK_ON_UNLOAD, &err))
        snprintf(p->image->stay, sizeof(p->image->stay), "%.*s", (int)sizeof(p->image->stay) - 1,
                 err.message);
    p->said_goodbye = true;
    if (!dpi_threads_end(reg, p->image, timeout_ms, why, sizeof(p->kept))) {
        dpi_plugin_set_state(reg, p, DRAINING, why);
        return false;
    }
    return leave(reg, p, why);
}

size_t dpi_plugins_reap(dp_registry *reg, bool close)
{
    char who[sizeof(((dpi_plugin *)0)->kept)];
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
    size_t left, aside = dpi_blocks_reap();

    if (pthread_mutex_trylock(&reg->plugin_lock) == 0) {
        left = dpi_plugins_reap(reg, false);
        left += dpi_registry_reclaim(reg);
        pthread_mutex_unlock(&reg->plugin_lock);
        return left + aside;
    }
    pthread_mutex_lock(&reg->lock); /* an operation is under way: it reaps */
    left = dpi_plugins_count(reg, DRAINING, NULL) + (reg->retired != NULL);
    pthread_mutex_unlock(&reg->lock);
    return left + aside;
}

/* -- unload -- */

/* Storages of a backend of p keep p loaded: its device functions must free them.  The unit knows
 * its backends' bits, attached or not. */
static int check_storages(const dpi_plugin *p, dp_error *err)
{
    for (uint32_t i = 0; i < p->unit->n_regs; i++) {
        const dpi_reg *r = &p->unit->regs[i];
        if (r->kind == DPI_REG_BACKEND)
            dpi_blocks_settle(r->bit); /* what no tensor holds, only a copy that still runs */
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

/* Its streams, events and pins go before on_unload, which may end what they need. */
static void quiet(const dpi_plugin *p)
{
    for (uint32_t i = 0; i < p->unit->n_regs; i++)
        if (p->unit->regs[i].kind == DPI_REG_BACKEND)
            dpi_device_quiet(p->unit->regs[i].device);
}

/* A step of an unload failed as *err says: attach it again.  If that fails too it can only go. */
static int put_back(dp_registry *reg, dpi_plugin *p, dp_error *err)
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
    char who[sizeof(p->kept)];

    if (dpi_threads_end(reg, p->image, ms, who, sizeof(who)))
        return 0;
    return dp_error_set(err, DP_EBUSY, "kept because: %s; its on_unload has to end and join it",
                        who);
}

/* Fill in what is known of p before it goes. */
static void report_leaving(const dpi_plugin *p, dp_unload_report *r)
{
    r->old_generation = p->gen->number;
    r->removed = dpi_plugin_registrations(p);
}

/* Fill in how p, which had `bytes` mapped, went; `why` it did not. */
static void report_gone(dp_unload_report *r, bool unmapped, size_t bytes, const char *why)
{
    r->drained = true;
    r->unmapped = unmapped;
    r->bytes_returned = unmapped ? bytes : 0;
    snprintf(r->kept_because, sizeof(r->kept_because), "%s", why);
}

static int still_in_use(const dpi_plugin *p, int timeout_ms, const char *who, dp_error *err)
{
    return dp_error_set(err, DP_EBUSY,
                        "plugin '%s' generation %llu is still in use after %d ms: %s",
                        dpi_plugin_name(p), (unsigned long long)p->gen->number, timeout_ms, who);
}

/* p is detached, and `who` still runs it: dp_plugin_reap() closes it when that has ended. */
static int leave_stuck(dp_registry *reg, dpi_plugin *p, const char *who, double ms,
                       dp_unload_report *r)
{
    dpi_plugin_set_state(reg, p, DRAINING, who);
    report_leaving(p, r);
    r->drained_ms = ms;
    snprintf(r->kept_because, sizeof(r->kept_because), "%s", who);
    return 0;
}

/* Unload p if it agrees: no storage of its backends is alive, on_unload succeeds, its threads
 * end. */
static int unload(dp_registry *reg, dpi_plugin *p, int timeout_ms, dp_unload_report *r,
                  dp_error *err)
{
    uint64_t start = dpi_nanos();
    char who[sizeof(p->kept)] = "";
    size_t bytes = p->image->bytes;
    int rc = check_storages(p, err);

    if (rc == 0)
        rc = dpi_registry_detach(reg, p->unit, err);
    if (rc)
        return rc;
    if (!dpi_generation_drain(reg, p->gen, true, timeout_ms, who, sizeof(who)))
        rc = still_in_use(p, timeout_ms, who, err);
    if (rc == 0) /* calls that were under way may have made some */
        rc = check_storages(p, err);
    if (rc == 0 && !end_objects(p, timeout_ms, who))
        rc = still_in_use(p, timeout_ms, who, err);
    if (rc == 0) {
        r->drained_ms = dpi_millis_since(start);
        quiet(p);
        rc = dpi_plugin_hook(reg, p->image, DP_BLOCK_ON_UNLOAD, err);
    }
    if (rc == 0)
        rc = end_threads(reg, p, timeout_ms, err);
    if (rc)
        return put_back(reg, p, err);
    report_leaving(p, r);
    report_gone(r, leave(reg, p, who), bytes, who);
    return 0;
}

/* Unload p whatever it says.  One that somebody still runs stays detached and is reaped later. */
static int unload_force(dp_registry *reg, dpi_plugin *p, int timeout_ms, dp_unload_report *r,
                        dp_error *err)
{
    uint64_t start = dpi_nanos();
    char who[sizeof(p->kept)] = "";
    size_t bytes = p->image->bytes;
    int rc = dpi_registry_detach(reg, p->unit, err);

    if (rc)
        return rc;
    if (!dpi_generation_drain(reg, p->gen, true, timeout_ms, who, sizeof(who))) {
        if (dpi_plugins_count(reg, DRAINING, NULL) < DP_LIMIT_DRAINING)
            return leave_stuck(reg, p, who, dpi_millis_since(start), r);
        still_in_use(p, timeout_ms, who, err);
        return put_back(reg, p, err);
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

/* Newest first, as a stack of loads is taken down.  No context exists but those of plugins'
 * threads, so nothing else runs. */
bool dpi_plugins_free(dp_registry *reg)
{
    char why[sizeof(((dpi_plugin *)0)->kept)];
    dpi_plugin *p;

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
