/* executor.h -- which thread runs a request, and when.
 *
 * What the loop and the workers both touch is under executor.lock and says so. */
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
    /* executor.lock: */
    int state;
    uint64_t number;         /* dp_thread_number() */
    struct session *session; /* whose request it runs, borrowed from that */
    uint64_t stuck_since;    /* nanos; 0: it is not stuck */
    dp_generator *waits_at;  /* borrowed from its kernel; NULL: it waits for none */
    struct job *job;         /* that it runs */
    bool wait_refused;       /* it waits there no longer, since the daemon leaves */
    bool replaced;           /* one of both, and neither in n_workers nor in its lane's `running` */
} worker;

typedef struct executor {
    pthread_mutex_t lock;       /* of all below, of connections' queues and of lanes */
    pthread_cond_t wake;        /* there may be work */
    pthread_cond_t worker_left; /* a worker is gone */
    dp_registry *reg;
    placement *placement;
    void *(*run)(void *w); /* what a worker does until it leaves: executor.c's */
    uv_async_t *async;     /* tells the loop that `done` or `tasks_done` has something */
    uv_timer_t tick;       /* loop thread: runs while something waits for a worker */
    uv_timer_t watch;      /* loop thread: runs until `watch_at` */
    uint64_t watch_at;     /* nanos, when the first of `due` and of `waiting` is due; 0: none is */
    bool watch_moved;      /* the loop's thread has to set `watch` */
    job *due;              /* running jobs that will count as stuck: see stick() */
    struct connection *waiting; /* by next_waiting: their first request waits, for whatever */
    turn_queue *ready, *ready_tail;
    task *tasks, *tasks_done;
    job_list done;
    unsigned n_waiting; /* ready connections, and tasks */
    unsigned n_workers, n_idle, cap;
    unsigned n_stuck, n_replaced; /* workers that are stuck; those not counted in n_workers */
    bool stopping, draining;
    unsigned n_printing;      /* workers that print a long answer */
    unsigned n_to_print;      /* those that wait for that; others are started in their place */
    struct printer *printers; /* the same, first come first served */
    worker workers[WORKERS_MOST];
} executor;
int executor_init(executor *ex, uv_loop_t *loop, uv_async_t *async, placement *proofs, unsigned cap,
                  dp_error *err);
/* Waits for every worker until `deadline` (nanos).  false: some still run, and nothing of what they
 * use may be freed. */
bool executor_stop(executor *ex, uint64_t deadline);
void executor_fini(executor *ex);
/* The rest is for the loop's thread.  submit: queue j behind its connection's others; once answered
 * it comes back through executor_done().  resume: the client has read answers that it had left
 * unread. */
void executor_submit(executor *ex, job *j);
void executor_task(executor *ex, task *t);
void executor_resume(executor *ex, struct connection *c);
job_list executor_done(executor *ex, task **tasks); /* all that came back */
/* Call off what a connection runs on a worker, if its id is *id (NULL: whatever it is): it stops at
 * its next checkpoint.  Let the loop's thread look at what waits.  false: no such request runs. */
bool executor_cancel(executor *ex, struct connection *c, const cJSON *id);
/* Take back a connection's jobs that have not begun, and call off the one that has. */
job_list executor_withdraw(executor *ex, struct connection *c);
/* The daemon leaves: from now on no request waits for a stuck call. */
void executor_drain(executor *ex);
/* daemon_calls.watch, daemon_calls.stuck; any thread. */
void executor_watch(executor *ex, job *j, uint64_t deadline);
size_t executor_stuck(executor *ex, stuck_call out[WORKERS_MOST]);
/* It is j's turn: may it run on the loop's thread?  Parses it if it is small. */
bool executor_may_begin(executor *ex, job *j);
/* Run j on the loop's thread, through to its answer.  false: it must move to a worker. */
bool executor_run(executor *ex, job *j, dp_ctx *ctx);
/* SIGTERM and SIGINT are for the loop's thread.  Blocks them; a thread that is started before the
 * caller restores the returned mask is not interrupted by them in a kernel's system call. */
sigset_t signals_block(void);
void job_parse(job *j); /* JOB_NEW to JOB_PARSED, or to JOB_ANSWERED.  Any thread. */
/* Free what came in, and what a kernel returned that was not answered.  Any thread. */
void job_drop(job *j);

#endif
