/* receive.c -- receives bytes from the socket and turns them, by frame.c, into jobs. */
#define _GNU_SOURCE
#include "methods/methods.h"
#include "server.h"
#include "transport/parts.h"
#include <errno.h>
#include <sys/socket.h>

enum {
    READ_ROUNDS = 4, /* most reads from one connection before other connections get their turn */
    HAND_OVER_NS = 20 * 1000, /* handing a request over to a worker, and its answer back */
    HANDED_OVER = 16          /* requests that keep a worker busy until the next turn */
};

/* -- taking messages -- */

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
        connection_job_free(c->pending);
        c->pending = NULL;
    } else {
        connection_begin_turn(c);
        connection_announced(c);
        c->settle(c);
    }
    connection_unref(c);
}

/* Answer `*err` to a line that is skipped.  If the line announces a body or descriptors, they are
 * not known, so that the connection must be closed then. */
static void refuse_line(struct connection *c, const dp_error *err)
{
    connection_refuse(c, err, c->frame.announces || c->n_fds > 0);
}

/* Refuse a line of which `bytes` bytes were received. */
static void refuse_long(struct connection *c, size_t bytes)
{
    dp_error err = DP_ERROR_INIT;

    dp_error_set(&err, DP_EVALUE, "line of %zu bytes or more, at most %zu (line_bytes)", bytes,
                 c->frame.max_line);
    LIMIT_REACHED(LINE_BYTES, bytes, err.code);
    refuse_line(c, &err);
}

static void refuse_for_memory(struct connection *c)
{
    dp_error err = DP_ERROR_INIT;

    dp_error_set(&err, DP_ERESOURCE, "out of memory: a request");
    refuse_line(c, &err);
}

static void take_line(struct connection *c, char *line, size_t bytes)
{
    job *j = connection_job(c, line, bytes);

    if (j == NULL) {
        dp_free(line); /* which may leave enough memory for the answer */
        refuse_for_memory(c);
        return;
    }
    j->announces = c->frame.announces || c->n_fds > 0;
    if (!c->frame.announces) {
        connection_dispatch(c, j);
        return;
    }
    c->pending = j;
    if (bytes <= LIMIT_SIZE(INLINE_BYTES) && c->budget > 0) {
        job_parse(j);
        connection_announced(c);
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
    if (j->rq.attached != NULL) {
        j->rq.bytes_charged += bytes;
        c->outstanding_bytes += bytes;
    }
    j->body_lost = bytes > 0 && j->rq.attached == NULL && j->stage != JOB_ANSWERED;
    connection_dispatch(c, j);
}

/* Charge what `c` has read.  If a line that has not ended is too much, answer an error and skip the
 * line: true. */
static bool charge_read(struct connection *c)
{
    dp_error err = DP_ERROR_INIT;

    /* requests that are complete have been read; only a line that has not ended can be refused */
    if (connection_charge(c, 0, !frame_in_line(&c->frame), &err) == 0)
        return false;
    frame_give_up(&c->frame);
    refuse_line(c, &err);
    return true;
}

/* May `c` take another message in this turn?  A connection whose requests take longer than handing
 * them over hands some to workers when its time is over. */
static bool has_turn(const struct connection *c)
{
    return c->budget > 0 || (c->last_ns > HAND_OVER_NS && c->in_executor < HANDED_OVER);
}

bool connection_take_messages(struct connection *c)
{
    bool any = false;
    char *line;
    size_t bytes;

    c->has_more = false;
    while (connection_wants(c)) {
        if (!has_turn(c)) {
            c->has_more = true;
            break;
        }
        c->budget -= TAKE_NS;
        int found = frame_next(&c->frame, &line, &bytes);
        if (found == FRAME_MORE)
            break;
        any = true;
        if (found == FRAME_LINE)
            take_line(c, line, bytes);
        else if (found == FRAME_BODY)
            take_body(c);
        else if (found == FRAME_LONG)
            refuse_long(c, bytes);
        else if (found == FRAME_NO_MEMORY)
            refuse_for_memory(c);
        else
            connection_close(c);
    }
    if (!c->closed && charge_read(c))
        any = true;
    return connection_settle_descriptors(c) || any;
}

/* -- receiving -- */

/* Results of receive(), besides the number of bytes received: nothing has arrived, or the
 * connection must be closed.  0: the client sends no more. */
enum { NOTHING_NOW = -1, BROKEN = -2 };

static ssize_t receive(struct connection *c, char *p, size_t space)
{
    char control[CMSG_SPACE(LIMIT_DESCRIPTORS * sizeof(int))] __attribute__((aligned(8)));
    dp_error why = DP_ERROR_INIT;
    struct iovec iov = {p, space};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof(control)};
    ssize_t n;
    bool all_queued = true;

    do
        n = recvmsg(c->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? NOTHING_NOW : BROKEN;
    c->received += (size_t)n;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h != NULL; h = CMSG_NXTHDR(&m, h))
        if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS)
            all_queued = connection_queue_descriptors(c, h) && all_queued;
    if (all_queued && !(m.msg_flags & MSG_CTRUNC))
        return n;
    dp_error_set(&why, DP_ERESOURCE, "more than %d descriptors came (descriptors), or none is free",
                 LIMIT_DESCRIPTORS);
    LIMIT_REACHED(DESCRIPTORS, LIMIT_DESCRIPTORS + 1, why.code);
    log_seldom(LOG_WARN, "connection.close", "connection=%llu error=\"%s\"",
               (unsigned long long)c->number, why.message);
    connection_say_why(c->fd, &why);
    return BROKEN;
}

/* There is no memory for bytes of `c`.  If they belong to a line that has begun, skip the line and
 * answer an error; else close the connection. */
static void lack_space(struct connection *c)
{
    dp_error err = DP_ERROR_INIT;

    if (frame_in_line(&c->frame)) {
        frame_give_up(&c->frame);
        refuse_for_memory(c);
        return;
    }
    dp_error_set(&err, DP_ERESOURCE, "out of memory: a buffer for requests");
    connection_close_because(c, &err);
}

void connection_read(struct connection *c)
{
    for (int i = 0; i < READ_ROUNDS && connection_wants(c) && !c->eof && has_turn(c); i++) {
        char *p;
        size_t space = frame_space(&c->frame, &p);
        if (space == 0) {
            lack_space(c);
            return;
        }
        ssize_t n = receive(c, p, space < c->to_read ? space : c->to_read);
        if (n == NOTHING_NOW)
            return;
        if (n == BROKEN) {
            connection_close(c);
            return;
        }
        c->to_read -= (size_t)n;
        c->eof = n == 0 || c->to_read == 0;
        frame_filled(&c->frame, (size_t)n);
        connection_take_messages(c);
        if ((size_t)n < space && !c->server->draining) /* `poll` will report later data */
            return;
    }
}
