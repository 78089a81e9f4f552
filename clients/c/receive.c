/* receive.c -- turns the bytes that the daemon sends into answers and notifications, and waits for
 * them.
 *
 * Waiting: a thread that sleeps is woken some microseconds after the answer came.  The
 * first dpc_options.spin_us of a wait therefore look for the answer again and again, and call
 * sched_yield() between two looks, so that a daemon on the same core can run.  If other processes
 * want the core, sched_yield() gives it to them for a whole time slice, and sleeping is better,
 * because a thread that is woken runs before them: after a yield of more than SLOW_YIELD_NS the
 * next waits sleep at once. */
#define _GNU_SOURCE /* ppoll */
#include "client.h"
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum {
    READ_BYTES = 16 << 10,      /* free bytes in the buffer before each read */
    LINE_MAX_BYTES = 1 << 30,   /* longest line of an answer */
    DIRECT_BYTES = 4 << 10,     /* so many missing bytes are received into the attachment itself */
    SLOW_YIELD_NS = 500 * 1000, /* a yield of this length: another process has used the core */
    NAPS_MIN = 1024,            /* waits that sleep at once after the first slow yield */
    NAPS_MAX = 64 << 10         /* and at most after later ones */
};

/* -- the client's state -- */

int64_t dpci_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t dpci_until(int timeout_ms)
{
    return timeout_ms < 0 ? INT64_MAX : dpci_now() + (int64_t)timeout_ms * 1000000;
}

int dpci_check(const dpc_client *c, dpc_error *err)
{
    if (c->notifying)
        return dpci_fail(err, DPC_EARGUMENT, "the callback of a notification uses the client");
    return c->broken == 0 ? 0 : dpci_fail(err, c->broken, "%s", c->why);
}

void dpci_forget(dpc_client *c)
{
    c->partial = dpc_answer_free(c->partial);
    for (dpc_answer *next; c->first != NULL; c->first = next) {
        next = c->first->next;
        dpc_answer_free(c->first);
    }
    c->last = &c->first;
    c->in.len = c->start = c->searched = c->in_flight = 0;
    c->received = c->fds_end = 0;
    dpci_drop_descriptors(c);
    dpci_forget_maps(c);
    c->arrived = c->sent;
    c->wanted = c->sent + 1;
}

/* -- reading bytes -- */

/* Return where received bytes go, and their number in `*n`: into the attachment that is being
 * received (`*direct`), if much of it is missing, else into the buffer.  NULL: out of memory. */
static char *destination(dpc_client *c, size_t *n, bool *direct)
{
    dpc_answer *a = c->partial;

    *direct = false;
    if (a != NULL && c->start == c->in.len) {
        size_t missing = a->blobs[a->blob].nbytes - a->filled;
        if (missing >= DIRECT_BYTES && a->blobs[a->blob].data != NULL) {
            *n = missing;
            *direct = true;
            return (char *)a->blobs[a->blob].data + a->filled;
        }
    }
    if (c->start > 0 && c->in.cap - c->in.len < READ_BYTES) {
        memmove(c->in.at, c->in.at + c->start, c->in.len - c->start);
        c->in.len -= c->start;
        c->start = 0;
    }
    if (!dpci_reserve(&c->in, READ_BYTES))
        return NULL;
    *n = c->in.cap - c->in.len;
    return c->in.at + c->in.len;
}

/* Receive what there is, with `flags` of recvmsg().  Returns 1; 0: there is nothing; or an
 * error. */
static int receive_some(dpc_client *c, int flags, dpc_error *err)
{
    char control[CMSG_SPACE(DPCI_FDS_MAX * sizeof(int))] __attribute__((aligned(8)));
    size_t wanted = 0;
    bool direct;
    char *to = destination(c, &wanted, &direct);
    struct iovec v = {to, wanted};
    struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1};
    ssize_t n;

    if (to == NULL)
        return dpci_fail(err, DPC_EMEMORY, "out of memory for an answer of %zu bytes",
                         c->in.len - c->start);
    do {
        h.msg_control = control;
        h.msg_controllen = sizeof(control);
        n = recvmsg(c->fd, &h, flags | MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    if (n < 0)
        return dpci_break(c, DPC_EBROKEN, err, "the connection broke: %s", strerror(errno));
    if (n == 0)
        return dpci_break(c, DPC_EBROKEN, err, "the daemon closed the connection%s",
                          c->in.len > c->start || c->partial ? " in the middle of a message" : "");
    if (direct) /* an allocator may have put the attachment right behind the buffer */
        c->partial->filled += (size_t)n;
    else
        c->in.len += (size_t)n;
    c->received += (size_t)n;
    if (h.msg_controllen > 0 || (h.msg_flags & MSG_CTRUNC)) {
        int rc = dpci_queue_descriptors(c, &h, err);
        return rc != 0 ? rc : 1;
    }
    return 1;
}

int dpci_poll(dpc_client *c, short events, int64_t until, short *revents, dpc_error *err)
{
    struct pollfd p = {.fd = c->fd, .events = events};
    int n;

    do {
        int64_t left = until == INT64_MAX ? -1 : until - dpci_now();
        struct timespec t = {left / 1000000000, left % 1000000000};
        if (until != INT64_MAX && left <= 0)
            t = (struct timespec){0, 0};
        n = ppoll(&p, 1, until == INT64_MAX ? NULL : &t, NULL);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return dpci_break(c, DPC_EBROKEN, err, "the connection broke: %s", strerror(errno));
    if (n == 0)
        return dpci_fail(err, DPC_ETIMEOUT, "the daemon did not answer in time");
    *revents = p.revents;
    return 0;
}

/* Note a yield of `ns` nanoseconds. */
static void note_yield(dpc_client *c, int64_t ns)
{
    if (ns < SLOW_YIELD_NS)
        return;
    c->nap_length *= 2;
    c->nap_length = c->nap_length < NAPS_MIN ? NAPS_MIN : c->nap_length;
    c->nap_length = c->nap_length > NAPS_MAX ? NAPS_MAX : c->nap_length;
    c->naps = c->nap_length;
}

/* Look for bytes without sleeping, for at most dpc_options.spin_us.  Returns as receive_some(). */
static int spin(dpc_client *c, int64_t until, dpc_error *err)
{
    int64_t now = dpci_now(), end = now + (int64_t)c->spin_us * 1000;
    int rc = 0;

    end = end < until ? end : until;
    while (rc == 0 && now < end && c->naps == 0) {
        int64_t before = now;
        sched_yield();
        rc = receive_some(c, MSG_DONTWAIT, err);
        now = dpci_now();
        note_yield(c, now - before);
    }
    if (c->naps == 0 && c->nap_length > 0)
        c->nap_length--; /* slowly, because on a busy core some yields are short, too */
    return rc;
}

/* Receive at least one byte, at most until `until`. */
static int receive_more(dpc_client *c, int64_t until, dpc_error *err)
{
    int rc = 0;
    short events;

    if (c->naps > 0)
        c->naps--;
    else if (c->spin_us > 0 && (rc = receive_some(c, MSG_DONTWAIT, err)) == 0)
        rc = spin(c, until, err);
    while (rc == 0 && until == INT64_MAX)
        rc = receive_some(c, 0, err); /* sleeps */
    while (rc == 0) {
        int waited = dpci_poll(c, POLLIN, until, &events, err);
        if (waited != 0)
            return waited;
        rc = receive_some(c, MSG_DONTWAIT, err);
    }
    return rc > 0 ? 0 : rc;
}

/* -- messages -- */

static int bad(dpc_client *c, dpc_error *err, const char *what)
{
    return dpci_break(c, DPC_EPROTOCOL, err, "the daemon's message %s", what);
}

/* Hand a notification to the callback. */
static int notify(dpc_client *c, cJSON *root, const char *method)
{
    c->messages++;
    c->notifying = true;
    if (c->on_notification != NULL)
        c->on_notification(c->context, method, cJSON_GetObjectItemCaseSensitive(root, "params"));
    c->notifying = false;
    cJSON_Delete(root);
    return 0;
}

/* Find out which request `a` answers.  An error without an id answers the oldest request, or tells
 * why the daemon refuses or ends the connection. */
static int find_request(dpc_client *c, dpc_answer *a, dpc_error *err)
{
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(a->root, "id");

    if (cJSON_IsNull(id) && a->error != NULL && c->arrived == c->sent) {
        dpc_error fault;
        dpci_fail_daemon(&fault, a->error);
        return dpci_break(c, DPC_EBROKEN, err, "the daemon ends the connection: %s", fault.message);
    }
    if (cJSON_IsNull(id) && a->error != NULL)
        return 0;
    if (!cJSON_IsNumber(id) || c->arrived == c->sent || id->valuedouble != (double)(c->arrived + 1))
        return bad(c, err, "answers another request than the oldest one");
    a->id = c->arrived + 1;
    return 0;
}

/* Make room for the attachments that a message announces. */
static int announce(dpc_client *c, dpc_answer *a, dpc_error *err)
{
    const cJSON *sizes = cJSON_GetObjectItemCaseSensitive(a->root, "attachments"), *size;
    int n = cJSON_GetArraySize(sizes);

    if (sizes == NULL)
        return 0;
    if (!cJSON_IsArray(sizes))
        return bad(c, err, "announces attachments, but not their sizes");
    a->blobs = n > 0 ? calloc((size_t)n, sizeof(*a->blobs)) : NULL;
    if (n > 0 && a->blobs == NULL)
        return dpci_fail(err, DPC_EMEMORY, "out of memory for %d attachments", n);
    cJSON_ArrayForEach(size, sizes)
    {
        double bytes = cJSON_IsNumber(size) ? size->valuedouble : -1;
        if (!(bytes >= 0 && bytes < (double)(SIZE_MAX / 4)))
            return bad(c, err, "announces an attachment of no valid size");
        a->blobs[a->n_blobs++].nbytes = (size_t)bytes;
    }
    return 0;
}

/* Begin an answer whose line is `root`; takes ownership of `root`. */
static int begin_answer(dpc_client *c, cJSON *root, dpc_error *err)
{
    dpc_answer *a = calloc(1, sizeof(*a));
    int rc;

    if (a == NULL) {
        cJSON_Delete(root);
        return dpci_fail(err, DPC_EMEMORY, "out of memory for an answer");
    }
    a->root = root;
    a->fd = -1;
    a->result = cJSON_GetObjectItemCaseSensitive(root, "result");
    a->error = cJSON_GetObjectItemCaseSensitive(root, "error");
    if ((a->result == NULL) == (a->error == NULL))
        rc = bad(c, err, "has neither a method, a result nor an error");
    else if ((rc = find_request(c, a, err)) == 0 && (rc = announce(c, a, err)) == 0)
        rc = dpci_take_descriptors(c, a, err);
    if (rc != 0) {
        dpc_answer_free(a);
        return rc;
    }
    c->partial = a;
    return 0;
}

/* Read the message of `n` bytes at the start of the buffer.  DPC_EMEMORY: it can be read again. */
static int read_message(dpc_client *c, size_t n, dpc_error *err)
{
    errno = 0;
    cJSON *root = cJSON_ParseWithLength(c->in.at + c->start, n);
    const char *method = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "method"));

    if (root == NULL && errno == ENOMEM) /* cJSON does not tell, but malloc() does */
        return dpci_fail(err, DPC_EMEMORY, "out of memory for an answer of %zu bytes", n);
    if (!cJSON_IsObject(root)) {
        cJSON_Delete(root);
        return bad(c, err, "is not a JSON object");
    }
    if (method != NULL && cJSON_GetObjectItemCaseSensitive(root, "id") == NULL)
        return notify(c, root, method);
    return begin_answer(c, root, err);
}

/* Read the line of `n` bytes at the start of the buffer, and its line feed. */
static int read_line(dpc_client *c, size_t n, dpc_error *err)
{
    int rc = read_message(c, n, err);

    if (rc != DPC_EMEMORY) {
        c->start += n + 1;
        c->searched = 0;
    }
    return rc != 0 ? rc : dpci_check_descriptors(c, err);
}

/* Put a complete answer into the queue, or drop it if nobody wants it any more. */
static void end_answer(dpc_client *c)
{
    dpc_answer *a = c->partial;

    c->partial = NULL;
    c->messages++;
    c->arrived++;
    c->in_flight -= c->sizes[c->arrived % DPC_OUTSTANDING_MAX];
    if (c->arrived < c->wanted) {
        dpc_answer_free(a);
        return;
    }
    *c->last = a;
    c->last = &a->next;
}

/* Fill the attachments of the answer that is being received from the buffer. */
static int fill(dpc_client *c, dpc_error *err)
{
    dpc_answer *a = c->partial;

    for (; a->blob < a->n_blobs; a->blob++, a->filled = 0) {
        struct dpci_blob *blob = &a->blobs[a->blob];
        size_t n = c->in.len - c->start, missing;
        if (blob->data == NULL &&
            (blob->data = malloc(blob->nbytes > 0 ? blob->nbytes : 1)) == NULL)
            return dpci_fail(err, DPC_EMEMORY, "out of memory for an attachment of %zu bytes",
                             blob->nbytes);
        missing = blob->nbytes - a->filled;
        n = n < missing ? n : missing;
        if (n > 0)
            memcpy((char *)blob->data + a->filled, c->in.at + c->start, n);
        c->start += n;
        a->filled += n;
        if (n < missing)
            return 0;
    }
    end_answer(c);
    return 0;
}

/* Go on with what is in the buffer, until one message is complete or more bytes are needed. */
static int advance(dpc_client *c, dpc_error *err)
{
    if (c->partial == NULL) {
        const char *from = c->in.at + c->start;
        size_t n = c->in.len - c->start;
        const char *end =
            n > c->searched ? memchr(from + c->searched, '\n', n - c->searched) : NULL;
        if (end == NULL) {
            c->searched = n;
            return n < LINE_MAX_BYTES ? 0 : bad(c, err, "has a line of more than 1 GiB");
        }
        int rc = read_line(c, (size_t)(end - from), err);
        if (rc != 0 || c->partial == NULL)
            return rc;
    }
    return fill(c, err);
}

int dpci_pump(dpc_client *c, int64_t until, dpc_error *err)
{
    uint64_t before = c->messages;
    int rc;

    while ((rc = advance(c, err)) == 0 && c->messages == before)
        if ((rc = receive_more(c, until, err)) != 0)
            break;
    return rc;
}

int dpci_drain(dpc_client *c, dpc_error *err)
{
    int rc = receive_some(c, MSG_DONTWAIT, err);
    uint64_t before;

    if (rc < 0)
        return rc;
    do {
        before = c->messages;
        rc = advance(c, err);
    } while (rc == 0 && c->messages != before);
    return rc;
}

/* -- giving answers -- */

size_t dpc_outstanding(const dpc_client *c)
{
    return (size_t)(c->sent + 1 - c->wanted);
}

int dpci_receive(dpc_client *c, int64_t until, dpc_answer **out, dpc_error *err)
{
    if (c->notifying)
        return dpci_check(c, err);
    if (dpc_outstanding(c) == 0)
        return c->broken != 0 ? dpci_check(c, err)
                              : dpci_fail(err, DPC_EARGUMENT, "no request waits for an answer");
    while (c->first == NULL) { /* answers that came before the connection broke are still given */
        int rc = dpci_check(c, err);
        if (rc != 0 || (rc = dpci_pump(c, until, err)) != 0)
            return rc;
    }
    dpc_answer *a = c->first;
    c->first = a->next;
    if (c->first == NULL)
        c->last = &c->first;
    a->next = NULL;
    c->wanted++;
    *out = a;
    return 0;
}

int dpc_receive(dpc_client *c, int timeout_ms, dpc_answer **out, dpc_error *err)
{
    return dpci_receive(c, dpci_until(timeout_ms), out, err);
}

int dpc_wait(dpc_client *c, int timeout_ms, dpc_error *err)
{
    int rc = dpci_check(c, err);
    return rc != 0 ? rc : dpci_pump(c, dpci_until(timeout_ms), err);
}

void dpc_on_notification(dpc_client *c, dpc_notification_fn *fn, void *context)
{
    c->on_notification = fn;
    c->context = context;
}
