/* placement.c -- decides which requests may run on the main thread, which runs the event loop: a
 * long request would delay all others there.
 *
 * On that thread a request may parse, copy or print at most LIMIT_INLINE_BYTES.  A request that
 * names a device or uses device memory never runs there, because any copy may wait for the device.
 * The time of each kernel is learned, for each class of input and output sizes and each way to
 * return tensors (as handle, data, ...).  A kernel is promoted, which means that it may run on the
 * main thread, after PROMOTE_CALLS consecutive requests that took less than PROMOTE_NS each, called
 * neither a second kernel nor a device, and had an answer of at most LIMIT_INLINE_BYTES.  A kernel
 * is demoted when a request on the main thread takes more than DEMOTE_NS, or when a worker must
 * print the answer because the answer is longer than LIMIT_INLINE_BYTES.  If demotions follow each
 * other soon, the number of requests that the next promotion needs grows each time.  All times are
 * those of whole requests: parse, run and print. */
#include "server.h"

enum {
    PROMOTE_CALLS = 16,
    PROMOTE_NS = 50 * 1000,
    DEMOTE_NS = 1000 * 1000,
    /* factor by which the number of needed requests grows when demotions follow each other soon */
    DEMOTE_FACTOR = 16,
    NEEDED_MAX = 1 << 20,
    /* sizes below 1 << CLASS_SHIFT are one class; above, a class ends at each power of 2 */
    CLASS_SHIFT = 10,
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

/* Find the statistics (proof) about work `w` in the hash table.  If the slot has the proof of other
 * work, that proof is overwritten, which only makes some later calls of the other work run on
 * workers.  A method counts as proven from the start.  The caller holds `lock`. */
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

/* -- functions for methods -- */

bool placement_may_run(request *rq, const work *w)
{
    job *j = (job *)rq;
    placement *pl = &rq->conn->server->placement;

    j->work = *w;
    if (w->kernel == 0) /* work without a kernel ends in an error, and errors are short */
        return true;
    j->must_move = j->on_loop && (w->bytes == SIZE_MAX || !placement_proven(pl, w));
    if (!j->must_move)
        atomic_fetch_add(j->on_loop ? &pl->calls_inline : &pl->calls_worker, 1);
    return !j->must_move;
}

bool placement_may_take(request *rq, size_t bytes, bool kernel_ran)
{
    job *j = (job *)rq;
    placement *pl = &rq->conn->server->placement;
    dp_ctx *fresh = NULL;

    j->long_answer = j->long_answer || bytes > LIMIT_SIZE(INLINE_BYTES);
    if (!j->on_loop || bytes <= LIMIT_SIZE(INLINE_BYTES))
        return true;
    if (kernel_ran && dp_ctx_new(pl->reg, &fresh, NULL) < 0)
        return true; /* out of memory: print the answer here, though it delays other requests */
    if (kernel_ran) {
        j->ctx = pl->loop_ctx;
        pl->loop_ctx = fresh;
    }
    j->must_move = true;
    return false;
}

/* -- learning -- */

/* Find the registration of the kernel of `w`: the log names its plugin. */
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
    if (p->in_a_row >= p->needed * DEMOTE_FACTOR) /* the previous demotion was long ago */
        p->needed = PROMOTE_CALLS;
    else if (p->needed < NEEDED_MAX / DEMOTE_FACTOR)
        p->needed *= DEMOTE_FACTOR;
    else
        p->needed = NEEDED_MAX;
    p->in_a_row = 0;
}

/* Once work is proven, only these requests count as long: one of more than DEMOTE_NS; one whose
 * answer a worker must print after its kernel ran on the main thread; for a kernel, one that calls
 * a device.  For a method, the time counts only on the main thread.  The limit is high because on a
 * busy machine the thread of a short request may have to wait for a core. */
void placement_note(placement *pl, const job *j, const dp_call_stats *stats)
{
    const work *w = &j->work;
    /* the job's kernel ran on the main thread, and a worker prints its long answer */
    bool after_call = j->ctx != NULL;
    bool too_long = j->on_loop && (j->spent > DEMOTE_NS || after_call);

    if (w->kernel == 0 || (j->must_move && !after_call))
        return;
    pthread_mutex_lock(&pl->lock);
    proof *p = proof_of(pl, w);
    if (too_long)
        demote(p);
    else if (j->used_device && w->op != NULL)
        p->in_a_row = 0;
    else if (stats->n_calls <= 1 && j->spent < PROMOTE_NS && !j->long_answer)
        p->in_a_row += p->in_a_row < UINT32_MAX;
    else if (p->in_a_row < p->needed || (w->op != NULL && j->spent > DEMOTE_NS))
        p->in_a_row = 0;
    pthread_mutex_unlock(&pl->lock);
    if (!too_long)
        return;
    atomic_fetch_add(&pl->demotions, 1);
    log_demotion(pl, j);
}
