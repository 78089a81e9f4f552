/* job.h -- a request and its state in the daemon (job), and other work for a worker thread (task).
 *
 * The main thread, which runs the event loop, creates and frees each job.  In between, one thread
 * at a time runs the job.  While a worker runs the job, the main thread may read the members that
 * do not change meanwhile, and may use atomic members and members that executor.lock protects. */
#ifndef DAEMON_JOB_H
#define DAEMON_JOB_H

#include "request.h"

/* values of job.stage */
enum {
    JOB_NEW,    /* the line was read, but not parsed */
    JOB_PARSED, /* `rq.root` is set */
    /* `rq.out` is complete: the request ran or failed, or the line could not be parsed */
    JOB_ANSWERED,
};

/* Work that is not a request: work() runs on a worker, then done() on the main thread.  Both are
 * always called. */
typedef struct task {
    struct task *next;
    void (*work)(struct task *t);
    void (*done)(struct task *t);
    void *arg;
    uint64_t since; /* time (nanos()) when the task was queued */
} task;

typedef struct job {
    request rq; /* first member: a pointer to a job's request is also one to the job */
    struct job *next;
    int stage;      /* JOB_NEW, JOB_PARSED or JOB_ANSWERED */
    bool announces; /* the line contains "attachments" or "fds", or file descriptors came with it */
    bool body_lost; /* there was no memory for the attachments */
    bool on_loop;   /* the job runs on the main thread now */
    bool must_move; /* placement.c refused the main thread: the job must run again on a worker */
    bool long_answer; /* the answer has more than LIMIT_INLINE_BYTES */
    bool notice;      /* not a request: a notification about a change of the registry (notify.c) */
    /* another job has answered the request, or its part of a batch, because its deadline passed;
     * see deadlines.c */
    bool overdue;
    work work; /* the work that the method described to placement.c */
    /* Owned; usually NULL.  The context with the results of a kernel that ran on the main thread,
     * for the worker that prints them. */
    dp_ctx *ctx;
    uint64_t spent;   /* nanoseconds that the last run took: parse, run, print */
    bool used_device; /* the last run called functions of a plugin's device */
    /* time (nanos()) when the job became the first of its connection's queue; 0: not yet */
    uint64_t since;
    struct worker *worker; /* the worker that runs the job.  Lock: executor.lock */
    /* time (nanos()) from which the job counts as stuck (see executor.c); 0: not in executor.due */
    uint64_t due;
    struct job *next_due;
    uint64_t number;           /* ascending number of the job within its connection */
    size_t answer_bytes, sent; /* bytes of the answer (line and parts); bytes already sent */
    task side_task; /* task for a worker: parse the job while it waits, or free its long answer */
} job;

typedef struct job_list {
    job *head, *tail;
} job_list;

#endif
