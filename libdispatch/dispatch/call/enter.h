/* enter.h -- inline functions to enter and leave a kernel, used by every kind of call.
 *
 * Boxed calls (call.c) and typed calls (typed.c) differ only in what they do between enter() and
 * leave().  enter() resolves the kernel and publishes a frame that names it; leave() removes the
 * frame.  Between the two the kernel's code cannot be unmapped (I3 and I4 in thread.h).  abi.h
 * says what a layer is.
 *
 * Two bits of a key set are no keys: the skip bit (DPI_GRAD_BIT) says that an argument may need a
 * gradient, and the wrapper bit (DPI_WRAPPER_BIT) that an argument is a wrapper tensor. */
#ifndef DPI_ENTER_H
#define DPI_ENTER_H

#include "base/fp.h"
#include "ctx.h"

#pragma GCC visibility push(hidden)

/* Cold code: keeps error paths out of the hot code's cache lines. */
#define DPI_COLD __attribute__((cold, noinline))

/* A call between enter() and leave().  Typed calls store it in dp_entered.reserved. */
typedef struct open_call {
    uint16_t depth;       /* index of the call's frame in dpi_thread.frames */
    uint16_t flags;       /* CALL_* */
    int32_t trace_step;   /* index in the trace, or -1; CALL_MEASURED only */
    uint64_t begun_nanos; /* time when the kernel began; CALL_MEASURED only */
    char *arena_mark;     /* arena position at entry; typed calls without CALL_CACHED */
    dpi_fp fp_before;     /* floating-point environment at entry; typed calls */
} open_call;
enum {
    CALL_REDISPATCH = 1,
    CALL_TOP = 2,            /* outermost typed call: dp_leave() unpins the snapshot */
    CALL_CACHED = 4,         /* typed call entered by enter_cached() */
    CALL_RETURNS_MEMORY = 8, /* typed call whose returns may point into arena memory */
    CALL_MEASURED = 16,      /* traced or timed */
    CALL_OBSERVED = 32,      /* an observer sees the call; run_observed() runs the kernel, boxed */
    CALL_COMPOSITE = 64      /* the operator's composite kernel runs, not the key's kernel */
};
_Static_assert(sizeof(open_call) <= sizeof(((dp_entered *)0)->reserved),
               "a mark fits into dp_entered");

/* -- fail.c: each function sets ctx->error and returns the error's code, or NULL -- */

/* `key`: the call's key for the error; Undefined: the error names no key. */
DPI_COLD int dpi_fail_op(dp_ctx *ctx, int code, const dp_op *op, dp_key key, const char *text);
DPI_COLD int dpi_fail_undefined(dp_ctx *ctx, const dp_op *op);
DPI_COLD int dpi_fail_count(dp_ctx *ctx, const dpi_entry *e, size_t n_args, size_t n_rets);
DPI_COLD int dpi_fail_argument(dp_ctx *ctx, const dpi_entry *e, size_t i, const dp_value *v);
DPI_COLD const dpi_kernel *dpi_fail_missing(dp_ctx *ctx, const dpi_entry *e, dp_keyset ks,
                                            unsigned cell);
DPI_COLD const dpi_kernel *dpi_fail_depth(dp_ctx *ctx, const dp_op *op);
DPI_COLD const dpi_kernel *dpi_fail_closed(dp_ctx *ctx, const dp_op *op, const dpi_kernel *k);
DPI_COLD int dpi_fail_guards(dp_ctx *ctx); /* in state.c */
DPI_COLD int dpi_fail_kernel(dp_ctx *ctx, const dpi_kernel *k, const dp_op *op, int rc);
DPI_COLD int dpi_fail_return(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k, size_t i,
                             const dp_value *v);
DPI_COLD void dpi_fail_fallback(dp_ctx *ctx, const dp_op *op, const dpi_kernel *k, dp_key key);
DPI_COLD int dpi_fail_dangling(dp_ctx *ctx, const dpi_kernel *k, const dp_op *op);
/* Fail because of `code`: DP_ECANCELLED, DP_EDEADLINE, or DPI_THREAD_LEFT: the body of a parallel
 * loop ended a thread of the thread pool; the error is then DP_EPLUGIN. */
DPI_COLD int dpi_fail_stopped(dp_ctx *ctx, int code);
/* Fail because the running kernel called dp_parallel_for(), but its tensors have no memory. */
DPI_COLD int dpi_fail_memoryless(dp_ctx *ctx);
/* Check a tensor before the running kernel changes its shape, its storage or the parts of a
 * wrapper.  DP_EPLUGIN: `t` is an argument that the operator does not write (dpi_entry.written). */
int dpi_check_changes(dp_ctx *ctx, const dp_tensor *t); /* in output.c */
/* Fail because the body of dp_parallel_for() called an operator. */
DPI_COLD int dpi_fail_looping(dp_ctx *ctx);
/* Fail because the C type of a typed call, whose number is `code`, is not that of the schema. */
DPI_COLD int dpi_fail_code(dp_ctx *ctx, const dpi_entry *e, uint32_t code);

/* -- known.c -- */

/* Check that the plugin of `k` knows the dtypes of all arguments.  DP_ENOTIMPL: a dtype is newer
 * than the header with which the plugin was built. */
DPI_COLD int dpi_check_dtypes_known(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k,
                                    const dp_value *args);

/* -- output.c -- */

/* Warn that output `t`, which had the geometry `replaced`, was resized. */
DPI_COLD void dpi_warn_resized(dp_ctx *ctx, const dpi_geometry *replaced, const dp_tensor *t);

/* -- warn.c -- */

/* Restore the floating-point environment `before`, which code of k's plugin has changed: a kernel
 * of `op` (`kind` is DPI_WARNED_KERNEL) or an observer (DPI_WARNED_OBSERVER).  Warn once for each
 * kind and each load of the plugin. */
DPI_COLD void dpi_fp_changed(dp_ctx *ctx, const dpi_kernel *k, const dp_op *op, unsigned kind,
                             dpi_fp before);

/* -- watch.c -- */

/* Check the mode; begin tracing, timing and observing.  False: the mode forbids the call, and the
 * error of `ctx` is set. */
DPI_COLD bool dpi_enter_watched(dp_ctx *ctx, open_call *opened, const dpi_entry *e);
DPI_COLD void dpi_leave_watched(dp_ctx *ctx, const open_call *opened);
/* A CALL_OBSERVED call.  dpi_observe_before() and dpi_observe_after() call its observers before and
 * after the kernel.  states[i]: the pointer that observer i stored before the kernel, and gets back
 * after it. */
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

/* -- fell_back.c -- */

/* Count `call`, whose kernel is a fallback of a backend, and is about to run. */
DPI_COLD void dpi_count_fallback(const dp_call *call);
/* Apply the mode's policy to `call`, one of `e` that dp_fallback_cpu() is about to run, and count
 * the call.  If the kernel is the fallback that a backend registered, both were done before.
 * DP_ENOTIMPL: the mode forbids it. */
int dpi_begin_fallback(const dp_call *call, const dpi_entry *e);
void dpi_end_fallback(const dp_call *call, uint64_t bytes); /* Count the bytes that it copied. */
/* Warn as PyTorch does (CPUFallback.cpp) that a return of `call`, which the schema calls a view, is
 * a copy on `device`. */
void dpi_warn_copied_view(const dp_call *call, dp_device device);

/* -- state.c -- */

/* Make `to`, a state that was current before, the current state again. */
DPI_COLD void dpi_state_restore(dp_ctx *ctx, dpi_state *to);

/* -- wrapped.c -- */

/* Finish resolve(), which returned `cell`, DPI_CELL_WARY or higher: an argument is a wrapper
 * tensor, the kernel may need bytes, or there is no kernel.  If the wrapper bit of *ks is set,
 * clear it and call resolve() again.  Then check that the kernel may run.  Return the kernel's
 * index; DPI_CELL_MISSING or DPI_CELL_AMBIGUOUS: the error of `ctx` is set. */
DPI_COLD unsigned dpi_resolve_wrapped(dp_ctx *ctx, const dpi_entry *e, dp_keyset *ks,
                                      unsigned cell);
/* Check that `k`, a kernel of `e`, may run in a call with key set `ks`.  `wrapped`: an argument is
 * a wrapper tensor.  DP_ENOTIMPL: `k` may need the bytes of its tensors, but some tensor has
 * none. */
DPI_COLD int dpi_check_bytes(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k, dp_keyset ks,
                             bool wrapped);

/* -- pin.c: pin the newest snapshot -- */

DPI_COLD int dpi_pin_shared(dp_ctx *ctx, dpi_thread *t);
DPI_COLD int dpi_pin_canary(dp_ctx *ctx, dpi_thread *t);
DPI_COLD void dpi_publish_label(dp_ctx *ctx, dpi_thread *t);

/* Pin the newest snapshot of ctx->reg for this thread, or use the one that another context of this
 * thread has pinned.  dpi_unpin() must follow, unless this fails. */
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
    if (DPI_UNLIKELY(ctx->canary))
        return dpi_pin_canary(ctx, t);
    while (DPI_UNLIKELY(!dpi_thread_try_pin(t, &ctx->reg->current, dpi_membarrier_works, &s)))
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

/* Return the key set of a list of tensors or of a generator (keys.c). */
dp_keyset dpi_carried_keys(const dp_value *v);
/* Remove the skip bit (DPI_GRAD_BIT) from `ks`, the keys of `args`, if each argument that has the
 * bit is a view that cannot need a gradient yet (dpi_grad_is_likely()). */
dp_keyset dpi_settle_grad(dp_keyset ks, const dp_value *args, size_t n);

static inline dp_keyset add_keys(dp_keyset ks, const dp_value *v)
{
    if (v->tag == DP_TAG_TENSOR)
        return dp_keyset_or(ks, dpi_keys_of(v->u.t));
    const uint32_t carry_keys = 1u << DP_TAG_TENSORS | 1u << DP_TAG_GENERATOR;
    return DPI_UNLIKELY(carry_keys >> v->tag & 1) ? dp_keyset_or(ks, dpi_carried_keys(v)) : ks;
}

/* Return the union of the arguments' key sets, with the skip bit and the wrapper bit. */
static inline dp_keyset marked_keys(const dpi_entry *e, const dp_value *args)
{
    dp_keyset ks = {0, 0};

    for (uint32_t i = 0; i < e->n_args; i++)
        ks = add_keys(ks, &args[i]);
    return DPI_UNLIKELY(ks.functionality & DPI_GRAD_BIT) ? dpi_settle_grad(ks, args, e->n_args)
                                                         : ks;
}

/* Return the index of the highest bit that is set in `word`, which is not 0. */
static inline unsigned top_bit(uint64_t word)
{
    return (unsigned)__builtin_clzll(word) ^ 63;
}

/* Return the rank (the number in order of priority) of the highest functionality; 0: none. */
static inline unsigned rank_of(dp_keyset ks)
{
    return top_bit(ks.functionality << 1 | 1);
}

static inline dp_keyset with_state(dp_keyset arguments, dp_keyset include, dp_keyset exclude)
{
    return dp_keyset_minus(dp_keyset_or(arguments, include), exclude);
}

/* Return the key set of a redispatch: the set `given` by the kernel, with three marks that are
 * taken from `arguments`, the key set of the call's arguments.  The marks are DPI_GRAD_BIT (an
 * argument may need a gradient, and `exclude` does not exclude the bit), the wrapper bit (an
 * argument is a wrapper tensor), and backend Meta.  Meta is added if an argument is on device meta,
 * and also if an argument is a fake and the kernel redispatches below key Fake.  A call with
 * backend Meta uses the table column of Meta, in which no kernel needs bytes. */
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

/* Find the kernel for the highest key of *ks.  Return its index in e->kernels, with DPI_CELL_WARY
 * if the kernel may need bytes, or DPI_CELL_MISSING or DPI_CELL_AMBIGUOUS.
 *
 * Remove DPI_GRAD_BIT and the functionalities that fall through from *ks.  If DPI_GRAD_BIT was not
 * set, no argument may need a gradient, so keys whose kernel has DP_FLAG_GRAD are passed over, too.
 * Such a key is removed from *ks only if it is higher than the kernel's key.  A lower one remains,
 * because the kernel may redispatch to it with other tensors.  A backend that was registered after
 * `e` was built has no kernel. */
static inline unsigned resolve(const dpi_entry *e, dp_keyset *ks)
{
    /* A key set without a backend uses the column of bit 0, that of CPU. */
    unsigned column = dpi_slot_rows[top_bit(ks->backend | 1)].column;

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

static inline const dpi_kernel *kernel_of(const dp_ctx *ctx, const open_call *opened)
{
    return atomic_load_explicit(&ctx->thread->frames[opened->depth].kernel, memory_order_relaxed);
}

static inline const dp_op *op_of(const dp_ctx *ctx, const open_call *opened)
{
    return atomic_load_explicit(&ctx->thread->frames[opened->depth].op, memory_order_relaxed);
}

/* May a call of `e` in this context be traced, timed, observed or restricted by the mode? */
static inline __attribute__((always_inline)) bool is_watched(const dp_ctx *ctx, const dpi_entry *e)
{
    return ctx->watched | dpi_snapshot_observes(dpi_ctx_snapshot(ctx), e->op->id);
}

/* Return dpi_keyset_highest(ks), using the rows that resolve() has loaded. */
static inline __attribute__((always_inline)) dp_key highest_of(dp_keyset ks)
{
    unsigned rank = rank_of(ks);

    return (dp_key)(dpi_rank_keys[rank] |
                    (dpi_slot_rows[rank].stride ? top_bit(ks.backend | 1) + 1 : 0));
}

/* Publish the frame at `depth`.  False: the generation of `k` is closed, and nothing is
 * published. */
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

static inline void count_up(atomic_uint_fast64_t *count) /* only this thread writes *count */
{
    uint64_t n = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, n + 1, memory_order_relaxed);
}

/* Publish the frame of `k`, a kernel of `e`, and fill in *opened.  Return `k`: leave(opened) must
 * follow.  NULL: leave() must not follow, and the error of `ctx` is set. */
static inline __attribute__((always_inline)) const dpi_kernel *
enter_kernel(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k, dp_keyset ks,
             const dp_value *args, unsigned flags, open_call *opened)
{
    dpi_thread *t = ctx->thread;
    uint32_t depth = atomic_load_explicit(&t->depth, memory_order_relaxed);

    if (DPI_UNLIKELY(depth >= DP_LIMIT_CALL_DEPTH ||
                     (uintptr_t)__builtin_frame_address(0) < t->stack_floor))
        return dpi_fail_depth(ctx, e->op);
    /* A kernel that calls operators in an endless loop fails here once its request is cancelled or
     * has passed its deadline. */
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
    } else if (!(flags & CALL_REDISPATCH)) { /* a redispatch continues the same call */
        ctx->stats.n_calls++;
    }
    opened->depth = (uint16_t)depth;
    opened->flags = (uint16_t)flags;
    if (DPI_UNLIKELY(is_watched(ctx, e)) && !dpi_enter_watched(ctx, opened, e))
        return NULL;
    return k;
}

/* Resolve *ks to a kernel of `e` and enter that kernel, as enter_kernel() does. */
static inline __attribute__((always_inline)) const dpi_kernel *
enter(dp_ctx *ctx, const dpi_entry *e, dp_keyset *ks, const dp_value *args, unsigned flags,
      open_call *opened)
{
    unsigned cell = resolve(e, ks);

    if (DPI_UNLIKELY(cell >= DPI_CELL_WARY))
        if ((cell = dpi_resolve_wrapped(ctx, e, ks, cell)) >= DPI_CELL_WARY)
            return NULL;
    return enter_kernel(ctx, e, e->kernels[cell], *ks, args, flags, opened);
}

/* Remove the call's frame, and end its measurement.  Also close the guards that the kernel has left
 * open, e.g. because it failed. */
static inline __attribute__((always_inline)) void leave(dp_ctx *ctx, const open_call *opened)
{
    dpi_thread *t = ctx->thread;
    dpi_frame *frame = &t->frames[opened->depth];

    if (DPI_UNLIKELY(ctx->state != frame->state))
        dpi_state_restore(ctx, frame->state);
    if (DPI_UNLIKELY(opened->flags & CALL_MEASURED))
        dpi_leave_watched(ctx, opened);
    atomic_store_explicit(&frame->args, NULL, memory_order_relaxed);
    atomic_store_explicit(&t->depth, opened->depth, memory_order_release);
}

static inline __attribute__((always_inline)) const dpi_entry *entry_of(dp_ctx *ctx, const dp_op *op)
{
    const dpi_entry *e = dpi_snapshot_entry(dpi_ctx_snapshot(ctx), op);

    if (DPI_LIKELY(e != NULL && e->callable == op))
        return e;
    dpi_fail_undefined(ctx, op);
    return NULL;
}

/* -- call.c -- */

/* Redispatch `call`, whose kernel runs and one of whose arguments needs a gradient, below its key,
 * with the functionalities in `exclude` excluded too.  `n_args` of the call's arguments are the
 * operator's.  If they are those that the dispatcher gave the kernel, they are not checked
 * again. */
int dpi_call_below(const dp_call *call, uint32_t n_args, uint64_t exclude);

/* -- the outermost call of a request -- */

/* Begin the outermost call of a request: clear the previous error, reset the statistics, and pin a
 * snapshot unless dp_ctx_begin() has pinned one. */
static inline __attribute__((always_inline)) int top_enter(dp_ctx *ctx)
{
    if (DPI_UNLIKELY(ctx->error.code != 0)) {
        dp_error_clear(&ctx->error);
        ctx->outdated = false;
    }
    ctx->stats.n_calls = 0;
    if (DPI_UNLIKELY(ctx->timing))
        ctx->top_began = dpi_nanos();
    return ctx->thread != NULL ? 0 : dpi_pin(ctx);
}

/* -- the fast path -- */

/* The outermost call of a context without guards, traces or observers takes the fast path.  This
 * path does the same as the slow path, with as few loads and stores as possible and with inline
 * functions only.  If something is unusual, the call unpins the snapshot and takes the slow
 * path. */

/* Pin the newest snapshot if the fast path can be used.  `th`: dpi_thread_self.  False: the slow
 * path is needed, and this function has pinned nothing. */
static inline __attribute__((always_inline)) bool enter_short(dp_ctx *ctx, dpi_thread *th,
                                                              const dpi_snapshot **s)
{
    const dpi_snapshot *held = atomic_load_explicit(&th->pinned, memory_order_relaxed);

    /* ctx->state is not tested: without a guard it is the outermost state.  ctx->thread is not
     * tested: if it is not NULL, it is `th`, and `held` is not NULL. */
    if (DPI_UNLIKELY(((uintptr_t)held | (unsigned)ctx->error.code | ctx->no_fast_path |
                      (th->labelled ^ ctx->label_id)) != 0))
        return false;
    if (DPI_UNLIKELY(!dpi_thread_try_pin(th, &ctx->reg->current, true, s))) {
        dpi_thread_unpin(th);
        return false;
    }
    ctx->thread = th;
    return true;
}

/* Do the same as resolve(), for the fast path.  If the result is below DPI_CELL_WARY, it is the
 * index of a kernel that may run at once: all tensors have memory, or the kernel needs none.  Any
 * other result needs the slow path. */
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

/* Is no call open in this context?  A snapshot may still be pinned, by dp_ctx_begin(). */
static inline bool is_top(const dp_ctx *ctx)
{
    return ctx->thread == NULL ||
           (ctx->pins > 0 && atomic_load_explicit(&ctx->thread->depth, memory_order_relaxed) == 0);
}

/* May the failed call be repeated with the newest snapshot?  Yes, if the call met a plugin that was
 * unloaded after the snapshot was pinned, no kernel has run yet, and nothing else uses the pin. */
static inline bool outdated(const dp_ctx *ctx)
{
    return ctx->outdated && ctx->stats.n_calls == 0 && ctx->pins == 0 && !ctx->shares_pin;
}

#pragma GCC visibility pop

#endif
