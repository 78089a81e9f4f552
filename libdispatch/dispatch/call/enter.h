/* enter.h -- the way in and out of a kernel that every kind of call takes, as inlines: boxed calls
 * (call.c) and typed ones (typed.c) differ in what they do between enter() and leave().
 *
 * enter() resolves the kernel and publishes its frame, leave() takes both back.  Between them the
 * kernel's code cannot be unmapped (I3, I4). */
#ifndef DPI_ENTER_H
#define DPI_ENTER_H

#include "base/fp.h"
#include "ctx.h"

#pragma GCC visibility push(hidden)

/* Kept out of the way of the calls that go well. */
#define DPI_COLD __attribute__((cold, noinline))

/* What leave() needs.  Kept in dp_entered.reserved for typed calls. */
typedef struct mark {
    uint16_t depth; /* of the frame, which says what runs and with which state it began */
    uint16_t how;   /* BY_* */
    int32_t step;   /* of the trace; watched calls only */
    uint64_t begun; /* nanos; watched calls only */
    char *at;       /* typed calls, not BY_PLAIN: how far the request's memory was filled */
    dpi_fp fp;      /* typed calls: the floating-point environment before the kernel */
} mark;
enum {
    BY_REDISPATCH = 1,
    BY_TOP = 2,       /* leaving it ends the request's hold on the snapshot */
    BY_PLAIN = 4,     /* enter_found() */
    BY_KEEPS = 8,     /* what it returns may lie in memory that it took */
    BY_WATCHED = 16,  /* traced, timed or observed */
    BY_OBSERVED = 32, /* run_observed() runs its kernel, boxed */
    BY_DECOMPOSE = 64 /* the operator's composite kernel, not the key's */
};
_Static_assert(sizeof(mark) <= sizeof(((dp_entered *)0)->reserved), "a mark fits into dp_entered");

/* -- fail.c: each describes the fault in ctx->error and returns its code, or NULL -- */

DPI_COLD int dpi_fail_op(dp_ctx *ctx, int code, const dp_op *op, dp_key key, const char *text);
DPI_COLD int dpi_fail_gone(dp_ctx *ctx, const dp_op *op);
DPI_COLD int dpi_fail_count(dp_ctx *ctx, const dpi_entry *e, size_t n_args, size_t n_rets);
DPI_COLD int dpi_fail_argument(dp_ctx *ctx, const dpi_entry *e, size_t i, const dp_value *v);
DPI_COLD const dpi_kernel *dpi_fail_missing(dp_ctx *ctx, const dpi_entry *e, dp_keyset ks,
                                            unsigned cell);
DPI_COLD const dpi_kernel *dpi_fail_depth(dp_ctx *ctx, const dp_op *op);
DPI_COLD const dpi_kernel *dpi_fail_closed(dp_ctx *ctx, const dp_op *op, const dpi_kernel *k);
DPI_COLD int dpi_fail_kernel(dp_ctx *ctx, const dpi_kernel *k, const dp_op *op, int rc);
DPI_COLD int dpi_fail_return(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k, size_t i,
                             const dp_value *v);
DPI_COLD void dpi_fail_fallback(dp_ctx *ctx, const dp_op *op, const dpi_kernel *k, dp_key key);
DPI_COLD int dpi_fail_left(dp_ctx *ctx, const dpi_kernel *k, const dp_op *op);
/* DP_ECANCELLED, DP_EDEADLINE, DPI_THREAD_LEFT (DP_EPLUGIN) */
DPI_COLD int dpi_fail_stopped(dp_ctx *ctx, int code);
/* The running kernel asks for a loop over bytes, and its tensors have none. */
DPI_COLD int dpi_fail_memoryless(dp_ctx *ctx);
/* A kernel is about to give t another shape, storage or parts: DP_EPLUGIN if t is an argument that
 * its schema does not mark as written. */
int dpi_check_changes(dp_ctx *ctx, const dp_tensor *t); /* output.c */
DPI_COLD int dpi_fail_looping(dp_ctx *ctx);
DPI_COLD int dpi_fail_code(dp_ctx *ctx, const dpi_entry *e, uint32_t code);

/* -- known.c: DP_ENOTIMPL if some argument of the call of k has a dtype that k's header did not
 * know -- */
DPI_COLD int dpi_known_check(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k,
                             const dp_value *args);

/* -- output.c: warn that t, which had `former`, was given another shape -- */
DPI_COLD void dpi_warn_resized(dp_ctx *ctx, const dpi_geometry *replaced, const dp_tensor *t);

/* -- warn.c -- */

/* Code of k's plugin, its kernel of op or (DPI_WARNED_OBSERVER) its observer, did not leave the
 * floating-point environment as it was `before`: set it back, and warn of it once for the plugin's
 * generation. */
DPI_COLD void dpi_fp_left(dp_ctx *ctx, const dpi_kernel *k, const dp_op *op, unsigned kind,
                          dpi_fp before);

/* -- watch.c -- */

/* False: the context's mode forbids the call, its error says why. */
DPI_COLD bool dpi_enter_watched(dp_ctx *ctx, mark *m, const dpi_entry *e);
DPI_COLD void dpi_leave_watched(dp_ctx *ctx, const mark *m);
/* Tell the observers of a call that is BY_OBSERVED: before its kernel, and after it. */
typedef struct dpi_observed {
    dp_observation o;
    const dp_op *op;
    bool redispatch;
    void *states[DP_LIMIT_OBSERVERS];
} dpi_observed;
DPI_COLD void dpi_observe_before(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k,
                                 dp_keyset keys, bool redispatch, const dp_value *args,
                                 dpi_observed *seen);
DPI_COLD void dpi_observe_after(dp_ctx *ctx, dpi_observed *seen, uint32_t n_rets,
                                const dp_value *rets, int rc);
DPI_COLD void dpi_count_first(dp_ctx *ctx, uint32_t id);

/* -- state.c -- */

/* Back to this state, which was in force before. */
DPI_COLD void dpi_state_return(dp_ctx *ctx, dpi_state *to);

/* -- wrapped.c -- */

/* resolve() gave `cell`, which is no plain kernel: because of the mark of a wrapper, since it may
 * want bytes, or there is none.  What it gives without the mark, which it takes out of *ks; no
 * kernel, or one that may not run: the context's error says why. */
DPI_COLD unsigned dpi_resolve_bare(dp_ctx *ctx, const dpi_entry *e, dp_keyset *ks, unsigned cell);
/* May k, a kernel of e, run with these keys, wrappers among the arguments or not? */
DPI_COLD int dpi_check_bare(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k, dp_keyset ks,
                            bool wrapped);

/* -- pin.c: hold the newest snapshot -- */

DPI_COLD int dpi_pin_shared(dp_ctx *ctx, dpi_thread *t);
DPI_COLD void dpi_publish_label(dp_ctx *ctx, dpi_thread *t);

static inline __attribute__((always_inline)) int dpi_pin(dp_ctx *ctx)
{
    dpi_thread *t = dpi_thread_self;
    const dpi_snapshot *s;

    if (DPI_UNLIKELY(t == &dpi_thread_nobody) && (t = dpi_thread_enter(&ctx->error)) == NULL)
        return DP_ERESOURCE;
    if (DPI_UNLIKELY(atomic_load_explicit(&t->pinned, memory_order_relaxed) != NULL))
        return dpi_pin_shared(ctx, t);
    if (DPI_UNLIKELY(t->labelled != ctx->label_id))
        dpi_publish_label(ctx, t);
    while (DPI_UNLIKELY(!dpi_thread_try_pin(t, ctx->reg, dpi_membarrier_works, &s)))
        ;
    ctx->thread = t;
    return 0;
}

static inline void dpi_unpin(dp_ctx *ctx)
{
    dpi_thread *t = ctx->thread;

    ctx->thread = NULL;
    if (DPI_UNLIKELY(ctx->shares_pin)) {
        ctx->shares_pin = false;
        return;
    }
    dpi_thread_unpin(t);
}

/* -- key sets -- */

dp_keyset dpi_other_keys(const dp_value *v); /* of lists and generators; keys.c */

static inline dp_keyset add_keys(dp_keyset ks, const dp_value *v)
{
    if (v->tag == DP_TAG_TENSOR)
        return dp_keyset_or(ks, dpi_keys_of(v->u.t));
    const uint32_t carry_keys = 1u << DP_TAG_TENSORS | 1u << DP_TAG_GENERATOR;
    return DPI_UNLIKELY(carry_keys >> v->tag & 1) ? dp_keyset_or(ks, dpi_other_keys(v)) : ks;
}

static inline dp_keyset marked_keys(const dpi_entry *e, const dp_value *args)
{
    dp_keyset ks = {0, 0};

    for (uint32_t i = 0; i < e->n_args; i++)
        ks = add_keys(ks, &args[i]);
    return ks;
}

/* Highest bit that is set, of a word with one. */
static inline unsigned top_bit(uint64_t word)
{
    return (unsigned)__builtin_clzll(word) ^ 63;
}

static inline unsigned rank_of(dp_keyset ks) /* of its highest functionality; 0: none */
{
    return top_bit(ks.functionality << 1 | 1);
}

static inline dp_keyset with_state(dp_keyset arguments, dp_keyset include, dp_keyset exclude)
{
    return dp_keyset_minus(dp_keyset_or(arguments, include), exclude);
}

/* The key set that a kernel redispatches with, and the marks of the arguments it gives: the skip
 * bit, that of wrapper tensors, and what keeps tensors without memory from kernels that want bytes.
 * Those are Meta's column, for arguments of device meta, and for fakes where Fake was left out:
 * below it only that column is left. */
static inline dp_keyset with_marks(dp_keyset given, dp_keyset arguments, dp_keyset exclude)
{
    uint64_t grad = arguments.functionality & ~exclude.functionality & DPI_GRAD_BIT;
    uint64_t wrapper = arguments.backend & DPI_WRAPPER_BIT;

    uint64_t fake = arguments.functionality & ~given.functionality & DPI_BIT(Fake);
    uint64_t meta =
        (arguments.backend & DP_BBIT(DP_B_Meta)) | fake << (DP_B_Meta + 1 - DPI_RANK_Fake);

    return (dp_keyset){(given.functionality & ~DPI_GRAD_BIT) | grad,
                       (given.backend & ~DPI_WRAPPER_BIT) | wrapper | meta};
}

/* The index of the kernel of *ks's highest key in e, with DPI_CELL_WARY or not, or DPI_CELL_*.
 * Takes what falls through out of *ks, and the skip bit.  A layer that is passed over for want of
 * that bit goes, too, if it is above the kernel; below, the kernel may redispatch to it with other
 * tensors.  A backend that is younger than the entry has none. */
static inline unsigned resolve(const dpi_entry *e, dp_keyset *ks)
{
    unsigned column = dpi_slot_rows[top_bit(ks->backend | 1)].column; /* without any: of bit 0 */

    if (DPI_UNLIKELY(column >= e->n_columns))
        return DPI_CELL_MISSING;
    const uint64_t *mask = &e->mask[2 * column];
    dp_keyset called = {ks->functionality & mask[ks->functionality >> 63], 0};
    unsigned rank = rank_of(called);
    ks->functionality &= mask[1] & (((uint64_t)1 << rank) - 1);
    const dpi_slot_row *row = &dpi_slot_rows[rank];
    return e->table[row->base + row->stride * column];
}

/* -- enter and leave -- */

static inline const dpi_kernel *kernel_of(const dp_ctx *ctx, const mark *m)
{
    return atomic_load_explicit(&ctx->thread->frames[m->depth].kernel, memory_order_relaxed);
}

static inline const dp_op *op_of(const dp_ctx *ctx, const mark *m)
{
    return atomic_load_explicit(&ctx->thread->frames[m->depth].op, memory_order_relaxed);
}

/* May anything want to see a call of e in this context? */
static inline __attribute__((always_inline)) bool is_watched(const dp_ctx *ctx, const dpi_entry *e)
{
    return ctx->watched | dpi_snapshot_observes(dpi_ctx_snapshot(ctx), e->op->id);
}

/* dpi_keyset_highest(), from what resolve() has looked up. */
static inline __attribute__((always_inline)) dp_key highest_of(dp_keyset ks)
{
    unsigned rank = rank_of(ks);

    return (dp_key)(dpi_rank_keys[rank] |
                    (dpi_slot_rows[rank].stride ? top_bit(ks.backend | 1) + 1 : 0));
}

/* Publish the frame at `depth`.  False: the kernel's generation is closed, nothing is published. */
static inline bool publish(dpi_thread *t, uint32_t depth, const dpi_kernel *k, const dp_op *op,
                           dp_keyset ks, bool barriers)
{
    dpi_frame *frame = &t->frames[depth];

    atomic_store_explicit(&frame->kernel, k, memory_order_release);
    atomic_store_explicit(&frame->op, op, memory_order_relaxed);
    atomic_store_explicit(&frame->functionality, ks.functionality, memory_order_relaxed);
    atomic_store_explicit(&frame->backend, ks.backend, memory_order_relaxed);
    atomic_store_explicit(&t->depth, depth + 1, memory_order_release);
    dpi_thread_fence(barriers);
    if (DPI_LIKELY(atomic_load_explicit(&k->gen->closed, memory_order_acquire) == 0))
        return true;
    atomic_store_explicit(&t->depth, depth, memory_order_release);
    return false;
}

static inline void count_up(atomic_uint_fast64_t *count) /* this thread alone writes it */
{
    uint64_t n = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, n + 1, memory_order_relaxed);
}

/* Publish the frame of a kernel of e.  *m is to be given to leave() iff this returns it; NULL: the
 * context's error says why. */
static inline __attribute__((always_inline)) const dpi_kernel *
enter_kernel(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k, dp_keyset ks,
             const dp_value *args, unsigned how, mark *m)
{
    dpi_thread *t = ctx->thread;
    uint32_t depth = atomic_load_explicit(&t->depth, memory_order_relaxed);

    if (DPI_UNLIKELY(depth >= DP_LIMIT_CALL_DEPTH ||
                     (uintptr_t)__builtin_frame_address(0) < t->stack_floor))
        return dpi_fail_depth(ctx, e->op);
    /* A kernel that calls operators for ever ends with its request. */
    int stop = depth > 0 ? dpi_stop_code(&ctx->stop) : 0;
    if (DPI_UNLIKELY(stop != 0)) {
        dpi_fail_stopped(ctx, stop);
        return NULL;
    }
    if (DPI_UNLIKELY(!publish(t, depth, k, e->op, ks, dpi_membarrier_works)))
        return dpi_fail_closed(ctx, e->op, k);
    t->frames[depth].state = ctx->state;
    atomic_store_explicit(&t->frames[depth].args, args, memory_order_relaxed);

    uint32_t id = e->op->id;
    if (DPI_LIKELY(id < ctx->n_counts))
        count_up(&ctx->counts[id]);
    else
        dpi_count_first(ctx, id);
    if (ctx->stats.n_calls == 0) {
        ctx->stats.n_calls = 1;
        ctx->stats.kernel_id = k->id;
    } else if (!(how & BY_REDISPATCH)) { /* which is the same call still */
        ctx->stats.n_calls++;
    }
    m->depth = (uint16_t)depth;
    m->how = (uint16_t)how;
    if (DPI_UNLIKELY(is_watched(ctx, e)) && !dpi_enter_watched(ctx, m, e))
        return NULL;
    return k;
}

/* The same with the kernel that *ks resolves to. */
static inline __attribute__((always_inline)) const dpi_kernel *
enter(dp_ctx *ctx, const dpi_entry *e, dp_keyset *ks, const dp_value *args, unsigned how, mark *m)
{
    unsigned cell = resolve(e, ks);

    if (DPI_UNLIKELY(cell >= DPI_CELL_WARY))
        if ((cell = dpi_resolve_bare(ctx, e, ks, cell)) >= DPI_CELL_WARY)
            return NULL;
    return enter_kernel(ctx, e, e->kernels[cell], *ks, args, how, m);
}

/* A kernel that fails, or forgets to, leaves no guard of its own behind. */
static inline __attribute__((always_inline)) void leave(dp_ctx *ctx, const mark *m)
{
    dpi_thread *t = ctx->thread;
    dpi_frame *frame = &t->frames[m->depth];

    if (DPI_UNLIKELY(ctx->state != frame->state))
        dpi_state_return(ctx, frame->state);
    if (DPI_UNLIKELY(m->how & BY_WATCHED))
        dpi_leave_watched(ctx, m);
    atomic_store_explicit(&frame->args, NULL, memory_order_relaxed);
    atomic_store_explicit(&t->depth, m->depth, memory_order_release);
}

static inline __attribute__((always_inline)) const dpi_entry *entry_of(dp_ctx *ctx, const dp_op *op)
{
    const dpi_entry *e = dpi_snapshot_entry(dpi_ctx_snapshot(ctx), op);

    if (DPI_LIKELY(e != NULL && e->callable == op))
        return e;
    dpi_fail_gone(ctx, op);
    return NULL;
}

/* -- the outermost call of a request -- */

/* The top of a request's call: pin, start the facts. */
static inline __attribute__((always_inline)) int top_enter(dp_ctx *ctx)
{
    if (DPI_UNLIKELY(ctx->error.code != 0)) {
        dp_error_clear(&ctx->error);
        ctx->outdated = false;
    }
    ctx->stats.n_calls = 0;
    if (DPI_UNLIKELY(ctx->timing))
        ctx->t_top = dpi_nanos();
    return ctx->thread != NULL ? 0 : dpi_pin(ctx);
}

/* -- the short way: the outermost call of a context that nobody watches.  The same as the long one,
 *    with nothing that calls out and with as few loads and stores as can be.  When something is
 *    unusual it takes back what it did, which is the pin, and the long way is asked. -- */

/* th: dpi_thread_self.  False: ctx holds nothing. */
static inline __attribute__((always_inline)) bool enter_short(dp_ctx *ctx, dpi_thread *th,
                                                              const dpi_snapshot **s)
{
    const dpi_snapshot *held = atomic_load_explicit(&th->pinned, memory_order_relaxed);

    /* without a guard its state is the outermost; while ctx->thread is set, that thread, which is
     * this one, holds a snapshot */
    if (DPI_UNLIKELY(((uintptr_t)held | (unsigned)ctx->error.code | ctx->special |
                      (th->labelled ^ ctx->label_id)) != 0))
        return false;
    if (DPI_UNLIKELY(!dpi_thread_try_pin(th, ctx->reg, true, s))) {
        dpi_thread_unpin(th);
        return false;
    }
    ctx->thread = th;
    return true;
}

/* resolve(), where what is found runs at once; from DPI_CELL_WARY on there is more to ask. */
static inline unsigned resolve_short(const dpi_entry *e, dp_keyset *ks)
{
    unsigned cell = resolve(e, ks);

    if (DPI_UNLIKELY(cell >= DPI_CELL_WARY) && cell < DPI_CELL_AMBIGUOUS)
        cell &= dpi_keys_memoryless(*ks) ? ~0u : ~(unsigned)DPI_CELL_WARY;
    return cell;
}

static inline __attribute__((always_inline)) void leave_short(dp_ctx *ctx, dpi_thread *th)
{
    ctx->thread = NULL;
    atomic_store_explicit(&th->depth, 0, memory_order_release);
    dpi_thread_unpin(th);
}

/* No call is open in this context; a program may be. */
static inline bool is_top(const dp_ctx *ctx)
{
    return ctx->thread == NULL ||
           (ctx->pins > 0 && atomic_load_explicit(&ctx->thread->depth, memory_order_relaxed) == 0);
}

/* The call met a generation that was unloaded after this request took its snapshot, and nothing has
 * run yet: the newest snapshot will do as well. */
static inline bool outdated(const dp_ctx *ctx)
{
    return ctx->outdated && ctx->stats.n_calls == 0 && ctx->pins == 0 && !ctx->shares_pin;
}

#pragma GCC visibility pop

#endif
