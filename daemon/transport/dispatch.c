/* dispatch.c -- runs a new job on the main thread if it is short and no earlier job waits, or
 * queues it for a worker.
 *
 * Answers are sent in the order of the lines: the main thread sends the answer of a job at once
 * only if the executor has no job of the connection (`in_executor` is 0).  Otherwise the job goes
 * to the executor, even if it is answered already (run_at_once()), and the executor returns the
 * jobs of a connection in order. */
#include "methods/methods.h"
#include "server.h"
#include "transport/parts.h"

static void submit(struct connection *c, job *j)
{
    c->in_executor++;
    executor_submit(&c->server->executor, j);
}

/* Run `j` on this thread.  false: `j` must run on a worker. */
static bool run_now(struct connection *c, job *j)
{
    j->rq.session = session_ref(c->session);
    bool done = executor_run(&c->server->executor, j, c->server->placement.loop_ctx);
    c->budget -= (int64_t)j->spent;
    c->last_ns = j->spent;
    j->rq.session = session_unref(j->rq.session);
    return done;
}

/* If the method of `j` is METHOD_AT_ONCE, run `j` now, even if earlier requests wait.  The answer
 * is still sent after theirs. */
static void run_at_once(struct connection *c, job *j)
{
    const method *m;

    if (c->in_executor == 0 || j->stage != JOB_NEW || j->rq.line_bytes > LIMIT_SIZE(CANCEL_BYTES))
        return;
    job_parse(j);
    m = j->stage == JOB_PARSED ? j->rq.method : NULL;
    if (m != NULL && m->where == METHOD_AT_ONCE)
        run_now(c, j);
}

/* Run `j` on this thread if it is the next job of `c` and short.  false: a worker must run it. */
static bool run_here(struct connection *c, job *j)
{
    executor *ex = &c->server->executor;

    if (c->in_executor > 0 || c->budget <= 0 || !executor_may_begin(ex, j))
        return false;
    return run_now(c, j);
}

void connection_answer(struct connection *c, job *j)
{
    if (j->rq.close_after)
        c->shut = true;
    job_push(&c->out, j);
}

void connection_dispatch(struct connection *c, job *j)
{
    run_at_once(c, j);
    if (!run_here(c, j)) {
        submit(c, j);
        return;
    }
    atomic_fetch_add(&c->unsent, j->answer_bytes);
    connection_answer(c, j);
}

/* Answer `j`, which is not a valid request, with `*err`.  `close`: the connection is closed after
 * that answer. */
static void refuse(struct connection *c, job *j, const dp_error *err, bool close)
{
    request_refuse(&j->rq, err);
    j->stage = JOB_ANSWERED;
    j->rq.close_after = j->rq.close_after || close;
    c->shut = c->shut || close;
    connection_dispatch(c, j);
}

void connection_refuse(struct connection *c, const dp_error *err, bool close)
{
    job *j = connection_job(c, NULL, 0);

    if (j != NULL)
        refuse(c, j, err, close);
    else
        connection_close(c);
}
