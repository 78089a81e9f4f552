/* server.c -- the daemon's life: plugins, listening, signals, timers, draining, the end.
 *
 *   INIT -> SERVING --shutdown, SIGTERM--> DRAINING --all answered, or drain_ms--> LEAVING
 *
 * Draining, nobody is accepted, what every client has sent so far is still answered, and
 * connections close as they run dry.  Loop thread, but server_facts_get, server_shutdown and
 * server_session_left. */
#define _GNU_SOURCE
#include "server.h"
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ACCEPT_ROUNDS = 16, REAP_MS = 1000, STOP_MS = 50, PATH_BYTES = 4096 };

/* -- plugins at the start -- */

static int load_plugin(server *s, const char *path, dp_error *err)
{
    dp_load_options lo = {.size = sizeof(lo),
                          .search_path = s->options->plugin_path,
                          .cache_dir = s->options->cache_dir};
    dp_plugin_report r;
    dp_arena *a = dp_arena_new();
    char *real = strchr(path, '/') != NULL ? realpath(path, NULL) : NULL;

    if (a == NULL)
        dp_error_set(err, DP_ERESOURCE, "out of memory: plugin '%s'", path);
    else if (strchr(path, '/') != NULL && real == NULL)
        dp_error_set(err, DP_ENOTFOUND, "plugin '%s': %s", path, strerror(errno));
    else if (dp_plugin_load(s->reg, real != NULL ? real : path, &lo, a, &r, err) == 0)
        log_event(LOG_INFO, "plugin.load",
                  "plugin='%s' generation=%llu defs=%u impls=%u millis=%.1f path='%s'", r.plugin,
                  (unsigned long long)r.generation, r.defs, r.impls, r.millis, path);
    free(real);
    dp_arena_free(a);
    return err->code;
}

static int is_plugin(const struct dirent *d)
{
    size_t n = strlen(d->d_name);

    return n > 3 && d->d_name[0] != '.' && strcmp(d->d_name + n - 3, ".so") == 0;
}

/* aten first, since it defines what the others implement; then by name. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    bool a_first = strcmp((*a)->d_name, "aten.so") == 0,
         b_first = strcmp((*b)->d_name, "aten.so") == 0;

    return a_first != b_first ? (int)b_first - (int)a_first : strcmp((*a)->d_name, (*b)->d_name);
}

/* plugins/ beside the executable. */
static int load_own_plugins(server *s, dp_error *err)
{
    char directory[PATH_BYTES], path[PATH_BYTES + 256];
    struct dirent **found = NULL;
    ssize_t length = readlink("/proc/self/exe", directory, sizeof(directory) - 16);

    if (length < 0)
        return dp_error_set(err, DP_ERUNTIME, "/proc/self/exe: %s", strerror(errno));
    directory[length] = '\0';
    snprintf(strrchr(directory, '/'), 16, "/plugins");
    int n = scandir(directory, &found, is_plugin, by_name);
    if (n < 0 && errno != ENOENT)
        return dp_error_set(err, DP_ERUNTIME, "'%s': %s", directory, strerror(errno));
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof(path), "%s/%s", directory, found[i]->d_name);
        if (err->code == 0)
            load_plugin(s, path, err);
        free(found[i]);
    }
    free(found);
    return err->code;
}

static int load_plugins(server *s, dp_error *err)
{
    if (!s->options->no_plugins && load_own_plugins(s, err) < 0)
        return err->code;
    for (size_t i = 0; i < s->options->n_plugins; i++)
        if (load_plugin(s, s->options->plugins[i], err) < 0)
            return err->code;
    return 0;
}

/* -- what comes back from workers -- */

static void begin_drain(server *s);
static void start_linger(server *s);

static void take_done(server *s)
{
    task *tasks;
    job_list done = executor_done(&s->executor, &tasks);
    job *j;

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

    take_done(s);
    if (atomic_exchange(&s->left, false))
        start_linger(s);
    if (atomic_load(&s->shutdown) && !s->draining)
        begin_drain(s);
}

static void on_tick(uv_timer_t *h)
{
    server *s = h->data;

    if (!executor_tick(&s->executor))
        uv_timer_stop(h);
}

void server_tick_start(server *s)
{
    if (!s->leaving && !uv_is_active((uv_handle_t *)&s->tick))
        uv_timer_start(&s->tick, on_tick, EXECUTOR_TICK_MS, EXECUTOR_TICK_MS);
}

static void start_task(server *s, task *t)
{
    if (executor_task(&s->executor, t))
        server_tick_start(s);
}

/* Old generations that nobody runs any more are closed on a worker: dlclose may block. */
static void reap_work(task *t)
{
    server *s = t->arg;

    dp_plugin_reap(s->reg);
}

static void reap_done(task *t)
{
    server *s = t->arg;

    s->reaping = false;
}

static void on_reap(uv_timer_t *h)
{
    server *s = h->data;

    if (s->reaping)
        return;
    s->reaping = true;
    s->reap_task = (task){.work = reap_work, .done = reap_done, .arg = s};
    start_task(s, &s->reap_task);
}

/* Sessions end on a worker: one may have a million tensors. */
static void linger_work(task *t)
{
    server *s = t->arg;

    s->linger_next = sessions_reap(&s->sessions, nanos(), false);
}

static void on_linger(uv_timer_t *h)
{
    start_linger(h->data);
}

static void linger_done(task *t)
{
    server *s = t->arg;
    uint64_t now = nanos(), at = s->linger_next;

    s->lingering = false;
    if (at != 0 && !s->leaving)
        uv_timer_start(&s->linger, on_linger, at > now ? (at - now) / 1000000 + 1 : 1, 0);
}

static void start_linger(server *s)
{
    if (s->leaving)
        return;
    if (s->lingering) { /* it may have passed that session already: look again */
        atomic_store(&s->left, true);
        uv_timer_start(&s->linger, on_linger, 1, 0);
        return;
    }
    s->lingering = true;
    s->linger_task = (task){.work = linger_work, .done = linger_done, .arg = s};
    start_task(s, &s->linger_task);
}

void server_session_left(server *s)
{
    atomic_store(&s->left, true);
    uv_async_send(&s->async);
}

/* -- listening -- */

static void on_listener(uv_poll_t *h, int status, int events)
{
    server *s = h->data;

    (void)events;
    for (int i = 0; status == 0 && i < ACCEPT_ROUNDS; i++) {
        int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            connection_accept(s, fd);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            log_event(LOG_ERROR, "accept", "error=\"%s\"", strerror(errno));
            usleep(1000); /* the listener stays readable: do not spin on it */
        }
        return;
    }
}

static void stop_listening(server *s)
{
    if (s->fd < 0)
        return;
    if (s->listening)
        uv_poll_stop(&s->listener);
    close(s->fd);
    s->fd = -1;
    unlink(s->path);
}

/* -- the end -- */

static void on_drain_over(uv_timer_t *h)
{
    server *s = h->data;

    log_event(LOG_WARN, "server.drain", "connections=%u error=\"time is over\"",
              atomic_load(&s->n_connections));
    uv_stop(&s->loop);
}

void server_check_drained(server *s)
{
    if (s->draining && s->connections == NULL)
        uv_stop(&s->loop);
}

static void begin_drain(server *s)
{
    int64_t ms = atomic_load(&s->drain_ms);

    log_event(LOG_INFO, "server.drain", "connections=%u drain_ms=%lld",
              atomic_load(&s->n_connections), (long long)ms);
    s->draining = true;
    s->deadline = nanos() + (uint64_t)ms * 1000000;
    stop_listening(s);
    uv_timer_start(&s->drain, on_drain_over, (uint64_t)ms, 0);
    for (struct connection *c = s->connections, *next; c != NULL; c = next) {
        next = c->next; /* draining c closes no other connection */
        connection_drain(c);
    }
    server_check_drained(s);
}

static void on_signal(uv_signal_t *h, int signum)
{
    server *s = h->data;

    if (s->draining || atomic_load(&s->shutdown)) { /* asked twice: at once */
        log_event(LOG_WARN, "server.leave", "signal=%d status=1", signum);
        stop_listening(s);
        unlink(s->lock_path);
        _exit(1);
    }
    atomic_store(&s->drain_ms, SERVER_DRAIN_MS);
    atomic_store(&s->shutdown, true);
    begin_drain(s);
}

void server_shutdown(struct connection *c, int64_t drain_ms)
{
    server *s = c->server;

    atomic_store(&s->drain_ms, drain_ms > 0 ? drain_ms : 0);
    atomic_store(&s->shutdown, true);
    uv_async_send(&s->async);
}

void server_facts_get(struct connection *c, server_facts *out)
{
    server *s = c->server;

    *out = (server_facts){
        .uptime_ms = (nanos() - s->started) / 1000000,
        .sessions = sessions_count(&s->sessions),
        .connections = atomic_load(&s->n_connections),
        .requests = atomic_load(&s->requests),
        .calls_inline = atomic_load(&s->executor.calls_inline),
        .calls_worker = atomic_load(&s->executor.calls_worker),
        .demotions = atomic_load(&s->executor.demotions),
        .reg = s->reg,
        .plugin_path = s->options->plugin_path,
        .cache_dir = s->options->cache_dir,
        .limit_line = (size_t)s->options->max_line,
        .limit_attachment = (size_t)s->options->max_attachment,
    };
}

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
    uv_timer_init(&s->loop, &s->tick);
    uv_timer_init(&s->loop, &s->reap);
    uv_timer_init(&s->loop, &s->linger);
    uv_timer_init(&s->loop, &s->drain);
    uv_signal_init(&s->loop, &s->sigterm);
    uv_signal_init(&s->loop, &s->sigint);
    s->async.data = s->tick.data = s->reap.data = s->linger.data = s->drain.data = s;
    s->sigterm.data = s->sigint.data = s;
    s->looping = true;
    return 0;
}

static int init_engine(server *s, dp_error *err)
{
    if (dp_registry_new(&s->reg, err) < 0 || dp_ctx_new(s->reg, &s->ctx, err) < 0)
        return err->code;
    sigset_t old = signals_block();
    int rc = dp_pool_start((int)(s->options->threads > 0 ? s->options->threads - 1 : 0), err);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc < 0 || load_plugins(s, err) < 0)
        return err->code;
    if (executor_init(&s->executor, s->reg, &s->async, (unsigned)s->options->workers, err) < 0)
        return err->code;
    s->executing = true;
    return 0;
}

static int init_listener(server *s, dp_error *err)
{
    if (endpoint_listen(s->path, s->options->mode, &s->fd, err) < 0)
        return err->code;
    int rc = uv_poll_init(&s->loop, &s->listener, s->fd);
    s->listening = rc == 0;
    s->listener.data = s;
    if (rc == 0)
        rc = uv_poll_start(&s->listener, UV_READABLE, on_listener);
    if (rc == 0)
        rc = uv_signal_start(&s->sigterm, on_signal, SIGTERM);
    if (rc == 0)
        rc = uv_signal_start(&s->sigint, on_signal, SIGINT);
    if (rc < 0)
        return dp_error_set(err, DP_ERUNTIME, "listener: %s", uv_strerror(rc));
    return uv_timer_start(&s->reap, on_reap, REAP_MS, REAP_MS);
}

static int init_path(server *s, dp_error *err)
{
    if (endpoint_path(s->options, &s->path, err) < 0)
        return err->code;
    size_t bytes = strlen(s->path) + sizeof(".lock");
    s->lock_path = dp_malloc(bytes);
    if (s->lock_path == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: socket path");
    snprintf(s->lock_path, bytes, "%s.lock", s->path);
    return endpoint_lock(s->path, s->lock_path, &s->lock_fd, err);
}

int server_init(server *s, const options *o, dp_error *err)
{
    memset(s, 0, sizeof(*s));
    s->options = o;
    s->fd = s->lock_fd = -1;
    s->started = nanos();
    sessions_init(&s->sessions);
    if (init_path(s, err) < 0 || init_loop(s, err) < 0 || init_engine(s, err) < 0 ||
        init_listener(s, err) < 0)
        return err->code;
    log_event(LOG_INFO, "server.start", "version=%s pid=%ld socket='%s' workers=%lld threads=%lld",
              DISPATCHD_VERSION, (long)getpid(), s->path, (long long)o->workers,
              (long long)o->threads);
    return 0;
}

void server_run(server *s)
{
    uv_run(&s->loop, UV_RUN_DEFAULT);
}

static void close_handle(uv_handle_t *h, void *arg)
{
    (void)arg;
    if (!uv_is_closing(h))
        uv_close(h, NULL);
}

/* Workers first, then what they gave back, then the handles. */
static bool stop(server *s)
{
    uint64_t deadline = nanos() + STOP_MS * 1000000;

    s->leaving = true;
    while (s->connections != NULL)
        connection_close(s->connections);
    if (s->executing) {
        if (!executor_stop(&s->executor, s->deadline > deadline ? s->deadline : deadline))
            return false;
        take_done(s);
        executor_fini(&s->executor);
    }
    uv_walk(&s->loop, close_handle, NULL);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    uv_loop_close(&s->loop);
    return true;
}

bool server_fini(server *s)
{
    stop_listening(s);
    bool whole = !s->looping || stop(s);
    if (s->lock_fd >= 0)
        unlink(s->lock_path);
    if (!whole)
        return false;
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    sessions_fini(&s->sessions);
    dp_ctx_free(s->ctx);
    dp_registry_free(s->reg);
    dp_pool_stop();
    dp_free(s->path);
    dp_free(s->lock_path);
    return true;
}
