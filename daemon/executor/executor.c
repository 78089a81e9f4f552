/* executor.c -- decides which thread runs a request, and when.
 *
 * A connection's jobs run one after another.  A connection that has a job to run is ready, and is
 * in its session's queue, the turn queue.  Uids take turns, so do the sessions of a uid, and the
 * connections of a session.  At most one worker runs a connection's jobs, at most `cap` (--workers)
 * workers run a session's, and at most LIMIT_UID_WORKERS run those of another uid than the daemon's
 * own, so no session with many connections can use every thread.  Workers are started
 * when they are needed, up to `cap`.  When a job has waited for STALLED_NS because all workers run
 * long calls, more are started, up to LIMIT_WORKERS; these exit after they have been idle for a
 * while.  Workers that wait to print a long answer (printing.c) do not count in these limits.  A
 * task is work that is not a request.  If a task waits that long, one more worker can be started,
 * which runs only tasks: long calls then cannot delay tasks.
 *
 * The main thread runs short requests itself: see placement.c.
 *
 * A call is cancelled by call.cancel, when its deadline passes, or when its client leaves.  If a
 * call has not ended STUCK_NS after its deadline, or after its client left, its worker is stuck.
 * After a deadline the main thread then answers the request, and the connection's next job may run;
 * when the call ends, its result is dropped.  A stuck worker does not count in `n_workers`, nor in
 * its session's `running`, so another worker may be started to replace it; at most
 * LIMIT_STUCK_WORKERS are replaced.  A worker that waits for a generator which another kernel has
 * locked is replaced in the same way.  A request with an argument that a stuck call of its session
 * uses must wait until a stuck call has ended: its connection is parked, which means that it is not
 * ready meanwhile.
 *
 * A connection that waits is in the list `waiting`, whether it waits for a worker, for its
 * session's turn or for the end of a stuck call.  The main thread checks the first job of each
 * connection in that list: a job whose deadline has passed, or that was cancelled, is answered
 * without a worker.
 *
 *   turns.c      chooses the next job
 *   workers.c    starts and ends the worker threads
 *   execute.c    runs one job
 *   stuck.c      handles workers whose calls do not end
 *   deadlines.c  checks waiting and running jobs at the times when they may have to end */
#include "executor/parts.h"
#include "crash.h"
#include "methods/methods.h"
#include "printing.h"

/* -- workers -- */

/* Finish `j`, which ended after the main thread answered its request; the job's connection may
 * already run its next job. */
static void end_overdue(executor *ex, struct session *s, job *j)
{
    turns_worker_ends(ex, &s->turn_queue);
    job_push(&ex->done, j);
    turns_unpark_all(ex, s);
    for (unsigned n = ex->n_waiting; n > 0; n--)
        workers_wake(ex, ex->cap);
}

static void run_job(executor *ex, job *j, worker *w)
{
    struct session *s = session_ref(j->rq.session);

    w->session = s;
    w->job = j;
    j->worker = w;
    pthread_mutex_unlock(&ex->lock);
    int outcome = job_execute(ex, j, w->ctx, false);
    if (outcome == RUN_WAITS)
        j->rq.session = session_unref(j->rq.session);
    pthread_mutex_lock(&ex->lock);
    uint64_t stuck_since = stuck_end(ex, w);
    const char *called = job_method(j);
    if (outcome == RUN_DONE)
        turns_put_back(ex, s, j);
    else if (outcome == RUN_WAITS)
        turns_park(ex, s, j);
    else
        end_overdue(ex, s, j);
    w->session = NULL;
    uv_async_send(ex->async);
    pthread_mutex_unlock(&ex->lock);
    if (stuck_since != 0)
        log_seldom(LOG_INFO, "executor.unstuck", "session=%llu method='%s' millis=%llu",
                   (unsigned long long)session_id(s), called,
                   (unsigned long long)(nanos() - stuck_since) / 1000000);
    session_unref(s); /* without the lock, because freeing a session takes long */
    pthread_mutex_lock(&ex->lock);
}

static void *worker_main(void *arg)
{
    worker *w = arg;
    executor *ex = w->ex;
    job *j;

    crash_thread();
    pthread_mutex_lock(&ex->lock);
    w->number = dp_thread_number();
    for (;;) {
        if (ex->tasks != NULL)
            workers_run_task(ex, ex->tasks);
        else if (ex->n_workers > LIMIT_WORKERS + ex->n_to_print)
            break;
        else if (!ex->stopping && (j = turns_take(ex)) != NULL)
            run_job(ex, j, w);
        else if (!workers_wait(ex))
            break;
    }
    /* this worker may have received a wake-up for work that it does not do: wake another worker */
    pthread_cond_signal(&ex->wake);
    w->state = LEFT;
    ex->n_workers--;
    w->ctx = dp_ctx_free(w->ctx);
    pthread_cond_broadcast(&ex->worker_left);
    pthread_mutex_unlock(&ex->lock);
    return NULL;
}

/* -- functions for the main thread -- */

int executor_init(executor *ex, uv_loop_t *loop, uv_async_t *async, placement *proofs, unsigned cap,
                  dp_error *err)
{
    pthread_condattr_t monotonic;

    *ex = (executor){
        .placement = proofs, .reg = proofs->reg, .async = async, .cap = cap, .run = worker_main};
    uv_timer_init(loop, &ex->tick);
    uv_timer_init(loop, &ex->watch);
    ex->tick.data = ex->watch.data = ex;
    pthread_mutex_init(&ex->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&ex->wake, &monotonic);
    pthread_cond_init(&ex->worker_left, &monotonic);
    pthread_condattr_destroy(&monotonic);
    /* fail now if not even one worker can be started: no request would ever run */
    pthread_mutex_lock(&ex->lock);
    int rc = workers_start(ex, err);
    pthread_mutex_unlock(&ex->lock);
    return rc;
}

bool executor_stop(executor *ex, uint64_t deadline)
{
    struct timespec until = {(time_t)(deadline / 1000000000), (long)(deadline % 1000000000)};
    int rc = 0;

    pthread_mutex_lock(&ex->lock);
    ex->stopping = true;
    pthread_cond_broadcast(&ex->wake);
    while (ex->n_workers + ex->n_replaced > 0 && rc == 0)
        rc = pthread_cond_timedwait(&ex->worker_left, &ex->lock, &until);
    bool all = ex->n_workers + ex->n_replaced == 0;
    for (worker *w = ex->workers; w < ex->workers + WORKERS_MOST; w++)
        workers_join_left(w);
    pthread_mutex_unlock(&ex->lock);
    return all;
}

void executor_fini(executor *ex)
{
    pthread_cond_destroy(&ex->wake);
    pthread_cond_destroy(&ex->worker_left);
    pthread_mutex_destroy(&ex->lock);
}

void executor_submit(executor *ex, job *j)
{
    struct connection *c = j->rq.conn;

    pthread_mutex_lock(&ex->lock);
    bool waited = c->waits || c->busy; /* then a worker knows of the connection already */
    job_push(&c->queue, j);
    turns_await(ex, c);
    bool waits = !waited && workers_wake(ex, ex->cap);
    pthread_mutex_unlock(&ex->lock);
    if (waits)
        workers_start_tick(ex);
}

void executor_task(executor *ex, task *t)
{
    workers_queue_task(ex, t, ex->cap);
}

void executor_resume(executor *ex, struct connection *c)
{
    pthread_mutex_lock(&ex->lock);
    turns_enter(ex, c);
    bool waits = workers_wake(ex, ex->cap);
    pthread_mutex_unlock(&ex->lock);
    if (waits)
        workers_start_tick(ex);
}

void executor_drain(executor *ex)
{
    pthread_mutex_lock(&ex->lock);
    ex->draining = true;
    turns_unpark_all(ex, NULL);
    stuck_refuse_waits(ex);
    bool waits = workers_wake(ex, ex->cap);
    pthread_mutex_unlock(&ex->lock);
    if (waits)
        workers_start_tick(ex);
}

job_list executor_done(executor *ex, task **tasks)
{
    pthread_mutex_lock(&ex->lock);
    if (ex->watch_moved)
        deadlines_watch(ex);
    job_list done = ex->done;
    *tasks = ex->tasks_done;
    ex->done.head = NULL;
    ex->tasks_done = NULL;
    pthread_mutex_unlock(&ex->lock);
    return done;
}

/* -- cancelling -- */

/* Cancel the running job of `c` if its id is `id` (NULL: any id).  false: no such job runs.  The
 * caller holds the lock. */
static bool cancel_running(struct connection *c, const cJSON *id)
{
    job *j = c->running;

    if (j == NULL)
        return false;
    if (id != NULL && !request_has_id(&j->rq, id))
        return false;
    atomic_store(&j->rq.cancel, 1);
    printing_call_off(&c->server->executor, &j->rq);
    if (j->worker->waits_at != NULL)
        dp_generator_wake(j->worker->waits_at);
    return true;
}

bool executor_cancel(executor *ex, struct connection *c, const cJSON *id)
{
    pthread_mutex_lock(&ex->lock);
    bool found = cancel_running(c, id);
    if (c->waits) {
        c->check_at = c->queue.head->since;
        turns_watch_from(ex, c->check_at);
    }
    pthread_mutex_unlock(&ex->lock);
    return found;
}

job_list executor_withdraw(executor *ex, struct connection *c)
{
    pthread_mutex_lock(&ex->lock);
    c->gone = true;
    if (cancel_running(c, NULL))
        stuck_list_due(ex, c->running, nanos() + STUCK_NS);
    turns_end_wait(ex, c);
    job_list jobs = c->queue;
    c->queue.head = NULL;
    pthread_mutex_unlock(&ex->lock);
    return jobs;
}
