/* server.c -- the daemon's life: plugins, listening, signals, timers, draining, the end.
 *
 *   INIT -> SERVING --server.shutdown, SIGTERM--> DRAINING --all answered, or drain_ms--> LEAVING
 *
 * While it drains, it accepts nobody and still answers what every client has sent by then; each
 * connection closes when its last answer is sent.  Loop thread, but for on_session_left() and what
 * daemon_calls says. */
#define _GNU_SOURCE
#include "server.h"
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ACCEPT_ROUNDS = 16,    /* connections accepted before others have their turn */
    ACCEPT_AGAIN_MS = 100, /* after a failure */
    REAP_MS = 1000,        /* how often old generations of plugins are looked for */
    STOP_MS = 50,          /* workers have at least so long to finish when the daemon leaves */
    DRAIN_MS = 5000,       /* after SIGTERM or SIGINT */
    PATH_BYTES = 4096,
    CONNECTIONS_LEAST = 2,
    DESCRIPTORS_KEPT = 64 /* for what is no connection: plugins' files, the log, clients' files */
};

/* -- plugins at the start -- */

int plugin_file(const char *word, const char *plugin_path, dp_arena *a, const char **out,
                dp_error *err)
{
    char here[PATH_BYTES];

    /* Links in the path are not resolved, so that a reload sees where they lead by then. */
    if (word[0] != '/' && strchr(word, '/') != NULL && getcwd(here, sizeof(here)) != NULL)
        word = dp_arena_printf(a, "%s/%s", here, word + 2 * (strncmp(word, "./", 2) == 0));
    if (word == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: a plugin's path");
    if (dp_plugin_find(word, plugin_path, a, out, err) == DP_ENOTFOUND && access(word, F_OK) == 0) {
        dp_error found = *err;
        dp_error_set(err, DP_ENOTFOUND, "%s; a path needs a '/': './%s'", found.message, word);
    }
    return err->code;
}

static int load_plugin(server *s, const char *path, dp_error *err)
{
    dp_load_options lo = {.size = sizeof(lo), .cache_dir = s->cache};
    dp_plugin_report r;
    dp_arena *a = dp_arena_new();

    if (a == NULL)
        dp_error_set(err, DP_ERESOURCE, "out of memory: a plugin's path");
    else if (plugin_file(path, s->options->plugin_path, a, &path, err) == 0 &&
             dp_plugin_load(s->reg, path, &lo, a, &r, err) == 0)
        log_event(LOG_INFO, "plugin.load",
                  "plugin='%s' generation=%llu defs=%u impls=%u millis=%.1f path='%s'", r.plugin,
                  (unsigned long long)r.generation, r.defs, r.impls, r.millis, path);
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

/* Load plugins/ beside the executable. */
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
static int start_reap(server *s);

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
    if (atomic_exchange(&s->changed, false))
        start_reap(s);
    if (atomic_load(&s->shutdown) && !s->draining)
        begin_drain(s);
}

/* Close old generations of plugins that no thread runs any more, on a worker: dlclose may block. */
static void reap_work(task *t)
{
    server *s = t->arg;

    s->reap_left = dp_plugin_reap(s->reg);
}

static void reap_done(task *t)
{
    server *s = t->arg;

    s->reaping = false;
    if (s->reap_left == 0 && !atomic_load(&s->changed))
        uv_timer_stop(&s->reap);
}

static void on_reap(uv_timer_t *h)
{
    server *s = h->data;

    if (s->reaping)
        return;
    s->reaping = true;
    s->reap_task = (task){.work = reap_work, .done = reap_done, .arg = s};
    executor_task(&s->executor, &s->reap_task);
}

/* Not while there is nothing to close: with a timer the system takes longer to wait for requests. */
static int start_reap(server *s)
{
    return uv_is_active((uv_handle_t *)&s->reap)
               ? 0
               : uv_timer_start(&s->reap, on_reap, REAP_MS, REAP_MS);
}

/* Sessions end on a worker: one may have a million tensors.  After the last one nobody wants memory soon. */
static void linger_work(task *t)
{
    server *s = t->arg;

    s->linger_next = sessions_reap(&s->sessions, nanos(), false);
    if (sessions_count(&s->sessions) == 0) {
        dp_memory_trim(0);
        malloc_trim(0);
    }
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
    if (s->lingering) { /* the task may have passed the session that is due: look once more */
        atomic_store(&s->left, true);
        uv_timer_start(&s->linger, on_linger, 1, 0);
        return;
    }
    s->lingering = true;
    s->linger_task = (task){.work = linger_work, .done = linger_done, .arg = s};
    executor_task(&s->executor, &s->linger_task);
}

/* sessions.on_left; any thread. */
static void on_session_left(void *arg)
{
    server *s = arg;

    atomic_store(&s->left, true);
    uv_async_send(&s->async);
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

/* Nobody can be accepted just now.  Clients wait in the listener's queue, and it stays readable, so
 * it is not polled for a while. */
static void pause_listening(server *s, const char *why)
{
    log_seldom(LOG_ERROR, "accept", "error=\"%s\"", why);
    uv_poll_stop(&s->listener);
    uv_timer_start(&s->accept, on_accept_again, ACCEPT_AGAIN_MS, 0);
}

/* Accept at most `most` connections; 0, or errno. */
static int accept_some(server *s, int most)
{
    for (int i = 0; i < most; i++) {
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
    int why = status == 0 ? accept_some(s, ACCEPT_ROUNDS) : 0;

    (void)events;
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
    endpoint_deafen(&s->endpoint);
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
    s->draining = true;
    s->deadline = nanos() + (uint64_t)ms * 1000000;
    accept_some(s, LIMIT_CONNECTIONS); /* clients in the queue may have sent requests already */
    stop_listening(s);
    uv_timer_start(&s->drain, on_drain_over, (uint64_t)ms, 0);
    connections_drain(s);
}

static void on_signal(uv_signal_t *h, int signum)
{
    server *s = h->data;

    if (s->draining || atomic_load(&s->shutdown)) { /* the second time: leave at once */
        log_event(LOG_WARN, "server.leave", "signal=%d status=1", signum);
        endpoint_remove(&s->endpoint);
        cache_remove(s->cache);
        _exit(1);
    }
    atomic_store(&s->drain_ms, DRAIN_MS);
    atomic_store(&s->shutdown, true);
    begin_drain(s);
}

/* -- what methods ask; any thread -- */

static void ask_shutdown(struct connection *c, int64_t drain_ms)
{
    server *s = c->server;

    log_event(LOG_INFO, "server.shutdown", "connection=%llu drain_ms=%lld",
              (unsigned long long)c->number, (long long)drain_ms);
    atomic_store(&s->drain_ms, drain_ms > 0 ? drain_ms : 0);
    atomic_store(&s->shutdown, true);
    uv_async_send(&s->async);
}

static void held_get(struct connection *c, dp_held out[DP_HOLDERS])
{
    sessions_held(&c->server->sessions, out);
}

/* Device memory was put aside: it is looked for until it is released. */
static void on_aside(void *arg)
{
    server *s = arg;

    atomic_store(&s->changed, true);
    uv_async_send(&s->async);
}

static void plugins_changed(struct connection *c)
{
    atomic_store(&c->server->changed, true); /* seen when its worker is done */
}

static void facts_get(struct connection *c, server_facts *out)
{
    server *s = c->server;

    *out = (server_facts){
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
        .limits = s->limits,
    };
}

static const daemon_calls calls = {
    .facts = facts_get,
    .held = held_get,
    .plugins_changed = plugins_changed,
    .shutdown = ask_shutdown,
    .join = connection_join,
    .session = connection_session,
    .cancel = connection_cancel,
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
    dp_on_aside(on_aside, s);
    uv_timer_init(&s->loop, &s->reap);
    uv_timer_init(&s->loop, &s->linger);
    uv_timer_init(&s->loop, &s->drain);
    uv_timer_init(&s->loop, &s->accept);
    uv_signal_init(&s->loop, &s->sigterm);
    uv_signal_init(&s->loop, &s->sigint);
    s->async.data = s->reap.data = s->linger.data = s->drain.data = s;
    s->accept.data = s;
    s->sigterm.data = s->sigint.data = s;
    s->looping = true;
    /* before anybody can connect: who is answered may tell us to leave, and we do as documented */
    rc = uv_signal_start(&s->sigterm, on_signal, SIGTERM);
    if (rc == 0)
        rc = uv_signal_start(&s->sigint, on_signal, SIGINT);
    return rc < 0 ? dp_error_set(err, DP_ERUNTIME, "signals: %s", uv_strerror(rc)) : 0;
}

static int init_engine(server *s, dp_error *err)
{
    if (dp_registry_new(&s->reg, err) < 0 || placement_init(&s->placement, s->reg, err) < 0)
        return err->code;
    sigset_t old = signals_block();
    int rc = dp_pool_start((int)(s->options->threads > 0 ? s->options->threads - 1 : 0), err);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc < 0 || cache_open(s->options->cache_dir, &s->cache, &s->cache_fd, err) < 0 ||
        load_plugins(s, err) < 0)
        return err->code;
    if (executor_init(&s->executor, &s->loop, &s->async, &s->placement,
                      (unsigned)s->options->workers, err) < 0)
        return err->code;
    s->executing = true;
    return 0;
}

static int init_listener(server *s, dp_error *err)
{
    if (endpoint_listen(&s->endpoint, s->options->mode, err) < 0)
        return err->code;
    int rc = uv_poll_init(&s->loop, &s->listener, s->endpoint.fd);
    s->listening = rc == 0;
    s->listener.data = s;
    if (rc == 0)
        rc = listen_again(s);
    if (rc < 0)
        return dp_error_set(err, DP_ERUNTIME, "listener: %s", uv_strerror(rc));
    return start_reap(s);
}

/* A session may have so much in tensors and as much in running programs. */
static int64_t half_of_memory(void)
{
    int64_t pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);

    return pages > 0 && bytes > 0 ? pages / 2 * bytes : LIMIT_SESSION_TENSOR_BYTES;
}

static void init_limits(server *s)
{
    int64_t *limits = s->limits;
    struct rlimit r;

    memcpy(limits, limit_defaults, sizeof(limit_defaults));
    limits[LIMIT_AT_LINE_BYTES] = s->options->max_line;
    limits[LIMIT_AT_ATTACHMENT_BYTES] = s->options->max_attachment;
    limits[LIMIT_AT_SESSION_TENSOR_BYTES] = limits[LIMIT_AT_SESSION_INTERMEDIATE_BYTES] =
        s->options->session_bytes > 0 ? s->options->session_bytes : half_of_memory();
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < LIMIT_CONNECTIONS + DESCRIPTORS_KEPT)
        limits[LIMIT_AT_CONNECTIONS] = (int64_t)r.rlim_cur - DESCRIPTORS_KEPT;
}

/* A client that has to wait for another one to leave is as good as not served. */
static int check_descriptors(const server *s, dp_error *err)
{
    int64_t connections = s->limits[LIMIT_AT_CONNECTIONS];

    if (connections >= CONNECTIONS_LEAST)
        return 0;
    return dp_error_set(err, DP_ERESOURCE,
                        "the limit of descriptors (ulimit -n) is %lld, at least %d are needed: %d "
                        "for files and %d for connections",
                        (long long)connections + DESCRIPTORS_KEPT,
                        DESCRIPTORS_KEPT + CONNECTIONS_LEAST, DESCRIPTORS_KEPT, CONNECTIONS_LEAST);
}

int server_init(server *s, const options *o, dp_error *err)
{
    memset(s, 0, sizeof(*s)); /* it is too large for a `(server){0}` on the stack */
    s->options = o;
    s->calls = &calls;
    s->cache_fd = -1;
    s->started = nanos();
    init_limits(s);
    sessions_init(&s->sessions, s->limits);
    s->sessions.on_left = on_session_left;
    s->sessions.on_left_arg = s;
    if (endpoint_open(&s->endpoint, o, err) < 0 || check_descriptors(s, err) < 0 ||
        init_loop(s, err) < 0 || init_engine(s, err) < 0 || init_listener(s, err) < 0)
        return err->code;
    log_event(LOG_INFO, "server.start", "version=%s pid=%ld socket='%s' workers=%lld threads=%lld",
              DISPATCHD_VERSION, (long)getpid(), s->endpoint.path, (long long)o->workers,
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

/* Stop the workers, take what they gave back, close the loop's handles.  false: some still run. */
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
    placement_fini(&s->placement);
    if (dp_registry_free(s->reg) != NULL) { /* a plugin's thread runs on */
        cache_remove(s->cache);
        return false;
    }
    cache_close(s->cache, s->cache_fd);
    dp_pool_stop();
    return true;
}
