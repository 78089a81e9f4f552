/* announce.c -- the data that a line announces (attachments and file descriptors), and descriptors
 * that no line announces. */
#define _GNU_SOURCE
#include "methods/methods.h"
#include "server.h"
#include "transport/parts.h"
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    WAITING_CHECK_MS = 1000, /* interval between two checks for descriptors that wait too long */
    /* bytes that one recvmsg() with MSG_PEEK looks at, to find descriptors */
    PEEK_BYTES = 16 << 10,
    PEEK_DESCRIPTORS = 253, /* most descriptors in one message: SCM_MAX_FD of the kernel */
};

/* -- announced attachments and descriptors -- */

/* Check that the first `n` descriptors in c->fds are files; a memfd is one.  A socket could be the
 * other end of the client's own connection, or another kind of descriptor could hold that end open,
 * and then the daemon would not notice that the client has left. */
static int check_files(const struct connection *c, size_t n, dp_error *err)
{
    struct stat st;

    for (size_t i = 0; i < n; i++)
        if (fstat(c->fds[i], &st) < 0 || !S_ISREG(st.st_mode))
            return dp_error_set(err, DP_EVALUE,
                                "fds: descriptor %zu is %s, which is refused: expected a memfd or "
                                "a regular file",
                                i, S_ISSOCK(st.st_mode) ? "a socket" : "no file");
    return 0;
}

/* Give the first `n` descriptors in c->fds to the pending request.  If that is not possible, fail
 * the request and close them. */
static void take_descriptors(struct connection *c, size_t n)
{
    request *rq = &c->pending->rq;
    dp_error err = DP_ERROR_INIT;

    if (n == 0)
        return;
    if (check_files(c, n, &err) == 0) {
        rq->received = dp_calloc(1, sizeof(*rq->received));
        if (rq->received == NULL)
            dp_error_set(&err, DP_ERESOURCE, "out of memory: descriptors of a request");
    }
    if (err.code < 0) {
        request_fail(rq, &err);
        c->pending->stage = JOB_ANSWERED;
        connection_drop_descriptors(c, n);
        return;
    }
    rq->received->n = n;
    dp_copy_n(rq->received->fds, c->fds, n, sizeof(c->fds[0]));
    c->outstanding_fds += n;
    c->user->n_fds += n;
    connection_shift_descriptors(c, n);
}

void connection_announced(struct connection *c)
{
    job *j = c->pending;
    dp_error err = DP_ERROR_INIT;
    int64_t total = 0;
    size_t n_fds = 0;

    if (j->stage == JOB_PARSED) {
        total = request_announced(&j->rq, LIMIT_SIZE(ATTACHMENT_BYTES), c->n_fds, &n_fds, &err);
        if (total < 0) {
            request_refuse(&j->rq, &err);
            j->stage = JOB_ANSWERED;
        }
    }
    /* the length of the attachments is unknown, and so is the start of the next line */
    if (j->stage == JOB_ANSWERED) {
        c->pending = NULL;
        c->shut = j->rq.close_after = true;
        connection_dispatch(c, j);
        return;
    }
    take_descriptors(c, n_fds);
    if (connection_charge(c, (size_t)total, false, &err) < 0) {
        if (j->stage != JOB_ANSWERED)
            request_fail(&j->rq, &err);
        j->stage = JOB_ANSWERED;
        frame_expect_dropped(&c->frame, (size_t)total);
        return;
    }
    frame_expect(&c->frame, (size_t)total);
}

/* -- descriptors that are not announced -- */

/* Handle descriptors that no line announced.  The first time they are only logged.  The second time
 * the connection ends, and true is returned. */
static bool refuse_unannounced(struct connection *c)
{
    dp_error err = DP_ERROR_INIT;

    log_seldom(LOG_WARN, "connection.descriptors",
               "connection=%llu error=\"descriptors came that no line announces\"",
               (unsigned long long)c->number);
    if (!c->unannounced) {
        c->unannounced = true;
        return false;
    }
    dp_error_set(&err, DP_EVALUE,
                 "fds: descriptors came beside a line that does not announce them, for the second "
                 "time");
    connection_refuse(c, &err, true);
    return true;
}

/* Return the connection whose descriptors have waited longest; NULL: no connection has any. */
static struct connection *longest_waiting(const server *s)
{
    struct connection *found = NULL;

    for (struct connection *c = s->connections; c != NULL; c = c->next)
        if (c->n_fds > 0 && (found == NULL || c->fds_since < found->fds_since))
            found = c;
    return found;
}

static void close_longest_waiting(server *s)
{
    dp_error why = DP_ERROR_INIT;

    for (struct connection *c;
         s->waiting_descriptors > LIMIT(WAITING_DESCRIPTORS) && (c = longest_waiting(s)) != NULL;) {
        dp_error_set(&why, DP_ERESOURCE,
                     "%u descriptors wait for the ends of their lines, at most %lld may, and these "
                     "waited longest (waiting_descriptors)",
                     s->waiting_descriptors, (long long)LIMIT(WAITING_DESCRIPTORS));
        LIMIT_REACHED(WAITING_DESCRIPTORS, s->waiting_descriptors, why.code);
        connection_close_because(c, &why);
    }
}

/* Did descriptors arrive that were not received yet?  The check only peeks: the data stays in the
 * socket. */
static bool descriptors_unread(const struct connection *c)
{
    /* static to save stack: only the main thread uses the array, and nobody reads its content */
    static char bytes[PEEK_BYTES];
    char control[CMSG_SPACE(PEEK_DESCRIPTORS * sizeof(int))] __attribute__((aligned(8)));
    int from = 0, never = -1, fd;
    bool found = false;
    ssize_t n = setsockopt(c->fd, SOL_SOCKET, SO_PEEK_OFF, &from, sizeof(from)) == 0;

    /* each recvmsg() peeks at the data after those of the previous call */
    while (n > 0 && !found) {
        struct iovec iov = {bytes, sizeof(bytes)};
        struct msghdr m = {.msg_iov = &iov,
                           .msg_iovlen = 1,
                           .msg_control = control,
                           .msg_controllen = sizeof(control)};
        n = recvmsg(c->fd, &m, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        found = n >= 0 && (m.msg_flags & MSG_CTRUNC);
        for (struct cmsghdr *h = n >= 0 ? CMSG_FIRSTHDR(&m) : NULL; h != NULL;
             h = CMSG_NXTHDR(&m, h)) {
            if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
                continue;
            found = true;
            for (size_t i = 0; i < (h->cmsg_len - CMSG_LEN(0)) / sizeof(fd); i++) {
                memcpy(&fd, CMSG_DATA(h) + i * sizeof(fd), sizeof(fd));
                close(fd);
            }
        }
    }
    setsockopt(c->fd, SOL_SOCKET, SO_PEEK_OFF, &never, sizeof(never));
    return found;
}

/* Close `c`, whose descriptors have waited for `waited` nanoseconds. */
static void close_silent(struct connection *c, const char *where, uint64_t waited)
{
    dp_error why = DP_ERROR_INIT;

    dp_error_set(&why, DP_ERESOURCE, "descriptors came %s in %lld ms (silent_ms)", where,
                 (long long)LIMIT(SILENT_MS));
    LIMIT_REACHED(SILENT_MS, waited / 1000000, why.code);
    connection_close_because(c, &why);
}

/* Find connections from which the daemon has not read for LIMIT_SILENT_MS, because too many of
 * their requests or answers are waiting, and close those whose unread data contains descriptors.
 * Such a descriptor may be the client's end of the connection; the system would then never report
 * that the client has left.  Returns whether there are connections from which the daemon does not
 * read, for however short a time. */
static bool check_unread(server *s, uint64_t now)
{
    uint64_t max_ns = LIMIT_NANOS(SILENT_MS);
    bool any = false;

    for (struct connection *c = s->connections, *next; c != NULL; c = next) {
        next = c->next;
        any = any || c->unread_since != 0;
        if (c->unread_since == 0 || now - c->unread_since <= max_ns)
            continue;
        uint64_t unread_ns = now - c->unread_since;
        c->unread_since = now;
        if (descriptors_unread(c))
            close_silent(c, "behind requests whose answers were not read", unread_ns);
    }
    return any;
}

/* Close connections whose descriptors have waited too long for the end of their line.  A connection
 * is exempt while the daemon takes none of its lines (a line is being parsed, or too many requests
 * or answers are waiting): the line may be complete. */
static void on_waiting(uv_timer_t *h)
{
    server *s = h->data;
    uint64_t now = nanos(), max_ns = LIMIT_NANOS(SILENT_MS);

    for (struct connection *c = s->connections, *next; c != NULL; c = next) {
        next = c->next;
        if (c->n_fds > 0 && now - c->fds_since > max_ns && connection_wants(c))
            close_silent(c, "beside a line that did not end", now - c->fds_since);
    }
    bool unread = check_unread(s, now);
    if (s->waiting_descriptors == 0 && !unread)
        uv_timer_stop(h);
}

void connection_note_unread(struct connection *c)
{
    server *s = c->server;

    bool paused = !(connection_wants(c) || c->parsing || c->eof);

    atomic_store_explicit(&c->paused, paused, memory_order_relaxed);
    if (!paused) {
        c->unread_since = 0;
        return;
    }
    if (c->unread_since == 0)
        c->unread_since = nanos();
    if (!uv_is_active((uv_handle_t *)&s->waiting))
        uv_timer_start(&s->waiting, on_waiting, WAITING_CHECK_MS, WAITING_CHECK_MS);
}

bool connection_settle_descriptors(struct connection *c)
{
    server *s = c->server;
    uint64_t taken = c->received - (c->frame.end - c->frame.start);

    if (c->closed || c->n_fds == 0)
        return false;
    if (c->shut || (taken >= c->fds_end && !c->parsing)) {
        connection_drop_descriptors(c, c->n_fds);
        return !c->shut && refuse_unannounced(c);
    }
    if (!uv_is_active((uv_handle_t *)&s->waiting))
        uv_timer_start(&s->waiting, on_waiting, WAITING_CHECK_MS, WAITING_CHECK_MS);
    close_longest_waiting(s);
    return false;
}

bool connection_queue_descriptors(struct connection *c, const struct cmsghdr *h)
{
    size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    bool all = true;

    if (c->n_fds == 0)
        c->fds_since = nanos();
    for (size_t i = 0; i < n; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(h) + i * sizeof(fd), sizeof(fd));
        if (c->n_fds < LIMIT_DESCRIPTORS) {
            c->fds[c->n_fds++] = fd;
            c->server->waiting_descriptors++;
        } else {
            close(fd);
            all = false;
        }
    }
    c->fds_end = c->received;
    return all;
}
