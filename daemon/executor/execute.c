/* execute.c -- runs one job on the current thread: parse, run, print the answer. */
#include "executor/parts.h"
#include "measure.h"
#include "methods/methods.h"
#include "printing.h"

enum {
    /* a connection counts as active for this time after its last request */
    OTHERS_ACTIVE_MS = 100,
};

/* -- the end of a job -- */

void job_answered(job *j)
{
    j->stage = JOB_ANSWERED;
    j->rq.out.account = NULL; /* the account may be closed with the session */
    j->answer_bytes = j->rq.out.len;
    for (size_t i = 0; i < j->rq.n_parts; i++)
        j->answer_bytes += j->rq.parts[i].bytes;
}

/* Drop the result of `j`, because the main thread has answered its request.  The main thread reads
 * `j->rq` while it holds the lock; taking the lock once waits until the main thread has
 * finished. */
static void drop_overdue(executor *ex, job *j)
{
    pthread_mutex_lock(&ex->lock);
    pthread_mutex_unlock(&ex->lock);
    session_stuck_remove(j->rq.session, &j->rq);
    request_drop(&j->rq);
}

void job_drop(job *j)
{
    request *rq = &j->rq;

    measure_call(rq);
    request_drop(rq);
    j->ctx = dp_ctx_free(j->ctx);
    json_free(rq->root);
    dp_free(rq->line);
    dp_free(rq->attached);
    rq->session = session_unref(rq->session); /* the last reference frees the session's tensors */
    rq->root = NULL;
    rq->line = NULL;
    rq->attached = NULL;
}

const char *job_method(const job *j)
{
    const char *name = atomic_load(&j->rq.running);

    return name != NULL ? name : "";
}

/* -- cancelled jobs -- */

bool job_in_cancels(const job *j)
{
    bool found = false;

    for (const cancel *k = j->rq.conn->cancels; k != NULL && !found; k = k->next)
        found = j->number <= k->before && request_has_id(&j->rq, k->id);
    return found;
}

int job_fail_cancelled(dp_error *err)
{
    return dp_error_set(err, DP_ECANCELLED, "cancelled before it ran");
}

static bool cancelled(executor *ex, const job *j)
{
    if (atomic_load(&j->rq.conn->n_cancels) == 0)
        return false;
    pthread_mutex_lock(&ex->lock);
    bool found = job_in_cancels(j);
    pthread_mutex_unlock(&ex->lock);
    return found;
}

/* Must `j` be answered with an error, which `*err` gets, instead of being run? */
static bool must_not_run(executor *ex, const job *j, dp_error *err)
{
    if (cancelled(ex, j))
        return job_fail_cancelled(err) < 0;
    return j->body_lost &&
           dp_error_set(err, DP_ERESOURCE, "out of memory: attachments of %zu bytes",
                        j->rq.bytes_charged - j->rq.line_bytes) < 0;
}

/* Make `j` the running job of its connection, so that executor_cancel() finds `j`.  A call.cancel
 * that was read earlier is found in connection.cancels. */
static void set_running(executor *ex, job *j)
{
    struct connection *c = j->rq.conn;

    pthread_mutex_lock(&ex->lock);
    c->running = j;
    j->rq.never_waits = ex->draining;
    if (c->gone) {
        atomic_store(&j->rq.cancel, 1);
        stuck_list_due(ex, j, nanos() + STUCK_NS);
    }
    pthread_mutex_unlock(&ex->lock);
}

static void clear_running(executor *ex, job *j)
{
    pthread_mutex_lock(&ex->lock);
    j->rq.conn->running = NULL;
    stuck_unlist_due(ex, j);
    pthread_mutex_unlock(&ex->lock);
}

/* -- before the method runs -- */

void job_parse(job *j)
{
    bool ok = request_parse(&j->rq);

    j->stage = ok ? JOB_PARSED : JOB_ANSWERED;
    /* An unreadable line may have announced attachments of unknown length, so the start of the next
     * line is unknown: close the connection. */
    if (!ok && j->announces)
        j->rq.close_after = true;
}

/* Return how many threads a parallel kernel of `c` may use at time `now` (nanos()), at most
 * `requested` (conn_state.num_threads; 0: the default).  While other connections send requests too,
 * at most one thread less than --threads (default: the number of cores) may be used, but always
 * one.  If the kernel used every core, short calls of other connections would wait for a core until
 * the system's next clock tick, up to 4 ms. */
static int fair_threads(const struct connection *c, int requested, uint64_t now)
{
    const server *s = c->server;
    bool newest = atomic_load(&s->last_sender) == c->number;
    uint64_t others = atomic_load(newest ? &s->others_sent_at : &s->last_sent_at);
    int share = (int)s->options->threads - 1;

    if (others == 0 || now > others + OTHERS_ACTIVE_MS * UINT64_C(1000000))
        return requested;
    share = share > 1 ? share : 1;
    return requested > 0 && requested < share ? requested : share;
}

static void prepare(dp_ctx *ctx, request *rq)
{
    dp_ctx_set_waits(ctx, &stuck_waits, rq);
    dp_ctx_set_label(ctx, rq->session->label);
    dp_ctx_set_state(ctx, rq->state->include, rq->state->exclude, &rq->state->mode);
    dp_ctx_set_generators(ctx, session_default_generators(rq->session));
    dp_ctx_set_account(ctx, session_account(rq->session));
    dp_ctx_set_capture(ctx, rq->state->capture);
    dp_ctx_set_grad_flag(ctx, session_grad_flag(rq->session));
    dp_ctx_set_streams(ctx, rq->session->streams);
    dp_ctx_set_session(ctx, rq->session->id);
    dp_ctx_set_cancel(ctx, &rq->cancel);
    dp_ctx_set_threads(ctx, fair_threads(rq->conn, rq->state->num_threads, rq->t_started));
}

#define METHOD_ID ((uint64_t)1 << DP_KERNEL_BITS) /* a bit that is 0 in every kernel's number */

/* Fill in `j->work` for a METHOD_LOOP method: placement.c keeps one set of statistics for it,
 * whatever its params are.  Otherwise set `j->work.kernel` to 0.  Returns the method; NULL:
 * unknown. */
static const method *begin_work(job *j)
{
    const method *m = j->rq.method;

    j->work = (work){0};
    if (m != NULL && m->where == METHOD_LOOP) {
        j->work.kernel = METHOD_ID + (uint64_t)(m - methods);
        j->work.method = m->name;
    }
    return m;
}

bool executor_may_begin(executor *ex, job *j)
{
    if (j->rq.bytes_charged > LIMIT_SIZE(INLINE_BYTES))
        return false;
    if (j->stage == JOB_NEW)
        job_parse(j);
    if (j->stage == JOB_ANSWERED)
        return true;
    if (j->rq.deadline != 0) /* this thread must stay free to answer the request at its deadline */
        return false;
    const method *m = begin_work(j);
    if (m == NULL) /* the request is an error, and errors are short */
        return true;
    return m->where == METHOD_CALL || m->where == METHOD_AT_ONCE ||
           (m->where == METHOD_LOOP && placement_proven(ex->placement, &j->work));
}

/* -- running the method -- */

/* Run the parsed message, or only print its answer if its kernel has already run.  Returns a RUN_
 * constant. */
static int run_parsed(executor *ex, job *j, dp_ctx *ctx)
{
    request *rq = &j->rq;

    if (j->ctx == NULL) {
        begin_work(j);
        prepare(ctx, rq);
    }
    rq->ctx = j->ctx != NULL ? j->ctx : ctx;
    rq->out.account = session_account(rq->session);
    j->must_move = j->long_answer = false;
    uint64_t entered = dp_devices_entered();
    int rc = request_run(rq);
    j->used_device = dp_devices_entered() != entered;
    measure_fallbacks(rq);
    if (rc == DP_EANSWERED)
        drop_overdue(ex, j);
    dp_call_stats stats = dp_ctx_stats(rq->ctx);
    if (rq->ctx != j->ctx) /* `j->ctx` still holds the kernel's results */
        dp_ctx_reset(rq->ctx);
    rq->ctx = NULL;
    /* Time that was spent on parsing before `t_started` counts as well. */
    uint64_t now = nanos();
    j->spent = now - rq->t_started + (rq->t_parsed < rq->t_started ? rq->t_parsed - rq->t_read : 0);
    if (rc == DP_EANSWERED)
        return RUN_ANSWERED;
    if (rc != DP_EWAIT && !request_is_batch(rq))
        placement_note(ex->placement, j, &stats);
    rq->out.account = NULL;
    if (rc != DP_EWAIT && rc != DP_EWORKER)
        measure_request(j, now);
    return rc == DP_EWAIT ? RUN_WAITS : rc == DP_EWORKER ? RUN_MOVES : RUN_DONE;
}

int job_execute(executor *ex, job *j, dp_ctx *ctx, bool on_loop)
{
    request *rq = &j->rq;
    dp_error err;
    int outcome = RUN_DONE;

    dp_error_clear(&err);
    j->on_loop = on_loop;
    rq->t_started = nanos();
    if (j->stage == JOB_NEW)
        job_parse(j);
    if (j->stage == JOB_PARSED && !on_loop)
        set_running(ex, j);
    if (j->stage == JOB_PARSED && j->ctx == NULL && must_not_run(ex, j, &err))
        request_fail(rq, &err);
    else if (j->stage == JOB_PARSED)
        outcome = run_parsed(ex, j, ctx);
    if (!on_loop && outcome != RUN_ANSWERED)
        clear_running(ex, j);
    if (outcome == RUN_DONE)
        job_answered(j);
    if (outcome == RUN_DONE || outcome == RUN_ANSWERED)
        /* before the answer is sent, so that the main thread is idle when the client sends its next
         * request */
        job_drop(j);
    return outcome;
}

bool executor_run(executor *ex, job *j, dp_ctx *ctx)
{
    return job_execute(ex, j, ctx, true) == RUN_DONE;
}
