/* reload.c -- SIGHUP: reopens the log and reads the config file again.
 *
 * A worker reads the files; then the main thread applies the options, all of them or, if one is
 * wrong, none.  The log is reopened in any case, so that log files can be rotated. */
#include "server.h"
#include <string.h>

typedef struct reload {
    options next;
    int64_t limits[LIMITS];
    dp_error err;
} reload;

static void read_work(task *t)
{
    server *s = t->arg;
    reload *r = s->reload;
    dp_error ignored = DP_ERROR_INIT;

    /* `reloaded` changes only when this task is done */
    if (server_options(s)->log != NULL && log_open(server_options(s)->log, &ignored) < 0)
        log_event(LOG_ERROR, "server.reload", "error=\"%s\"", ignored.message);
    if (options_parse(&r->next, s->argc, s->argv, &r->err) < 0 ||
        limits_compute(&r->next, r->limits, &r->err) < 0)
        return;
    log_open(r->next.log, &r->err);
}

static void report_restart(const char *name)
{
    log_event(LOG_WARN, "server.reload.restart",
              "key='%s' warning=\"this option takes effect when the daemon starts again\"", name);
}

static void apply(server *s, reload *r)
{
    options *kept = dp_malloc(sizeof(*kept));

    if (kept == NULL) {
        dp_error_set(&r->err, DP_ERESOURCE, "out of memory: options");
        return;
    }
    log_level_set(r->next.log_level);
    log_format_set(r->next.log_format);
    limits_apply(r->limits);
    sessions_limits(&s->sessions, r->limits);
    options_need_restart(s->options, &r->next, report_restart);
    reload_fini(s);
    *kept = r->next;
    r->next = (options){0};
    s->reloaded = kept;
}

static void report_error(const char *message)
{
    log_event(LOG_ERROR, "server.reload", "error=\"%s\"", message);
}

static void read_done(task *t)
{
    server *s = t->arg;
    reload *r = s->reload;

    if (r->err.code == 0)
        apply(s, r);
    if (r->err.code == 0) {
        log_event(LOG_INFO, "server.reload", "config='%s'",
                  s->reloaded->config != NULL ? s->reloaded->config : "");
    } else {
        options_report(&r->next, &r->err, report_error);
        log_event(LOG_ERROR, "server.reload", "warning=\"the options that were in force stay\"");
    }
    options_fini(&r->next);
    dp_free(r);
    s->reload = NULL;
    if (s->reload_again && !s->leaving)
        reload_start(s);
}

void reload_start(server *s)
{
    s->reload_again = s->reload != NULL;
    if (s->reload_again || s->leaving)
        return;
    s->reload = dp_calloc(1, sizeof(*s->reload));
    if (s->reload == NULL) {
        log_event(LOG_ERROR, "server.reload", "error=\"out of memory\"");
        return;
    }
    s->reload_task = (task){.work = read_work, .done = read_done, .arg = s};
    executor_task(&s->executor, &s->reload_task);
}

void reload_fini(server *s)
{
    if (s->reloaded != NULL)
        options_fini(s->reloaded);
    dp_free(s->reloaded);
    s->reloaded = NULL;
}
