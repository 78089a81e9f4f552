/* scrape.c -- the text of server.metrics.
 *
 * A client of the daemon's own uid gets all figures.  A client of another uid gets those of its
 * uid's requests, connections and sessions alone. */
#include "scrape.h"
#include "exposition.h"
#include "methods/methods.h"
#include "server.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* -- plugins whose code is gone -- */

int scrape_fold(server *s, dp_arena *a, dp_error *err)
{
    const dp_plugin_info *plugins;
    size_t n;
    int rc = dp_plugin_list(s->reg, a, &plugins, &n, err);
    uint64_t *live = rc == 0 ? dp_arena_alloc_n(a, n, sizeof(*live)) : NULL;

    if (live == NULL)
        return rc < 0 ? rc : dp_error_set(err, DP_ERESOURCE, "out of memory: %zu plugins", n);
    for (size_t i = 0; i < n; i++)
        live[i] = plugins[i].generation;
    metrics_fold(&s->metrics, live, n);
    return 0;
}

/* -- figures of connections and sessions -- */

typedef struct figures {
    uint64_t connections, paused, unsent;
    uint64_t waiting; /* connections with a request that waits for a thread */
    uint64_t oldest;  /* nanoseconds since the oldest request that waits was read */
    uint64_t sessions;
    dp_usage held[DP_HOLDERS];
} figures;

/* Sum up the figures of the connections and sessions that `asker` may see. */
static void collect(server *s, const struct session *asker, figures *f)
{
    uint64_t now = nanos();

    *f = (figures){0};
    pthread_mutex_lock(&s->connections_lock);
    for (const struct connection *c = s->connections; c != NULL; c = c->next) {
        if (!session_may_see(asker, c->user->uid))
            continue;
        f->connections++;
        f->paused += atomic_load_explicit(&c->paused, memory_order_relaxed);
        f->unsent += atomic_load(&c->unsent);
    }
    pthread_mutex_unlock(&s->connections_lock);
    pthread_mutex_lock(&s->executor.lock);
    for (const struct connection *c = s->executor.waiting; c != NULL; c = c->next_waiting) {
        uint64_t read = c->queue.head->rq.t_read;
        if (!session_may_see(asker, c->user->uid))
            continue;
        f->waiting++;
        f->oldest = now > read && now - read > f->oldest ? now - read : f->oldest;
    }
    pthread_mutex_unlock(&s->executor.lock);
    f->sessions = sessions_usage(&s->sessions, asker, f->held);
}

/* -- text -- */

typedef struct figure {
    const char *name, *type, *help;
    uint64_t value;
} figure;

static void write_figures(exposition *e, const figure *f, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        exposition_metric(e, f[i].name, f[i].type, f[i].help);
        exposition_count(e, NULL, 0, f[i].value);
    }
}

static void write_connections(exposition *e, const figures *f)
{
    const figure rows[] = {
        {"dispatchd_sessions", "gauge", "Sessions, those that linger included.", f->sessions},
        {"dispatchd_connections", "gauge", "Open connections.", f->connections},
        {"dispatchd_connections_paused", "gauge",
         "Connections that the daemon does not read, because too many requests or answers wait.",
         f->paused},
        {"dispatchd_connections_waiting", "gauge",
         "Connections whose next request waits for a thread.", f->waiting},
        {"dispatchd_unsent_bytes", "gauge", "Bytes of answers that clients have not read yet.",
         f->unsent},
    };

    write_figures(e, rows, sizeof(rows) / sizeof(rows[0]));
    exposition_metric(e, "dispatchd_queue_oldest_seconds", "gauge",
                      "Time since the oldest request that waits for a thread was read; 0: none.");
    exposition_seconds(e, NULL, 0, f->oldest);
}

static void write_held(exposition *e, const figures *f)
{
    exposition_metric(e, "dispatchd_held_bytes", "gauge",
                      "Bytes that sessions are charged for, by kind of charge.");
    for (int h = 0; h < DP_HOLDERS; h++)
        exposition_count(e, &(exposition_label){"holder", dp_holder_name(h)}, 1, f->held[h].bytes);
    exposition_metric(e, "dispatchd_held_things", "gauge",
                      "Things that sessions are charged for, by kind of charge.");
    for (int h = 0; h < DP_HOLDERS; h++)
        exposition_count(e, &(exposition_label){"holder", dp_holder_name(h)}, 1, f->held[h].count);
}

/* -- requests -- */

static const char *method_label(size_t i)
{
    return i < n_methods ? method_names[i] : i == n_methods ? "(batch)" : "(none)";
}

static void write_requests(exposition *e, const metric_copy *c)
{
    exposition_metric(e, "dispatchd_request_seconds", "histogram",
                      "Time from reading a request to its complete answer, by method.");
    for (size_t i = 0; i < n_methods + 2; i++) {
        const metric_times *t = &c->methods[i].times;
        uint64_t n = 0;
        for (size_t k = 0; k < METRIC_BUCKETS; k++)
            n += t->buckets[k];
        if (n > 0)
            exposition_histogram(e, &(exposition_label){"method", method_label(i)}, 1,
                                 metric_bounds, METRIC_BOUNDS, t->buckets, t->nanos);
    }
    exposition_metric(e, "dispatchd_request_errors_total", "counter",
                      "Requests that failed, by method and type of error.");
    for (size_t i = 0; i < n_methods + 2; i++)
        for (size_t k = 0; k < FAILURES; k++) {
            const exposition_label labels[] = {{"method", method_label(i)},
                                               {"type", metric_failures[k]}};
            if (c->methods[i].failures[k] > 0)
                exposition_count(e, labels, 2, c->methods[i].failures[k]);
        }
    exposition_metric(e, "dispatchd_limit_refusals_total", "counter",
                      "Requests, connections and messages refused, by the limit that they exceed.");
    for (size_t i = 0; i < METRIC_LIMITS; i++)
        if (c->refusals[i] > 0)
            exposition_count(e, &(exposition_label){"limit", metric_limit_name(i)}, 1,
                             c->refusals[i]);
}

/* -- calls -- */

enum { CALL_LABELS = 4, CALL_TEXT = 24 };

static void call_labels(const metric_series *s, char generation[CALL_TEXT],
                        exposition_label out[CALL_LABELS])
{
    bool over = s->op == NULL; /* the calls for which there was no series */

    if (over || s->kernel == 0)
        snprintf(generation, CALL_TEXT, "%s", over ? "(other)" : "(gone)");
    else
        snprintf(generation, CALL_TEXT, "%llu", (unsigned long long)s->generation);
    out[0] = (exposition_label){"operator", over ? "(other)" : s->op};
    out[1] = (exposition_label){"key", over ? "(other)" : s->key};
    out[2] = (exposition_label){"plugin", over ? "(other)" : s->plugin};
    out[3] = (exposition_label){"generation", generation};
}

static uint64_t calls_of(const metric_series *s)
{
    uint64_t n = 0;

    for (size_t k = 0; k < METRIC_BUCKETS; k++)
        n += s->times.buckets[k];
    return n;
}

static void write_calls_counter(exposition *e, const metric_series *s)
{
    char generation[CALL_TEXT];
    exposition_label labels[CALL_LABELS];

    call_labels(s, generation, labels);
    if (calls_of(s) > 0)
        exposition_count(e, labels, CALL_LABELS, calls_of(s));
}

static void write_calls_errors(exposition *e, const metric_series *s)
{
    char generation[CALL_TEXT];
    exposition_label labels[CALL_LABELS];

    call_labels(s, generation, labels);
    if (calls_of(s) > 0)
        exposition_count(e, labels, CALL_LABELS, s->errors);
}

static void write_calls_times(exposition *e, const metric_series *s)
{
    char generation[CALL_TEXT];
    exposition_label labels[CALL_LABELS];

    call_labels(s, generation, labels);
    if (calls_of(s) > 0)
        exposition_histogram(e, labels, CALL_LABELS, metric_bounds, METRIC_BOUNDS, s->times.buckets,
                             s->times.nanos);
}

static void write_calls(exposition *e, const metric_copy *c)
{
    static const struct {
        const char *name, *type, *help;
        void (*write)(exposition *e, const metric_series *s);
    } metrics_of_calls[] = {
        {"dispatchd_calls_total", "counter", "Calls of op.call, by the kernel that ran.",
         write_calls_counter},
        {"dispatchd_call_errors_total", "counter", "Calls of op.call whose kernel failed.",
         write_calls_errors},
        {"dispatchd_call_seconds", "histogram",
         "Time of the kernel of op.call and of all that it called.", write_calls_times},
    };

    for (size_t i = 0; i < sizeof(metrics_of_calls) / sizeof(metrics_of_calls[0]); i++) {
        exposition_metric(e, metrics_of_calls[i].name, metrics_of_calls[i].type,
                          metrics_of_calls[i].help);
        for (size_t k = 0; k < c->n_series; k++)
            metrics_of_calls[i].write(e, &c->series[k]);
        metrics_of_calls[i].write(e, &c->over);
    }
}

static void write_fallbacks(exposition *e, const dp_fallback_count *rows, size_t n)
{
    exposition_metric(e, "dispatchd_fallbacks_total", "counter",
                      "Calls that a backend served by its fallback, or handed to the CPU.");
    for (size_t i = 0; i < n; i++)
        exposition_count(e,
                         (const exposition_label[]){{"operator", rows[i].op}, {"key", rows[i].key}},
                         2, rows[i].calls);
    exposition_metric(e, "dispatchd_fallback_bytes_total", "counter",
                      "Bytes that fallbacks copied to the CPU and back.");
    for (size_t i = 0; i < n; i++)
        exposition_count(e,
                         (const exposition_label[]){{"operator", rows[i].op}, {"key", rows[i].key}},
                         2, rows[i].bytes);
}

static void write_shadows(exposition *e, const shadow_count *rows, size_t n)
{
    static const struct {
        const char *name, *help;
        size_t offset;
    } counters[] = {
        {"dispatchd_shadow_calls_total", "Calls that a second backend ran, too.",
         offsetof(shadow_count, calls)},
        {"dispatchd_shadow_differs_total", "Shadow calls whose results differ.",
         offsetof(shadow_count, differs)},
        {"dispatchd_shadow_failed_total", "Shadow calls that failed.",
         offsetof(shadow_count, failed)},
        {"dispatchd_shadow_dropped_total", "Shadow calls that were not run.",
         offsetof(shadow_count, dropped)},
    };

    for (size_t m = 0; m < sizeof(counters) / sizeof(counters[0]); m++) {
        exposition_metric(e, counters[m].name, "counter", counters[m].help);
        for (size_t i = 0; i < n; i++)
            exposition_count(
                e,
                (const exposition_label[]){{"operator", rows[i].op}, {"backend", rows[i].device}},
                2, *(const uint64_t *)((const char *)&rows[i] + counters[m].offset));
    }
}

/* -- what only the daemon's own uid sees -- */

static void write_server(exposition *e, server *s)
{
    dp_registry_stats r;
    dp_tensor_stats t;
    stuck_call stuck[WORKERS_MOST];

    dp_registry_stats_get(s->reg, &r);
    dp_tensor_stats_get(&t);
    const figure rows[] = {
        {"dispatchd_tensors", "gauge", "Tensors in the process, arguments of calls included.",
         t.tensors},
        {"dispatchd_storages", "gauge", "Storages in the process.", t.storages},
        {"dispatchd_storage_bytes", "gauge", "Bytes of all storages.", t.bytes},
        {"dispatchd_storage_peak_bytes", "gauge", "Most bytes that all storages had together.",
         t.bytes_peak},
        {"dispatchd_plugins", "gauge", "Loaded plugins.", r.plugins},
        {"dispatchd_operators", "gauge", "Operators.", r.ops},
        {"dispatchd_kernels", "gauge", "Registered kernels.", r.kernels},
        {"dispatchd_generations_draining", "gauge",
         "Replaced or unloaded plugins whose old code still runs.", r.draining},
        {"dispatchd_registry_changes_total", "counter", "Published changes of the registry.",
         r.snapshots},
        {"dispatchd_calls_stuck", "gauge",
         "Calls that still run after their deadline passed or their client left.",
         executor_stuck(&s->executor, stuck)},
        {"dispatchd_demotions_total", "counter",
         "Times that a kernel or method took too long for the event loop.",
         atomic_load(&s->placement.demotions)},
    };

    exposition_metric(e, "dispatchd_info", "gauge", "1; the daemon's version is a label.");
    exposition_count(e, &(exposition_label){"version", DISPATCHD_VERSION}, 1, 1);
    exposition_metric(e, "dispatchd_uptime_seconds", "gauge", "Time since the daemon started.");
    exposition_seconds(e, NULL, 0, nanos() - s->started);
    write_figures(e, rows, sizeof(rows) / sizeof(rows[0]));
    exposition_metric(e, "dispatchd_placed_calls_total", "counter",
                      "Calls of op.call, by the thread that ran them: loop or worker.");
    exposition_count(e, &(exposition_label){"thread", "loop"}, 1,
                     atomic_load(&s->placement.calls_inline));
    exposition_count(e, &(exposition_label){"thread", "worker"}, 1,
                     atomic_load(&s->placement.calls_worker));
    exposition_metric(e, "dispatchd_loop_turn_max_seconds", "gauge",
                      "Longest turn of the event loop in the last 60 to 75 seconds.");
    exposition_seconds(e, NULL, 0, turns_longest(&s->metrics.turns, nanos()));
}

/* Write the number of calls of each operator, which the library counts: also those by programs and
 * by other kernels. */
static int write_operators(exposition *e, server *s, dp_arena *a, dp_error *err)
{
    const dp_op_calls *rows;
    size_t n;
    int rc = dp_registry_calls(s->reg, a, &rows, &n, err);

    if (rc < 0)
        return rc;
    exposition_metric(e, "dispatchd_operator_calls_total", "counter",
                      "Calls of an operator by clients, programs and kernels; redispatches count.");
    for (size_t i = 0; i < n; i++)
        exposition_count(e, &(exposition_label){"operator", rows[i].op}, 1, rows[i].calls);
    return 0;
}

int scrape(request *rq, char **text, size_t *bytes, dp_error *err)
{
    server *s = rq->conn->server;
    dp_arena *a = dp_ctx_arena(rq->ctx);
    bool all = session_is_owner(rq->session);
    exposition e = {0};
    const metric_table *t = all ? &s->metrics.all : rq->conn->user->figures;
    metric_copy copy;
    dp_fallback_count *fallbacks;
    shadow_count *shadows;
    size_t n, n_shadows;
    figures f;

    if (scrape_fold(s, a, err) < 0 || metrics_copy(&s->metrics, t, a, &copy, err) < 0 ||
        metrics_fallbacks_copy(&s->metrics, t, NULL, a, &fallbacks, &n, err) < 0 ||
        request_shadows(rq, &shadows, &n_shadows, err) < 0)
        return err->code;
    collect(s, rq->session, &f);
    if (all)
        write_server(&e, s);
    write_connections(&e, &f);
    write_held(&e, &f);
    write_requests(&e, &copy);
    write_calls(&e, &copy);
    write_fallbacks(&e, fallbacks, n);
    write_shadows(&e, shadows, n_shadows);
    int rc = all ? write_operators(&e, s, a, err) : 0;
    if (rc == 0 && e.failed)
        rc = dp_error_set(err, DP_ERESOURCE, "out of memory: metrics of %zu bytes", e.len);
    if (rc < 0) {
        exposition_fini(&e);
        return rc;
    }
    *text = e.s;
    *bytes = e.len;
    return 0;
}
