/* parts.h -- declarations that the executor's files share. */
#ifndef DAEMON_EXECUTOR_PARTS_H
#define DAEMON_EXECUTOR_PARTS_H

#include "server.h"

/* values of worker.state: a free slot; a running thread; an exited thread to be joined */
enum { IDLE = 0, RUNNING, LEFT };

enum {
    /* a call that still runs this long after its deadline, or after its client left, is stuck */
    STUCK_NS = 10 * 1000 * 1000,
    /* A job that has waited for this time is parsed, because it may have a deadline. */
    PARSE_AFTER_NS = 20 * 1000 * 1000,
};

/* -- turns.c; executor.lock is held -- */

void jobs_push_front(job_list *l, job *j);
/* Add `l` to the queue of its uid, and that to executor.ready, if a job of `l` may run and they are
 * not there yet. */
void turns_list(executor *ex, turn_queue *l);
/* Count a worker that runs a job of `l`; end to count it. */
void turns_worker_begins(turn_queue *l);
void turns_worker_ends(executor *ex, turn_queue *l);
/* Return the time (nanos()) since when the longest waiting turn queue waits; 0: none is ready. */
uint64_t turns_since(const executor *ex);
/* Add the waiting connection `c` to its session's turn queue, if its first job may run.  The queue
 * is sorted by the time job.since of each connection's first job. */
void turns_enter(executor *ex, struct connection *c);
/* Let the main thread check `due` and `waiting` at time `at` (nanos()). */
void turns_watch_from(executor *ex, uint64_t at);
/* Return the time (nanos()) when the main thread must check the first job of `c`; 0: never. */
uint64_t turns_check_time(const struct connection *c);
/* Add connection `c` to executor.waiting and its turn queue, if `c` has a job and no job of `c`
 * runs. */
void turns_await(executor *ex, struct connection *c);
/* Remove `c` from executor.waiting and its turn queue. */
void turns_end_wait(executor *ex, struct connection *c);
/* Return the next job to run; NULL: none is ready.  Its connection runs no other job until
 * turns_put_back() or turns_park(), and the job has a reference to the session. */
job *turns_take(executor *ex);
/* Return `j`, which is answered, to the main thread.  `j` ran for session `s`. */
void turns_put_back(executor *ex, struct session *s, job *j);
/* Put `j`, which has an argument that a stuck call of `s` uses, back into its connection's queue,
 * and park the connection: `j` runs again after a stuck call of `s` has ended.  If one has ended
 * since `j` began to wait, or the daemon drains, the connection is ready at once. */
void turns_park(executor *ex, struct session *s, job *j);
/* Make the connections that are parked for `s` (NULL: for any session) ready again, because a stuck
 * call has ended or the daemon drains. */
void turns_unpark_all(executor *ex, const struct session *s);

/* -- workers.c; the caller holds executor.lock, except where a comment says otherwise -- */

/* Run one task, without holding the lock meanwhile. */
void workers_run_task(executor *ex, task *t);
/* Sleep until there may be work.  false: this worker must exit. */
bool workers_wait(executor *ex);
/* Join the thread of `w` if it has exited. */
void workers_join_left(worker *w);
/* Start one worker.  DP_ERESOURCE: all slots are in use, or there is no memory for it. */
int workers_start(executor *ex, dp_error *err);
/* Wake a worker for new work, and start one more worker if too few workers are idle and fewer than
 * `max_workers` run, not counting workers that wait to print.  true: more jobs and tasks wait than
 * workers are idle. */
bool workers_wake(executor *ex, unsigned max_workers);
/* Start the timer that starts more workers when jobs or tasks wait for too long.  Main thread,
 * without the lock. */
void workers_start_tick(executor *ex);
/* Queue task `t`; a worker is started for it only if fewer than `max_workers` run (see
 * workers_wake()).  Main thread, without the lock. */
void workers_queue_task(executor *ex, task *t, unsigned max_workers);

/* -- stuck.c; executor.lock is held -- */

/* Add `j` to executor.due: `j` counts as stuck from time `at` (nanos()) on, unless `j` ends before.
 * If `j` is in the list already, the earlier of the two times holds. */
void stuck_list_due(executor *ex, job *j, uint64_t at);
void stuck_unlist_due(executor *ex, job *j);
/* The daemon stops: in sessions with a stuck call, end the waits of kernels for a generator.  The
 * stuck call may hold the generator and never end. */
void stuck_refuse_waits(executor *ex);
void stuck_begin(executor *ex, worker *w); /* Count `w` as stuck. */
/* End the stuck state of `w`, whose job has ended.  Returns the time (nanos()) since when it was
 * stuck; 0: it was not stuck. */
uint64_t stuck_end(executor *ex, worker *w);
/* Functions that a context calls when a kernel begins and ends to wait for a generator. */
extern const dp_waits stuck_waits;

/* -- execute.c; any thread -- */

/* results of job_execute() */
enum {
    RUN_DONE,     /* `j` is answered */
    RUN_MOVES,    /* `j` must run again on a worker, because it is not short */
    RUN_WAITS,    /* `j` must run again when a stuck call of its session has ended */
    RUN_ANSWERED, /* the main thread has answered the request in the meantime */
};
/* Run `j`.  `on_loop`: this is the main thread; then every result but RUN_DONE means that `j` must
 * run again on a worker. */
int job_execute(executor *ex, job *j, dp_ctx *ctx, bool on_loop);
/* Mark `j` as answered, and compute j->answer_bytes. */
void job_answered(job *j);
/* Was `j` cancelled by a call.cancel of its connection?  The caller holds the lock. */
bool job_in_cancels(const job *j);
int job_fail_cancelled(dp_error *err);
const char *job_method(const job *j); /* name of the method that `j` runs; "": none yet */

/* -- deadlines.c -- */

/* Set the timer `watch` to the time when a job must be checked next.  Main thread; the caller holds
 * the lock. */
void deadlines_watch(executor *ex);

#endif
