/* ctx.h -- the context of a request (dp_ctx), and questions about the call that it runs. */
#ifndef DPI_CTX_H
#define DPI_CTX_H

#include "dispatch/registry/thread.h"
#include "state.h"

#pragma GCC visibility push(hidden)

/* A typed call (a call with C types, typed.h) whose kernel was found before.  `unskipped`, `kernel`
 * and `unboxed` depend on the first three fields only, and a change of the registry makes a
 * snapshot with another number, so older elements no longer match and need not be cleared.  The
 * struct has 64 bytes, so that indexing is a shift.  Each operator may use two elements of
 * dp_ctx.cached_calls: the element of its own id, and that of the neighbouring id (id ^ 1). */
enum { DPI_CACHED_CALLS = 8 }; /* number of elements of dp_ctx.cached_calls; must be even */
typedef struct dpi_cached_call {
    uint64_t snapshot;    /* number of the snapshot; 0: empty element */
    uint64_t op_and_code; /* operator's id << 32 | dp_typed.code */
    dp_keyset keys;       /* key set of the call after the state was applied */
    /* functionalities of `keys` after resolve(): without DPI_GRAD_BIT and those that fall
     * through */
    uint64_t unskipped;
    const dpi_kernel *kernel;    /* valid while a snapshot of that number is pinned */
    dp_any_fn unboxed;           /* unboxed function of `kernel`; NULL: box the call */
    atomic_uint_fast64_t *count; /* calls of the operator; points into dp_ctx.counts */
} dpi_cached_call;
_Static_assert(sizeof(dpi_cached_call) == 64, "one is found by a shift");

/* The name of a request: the JSON-RPC id that the client gave it.  Objects that outlive the request
 * hold a reference, such as the nodes that autograd records. */
typedef struct dpi_origin {
    atomic_uint refs;
    char request[];
} dpi_origin;

struct dp_ctx {
    /* reg->number + 2: 0 and 1 have special meanings in dp_handle (typed.h), which compares it */
    uint64_t registry;
    dpi_thread *thread; /* the thread that pinned the snapshot; NULL: none is pinned */
    dpi_state *state;   /* current state: &states[n] while n guards are open */
    bool guarded;       /* an open guard (dp_guard_enter()) was entered outside of a call */
    bool watched; /* calls are traced or timed, or state->mode->fallback is not DP_FALLBACK_ALLOW */
    unsigned no_fast_path; /* 1: watched, guarded, canary, or membarrier is missing */
    bool canary;           /* calls pin the snapshot of the registry's canary, if it has one */
    bool outdated;         /* a call met a plugin that was unloaded after the snapshot was pinned */
    bool shares_pin;       /* another context of this thread pinned the snapshot */
    bool tracing, timing;
    uint32_t pins; /* number of open dp_ctx_begin() calls */
    dp_registry *reg;
    dp_arena arena;
    uint32_t n_counts;
    atomic_uint_fast64_t *counts; /* calls per operator id; written by this context's thread only */
    dp_call_stats stats;
    uint64_t top_began;   /* if `timing`: time when the outermost call began, in nanoseconds */
    uint64_t since;       /* time when the request began, in nanoseconds; 0: unknown */
    int threads;          /* threads for parallel loops, the caller included; 0: no limit */
    dp_flag *grad_flag;   /* 1: a tensor of the session may need a gradient; borrowed; or NULL */
    dpi_stop stop;        /* deadline and cancel flag, for dp_checkpoint() */
    atomic_uchar looping; /* 1: dp_parallel_for() runs; 2: its body called an operator */
    uint64_t label_id;    /* unique number of the current label; 0: no label */
    uint32_t refused;     /* depth of the call whose kernel used dp_refuse(); 0: none */
    char label[32];
    struct dpi_trace *trace;
    dp_tensor **owned; /* tensors that dp_bind() made of numbers; released by dp_ctx_reset() */
    uint32_t n_owned, cap_owned;
    dpi_cached_call cached_calls[DPI_CACHED_CALLS];
    dp_mode mode;    /* mode outside of guards */
    dp_mode **modes; /* [cap_modes] modes of guards that set one; allocated once, then reused */
    uint32_t cap_modes;
    dp_ctx *next, **link;      /* links in dp_registry.contexts; ctx_lock protects them */
    dp_generators *generators; /* default generators; borrowed; NULL: use the registry's */
    dp_account *account;       /* charged for new memory; borrowed; NULL: none is charged */
    dp_streams *streams;       /* the session's, not owned, or own_streams; NULL: not set yet */
    dp_streams *own_streams;
    uint32_t streams_id; /* dpi_streams_id(streams) */
    uint64_t session;    /* result of dp_session_id() */
    /* name of the request for dpi_ctx_origin(), if `has_request`: the text, borrowed, or, if that
     * is NULL, the number */
    int64_t request;
    const char *request_text;
    bool has_request;
    dpi_origin *origin;      /* owned; made when it is first asked for */
    const int64_t *step_now; /* borrowed: step of the program that runs; NULL: none runs */
    /* collects the calls that autograd records while a recomputed program runs
     * (autograd/recompute.h); NULL: no such program runs */
    struct dpi_recording *recording;
    struct dp_capture *capture; /* records calls (program/capture.h); borrowed; NULL: none does */
    uint64_t capture_bits;      /* functionalities that are included while it records */
    uint32_t save_flags;        /* DP_STEP_FLAG_*_SAVE of the steps that run, for `capture` */
    struct dpi_casts *casts;    /* autocast's results (casts.h); owned; NULL: none yet */
    dp_generator *generator;    /* locked by the running kernel; holds a reference; NULL: none */
    const dp_waits *waits;      /* called around waits for a generator; borrowed; NULL: none */
    void *waits_arg;
    dp_warning *warnings; /* for the answer to the request; owned, with their texts */
    uint32_t n_warnings, cap_warnings;
    dp_fallback_count *fallbacks; /* since the request began (fell_back.c); owned */
    uint32_t n_fallbacks, cap_fallbacks;
    dp_error error;
    dpi_state states[DP_LIMIT_GUARDS + 1];
};

/* Is fake mode on?  In fake mode all new tensors are fakes, like PyTorch's FakeTensor. */
static inline bool dpi_ctx_fake(const dp_ctx *ctx)
{
    return (ctx->state->include.functionality & DPI_BIT(Fake)) != 0;
}

/* Does a call with key set `ks` have an argument without memory (device meta, a fake), or is fake
 * mode on? */
static inline bool dpi_keys_memoryless(dp_keyset ks)
{
    return ((ks.functionality & DPI_BIT(Fake)) | (ks.backend & DP_BBIT(DP_B_Meta))) != 0;
}

/* Does the running call make tensors without memory?  If so, its kernel must read and write no
 * bytes. */
static inline bool dpi_ctx_memoryless(const dp_ctx *ctx)
{
    uint32_t n = ctx->thread ? atomic_load_explicit(&ctx->thread->depth, memory_order_relaxed) : 0;

    return dpi_ctx_fake(ctx) ||
           (n > 0 && dpi_keys_memoryless(dpi_frame_keys(&ctx->thread->frames[n - 1])));
}

/* Record that the running kernel may write bytes from now on: it has asked whether its tensors have
 * memory, or a function of api.h is about to write for it.  A kernel with DP_FLAG_META for which
 * this is not recorded has written nothing.  Any thread may call this function. */
static inline void dpi_ctx_touch(const dp_ctx *ctx)
{
    uint32_t n = ctx->thread ? atomic_load_explicit(&ctx->thread->depth, memory_order_relaxed) : 0;

    if (n > 0)
        atomic_store_explicit(&ctx->thread->frames[n - 1].touched, 1, memory_order_relaxed);
}

/* Return the device, stream and account for a new tensor of the running call.  In fake mode, and
 * while key Fake is in the call's key set, the tensor is a fake of `device`.  Otherwise, when a CPU
 * kernel with DP_FLAG_META serves device meta, its new tensors are on meta, even if the kernel
 * names the CPU. */
static inline dpi_target dpi_ctx_target(const dp_ctx *ctx, dp_device device)
{
    if (DPI_LIKELY(!dpi_ctx_memoryless(ctx)))
        return (dpi_target){device, ctx->streams_id, ctx->account};
    if (dpi_ctx_fake(ctx))
        return (dpi_target){device | DPI_FAKE, 0, ctx->account};
    const dpi_frame *f = &ctx->thread->frames[atomic_load(&ctx->thread->depth) - 1];
    const dpi_kernel *k = atomic_load_explicit(&f->kernel, memory_order_relaxed);
    if (dpi_frame_keys(f).functionality & DPI_BIT(Fake))
        device |= DPI_FAKE;
    else if (k->key == DP_KEY_OF(DP_F_Dense, DP_B_CPU))
        device = DP_DEVICE(DP_B_Meta, 0);
    return (dpi_target){device, 0, ctx->account};
}

/* Return the snapshot that `ctx` has pinned.  Call only while one is pinned. */
static inline const dpi_snapshot *dpi_ctx_snapshot(const dp_ctx *ctx)
{
    return atomic_load_explicit(&ctx->thread->pinned, memory_order_relaxed);
}

/* Record in the context, and in its session, that a tensor may need a gradient from now on. */
void dpi_ctx_raise_grad_flag(dp_ctx *ctx); /* in state.c; grad_flag is not NULL */
static inline void dpi_ctx_note_grad(dp_ctx *ctx)
{
    if (ctx->grad_flag != NULL)
        dpi_ctx_raise_grad_flag(ctx);
}

/* Get the name of the running request, with a reference; NULL: it has none, or no memory. */
dpi_origin *dpi_ctx_origin(dp_ctx *ctx);
void dpi_origin_unref(dpi_origin *o); /* NULL is fine; any thread */
/* Return the step of the request's program that runs; -1: no program runs. */
static inline int64_t dpi_ctx_step(const dp_ctx *ctx)
{
    return ctx->step_now != NULL ? __atomic_load_n(ctx->step_now, __ATOMIC_RELAXED) : -1;
}

/* Copy generator `g`, after waiting until no other thread uses it: *out, owned. */
int dpi_ctx_generator_copy(dp_ctx *ctx, dp_generator *g, dp_generator **out);

/* Return the operator of the innermost running call; NULL: no call runs. */
const dp_op *dpi_ctx_running(const dp_ctx *ctx);
/* Return the kernel of the innermost running call; NULL: no call runs. */
const dpi_kernel *dpi_ctx_kernel(const dp_ctx *ctx);

/* Make sure that a snapshot is pinned: keep the one that `ctx` has pinned (in a call, or after
 * dp_ctx_begin()), else pin the newest until dpi_ctx_unpin().  On success dpi_ctx_unpin() must
 * follow with the same `begun`. */
static inline int dpi_ctx_pin(dp_ctx *ctx, bool *begun)
{
    *begun = ctx->thread == NULL;
    return DPI_UNLIKELY(*begun) ? dp_ctx_begin(ctx) : 0;
}
static inline void dpi_ctx_unpin(dp_ctx *ctx, bool begun)
{
    if (DPI_UNLIKELY(begun))
        dp_ctx_end(ctx);
}

/* Enlarge `counts`, so that it has an element for operator `op_id`.  DP_ERESOURCE: no memory. */
int dpi_ctx_count_grow(dp_ctx *ctx, uint32_t op_id);
/* Release `t` when the request ends.  On failure, `t` is released at once. */
int dpi_ctx_own(dp_ctx *ctx, dp_tensor *t);
void dpi_warnings_clear(dp_ctx *ctx); /* in warn.c */

/* Return the number of calls of one operator, or of all operators, by all contexts of `reg` until
 * now.  A redispatch counts as a call. */
uint64_t dpi_op_calls(dp_registry *reg, uint32_t op_id);
uint64_t dpi_registry_calls(dp_registry *reg);
/* Store in `sums` the number of calls of each of the operators 0 to n - 1. */
void dpi_ops_calls(dp_registry *reg, uint64_t *sums, uint32_t n);

#pragma GCC visibility pop

#endif
