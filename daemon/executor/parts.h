/* parts.h -- what the files of the executor share. */
#ifndef DAEMON_EXECUTOR_PARTS_H
#define DAEMON_EXECUTOR_PARTS_H

#include "server.h"

enum { IDLE = 0, RUNNING, LEFT }; /* worker.state: a free slot, a thread, a thread to be joined */

enum {
    STUCK_NS = 10 * 1000 * 1000, /* after its deadline a kernel has so long to stop by itself */
    /* A job that waits for so long is parsed, so that its deadline is known. */
    PARSE_AFTER_NS = 20 * 1000 * 1000,
};

/* -- turns.c; executor.lock is held -- */

void jobs_push_front(job_list *l, job *j);
/* List l, if work in it may run and it is not listed. */
void turns_list(executor *ex, turn_queue *l);
/* Put c, which waits, into its session's lane, at the place of its first job. */
void turns_enter(executor *ex, struct connection *c);
/* Have the loop's thread look at what is due at `at` (nanos). */
void turns_watch_from(executor *ex, uint64_t at);
/* When the loop's thread has to look at the first job of c (nanos); 0: never. */
uint64_t turns_check_time(const struct connection *c);
/* Let c wait for its turn if it has something to wait for. */
void turns_await(executor *ex, struct connection *c);
void turns_end_wait(executor *ex, struct connection *c);
/* The job whose turn it is; NULL: none is ready.  Until turns_put_back() its connection is busy and
 * a reference of its session is held. */
job *turns_take(executor *ex);
/* j, which ran for s, is answered: give it back to the loop's thread. */
void turns_put_back(executor *ex, struct session *s, job *j);
/* j has an argument of a stuck call of s: it runs again when one of those has ended. */
void turns_park(executor *ex, struct session *s, job *j);
/* A stuck call of s has ended; NULL: of any session. */
void turns_unpark_all(executor *ex, const struct session *s);

/* -- workers.c; executor.lock is held but where said -- */

/* Run one task, without the lock meanwhile. */
void workers_run_task(executor *ex, task *t);
/* Sleep until there may be work.  false: this worker has to leave. */
bool workers_wait(executor *ex);
/* Join w, if its thread has left. */
void workers_join_left(worker *w);
int workers_start(executor *ex, dp_error *err);
/* Something was made ready: wake a worker for it, or start one.  true: more things wait than
 * workers are idle. */
bool workers_wake(executor *ex, unsigned max_workers);
/* Something waits for a worker: see to it that it does not wait for ever.  Loop thread,
 * unlocked. */
void workers_start_tick(executor *ex);
/* Queue t for one of at most `most` workers.  Loop thread, unlocked. */
void workers_queue_task(executor *ex, task *t, unsigned max_workers);

/* -- stuck.c; executor.lock is held -- */

/* j counts as stuck from `at` on (nanos), unless it has ended by then. */
void stuck_list_due(executor *ex, job *j, uint64_t at);
void stuck_unlist_due(executor *ex, job *j);
/* The daemon leaves: what waits at a generator beside a stuck call of its session may wait for
 * ever. */
void stuck_refuse_waits(executor *ex);
void stuck_begin(executor *ex, worker *w);
/* w has ended what it ran.  Returns since when it was stuck; 0: it was not. */
uint64_t stuck_end(executor *ex, worker *w);
extern const dp_waits
    stuck_waits; /* for contexts: what happens while a kernel waits at a generator */

/* -- execute.c; any thread -- */

enum { RUN_DONE, RUN_MOVES, RUN_WAITS, RUN_ANSWERED }; /* the result of job_execute() */
/* RUN_...; on the loop's thread what is not done has to move to a worker. */
int job_execute(executor *ex, job *j, dp_ctx *ctx, bool on_loop);
/* The answer of j is complete. */
void job_answered(job *j);
/* Is j among the requests that its connection has cancelled?  Locked. */
bool job_in_cancels(const job *j);
int job_fail_cancelled(dp_error *err);
const char *job_method(const job *j); /* the name of what it runs; "": nothing yet */

/* -- deadlines.c -- */

/* Set the timer to what is due first.  Loop thread, locked. */
void deadlines_watch(executor *ex);

#endif
