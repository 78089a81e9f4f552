/* send.c -- sends requests and notifications.
 *
 * The descriptors of a message go beside its first byte.
 * While the daemon takes no bytes, what it sends is read into memory: the daemon stops reading
 * requests as long as its answers are not taken. */
#define _GNU_SOURCE /* memmem */
#include "client.h"
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { PIECES = 16 /* pieces of a message in one sendmsg() */ };

/* A message while it is sent: pieces 0 to 2 are its line, the others its attachments. */
struct message {
    const dpc_request *r;
    struct iovec line[3];
    size_t piece, offset; /* the first byte that is not sent yet */
    size_t sent;
};

static struct iovec piece_of(const struct message *m, size_t i)
{
    if (i < 3)
        return m->line[i];
    const dpci_bytes *a = &m->r->attachments[i - 3];
    return (struct iovec){(void *)a->data, a->nbytes};
}

static size_t count_pieces(const struct message *m)
{
    return 3 + m->r->n_attachments;
}

static void advance(struct message *m, size_t n)
{
    m->sent += n;
    for (m->offset += n; m->piece < count_pieces(m); m->piece++) {
        size_t bytes = piece_of(m, m->piece).iov_len;
        if (m->offset < bytes)
            return;
        m->offset -= bytes;
    }
}

/* Let `h` pass the memories of `r`, with `control` as the space for that. */
static void pass_memories(struct msghdr *h, const dpc_request *r, char *control)
{
    size_t bytes = r->n_memories * sizeof(int);

    h->msg_control = control;
    h->msg_controllen = CMSG_SPACE(bytes);
    struct cmsghdr *rights = CMSG_FIRSTHDR(h);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(bytes);
    for (size_t i = 0; i < r->n_memories; i++)
        memcpy(CMSG_DATA(rights) + i * sizeof(int), &r->memories[i]->fd, sizeof(int));
}

/* Does sendmsg() fail because no descriptor can be passed now? */
static bool passes_none(int error)
{
    return error == ETOOMANYREFS || error == ENOMEM || error == ENOBUFS;
}

/* Send as much as the socket takes.  Returns 1; 0: it takes nothing now; or an error. */
static int send_some(dpc_client *c, struct message *m, dpc_error *err)
{
    char control[CMSG_SPACE(DPCI_FDS_MAX * sizeof(int))] __attribute__((aligned(8))) = {0};
    struct iovec v[PIECES];
    struct msghdr h = {.msg_iov = v};
    ssize_t n;

    if (m->sent == 0 && m->r->n_memories > 0)
        pass_memories(&h, m->r, control);

    v[0] = piece_of(m, m->piece);
    for (h.msg_iovlen = 1; h.msg_iovlen < PIECES; h.msg_iovlen++) {
        if (m->piece + h.msg_iovlen == count_pieces(m))
            break;
        v[h.msg_iovlen] = piece_of(m, m->piece + h.msg_iovlen);
    }
    v[0].iov_base = (char *)v[0].iov_base + m->offset;
    v[0].iov_len -= m->offset;
    do
        n = sendmsg(c->fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    if (n < 0 && m->sent == 0 && passes_none(errno))
        return dpci_fail(err, DPC_EMEMORY, "the request cannot be sent: %s", strerror(errno));
    if (n < 0)
        return dpci_fail(err, DPC_EBROKEN, "the connection broke while sending: %s",
                         strerror(errno));
    advance(m, (size_t)n);
    return 1;
}

/* The daemon takes no more bytes.  Read what it sent before, because its last message may say why;
 * fail with that, or with `err`. */
static int closed_by_daemon(dpc_client *c, dpc_error *err)
{
    dpc_error why;
    int rc;

    do
        rc = dpci_pump(c, dpci_until(0), &why);
    while (rc == 0);
    if (rc == DPC_ETIMEOUT || rc == DPC_EMEMORY)
        return dpci_break(c, DPC_EBROKEN, err, "the daemon closed the connection");
    return dpci_fail(err, rc, "%s", why.message);
}

/* Wait until the socket takes bytes, and read answers meanwhile. */
static int wait_to_send(dpc_client *c, int64_t until, dpc_error *err)
{
    short events;
    int rc = dpci_poll(c, POLLIN | POLLOUT, until, &events, err);

    if (rc == 0 && events & POLLIN)
        rc = dpci_drain(c, err);
    return rc;
}

static int send_message(dpc_client *c, struct message *m, int64_t until, dpc_error *err)
{
    int rc = 0;

    while (rc == 0 && m->piece < count_pieces(m)) {
        rc = send_some(c, m, err);
        if (rc == DPC_EBROKEN)
            return closed_by_daemon(c, err);
        if (rc == 0)
            rc = wait_to_send(c, until, err);
        else if (rc > 0)
            rc = 0;
    }
    if (rc != 0 && c->broken == 0 && m->sent > 0) /* half a message cannot be taken back */
        rc = dpci_break(c, DPC_EBROKEN, err, "%s after %zu bytes of a message were sent",
                        rc == DPC_EMEMORY ? "memory ran out" : "the time was over", m->sent);
    return rc;
}

/* -- messages -- */

/* Refuse a message that the daemon would not take: it might end the connection. */
static int check_size(const dpc_client *c, const struct message *m, dpc_error *err)
{
    size_t line = m->line[0].iov_len + m->line[1].iov_len + m->line[2].iov_len;

    if ((int64_t)line > c->line_limit)
        return dpci_fail(err, DPC_EARGUMENT,
                         "a request of %zu bytes; the daemon takes %" PRId64 " (line_bytes)", line,
                         c->line_limit);
    for (size_t i = 0; i < m->r->n_attachments; i++)
        if ((int64_t)m->r->attachments[i].nbytes > c->attachment_limit)
            return dpci_fail(err, DPC_EARGUMENT,
                             "attachment %zu has %zu bytes; the daemon takes %" PRId64
                             " (attachment_bytes)",
                             i, m->r->attachments[i].nbytes, c->attachment_limit);
    return 0;
}

static size_t count_bytes(const struct message *m)
{
    size_t n = 0;

    for (size_t i = 0; i < count_pieces(m); i++)
        n += piece_of(m, i).iov_len;
    return n;
}

/* Write what begins and what ends the line of `r`; `head` [bytes] is its beginning. */
static int begin_message(dpc_client *c, const dpc_request *r, char *head, size_t n,
                         struct message *m, dpc_error *err)
{
    c->line.len = 0;
    int rc = dpci_request_finish(r, &c->line, err);
    if (rc != 0)
        return rc;
    *m = (struct message){
        r, {{head, n}, {r->text.at, r->text.len}, {c->line.at, c->line.len}}, 0, 0, 0};
    return check_size(c, m, err);
}

static int notify(dpc_client *c, const dpc_request *r, int64_t until, dpc_error *err)
{
    static char head[] = "{\"jsonrpc\":\"2.0\"";
    struct message m;
    int rc = begin_message(c, r, head, sizeof(head) - 1, &m, err);

    return rc != 0 ? rc : send_message(c, &m, until, err);
}

int dpci_release_maps(dpc_client *c, int64_t until, dpc_error *err)
{
    if (c->n_unused == 0)
        return 0;
    dpc_request *r = dpc_request_new("map.release");
    dpc_begin_list(r, "maps");
    for (size_t i = 0; i < c->n_maps; i++)
        if (c->maps[i].memory == NULL)
            dpc_add_int(r, NULL, c->maps[i].number);
    dpc_end(r);
    int rc = notify(c, r, until, err);
    dpc_request_free(r);
    if (rc == 0)
        dpci_drop_unused_maps(c);
    return rc;
}

/* Wait until a request of `bytes` more may be outstanding. */
static int wait_for_answers(dpc_client *c, size_t bytes, int64_t until, dpc_error *err)
{
    int rc = 0;

    while (rc == 0 && c->sent > c->arrived &&
           (c->sent - c->arrived >= DPC_OUTSTANDING_MAX ||
            c->in_flight + bytes > DPC_OUTSTANDING_BYTES))
        rc = dpci_pump(c, until, err);
    return rc;
}

static int submit(dpc_client *c, const dpc_request *r, int64_t until, dpc_error *err)
{
    static const char format[] = "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64;
    char head[sizeof(format) + 24];
    struct message m;
    size_t bytes;
    int rc = dpci_check(c, err);

    if (rc != 0)
        return rc;
    if (dpc_outstanding(c) >= DPC_OUTSTANDING_MAX)
        return dpci_fail(err, DPC_EFULL, "%d answers are outstanding; receive some first",
                         DPC_OUTSTANDING_MAX);
    int n = snprintf(head, sizeof(head), format, c->sent + 1);
    if ((rc = dpci_release_maps(c, until, err)) != 0 ||
        (rc = begin_message(c, r, head, (size_t)n, &m, err)) != 0)
        return rc;
    bytes = count_bytes(&m);
    if ((rc = wait_for_answers(c, bytes, until, err)) != 0)
        return rc;
    /* The daemon may answer before it has all attachments: the answer must find its request. */
    c->sent++;
    c->sizes[c->sent % DPC_OUTSTANDING_MAX] = bytes;
    c->in_flight += bytes;
    if (memmem(r->text.at, r->text.len, "\"fd\"", 4) != NULL)
        c->asked_fd = c->sent;
    rc = send_message(c, &m, until, err);
    if (rc == 0 || c->arrived == c->sent) /* the answer is here, and says why sending failed */
        return 0;
    c->sent--;
    c->in_flight -= bytes;
    return rc;
}

int dpc_submit(dpc_client *c, const dpc_request *r, uint64_t *id, dpc_error *err)
{
    int rc = submit(c, r, dpci_until(c->timeout_ms), err);

    if (rc == 0 && id != NULL)
        *id = c->sent;
    return rc;
}

int dpc_notify(dpc_client *c, const dpc_request *r, dpc_error *err)
{
    int64_t until = dpci_until(c->timeout_ms);
    int rc = dpci_check(c, err);

    if (rc == 0)
        rc = dpci_release_maps(c, until, err);
    return rc != 0 ? rc : notify(c, r, until, err);
}

int dpc_cancel(dpc_client *c, uint64_t id, dpc_error *err)
{
    dpc_request *r = dpc_request_new("call.cancel");

    dpc_add_int(r, "id", (int64_t)id);
    int rc = dpc_notify(c, r, err);
    dpc_request_free(r);
    return rc;
}

/* -- one call -- */

int dpci_call(dpc_client *c, const dpc_request *r, int64_t until, dpc_answer **out, dpc_error *err)
{
    dpc_answer *a;
    int rc = dpci_check(c, err);

    if (rc == 0 && dpc_outstanding(c) > 0)
        rc = dpci_fail(err, DPC_EARGUMENT, "%zu answers are outstanding; receive them first",
                       dpc_outstanding(c));
    if (rc != 0 || (rc = submit(c, r, until, err)) != 0)
        return rc;
    rc = dpci_receive(c, until, &a, err);
    if (rc != 0) {
        c->wanted = c->sent + 1; /* the answer is dropped when it comes */
        return rc;
    }
    rc = dpc_answer_error(a, err);
    if (rc != 0 || out == NULL)
        dpc_answer_free(a);
    else
        *out = a;
    return rc;
}

int dpc_call(dpc_client *c, const dpc_request *r, dpc_answer **out, dpc_error *err)
{
    return dpci_call(c, r, dpci_until(c->timeout_ms), out, err);
}

int dpc_call_json(dpc_client *c, const char *method, const char *params, dpc_answer **out,
                  dpc_error *err)
{
    dpc_request *r = dpc_request_json(method, params);
    int rc = dpc_call(c, r, out, err);

    dpc_request_free(r);
    return rc;
}
