/* executor.c -- which thread runs a request, and when.
 *
 * A connection's jobs run one after another.  A connection that has one to run is ready and stands
 * in the lane of its session; lanes take turns (round-robin), and so do the connections in a lane.
 * One worker is in a connection at a time, at most `cap` in a session, so a session with many
 * connections cannot take every thread.  There are `cap` workers at first; when work has waited for
 * STALLED_NS because all of them are inside long calls, more are started, up to LIMIT_WORKERS, and
 * leave when they have been idle.
 *
 * What may run on the loop thread is learned: see executor_may_run.
 *
 *   E1: connection.ready == it stands in its session's lane == !busy, its queue is not empty and
 * its client takes its answers E2: lane.listed == lane.head != NULL && lane.running < cap
 */
#include "server.h"
#include <signal.h>
#include <string.h>
#include <time.h>

enum { IDLE = 0, RUNNING, LEFT }; /* worker.state: a free slot, a thread, a thread to be joined */

enum {
    PROMOTE_CALLS = 16,
    PROMOTE_NS = 20 * 1000,
    DEMOTE_NS = 1000 * 1000,
    DEMOTE_FACTOR = 16, /* each demotion asks for so many times more short calls in a row */
    NEEDED_MAX = 1 << 20,
    STALLED_NS = 50 * 1000 * 1000,
    WRITE_BYTES = 16 << 10, /* results of bigger arguments are not written on the loop thread */
    SPARE_S = 2,            /* so long a worker above `cap` waits for something to do */
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

/* -- lanes; executor.lock is held in every function down to the workers -- */

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

/* The next job by turns; its connection is busy and its session counted until put_back(). */
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
    session_unref(s); /* may be the last one */
    pthread_mutex_lock(&ex->lock);
}

/* Sleep until there may be work; false: this worker is to leave. */
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

/* A worker says that it left as the last thing it does under the lock, so this does not wait. */
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

/* Something was made ready: see to it that a thread takes it; true: more waits than threads do. */
static bool wake_worker(executor *ex, unsigned most)
{
    dp_error err = DP_ERROR_INIT;

    if (ex->n_waiting > ex->n_idle && ex->n_workers < most && start_worker(ex, &err) < 0)
        log_event(LOG_WARN, "executor.start", "workers=%u error=\"%s\"", ex->n_workers,
                  err.message);
    pthread_cond_signal(&ex->wake);
    return ex->n_waiting > ex->n_idle;
}

/* -- for the loop thread -- */

int executor_init(executor *ex, dp_registry *reg, uv_async_t *async, unsigned cap, dp_error *err)
{
    pthread_condattr_t monotonic;

    memset(ex, 0, sizeof(*ex));
    pthread_mutex_init(&ex->lock, NULL);
    pthread_mutex_init(&ex->proof_lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&ex->wake, &monotonic);
    pthread_cond_init(&ex->left, &monotonic);
    pthread_condattr_destroy(&monotonic);
    ex->reg = reg;
    ex->async = async;
    ex->cap = cap;
    pthread_mutex_lock(&ex->lock); /* the first one now: without it nothing would ever run */
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
    pthread_mutex_destroy(&ex->proof_lock);
    pthread_mutex_destroy(&ex->lock);
}

bool executor_submit(executor *ex, job *j)
{
    struct connection *c = j->rq.conn;

    pthread_mutex_lock(&ex->lock);
    job_push(&c->queue, j);
    enter_lane(ex, c);
    bool waits = wake_worker(ex, ex->cap);
    pthread_mutex_unlock(&ex->lock);
    return waits;
}

bool executor_task(executor *ex, task *t)
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
    return waits;
}

bool executor_resume(executor *ex, struct connection *c)
{
    pthread_mutex_lock(&ex->lock);
    enter_lane(ex, c);
    bool waits = wake_worker(ex, ex->cap);
    pthread_mutex_unlock(&ex->lock);
    return waits;
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

job_list executor_withdraw(executor *ex, struct connection *c)
{
    pthread_mutex_lock(&ex->lock);
    leave_lane(ex, c);
    job_list jobs = c->queue;
    c->queue.head = NULL;
    pthread_mutex_unlock(&ex->lock);
    return jobs;
}

bool executor_tick(executor *ex)
{
    uint64_t now = nanos();

    pthread_mutex_lock(&ex->lock);
    bool stalled = (ex->tasks != NULL && now - ex->tasks->since > STALLED_NS) ||
                   (ex->ready != NULL && now - ex->ready->since > STALLED_NS);
    for (unsigned n = stalled ? ex->n_waiting : 0; n > 0; n--)
        wake_worker(ex, LIMIT_WORKERS);
    bool waits = ex->n_waiting > 0;
    pthread_mutex_unlock(&ex->lock);
    return waits;
}

/* -- running one job -- */

static bool cancelled(executor *ex, const job *j)
{
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(j->rq.root, "id");
    bool found = false;

    if (atomic_load(&j->rq.conn->n_cancels) == 0)
        return false;
    pthread_mutex_lock(&ex->lock);
    for (const cancel *k = j->rq.conn->cancels; k != NULL && !found; k = k->next)
        found = j->number <= k->before && id != NULL && cJSON_Compare(id, k->id, true);
    pthread_mutex_unlock(&ex->lock);
    return found;
}

void job_parse(job *j)
{
    bool ok = request_parse(&j->rq);

    j->rq.t_parsed = nanos();
    j->stage = ok ? JOB_PARSED : JOB_ANSWERED;
    j->unreadable = !ok;
    /* What an unreadable line announced is not known, so neither is where the next one begins. */
    if (!ok && j->announces)
        j->rq.close_after = true;
}

/* How many threads a parallel kernel of c may have at `now` (nanos): while others ask too, one core
 * less than there are.  Their short calls would otherwise wait for one to be free: for the kernel's
 * next clock tick, 4 ms. */
static int fair_threads(const struct connection *c, int asked, uint64_t now)
{
    const server *s = c->server;
    bool newest = atomic_load(&s->asked_by) == c->number;
    uint64_t others = atomic_load(newest ? &s->others_at : &s->asked_at);
    int most = (int)s->options->threads - 1;

    if (others == 0 || now > others + EXECUTOR_OTHERS_MS * UINT64_C(1000000))
        return asked;
    most = most > 1 ? most : 1;
    return asked > 0 && asked < most ? asked : most;
}

static void prepare(dp_ctx *ctx, request *rq)
{
    const conn_state *state = connection_state(rq->conn);
    char label[32];

    rq->t_started = nanos();
    snprintf(label, sizeof(label), "session %llu", (unsigned long long)session_id(rq->session));
    dp_ctx_set_label(ctx, label);
    dp_ctx_set_state(ctx, state->include, state->exclude);
    dp_ctx_set_threads(ctx, fair_threads(rq->conn, state->num_threads, rq->t_started));
    rq->ctx = ctx;
}

static void answered(job *j)
{
    j->stage = JOB_ANSWERED;
    j->answer_bytes = j->rq.out.len;
    for (size_t i = 0; i < j->rq.n_parts; i++)
        j->answer_bytes += j->rq.parts[i].bytes;
}

bool executor_run(executor *ex, job *j, dp_ctx *ctx, bool on_loop)
{
    request *rq = &j->rq;

    if (j->stage == JOB_NEW)
        job_parse(j);
    if (j->stage == JOB_PARSED && cancelled(ex, j)) {
        dp_error err = DP_ERROR_INIT;
        dp_error_set(&err, DP_ECANCELLED, "cancelled before it ran");
        request_fail(rq, &err);
    } else if (j->stage == JOB_PARSED) {
        prepare(ctx, rq);
        j->on_loop = on_loop;
        j->moved = false;
        request_run(rq);
        rq->ctx = NULL;
        dp_ctx_reset(ctx);
        if (j->moved) {
            jw_fini(&rq->out);
            jw_init(&rq->out);
            return false;
        }
    }
    answered(j);
    return true;
}

/* -- what is proven short -- */

/* Where it is or would be noted: two that share a place forget each other, which costs some calls
 * on workers and nothing else.  proof_lock is held. */
static proof *proof_of(executor *ex, uint64_t kernel, size_t bytes)
{
    uint32_t size_class = bytes == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(bytes);
    uint64_t hash = (kernel * 64 + size_class) * 0x9e3779b97f4a7c15u;
    proof *p = &ex->proofs[hash >> 52];

    _Static_assert(EXECUTOR_PROOFS == 1 << 12, "12 bits of hash choose a proof");
    if (p->kernel != kernel || p->size_class != size_class)
        *p = (proof){kernel, size_class, 0, PROMOTE_CALLS};
    return p;
}

/* Are the results to be written out?  That may take long behind a kernel that does not: a view. */
static bool writes_data(const request *rq)
{
    const cJSON *params = cJSON_GetObjectItemCaseSensitive(rq->root, "params");
    const cJSON *how = cJSON_GetObjectItemCaseSensitive(params, "return");

    return cJSON_IsString(how) && strcmp(how->valuestring, "handle") != 0;
}

/* A call runs on the loop thread once its kernel was short and a leaf in PROMOTE_CALLS calls of
 * that size class in a row; on a worker it always may. */
bool executor_may_run(request *rq, uint64_t kernel_id, size_t bytes)
{
    job *j = (job *)rq;
    executor *ex = &rq->conn->server->executor;

    if (!j->on_loop || kernel_id == 0) /* without a kernel it is an error, and errors are short */
        return true;
    pthread_mutex_lock(&ex->proof_lock);
    proof *p = proof_of(ex, kernel_id, bytes);
    j->moved = p->in_a_row < p->needed || (bytes > WRITE_BYTES && writes_data(rq));
    pthread_mutex_unlock(&ex->proof_lock);
    return !j->moved;
}

/* The plugin of a kernel of op, for the log. */
static void log_demotion(executor *ex, const char *op, uint64_t kernel_id, size_t bytes,
                         uint64_t ns)
{
    dp_arena *a = dp_arena_new();
    dp_op_info info;
    dp_provenance from = {.plugin = "?"};

    if (a != NULL && dp_registry_describe(ex->reg, op, a, &info, NULL) == 0)
        for (uint32_t i = 0; i < info.n_cells; i++)
            if (info.cells[i].kernel != NULL && info.cells[i].kernel->id == kernel_id)
                from = info.cells[i].kernel->from;
    log_event(LOG_WARN, "executor.demote",
              "op='%s' plugin='%s' generation=%llu bytes=%zu micros=%llu", op, from.plugin,
              (unsigned long long)from.generation, bytes, (unsigned long long)ns / 1000);
    dp_arena_free(a);
}

void executor_note(request *rq, const dp_op *op, uint64_t kernel_id, size_t bytes,
                   const dp_call_facts *f, uint64_t ns)
{
    const job *j = (const job *)rq;
    executor *ex = &rq->conn->server->executor;
    bool demote = j->on_loop && ns > DEMOTE_NS;

    atomic_fetch_add(j->on_loop ? &ex->calls_inline : &ex->calls_worker, 1);
    pthread_mutex_lock(&ex->proof_lock);
    proof *p = proof_of(ex, kernel_id, bytes);
    if (demote) {
        p->in_a_row = 0;
        p->needed = p->needed < NEEDED_MAX / DEMOTE_FACTOR ? p->needed * DEMOTE_FACTOR : NEEDED_MAX;
    } else if (f->n_calls == 1 && ns < PROMOTE_NS) {
        p->in_a_row += p->in_a_row < p->needed;
    } else if (!j->on_loop) { /* between the two bounds an inline call keeps its place */
        p->in_a_row = 0;
    }
    pthread_mutex_unlock(&ex->proof_lock);
    if (!demote)
        return;
    atomic_fetch_add(&ex->demotions, 1);
    log_demotion(ex, dp_op_name(op), kernel_id, bytes, ns);
}
