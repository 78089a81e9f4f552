/* job.h -- a request on its way through the daemon (job), and other work for a worker (task).
 *
 * The loop's thread creates a job, one thread at a time uses it, and the loop's thread frees it. */
#ifndef DAEMON_JOB_H
#define DAEMON_JOB_H

#include "request.h"

/* values of job.stage */
enum {
    JOB_NEW,      /* its line was read, but not parsed */
    JOB_PARSED,   /* `rq.root` is set */
    JOB_ANSWERED, /* `rq.out` is complete, perhaps because the line could not be parsed */
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
    bool on_loop;   /* it runs on the loop's thread now */
    bool must_move; /* placement.c refused it on the loop's thread: it must run again on a worker */
    bool long_answer; /* its answer has more than LIMIT_INLINE_BYTES */
    bool overdue;     /* another job has answered its request at the deadline */
    work work;        /* the work that its method announced to placement.c */
    /* Owned; usually NULL.  The context with the results of a kernel that ran on the loop's thread,
     * for the worker that prints them. */
    dp_ctx *ctx;
    uint64_t spent;   /* nanoseconds spent on the thread that ran it last */
    bool used_device; /* it called a device on that thread */
    /* time (nanos()) when it became the first of its connection's queue; 0: not yet */
    uint64_t since;
    struct worker *worker; /* the worker that runs it.  Lock: executor.lock */
    uint64_t due; /* time (nanos()) from which it counts as stuck; 0: not in executor.due */
    struct job *next_due;
    uint64_t number;           /* number within its connection, ascending */
    size_t answer_bytes, sent; /* bytes of the line and its parts; bytes already sent */
    task side_task; /* task for a worker: parse the job while it waits, or free its long answer */
} job;

typedef struct job_list {
    job *head, *tail;
} job_list;

#endif
