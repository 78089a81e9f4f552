/* deadlines.c -- the main thread answers waiting jobs that were cancelled or whose deadline has
 * passed, and the requests of stuck calls (executor.c).
 *
 * A job is due at the time when it must be checked for one of these reasons.
 *
 * Every function is for the main thread, except parse_task(), executor_watch() and
 * executor_stuck(). */
#include "executor/parts.h"
#include "methods/methods.h"

enum {
    /* time that on_watch() spends on parsing; workers parse the remaining jobs */
    PARSE_TURN_NS = 500 * 1000,
    /* most running calls (dp_registry_running()) among which a stuck worker's call is looked up */
    STUCK_CALLS = 4 * WORKERS_MOST,
};

static void on_watch(uv_timer_t *h);

void deadlines_watch(executor *ex)
{
    uint64_t now = nanos(), first = UINT64_MAX;

    for (const job *j = ex->due; j != NULL; j = j->next_due)
        first = j->due < first ? j->due : first;
    for (const struct connection *c = ex->waiting; c != NULL; c = c->next_waiting)
        first = c->check_at != 0 && c->check_at < first ? c->check_at : first;
    ex->watch_moved = false;
    ex->watch_at = first < UINT64_MAX ? first : 0;
    uint64_t ms = first > now ? (first - now) / 1000000 + 1 : 0;
    if (ex->watch_at == 0)
        uv_timer_stop(&ex->watch);
    else
        uv_timer_start(&ex->watch, on_watch, ms, 0);
}

/* -- running jobs that are due -- */

/* Answer the request of `j`, whose deadline has passed, by a second job, because the worker still
 * uses `j`.  false: out of memory, try again later.  The caller holds the lock. */
static bool answer_for(executor *ex, job *j)
{
    struct connection *c = j->rq.conn;
    job *substitute = dp_malloc(sizeof(*substitute));
    bool calls;

    if (substitute == NULL)
        return false;
    if (!session_stuck_add(j->worker->session, &j->rq, &calls)) { /* the request has just ended */
        dp_free(substitute);
        return true;
    }
    *substitute = (job){.number = j->number, .stage = JOB_PARSED};
    substitute->rq.daemon = j->rq.daemon;
    substitute->rq.conn = c;
    substitute->rq.state = j->rq.state;
    substitute->rq.line_bytes = j->rq.line_bytes;
    substitute->rq.bytes_charged = j->rq.bytes_charged;
    substitute->rq.method = j->rq.method;
    substitute->rq.t_read = j->rq.t_read;
    substitute->rq.t_parsed = j->rq.t_parsed;
    c->refs++;
    c->running = NULL;
    j->overdue = true;
    if (request_overdue(&j->rq, calls, &substitute->rq)) {
        jobs_push_front(&c->queue, substitute);
    } else {
        substitute->stage = JOB_ANSWERED;
        substitute->answer_bytes = substitute->rq.out.len;
        atomic_fetch_add(&c->unsent, substitute->answer_bytes);
        job_push(&ex->done, substitute);
        uv_async_send(ex->async);
    }
    stuck_begin(ex, j->worker);
    c->busy = false;
    turns_await(ex, c);
    return true;
}

/* Log a stuck worker, with the innermost call that its thread runs. */
static void log_stuck(executor *ex, const stuck_call *s, unsigned n)
{
    dp_running *calls = dp_malloc_n(STUCK_CALLS, sizeof(*calls));
    size_t n_calls = calls != NULL ? dp_registry_running(ex->reg, calls, STUCK_CALLS) : 0;
    const dp_running *in = NULL;

    for (size_t i = 0; i < n_calls; i++)
        in = calls[i].thread == s->thread ? &calls[i] : in;
    if (in != NULL)
        log_seldom(LOG_WARN, "executor.stuck",
                   "session=%llu method='%s' op='%s' plugin='%s' generation=%llu stuck=%u",
                   (unsigned long long)s->session, s->method, in->op, in->plugin,
                   (unsigned long long)in->generation, n);
    else
        log_seldom(LOG_WARN, "executor.stuck", "session=%llu method='%s' stuck=%u",
                   (unsigned long long)s->session, s->method, n);
    dp_free(calls);
}

static stuck_call stuck_call_of(const worker *w)
{
    return (stuck_call){session_id(w->session), job_method(w->job), w->number,
                        nanos() - w->stuck_since};
}

/* Handle the running job `j`, which is due: STUCK_NS ago its deadline passed, or its client left.
 * `*found` gets the call if it became stuck now.  The caller holds the lock. */
static void handle_due(executor *ex, job *j, stuck_call *found)
{
    worker *w = j->worker;
    uint64_t now = nanos();

    stuck_unlist_due(ex, j);
    if (j->rq.conn->gone)
        stuck_begin(ex, w);
    else if (!answer_for(ex, j))
        stuck_list_due(ex, j, now + STUCK_NS);
    if (w->stuck_since >= now)
        *found = stuck_call_of(w);
}

/* -- waiting jobs -- */

/* Was the waiting, parsed job `j` cancelled, or has its deadline passed?  If so, `*err` tells
 * which, and `j` need not run.  A job whose kernel has run must still be answered by a worker.  The
 * caller holds the lock. */
static bool need_not_run(const job *j, uint64_t now, dp_error *err)
{
    bool is_cancelled = job_in_cancels(j);

    if (j->ctx != NULL || (!is_cancelled && (j->rq.deadline == 0 || j->rq.deadline > now)))
        return false;
    dp_error_clear(err);
    return (is_cancelled ? job_fail_cancelled(err) : run_check_deadline(&j->rq, now, err)) < 0;
}

/* The first job of `c` need not run: answer it with `*err`, unless it is answered already, and add
 * it to `ex->done`.  The caller holds the lock. */
static void answer_waiting(executor *ex, struct connection *c, const dp_error *err)
{
    job *j = c->queue.head;
    uint64_t since = c->check_at;

    /* `j` is a batch: only its current request is answered, and the next one must run */
    j->rq.session = session_ref(c->session); /* its handles fail */
    if (j->stage == JOB_PARSED && !request_give_up(&j->rq, err)) {
        j->rq.session = session_unref(j->rq.session);
        c->parked = NULL;
        c->check_at = turns_check_time(c);
        turns_enter(ex, c);
        return;
    }
    turns_end_wait(ex, c);
    job_pop(&c->queue);
    job_answered(j);
    job_drop(j);
    atomic_fetch_add(&c->unsent, j->answer_bytes);
    job_push(&ex->done, j);
    uv_async_send(ex->async);
    turns_await(ex, c);
    if (c->waits && c->check_at != 0) /* the following job may be due as well */
        c->check_at = since;
}

/* Answer the waiting jobs that need no worker.  Returns the jobs that must be parsed; their
 * connections are marked busy.  The caller holds the lock. */
static job_list check_waiting(executor *ex, uint64_t now)
{
    job_list unparsed = {NULL, NULL};

    for (struct connection *c = ex->waiting, *next; c != NULL; c = next) {
        job *j = c->queue.head;
        dp_error err;
        next = c->next_waiting;
        if (c->check_at == 0 || c->check_at > now)
            continue;
        if (j->stage == JOB_NEW) {
            turns_end_wait(ex, c);
            c->busy = true;
            j->rq.session = session_ref(c->session);
            job_push(&unparsed, job_pop(&c->queue));
        } else if (j->stage == JOB_ANSWERED || need_not_run(j, now, &err)) {
            answer_waiting(ex, c, &err);
        } else {
            c->check_at = j->rq.deadline;
        }
    }
    return unparsed;
}

/* Called when task `t` has parsed a waiting job: put the job back into its connection's queue. */
static void parsed_waiting(task *t)
{
    job *j = t->arg;
    struct connection *c = j->rq.conn;
    executor *ex = &c->server->executor;

    pthread_mutex_lock(&ex->lock);
    c->busy = false;
    if (c->gone) {
        dp_error err = DP_ERROR_INIT;
        job_fail_cancelled(&err);
        if (j->stage == JOB_PARSED)
            request_abandon(&j->rq, &err);
        job_push(&ex->done, j);
        uv_async_send(ex->async);
    } else {
        j->rq.session = session_unref(j->rq.session); /* `c` still has a reference */
        jobs_push_front(&c->queue, j);
        turns_await(ex, c);
    }
    bool waits = workers_wake(ex, ex->cap);
    if (ex->watch_moved)
        deadlines_watch(ex);
    pthread_mutex_unlock(&ex->lock);
    if (waits)
        workers_start_tick(ex);
}

static void parse_task(task *t)
{
    job_parse(t->arg);
}

/* Parse jobs that have waited for PARSE_AFTER_NS: short jobs on the main thread until PARSE_TURN_NS
 * have passed, the others on workers. */
static void parse_waiting(executor *ex, job_list *jobs, uint64_t now)
{
    job *j;

    while ((j = job_pop(jobs)) != NULL) {
        j->side_task = (task){.work = parse_task, .done = parsed_waiting, .arg = j};
        if (j->rq.line_bytes > LIMIT_SIZE(INLINE_BYTES) || nanos() > now + PARSE_TURN_NS) {
            workers_queue_task(ex, &j->side_task, LIMIT_WORKERS + 1);
            continue;
        }
        job_parse(j);
        parsed_waiting(&j->side_task);
    }
}

static void on_watch(uv_timer_t *h)
{
    executor *ex = h->data;
    uint64_t now = nanos();
    stuck_call found = {0};

    pthread_mutex_lock(&ex->lock);
    for (job *j = ex->due, *next; j != NULL; j = next) {
        next = j->next_due;
        if (j->due <= now)
            handle_due(ex, j, &found);
    }
    job_list unparsed = check_waiting(ex, now);
    deadlines_watch(ex);
    bool waits = ex->n_waiting > 0 && workers_wake(ex, ex->cap);
    unsigned n = ex->n_stuck;
    pthread_mutex_unlock(&ex->lock);
    if (waits)
        workers_start_tick(ex);
    parse_waiting(ex, &unparsed, now);
    if (found.method != NULL)
        log_stuck(ex, &found, n);
}

void executor_watch(executor *ex, job *j, uint64_t deadline)
{
    pthread_mutex_lock(&ex->lock);
    atomic_store(&j->rq.phase, PHASE_READS);
    if (!j->rq.conn->gone) /* in a batch, an earlier request may have put `j` into executor.due */
        stuck_unlist_due(ex, j);
    stuck_list_due(ex, j, deadline + STUCK_NS);
    pthread_mutex_unlock(&ex->lock);
}

size_t executor_stuck(executor *ex, stuck_call out[WORKERS_MOST])
{
    size_t n = 0;

    pthread_mutex_lock(&ex->lock);
    for (worker *w = ex->workers; w < ex->workers + WORKERS_MOST && ex->n_stuck > 0; w++)
        if (w->state == RUNNING && w->stuck_since != 0)
            out[n++] = stuck_call_of(w);
    pthread_mutex_unlock(&ex->lock);
    return n;
}
