/* executor.h -- decides which thread runs a request, and when; executor.c tells how.
 *
 * Several threads use an executor: the main thread, which runs the event loop, and the workers.
 * Data that executor.lock protects is marked in its comment. */
#ifndef DAEMON_EXECUTOR_EXECUTOR_H
#define DAEMON_EXECUTOR_EXECUTOR_H

#include "job.h"
#include "placement.h"
#include "session.h"
#include <signal.h>
#include <uv.h>

/* Append `j` to a list; remove the first job and return it (NULL: the list is empty). */
void job_push(job_list *l, job *j);
job *job_pop(job_list *l);
typedef struct worker {
    struct executor *ex;
    pthread_t thread;
    dp_ctx *ctx;
    /* Lock of the members below: executor.lock. */
    int state;       /* IDLE, RUNNING or LEFT of parts.h */
    uint64_t number; /* dp_thread_number() of the worker's thread */
    /* session of the request that the worker runs, borrowed from run_job(); NULL: it runs none */
    struct session *session;
    uint64_t stuck_since; /* time (nanos()) when the worker became stuck; 0: not stuck */
    /* the generator that the worker waits for, borrowed from its kernel; NULL: none */
    dp_generator *waits_at;
    struct job *job; /* the job that the worker runs or ran last */
    /* the worker must stop waiting for the generator, because the daemon stops */
    bool wait_refused;
    /* the worker is stuck or waits for a generator, and is not counted in executor.n_workers,
     * turn_queue.running and user_queue.running (at most LIMIT_STUCK_WORKERS are replaced) */
    bool replaced;
} worker;

typedef struct executor {
    /* protects the members below that change, the queues of connections, and turn queues */
    pthread_mutex_t lock;
    pthread_cond_t wake;        /* signalled when there may be work */
    pthread_cond_t worker_left; /* signalled when a worker has exited */
    dp_registry *reg;
    placement *placement;
    void *(*run)(void *w); /* main function of a worker's thread, in executor.c */
    /* wakes the main thread: `done` or `tasks_done` is not empty, or `watch_moved` is set */
    uv_async_t *async;
    /* main thread only: active while a job or task waits for a worker; see workers.c */
    uv_timer_t tick;
    uv_timer_t watch; /* main thread only: expires at `watch_at`; see deadlines.c */
    /* time (nanos()) when the first job of `due` or `waiting` must be checked; 0: never */
    uint64_t watch_at;
    bool watch_moved; /* the main thread must set the timer `watch` again */
    job *due; /* running jobs that count as stuck from time job.due on, linked by next_due */
    /* connections whose first job waits for any reason, linked by next_waiting */
    struct connection *waiting;
    user_queue *ready; /* uids whose jobs may run */
    task *tasks, *tasks_done;
    job_list done;      /* answered jobs, to be returned to the main thread */
    unsigned n_waiting; /* number of ready connections plus number of tasks */
    /* number of workers, without those that are `replaced`; number of idle workers */
    unsigned n_workers, n_idle;
    unsigned cap;                 /* value of --workers */
    unsigned n_stuck, n_replaced; /* number of stuck workers; number of workers with `replaced` */
    bool stopping, draining; /* workers must exit; no request waits for a stuck call any more */
    unsigned n_printing;     /* number of workers that print a long answer */
    /* number of workers that wait to print; that many more workers may be started */
    unsigned n_to_print;
    struct printer *printers; /* the workers that wait to print, in the order of arrival */
    worker workers[WORKERS_MOST];
} executor;
int executor_init(executor *ex, uv_loop_t *loop, uv_async_t *async, placement *proofs, unsigned cap,
                  dp_error *err);
/* Make the workers exit, and wait until all have exited, but at most until `deadline` (nanos()).
 * false: some workers still run, and nothing that they use may be freed. */
bool executor_stop(executor *ex, uint64_t deadline);
void executor_fini(executor *ex);
/* The functions up to executor_drain() are for the main thread.  executor_submit() queues `j`
 * behind the other jobs of its connection; after `j` was answered, executor_done() returns it.
 * executor_task() queues `t` for a worker, in front of jobs.  At LIMIT_UNSENT_BYTES of unsent
 * answers the executor runs no more jobs of a connection; executor_resume() lets `c` continue after
 * answers were sent. */
void executor_submit(executor *ex, job *j);
void executor_task(executor *ex, task *t);
void executor_resume(executor *ex, struct connection *c);
job_list executor_done(executor *ex, task **tasks); /* Return all finished jobs and tasks. */
/* Cancel the request that a worker runs for connection `c`, if its id is `*id` (NULL: any id): the
 * request stops at its next dp_checkpoint().  Also make the main thread check whether a waiting
 * request of `c` was cancelled.  false: no such request runs. */
bool executor_cancel(executor *ex, struct connection *c, const cJSON *id);
/* Return the jobs of `c` that have not begun, and cancel the job that a worker runs for `c`,
 * because `c` is being closed. */
job_list executor_withdraw(executor *ex, struct connection *c);
/* The daemon stops: from now on no request waits for a stuck call. */
void executor_drain(executor *ex);
/* The functions for daemon_calls.watch and daemon_calls.stuck; any thread. */
void executor_watch(executor *ex, job *j, uint64_t deadline);
size_t executor_stuck(executor *ex, stuck_call out[WORKERS_MOST]);
/* May `j`, the next job of its connection, begin on the main thread?  Parses `j` if it is small. */
bool executor_may_begin(executor *ex, job *j);
/* Run `j` on the main thread, in context `ctx`, until it is answered.  false: `j` must run on a
 * worker instead. */
bool executor_run(executor *ex, job *j, dp_ctx *ctx);
/* Block SIGTERM and SIGINT, which the main thread handles, and return the previous mask.  The
 * caller starts a thread and restores the mask: the new thread, and a kernel's system calls on it,
 * are then never interrupted by these signals. */
sigset_t signals_block(void);
/* Parse the line of `j`: the stage becomes JOB_PARSED or, with an error answer, JOB_ANSWERED.  Any
 * thread. */
void job_parse(job *j);
/* Free everything of the request but its answer.  Any thread. */
void job_drop(job *j);

#endif
