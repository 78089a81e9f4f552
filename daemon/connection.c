/* connection.c -- one client: its socket, its requests in order, its answers in order.
 *
 *   readable -> recvmsg -> frame -> job -> run here, or executor -> out -> sendmsg -> job freed
 *
 * A job counts as outstanding from the moment it is read until its answer is wholly sent.  At
 * LIMIT_OUTSTANDING jobs, or LIMIT_OUTSTANDING_BYTES, or LIMIT_UNSENT_BYTES of answers that the
 * client leaves unread, nothing more is read from it; that it has gone is still noticed.
 * connection_join(), connection_session() and connection_cancel() may be called on any thread, all
 * else only on the loop's.
 *
 *   C1: answers leave in the order of the lines: a job runs here only when in_executor == 0, and
 *       the executor gives back the jobs of one connection in order
 *   C2: no client is waited for: every recvmsg and sendmsg is non-blocking
 */
#define _GNU_SOURCE
#include "methods/methods.h"
#include "server.h"
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    /* What one connection may do before others have their turn: */
    READ_ROUNDS = 4,
    SEND_BYTES = 512 << 10,
    INLINE_NS = 500 * 1000,      /* run requests for so long; workers run the rest */
    SLOW_FREE_BYTES = 256 << 10, /* longer answers are freed on a worker */
    SEND_PIECES = 64,
    CONTROL_DESCRIPTORS = 64,
};

static void settle(struct connection *c);

/* -- jobs -- */

static void connection_unref(struct connection *c)
{
    if (--c->refs > 0)
        return;
    frame_fini(&c->frame);
    dp_free(c);
}

/* Tell fair_threads() who sends requests. */
static void note_request(struct connection *c, uint64_t now)
{
    server *s = c->server;

    if (atomic_load(&s->asked_by) != c->number) {
        atomic_store(&s->others_at, atomic_load(&s->asked_at));
        atomic_store(&s->asked_by, c->number);
    }
    atomic_store(&s->asked_at, now);
}

static job *job_new(struct connection *c, char *line, size_t bytes)
{
    job *j = dp_malloc(sizeof(*j)); /* calloc is slow here */

    if (j == NULL)
        return NULL;
    *j = (job){0};
    j->rq.daemon = c->server->calls;
    j->rq.conn = c;
    j->rq.state = &c->state;
    j->rq.line = line;
    j->rq.line_bytes = bytes;
    j->rq.bytes_charged = bytes;
    j->rq.t_read = nanos();
    note_request(c, j->rq.t_read);
    j->number = ++c->n_jobs;
    c->refs++;
    c->outstanding++;
    c->outstanding_bytes += bytes;
    atomic_fetch_add(&c->server->requests, 1);
    return j;
}

static void drop_answer(task *t)
{
    request *rq = &((job *)t->arg)->rq;

    for (size_t i = 0; i < rq->n_parts; i++)
        answer_part_free(&rq->parts[i]);
    dp_free(rq->parts);
    jw_fini(&rq->out);
}

static void dropped(task *t)
{
    dp_free(t->arg);
}

static void job_free(job *j)
{
    server *s = j->rq.conn->server;

    j->rq.conn->outstanding--;
    j->rq.conn->outstanding_bytes -= j->rq.bytes_charged;
    connection_unref(j->rq.conn);
    job_drop(j);
    dp_free(j->rq.attachment_bytes);
    dp_free(j->rq.attachment_offset);
    j->drop = (task){.work = drop_answer, .done = dropped, .arg = j};
    if (j->answer_bytes > SLOW_FREE_BYTES && !s->leaving) {
        executor_task(&s->executor, &j->drop);
        return;
    }
    drop_answer(&j->drop);
    dropped(&j->drop);
}

/* -- sending -- */

/* The pieces of j's answer that are not sent yet, at most `room` of them; returns how many. */
static size_t answer_pieces(const job *j, struct iovec *iov, size_t room)
{
    size_t n = 0, skip = j->sent;

    for (size_t i = 0; i <= j->rq.n_parts && n < room; i++) {
        const char *data = i == 0 ? j->rq.out.s : j->rq.parts[i - 1].data;
        size_t bytes = i == 0 ? j->rq.out.len : j->rq.parts[i - 1].bytes;
        if (skip < bytes)
            iov[n++] = (struct iovec){(void *)(data + skip), bytes - skip};
        skip = skip < bytes ? 0 : skip - bytes;
    }
    return n;
}

/* n more bytes are sent: free the jobs whose answers are now wholly sent. */
static void sent(struct connection *c, size_t n)
{
    size_t before = atomic_fetch_sub(&c->unsent, n);
    job *j;

    while ((j = c->out.head) != NULL) {
        size_t left = j->answer_bytes - j->sent, step = n < left ? n : left;
        j->sent += step;
        n -= step;
        if (step < left)
            break;
        job_pop(&c->out);
        if (j->rq.close_after)
            connection_close(c);
        job_free(j);
    }
    if (before >= LIMIT_UNSENT_BYTES && atomic_load(&c->unsent) < LIMIT_UNSENT_BYTES && !c->closed)
        executor_resume(&c->server->executor, c);
}

static void flush(struct connection *c)
{
    struct iovec iov[SEND_PIECES];
    struct msghdr m = {.msg_iov = iov};
    size_t total = 0;

    sent(c, 0); /* free the jobs whose answers are empty, those of notifications */
    while (!c->closed && !c->blocked && c->out.head != NULL) {
        m.msg_iovlen = 0;
        for (job *j = c->out.head; j != NULL && m.msg_iovlen < SEND_PIECES; j = j->next)
            m.msg_iovlen += answer_pieces(j, iov + m.msg_iovlen, SEND_PIECES - m.msg_iovlen);
        /* one piece by send(), which the system does faster */
        ssize_t n = m.msg_iovlen == 1
                        ? send(c->fd, iov[0].iov_base, iov[0].iov_len, MSG_DONTWAIT | MSG_NOSIGNAL)
                        : sendmsg(c->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n >= 0)
            sent(c, (size_t)n);
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            c->blocked = true;
        else if (errno != EINTR)
            connection_close(c); /* nobody reads any more */
        total += n > 0 ? (size_t)n : 0;
        c->blocked = c->blocked || total > SEND_BYTES;
    }
}

/* -- taking messages -- */

static void submit(struct connection *c, job *j)
{
    c->in_executor++;
    executor_submit(&c->server->executor, j);
}

/* Run j on this thread.  false: it turned out to be for a worker. */
static bool run_now(struct connection *c, job *j)
{
    j->rq.session = session_ref(c->session);
    bool done = executor_run(&c->server->executor, j, c->server->placement.loop_ctx, true);
    c->budget -= (int64_t)j->spent;
    j->rq.session = session_unref(j->rq.session);
    return done;
}

/* If other requests wait ahead of j and its method acts at once nevertheless, run it now.  Its
 * answer still waits for its turn. */
static void run_at_once(struct connection *c, job *j)
{
    const method *m;

    if (c->in_executor == 0 || j->stage != JOB_NEW || j->rq.line_bytes > LIMIT_CANCEL_BYTES)
        return;
    job_parse(j);
    m = j->stage == JOB_PARSED ? j->rq.method : NULL;
    if (m != NULL && m->where == METHOD_AT_ONCE)
        run_now(c, j);
}

/* Run j on this thread if it is its turn and it is short.  false: it is for a worker. */
static bool run_here(struct connection *c, job *j)
{
    executor *ex = &c->server->executor;

    if (c->in_executor > 0 || c->budget <= 0 || !executor_may_begin(ex, j))
        return false;
    return run_now(c, j);
}

static void answered(struct connection *c, job *j)
{
    if (j->unreadable && c->n_fds > 0) /* it is not known which request the descriptors belong to */
        j->rq.close_after = true;
    if (j->rq.close_after)
        c->shut = true;
    job_push(&c->out, j);
}

static void dispatch(struct connection *c, job *j)
{
    run_at_once(c, j);
    if (!run_here(c, j)) {
        submit(c, j);
        return;
    }
    atomic_fetch_add(&c->unsent, j->answer_bytes);
    answered(c, j);
}

/* Answer j with *err, as what is no request.  close: the connection ends with that answer. */
static void refuse(struct connection *c, job *j, const dp_error *err, bool close)
{
    request_refuse(&j->rq, err);
    j->stage = JOB_ANSWERED;
    j->rq.close_after = j->rq.close_after || close;
    c->shut = c->shut || close;
    dispatch(c, j);
}

/* -- cancelled requests -- */

int connection_cancel(request *rq, const cJSON *id, bool *waiting, dp_error *err)
{
    const job *j = (const job *)rq;
    struct connection *c = rq->conn;
    executor *ex = &c->server->executor;
    cancel *k;

    *waiting = j->on_loop && c->in_executor > 0; /* a worker runs it in its turn: none is ahead */
    if (!*waiting)
        return 0;
    if (c->n_cancels >= LIMIT_OUTSTANDING)
        return dp_error_set(err, DP_ERESOURCE, "%d requests are cancelled already (outstanding)",
                            LIMIT_OUTSTANDING);
    k = dp_malloc(sizeof(*k));
    if (k != NULL)
        *k = (cancel){NULL, cJSON_Duplicate(id, true), j->number - 1};
    if (k == NULL || k->id == NULL) {
        dp_free(k);
        return dp_error_set(err, DP_ERESOURCE, "out of memory: a cancelled request");
    }
    pthread_mutex_lock(&ex->lock);
    k->next = c->cancels;
    c->cancels = k;
    c->n_cancels++;
    pthread_mutex_unlock(&ex->lock);
    executor_cancel(ex, c, id);
    return 0;
}

static void drop_cancels(struct connection *c)
{
    pthread_mutex_lock(&c->server->executor.lock);
    cancel *k = c->cancels;
    c->cancels = NULL;
    c->n_cancels = 0;
    pthread_mutex_unlock(&c->server->executor.lock);
    while (k != NULL) {
        cancel *next = k->next;
        cJSON_Delete(k->id);
        dp_free(k);
        k = next;
    }
}

/* -- attachments and descriptors -- */

static void drop_descriptors(struct connection *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        close(c->fds[i]);
    c->n_fds -= (unsigned)n;
    memmove(c->fds, c->fds + n, c->n_fds * sizeof(c->fds[0]));
}

/* The pending line is parsed: find out what follows it. */
static void announced(struct connection *c)
{
    job *j = c->pending;
    int64_t total = 0;
    size_t n_fds = 0;

    if (j->stage == JOB_PARSED) {
        total =
            request_announced(&j->rq, (size_t)c->server->options->max_attachment, c->n_fds, &n_fds);
        if (total < 0)
            j->stage = JOB_ANSWERED;
    }
    if (j->stage == JOB_ANSWERED) { /* it is not known where the next line begins */
        c->pending = NULL;
        c->shut = j->rq.close_after = true;
        dispatch(c, j);
        return;
    }
    drop_descriptors(c, n_fds); /* no method takes them */
    frame_expect(&c->frame, (size_t)total);
}

static void parse_work(task *t)
{
    struct connection *c = t->arg;

    job_parse(c->pending);
}

static void parse_done(task *t)
{
    struct connection *c = t->arg;

    c->parsing = false;
    if (c->closed) {
        job_free(c->pending);
        c->pending = NULL;
    } else {
        c->budget = INLINE_NS;
        announced(c);
        settle(c);
    }
    connection_unref(c);
}

static void take_line(struct connection *c, char *line, size_t bytes)
{
    job *j = job_new(c, line, bytes);

    if (j == NULL) {
        dp_free(line);
        log_seldom(LOG_WARN, "connection.close", "connection=%llu error=\"out of memory\"",
                   (unsigned long long)c->number);
        connection_close(c);
        return;
    }
    if (!c->frame.announces) {
        dispatch(c, j);
        return;
    }
    j->announces = true;
    c->pending = j;
    if (bytes <= LIMIT_INLINE_BYTES && c->budget > 0) {
        job_parse(j);
        announced(c);
        return;
    }
    c->parsing = true;
    c->refs++;
    c->parse = (task){.work = parse_work, .done = parse_done, .arg = c};
    executor_task(&c->server->executor, &c->parse);
}

static void take_body(struct connection *c)
{
    job *j = c->pending;
    size_t bytes = c->frame.body_bytes;

    c->pending = NULL;
    j->rq.attached = frame_body(&c->frame);
    j->rq.bytes_charged += bytes;
    c->outstanding_bytes += bytes;
    if (bytes > 0 && j->rq.attached == NULL) {
        dp_error err = DP_ERROR_INIT;
        dp_error_set(&err, DP_ERESOURCE, "out of memory: %zu bytes of attachments", bytes);
        request_fail(&j->rq, &err);
        j->stage = JOB_ANSWERED;
    }
    dispatch(c, j);
}

static void take_long(struct connection *c, bool close)
{
    job *j = job_new(c, NULL, 0);
    dp_error err = DP_ERROR_INIT;

    if (j == NULL) {
        connection_close(c);
        return;
    }
    dp_error_set(&err, DP_EVALUE, "line is longer than %lld bytes (line_bytes)",
                 (long long)c->server->options->max_line);
    refuse(c, j, &err, close);
}

static bool wants(const struct connection *c)
{
    return !c->closed && !c->shut && !c->parsing && c->outstanding < LIMIT_OUTSTANDING &&
           c->outstanding_bytes < LIMIT_OUTSTANDING_BYTES &&
           atomic_load(&c->unsent) < LIMIT_UNSENT_BYTES;
}

/* Take the whole messages that were read, as many as may be outstanding.  false: there was none. */
static bool take_messages(struct connection *c)
{
    bool any = false;
    char *line;
    size_t bytes;

    while (wants(c)) {
        int found = frame_next(&c->frame, &line, &bytes);
        if (found == FRAME_MORE)
            break;
        any = true;
        if (found == FRAME_LINE)
            take_line(c, line, bytes);
        else if (found == FRAME_BODY)
            take_body(c);
        else if (found == FRAME_LONG)
            take_long(c, c->frame.announces);
        else
            connection_close(c);
    }
    return any;
}

/* -- receiving -- */

/* Append received descriptors to the connection's queue.  false: that is full, some were closed. */
static bool keep_descriptors(struct connection *c, const struct cmsghdr *h)
{
    size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    bool all = true;

    for (size_t i = 0; i < n; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(h) + i * sizeof(fd), sizeof(fd));
        if (c->n_fds < sizeof(c->fds) / sizeof(c->fds[0])) {
            c->fds[c->n_fds++] = fd;
        } else {
            close(fd);
            all = false;
        }
    }
    return all;
}

/* The number of bytes received.  0: the client sends no more; NOTHING_NOW; or BROKEN: close. */
enum { NOTHING_NOW = -1, BROKEN = -2 };

static ssize_t receive(struct connection *c, char *p, size_t space)
{
    char control[CMSG_SPACE(CONTROL_DESCRIPTORS * sizeof(int))] __attribute__((aligned(8)));
    struct iovec iov = {p, space};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof(control)};
    ssize_t n;
    bool kept = true;

    do
        n = recvmsg(c->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? NOTHING_NOW : BROKEN;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h != NULL; h = CMSG_NXTHDR(&m, h))
        if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS)
            kept = keep_descriptors(c, h) && kept;
    if (kept && !(m.msg_flags & MSG_CTRUNC))
        return n;
    log_seldom(LOG_WARN, "connection.close", "connection=%llu error=\"descriptors were lost\"",
               (unsigned long long)c->number);
    return BROKEN;
}

static void read_some(struct connection *c)
{
    for (int i = 0; i < READ_ROUNDS && wants(c) && !c->eof; i++) {
        char *p;
        size_t space = frame_space(&c->frame, &p);
        ssize_t n = space > 0 ? receive(c, p, space < c->to_read ? space : c->to_read) : BROKEN;
        if (n == NOTHING_NOW)
            return;
        if (n == BROKEN) {
            connection_close(c);
            return;
        }
        c->to_read -= (size_t)n;
        c->eof = n == 0 || c->to_read == 0;
        frame_filled(&c->frame, (size_t)n);
        take_messages(c);
        if ((size_t)n < space && !c->server->draining) /* what comes later will be polled */
            return;
    }
}

/* -- life -- */

/* The event that says that the client has gone.  The system reports that to every poll, but libuv
 * passes it on only to who asked for some event.  Asking for UV_PRIORITIZED (urgent data) is
 * enough; no client has a reason to send such data, and one that does is closed too.  UV_DISCONNECT
 * is of no use: it also says, over and over, that a client has closed its sending side and still
 * reads. */
enum { LEFT = UV_PRIORITIZED };

static void on_poll(uv_poll_t *h, int status, int events)
{
    struct connection *c = h->data;

    c->refs++;
    c->budget = INLINE_NS;
    if (status < 0 || (events & LEFT))
        connection_close(c);
    if (events & UV_WRITABLE)
        c->blocked = false;
    if (events & UV_READABLE)
        read_some(c);
    settle(c);
    connection_unref(c);
}

/* Send what can be sent, take messages as far as that made room for them, and choose the events to
 * wait for. */
static void settle(struct connection *c)
{
    do
        flush(c);
    while (take_messages(c));
    if (c->closed)
        return;
    if (c->eof && c->pending != NULL && !c->parsing && wants(c)) { /* its attachments never came */
        job_free(c->pending);
        c->pending = NULL;
    }
    if ((c->eof || c->shut) && c->outstanding == 0) {
        connection_close(c);
        return;
    }
    int events = LEFT | (wants(c) && !c->eof ? UV_READABLE : 0) | (c->blocked ? UV_WRITABLE : 0);
    if (events != c->events && uv_poll_start(&c->poll, events, on_poll) < 0)
        connection_close(c);
    c->events = events;
}

void connection_answered(job *j, bool last)
{
    struct connection *c = j->rq.conn;

    if (c->closed) {
        job_free(j);
        return;
    }
    if (--c->in_executor == 0 && c->n_cancels > 0)
        drop_cancels(c);
    answered(c, j);
    if (!last)
        return;
    c->refs++;
    c->budget = INLINE_NS;
    settle(c);
    connection_unref(c);
}

static void drain(struct connection *c)
{
    int sent_before = 0;

    if (c->closed)
        return;
    c->refs++;
    c->budget = INLINE_NS;
    if (ioctl(c->fd, FIONREAD, &sent_before) < 0 || sent_before == 0)
        c->eof = true;
    c->to_read = (size_t)sent_before;
    settle(c);
    connection_unref(c);
}

static void check_drained(server *s)
{
    if (s->draining && s->connections == NULL)
        uv_stop(&s->loop);
}

void connections_drain(server *s)
{
    for (struct connection *c = s->connections, *next; c != NULL; c = next) {
        next = c->next; /* draining c closes no other connection */
        drain(c);
    }
    check_drained(s);
}

static void on_closed(uv_handle_t *h)
{
    connection_unref(h->data);
}

void connection_close(struct connection *c)
{
    server *s = c->server;
    job *j;

    if (c->closed)
        return;
    c->closed = true;
    log_event(LOG_DEBUG, "connection.close", "connection=%llu outstanding=%u",
              (unsigned long long)c->number, c->outstanding);
    uv_close((uv_handle_t *)&c->poll, on_closed); /* that drops the poll handle's reference */
    close(c->fd);
    for (unsigned i = 0; i < c->n_fds; i++)
        close(c->fds[i]);
    c->n_fds = 0;
    job_list queued = executor_withdraw(&s->executor, c);
    while ((j = job_pop(&queued)) != NULL)
        job_free(j);
    while ((j = job_pop(&c->out)) != NULL)
        job_free(j);
    if (c->pending != NULL && !c->parsing) {
        job_free(c->pending);
        c->pending = NULL;
    }
    drop_cancels(c);
    pthread_mutex_lock(&s->executor.lock);
    struct session *session = c->session;
    c->session = NULL;
    pthread_mutex_unlock(&s->executor.lock);
    session_leave(session);
    *c->link = c->next;
    if (c->next != NULL)
        c->next->link = c->link;
    atomic_fetch_sub(&s->n_connections, 1);
    check_drained(s);
    connection_unref(c); /* the server's */
}

static bool same_user(int fd, uid_t *uid)
{
    struct ucred peer;
    socklen_t n = sizeof(peer);

    *uid = (uid_t)-1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
        return false;
    *uid = peer.uid;
    return peer.uid == geteuid();
}

static struct connection *connection_new(server *s, int fd, dp_error *err)
{
    struct connection *c = dp_calloc(1, sizeof(*c));

    if (c == NULL) {
        dp_error_set(err, DP_ERESOURCE, "out of memory: connection");
        return NULL;
    }
    c->session = session_new(&s->sessions, err);
    if (c->session == NULL) {
        dp_free(c);
        return NULL;
    }
    int rc = uv_poll_init(&s->loop, &c->poll, fd);
    if (rc < 0) {
        dp_error_set(err, DP_ERUNTIME, "poll: %s", uv_strerror(rc));
        session_leave(c->session);
        dp_free(c);
        return NULL;
    }
    c->poll.data = c;
    c->server = s;
    c->fd = fd;
    c->to_read = SIZE_MAX;
    c->opened = nanos();
    c->refs = 2; /* the server's, the handle's */
    c->number = ++s->last_connection;
    frame_init(&c->frame, (size_t)s->options->max_line);
    dp_state_default(&c->state.include, &c->state.exclude);
    return c;
}

/* One answer line on a connection that is about to be closed, if it can be sent at once. */
static void say_why(int fd, const dp_error *why)
{
    request rq = {0};

    jw_init(&rq.out);
    request_refuse(&rq, why);
    if (send(fd, rq.out.s, rq.out.len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        log_event(LOG_DEBUG, "connection.refuse", "error=\"%s\"", strerror(errno));
    jw_fini(&rq.out);
}

/* The connection that was opened first, at least LIMIT_SILENT_MS ago, and has sent no whole request
 * since: nothing is lost when it is closed. */
static struct connection *longest_silent(const server *s)
{
    uint64_t now = nanos(), most = LIMIT_SILENT_MS * UINT64_C(1000000);
    struct connection *found = NULL;

    for (struct connection *c = s->connections; c != NULL; c = c->next)
        if (now - c->opened > most && c->n_jobs == (c->pending != NULL) &&
            (found == NULL || c->opened < found->opened))
            found = c;
    return found;
}

static int make_room(server *s, dp_error *err)
{
    int64_t most = s->limits[LIMIT_AT_CONNECTIONS];
    struct connection *silent;

    if (atomic_load(&s->n_connections) < most)
        return 0;
    silent = longest_silent(s);
    if (silent == NULL)
        return dp_error_set(err, DP_ERESOURCE, "%lld connections are open (connections)",
                            (long long)most);
    dp_error why = DP_ERROR_INIT;
    dp_error_set(&why, DP_ERESOURCE,
                 "no request in %d ms (silent_ms), and others wait to be connected",
                 LIMIT_SILENT_MS);
    log_seldom(LOG_WARN, "connection.close", "connection=%llu error=\"%s\"",
               (unsigned long long)silent->number, why.message);
    say_why(silent->fd, &why);
    connection_close(silent);
    return 0;
}

void connection_accept(server *s, int fd)
{
    dp_error err = DP_ERROR_INIT;
    struct connection *c = NULL;
    uid_t uid;

    if (!same_user(fd, &uid)) {
        dp_error_set(&err, DP_EPERM, "uid %ld is not the daemon's %ld", (long)uid, (long)geteuid());
    } else {
        if (make_room(s, &err) == 0)
            c = connection_new(s, fd, &err);
        if (c == NULL)
            say_why(fd, &err);
    }
    if (c == NULL) {
        log_seldom(LOG_WARN, "connection.refuse", "error=\"%s\"", err.message);
        close(fd);
        return;
    }
    c->next = s->connections;
    c->link = &s->connections;
    if (c->next != NULL)
        c->next->link = &c->next;
    s->connections = c;
    atomic_fetch_add(&s->n_connections, 1);
    log_event(LOG_DEBUG, "connection.open", "connection=%llu session=%llu",
              (unsigned long long)c->number, (unsigned long long)session_id(c->session));
    settle(c);
}

/* -- what methods ask: daemon_calls -- */

int connection_join(struct connection *c, const char *key, dp_error *err)
{
    server *s = c->server;
    struct session *joined = session_join(&s->sessions, key);

    if (joined == NULL)
        return dp_error_set(err, DP_ENOTFOUND, "no session has the key '%s'", key);
    pthread_mutex_lock(&s->executor.lock);
    struct session *left = c->session;
    if (left != NULL)
        c->session = joined;
    pthread_mutex_unlock(&s->executor.lock);
    session_leave(left != NULL ? left : joined); /* NULL: closed meanwhile */
    return 0;
}

struct session *connection_session(struct connection *c)
{
    pthread_mutex_lock(&c->server->executor.lock);
    struct session *s = c->session != NULL ? session_ref(c->session) : NULL;
    pthread_mutex_unlock(&c->server->executor.lock);
    return s;
}
