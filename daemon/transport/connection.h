/* connection.h -- one client: its socket, its requests in order, its answers in order.
 *
 * The functions are for the main thread, which runs the event loop, except those for daemon_calls:
 * any thread. */
#ifndef DAEMON_TRANSPORT_CONNECTION_H
#define DAEMON_TRANSPORT_CONNECTION_H

#include "changes.h"
#include "job.h"
#include "transport/frame.h"
#include <uv.h>

typedef struct cancel { /* a request call.cancel that was read */
    struct cancel *next;
    cJSON *id;       /* owned */
    uint64_t before; /* job.number of the last job that it may cancel */
} cancel;

struct connection {
    struct connection *next, **link; /* links in server.connections */
    struct server *server;
    /* Reference count, used by the main thread only.  References: the server, each job, the task
     * `parse`, and `poll` until it is closed. */
    int refs;
    uint64_t number;
    uint64_t opened; /* time (nanos()) when the connection was accepted */
    user *user; /* counted reference: the record of the uid that the client had when it connected */
    int fd;
    uv_poll_t poll;
    int events; /* events that `poll` waits for */
    /* settle() of connection.c, for receive.c: send answers, take messages, and choose the events
     * to wait for. */
    void (*settle)(struct connection *c);
    frame frame;
    job *pending;      /* a job whose line was read and whose attachments are being read */
    task parse;        /* task for a worker: parse the line of `pending` */
    bool parsing;      /* `parse` is queued or runs */
    uint64_t received; /* number of bytes received */
    /* file descriptors that were received and that no line has announced yet, oldest first */
    int fds[LIMIT_DESCRIPTORS];
    unsigned n_fds;
    uint64_t fds_since; /* time (nanos()) when the oldest of `fds` arrived */
    uint64_t fds_end;   /* value of `received` just after the newest of `fds` arrived */
    bool unannounced;   /* descriptors that no line announced were already closed once */
    /* time (nanos()) since when the daemon neither reads (too many requests or answers are waiting)
     * nor has sent anything; 0: it reads, parses a line, or has read everything */
    uint64_t unread_since;
    atomic_bool paused; /* the same as a flag, which any thread may read: `unread_since` is not 0 */
    job_list out;       /* answered jobs, in order, with answers that are not completely sent */
    bool blocked;       /* send nothing now: the socket is full, or `deferred` is set */
    bool deferred; /* the connection is in server.deferred, to go on in a later loop iteration */
    bool has_more; /* the last turn ended before all messages that were read were taken */
    struct connection *next_deferred;
    /* number of bytes that may still be read; limited when the daemon stops, to the bytes that had
     * arrived */
    size_t to_read;
    bool eof;  /* nothing more will be read from the socket */
    bool shut; /* no more messages are taken, not even from bytes already read */
    bool closed;
    /* nanoseconds that this connection may still use in its turn; see connection_begin_turn() */
    int64_t budget;
    uint64_t iteration;   /* the loop iteration that `budget` is for */
    uint64_t last_ns;     /* duration of the last request that the main thread ran */
    unsigned in_executor; /* number of jobs in the executor: submitted and not returned yet */
    /* number of jobs whose answers are not completely sent */
    unsigned outstanding;
    size_t outstanding_bytes; /* sum of request.bytes_charged of these jobs */
    size_t outstanding_fds;   /* number of descriptors that came with these jobs */
    /* bytes that `paid_by` (counted reference) is charged for requests; 0: NULL.  See charge.c */
    size_t charged_bytes;
    dp_account *paid_by;
    uint64_t n_jobs; /* number of jobs so far */
    /* registry.watch (notify.c): the connection gets the changes after number `watches_after` */
    atomic_bool watching;
    atomic_uint_fast64_t watches_after;
    unsigned notices; /* notifications in `out` */
    bool has_kept;    /* `kept` is to be sent when `notices` is 0 */
    change kept;
    /* grad.watch (gradients.c); owned; NULL: the connection has never watched a gradient */
    struct gradient_notices *_Atomic gradients;
    /* bytes of answers not sent yet; at LIMIT_UNSENT_BYTES no further job is run */
    atomic_size_t unsent;
    conn_state state; /* used only by the thread that runs a job of this connection */
    /* Lock of the members below: executor.lock. */
    struct session *session; /* NULL: the connection is closed */
    job_list queue;          /* jobs that wait */
    /* a job of this connection was taken from `queue`, runs or is parsed, and is not answered */
    bool busy;
    bool waits; /* the connection is in executor.waiting */
    bool ready; /* the connection is in its session's turn queue */
    /* not NULL: the connection waits until a stuck call of this session ends; see executor.c */
    struct session *parked;
    uint64_t check_at; /* time (nanos()) when to check the first waiting job; 0: never */
    bool gone;         /* the connection is closed: nobody waits for answers */
    /* the parsed job that a worker runs; NULL: none, or the main thread has answered it */
    job *running;
    struct connection *next_ready, *next_waiting, **link_waiting;
    cancel *cancels; /* list of the call.cancel requests that may affect waiting jobs */
    /* length of `cancels`; read without the lock, because it is usually 0 */
    atomic_uint n_cancels;
};
/* Serve a client on `fd`, and take over `fd`.  false: the client was refused. */
bool connection_accept(struct server *s, int fd);
/* Begin to serve the connections that server.open made. */
void connections_begin_opened(struct server *s);
/* Close the connections whose sessions have ended (session.end), and tell their clients. */
void connections_close_ended(struct server *s);
/* Queue the answer of `j`, which the executor has returned, and take over `j`.  `last`: no further
 * answer of this connection follows at once, so send now. */
void connection_answered(job *j, bool last);
/* Called before the loop waits for events: send the answers that were deferred in earlier loop
 * iterations, and poll the newest client (spin.c). */
void connections_turn(uv_prepare_t *h);
/* Read again from connections that were not read because of LIMIT_UID_OUTSTANDING. */
void connections_resume(struct server *s);
/* Answer everything that clients have sent until now; close each connection after its last answer.
 * The event loop stops when no connection is left. */
void connections_drain(struct server *s);
/* Send the notifications that wait, about changes of the registry and about gradients. */
void connections_notify(struct server *s);
void connections_close(struct server *s); /* Close all connections. */
/* Close the connection; queued jobs and unsent answers are dropped. */
void connection_close(struct connection *c);
/* The functions for daemon_calls.open, .join, .session, .cancel, .watch_registry and
 * .watch_gradients; see request.h. */
int connection_open(request *rq, int *fd, dp_error *err);
void connection_watch(struct connection *c, bool watching);
struct dp_grad_watcher *connection_watch_gradients(struct connection *c);
int connection_join(struct connection *c, const char *key, dp_error *err);
struct session *connection_session(struct connection *c);
int connection_cancel(request *rq, const cJSON *id, bool *waiting, dp_error *err);
struct store *connection_store(struct connection *c); /* for daemon_calls.store */

/* -- notices.c -- */

/* Messages that answer no request and wait until the main thread sends them. */
typedef struct notices {
    pthread_mutex_t lock;
    struct notice *head; /* the newest first */
} notices;
void connection_notify(struct connection *c, jw *line); /* for daemon_calls.notify */
/* Send the messages that wait, oldest first, each to its connection. */
void connection_notices_send(struct server *s);
void connection_notices_drop(struct server *s); /* Free them instead. */

#endif
