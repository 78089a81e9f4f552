/* connection.c -- one client: its socket, its requests in order, its answers in order.
 *
 *   readable -> recvmsg -> frame -> job -> run here, or executor -> out -> sendmsg -> job freed
 *
 * A job counts as outstanding from the moment it is read until its answer is wholly sent; at
 * LIMIT_OUTSTANDING of them, or LIMIT_OUTSTANDING_BYTES, or LIMIT_UNSENT_BYTES of answers that the
 * client leaves unread, nothing more is read from it.  All of this file runs on the loop thread but
 * connection_join, request_attach and the getters.
 *
 *   C1: answers leave in the order of the lines: a job runs here only when in_executor == 0, and
 * the executor gives back the jobs of one connection in order C2: no client is waited for: every
 * recvmsg and sendmsg is non-blocking */
#define _GNU_SOURCE
#include "server.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    READ_ROUNDS = 4,    /* reads before other connections have their turn */
    INLINE_BUDGET = 64, /* requests run on the loop before that; the rest goes to workers */
    SEND_ROUNDS = 16,
    SEND_PIECES = 64,
    INLINE_CALL_BYTES =
        4 << 10,         /* a longer op.call carries data: making tensors of it is no short work */
    CANCEL_BYTES = 4096, /* a longer line is no call.cancel */
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
    job *j = dp_calloc(1, sizeof(*j));

    if (j == NULL)
        return NULL;
    jw_init(&j->rq.out);
    j->rq.conn = c;
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

static void job_free(job *j)
{
    request *rq = &j->rq;
    struct connection *c = rq->conn;

    c->outstanding--;
    c->outstanding_bytes -= rq->bytes_charged;
    for (size_t i = 0; i < rq->n_parts; i++) {
        dp_tensor_unref(rq->parts[i].tensor);
        dp_free(rq->parts[i].owned);
    }
    dp_free(rq->parts);
    jw_fini(&rq->out);
    cJSON_Delete(rq->root);
    dp_free(rq->line);
    dp_free(rq->attached);
    dp_free(rq->attachment_bytes);
    dp_free(rq->attachment_offset);
    session_unref(rq->session);
    dp_free(j);
    connection_unref(c);
}

int request_attach(request *rq, dp_tensor *tensor, void *owned, const void *data, size_t bytes)
{
    answer_part *parts = array_grow(rq->parts, rq->n_parts, &rq->cap_parts, sizeof(*parts));

    if (parts == NULL) {
        dp_tensor_unref(tensor);
        dp_free(owned);
        return -1;
    }
    rq->parts = parts;
    parts[rq->n_parts] = (answer_part){tensor, owned, data, bytes};
    return (int)rq->n_parts++;
}

/* -- sending -- */

/* Pieces of j's answer from j->sent on; how many of at most `room`. */
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

/* n more bytes are sent: drop the jobs that are done with. */
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
    if (before >= LIMIT_UNSENT_BYTES && atomic_load(&c->unsent) < LIMIT_UNSENT_BYTES &&
        !c->closed && executor_resume(&c->server->executor, c))
        server_tick_start(c->server);
}

static void flush(struct connection *c)
{
    struct iovec iov[SEND_PIECES];
    struct msghdr m = {.msg_iov = iov};

    sent(c, 0); /* answers to notifications are empty */
    for (int i = 0; !c->closed && !c->blocked && c->out.head != NULL; i++) {
        m.msg_iovlen = 0;
        for (job *j = c->out.head; j != NULL && m.msg_iovlen < SEND_PIECES; j = j->next)
            m.msg_iovlen += answer_pieces(j, iov + m.msg_iovlen, SEND_PIECES - m.msg_iovlen);
        ssize_t n = sendmsg(c->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n >= 0)
            sent(c, (size_t)n);
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            c->blocked = true;
        else if (errno != EINTR)
            connection_close(c); /* nobody reads any more */
        if (i == SEND_ROUNDS)    /* others have their turn before the next one */
            c->blocked = true;
    }
}

/* -- taking messages -- */

static void submit(struct connection *c, job *j)
{
    c->in_executor++;
    if (executor_submit(&c->server->executor, j))
        server_tick_start(c->server);
}

static bool may_run_here(const job *j)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(j->rq.root, "method");
    const method *m = cJSON_IsString(name) ? method_find(name->valuestring) : NULL;

    if (j->stage == JOB_ANSWERED)
        return true;
    if (!cJSON_IsObject(j->rq.root)) /* a batch may hold anything */
        return false;
    if (m == NULL) /* an error, and errors are short */
        return true;
    return m->where == METHOD_QUICK ||
           (m->where == METHOD_CALL && j->rq.line_bytes <= INLINE_CALL_BYTES &&
            j->rq.attached == NULL);
}

/* Run j on this thread if it is its turn and it is short; false: it is for a worker. */
static bool run_here(struct connection *c, job *j)
{
    if (c->in_executor > 0 || c->budget == 0 || j->rq.line_bytes > LIMIT_INLINE_PARSE_BYTES)
        return false;
    if (j->stage == JOB_NEW)
        job_parse(j);
    if (!may_run_here(j))
        return false;
    c->budget--;
    j->rq.session = session_ref(c->session);
    if (executor_run(&c->server->executor, j, c->server->ctx, true))
        return true;
    j->rq.session = session_unref(j->rq.session);
    return false;
}

static void answered(struct connection *c, job *j)
{
    if (j->unreadable && c->n_fds > 0) /* whose they are is not known */
        j->rq.close_after = true;
    if (j->rq.close_after)
        c->shut = true;
    job_push(&c->out, j);
}

static void dispatch(struct connection *c, job *j)
{
    if (!run_here(c, j)) {
        submit(c, j);
        return;
    }
    atomic_fetch_add(&c->unsent, j->answer_bytes);
    answered(c, j);
}

static void refuse(struct connection *c, job *j, int code, const char *message, bool close)
{
    request_refuse(&j->rq, code, message);
    j->stage = JOB_ANSWERED;
    j->rq.close_after = close;
    c->shut = c->shut || close;
    dispatch(c, j);
}

/* call.cancel is acted on when it is read, before what is queued ahead of it. */
static bool take_cancel(struct connection *c, job *j)
{
    executor *ex = &c->server->executor;

    if (j->rq.line_bytes > CANCEL_BYTES ||
        memmem(j->rq.line, j->rq.line_bytes, "call.cancel", strlen("call.cancel")) == NULL)
        return false;
    job_parse(j);
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(j->rq.root, "method");
    if (j->stage != JOB_PARSED || !cJSON_IsString(name) ||
        strcmp(name->valuestring, "call.cancel") != 0 ||
        cJSON_GetObjectItemCaseSensitive(j->rq.root, "id") != NULL)
        return false;
    cJSON *params = cJSON_GetObjectItemCaseSensitive(j->rq.root, "params");
    cJSON *id = cJSON_DetachItemFromObjectCaseSensitive(params, "id");
    cancel *k = id != NULL ? dp_malloc(sizeof(*k)) : NULL;
    pthread_mutex_lock(&ex->lock);
    if (k != NULL && c->in_executor > 0 && c->n_cancels < LIMIT_OUTSTANDING) {
        *k = (cancel){c->cancels, id, j->number};
        c->cancels = k;
        c->n_cancels++;
        k = NULL;
        id = NULL;
    }
    pthread_mutex_unlock(&ex->lock);
    dp_free(k);
    cJSON_Delete(id);
    job_free(j);
    return true;
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

static bool whole(const cJSON *j, double most, size_t *out)
{
    if (!cJSON_IsNumber(j) || !(j->valuedouble >= 0 && j->valuedouble <= most) ||
        j->valuedouble != (double)(size_t)j->valuedouble)
        return false;
    *out = (size_t)j->valuedouble;
    return true;
}

/* "attachments":[n...] into rq; their sum, or -1 and why not. */
static int64_t read_announcement(request *rq, size_t limit, char *why, size_t bytes)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(rq->root, "attachments"), *j;
    size_t total = 0, n = (size_t)cJSON_GetArraySize(list);

    if (list == NULL)
        return 0;
    snprintf(why, bytes,
             "attachments: expected an array of at most %d sizes that add up to at most "
             "%zu bytes",
             LIMIT_ATTACHMENTS, limit);
    if (!cJSON_IsArray(list) || n > LIMIT_ATTACHMENTS)
        return -1;
    rq->attachment_bytes = dp_calloc(n + 1, sizeof(size_t));
    rq->attachment_offset = dp_calloc(n + 1, sizeof(size_t));
    if (rq->attachment_bytes == NULL || rq->attachment_offset == NULL) {
        snprintf(why, bytes, "out of memory: attachments");
        return -1;
    }
    cJSON_ArrayForEach(j, list)
    {
        size_t i = rq->n_attachments;
        if (!whole(j, (double)(limit - total), &rq->attachment_bytes[i]))
            return -1;
        rq->attachment_offset[i] = total;
        total += rq->attachment_bytes[i];
        rq->n_attachments++;
    }
    return (int64_t)total;
}

static bool take_descriptors(struct connection *c, const cJSON *root, char *why, size_t bytes)
{
    const cJSON *j = cJSON_GetObjectItemCaseSensitive(root, "fds");
    size_t n = 0;

    if (j != NULL && (!whole(j, LIMIT_DESCRIPTORS, &n) || n > c->n_fds)) {
        snprintf(why, bytes,
                 "fds: expected a count of at most %d descriptors, all of them sent "
                 "beside this line; %u came",
                 LIMIT_DESCRIPTORS, c->n_fds);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        close(c->fds[i]);
    c->n_fds -= (unsigned)n;
    memmove(c->fds, c->fds + n, c->n_fds * sizeof(c->fds[0]));
    return true;
}

/* The pending line is parsed: learn what follows it. */
static void announced(struct connection *c)
{
    job *j = c->pending;
    char why[256];
    int64_t total = 0;

    if (j->stage == JOB_PARSED && cJSON_IsObject(j->rq.root)) {
        total =
            read_announcement(&j->rq, (size_t)c->server->options->max_attachment, why, sizeof(why));
        if (total < 0 || !take_descriptors(c, j->rq.root, why, sizeof(why))) {
            c->pending = NULL;
            refuse(c, j, -32600, why, true);
            return;
        }
    }
    if (j->stage == JOB_ANSWERED) { /* unreadable: the connection ends with this answer */
        c->pending = NULL;
        c->shut = true;
        dispatch(c, j);
        return;
    }
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
        c->budget = INLINE_BUDGET;
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
        log_event(LOG_WARN, "connection.close", "connection=%llu error=\"out of memory\"",
                  (unsigned long long)c->number);
        connection_close(c);
        return;
    }
    if (!c->frame.announces) {
        if (!take_cancel(c, j))
            dispatch(c, j);
        return;
    }
    j->announces = true;
    c->pending = j;
    if (bytes <= LIMIT_INLINE_PARSE_BYTES) {
        job_parse(j);
        announced(c);
        return;
    }
    c->parsing = true;
    c->refs++;
    c->parse = (task){.work = parse_work, .done = parse_done, .arg = c};
    if (executor_task(&c->server->executor, &c->parse))
        server_tick_start(c->server);
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
    char message[128];

    if (j == NULL) {
        connection_close(c);
        return;
    }
    snprintf(message, sizeof(message), "line is longer than %lld bytes (line_bytes)",
             (long long)c->server->options->max_line);
    refuse(c, j, -32600, message, close);
}

static bool wants(const struct connection *c)
{
    return !c->closed && !c->shut && !c->parsing && c->outstanding < LIMIT_OUTSTANDING &&
           c->outstanding_bytes < LIMIT_OUTSTANDING_BYTES &&
           atomic_load(&c->unsent) < LIMIT_UNSENT_BYTES;
}

/* Everything whole that was read, as far as the client may be ahead; false: there was nothing. */
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

/* Descriptors go to the end of the connection's queue; false: more than it may send ahead. */
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

/* Bytes received; 0 end; -1 nothing now; -2 the connection is over. */
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
        return errno == EAGAIN || errno == EWOULDBLOCK ? -1 : -2;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h != NULL; h = CMSG_NXTHDR(&m, h))
        if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS)
            kept = keep_descriptors(c, h) && kept;
    if (kept && !(m.msg_flags & MSG_CTRUNC))
        return n;
    log_event(LOG_WARN, "connection.close", "connection=%llu error=\"descriptors were lost\"",
              (unsigned long long)c->number);
    return -2;
}

static void read_some(struct connection *c)
{
    for (int i = 0; i < READ_ROUNDS && wants(c) && !c->eof; i++) {
        char *p;
        size_t space = frame_space(&c->frame, &p);
        ssize_t n = space > 0 ? receive(c, p, space) : -2;
        if (n == -1)
            return;
        if (n == -2) {
            connection_close(c);
            return;
        }
        c->eof = n == 0;
        frame_filled(&c->frame, (size_t)n);
        take_messages(c);
    }
}

/* -- life -- */

static void on_poll(uv_poll_t *h, int status, int events)
{
    struct connection *c = h->data;

    c->refs++;
    c->budget = INLINE_BUDGET;
    if (events & UV_WRITABLE)
        c->blocked = false;
    if ((events & UV_READABLE) || status < 0)
        read_some(c);
    settle(c);
    connection_unref(c);
}

/* Send, take what was waiting for that, and see what to wait for next. */
static void settle(struct connection *c)
{
    do
        flush(c);
    while (take_messages(c));
    if (c->closed)
        return;
    if (c->eof && c->pending != NULL && !c->parsing && wants(c)) { /* half a message */
        job_free(c->pending);
        c->pending = NULL;
    }
    if ((c->eof || c->shut) && c->outstanding == 0) {
        connection_close(c);
        return;
    }
    int events = (wants(c) && !c->eof ? UV_READABLE : 0) | (c->blocked ? UV_WRITABLE : 0);
    if (events == c->events)
        return;
    c->events = events;
    if (events == 0)
        uv_poll_stop(&c->poll);
    else
        uv_poll_start(&c->poll, events, on_poll);
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
    c->budget = INLINE_BUDGET;
    settle(c);
    connection_unref(c);
}

void connection_drain(struct connection *c)
{
    c->refs++;
    c->budget = INLINE_BUDGET;
    read_some(c);
    c->eof = true;
    settle(c);
    connection_unref(c);
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
    uv_close((uv_handle_t *)&c->poll, on_closed); /* keeps the reference of the poll handle */
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
    server_session_left(s);
    *c->link = c->next;
    if (c->next != NULL)
        c->next->link = c->link;
    atomic_fetch_sub(&s->n_connections, 1);
    server_check_drained(s);
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
        server_session_left(s);
        dp_free(c);
        return NULL;
    }
    c->poll.data = c;
    c->server = s;
    c->fd = fd;
    c->refs = 2; /* the server's, the handle's */
    c->number = ++s->last_connection;
    frame_init(&c->frame, (size_t)s->options->max_line);
    dp_state_default(&c->state.include, &c->state.exclude);
    return c;
}

void connection_accept(server *s, int fd)
{
    dp_error err = DP_ERROR_INIT;
    struct connection *c = NULL;
    uid_t uid;

    if (!same_user(fd, &uid))
        dp_error_set(&err, DP_EPERM, "uid %ld is not the daemon's %ld", (long)uid, (long)geteuid());
    else if (atomic_load(&s->n_connections) >= LIMIT_CONNECTIONS)
        dp_error_set(&err, DP_ERESOURCE, "%d connections are open (connections)",
                     LIMIT_CONNECTIONS);
    else
        c = connection_new(s, fd, &err);
    if (c == NULL) {
        log_event(LOG_WARN, "connection.refuse", "error=\"%s\"", err.message);
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

/* -- what methods ask -- */

conn_state *connection_state(struct connection *c)
{
    return &c->state;
}

uint64_t connection_number(const struct connection *c)
{
    return c->number;
}

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
    server_session_left(s);
    return 0;
}

struct session *connection_session(struct connection *c)
{
    pthread_mutex_lock(&c->server->executor.lock);
    struct session *s = c->session != NULL ? session_ref(c->session) : NULL;
    pthread_mutex_unlock(&c->server->executor.lock);
    return s;
}
