/* thread.c -- the records in which threads publish the snapshots and kernels that they use.
 *
 * A thread takes a record when it first needs one, usually for its first call of an operator, and
 * gives it back when the thread ends.  Records are never freed, so another thread can walk the list
 * at any time.  Other threads read the records to free unused snapshots and replaced shapes, to
 * wait until no call uses a plugin, to list running calls and to write the crash report. */
#include "thread.h"
#include <stdio.h>
#include <stdlib.h>

static const dpi_snapshot placeholder;
dpi_thread dpi_thread_nobody = {.pinned = &placeholder};
_Thread_local dpi_thread *dpi_thread_self = &dpi_thread_nobody;
_Thread_local char dpi_thread_plugin[DPI_THREAD_PLUGIN_BYTES];

static _Atomic(dpi_thread *) threads;
static atomic_uint n_threads, last_number;
static pthread_key_t exit_key;
static pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;

/* Give back the record of an ending thread, and end its dp_ctx_begin() if that is still open.
 * Abort the process if a kernel ended the thread: locks and references of its callers would never
 * be released. */
static void thread_exit(void *p)
{
    dpi_thread *t = p;

    if (atomic_load_explicit(&t->depth, memory_order_relaxed) > 0)
        abort();
    if (t->begun != NULL) {
        t->abandon(t->begun);
        t->begun = NULL;
        dpi_thread_unpin(t);
    }
    dpi_thread_self = &dpi_thread_nobody;
    dpi_looker_self = &dpi_thread_nobody.looker;
    atomic_store_explicit(&t->shapes_pin, 0, memory_order_release);
    atomic_store_explicit(&t->used, 0, memory_order_release);
}

/* Return the value of dpi_changes.n (which counts changes of shapes, from 1) when `t` began to use
 * shapes of tensors, in a call or by dp_shapes_pin().  0 or 1: `t` has not read dpi_changes.n yet.
 * UINT64_MAX: `t` uses no shapes. */
static uint64_t oldest_use(const dpi_thread *t)
{
    uint64_t pinned = atomic_load_explicit(&t->shapes_pin, memory_order_acquire),
             began = UINT64_MAX;

    if (atomic_load_explicit(&t->pinned, memory_order_acquire) != NULL)
        began = atomic_load_explicit(&t->looker.began, memory_order_acquire);
    return pinned != 0 && pinned < began ? pinned : began;
}

/* Return the least oldest_use() of all threads, for dpi_oldest_call().  If a thread's pin is not
 * visible here yet, the thread reads dpi_changes.n after this barrier, so it sees all changes that
 * were made before. */
static uint64_t oldest_call(void)
{
    uint64_t oldest = UINT64_MAX;

    dpi_membarrier();
    for (dpi_thread *t = atomic_load_explicit(&threads, memory_order_acquire); t; t = t->next) {
        uint64_t since = oldest_use(t);
        oldest = since < oldest ? since : oldest;
    }
    return oldest;
}

static void exit_key_make(void)
{
    pthread_key_create(&exit_key, thread_exit);
    dpi_oldest_call_from(oldest_call);
}

static dpi_thread *thread_reuse(void)
{
    for (dpi_thread *t = atomic_load_explicit(&threads, memory_order_acquire); t; t = t->next) {
        int unused = 0;
        if (atomic_compare_exchange_strong(&t->used, &unused, 1))
            return t;
    }
    return NULL;
}

static dpi_thread *thread_new(dp_error *err)
{
    dpi_thread *t;

    if (atomic_fetch_add(&n_threads, 1) >= DP_LIMIT_THREADS ||
        (t = dp_calloc(1, sizeof(*t))) == NULL) {
        atomic_fetch_sub(&n_threads, 1);
        dp_error_set(err, DP_ERESOURCE, "no thread record: at most %d threads call at once",
                     DP_LIMIT_THREADS);
        return NULL;
    }
    atomic_init(&t->used, 1);
    t->number = atomic_fetch_add(&last_number, 1) + 1;
    t->next = atomic_load_explicit(&threads, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&threads, &t->next, t))
        ;
    return t;
}

dpi_thread *dpi_thread_enter(dp_error *err)
{
    pthread_once(&exit_key_once, exit_key_make);
    dpi_thread *t = thread_reuse();
    if (t == NULL)
        t = thread_new(err);
    if (t != NULL) {
        pthread_setspecific(exit_key, t);
        t->stack_floor = dpi_stack_floor();
        dpi_thread_self = t;
        dpi_looker_self = &t->looker;
    }
    return t;
}

uint64_t dp_thread_number(void)
{
    dpi_thread *t = dpi_thread_self;

    if (t == &dpi_thread_nobody)
        t = dpi_thread_enter(NULL);
    return t != NULL ? t->number : 0;
}

int dp_shapes_pin(dp_error *err)
{
    dpi_thread *t = dpi_thread_self;

    if (t == &dpi_thread_nobody && (t = dpi_thread_enter(err)) == NULL)
        return DP_ERESOURCE;
    /* 1, the least value of dpi_changes.n, pins all shapes until the current value is stored. */
    atomic_store_explicit(&t->shapes_pin, 1, memory_order_release);
    dpi_thread_fence(dpi_membarrier_works);
    uint64_t n = atomic_load_explicit(&dpi_changes.n, memory_order_acquire);
    atomic_store_explicit(&t->shapes_pin, n, memory_order_release);
    return DP_OK;
}

void dp_shapes_unpin(void)
{
    if (dpi_thread_self != &dpi_thread_nobody)
        atomic_store_explicit(&dpi_thread_self->shapes_pin, 0, memory_order_release);
}

const dpi_thread *dpi_threads(void)
{
    return atomic_load_explicit(&threads, memory_order_acquire);
}

bool dpi_thread_pins(const dpi_snapshot *s)
{
    for (dpi_thread *t = atomic_load_explicit(&threads, memory_order_acquire); t; t = t->next)
        if (atomic_load_explicit(&t->pinned, memory_order_acquire) == s)
            return true;
    return false;
}

/* Return the snapshot of `reg` that `t` pins, or NULL.  The caller holds reg->lock, which keeps the
 * registry's snapshots from being freed.  A pointer to any other snapshot is not dereferenced. */
static const dpi_snapshot *pinned_of(dpi_thread *t, const dp_registry *reg)
{
    const dpi_snapshot *s = atomic_load_explicit(&t->pinned, memory_order_acquire);
    const dpi_snapshot *old = reg->retired;

    if (s == NULL || s == atomic_load_explicit(&reg->current, memory_order_relaxed) ||
        s == atomic_load_explicit(&reg->candidate, memory_order_relaxed))
        return s;
    while (old != NULL && old != s)
        old = old->next_retired;
    return old;
}

void dpi_thread_label(const dpi_thread *t, char out[DPI_LABEL_BYTES])
{
    uint64_t words[4];

    for (int i = 0; i < 4; i++)
        words[i] = atomic_load_explicit(&t->label[i], memory_order_relaxed);
    memcpy(out, words, sizeof(words));
    out[DPI_LABEL_BYTES - 1] = '\0';
}

/* Describe at most `cap` running calls of `t` in `out`; return their number.  The caller holds the
 * registry's lock, which keeps the kernels that frames name from being freed. */
static size_t running_of(dpi_thread *t, dp_registry *reg, dp_running *out, size_t cap)
{
    uint32_t depth = atomic_load_explicit(&t->depth, memory_order_acquire);
    uint64_t since = atomic_load_explicit(&t->since, memory_order_relaxed);
    size_t n = 0;

    if (pinned_of(t, reg) == NULL)
        return 0;
    for (uint32_t d = 0; d < depth && d < DP_LIMIT_CALL_DEPTH && n < cap; d++) {
        const dpi_kernel *k = atomic_load_explicit(&t->frames[d].kernel, memory_order_relaxed);
        const dp_op *op = atomic_load_explicit(&t->frames[d].op, memory_order_relaxed);
        if (k == NULL || op == NULL)
            continue;
        uint64_t now = dpi_nanos();
        dp_running *r = &out[n++];
        dpi_thread_label(t, r->label);
        r->op = op->name;
        memcpy(r->plugin, k->gen->plugin, sizeof(r->plugin));
        r->generation = k->gen->number;
        r->key = dpi_keyset_highest(dpi_frame_keys(&t->frames[d]));
        r->depth = (int)d;
        r->nanos = since && now > since ? now - since : 0;
        r->thread = t->number;
    }
    return n;
}

size_t dp_registry_running(dp_registry *reg, dp_running *out, size_t cap)
{
    size_t n = 0;

    pthread_mutex_lock(&reg->lock);
    dpi_membarrier();
    for (dpi_thread *t = atomic_load_explicit(&threads, memory_order_acquire); t; t = t->next)
        n += running_of(t, reg, out + n, cap - n);
    pthread_mutex_unlock(&reg->lock);
    return n;
}

/* -- waiting until no call uses a generation -- */

/* `what`: "a call", or what else uses the generation if `op` is NULL. */
static void describe_call(dpi_thread *t, const dp_op *op, const char *what, char *who, size_t bytes)
{
    char label[DPI_LABEL_BYTES];
    uint64_t since = atomic_load_explicit(&t->since, memory_order_relaxed);

    if (who == NULL || bytes == 0)
        return;
    dpi_thread_label(t, label);
    snprintf(who, bytes, "%s in %s for %.1f s", label[0] ? label : "a caller", op ? op->name : what,
             since ? (double)(dpi_nanos() - since) / 1e9 : 0.0);
}

/* Return the operator of a frame of `t` that names `gen`; NULL: no frame names it. */
static const dp_op *op_running(dpi_thread *t, const dpi_generation *gen)
{
    uint32_t depth = atomic_load_explicit(&t->depth, memory_order_acquire);

    for (uint32_t d = 0; d < depth && d < DP_LIMIT_CALL_DEPTH; d++) {
        const dpi_kernel *k = atomic_load_explicit(&t->frames[d].kernel, memory_order_acquire);
        if (k != NULL && k->gen == gen)
            return atomic_load_explicit(&t->frames[d].op, memory_order_relaxed);
    }
    return NULL;
}

bool dpi_generation_idle(dp_registry *reg, dpi_generation *gen, bool close, char *who, size_t bytes)
{
    bool idle = true;

    pthread_mutex_lock(&reg->lock);
    if (close)
        atomic_store_explicit(&gen->closed, 1, memory_order_release);
    dpi_membarrier();
    for (dpi_thread *t = atomic_load_explicit(&threads, memory_order_acquire); t && idle;
         t = t->next) {
        const dpi_snapshot *s = pinned_of(t, reg);
        const dp_op *op = s != NULL ? op_running(t, gen) : NULL;
        bool hook = s != NULL && atomic_load_explicit(&t->hook, memory_order_acquire) == gen;
        bool may_enter = s != NULL && s->number < atomic_load(&gen->gone_at) &&
                         (s->canary != NULL || !atomic_load(&gen->canary));
        bool in_use = op != NULL || hook || (may_enter && !close);
        if (!in_use)
            continue;
        idle = false;
        if (op == NULL && !hook)
            op = atomic_load_explicit(&t->frames[0].op, memory_order_relaxed);
        describe_call(t, op, hook ? "its hook on the end of a session" : "a call", who, bytes);
    }
    pthread_mutex_unlock(&reg->lock);
    return idle;
}

bool dpi_generation_drain(dp_registry *reg, dpi_generation *gen, bool close, int timeout_ms,
                          char *who, size_t bytes)
{
    enum { GRACE_MS = 50 };
    uint64_t start = dpi_nanos(), pause_ns = 20000;

    for (;;) {
        uint64_t ms = (dpi_nanos() - start) / 1000000;
        if (dpi_generation_idle(reg, gen, close && ms >= GRACE_MS, who, bytes))
            return true;
        if (timeout_ms >= 0 && ms >= (uint64_t)timeout_ms && (!close || ms >= GRACE_MS))
            return false;
        struct timespec ts = {0, (long)pause_ns};
        nanosleep(&ts, NULL);
        if (pause_ns < 2000000)
            pause_ns *= 2;
    }
}
