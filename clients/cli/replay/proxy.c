/* proxy.c -- passes bytes and descriptors between clients and the daemon, and looks at them
 *
 * A descriptor belongs to the line that announces it, so it is sent on beside the first byte of
 * that line.  A direction is read again when what was read has been sent: a side that does not read
 * slows the other one down as if they were connected. */
#define _GNU_SOURCE /* for accept4(), POLLRDHUP */
#include "replay.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { CHUNK = 256 << 10, CLIENT = 0, DAEMON = 1 };

/* One direction of a connection. */
typedef struct flow {
    char bytes[CHUNK];
    size_t n, sent;
    size_t split;                       /* the descriptors go beside the byte at this offset */
    int fds[DESCRIPTORS_MOST], n_fds;   /* owned; until they are sent */
    int held[DESCRIPTORS_MOST], n_held; /* owned: copies, until their line is complete */
    bool ended;                         /* the sender sends no more */
    bool told;                          /* and the receiver has been told */
    stream in;
} flow;

typedef struct tap {
    struct tap *next;
    int fd[2];     /* the client's socket and the daemon's */
    flow flows[2]; /* from the client, from the daemon */
    traffic log;
    bool closed[2];  /* the side has closed its socket, and everything from it was read */
    uint32_t opened; /* the number of the connection that server.open has made last */
    bool broken;
} tap;

typedef struct proxy {
    recorder *to;
    const char *path;
    tap *links;
    uint32_t connections;
    bool said_lost;
} proxy;

static void close_all(int *fds, int *n)
{
    while (*n > 0)
        close(fds[--*n]);
}

static tap *add_link(proxy *p, int client, int daemon)
{
    tap *l = need(calloc(1, sizeof(*l)));

    l->fd[CLIENT] = client;
    l->fd[DAEMON] = daemon;
    l->log.to = p->to;
    l->log.connection = ++p->connections;
    l->next = p->links;
    p->links = l;
    return l;
}

static void end_link(tap *l)
{
    traffic_end(&l->log);
    for (int side = 0; side < 2; side++) {
        close(l->fd[side]);
        close_all(l->flows[side].fds, &l->flows[side].n_fds);
        close_all(l->flows[side].held, &l->flows[side].n_held);
        stream_free(&l->flows[side].in);
    }
    free(l);
}

static int connect_daemon(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 &&
        fcntl(fd, F_SETFL, O_NONBLOCK) == 0)
        return fd;
    fprintf(stderr, "dispatchctl: %s: %s\n", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

static void accept_client(proxy *p, int listener)
{
    int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    int daemon = client >= 0 ? connect_daemon(p->path) : -1;

    if (daemon >= 0)
        add_link(p, client, daemon);
    else if (client >= 0)
        close(client);
}

/* -- another connection of the session -- */

/* The daemon passes a socket, the answer of server.open.  The client gets one end of another pair
 * in its place, so that its bytes pass here, too. */
static void tap_socket(proxy *p, tap *l)
{
    flow *from = &l->flows[DAEMON];
    int pair[2];

    if (from->n_fds != 1 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return;
    fcntl(pair[1], F_SETFL, O_NONBLOCK);
    fcntl(from->fds[0], F_SETFL, O_NONBLOCK);
    l->opened = add_link(p, pair[1], from->fds[0])->log.connection;
    from->fds[0] = pair[0];
}

/* -- what passes -- */

static void take_message(proxy *p, tap *l, int side, message *m)
{
    flow *from = &l->flows[side];
    const cJSON *session = member(member(m->json, "result"), "session");
    int n = m->n_fds < 0 ? 0 : m->n_fds < from->n_held ? m->n_fds : from->n_held;

    if (side == CLIENT) {
        traffic_request(&l->log, m, from->held, n);
    } else {
        if (n > 0 && cJSON_IsNumber(session) && traffic_waits_for(&l->log, "server.open")) {
            recorder_session(p->to, l->log.connection, session->valuedouble, false);
            recorder_session(p->to, l->opened, session->valuedouble, false);
        }
        for (int i = 0; i < n; i++)
            close(from->held[i]);
        traffic_answer(&l->log, m);
    }
    from->n_held -= n;
    memmove(from->held, from->held + n, (size_t)from->n_held * sizeof(*from->held));
    message_free(m);
}

/* Look at the messages of what was read, and find the line to which its descriptors belong. */
static void look(proxy *p, tap *l, int side)
{
    flow *from = &l->flows[side];
    bool split = false, done;
    message m;
    size_t begin = 0;

    for (size_t at = 0; at < from->n;) {
        if (!stream_inside(&from->in))
            begin = at;
        at += stream_take(&from->in, from->bytes + at, from->n - at, &m, &done);
        if (!split) {
            from->split = begin;
            split = done && m.n_fds > 0;
        }
        if (done)
            take_message(p, l, side, &m);
    }
    if (from->in.lost && !p->said_lost)
        fprintf(stderr, "dispatchctl: a connection sends what is no message; the rest of it is "
                        "passed on, but not recorded\n");
    p->said_lost = p->said_lost || from->in.lost;
}

/* Read from one side.  Returns false if the connection is broken. */
static bool read_side(proxy *p, tap *l, int side)
{
    flow *from = &l->flows[side];
    char control[CMSG_SPACE(DESCRIPTORS_MOST * sizeof(int))] __attribute__((aligned(8)));
    struct iovec iov = {from->bytes, CHUNK};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof(control)};
    ssize_t n = recvmsg(l->fd[side], &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    from->ended = n == 0;
    from->n = (size_t)n;
    from->sent = from->split = 0;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h != NULL; h = CMSG_NXTHDR(&m, h)) {
        size_t bytes = h->cmsg_len - CMSG_LEN(0);
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        memcpy(from->fds, CMSG_DATA(h), bytes);
        from->n_fds = (int)(bytes / sizeof(int));
    }
    if (side == DAEMON && from->n_fds > 0 && traffic_waits_for(&l->log, "server.open"))
        tap_socket(p, l);
    for (int i = 0; i < from->n_fds && from->n_held < DESCRIPTORS_MOST; i++) {
        int copy = fcntl(from->fds[i], F_DUPFD_CLOEXEC, 0);
        if (copy >= 0)
            from->held[from->n_held++] = copy;
    }
    look(p, l, side);
    return true;
}

/* The other side reads no more, but may have said why: only this direction ends. */
static void give_up(tap *l, int side)
{
    flow *from = &l->flows[side];

    from->n = from->sent = 0;
    from->ended = from->told = true;
    close_all(from->fds, &from->n_fds);
    shutdown(l->fd[side], SHUT_RD);
}

/* Send what was read from one side to the other.  Returns false if the connection is broken. */
static bool send_side(tap *l, int side)
{
    flow *from = &l->flows[side];
    bool rights = from->n_fds > 0 && from->sent == from->split;
    size_t end = from->n_fds > 0 && from->sent < from->split ? from->split : from->n;
    char control[CMSG_SPACE(DESCRIPTORS_MOST * sizeof(int))] __attribute__((aligned(8))) = {0};
    struct iovec iov = {from->bytes + from->sent, end - from->sent};
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

    if (rights) {
        size_t bytes = (size_t)from->n_fds * sizeof(int);
        m.msg_control = control;
        m.msg_controllen = CMSG_SPACE(bytes);
        struct cmsghdr *h = CMSG_FIRSTHDR(&m);
        h->cmsg_level = SOL_SOCKET;
        h->cmsg_type = SCM_RIGHTS;
        h->cmsg_len = CMSG_LEN(bytes);
        memcpy(CMSG_DATA(h), from->fds, bytes);
    }
    ssize_t n = sendmsg(l->fd[!side], &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == EPIPE)
        give_up(l, side);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR || errno == EPIPE;
    if (rights)
        close_all(from->fds, &from->n_fds);
    from->sent += (size_t)n;
    if (from->sent == from->n)
        from->sent = from->n = 0;
    return true;
}

/* Pass on that a side sends no more. */
static void pass_end(tap *l, int side)
{
    flow *from = &l->flows[side];

    if (!from->ended || from->told || from->n > 0)
        return;
    shutdown(l->fd[!side], SHUT_WR);
    from->told = true;
}

/* -- the loop -- */

static void step(proxy *p, tap *l, const struct pollfd *at)
{
    for (int side = 0; side < 2 && !l->broken; side++) {
        flow *from = &l->flows[side];
        if (at[side].revents & POLLIN && from->n == 0 && !from->ended)
            l->broken = !read_side(p, l, side);
        while (from->n > 0 && !l->broken) {
            size_t before = from->sent;
            l->broken = !send_side(l, side);
            if (from->n > 0 && from->sent == before)
                break;
        }
        pass_end(l, side);
        /* A side that has closed, and not only ended its sending, reads no answers. */
        if (at[side].revents & (POLLHUP | POLLERR) && from->ended)
            l->closed[side] = true;
        if (l->closed[side] && from->n == 0)
            l->broken = true;
    }
    if (l->flows[CLIENT].told && l->flows[DAEMON].told)
        l->broken = true;
}

/* Poll a side for reading if what was read is sent, and for writing if something waits. */
static void interests(const tap *l, struct pollfd *at)
{
    for (int side = 0; side < 2; side++) {
        const flow *from = &l->flows[side], *to = &l->flows[!side];
        bool reads = from->n == 0 && !from->ended;
        short events = (short)((reads ? POLLIN : 0) | (to->n > 0 ? POLLOUT : 0));
        at[side] = (struct pollfd){l->closed[side] ? -1 : l->fd[side], events, 0};
    }
}

static void drop_broken(proxy *p)
{
    for (tap **at = &p->links; *at != NULL;) {
        tap *l = *at;
        if (l->broken) {
            *at = l->next;
            end_link(l);
        } else {
            at = &l->next;
        }
    }
}

void proxy_run(recorder *to, int listener, const char *path, int ended, int stop)
{
    proxy p = {.to = to, .path = path};
    struct pollfd *polls = NULL;
    bool over = false;

    while (!over || p.links != NULL) {
        size_t n = 3;
        for (tap *l = p.links; l != NULL; l = l->next)
            n += 2;
        polls = need(realloc(polls, n * sizeof(*polls)));
        polls[0] = (struct pollfd){listener, POLLIN, 0};
        polls[1] = (struct pollfd){over ? -1 : ended, POLLIN, 0};
        polls[2] = (struct pollfd){stop, POLLIN, 0};
        size_t i = 3;
        for (tap *l = p.links; l != NULL; l = l->next, i += 2)
            interests(l, &polls[i]);
        if (poll(polls, (nfds_t)n, -1) < 0 && errno != EINTR)
            break;
        tap *first = p.links; /* links that are added now stand before it */
        i = 3;
        for (tap *l = first; l != NULL; l = l->next, i += 2)
            step(&p, l, &polls[i]);
        drop_broken(&p);
        if (polls[0].revents & POLLIN)
            accept_client(&p, listener);
        over = over || polls[1].revents != 0;
        if (polls[2].revents != 0)
            break;
    }
    for (tap *l = p.links; l != NULL; l = l->next)
        l->broken = true;
    drop_broken(&p);
    free(polls);
}
