/* connection.h -- one client: its socket, its requests in order, its answers in order.  For the
 * loop's thread. */
#ifndef DAEMON_TRANSPORT_CONNECTION_H
#define DAEMON_TRANSPORT_CONNECTION_H

#include "job.h"
#include "transport/frame.h"
#include <uv.h>

typedef struct cancel { /* a call.cancel that was read */
    struct cancel *next;
    cJSON *id;       /* owned */
    uint64_t before; /* number of the last job that may be cancelled */
} cancel;

struct connection {
    struct connection *next, **link; /* links in server.connections */
    struct server *server;
    /* Reference count, for the loop's thread: one of the server, one for each job, one for a parse,
     * and one until `poll` is closed. */
    int refs;
    uint64_t number;
    uint64_t opened; /* time (nanos()) when the connection was accepted */
    int fd;
    uv_poll_t poll;
    int events; /* events that `poll` waits for */
    /* Function of connection.c that receive.c may call: send answers, take messages, and choose the
     * events to wait for. */
    void (*settle)(struct connection *c);
    frame frame;
    job *pending;               /* a job whose line was read and whose attachments are being read */
    task parse;                 /* task that parses a long line that announces attachments */
    bool parsing;               /* `parse` is queued or runs */
    uint64_t received;          /* number of bytes received */
    int fds[LIMIT_DESCRIPTORS]; /* received, not announced yet, oldest first */
    unsigned n_fds;
    uint64_t fds_since; /* time (nanos()) when the oldest of `fds` arrived */
    uint64_t fds_end;   /* value of `received` after the newest of `fds` arrived */
    bool unannounced;   /* unannounced descriptors were already closed once */
    /* nothing was read or sent since this time (nanos()); 0: the daemon reads from the client */
    uint64_t unread_since;
    job_list out;  /* answered jobs, in order, whose answers are not completely sent */
    bool blocked;  /* the socket is full, or other connections send first */
    bool deferred; /* the connection is in server.deferred, to send in a later turn of the loop */
    struct connection *next_deferred;
    /* bytes that may still be read; when draining, those that had arrived by then */
    size_t to_read;
    bool eof;  /* nothing more will be read from the socket */
    bool shut; /* no more messages are taken, not even from bytes already read */
    bool closed;
    /* nanoseconds that requests may still use on the loop's thread in this turn */
    int64_t budget;
    unsigned in_executor; /* number of jobs in the executor: submitted and not returned yet */
    /* number of jobs that were read and whose answers are not completely sent */
    unsigned outstanding;
    size_t outstanding_bytes;
    uint64_t n_jobs;
    /* bytes of answers not sent yet; at LIMIT_UNSENT_BYTES no further job is run */
    atomic_size_t unsent;
    conn_state state; /* used by the thread that runs a job of this connection */
    /* Lock of the members below: executor.lock. */
    struct session *session; /* NULL: the connection is closed */
    job_list queue;
    bool busy;  /* a worker runs a job of this connection */
    bool waits; /* the connection is in executor.waiting */
    bool ready; /* the connection is in its session's turn queue */
    /* the connection waits until a stuck call of this session ends; NULL: it does not */
    struct session *parked;
    uint64_t check_at; /* time (nanos()) when to check the first waiting job; 0: never */
    bool gone;         /* the connection is closed: nobody waits for answers */
    job *running;      /* the job that a worker runs, once the job is parsed; NULL: none */
    struct connection *next_ready, *next_waiting, **link_waiting;
    cancel *cancels;
    /* number of `cancels`; read without the lock, which is then needed only if there are some */
    atomic_uint n_cancels;
};
void connection_accept(struct server *s, int fd); /* takes `fd` */
/* Queue the answer of `j`, which the executor has returned; takes `j`.  `last`: the next job that
 * the executor returned belongs to another connection, so send now. */
void connection_answered(job *j, bool last);
/* Begin a turn of the loop: send the answers that were deferred in the previous turn. */
void connections_turn(uv_prepare_t *h);
/* Answer everything that clients have sent until now, and close each connection then.  The loop
 * stops when no connection is left. */
void connections_drain(struct server *s);
/* Close the connection; queued jobs and unsent answers are dropped. */
void connection_close(struct connection *c);
/* The functions for daemon_calls.join, .session and .cancel; see request.h. */
int connection_join(struct connection *c, const char *key, dp_error *err);
struct session *connection_session(struct connection *c);
int connection_cancel(request *rq, const cJSON *id, bool *waiting, dp_error *err);

#endif
