/* notices.c -- messages of the daemon that answer no request, such as store.progress.
 *
 * A worker makes a message, and the main thread sends it.  The connection may have been closed in
 * between, so a message has the number of its connection and no pointer.  A message is sent only if
 * nothing else waits to be sent: messages for a client that does not read are dropped. */
#include "server.h"
#include "transport/parts.h"

typedef struct notice {
    struct notice *next;
    uint64_t connection; /* connection.number */
    jw line;
} notice;

void connection_notify(struct connection *c, jw *line)
{
    server *s = c->server;
    notice *n = line->failed ? NULL : dp_malloc(sizeof(*n));

    if (n == NULL) {
        jw_fini(line);
        return;
    }
    *n = (notice){NULL, c->number, *line};
    pthread_mutex_lock(&s->notices.lock);
    n->next = s->notices.head;
    s->notices.head = n;
    pthread_mutex_unlock(&s->notices.lock);
    uv_async_send(&s->async);
}

/* Remove all messages from the server, and return them with the oldest first. */
static notice *take_all(server *s)
{
    notice *oldest = NULL;

    pthread_mutex_lock(&s->notices.lock);
    notice *n = s->notices.head;
    s->notices.head = NULL;
    pthread_mutex_unlock(&s->notices.lock);
    while (n != NULL) {
        notice *next = n->next;
        n->next = oldest;
        oldest = n;
        n = next;
    }
    return oldest;
}

static struct connection *find(const server *s, uint64_t number)
{
    struct connection *c = s->connections;

    while (c != NULL && c->number != number)
        c = c->next;
    return c;
}

bool connection_queue_notice(struct connection *c, jw *line)
{
    job *j = line->failed ? NULL : dp_calloc(1, sizeof(*j));

    if (j == NULL) {
        jw_fini(line);
        return false;
    }
    j->rq.conn = c;
    j->rq.out = *line;
    j->stage = JOB_ANSWERED;
    j->notice = true;
    j->answer_bytes = line->len;
    c->refs++;
    c->notices++;
    atomic_fetch_add(&c->unsent, j->answer_bytes);
    job_push(&c->out, j);
    return true;
}

static void send_line(struct connection *c, jw *line)
{
    if (c->out.head != NULL || c->blocked) {
        jw_fini(line);
        return;
    }
    c->refs++;
    if (connection_queue_notice(c, line))
        c->settle(c);
    connection_unref(c);
}

void connection_notices_send(server *s)
{
    for (notice *n = take_all(s), *next; n != NULL; n = next) {
        struct connection *c = find(s, n->connection);
        next = n->next;
        if (c != NULL)
            send_line(c, &n->line);
        else
            jw_fini(&n->line);
        dp_free(n);
    }
}

void connection_notices_drop(server *s)
{
    for (notice *n = take_all(s), *next; n != NULL; n = next) {
        next = n->next;
        jw_fini(&n->line);
        dp_free(n);
    }
    pthread_mutex_destroy(&s->notices.lock);
}
