/* shadow.c -- the queue of shadow calls, the thread that runs them, and their counts. */
#include "shadow.h"
#include "crash.h"
#include "methods/methods.h"
#include "server.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
    SPARE_MOST = 16,  /* ended calls whose contexts are kept */
    LOCK_TRIES = 100, /* before a client's thread does without the lock */
    SHADOW_NICE = 10  /* the thread gives way to those that answer clients */
};

/* Take the lock, unless that needs more than about a microsecond. */
static bool try_lock(shadow *s)
{
    bool locked = false;

    for (int i = 0; i < LOCK_TRIES && !locked; i++)
        locked = pthread_mutex_trylock(&s->lock) == 0;
    return locked;
}

/* -- counting -- */

/* Count `c`; the caller holds the lock. */
static void count(shadow *s, const shadow_call *c, shadow_count add)
{
    if (c->judge != NULL)
        return;
    add.op = dp_op_name(c->bound.op);
    memcpy(add.device, c->how.device, sizeof(add.device));
    shadow_table_add(&s->table, c->uid, &add);
}

/* Count `c` as dropped; the caller does not hold the lock, and must not wait for it. */
static void count_dropped(shadow *s, const shadow_call *c)
{
    if (c->judge != NULL)
        return;
    if (!try_lock(s)) {
        atomic_fetch_add(&s->missed, 1);
        return;
    }
    count(s, c, (shadow_count){.dropped = 1});
    pthread_mutex_unlock(&s->lock);
}

/* Release `c`, which is in no list, and give back what it was counted for.  `o`: how it ended;
 * NULL: it was not run.  The caller does not hold the lock. */
static void put_back(shadow *s, shadow_call *c, const shadow_outcome *o)
{
    if (c->judge != NULL)
        c->judge->ended(c->judge, c, o);
    atomic_fetch_sub(&s->n, 1);
    atomic_fetch_sub(&s->bytes, c->bytes);
    shadow_release(c);
    if (try_lock(s)) {
        if (s->n_spare < SPARE_MOST && !s->stopping) {
            c->next = s->spare;
            s->spare = c;
            s->n_spare++;
            c = NULL;
        }
        pthread_mutex_unlock(&s->lock);
    }
    if (c != NULL) {
        dp_ctx_free(c->ctx);
        dp_free(c);
    }
}

static void drop(shadow *s, shadow_call *c)
{
    count_dropped(s, c);
    put_back(s, c, NULL);
}

/* Drop the calls that wait; the caller holds the lock. */
static void drop_waiting(shadow *s)
{
    while (s->first != NULL) {
        shadow_call *c = s->first;
        s->first = c->next;
        if (s->first == NULL)
            s->last = &s->first;
        count(s, c, (shadow_count){.dropped = 1});
        pthread_mutex_unlock(&s->lock); /* freeing memory may take long */
        put_back(s, c, NULL);
        pthread_mutex_lock(&s->lock);
    }
}

/* -- the thread -- */

static void report(const shadow_call *c, const shadow_outcome *o)
{
    const char *op = dp_op_name(c->bound.op);

    if (c->judge != NULL)
        return;
    if (o->differs)
        log_seldom(LOG_WARN, "shadow.differs", "op='%s' backend='%s' %s", op, c->how.device,
                   o->what);
    else if (o->failed)
        log_seldom(LOG_WARN, "shadow.failed", "op='%s' backend='%s' error=\"%s\"", op,
                   c->how.device, o->what);
}

static void run_first(shadow *s)
{
    shadow_call *c = s->first;
    shadow_outcome o;

    s->first = c->next;
    if (s->first == NULL)
        s->last = &s->first;
    s->running = true;
    atomic_store(&s->cancel, 0);
    pthread_mutex_unlock(&s->lock);
    shadow_run(c, &s->cancel, &o);
    report(c, &o);
    pthread_mutex_lock(&s->lock);
    if (o.cancelled)
        count(s, c, (shadow_count){.dropped = 1});
    else
        count(s, c,
              (shadow_count){.calls = 1,
                             .differs = o.differs,
                             .failed = o.failed && !o.differs,
                             .largest = o.largest});
    pthread_mutex_unlock(&s->lock);
    put_back(s, c, &o);
    pthread_mutex_lock(&s->lock);
    s->running = false;
    pthread_cond_broadcast(&s->ended);
}

static void run_errand(shadow *s)
{
    void (*errand)(void *) = s->errand;
    void *arg = s->errand_arg;

    s->errand = NULL;
    pthread_mutex_unlock(&s->lock);
    errand(arg);
    pthread_mutex_lock(&s->lock);
}

static void *shadow_main(void *arg)
{
    shadow *s = arg;

    crash_thread();
    setpriority(PRIO_PROCESS, 0, SHADOW_NICE); /* of this thread; it works without it, too */
    pthread_mutex_lock(&s->lock);
    while (!s->stopping)
        if (s->errand != NULL)
            run_errand(s);
        else if (s->first != NULL && s->paused == 0)
            run_first(s);
        else
            pthread_cond_wait(&s->wake, &s->lock);
    s->left = true;
    pthread_cond_broadcast(&s->ended);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Start the thread, unless it runs; the caller holds the lock. */
static bool start(shadow *s)
{
    if (!s->started) {
        sigset_t old = signals_block();
        int rc = pthread_create(&s->thread, NULL, shadow_main, s);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        if (rc != 0)
            log_seldom(LOG_WARN, "shadow.start", "error=\"%s\"", strerror(rc));
        s->started = rc == 0;
    }
    return s->started;
}

/* Wait until no call runs (`leaves`: until the thread has left), at most until `deadline`; 0: no
 * limit.  The caller holds the lock. */
static bool wait_for(shadow *s, bool leaves, uint64_t deadline)
{
    struct timespec until = {.tv_sec = (time_t)(deadline / 1000000000),
                             .tv_nsec = (long)(deadline % 1000000000)};
    int rc = 0;

    while (rc != ETIMEDOUT && (leaves ? !s->left : s->running))
        rc = deadline != 0 ? pthread_cond_timedwait(&s->ended, &s->lock, &until)
                           : pthread_cond_wait(&s->ended, &s->lock);
    return leaves ? s->left : !s->running;
}

/* -- for server.c -- */

void shadow_init(shadow *s)
{
    pthread_condattr_t monotonic;

    *s = (shadow){.last = &s->first};
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->wake, NULL);
    pthread_cond_init(&s->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

bool shadow_stop(shadow *s, uint64_t deadline)
{
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    atomic_store(&s->closed, true);
    atomic_store(&s->cancel, 1);
    drop_waiting(s);
    pthread_cond_broadcast(&s->wake);
    bool left = !s->started || wait_for(s, true, deadline);
    pthread_mutex_unlock(&s->lock);
    if (left && s->started)
        pthread_join(s->thread, NULL);
    s->started = s->started && !left;
    return left;
}

void shadow_fini(shadow *s)
{
    while (s->spare != NULL) {
        shadow_call *c = s->spare;
        s->spare = c->next;
        dp_ctx_free(c->ctx);
        dp_free(c);
    }
    shadow_table_fini(&s->table);
    pthread_cond_destroy(&s->ended);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
}

/* -- for methods -- */

static shadow *shadow_of(const request *rq)
{
    return &rq->conn->server->shadow;
}

bool shadow_draw(uint64_t n, double share)
{
    uint64_t z = n * 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53 < share;
}

/* Reserve room for a call, or for `bytes` more of `c`. */
static bool reserve(shadow *s, shadow_call *c, uint64_t bytes)
{
    uint64_t most = LIMIT_SIZE(SHADOW_BYTES);

    if (bytes > most || atomic_load(&s->closed) || atomic_load(&s->n) > LIMIT_SIZE(SHADOW_QUEUE))
        return false;
    if (atomic_fetch_add(&s->bytes, bytes) > most - bytes) {
        atomic_fetch_sub(&s->bytes, bytes);
        return false;
    }
    c->bytes += bytes;
    return true;
}

/* Return a call without arguments; NULL: out of memory. */
static shadow_call *call_new(shadow *s, dp_registry *reg)
{
    shadow_call *c = NULL;
    dp_error err = DP_ERROR_INIT;

    if (try_lock(s)) {
        c = s->spare;
        s->spare = c != NULL ? c->next : NULL;
        s->n_spare -= c != NULL;
        pthread_mutex_unlock(&s->lock);
    }
    if (c != NULL)
        return c;
    c = dp_calloc(1, sizeof(*c));
    if (c != NULL && dp_ctx_new(reg, &c->ctx, &err) == 0)
        return c;
    dp_free(c);
    return NULL;
}

/* Prepare the context of `c` for copies, and for the call. */
static void prepare(shadow_call *c, const request *rq)
{
    dp_mode mode = {.size = sizeof(mode), .no_grad = true};
    dp_keyset include, exclude;

    mode.fallback = dp_ctx_mode(rq->ctx)->fallback;
    dp_state_default(&include, &exclude);
    dp_ctx_set_state(c->ctx, include, exclude, &mode);
    dp_ctx_set_label(c->ctx, "shadow");
    /* the client's calls may have filled a tensor on these */
    dp_ctx_set_streams(c->ctx, rq->session->streams);
}

int shadow_begin(request *rq, const dp_bound *b, const shadow_settings *how, shadow_judge *judge,
                 shadow_call **out)
{
    shadow *s = shadow_of(rq);
    shadow_call like = {.uid = session_uid(rq->session), .bound = *b, .judge = judge}, *c = NULL;
    uint64_t bytes;

    *out = NULL;
    if (rq->state->capture != NULL || !shadow_fits(rq->ctx, b, &bytes))
        return 0;
    if (!placement_may_take(rq, bytes, false))
        return DP_EWORKER;
    like.how = *how;
    atomic_fetch_add(&s->n, 1);
    if (reserve(s, &like, bytes))
        c = call_new(s, rq->conn->server->reg);
    if (c == NULL) {
        count_dropped(s, &like);
        atomic_fetch_sub(&s->n, 1);
        atomic_fetch_sub(&s->bytes, like.bytes);
        return DP_EBUSY;
    }
    *c = (shadow_call){.ctx = c->ctx, .uid = like.uid, .how = *how, .bytes = bytes};
    prepare(c, rq);
    int rc = shadow_take(c, rq->ctx, b);
    if (rc == 0) {
        c->judge = judge;
        *out = c;
        return 0;
    }
    if (rc != DP_EVALUE) /* otherwise its arguments share memory: it is none to shadow */
        count_dropped(s, &like);
    put_back(s, c, NULL);
    return rc != DP_EVALUE ? DP_EBUSY : 0;
}

int request_shadow_begin(request *rq, const dp_bound *b, shadow_call **out)
{
    shadow_settings *how = rq->state->shadow;
    uint64_t drawn = how->draws;

    *out = NULL;
    int rc = shadow_draw(++how->draws, how->share) ? shadow_begin(rq, b, how, NULL, out) : 0;
    if (rc == DP_EWORKER)
        how->draws = drawn; /* so that the worker draws the same */
    return rc != DP_EBUSY ? rc : 0;
}

bool shadow_errand(shadow *s, void (*errand)(void *), void *arg)
{
    pthread_mutex_lock(&s->lock);
    bool taken = !s->stopping && start(s);
    if (taken) {
        s->errand = errand;
        s->errand_arg = arg;
        pthread_cond_signal(&s->wake);
    }
    pthread_mutex_unlock(&s->lock);
    return taken;
}

/* Queue `c`; the caller does not hold the lock, and must not wait for it. */
static bool queue(shadow *s, shadow_call *c)
{
    if (!try_lock(s))
        return false;
    bool queued = !s->stopping && s->paused == 0 && start(s);
    if (queued) {
        c->next = NULL;
        *s->last = c;
        s->last = &c->next;
        pthread_cond_signal(&s->wake);
    }
    pthread_mutex_unlock(&s->lock);
    return queued;
}

void request_shadow_end(request *rq, shadow_call *c, const dp_bound *b, const dp_value *rets)
{
    shadow *s = shadow_of(rq);
    uint64_t bytes = rets != NULL ? shadow_result_bytes(c, b, rets) : UINT64_MAX;

    if (bytes == UINT64_MAX)
        put_back(s, c, NULL);
    else if (!reserve(s, c, bytes) || shadow_take_results(c, b, rets) < 0 || !queue(s, c))
        drop(s, c);
}

int request_shadows(request *rq, shadow_count **out, size_t *n, dp_error *err)
{
    shadow *s = shadow_of(rq);
    uid_t uid = session_uid(rq->session);

    pthread_mutex_lock(&s->lock);
    shadow_table_miss(&s->table, atomic_exchange(&s->missed, 0));
    size_t most = s->table.n + 1;
    *out = dp_arena_alloc_n(dp_ctx_arena(rq->ctx), most, sizeof(**out));
    if (*out != NULL)
        *n = shadow_table_copy(&s->table, session_is_owner(rq->session) ? NULL : &uid, *out);
    pthread_mutex_unlock(&s->lock);
    if (*out == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: counts of %zu shadow calls", most);
    return 0;
}

void request_shadow_pause(request *rq, int64_t timeout_ms)
{
    shadow *s = shadow_of(rq);

    pthread_mutex_lock(&s->lock);
    s->paused++;
    atomic_store(&s->closed, true);
    atomic_store(&s->cancel, 1);
    drop_waiting(s);
    wait_for(s, false, timeout_ms >= 0 ? nanos() + (uint64_t)timeout_ms * UINT64_C(1000000) : 0);
    pthread_mutex_unlock(&s->lock);
}

void request_shadow_resume(request *rq)
{
    shadow *s = shadow_of(rq);

    pthread_mutex_lock(&s->lock);
    s->paused--;
    atomic_store(&s->closed, s->stopping || s->paused > 0);
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
}
