/* executor.c -- which thread runs a request, and when.
 *
 * A connection's jobs run one after another.  A connection that has a job to run is ready and
 * stands in the lane of its session.  Lanes take turns, and so do the connections of a lane.  One
 * worker at a time runs a connection's jobs and at most `cap` those of a session, so a session with
 * many connections cannot take every thread.  `cap` workers are started as they are needed.  When
 * work has waited for STALLED_NS because all of them are inside long calls, more are started, up to
 * LIMIT_WORKERS; these leave again when they have been idle.
 *
 * The loop's thread runs short requests itself: see placement.c.
 *
 *   E1: a connection is ready exactly when it is not busy, its queue is not empty and its client
 *       takes its answers; it then stands in its session's lane
 *   E2: a lane is listed exactly when it is not empty and fewer than `cap` workers are in it
 */
#include "methods/methods.h"
#include "server.h"
#include <string.h>
#include <time.h>

enum { IDLE = 0, RUNNING, LEFT }; /* worker.state: a free slot, a thread, a thread to be joined */

enum {
    STALLED_NS = 50 * 1000 * 1000,
    TICK_MS = 20,    /* how often stalled work is looked for */
    OTHERS_MS = 100, /* for so long after its request another connection counts as asking */
    SPARE_S = 2,     /* a worker above `cap` leaves after so many idle seconds */
};

void job_push(job_list *l, job *j)
{
    j->next = NULL;
    if (l->head == NULL)
        l->head = j;
    else
        l->tail->next = j;
    l->tail = j;
}

job *job_pop(job_list *l)
{
    job *j = l->head;

    if (j != NULL)
        l->head = j->next;
    return j;
}

/* -- lanes; executor.lock is held in these functions -- */

static void list_lane(executor *ex, lane *l)
{
    if (l->listed || l->head == NULL || l->running >= ex->cap)
        return;
    l->listed = true;
    l->since = nanos();
    l->next = NULL;
    if (ex->ready == NULL)
        ex->ready = l;
    else
        ex->ready_tail->next = l;
    ex->ready_tail = l;
}

static void unlist_lane(executor *ex, lane *l)
{
    lane *before = NULL;

    if (!l->listed)
        return;
    for (lane *p = ex->ready; p != l; p = p->next)
        before = p;
    *(before != NULL ? &before->next : &ex->ready) = l->next;
    if (ex->ready_tail == l)
        ex->ready_tail = before;
    l->listed = false;
}

static void enter_lane(executor *ex, struct connection *c)
{
    if (c->ready || c->busy || c->queue.head == NULL ||
        atomic_load(&c->unsent) >= LIMIT_UNSENT_BYTES)
        return;
    lane *l = &c->session->lane;
    c->ready = true;
    c->next_ready = NULL;
    if (l->head == NULL)
        l->head = c;
    else
        l->tail->next_ready = c;
    l->tail = c;
    ex->n_waiting++;
    list_lane(ex, l);
}

static void leave_lane(executor *ex, struct connection *c)
{
    struct connection *before = NULL;

    if (!c->ready)
        return;
    lane *l = &c->session->lane;
    for (struct connection *p = l->head; p != c; p = p->next_ready)
        before = p;
    *(before != NULL ? &before->next_ready : &l->head) = c->next_ready;
    if (l->tail == c)
        l->tail = before;
    c->ready = false;
    ex->n_waiting--;
    if (l->head == NULL)
        unlist_lane(ex, l);
}

/* The job whose turn it is.  Until put_back() its connection is busy and a reference of its session
 * is held. */
static job *take(executor *ex)
{
    lane *l = ex->ready;

    if (l == NULL)
        return NULL;
    unlist_lane(ex, l);
    struct connection *c = l->head;
    leave_lane(ex, c);
    c->busy = true;
    l->running++;
    list_lane(ex, l);
    job *j = job_pop(&c->queue);
    j->rq.session = session_ref(c->session);
    return j;
}

static void put_back(executor *ex, struct session *s, job *j)
{
    struct connection *c = j->rq.conn;

    s->lane.running--;
    list_lane(ex, &s->lane);
    c->busy = false;
    atomic_fetch_add(&c->unsent, j->answer_bytes);
    job_push(&ex->done, j);
    enter_lane(ex, c);
}

/* -- workers -- */

static void run_task(executor *ex, task *t)
{
    ex->tasks = t->next;
    ex->n_waiting--;
    pthread_mutex_unlock(&ex->lock);
    t->work(t);
    pthread_mutex_lock(&ex->lock);
    t->next = ex->tasks_done;
    ex->tasks_done = t;
    uv_async_send(ex->async);
}

static void run_job(executor *ex, job *j, dp_ctx *ctx)
{
    struct session *s = session_ref(j->rq.session);

    pthread_mutex_unlock(&ex->lock);
    executor_run(ex, j, ctx, false);
    pthread_mutex_lock(&ex->lock);
    put_back(ex, s, j);
    uv_async_send(ex->async);
    pthread_mutex_unlock(&ex->lock);
    session_unref(s); /* may be the last reference, so not under the lock */
    pthread_mutex_lock(&ex->lock);
}

/* Sleep until there may be work.  false: this worker has to leave. */
static bool wait_for_work(executor *ex)
{
    struct timespec until;
    int rc = 0;

    if (ex->stopping)
        return false;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += SPARE_S;
    ex->n_idle++;
    if (ex->n_workers > ex->cap)
        rc = pthread_cond_timedwait(&ex->wake, &ex->lock, &until);
    else
        pthread_cond_wait(&ex->wake, &ex->lock);
    ex->n_idle--;
    return rc == 0 || ex->n_workers <= ex->cap || ex->n_waiting > 0;
}

static void *worker_main(void *arg)
{
    worker *w = arg;
    executor *ex = w->ex;
    job *j;

    crash_thread();
    pthread_mutex_lock(&ex->lock);
    for (;;) {
        if (ex->tasks != NULL)
            run_task(ex, ex->tasks);
        else if (!ex->stopping && (j = take(ex)) != NULL)
            run_job(ex, j, w->ctx);
        else if (!wait_for_work(ex))
            break;
    }
    w->state = LEFT;
    ex->n_workers--;
    w->ctx = dp_ctx_free(w->ctx);
    pthread_cond_broadcast(&ex->left);
    pthread_mutex_unlock(&ex->lock);
    return NULL;
}

sigset_t signals_block(void)
{
    sigset_t ours, old;

    sigemptyset(&ours);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ours, &old);
    return old;
}

/* Setting LEFT is the last thing a worker does under the lock, so joining it does not wait. */
static void join_left(worker *w)
{
    if (w->state != LEFT)
        return;
    pthread_join(w->thread, NULL);
    w->state = IDLE;
}

static int start_worker(executor *ex, dp_error *err)
{
    worker *w = ex->workers;

    while (w < ex->workers + LIMIT_WORKERS && w->state == RUNNING)
        w++;
    if (w == ex->workers + LIMIT_WORKERS)
        return dp_error_set(err, DP_ERESOURCE, "%d workers are running (workers)", LIMIT_WORKERS);
    join_left(w);
    w->ex = ex;
    if (dp_ctx_new(ex->reg, &w->ctx, err) < 0)
        return err->code;
    sigset_t old = signals_block();
    int rc = pthread_create(&w->thread, NULL, worker_main, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0) {
        w->ctx = dp_ctx_free(w->ctx);
        return dp_error_set(err, DP_ERESOURCE, "cannot start a worker: %s", strerror(rc));
    }
    w->state = RUNNING;
    ex->n_workers++;
    return 0;
}

/* Something was made ready: wake a worker for it, or start one.  true: more things wait than
 * workers are idle. */
static bool wake_worker(executor *ex, unsigned most)
{
    dp_error err = DP_ERROR_INIT;

    if (ex->n_waiting > ex->n_idle && ex->n_workers < most && start_worker(ex, &err) < 0)
        log_event(LOG_WARN, "executor.start", "workers=%u error=\"%s\"", ex->n_workers,
                  err.message);
    pthread_cond_signal(&ex->wake);
    return ex->n_waiting > ex->n_idle;
}

/* -- for the loop's thread -- */

int executor_init(executor *ex, uv_loop_t *loop, uv_async_t *async, placement *proofs, unsigned cap,
                  dp_error *err)
{
    pthread_condattr_t monotonic;

    *ex = (executor){.placement = proofs, .reg = proofs->reg, .async = async, .cap = cap};
    uv_timer_init(loop, &ex->tick);
    ex->tick.data = ex;
    pthread_mutex_init(&ex->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&ex->wake, &monotonic);
    pthread_cond_init(&ex->left, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_lock(&ex->lock); /* without a first worker nothing would ever run: fail now */
    int rc = start_worker(ex, err);
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
    while (ex->n_workers > 0 && rc == 0)
        rc = pthread_cond_timedwait(&ex->left, &ex->lock, &until);
    bool all = ex->n_workers == 0;
    for (worker *w = ex->workers; w < ex->workers + LIMIT_WORKERS; w++)
        join_left(w);
    pthread_mutex_unlock(&ex->lock);
    return all;
}

void executor_fini(executor *ex)
{
    pthread_cond_destroy(&ex->wake);
    pthread_cond_destroy(&ex->left);
    pthread_mutex_destroy(&ex->lock);
}

static void on_tick(uv_timer_t *h)
{
    executor *ex = h->data;
    uint64_t now = nanos();

    pthread_mutex_lock(&ex->lock);
    bool stalled = (ex->tasks != NULL && now - ex->tasks->since > STALLED_NS) ||
                   (ex->ready != NULL && now - ex->ready->since > STALLED_NS);
    for (unsigned n = stalled ? ex->n_waiting : 0; n > 0; n--)
        wake_worker(ex, LIMIT_WORKERS);
    bool waits = ex->n_waiting > 0;
    pthread_mutex_unlock(&ex->lock);
    if (!waits)
        uv_timer_stop(h);
}

/* Something waits for a worker: see to it that it does not wait for ever. */
static void start_tick(executor *ex)
{
    if (!uv_is_active((uv_handle_t *)&ex->tick))
        uv_timer_start(&ex->tick, on_tick, TICK_MS, TICK_MS);
}

void executor_submit(executor *ex, job *j)
{
    struct connection *c = j->rq.conn;

    pthread_mutex_lock(&ex->lock);
    job_push(&c->queue, j);
    enter_lane(ex, c);
    bool waits = wake_worker(ex, ex->cap);
    pthread_mutex_unlock(&ex->lock);
    if (waits)
        start_tick(ex);
}

void executor_task(executor *ex, task *t)
{
    pthread_mutex_lock(&ex->lock);
    task **last = &ex->tasks;
    while (*last != NULL)
        last = &(*last)->next;
    *last = t;
    t->next = NULL;
    t->since = nanos();
    ex->n_waiting++;
    bool waits = wake_worker(ex, ex->cap);
    pthread_mutex_unlock(&ex->lock);
    if (waits)
        start_tick(ex);
}

void executor_resume(executor *ex, struct connection *c)
{
    pthread_mutex_lock(&ex->lock);
    enter_lane(ex, c);
    bool waits = wake_worker(ex, ex->cap);
    pthread_mutex_unlock(&ex->lock);
    if (waits)
        start_tick(ex);
}

job_list executor_done(executor *ex, task **tasks)
{
    pthread_mutex_lock(&ex->lock);
    job_list done = ex->done;
    *tasks = ex->tasks_done;
    ex->done.head = NULL;
    ex->tasks_done = NULL;
    pthread_mutex_unlock(&ex->lock);
    return done;
}

/* Locked. */
static bool cancel_running(struct connection *c, const cJSON *id)
{
    job *j = c->running;

    if (j == NULL)
        return false;
    if (id != NULL && !request_has_id(&j->rq, id))
        return false;
    atomic_store(&j->rq.cancel, 1);
    return true;
}

bool executor_cancel(executor *ex, struct connection *c, const cJSON *id)
{
    pthread_mutex_lock(&ex->lock);
    bool found = cancel_running(c, id);
    pthread_mutex_unlock(&ex->lock);
    return found;
}

job_list executor_withdraw(executor *ex, struct connection *c)
{
    pthread_mutex_lock(&ex->lock);
    c->gone = true;
    cancel_running(c, NULL);
    leave_lane(ex, c);
    job_list jobs = c->queue;
    c->queue.head = NULL;
    pthread_mutex_unlock(&ex->lock);
    return jobs;
}

/* -- running one job -- */

/* From here on executor_cancel() finds j; what was read before is in the connection's cancels. */
static void publish(executor *ex, job *j)
{
    struct connection *c = j->rq.conn;

    pthread_mutex_lock(&ex->lock);
    c->running = j;
    if (c->gone)
        atomic_store(&j->rq.cancel, 1);
    pthread_mutex_unlock(&ex->lock);
}

static void withdraw(executor *ex, job *j)
{
    pthread_mutex_lock(&ex->lock);
    j->rq.conn->running = NULL;
    pthread_mutex_unlock(&ex->lock);
}

static bool cancelled(executor *ex, const job *j)
{
    bool found = false;

    if (atomic_load(&j->rq.conn->n_cancels) == 0)
        return false;
    pthread_mutex_lock(&ex->lock);
    for (const cancel *k = j->rq.conn->cancels; k != NULL && !found; k = k->next)
        found = j->number <= k->before && request_has_id(&j->rq, k->id);
    pthread_mutex_unlock(&ex->lock);
    return found;
}

void job_parse(job *j)
{
    bool ok = request_parse(&j->rq);

    j->stage = ok ? JOB_PARSED : JOB_ANSWERED;
    j->unreadable = !ok;
    /* It is not known what an unreadable line announced, and so not where the next one begins. */
    if (!ok && j->announces)
        j->rq.close_after = true;
}

/* How many threads a parallel kernel of c may have at `now` (nanos): while other connections send
 * requests too, one less than there are cores.  Their short calls would otherwise wait for a core
 * until the system's next clock tick, 4 ms. */
static int fair_threads(const struct connection *c, int asked, uint64_t now)
{
    const server *s = c->server;
    bool newest = atomic_load(&s->asked_by) == c->number;
    uint64_t others = atomic_load(newest ? &s->others_at : &s->asked_at);
    int most = (int)s->options->threads - 1;

    if (others == 0 || now > others + OTHERS_MS * UINT64_C(1000000))
        return asked;
    most = most > 1 ? most : 1;
    return asked > 0 && asked < most ? asked : most;
}

static void prepare(dp_ctx *ctx, request *rq)
{
    dp_ctx_set_label(ctx, rq->session->label);
    dp_ctx_set_state(ctx, rq->state->include, rq->state->exclude, &rq->state->mode);
    dp_ctx_set_generators(ctx, session_default_generators(rq->session));
    dp_ctx_set_account(ctx, session_account(rq->session));
    dp_ctx_set_grad_flag(ctx, session_grad_flag(rq->session));
    dp_ctx_set_streams(ctx, rq->session->streams);
    dp_ctx_set_cancel(ctx, &rq->cancel);
    dp_ctx_set_threads(ctx, fair_threads(rq->conn, rq->state->num_threads, rq->t_started));
}

static void answered(job *j)
{
    j->stage = JOB_ANSWERED;
    j->rq.out.account = NULL; /* may go with the session */
    j->answer_bytes = j->rq.out.len;
    for (size_t i = 0; i < j->rq.n_parts; i++)
        j->answer_bytes += j->rq.parts[i].bytes;
}

#define METHOD_ID ((uint64_t)1 << DP_KERNEL_BITS) /* which is 0 in the numbers of kernels */

/* Name the work of a parsed message, as far as the message alone tells; kernel 0: it does not. */
static const method *begin_work(job *j)
{
    const method *m = j->rq.method;

    j->work = (work){0};
    if (m != NULL && m->where == METHOD_QUICK) {
        j->work.kernel = METHOD_ID + (uint64_t)(m - methods);
        j->work.method = m->name;
    }
    return m;
}

bool executor_may_begin(executor *ex, job *j)
{
    if (j->rq.bytes_charged > LIMIT_INLINE_BYTES)
        return false;
    if (j->stage == JOB_NEW)
        job_parse(j);
    if (j->stage == JOB_ANSWERED)
        return true;
    const method *m = begin_work(j);
    if (m == NULL) /* an error, and errors are short */
        return true;
    return m->where == METHOD_CALL || m->where == METHOD_AT_ONCE ||
           (m->where == METHOD_QUICK && placement_proven(ex->placement, &j->work));
}

/* Run the parsed message, or print its answer if its kernel has run already.  false: it has to move
 * to a worker. */
static bool run_parsed(executor *ex, job *j, dp_ctx *ctx)
{
    request *rq = &j->rq;

    if (j->ctx == NULL) {
        begin_work(j);
        prepare(ctx, rq);
    }
    rq->ctx = j->ctx != NULL ? j->ctx : ctx;
    rq->out.account = session_account(rq->session);
    j->moved = j->long_answer = false;
    request_run(rq);
    dp_call_facts facts = dp_ctx_facts(rq->ctx);
    if (rq->ctx != j->ctx) /* j->ctx holds what the kernel returned */
        dp_ctx_reset(rq->ctx);
    rq->ctx = NULL;
    /* If it was parsed before it began, that time counts as well. */
    j->spent =
        nanos() - rq->t_started + (rq->t_parsed < rq->t_started ? rq->t_parsed - rq->t_read : 0);
    if (!request_is_batch(rq))
        placement_note(ex->placement, j, &facts);
    if (j->moved) {
        jw_fini(&rq->out);
        jw_init(&rq->out);
    }
    return !j->moved;
}

bool executor_run(executor *ex, job *j, dp_ctx *ctx, bool on_loop)
{
    request *rq = &j->rq;

    j->on_loop = on_loop;
    rq->t_started = nanos();
    if (j->stage == JOB_NEW)
        job_parse(j);
    if (j->stage == JOB_PARSED && !on_loop)
        publish(ex, j);
    if (j->stage == JOB_PARSED && j->ctx == NULL && cancelled(ex, j)) {
        dp_error err = DP_ERROR_INIT;
        dp_error_set(&err, DP_ECANCELLED, "cancelled before it ran");
        request_fail(rq, &err);
    } else if (j->stage == JOB_PARSED && !run_parsed(ex, j, ctx)) {
        return false;
    }
    answered(j);
    if (!on_loop)
        withdraw(ex, j);
    job_drop(j); /* before the answer leaves, so that the loop is idle when its client wakes */
    return true;
}

void job_drop(job *j)
{
    request *rq = &j->rq;

    request_drop(rq);
    j->ctx = dp_ctx_free(j->ctx);
    json_free(rq->root);
    dp_free(rq->line);
    dp_free(rq->attached);
    rq->session =
        session_unref(rq->session); /* may be the last reference, which frees its tensors */
    rq->root = NULL;
    rq->line = NULL;
    rq->attached = NULL;
}
