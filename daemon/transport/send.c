/* send.c -- sends the answers of a connection, in order, until its socket is full.
 *
 * Every sendmsg() is non-blocking, so the daemon never waits for a client. */
#define _GNU_SOURCE
#include "server.h"
#include "transport/parts.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum { SEND_PIECES = 64 }; /* most pieces of data in one sendmsg() */

/* Store the unsent pieces of `j`'s answer (its line and its attachments), at most `max_pieces`, in
 * `iov`.  Returns their number. */
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

/* Must the next system call that sends bytes of `j` begin with them and pass a descriptor, too?
 * The descriptor of an answer comes beside the first bytes of its line. */
static bool starts_with_descriptor(const job *j)
{
    return j->rq.sends_fd && j->sent == 0;
}

/* Send `m`, and `fd` beside its bytes. */
static ssize_t send_with_descriptor(int socket, struct msghdr *m, int fd)
{
    char control[CMSG_SPACE(sizeof(fd))] __attribute__((aligned(8))) = {0};

    m->msg_control = control;
    m->msg_controllen = sizeof(control);
    struct cmsghdr *h = CMSG_FIRSTHDR(m);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(h), &fd, sizeof(fd));
    ssize_t n = sendmsg(socket, m, MSG_DONTWAIT | MSG_NOSIGNAL);
    m->msg_control = NULL;
    m->msg_controllen = 0;
    return n;
}

/* Record that `n` more bytes were sent: free the jobs whose answers are now completely sent. */
static void sent(struct connection *c, size_t n)
{
    size_t before = atomic_fetch_sub(&c->unsent, n);
    job *j;

    if (n > 0)
        c->unread_since = 0; /* settle() in connection.c sets it again if necessary */

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
    if (c->has_kept && c->notices == 0)
        connection_send_kept(c);
    if (c->notices == 0 && atomic_load(&c->gradients) != NULL)
        connection_send_gradients(c);
    if (before >= LIMIT_SIZE(UNSENT_BYTES) && atomic_load(&c->unsent) < LIMIT_SIZE(UNSENT_BYTES) &&
        !c->closed)
        executor_resume(&c->server->executor, c);
}

/* Has this loop iteration sent so much that a long answer of `c` must wait for the next
 * iteration? */
static bool turn_is_over(const struct connection *c)
{
    const job *j = c->out.head;

    return c->server->turn_bytes >= TURN_BYTES &&
           j->answer_bytes - j->sent > LIMIT_SIZE(INLINE_BYTES);
}

void connection_flush(struct connection *c)
{
    struct iovec iov[SEND_PIECES];
    struct msghdr m = {.msg_iov = iov};

    sent(c, 0); /* free the jobs with empty answers: notifications */
    while (!c->closed && !c->blocked && c->out.head != NULL) {
        if (turn_is_over(c)) {
            c->blocked = true;
            connection_defer(c);
            return;
        }
        m.msg_iovlen = 0;
        for (job *j = c->out.head; j != NULL && m.msg_iovlen < SEND_PIECES; j = j->next) {
            if (j != c->out.head && starts_with_descriptor(j))
                break;
            m.msg_iovlen += answer_pieces(j, iov + m.msg_iovlen, SEND_PIECES - m.msg_iovlen);
        }
        /* send() is faster than sendmsg() for one piece */
        ssize_t n = starts_with_descriptor(c->out.head)
                        ? send_with_descriptor(c->fd, &m, c->out.head->rq.sent_fd)
                    : m.msg_iovlen == 1
                        ? send(c->fd, iov[0].iov_base, iov[0].iov_len, MSG_DONTWAIT | MSG_NOSIGNAL)
                        : sendmsg(c->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n >= 0)
            sent(c, (size_t)n);
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            c->blocked = true;
        else if (errno != EINTR)
            connection_close(c); /* the client has left */
        c->server->turn_bytes += n > 0 ? (size_t)n : 0;
    }
}
