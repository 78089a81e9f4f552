/* open.c -- server.open: another connection of a session, whose socket is passed in the answer.
 *
 * The method may run on a worker, so it only makes the connection, and the main thread begins to
 * serve it.  Nothing has to be undone if the answer is not sent: its descriptor is closed then, the
 * new connection reads the end of its client, and ends. */
#define _GNU_SOURCE
#include "server.h"
#include "transport/parts.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Make two connected sockets; the first one, the daemon's, does not block. */
static int make_sockets(int ends[2], dp_error *err)
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return dp_error_set(err, DP_ERESOURCE, "socketpair: %s", strerror(errno));
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
        return 0;
    dp_error_set(err, DP_ERUNTIME, "fcntl: %s", strerror(errno));
    close(ends[0]);
    close(ends[1]);
    return err->code;
}

/* Let the main thread serve `c`, if limits allow one more connection. */
static int hand_over(struct connection *c, dp_error *err)
{
    server *s = c->server;

    pthread_mutex_lock(&s->connections_lock);
    int rc = connections_check_uid(s, c->user->uid, err);
    if (rc == 0)
        rc = connections_count(s, err);
    if (rc == 0) {
        c->next = s->opened;
        s->opened = c;
    }
    pthread_mutex_unlock(&s->connections_lock);
    if (rc == 0)
        uv_async_send(&s->async);
    return rc;
}

int connection_open(request *rq, int *fd, dp_error *err)
{
    struct session *session = rq->session;
    struct connection *c;
    int ends[2];

    if (make_sockets(ends, err) < 0)
        return err->code;
    if (!session_enter(session)) {
        dp_error_set(err, DP_ECANCELLED, "the session was ended by session.end");
    } else if ((c = connection_new(rq->conn->server, ends[0], session)) == NULL) {
        session_leave(session);
        dp_error_set(err, DP_ERESOURCE, "out of memory: connection");
    } else if (hand_over(c, err) < 0) {
        connection_discard(c);
    } else {
        *fd = ends[1];
        return 0;
    }
    close(ends[0]);
    close(ends[1]);
    return err->code;
}

static struct connection *take_opened(server *s)
{
    pthread_mutex_lock(&s->connections_lock);
    struct connection *c = s->opened;
    if (c != NULL)
        s->opened = c->next;
    pthread_mutex_unlock(&s->connections_lock);
    return c;
}

static void refuse(struct connection *c, const dp_error *why)
{
    server *s = c->server;

    log_seldom(LOG_WARN, "connection.refuse", "error=\"%s\"", why->message);
    connection_say_why(c->fd, why);
    close(c->fd);
    connection_discard(c);
    atomic_fetch_sub(&s->n_connections, 1);
    connections_check_drained(s);
}

void connections_begin_opened(server *s)
{
    dp_error err = DP_ERROR_INIT;

    for (struct connection *c; (c = take_opened(s)) != NULL;) {
        if (connection_begin(c, &err) < 0) {
            refuse(c, &err);
            continue;
        }
        connection_close_ended(c); /* session.end may have run since server.open did */
        if (s->draining)
            connection_drain(c);
    }
}

void connections_close(server *s)
{
    connections_begin_opened(s);
    while (s->connections != NULL)
        connection_close(s->connections);
}
