/* job.h -- a request on its way through the daemon (job), and other work for a worker (task).
 *
 * The loop's thread creates a job, one thread at a time uses it, and the loop's thread frees it. */
#ifndef DAEMON_JOB_H
#define DAEMON_JOB_H

#include "request.h"

/* values of job.stage */
enum {
    JOB_NEW,      /* the line was read, but not parsed */
    JOB_PARSED,   /* `rq.root` is set */
    JOB_ANSWERED, /* `rq.out` is complete, perhaps because parsing the line failed */
};

/* Work that is not a request: work() runs on a worker, then done() on the loop's thread.  Both are
 * always called. */
typedef struct task {
    struct task *next;
    void (*work)(struct task *t);
    void (*done)(struct task *t);
    void *arg;
    uint64_t since; /* time (nanos()) of executor_task() */
} task;

typedef struct job {
    request rq; /* first member: a pointer to a job's request is also one to the job */
    struct job *next;
    int stage;
    bool announces; /* the line contains "attachments" or "fds", or descriptors came with it */
    bool on_loop;   /* the job runs on the loop's thread now */
    bool must_move; /* placement.c refused the loop's thread: the job must run again on a worker */
    bool long_answer; /* the answer has more than LIMIT_INLINE_BYTES */
    bool overdue;     /* a substitute job has answered the request at its deadline */
    work work;        /* the work that the method announced to placement.c */
    /* Owned; usually NULL.  The context with the results of a kernel that ran on the loop's thread,
     * for the worker that prints them. */
    dp_ctx *ctx;
    uint64_t spent;   /* nanoseconds spent on the thread that ran the job last */
    bool used_device; /* the job called a device on that thread */
    /* time (nanos()) when the job became the first of its connection's queue; 0: not yet */
    uint64_t since;
    struct worker *worker; /* the worker that runs the job.  Lock: executor.lock */
    uint64_t due; /* time (nanos()) from which the job counts as stuck; 0: not in executor.due */
    struct job *next_due;
    uint64_t number;           /* ascending number of the job within its connection */
    size_t answer_bytes, sent; /* bytes of the answer (line and parts); bytes already sent */
    task side_task; /* task for a worker: parse the job while it waits, or free its long answer */
} job;

typedef struct job_list {
    job *head, *tail;
} job_list;

#endif
