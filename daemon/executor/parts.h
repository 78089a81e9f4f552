/* parts.h -- declarations that the executor's files share. */
#ifndef DAEMON_EXECUTOR_PARTS_H
#define DAEMON_EXECUTOR_PARTS_H

#include "server.h"

/* values of worker.state: a free slot; a running thread; an exited thread to be joined */
enum { IDLE = 0, RUNNING, LEFT };

enum {
    STUCK_NS = 10 * 1000 * 1000, /* time for a kernel to stop after the call was cancelled */
    /* A job that has waited for this time is parsed, so that its deadline becomes known. */
    PARSE_AFTER_NS = 20 * 1000 * 1000,
};

/* -- turns.c; executor.lock is held -- */

void jobs_push_front(job_list *l, job *j);
/* Add `l` to executor.ready, if its jobs may run and it is not there yet. */
void turns_list(executor *ex, turn_queue *l);
/* Add the waiting connection `c` to its session's turn queue, sorted by the time when its first job
 * became first. */
void turns_enter(executor *ex, struct connection *c);
/* Let the loop's thread check for due work at time `at` (nanos()). */
void turns_watch_from(executor *ex, uint64_t at);
/* Return the time (nanos()) when the loop's thread must check the first job of `c`; 0: never. */
uint64_t turns_check_time(const struct connection *c);
/* Let connection `c` wait for its turn if `c` has a job and is not busy. */
void turns_await(executor *ex, struct connection *c);
void turns_end_wait(executor *ex, struct connection *c);
/* Return the next job to run; NULL: none is ready.  Until turns_put_back() its connection is busy,
 * and the job holds a reference to its session. */
job *turns_take(executor *ex);
/* Return `j`, which is answered, to the loop's thread.  It ran for session `s`. */
void turns_put_back(executor *ex, struct session *s, job *j);
/* Park `j`, which has an argument of a stuck call of `s`: it runs again after a stuck call of `s`
 * has ended. */
void turns_park(executor *ex, struct session *s, job *j);
/* Let the connections that are parked for `s` wait for their turns again, because a stuck call has
 * ended.  NULL: those parked for any session. */
void turns_unpark_all(executor *ex, const struct session *s);

/* -- workers.c; the caller holds executor.lock, except where a comment says otherwise -- */

/* Run one task, without holding the lock meanwhile. */
void workers_run_task(executor *ex, task *t);
/* Sleep until there may be work.  false: this worker must exit. */
bool workers_wait(executor *ex);
/* Join the thread of `w` if it has exited. */
void workers_join_left(worker *w);
int workers_start(executor *ex, dp_error *err);
/* Wake a worker for new work, or start one if fewer than `max_workers` run.  true: more work waits
 * than workers are idle. */
bool workers_wake(executor *ex, unsigned max_workers);
/* Start the timer that starts more workers while work waits for too long.  Loop thread, without the
 * lock. */
void workers_start_tick(executor *ex);
/* Queue task `t`; a worker is started for it only if fewer than `max_workers` run.  Loop thread,
 * without the lock. */
void workers_queue_task(executor *ex, task *t, unsigned max_workers);

/* -- stuck.c; executor.lock is held -- */

/* Let `j` count as stuck from time `at` (nanos()) on, unless `j` ends before. */
void stuck_list_due(executor *ex, job *j, uint64_t at);
void stuck_unlist_due(executor *ex, job *j);
/* The daemon stops: end the waits of kernels for a generator in sessions with a stuck call, because
 * these waits may never end. */
void stuck_refuse_waits(executor *ex);
void stuck_begin(executor *ex, worker *w);
/* End the stuck state of `w`, whose job has ended.  Returns the time (nanos()) since when it was
 * stuck; 0: it was not stuck. */
uint64_t stuck_end(executor *ex, worker *w);
/* Functions that a context calls when a kernel begins and ends to wait for a generator. */
extern const dp_waits stuck_waits;

/* -- execute.c; any thread -- */

enum { RUN_DONE, RUN_MOVES, RUN_WAITS, RUN_ANSWERED }; /* results of job_execute() */
/* Run `j` and return RUN_DONE, RUN_MOVES, RUN_WAITS or RUN_ANSWERED.  A job that is not done on the
 * loop's thread must move to a worker. */
int job_execute(executor *ex, job *j, dp_ctx *ctx, bool on_loop);
/* Mark `j` as answered, and compute j->answer_bytes. */
void job_answered(job *j);
/* Was `j` cancelled by a call.cancel of its connection?  The caller holds the lock. */
bool job_in_cancels(const job *j);
int job_fail_cancelled(dp_error *err);
const char *job_method(const job *j); /* name of the method that `j` runs; "": none yet */

/* -- deadlines.c -- */

/* Set the timer `watch` to the time when the first job is due.  Loop thread; the caller holds the
 * lock. */
void deadlines_watch(executor *ex);

#endif
