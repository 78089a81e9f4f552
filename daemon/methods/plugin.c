/* plugin.c -- plugin.*: load, unload, reload, list and describe plugins. */
#include "methods.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

static void write_millis(jw *w, const char *name, double ms)
{
    jw_key(w, name);
    jw_element(w, DP_FLOAT64, &ms);
}

static void write_counts(jw *w, uint64_t defs, uint64_t impls, uint64_t fallbacks)
{
    member_int(w, "defs", (int64_t)defs);
    member_int(w, "impls", (int64_t)impls);
    member_int(w, "fallbacks", (int64_t)fallbacks);
}

/* Write member "kept_because", the reason why the code is still mapped.  NULL or "": write
 * nothing. */
static void write_reason(jw *w, const char *kept_because)
{
    if (kept_because != NULL && kept_because[0] != '\0')
        member_str(w, "kept_because", kept_because);
}

/* -- load, unload, reload -- */

/* Bytes that are reserved for the answer about a change of the registry, which cannot be undone.
 * Only the lists of many hundred operators are longer. */
enum { REPORT_BYTES = 64 << 10 };

static void write_report(jw *w, const dp_plugin_report *r)
{
    member_str(w, "plugin", r->plugin);
    member_int(w, "generation", r->generation);
    member_str(w, "version", r->version);
    write_counts(w, r->defs, r->impls, r->fallbacks);
    member_strings(w, "backends", r->backends, r->n_backends);
    member_strings(w, "dangling", r->dangling, r->n_dangling);
    member_strings(w, "overrides", r->overrides, r->n_overrides);
    write_millis(w, "millis", r->millis);
}

static dp_load_options options_of(const server_info *f)
{
    return (dp_load_options){
        .size = sizeof(dp_load_options),
        .search_path = f->plugin_path,
        .cache_dir = f->cache_dir,
        .probe = probe,
    };
}

static int log_failure(const char *event, const char *what, const dp_error *err)
{
    log_event(LOG_WARN, event, "refused='%s' type=%s error='%s'", what, dp_error_name(err->code),
              err->message);
    return err->code;
}

/* Store in `*out` the path of the request's file: `path`, or, if it came as a descriptor, a path
 * that names the file as long as the request runs. */
static int path_of_file(request *rq, const char *path, bool has_fd, int64_t index, const char *what,
                        const char **out, dp_error *err)
{
    int fd, rc = file_check(rq, path, has_fd, what, err);

    *out = path;
    if (rc < 0 || !has_fd)
        return rc;
    if ((rc = descriptor_of_file(rq, index, false, &fd, err)) < 0)
        return rc;
    *out = dp_arena_printf(dp_ctx_arena(rq->ctx), "/proc/self/fd/%d", fd);
    return *out != NULL ? 0 : dp_error_set(err, DP_ERESOURCE, "out of memory: a path");
}

int plugin_load(request *rq, const plugin_load_params *p, jw *w, dp_error *err)
{
    server_info info;
    dp_plugin_report report;
    const char *path;

    if (!answer_reserve(w, REPORT_BYTES, err) ||
        path_of_file(rq, p->path, p->has_fd, p->fd, "plugin.load", &path, err) < 0)
        return err->code;
    rq->daemon->info(rq->conn, &info);
    dp_load_options o = options_of(&info);
    o.reject_override = p->replace == PLUGIN_LOAD_REPLACE_REJECT;
    int rc = dp_plugin_load(info.reg, path, &o, dp_ctx_arena(rq->ctx), &report, err);
    rq->daemon->plugins_changed(rq->conn);
    if (rc < 0)
        return log_failure("plugin.load", path, err);
    log_event(LOG_INFO, "plugin.load", "plugin='%s' generation=%llu millis=%.3f path='%s'",
              report.plugin, (unsigned long long)report.generation, report.millis, path);
    jw_object(w);
    write_report(w, &report);
    warnings_to_json(rq, w);
    jw_object_end(w);
    return 0;
}

/* Convert a time in milliseconds to the int that the library takes. */
static int timeout_of(int64_t ms)
{
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

int plugin_unload(request *rq, const plugin_unload_params *p, jw *w, dp_error *err)
{
    enum { TIMEOUT_MS = 10000 };
    int timeout = timeout_of(p->has_timeout_ms ? p->timeout_ms : TIMEOUT_MS);
    server_info info;
    dp_unload_report r = {0}, canary;
    dp_error none = DP_ERROR_INIT;

    if (!answer_reserve(w, REPORT_BYTES, err))
        return err->code;
    rq->daemon->info(rq->conn, &info);
    request_canary_lock(rq);
    request_canary_end(rq, p->plugin, false, timeout, NULL, &canary, &none);
    request_shadow_pause(rq, timeout); /* their tensors would keep a backend from being unloaded */
    int rc = dp_plugin_unload(info.reg, p->plugin, timeout, p->force, &r, err);
    request_shadow_resume(rq);
    request_canary_unlock(rq);
    rq->daemon->plugins_changed(rq->conn);
    if (rc < 0)
        return log_failure("plugin.unload", p->plugin, err);
    log_event(LOG_INFO, "plugin.unload", "plugin='%s' unmapped=%d drained_ms=%.3f kept='%s'",
              p->plugin, r.unmapped, r.drained_ms, r.kept_because);
    jw_object(w);
    write_millis(w, "drained_ms", r.drained_ms);
    member_int(w, "removed", r.removed);
    member_bool(w, "unmapped", r.unmapped);
    write_reason(w, r.kept_because);
    member_int(w, "bytes_returned", r.bytes_returned);
    warnings_to_json(rq, w);
    jw_object_end(w);
    return 0;
}

/* Warn in the log of what a reload has dropped; names that do not fit into a line are counted. */
static void log_dropped(const dp_plugin_report *r)
{
    char names[1024] = "";
    size_t at = 0;
    uint32_t i = 0;

    for (; i < r->n_dropped; i++) {
        size_t bytes = strlen(r->dropped[i]) + 2;
        if (at + bytes >= sizeof(names))
            break;
        at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", i > 0 ? ", " : "",
                               r->dropped[i]);
    }
    if (r->n_dropped > 0)
        log_event(LOG_WARN, "plugin.reload.dropped", "plugin='%s' n=%u dropped='%s' more=%u",
                  r->plugin, r->n_dropped, names, r->n_dropped - i);
}

static void write_gone(jw *w, const dp_unload_report *gone)
{
    member_int(w, "generation", gone->old_generation);
    member_bool(w, "drained", gone->drained);
    member_bool(w, "unmapped", gone->unmapped);
    write_reason(w, gone->kept_because);
}

/* Log and answer that a plugin has new code, `r`; `old` is about the code that it had. */
static void answer_reload(request *rq, const char *event, const dp_plugin_report *r,
                          const dp_unload_report *old, jw *w)
{
    log_event(LOG_INFO, event,
              "plugin='%s' generation=%llu old=%llu millis=%.3f unmapped=%d kept='%s'", r->plugin,
              (unsigned long long)r->generation, (unsigned long long)old->old_generation, r->millis,
              old->unmapped, old->kept_because);
    log_dropped(r);
    jw_object(w);
    write_report(w, r);
    member_strings(w, "dropped", r->dropped, r->n_dropped);
    jw_key(w, "old");
    jw_object(w);
    write_gone(w, old);
    jw_object_end(w);
    warnings_to_json(rq, w);
    jw_object_end(w);
}

/* Read the params of a canary into *how; without `share` there is none.  DP_EPARAMS: wrong ones. */
static int read_canary(const plugin_reload_params *p, canary_settings *how, dp_error *err)
{
    *how = (canary_settings){.share = p->share != NULL ? p->share->valuedouble : 0,
                             .rtol = p->rtol != NULL ? p->rtol->valuedouble : -1,
                             .atol = p->atol != NULL ? p->atol->valuedouble : -1,
                             .differences = p->has_differences ? (uint64_t)p->differences : 1};
    if (p->share != NULL && !(how->share > 0 && how->share <= 1))
        return dp_error_set(err, DP_EPARAMS,
                            "share: expected a number above 0 and up to 1 but got %.15g",
                            how->share);
    if (p->share == NULL && (p->rtol != NULL || p->atol != NULL || p->has_differences))
        return dp_error_set(err, DP_EPARAMS, "%s: only a canary has this, and 'share' is missing",
                            p->rtol != NULL   ? "rtol"
                            : p->atol != NULL ? "atol"
                                              : "differences");
    return 0;
}

int plugin_reload(request *rq, const plugin_reload_params *p, jw *w, dp_error *err)
{
    server_info info;
    dp_plugin_report report;
    dp_unload_report old = {0};
    canary_settings how;
    bool canary = p->share != NULL;

    if (read_canary(p, &how, err) < 0 || !answer_reserve(w, REPORT_BYTES, err))
        return err->code;
    rq->daemon->info(rq->conn, &info);
    dp_load_options o = options_of(&info);
    o.drain_ms = timeout_of(p->timeout_ms);
    o.canary = canary;
    request_canary_lock(rq);
    request_shadow_pause(rq, o.drain_ms);
    int rc = dp_plugin_reload(info.reg, p->plugin, &o, dp_ctx_arena(rq->ctx), &report, &old, err);
    request_shadow_resume(rq);
    if (rc == 0 && canary)
        request_canary_start(rq, &how, &report);
    request_canary_unlock(rq);
    rq->daemon->plugins_changed(rq->conn);
    if (rc < 0)
        return log_failure("plugin.reload", p->plugin, err);
    answer_reload(rq, canary ? "canary.begin" : "plugin.reload", &report, &old, w);
    return 0;
}

int plugin_promote(request *rq, const plugin_promote_params *p, jw *w, dp_error *err)
{
    dp_plugin_report report;
    dp_unload_report old = {0};
    int drain_ms = timeout_of(p->timeout_ms);

    if (!answer_reserve(w, REPORT_BYTES, err))
        return err->code;
    request_canary_lock(rq);
    request_shadow_pause(rq, drain_ms);
    int rc = request_canary_end(rq, p->plugin, true, drain_ms, &report, &old, err);
    request_shadow_resume(rq);
    request_canary_unlock(rq);
    rq->daemon->plugins_changed(rq->conn);
    if (rc < 0)
        return log_failure("plugin.promote", p->plugin, err);
    answer_reload(rq, "canary.promoted", &report, &old, w);
    return 0;
}

int plugin_rollback(request *rq, const plugin_rollback_params *p, jw *w, dp_error *err)
{
    dp_unload_report gone = {0};

    if (!answer_reserve(w, REPORT_BYTES, err))
        return err->code;
    request_canary_lock(rq);
    int rc = request_canary_end(rq, p->plugin, false, timeout_of(p->timeout_ms), NULL, &gone, err);
    request_canary_unlock(rq);
    rq->daemon->plugins_changed(rq->conn);
    if (rc < 0)
        return log_failure("plugin.rollback", p->plugin, err);
    log_event(LOG_INFO, "canary.rolled_back", "plugin='%s' generation=%llu by a request", p->plugin,
              (unsigned long long)gone.old_generation);
    jw_object(w);
    write_gone(w, &gone);
    warnings_to_json(rq, w);
    jw_object_end(w);
    return 0;
}

/* -- list, describe -- */

static void write_plugin(jw *w, const dp_plugin_info *p)
{
    jw_object(w);
    member_str(w, "plugin", p->plugin);
    member_str(w, "version", p->version);
    member_str(w, "path", p->path != NULL ? p->path : "");
    if (p->mapped_file != NULL)
        member_str(w, "mapped_file", p->mapped_file);
    member_int(w, "generation", p->generation);
    member_int(w, "load_number", p->load_number);
    write_counts(w, p->defs, p->impls, p->fallbacks);
    member_int(w, "backends", p->backends);
    member_int(w, "kinds", p->kinds);
    member_bool(w, "resident", p->resident);
    member_bool(w, "draining", p->draining);
    member_bool(w, "canary", p->canary);
    member_bool(w, "kept", p->kept);
    write_reason(w, p->kept_because);
    member_int(w, "calls_running", p->calls_running);
    jw_object_end(w);
}

int plugin_list(request *rq, jw *w, dp_error *err)
{
    server_info info;
    const dp_plugin_info *plugins;
    size_t n;

    rq->daemon->info(rq->conn, &info);
    /* unmap the code of plugins whose last call has just ended, so that they are not listed */
    dp_plugin_reap(info.reg);
    int rc = dp_plugin_list(info.reg, dp_ctx_arena(rq->ctx), &plugins, &n, err);
    if (rc < 0)
        return rc;
    jw_object(w);
    jw_key(w, "plugins");
    jw_array(w);
    for (size_t i = 0; i < n; i++)
        write_plugin(w, &plugins[i]);
    jw_array_end(w);
    jw_object_end(w);
    return 0;
}

static void write_notes(jw *w, const dp_plugin_info *p)
{
    for (size_t i = 0; i < p->n_notes; i++) {
        jw_object(w);
        member_str(w, "plugin", p->plugin);
        member_int(w, "generation", p->generation);
        member_str(w, "name", p->notes[i].name);
        member_str(w, "text", p->notes[i].text);
        jw_object_end(w);
    }
}

static void write_canary(jw *w, const canary_report *r)
{
    static const char *const states[] = {"", "runs", "leaves", "promoted", "rolled back"};

    jw_object(w);
    member_str(w, "plugin", r->plugin);
    member_int(w, "generation", (int64_t)r->generation);
    member_str(w, "state", states[r->state]);
    jw_key(w, "share");
    jw_element(w, DP_FLOAT64, &r->share);
    member_int(w, "differences", (int64_t)r->differences);
    member_int(w, "calls", (int64_t)r->calls);
    member_int(w, "compared", (int64_t)r->compared);
    member_int(w, "differs", (int64_t)r->differs);
    member_int(w, "failed", (int64_t)r->failed);
    if (r->why[0] != '\0')
        member_str(w, "why", r->why);
    jw_object_end(w);
}

void canaries_to_json(request *rq, jw *w)
{
    canary_report r;

    request_canary_report(rq, &r);
    jw_key(w, "canaries");
    jw_array(w);
    if (r.state != CANARY_NONE && session_is_owner(rq->session))
        write_canary(w, &r);
    jw_array_end(w);
}

int plugins_status(request *rq, dp_registry *reg, jw *w, dp_error *err)
{
    const dp_plugin_info *plugins;
    size_t n;
    int rc = dp_plugin_list(reg, dp_ctx_arena(rq->ctx), &plugins, &n, err);

    if (rc < 0)
        return rc;
    jw_key(w, "notes");
    jw_array(w);
    for (size_t i = 0; i < n; i++)
        write_notes(w, &plugins[i]);
    jw_array_end(w);
    jw_key(w, "kept");
    jw_array(w);
    for (size_t i = 0; i < n; i++) {
        if (!plugins[i].kept)
            continue;
        jw_object(w);
        member_str(w, "plugin", plugins[i].plugin);
        member_int(w, "generation", plugins[i].generation);
        member_str(w, "kept_because", plugins[i].kept_because);
        jw_object_end(w);
    }
    jw_array_end(w);
    return 0;
}

int plugin_describe(request *rq, const plugin_describe_params *p, jw *w, dp_error *err)
{
    const char *path = NULL;
    server_info info;
    dp_manifest m;

    /* a path could tell another uid which files the daemon can read */
    if (path_of_file(rq, p->path, p->has_fd, p->fd, "plugin.describe by path", &path, err) < 0)
        return err->code;
    rq->daemon->info(rq->conn, &info);
    if (dp_plugin_find(path, info.plugin_path, dp_ctx_arena(rq->ctx), &path, err) < 0 ||
        dp_manifest_read(path, dp_ctx_arena(rq->ctx), &m, err) < 0)
        return err->code;
    jw_object(w);
    member_str(w, "plugin", m.plugin);
    member_str(w, "version", m.version);
    jw_key(w, "abi");
    jw_object(w);
    member_int(w, "major", m.abi_major);
    member_int(w, "minor", m.abi_minor);
    member_int(w, "target", m.abi_target);
    member_int(w, "draft", m.abi_draft);
    jw_object_end(w);
    write_counts(w, m.defs, m.impls, m.fallbacks);
    member_strings(w, "backends", m.backends, m.n_backends);
    member_str(w, "text", m.text);
    member_strings(w, "warnings", m.warnings, m.n_warnings);
    jw_object_end(w);
    return 0;
}
