/* job.h -- a request on its way through the daemon (job), and work that is no request (task).
 *
 * The loop makes a job, one thread at a time has it, the loop frees it. */
#ifndef DAEMON_JOB_H
#define DAEMON_JOB_H

#include "request.h"

/* job.stage */
enum {
    JOB_NEW,      /* its line was read */
    JOB_PARSED,   /* rq.root is set */
    JOB_ANSWERED, /* rq.out is final, be it because the line could not be parsed */
};

/* Work that is no request: work() on a worker, then done() on the loop's thread, always both. */
typedef struct task {
    struct task *next;
    void (*work)(struct task *t);
    void (*done)(struct task *t);
    void *arg;
    uint64_t since; /* nanos, of executor_task() */
} task;

typedef struct job {
    request rq; /* first: a pointer to a job's request is one to the job */
    struct job *next;
    int stage;
    bool announces;   /* the line holds "attachments" or "fds", or descriptors came beside it */
    bool on_loop;     /* runs on the loop's thread now */
    bool moved;       /* placement.c said no: it is to run again on a worker */
    bool long_answer; /* of more than LIMIT_INLINE_BYTES */
    bool overdue;     /* another job has answered in its place */
    work work;        /* what it said that it would do */
    /* Owned.  Holds what its kernel returned on the loop's thread, for the worker that prints it;
     * mostly NULL. */
    dp_ctx *ctx;
    uint64_t spent; /* nanos on the thread that ran it last */
    bool reached;   /* it called a device there */
    uint64_t since; /* nanos, when it became the first of its connection's queue; 0: not yet */
    struct worker *worker; /* that runs it.  executor.lock */
    uint64_t due;          /* nanos: it counts as stuck then.  0: not in executor.due */
    struct job *next_due;
    uint64_t number;           /* ascending within its connection */
    size_t answer_bytes, sent; /* line and parts */
    task drop; /* parses it on a worker while it waits; frees its long answer there */
} job;

typedef struct job_list {
    job *head, *tail;
} job_list;

#endif
