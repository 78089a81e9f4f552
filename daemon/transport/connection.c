/* connection.c -- one client: its socket, its requests in order, its answers in order.
 *
 *   readable -> receive.c -> frame.c -> a job -> dispatch.c: run on the main thread, or
 *            -> executor -> send.c -> the job is freed
 *
 * The daemon stops reading from a client at LIMIT_OUTSTANDING jobs, at LIMIT_OUTSTANDING_BYTES, or
 * when LIMIT_UNSENT_BYTES of answers are unsent because the client does not read.  The daemon still
 * notices when that client leaves.  Any thread may call the functions for daemon_calls (request.h);
 * only the main thread may call the other functions.
 *
 *   C1: answers are sent in the order of the lines: see dispatch.c
 *   C2: the daemon never waits for a client: every recvmsg() and sendmsg() is non-blocking */
#define _GNU_SOURCE
#include "methods/methods.h"
#include "server.h"
#include "transport/access.h"
#include "transport/parts.h"
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* -- life -- */

/* The event by which libuv reports that the client has left, even when the daemon waits for nothing
 * else: libuv reports it only if at least one event was requested.  UV_PRIORITIZED (urgent data) is
 * requested because no client sends urgent data; a client that does is disconnected too.
 * UV_DISCONNECT is unsuitable: it is also reported, repeatedly, for a client that has closed its
 * sending side and still reads. */
enum { LEFT = UV_PRIORITIZED };

static void settle(struct connection *c);

static void on_poll(uv_poll_t *h, int status, int events)
{
    struct connection *c = h->data;

    c->refs++;
    turn_begin(&c->server->metrics.turns);
    connection_begin_turn(c);
    if (status < 0 || (events & LEFT))
        connection_close(c);
    if (events & UV_WRITABLE)
        c->blocked = c->deferred;
    if (events & UV_READABLE) {
        connection_read(c);
        if (!c->closed)
            spin_wake(c->server, c);
    }
    settle(c);
    connection_unref(c);
}

/* Send what can be sent, take the messages that may be taken afterwards, and choose the events to
 * wait for. */
static void settle(struct connection *c)
{
    do
        connection_flush(c);
    while (connection_take_messages(c));
    if (c->closed)
        return;
    /* the client closed its sending side before its attachments were complete */
    if (c->eof && c->pending != NULL && !c->parsing && !c->has_more && connection_wants(c)) {
        connection_job_free(c->pending);
        c->pending = NULL;
    }
    if ((c->shut || (c->eof && !c->has_more)) && c->outstanding == 0) {
        connection_close(c);
        return;
    }
    int events =
        LEFT | (connection_wants(c) && !c->eof ? UV_READABLE : 0) | (c->blocked ? UV_WRITABLE : 0);
    if (events != c->events && uv_poll_start(&c->poll, events, on_poll) < 0)
        connection_close(c);
    c->events = events;
    if (c->closed)
        return;
    if (c->has_more && !c->shut)
        connection_defer(c);
    connection_note_unread(c);
    if (user_is_busy(c->user))
        c->user->held_back = true;
}

/* Go on reading from `c`. */
static void resume(struct connection *c)
{
    c->refs++;
    connection_begin_turn(c);
    settle(c);
    connection_unref(c);
}

void connections_resume(server *s)
{
    s->resume_due = false;
    for (struct connection *c = s->connections, *next; c != NULL; c = next) {
        next = c->next; /* settle() may close `c`, but never another connection */
        if (atomic_load_explicit(&c->paused, memory_order_relaxed) && connection_wants(c))
            resume(c);
    }
}

void connections_turn(uv_prepare_t *h)
{
    server *s = h->data;

    turn_end(&s->metrics.turns);
    s->iteration++;
    s->last_turns = s->n_turns;
    s->n_turns = 0;
    s->turn_bytes = 0;
    if (s->deferred != NULL)
        turn_begin(&s->metrics.turns);
    struct connection *c = NULL, *last = s->deferred_tail; /* who is deferred again must wait */
    while (s->deferred != NULL && c != last && s->turn_bytes < TURN_BYTES) {
        c = s->deferred;
        connection_undefer(c);
        c->blocked = false;
        resume(c);
    }
    spin_run(s);
}

void connection_answered(job *j, bool last)
{
    struct connection *c = j->rq.conn;

    if (c->closed) {
        connection_job_free(j);
        return;
    }
    c->refs++;
    if (j->overdue) {
        connection_job_free(j);
    } else {
        if (--c->in_executor == 0 && c->n_cancels > 0)
            connection_drop_cancels(c);
        connection_answer(c, j);
    }
    if (!last) {
        connection_unref(c);
        return;
    }
    connection_begin_turn(c);
    spin_wake(c->server, c);
    settle(c);
    connection_unref(c);
}

void connection_drain(struct connection *c)
{
    int sent_before = 0;

    if (c->closed)
        return;
    c->refs++;
    connection_begin_turn(c);
    if (ioctl(c->fd, FIONREAD, &sent_before) < 0 || sent_before == 0)
        c->eof = true;
    c->to_read = (size_t)sent_before;
    settle(c);
    connection_unref(c);
}

void connections_drain(server *s)
{
    for (struct connection *c = s->connections, *next; c != NULL; c = next) {
        next = c->next; /* `c` may be closed now, but never another connection */
        connection_drain(c);
    }
    connections_check_drained(s);
}

/* -- accepting -- */

struct connection *connection_new(server *s, int fd, struct session *session)
{
    struct connection *c = dp_calloc(1, sizeof(*c));

    if (c == NULL)
        return NULL;
    c->server = s;
    c->fd = fd;
    c->user = user_ref(session_user(session));
    c->session = session;
    c->settle = settle;
    c->to_read = SIZE_MAX;
    c->opened = nanos();
    c->refs = 2; /* references of the server and of the poll handle */
    frame_init(&c->frame, LIMIT_SIZE(LINE_BYTES));
    dp_state_default(&c->state.include, &c->state.exclude);
    return c;
}

void connection_discard(struct connection *c)
{
    session_leave(c->session);
    user_unref(c->user);
    frame_fini(&c->frame);
    dp_free(c);
}

/* Check that there is memory for the watcher of `fd`.  libuv would end the process without: its
 * table of watchers has an entry for each number up to the largest descriptor, and doubles when it
 * grows. */
static int check_watchers(server *s, int fd, dp_error *err)
{
    if (fd < s->watchers)
        return 0;
    void *table = dp_malloc(dp_size_times((size_t)fd + 3, 2 * sizeof(void *)));
    if (table == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: a watcher of descriptor %d", fd);
    dp_free(table);
    s->watchers = fd + 1;
    return 0;
}

int connection_begin(struct connection *c, dp_error *err)
{
    server *s = c->server;

    if (check_watchers(s, c->fd, err) < 0)
        return err->code;
    int rc = uv_poll_init(&s->loop, &c->poll, c->fd);
    if (rc < 0)
        return dp_error_set(err, DP_ERUNTIME, "poll: %s", uv_strerror(rc));
    c->poll.data = c;
    c->number = ++s->last_connection;
    pthread_mutex_lock(&s->connections_lock);
    c->next = s->connections;
    c->link = &s->connections;
    if (c->next != NULL)
        c->next->link = &c->next;
    s->connections = c;
    pthread_mutex_unlock(&s->connections_lock);
    log_event(LOG_DEBUG, "connection.open", "connection=%llu session=%llu uid=%ld",
              (unsigned long long)c->number, (unsigned long long)session_id(c->session),
              (long)c->user->uid);
    settle(c);
    return 0;
}

/* May a new connection of `uid` take the place of a silent one of `other`? */
static bool may_replace(uid_t uid, uid_t other)
{
    return uid == geteuid() || uid == other;
}

/* Among the connections that have been open for LIMIT_SILENT_MS and have never sent a complete
 * request, return the oldest one that `uid` may replace: closing it loses nothing.  NULL: none. */
static struct connection *longest_silent(const server *s, uid_t uid)
{
    uint64_t now = nanos(), max_ns = LIMIT_NANOS(SILENT_MS);
    struct connection *found = NULL;

    for (struct connection *c = s->connections; c != NULL; c = c->next)
        if (now - c->opened > max_ns && may_replace(uid, c->user->uid) &&
            c->n_jobs == (c->pending != NULL) && (found == NULL || c->opened < found->opened))
            found = c;
    return found;
}

int connections_check_uid(const server *s, uid_t uid, dp_error *err)
{
    int64_t n = 0;

    if (uid == geteuid())
        return 0;
    for (const struct connection *c = s->connections; c != NULL; c = c->next)
        n += c->user->uid == uid;
    for (const struct connection *c = s->opened; c != NULL; c = c->next)
        n += c->user->uid == uid;
    return n < LIMIT(UID_CONNECTIONS)
               ? 0
               : LIMIT_REACHED(UID_CONNECTIONS, LIMIT(UID_CONNECTIONS) + 1,
                               dp_error_set(err, DP_ERESOURCE,
                                            "uid %ld has %lld connections (uid_connections)",
                                            (long)uid, (long long)LIMIT(UID_CONNECTIONS)));
}

int connections_count(server *s, dp_error *err)
{
    if (atomic_fetch_add(&s->n_connections, 1) < LIMIT(CONNECTIONS))
        return 0;
    atomic_fetch_sub(&s->n_connections, 1);
    return LIMIT_REACHED(CONNECTIONS, LIMIT(CONNECTIONS) + 1,
                         dp_error_set(err, DP_ERESOURCE, "%lld connections are open (connections)",
                                      (long long)LIMIT(CONNECTIONS)));
}

static int check_and_count(server *s, uid_t uid, dp_error *err)
{
    pthread_mutex_lock(&s->connections_lock);
    int rc = connections_check_uid(s, uid, err);
    pthread_mutex_unlock(&s->connections_lock);
    return rc < 0 ? rc : connections_count(s, err);
}

/* Count one more connection of `uid`, after closing a silent one if that is necessary.
 * DP_ERESOURCE: too many connections are open. */
static int reserve_connection(server *s, uid_t uid, dp_error *err)
{
    struct connection *silent = NULL;
    dp_error why = DP_ERROR_INIT;
    int rc = check_and_count(s, uid, err);

    if (rc < 0)
        silent = longest_silent(s, uid);
    if (silent == NULL)
        return rc;
    dp_error_set(&why, DP_ERESOURCE,
                 "no request in %lld ms (silent_ms), and others wait to be connected",
                 (long long)LIMIT(SILENT_MS));
    LIMIT_REACHED(SILENT_MS, (nanos() - silent->opened) / 1000000, why.code);
    connection_close_because(silent, &why);
    return check_and_count(s, uid, err);
}

/* Make a connection on `fd` with a session of its own, and serve it.  On failure `fd` is still the
 * caller's. */
static int accept_client(server *s, int fd, uid_t uid, dp_error *err)
{
    struct session *session;
    struct connection *c;

    if (reserve_connection(s, uid, err) < 0)
        return err->code;
    session = session_new_for(&s->sessions, uid, err);
    c = session != NULL ? connection_new(s, fd, session) : NULL;
    if (c != NULL && connection_begin(c, err) == 0)
        return 0;
    atomic_fetch_sub(&s->n_connections, 1);
    if (session != NULL && c == NULL) {
        dp_error_set(err, DP_ERESOURCE, "out of memory: connection");
        session_leave(session);
    }
    if (c != NULL)
        connection_discard(c);
    return err->code;
}

bool connection_accept(server *s, int fd)
{
    dp_error err = DP_ERROR_INIT;
    uid_t uid;

    bool allowed = access_check(server_options(s), fd, &uid, &err) == 0;
    if (allowed && accept_client(s, fd, uid, &err) == 0)
        return true;
    metrics_failure(&s->metrics, NULL, n_methods + 1, 0, &err);
    if (allowed)
        connection_say_why(fd, &err);
    log_seldom(LOG_WARN, "connection.refuse", "error=\"%s\"", err.message);
    close(fd);
    return false;
}

void connection_close_ended(struct connection *c)
{
    struct session *session = connection_session(c);
    dp_error why = DP_ERROR_INIT;

    dp_error_set(&why, DP_ECANCELLED, "the session was ended by session.end");
    if (session != NULL && session_has_ended(session))
        connection_close_because(c, &why);
    session_unref(session);
}

void connections_close_ended(server *s)
{
    for (struct connection *c = s->connections, *next; c != NULL; c = next) {
        next = c->next;
        connection_close_ended(c);
    }
}

/* -- functions for methods: daemon_calls -- */

int connection_join(struct connection *c, const char *key, dp_error *err)
{
    server *s = c->server;
    struct session *joined = session_join(&s->sessions, c->user->uid, key);

    if (joined == NULL)
        return dp_error_set(err, DP_ENOTFOUND, "no session has the key '%s'", key);
    pthread_mutex_lock(&s->executor.lock);
    struct session *left = c->session;
    if (left != NULL)
        c->session = joined;
    pthread_mutex_unlock(&s->executor.lock);
    connection_forget_gradients(c);
    session_leave(left != NULL ? left : joined); /* NULL: the connection was closed meanwhile */
    return 0;
}

struct session *connection_session(struct connection *c)
{
    pthread_mutex_lock(&c->server->executor.lock);
    struct session *s = c->session != NULL ? session_ref(c->session) : NULL;
    pthread_mutex_unlock(&c->server->executor.lock);
    return s;
}

struct store *connection_store(struct connection *c)
{
    return &c->server->store;
}
