/* placement.c -- what may run on the loop's thread, where a long request would keep all others
 * waiting.
 *
 * How much a request may parse, copy or print there is bounded by LIMIT_INLINE_BYTES; what names a
 * device or uses a device's memory never runs there, since any copy may wait for the device.  How
 * long a kernel takes is learned, for each class of sizes and kind of answer: it may run there once
 * PROMOTE_CALLS requests in a row took less than PROMOTE_NS and called neither another kernel nor a
 * device.  A request on the loop's thread that takes more than DEMOTE_NS ends that; if this happens
 * again soon, more requests are asked for each time.  All of it counts whole requests: parse, run
 * and print. */
#include "server.h"

enum {
    PROMOTE_CALLS = 16,
    PROMOTE_NS = 50 * 1000,
    DEMOTE_NS = 1000 * 1000,
    DEMOTE_FACTOR = 16, /* after a demotion soon after the last, so many times more are needed */
    NEEDED_MAX = 1 << 20,
    CLASS_SHIFT = 10, /* sizes below 1 << CLASS_SHIFT are one class; above it, each power of 2 */
};

int placement_init(placement *p, dp_registry *reg, dp_error *err)
{
    pthread_mutex_init(&p->lock, NULL);
    p->reg = reg;
    return dp_ctx_new(reg, &p->loop_ctx, err);
}

void placement_fini(placement *p)
{
    p->loop_ctx = dp_ctx_free(p->loop_ctx);
    pthread_mutex_destroy(&p->lock);
}

/* -- proofs -- */

static uint32_t size_class(size_t n)
{
    n >>= CLASS_SHIFT;
    return n == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(n);
}

/* The place of this work's proof.  When another work's proof is there, that one is forgotten, which
 * costs some calls on workers and nothing else.  A method is trusted from the start.  lock is
 * held. */
static proof *proof_of(placement *pl, const work *w)
{
    uint64_t key = w->kernel;

    key = key << 6 | size_class(w->bytes);
    key = key << 6 | size_class(w->asked < 0x1p62 ? (size_t)w->asked * sizeof(double) : SIZE_MAX);
    key = key << 2 | (uint64_t)w->how;
    proof *p = &pl->proofs[key * 0x9e3779b97f4a7c15u >> 52];
    _Static_assert(PLACEMENT_PROOFS == 1 << 12, "12 bits of hash choose a proof");
    if (p->key != key)
        *p = (proof){key, w->op == NULL ? PROMOTE_CALLS : 0, PROMOTE_CALLS};
    return p;
}

bool placement_proven(placement *pl, const work *w)
{
    pthread_mutex_lock(&pl->lock);
    const proof *p = proof_of(pl, w);
    bool yes = p->in_a_row >= p->needed;
    pthread_mutex_unlock(&pl->lock);
    return yes;
}

/* -- what methods ask -- */

bool placement_may_run(request *rq, const work *w)
{
    job *j = (job *)rq;
    placement *pl = &rq->conn->server->placement;

    j->work = *w;
    if (w->kernel == 0) /* without a kernel it is an error, and errors are short */
        return true;
    j->moved = j->on_loop && (w->bytes == SIZE_MAX || !placement_proven(pl, w));
    if (!j->moved)
        atomic_fetch_add(j->on_loop ? &pl->calls_inline : &pl->calls_worker, 1);
    return !j->moved;
}

bool placement_may_take(request *rq, size_t bytes, bool keep)
{
    job *j = (job *)rq;
    placement *pl = &rq->conn->server->placement;
    dp_ctx *fresh = NULL;

    j->long_answer = j->long_answer || bytes > LIMIT_INLINE_BYTES;
    if (!j->on_loop || bytes <= LIMIT_INLINE_BYTES)
        return true;
    if (keep && dp_ctx_new(pl->reg, &fresh, NULL) < 0)
        return true; /* no memory: answering late is better than not at all */
    if (keep) {
        j->ctx = pl->loop_ctx;
        pl->loop_ctx = fresh;
    }
    j->moved = true;
    return false;
}

/* -- learning -- */

/* Where the kernel of this work comes from, for the log. */
static dp_provenance provenance_of(const placement *pl, const work *w, dp_arena *a)
{
    dp_op_info info;

    if (a != NULL && dp_registry_describe(pl->reg, w->op, a, &info, NULL) == 0)
        for (uint32_t i = 0; i < info.n_cells; i++)
            if (info.cells[i].kernel != NULL &&
                info.cells[i].kernel->id == DP_KERNEL_BELOW(w->kernel))
                return info.cells[i].kernel->from;
    return (dp_provenance){.plugin = "?"};
}

static void log_demotion(const placement *pl, const job *j)
{
    const work *w = &j->work;
    unsigned long long micros = j->spent / 1000;

    if (w->op == NULL) {
        log_event(LOG_WARN, "executor.demote", "method='%s' bytes=%zu micros=%llu", w->method,
                  j->rq.line_bytes, micros);
        return;
    }
    dp_arena *a = dp_arena_new();
    dp_provenance from = provenance_of(pl, w, a);
    log_event(LOG_WARN, "executor.demote",
              "op='%s' plugin='%s' generation=%llu bytes=%zu asked=%.0f answer='%s' micros=%llu",
              w->op, from.plugin, (unsigned long long)from.generation, w->bytes, w->asked,
              j->long_answer ? "long" : "short", micros);
    dp_arena_free(a);
}

static void demote(proof *p)
{
    if (p->in_a_row >= p->needed * DEMOTE_FACTOR) /* the last demotion was long ago */
        p->needed = PROMOTE_CALLS;
    else if (p->needed < NEEDED_MAX / DEMOTE_FACTOR)
        p->needed *= DEMOTE_FACTOR;
    else
        p->needed = NEEDED_MAX;
    p->in_a_row = 0;
}

/* Once work is proven, only a request of more than DEMOTE_NS counts against it, and for a method
 * only one on the loop's thread: on a busy machine a short request takes long because its thread
 * waits. */
void placement_note(placement *pl, const job *j, const dp_call_stats *f)
{
    const work *w = &j->work;
    bool after_call = j->ctx != NULL; /* its kernel ran on the loop's thread, its answer is long */
    bool too_long = j->on_loop && (j->spent > DEMOTE_NS || after_call);

    if (w->kernel == 0 || (j->moved && !after_call))
        return;
    pthread_mutex_lock(&pl->lock);
    proof *p = proof_of(pl, w);
    if (too_long)
        demote(p);
    else if (j->reached && w->op != NULL)
        p->in_a_row = 0;
    else if (f->n_calls <= 1 && j->spent < PROMOTE_NS && !j->long_answer)
        p->in_a_row += p->in_a_row < UINT32_MAX;
    else if (p->in_a_row < p->needed || (w->op != NULL && j->spent > DEMOTE_NS))
        p->in_a_row = 0;
    pthread_mutex_unlock(&pl->lock);
    if (!too_long)
        return;
    atomic_fetch_add(&pl->demotions, 1);
    log_demotion(pl, j);
}
