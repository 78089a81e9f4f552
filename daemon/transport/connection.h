/* connection.h -- one client: its socket, its requests in order, its answers in order.  Loop
 * thread. */
#ifndef DAEMON_TRANSPORT_CONNECTION_H
#define DAEMON_TRANSPORT_CONNECTION_H

#include "job.h"
#include "transport/frame.h"
#include <uv.h>

typedef struct cancel { /* a call.cancel that was read */
    struct cancel *next;
    cJSON *id;       /* owned */
    uint64_t before; /* it means jobs up to this number */
} cancel;

struct connection {
    struct connection *next, **link; /* of the server's */
    struct server *server;
    /* Loop thread: the server's, one for each job, one for a parse, one until `poll` is closed. */
    int refs;
    uint64_t number;
    uint64_t opened; /* nanos */
    int fd;
    uv_poll_t poll;
    int events; /* that `poll` waits for */
    /* connection.c's, for receive.c below it: send, take messages, choose the events to wait
     * for. */
    void (*settle)(struct connection *c);
    frame frame;
    job *pending;               /* its line came; its attachments are being read */
    task parse;                 /* parses a long line that announces attachments */
    bool parsing;               /* `parse` is under way */
    uint64_t received;          /* bytes */
    int fds[LIMIT_DESCRIPTORS]; /* received and not announced yet, first in first out */
    unsigned n_fds;
    uint64_t fds_since;    /* nanos, when the first of them came */
    uint64_t fds_end;      /* `received` when the last of them had come */
    bool unannounced;      /* some were closed that no line announced */
    uint64_t unread_since; /* nanos: nothing has been read or sent since; 0: it is being read */
    job_list out;          /* answered, in order, not wholly sent */
    bool blocked;          /* the socket takes no more for now, or other connections send first */
    bool deferred;         /* it stands in the server's list for that */
    struct connection *next_deferred;
    size_t to_read; /* bytes that may still be read; draining: those that had come by then */
    bool eof;       /* nothing more will be read from the socket */
    bool shut;      /* no more messages are taken, not even those that were read */
    bool closed;
    int64_t budget;       /* nanos that its requests may still take on the loop in this turn */
    unsigned in_executor; /* jobs that executor_submit() got and that have not come back */
    unsigned outstanding; /* jobs that were read and whose answer is not wholly sent */
    size_t outstanding_bytes;
    uint64_t n_jobs;
    atomic_size_t unsent; /* bytes of answers; too many stop the executor */
    conn_state state;     /* belongs to the thread that runs its job */
    /* executor.lock: */
    struct session *session; /* NULL: closed */
    job_list queue;
    bool busy;              /* a worker runs one of its jobs */
    bool waits;             /* it stands in executor.waiting */
    bool ready;             /* it stands in its session's lane */
    struct session *parked; /* it waits until a stuck call of this one ends; NULL: for its turn */
    uint64_t check_at;      /* it waits: nanos, when to look at its first job; 0: never */
    bool gone;              /* its client is: nobody waits for answers */
    job *running;           /* what that worker runs, once it is parsed; NULL: none */
    struct connection *next_ready, *next_waiting, **link_waiting;
    cancel *cancels;
    atomic_uint n_cancels; /* so that the lock is not taken when there are none */
};
void connection_accept(struct server *s, int fd); /* takes fd */
/* j is back from the executor; takes.  last: no other job of its connection came back with it. */
void connection_answered(job *j, bool last);
/* A turn of the loop begins: send what was deferred in the last one. */
void connections_turn(uv_prepare_t *h);
/* Answer what every client has sent by now, and close its connection then.  The loop stops once
 * none is left. */
void connections_drain(struct server *s);
void connection_close(struct connection *c); /* queued jobs and unsent answers are dropped */
/* These are members of daemon_calls (request.h), which says what they do. */
int connection_join(struct connection *c, const char *key, dp_error *err);
struct session *connection_session(struct connection *c);
int connection_cancel(request *rq, const cJSON *id, bool *waiting, dp_error *err);

#endif
