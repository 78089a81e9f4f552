/* send.c -- answers of a connection, in order, as far as its socket takes them.
 *
 * Every sendmsg is non-blocking, so no client is waited for. */
#define _GNU_SOURCE
#include "server.h"
#include "transport/parts.h"
#include <errno.h>
#include <sys/socket.h>

enum { SEND_PIECES = 64 }; /* of answers, given to the system at once */

/* The pieces of j's answer that are not sent yet, at most `room` of them; returns how many. */
static size_t answer_pieces(const job *j, struct iovec *iov, size_t max_pieces)
{
    size_t n = 0, skip = j->sent;

    for (size_t i = 0; i <= j->rq.n_parts && n < max_pieces; i++) {
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

    if (n > 0)
        c->unread_since = 0; /* settle() notes it again */

    while ((j = c->out.head) != NULL) {
        size_t left = j->answer_bytes - j->sent, step = n < left ? n : left;
        j->sent += step;
        n -= step;
        if (step < left)
            break;
        job_pop(&c->out);
        if (j->rq.close_after)
            connection_close(c);
        connection_job_free(j);
    }
    if (before >= LIMIT_UNSENT_BYTES && atomic_load(&c->unsent) < LIMIT_UNSENT_BYTES && !c->closed)
        executor_resume(&c->server->executor, c);
}

/* Leave the rest of c's long answer to a later turn of the loop. */
static void defer(struct connection *c)
{
    server *s = c->server;

    c->blocked = true;
    if (c->deferred)
        return;
    c->deferred = true;
    c->next_deferred = NULL;
    *(s->deferred != NULL ? &s->deferred_tail->next_deferred : &s->deferred) = c;
    s->deferred_tail = c;
}

/* Has this turn of the loop sent so much that c's long answer has to wait for the next one? */
static bool turn_is_over(const struct connection *c)
{
    const job *j = c->out.head;

    return c->server->turn_bytes >= TURN_BYTES && j->answer_bytes - j->sent > LIMIT_INLINE_BYTES;
}

void connection_flush(struct connection *c)
{
    struct iovec iov[SEND_PIECES];
    struct msghdr m = {.msg_iov = iov};

    sent(c, 0); /* free the jobs whose answers are empty, those of notifications */
    while (!c->closed && !c->blocked && c->out.head != NULL) {
        if (turn_is_over(c)) {
            defer(c);
            return;
        }
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
        c->server->turn_bytes += n > 0 ? (size_t)n : 0;
    }
}
