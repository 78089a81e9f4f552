/* executor.h -- decides which thread runs a request, and when.
 *
 * Data that both the loop's thread and workers use is protected by executor.lock, and its comment
 * says so. */
#ifndef DAEMON_EXECUTOR_EXECUTOR_H
#define DAEMON_EXECUTOR_EXECUTOR_H

#include "job.h"
#include "placement.h"
#include "session.h"
#include <signal.h>
#include <uv.h>

void job_push(job_list *l, job *j);
job *job_pop(job_list *l);
typedef struct worker {
    struct executor *ex;
    pthread_t thread;
    dp_ctx *ctx;
    /* Lock of the members below: executor.lock. */
    int state;
    uint64_t number;         /* dp_thread_number() of the worker's thread */
    struct session *session; /* session of the worker's request; borrowed from the request */
    uint64_t stuck_since;    /* time (nanos()) when the worker became stuck; 0: not stuck */
    /* the generator that the worker waits for, borrowed from its kernel; NULL: none */
    dp_generator *waits_at;
    struct job *job; /* the job that the worker runs */
    /* the worker must stop waiting for the generator, because the daemon stops */
    bool wait_refused;
    /* stuck or waiting for a generator, so not counted in `n_workers` and `running` */
    bool replaced;
} worker;

typedef struct executor {
    pthread_mutex_t lock; /* protects the members below, connections' queues and turn queues */
    pthread_cond_t wake;  /* signalled when there may be work */
    pthread_cond_t worker_left; /* signalled when a worker has exited */
    dp_registry *reg;
    placement *placement;
    void *(*run)(void *w); /* main function of a worker's thread, in executor.c */
    uv_async_t *async;     /* wakes the loop: `done` or `tasks_done` is not empty */
    uv_timer_t tick;       /* loop thread only: active while something waits for a worker */
    uv_timer_t watch;      /* loop thread only: expires at `watch_at` */
    uint64_t watch_at; /* time (nanos()) when the first of `due` and `waiting` is due; 0: none is */
    bool watch_moved;  /* the loop's thread must set the timer `watch` again */
    job *due; /* running jobs that will count as stuck, linked by next_due; see stuck_list_due() */
    /* connections whose first job waits for any reason, linked by next_waiting */
    struct connection *waiting;
    turn_queue *ready, *ready_tail;
    task *tasks, *tasks_done;
    job_list done;
    unsigned n_waiting; /* number of ready connections and tasks */
    unsigned n_workers, n_idle, cap;
    unsigned n_stuck, n_replaced; /* number of stuck workers; number of workers with `replaced` */
    bool stopping, draining;
    unsigned n_printing; /* number of workers that print a long answer */
    /* number of workers that wait to print; as many further workers may be started */
    unsigned n_to_print;
    struct printer *printers; /* the workers that wait to print, first come, first served */
    worker workers[WORKERS_MOST];
} executor;
int executor_init(executor *ex, uv_loop_t *loop, uv_async_t *async, placement *proofs, unsigned cap,
                  dp_error *err);
/* Wait until every worker has exited, until `deadline` (nanos()) at most.  false: some workers
 * still run, and nothing that they use may be freed. */
bool executor_stop(executor *ex, uint64_t deadline);
void executor_fini(executor *ex);
/* The functions up to executor_drain() are for the loop's thread.  executor_submit() queues `j`
 * behind the other jobs of its connection; after it was answered, executor_done() returns it.
 * executor_resume() is called when the client has read answers, after unread ones had paused the
 * connection. */
void executor_submit(executor *ex, job *j);
void executor_task(executor *ex, task *t);
void executor_resume(executor *ex, struct connection *c);
job_list executor_done(executor *ex, task **tasks); /* Return all finished jobs and tasks. */
/* Cancel the request that a worker runs for connection `c`, if its id is `*id` (NULL: any id): it
 * stops at its next checkpoint.  Also let the loop's thread check the requests of `c` that wait.
 * false: no such request runs. */
bool executor_cancel(executor *ex, struct connection *c, const cJSON *id);
/* Return the jobs of a closed connection that have not begun, and cancel the one that runs. */
job_list executor_withdraw(executor *ex, struct connection *c);
/* The daemon stops: from now on no request waits for a stuck call. */
void executor_drain(executor *ex);
/* The functions for daemon_calls.watch and daemon_calls.stuck; any thread. */
void executor_watch(executor *ex, job *j, uint64_t deadline);
size_t executor_stuck(executor *ex, stuck_call out[WORKERS_MOST]);
/* May `j`, whose turn it is, run on the loop's thread?  Parses `j` if it is small. */
bool executor_may_begin(executor *ex, job *j);
/* Run `j` on the loop's thread until it is answered.  false: it must move to a worker. */
bool executor_run(executor *ex, job *j, dp_ctx *ctx);
/* Block SIGTERM and SIGINT, which are for the loop's thread, and return the previous mask.  A
 * thread that is started before the caller restores the mask is never interrupted by them, not even
 * in a system call of a kernel. */
sigset_t signals_block(void);
/* Change the stage from JOB_NEW to JOB_PARSED, or to JOB_ANSWERED.  Any thread. */
void job_parse(job *j);
/* Free the request's data, and kernel results that were not sent.  Any thread. */
void job_drop(job *j);

#endif
