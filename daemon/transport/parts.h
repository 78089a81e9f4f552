/* parts.h -- declarations that the files of this folder share; every function is for the main
 * thread. */
#ifndef DAEMON_TRANSPORT_PARTS_H
#define DAEMON_TRANSPORT_PARTS_H

#include "transport/connection.h"
#include "users.h"

struct cmsghdr;

enum {
    /* Limits for one loop iteration, so that other connections get their turn: */
    /* after this many bytes of answers of all connections, long answers wait for the next
     * iteration */
    TURN_BYTES = 256 << 10,
    /* time that all connections may use to take messages and to run requests, shared equally by
     * the uids, and then by the connections of a uid; but each may use the least */
    TURN_NS = 500 * 1000,
    TURN_LEAST_NS = 20 * 1000,
    TAKE_NS = 1000, /* counted for each message, beside the time of a request that runs */
};

/* May more data be read from `c`, and more messages be taken? */
static inline bool connection_wants(const struct connection *c)
{
    return !c->closed && !c->shut && !c->parsing && c->outstanding < LIMIT(OUTSTANDING) &&
           c->outstanding_bytes < LIMIT_SIZE(OUTSTANDING_BYTES) &&
           c->outstanding_fds < LIMIT_SIZE(OUTSTANDING_DESCRIPTORS) &&
           atomic_load(&c->unsent) < LIMIT_SIZE(UNSENT_BYTES) &&
           (c->pending != NULL || !user_is_busy(c->user)); /* what was begun is read to its end */
}

/* -- turn.c -- */

/* Begin the turn of `c` in this loop iteration, or go on with it: set c->budget. */
void connection_begin_turn(struct connection *c);
/* Let `c` go on in a later loop iteration. */
void connection_defer(struct connection *c);
/* Remove `c` from server.deferred, if it is in that list. */
void connection_undefer(struct connection *c);

/* -- life.c -- */

/* Drop one reference to `c`; the last one frees it. */
void connection_unref(struct connection *c);
/* Create a job of `c` for `line`, and take ownership of `line`.  NULL: out of memory, and the
 * caller still owns `line`. */
job *connection_job(struct connection *c, char *line, size_t bytes);
void connection_job_free(job *j);
/* Free the recorded call.cancel requests: no job waits that they could cancel. */
void connection_drop_cancels(struct connection *c);
/* Close the first `n` of the file descriptors in c->fds, and remove them from there. */
void connection_drop_descriptors(struct connection *c, size_t n);
/* Remove the first `n` file descriptors from c->fds; the caller has taken them over. */
void connection_shift_descriptors(struct connection *c, size_t n);
/* Stop the event loop if no connection is left, and the daemon is draining (stopping) or serves
 * only an inherited socket (--serve-fd). */
void connections_check_drained(struct server *s);
/* Send one answer line with the error `*why` on a connection that is about to be closed, if the
 * socket takes it without blocking. */
void connection_say_why(int fd, const dp_error *why);
/* Close `c`, and report `*why` to its client and in the log. */
void connection_close_because(struct connection *c, const dp_error *why);

/* -- connection.c -- */

/* Make a connection on the socket `fd` in `session`, whose reference it takes over.  It is
 * not served yet.  NULL: out of memory, and nothing is taken over.  Any thread. */
struct connection *connection_new(struct server *s, int fd, struct session *session);
/* Leave the session of `c`, which is not served, and free `c`.  Its socket is still open.  Any
 * thread. */
void connection_discard(struct connection *c);
/* Begin to serve `c`, which counts in server.n_connections, and own its socket. */
int connection_begin(struct connection *c, dp_error *err);
/* Close `c`, and tell its client, if its session has ended. */
void connection_close_ended(struct connection *c);
/* Answer everything that the client of `c` has sent until now, and then close `c`. */
void connection_drain(struct connection *c);
/* Count one more connection in server.n_connections.  DP_ERESOURCE: there are too many.  Any
 * thread. */
int connections_count(struct server *s, dp_error *err);
/* Check that `uid`, if it is not the daemon's own, may have one more connection.  DP_ERESOURCE: it
 * may not.  The caller holds server.connections_lock. */
int connections_check_uid(const struct server *s, uid_t uid, dp_error *err);

/* -- notify.c -- */

/* Queue the notification about the newest change, if that was kept because too many notifications
 * waited.  None waits now. */
void connection_send_kept(struct connection *c);
/* Queue the notifications about gradients that wait for `c`, as many as may wait to be sent. */
void connection_send_gradients(struct connection *c);

/* -- send.c -- */

/* Send answers of `c` until none is left, its socket is full, or this loop iteration may send no
 * more. */
void connection_flush(struct connection *c);

/* -- dispatch.c -- */

/* Run `j` on this thread if it is the next job of `c` and short; otherwise queue it for a
 * worker. */
void connection_dispatch(struct connection *c, job *j);
/* Queue the answer of `j`, which has run, behind the answers that are not sent yet. */
void connection_answer(struct connection *c, job *j);
/* Answer `*err` to input that is not a request.  `close`: the connection is closed after that
 * answer. */
void connection_refuse(struct connection *c, const dp_error *err, bool close);

/* -- announce.c -- */

/* Compute the length of the attachments of c->pending, whose line is parsed, and prepare to receive
 * them.  If the line or its announcement is not valid, answer an error and take no more
 * messages. */
void connection_announced(struct connection *c);
/* Append received descriptors to c->fds.  false: there were too many, and some were closed. */
bool connection_queue_descriptors(struct connection *c, const struct cmsghdr *h);
/* Close the descriptors in c->fds, which no line has announced, as soon as every line that arrived
 * with them is parsed.  true: this happened for the second time, and an error answer was queued.
 * If more than LIMIT_WAITING_DESCRIPTORS wait in all connections, close connections until at most
 * that many wait. */
bool connection_settle_descriptors(struct connection *c);
/* Set c->unread_since: to now if the daemon stops reading from `c`, and to 0 if it reads.  Start
 * the timer that checks this member, if necessary. */
void connection_note_unread(struct connection *c);

/* -- charge.c -- */

/* Charge the session for all that `c` has read, and for `coming` bytes that are about to be
 * allocated, or refund what was charged more.  DP_ERESOURCE: over a limit, unless `anyway`. */
int connection_charge(struct connection *c, size_t coming, bool anyway, dp_error *err);
void connection_discharge(struct connection *c); /* Refund everything. */

/* -- notices.c -- */

/* Queue `line`, a message that answers no request, behind the answers of `c` that are complete.
 * Takes over `line`, also on failure.  It counts in c->notices until it is sent, and not as an
 * outstanding request.  false: out of memory. */
bool connection_queue_notice(struct connection *c, jw *line);

/* -- gradients.c -- */

/* Take out the oldest gradient that waits for a notification: the tensor's handle, and how many
 * were dropped before it.  false: none waits. */
bool connection_take_gradient(struct connection *c, uint64_t *tensor, uint64_t *dropped);
/* Count `n` gradients as dropped, after connection_take_gradient() found one. */
void connection_drop_gradients(struct connection *c, uint64_t n);
/* End the watching of gradients, because the connection leaves its session. */
void connection_forget_gradients(struct connection *c);
void connection_free_gradients(struct connection *c); /* the connection has ended */

/* -- receive.c -- */

/* Take the complete messages that were read, until the limit of outstanding jobs is reached or the
 * turn of `c` is over.  false: none was taken. */
bool connection_take_messages(struct connection *c);
/* Read from the socket of `c`, a few times at most, and take the messages. */
void connection_read(struct connection *c);

#endif
