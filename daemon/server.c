/* server.c -- the daemon's life: start, listening, signals, timers, draining and stop.
 *
 *   INIT -> SERVING --server.shutdown, SIGTERM or SIGINT--> DRAINING
 *   DRAINING --every connection is closed, or drain_ms have passed--> LEAVING
 *
 * While it drains, the daemon accepts no connections, but still answers everything that clients
 * sent before; each connection is closed after its last answer was sent.  All functions run on the
 * main thread, except those whose comments name another thread. */
#define _GNU_SOURCE
#include "cache.h"
#include "methods/methods.h"
#include "scrape.h"
#include "server.h"
#include "slice.h"
#include "systemd.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ACCEPT_ROUNDS = 16,    /* connections accepted before other events are handled */
    ACCEPT_AGAIN_MS = 100, /* pause after accept() failed */
    STOP_MS = 500,         /* time for workers to end calls whose results nobody waits for */
    DRAIN_MS = 5000,       /* time to drain after SIGTERM or SIGINT */
    LEAVE_MS = 5000,       /* time that the service manager leaves for the end after the drain */
};

/* -- results of workers -- */

static void begin_drain(server *s);

static void take_done(server *s)
{
    task *tasks;
    job_list done = executor_done(&s->executor, &tasks);
    job *j;

    /* who gets the answer of session.end, which is in `done`, relies on closed connections */
    if (atomic_exchange(&s->end_due, false))
        connections_close_ended(s);
    connection_notices_send(s); /* those of the requests in `done` come before their answers */
    while ((j = job_pop(&done)) != NULL)
        connection_answered(j, done.head == NULL || done.head->rq.conn != j->rq.conn);
    while (tasks != NULL) {
        task *t = tasks;
        tasks = t->next;
        t->done(t);
    }
}

static void on_async(uv_async_t *h)
{
    server *s = h->data;

    turn_begin(&s->metrics.turns);
    connections_notify(s);       /* before the answer of the request that changed the registry */
    connections_begin_opened(s); /* before it is looked whose sessions have ended */
    take_done(s);
    if (s->resume_due)
        connections_resume(s);
    if (atomic_exchange(&s->session_due, false))
        upkeep_sessions(s);
    if (atomic_exchange(&s->reap_due, false))
        upkeep_plugins(s);
    if (atomic_load(&s->shutdown) && !s->draining)
        begin_drain(s);
}

/* -- listening -- */

static void on_listener(uv_poll_t *h, int status, int events);

static int listen_again(server *s)
{
    return uv_poll_start(&s->listener, UV_READABLE, on_listener);
}

static void on_accept_again(uv_timer_t *h)
{
    listen_again(h->data);
}

/* Stop accepting for ACCEPT_AGAIN_MS after the failure `why`.  New clients wait in the queue of the
 * listening socket, which stays readable, so polling it would wake the loop again and again. */
static void pause_listening(server *s, const char *why)
{
    log_seldom(LOG_ERROR, "accept", "error=\"%s\"", why);
    uv_poll_stop(&s->listener);
    uv_timer_start(&s->accept, on_accept_again, ACCEPT_AGAIN_MS, 0);
}

/* Accept at most `max` connections.  Returns 0, or an errno. */
static int accept_some(server *s, int max)
{
    for (int i = 0; i < max; i++) {
        int fd = accept4(s->endpoint.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0)
            connection_accept(s, fd);
        else if (errno != EINTR && errno != ECONNABORTED)
            return errno;
    }
    return 0;
}

static void on_listener(uv_poll_t *h, int status, int events)
{
    server *s = h->data;

    (void)events;
    turn_begin(&s->metrics.turns);
    int why = status == 0 ? accept_some(s, ACCEPT_ROUNDS) : 0;
    if (status < 0)
        pause_listening(s, uv_strerror(status));
    else if (why != 0 && why != EAGAIN && why != EWOULDBLOCK)
        pause_listening(s, strerror(why));
}

static void stop_listening(server *s)
{
    if (s->listening) {
        uv_poll_stop(&s->listener);
        uv_timer_stop(&s->accept);
    }
    s->listening = false;
    endpoint_stop_listening(&s->endpoint);
}

/* -- the end -- */

static void on_drain_over(uv_timer_t *h)
{
    server *s = h->data;

    log_event(LOG_WARN, "server.drain", "connections=%u error=\"time is over\"",
              atomic_load(&s->n_connections));
    uv_stop(&s->loop);
}

static void begin_drain(server *s)
{
    int64_t ms = atomic_load(&s->drain_ms);

    log_event(LOG_INFO, "server.drain", "connections=%u drain_ms=%lld",
              atomic_load(&s->n_connections), (long long)ms);
    systemd_notify("STOPPING=1\nEXTEND_TIMEOUT_USEC=%lld", (long long)(ms + LEAVE_MS) * 1000);
    s->draining = true;
    /* clients in the queue of the listening socket may have sent requests already */
    accept_some(s, (int)LIMIT(CONNECTIONS));
    stop_listening(s);
    connections_begin_opened(s);
    executor_drain(&s->executor);
    uv_timer_start(&s->drain, on_drain_over, (uint64_t)ms, 0);
    connections_drain(s);
}

static void on_signal(uv_signal_t *h, int signum)
{
    server *s = h->data;

    if (s->draining || atomic_load(&s->shutdown)) { /* a second signal ends the process at once */
        log_event(LOG_WARN, "server.leave", "signal=%d status=1", signum);
        endpoint_remove(&s->endpoint);
        cache_remove(s->cache);
        _exit(1);
    }
    atomic_store(&s->drain_ms, DRAIN_MS);
    atomic_store(&s->shutdown, true);
    begin_drain(s);
}

static void on_hangup(uv_signal_t *h, int signum)
{
    (void)signum;
    reload_start(h->data);
}

/* -- functions for methods (daemon_calls); any thread -- */

static void ask_shutdown(struct connection *c, int64_t drain_ms)
{
    server *s = c->server;

    log_event(LOG_INFO, "server.shutdown", "connection=%llu drain_ms=%lld",
              (unsigned long long)c->number, (long long)drain_ms);
    atomic_store(&s->drain_ms, drain_ms > 0 ? drain_ms : 0);
    atomic_store(&s->shutdown, true);
    uv_async_send(&s->async);
}

static void usage_get(struct connection *c, const struct session *asker, dp_usage out[DP_HOLDERS])
{
    sessions_usage(&c->server->sessions, asker, out);
}

static int64_t sessions_get(struct connection *c, const struct session *asker, session_info **out,
                            dp_error *err)
{
    return sessions_list(&c->server->sessions, asker, out, err);
}

static int64_t users_get_all(struct connection *c, const struct session *asker, user_info **out,
                             dp_error *err)
{
    return users_list(&c->server->sessions, asker, out, err);
}

static int end_session(struct connection *c, const struct session *asker, uint64_t id,
                       unsigned *connections, dp_error *err)
{
    server *s = c->server;
    int rc = sessions_end(&s->sessions, asker, id, connections, err);

    if (rc == 0) {
        atomic_store(&s->end_due, true);
        upkeep_session_due(s); /* release what the session holds */
    }
    return rc;
}

/* Freed device memory waits for a stream that uses it: dp_plugin_reap() must run.  Any thread. */
static void on_memory_aside(void *arg)
{
    server *s = arg;

    atomic_store(&s->reap_due, true);
    uv_async_send(&s->async);
}

/* Log, and answer, that a plugin changed the process; the library has undone it.  Any thread. */
static void on_warning(const char *text, void *arg)
{
    (void)arg;
    log_event(LOG_WARN, "plugin.warning", "warning=\"%s\"", text);
    request_warn(text);
}

static void plugins_changed(struct connection *c)
{
    upkeep_plugins_changed(c->server);
}

static void info_get(struct connection *c, server_info *out)
{
    server *s = c->server;

    *out = (server_info){
        .uptime_ms = (nanos() - s->started) / 1000000,
        .sessions = sessions_count(&s->sessions),
        .connections = atomic_load(&s->n_connections),
        .requests = atomic_load(&s->requests),
        .calls_inline = atomic_load(&s->placement.calls_inline),
        .calls_worker = atomic_load(&s->placement.calls_worker),
        .demotions = atomic_load(&s->placement.demotions),
        .reg = s->reg,
        .plugin_path = s->options->plugin_path,
        .cache_dir = s->cache,
    };
}

static void watch(request *rq, uint64_t deadline)
{
    executor_watch(&rq->conn->server->executor, (job *)rq, deadline);
}

static size_t stuck_get(struct connection *c, stuck_call out[WORKERS_MOST])
{
    return executor_stuck(&c->server->executor, out);
}

static const daemon_calls calls = {
    .info = info_get,
    .held = usage_get,
    .sessions = sessions_get,
    .users = users_get_all,
    .session_end = end_session,
    .plugins_changed = plugins_changed,
    .shutdown = ask_shutdown,
    .open = connection_open,
    .join = connection_join,
    .session = connection_session,
    .cancel = connection_cancel,
    .watch = watch,
    .store = connection_store,
    .notify = connection_notify,
    .stuck = stuck_get,
    .metrics = scrape,
    .watch_registry = connection_watch,
    .watch_gradients = connection_watch_gradients,
};

/* -- start and finish -- */

static int init_loop(server *s, dp_error *err)
{
    int rc = uv_loop_init(&s->loop);

    if (rc < 0)
        return dp_error_set(err, DP_ERUNTIME, "event loop: %s", uv_strerror(rc));
    rc = uv_async_init(&s->loop, &s->async, on_async);
    if (rc < 0) {
        uv_loop_close(&s->loop);
        return dp_error_set(err, DP_ERUNTIME, "event loop: %s", uv_strerror(rc));
    }
    dp_on_aside(on_memory_aside, s);
    dp_on_warning(on_warning, NULL);
    uv_timer_init(&s->loop, &s->reap);
    uv_timer_init(&s->loop, &s->linger);
    uv_timer_init(&s->loop, &s->drain);
    uv_timer_init(&s->loop, &s->accept);
    uv_timer_init(&s->loop, &s->waiting);
    uv_prepare_init(&s->loop, &s->turn);
    uv_prepare_start(&s->turn, connections_turn);
    spin_init(s);
    uv_signal_init(&s->loop, &s->sigterm);
    uv_signal_init(&s->loop, &s->sigint);
    uv_signal_init(&s->loop, &s->sighup);
    s->async.data = s->reap.data = s->linger.data = s->drain.data = s;
    s->accept.data = s->waiting.data = s->turn.data = s;
    s->sigterm.data = s->sigint.data = s->sighup.data = s;
    s->looping = true;
    /* Handle signals before clients can connect: a client that gets an answer may send a signal,
     * and the daemon must then drain as documented. */
    rc = uv_signal_start(&s->sigterm, on_signal, SIGTERM);
    if (rc == 0)
        rc = uv_signal_start(&s->sigint, on_signal, SIGINT);
    if (rc == 0)
        rc = uv_signal_start(&s->sighup, on_hangup, SIGHUP);
    return rc < 0 ? dp_error_set(err, DP_ERUNTIME, "signals: %s", uv_strerror(rc)) : 0;
}

/* Log a status text (note) that a plugin provides.  Any thread. */
static void on_note(void *arg, const char *plugin, const char *name, const char *text)
{
    (void)arg;
    log_event(LOG_INFO, "plugin.note", "plugin='%s' %s='%s'", plugin, name, text);
}

/* The registry has changed; it holds its lock, so changes are added in their order.  Any thread. */
static void on_changed(void *arg, const char *plugin, uint64_t generation, uint32_t added,
                       uint32_t removed)
{
    server *s = arg;

    if (changes_add(&s->changes, plugin, generation, added, removed))
        uv_async_send(&s->async);
}

static int init_engine(server *s, dp_error *err)
{
    if (dp_registry_new(&s->reg, err) < 0 || placement_init(&s->placement, s->reg, err) < 0 ||
        dp_registry_listen(s->reg, &s->registry_listener, err) < 0)
        return err->code;
    s->sessions.on_end = plugins_session_ended;
    s->sessions.on_end_arg = s->reg;
    sigset_t old = signals_block();
    int rc =
        dp_thread_pool_start((int)(s->options->threads > 0 ? s->options->threads - 1 : 0), err);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc < 0 || cache_open(s->options->cache_dir, &s->cache, &s->cache_fd, err) < 0 ||
        plugins_load(s, err) < 0)
        return err->code;
    if (executor_init(&s->executor, &s->loop, &s->async, &s->placement,
                      (unsigned)s->options->workers, err) < 0)
        return err->code;
    s->executing = true;
    return 0;
}

/* Serve the socket of --serve-fd. */
static int init_inherited(server *s, dp_error *err)
{
    int fd;

    if (endpoint_inherit(s->options->serve_fd, &fd, err) < 0)
        return err->code;
    s->serves_one = true;
    if (!connection_accept(s, fd))
        return dp_error_set(err, DP_EPERM, "--serve-fd: the client was refused; the log says why");
    return upkeep_plugins(s);
}

static int init_listener(server *s, dp_error *err)
{
    if (s->options->serve_fd >= 0)
        return init_inherited(s, err);
    if (endpoint_listen(&s->endpoint, s->options->mode, err) < 0)
        return err->code;
    int rc = uv_poll_init(&s->loop, &s->listener, s->endpoint.fd);
    s->listening = rc == 0;
    s->listener.data = s;
    if (rc == 0)
        rc = listen_again(s);
    if (rc < 0)
        return dp_error_set(err, DP_ERUNTIME, "listener: %s", uv_strerror(rc));
    return upkeep_plugins(s);
}

int server_init(server *s, const options *o, int argc, char **argv, dp_error *err)
{
    int64_t limits[LIMITS];

    memset(s, 0, sizeof(*s)); /* memset(), because `(server){0}` would need too much stack */
    s->options = o;
    s->argc = argc;
    s->argv = argv;
    s->calls = &calls;
    s->cache_fd = -1;
    s->started = nanos();
    int rc = limits_compute(o, limits, err);
    limits_apply(limits);
    sessions_init(&s->sessions, limits);
    s->sessions.metrics = &s->metrics;
    pthread_mutex_init(&s->notices.lock, NULL);
    s->store.dir = -1;
    pthread_mutex_init(&s->connections_lock, NULL);
    changes_init(&s->changes);
    shadow_init(&s->shadow);
    canary_init(&s->canary, s);
    s->registry_listener = (dp_listener){.changed = on_changed, .arg = s, .noted = on_note};
    s->sessions.on_due = upkeep_session_due;
    s->sessions.on_due_arg = s;
    if (metrics_init(&s->metrics, err) < 0 || store_open(&s->store, o->data_path, err) < 0 ||
        endpoint_open(&s->endpoint, o, err) < 0)
        return err->code;
    if (rc < 0 || init_loop(s, err) < 0 || init_engine(s, err) < 0 || init_listener(s, err) < 0)
        return err->code;
    log_event(LOG_INFO, "server.start", "version=%s pid=%ld socket='%s' workers=%lld threads=%lld",
              DISPATCHD_VERSION, (long)getpid(), s->endpoint.path != NULL ? s->endpoint.path : "",
              (long long)o->workers, (long long)o->threads);
    return 0;
}

void server_run(server *s)
{
    slice_shorten(); /* if it is refused, short calls of a busy machine only wait longer */
    uv_run(&s->loop, UV_RUN_DEFAULT);
}

static void close_handle(uv_handle_t *h, void *arg)
{
    (void)arg;
    if (!uv_is_closing(h))
        uv_close(h, NULL);
}

/* Stop the threads, process their results, close the loop's handles.  false: some still run. */
static bool stop(server *s)
{
    s->leaving = true;
    connections_close(s);
    if (s->executing) {
        uint64_t until = nanos() + STOP_MS * UINT64_C(1000000);
        if (!executor_stop(&s->executor, until) || !shadow_stop(&s->shadow, until))
            return false;
        connections_close(s); /* those that the last requests have opened */
        take_done(s);
        take_done(s); /* again, for the jobs that tasks of the first call have returned */
        executor_fini(&s->executor);
    }
    dp_on_aside(NULL, NULL);
    uv_walk(&s->loop, close_handle, NULL);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    uv_loop_close(&s->loop);
    return true;
}

bool server_fini(server *s)
{
    stop_listening(s);
    if (s->looping && !stop(s)) {
        endpoint_remove(&s->endpoint);
        cache_remove(s->cache);
        return false;
    }
    endpoint_close(&s->endpoint);
    sessions_fini(&s->sessions);
    reload_fini(s);
    store_close(&s->store);
    connection_notices_drop(s);
    shadow_fini(&s->shadow);
    metrics_fini(&s->metrics);
    changes_fini(&s->changes);
    placement_fini(&s->placement);
    if (s->reg != NULL)
        dp_registry_unlisten(s->reg, &s->registry_listener);
    if (dp_registry_free(s->reg) != NULL) { /* a thread of a plugin still runs */
        cache_remove(s->cache);
        return false;
    }
    cache_close(s->cache, s->cache_fd);
    dp_thread_pool_stop();
    return true;
}
