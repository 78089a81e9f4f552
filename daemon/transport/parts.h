/* parts.h -- what the files of one connection share; the loop's thread alone calls it. */
#ifndef DAEMON_TRANSPORT_PARTS_H
#define DAEMON_TRANSPORT_PARTS_H

#include "transport/connection.h"

struct cmsghdr;

enum {
    /* What one connection may do before others have their turn: */
    TURN_BYTES = 256 << 10, /* of long answers, sent in a turn of the loop, of all connections */
    INLINE_NS = 500 * 1000, /* run requests for so long; workers run the rest */
};

/* May more be read from c, and messages be taken? */
static inline bool connection_wants(const struct connection *c)
{
    return !c->closed && !c->shut && !c->parsing && c->outstanding < LIMIT_OUTSTANDING &&
           c->outstanding_bytes < LIMIT_OUTSTANDING_BYTES &&
           atomic_load(&c->unsent) < LIMIT_UNSENT_BYTES;
}

/* -- life.c -- */

/* Drop one reference to `c`; the last one frees it. */
void connection_unref(struct connection *c);
/* Make a job of c's for `line`, whose memory it takes.  NULL: no memory, and `line` is still the
 * caller's. */
job *connection_job(struct connection *c, char *line, size_t bytes);
void connection_job_free(job *j);
/* Forget the call.cancels that were read: no job that they could mean is left. */
void connection_drop_cancels(struct connection *c);
/* Close the first n of the descriptors that wait for their line. */
void connection_drop_descriptors(struct connection *c, size_t n);
/* Take c out of the server's list of connections that send in a later turn, if it is there. */
void connection_undefer(struct connection *c);
/* Stop the loop if the daemon drains and no connection is left. */
void connections_check_drained(struct server *s);
/* Send one answer line on a connection that is about to be closed, if it can be sent at once. */
void connection_say_why(int fd, const dp_error *why);
/* Close c and say why, to its client and in the log. */
void connection_close_because(struct connection *c, const dp_error *why);

/* -- send.c -- */

/* Send answers of c until none is left, or its socket or this turn of the loop takes no more. */
void connection_flush(struct connection *c);

/* -- dispatch.c -- */

/* Run j on this thread if it is its turn and it is short; else queue it for a worker. */
void connection_dispatch(struct connection *c, job *j);
/* Queue the answer of j, which has run, behind those that are not sent yet. */
void connection_answer(struct connection *c, job *j);
/* Answer *err to what is no request.  close: the connection ends with that answer. */
void connection_refuse(struct connection *c, const dp_error *err, bool close);

/* -- announce.c -- */

/* The pending line is parsed: find out what follows it. */
void connection_announced(struct connection *c);
/* Append received descriptors to those that wait.  false: they were too many, some are closed. */
bool connection_queue_descriptors(struct connection *c, const struct cmsghdr *h);
/* Close the descriptors that no line announced, once each line that they came beside is parsed.
 * true: that happened the second time, and there is an answer that says so. */
bool connection_settle_descriptors(struct connection *c);
/* Note since when c is not read. */
void connection_note_unread(struct connection *c);

/* -- receive.c -- */

/* Take the whole messages that were read, as many as may be outstanding.  false: there was none. */
bool connection_take_messages(struct connection *c);
/* Read what the socket of c has, for a few rounds, and take the messages in it. */
void connection_read(struct connection *c);

#endif
