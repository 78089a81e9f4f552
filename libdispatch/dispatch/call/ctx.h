/* ctx.h -- a request's context, and what the call that it runs decides. */
#ifndef DPI_CTX_H
#define DPI_CTX_H

#include "dispatch/registry/thread.h"
#include "state.h"

#pragma GCC visibility push(hidden)

/* What a typed call resolved, in 64 bytes, so that finding it is a shift.  The last three are a
 * function of the others and of nothing else, so they need not be taken back when something
 * changes.  Each operator has two places, the second of which is its neighbour's first. */
enum { DPI_FOUND = 8 }; /* of them in a context, by operator id; even */
typedef struct dpi_found {
    uint64_t snapshot; /* its number; 0: none */
    uint64_t op_and_code;
    dp_keyset keys;              /* of the call, state applied */
    uint64_t kept;               /* functionalities that the operator does not skip */
    const dpi_kernel *kernel;    /* alive while a snapshot of that number is held */
    dp_any_fn unboxed;           /* the kernel's; NULL: or the entry boxes */
    atomic_uint_fast64_t *count; /* of the operator's calls, in dp_ctx.counts */
} dpi_found;
_Static_assert(sizeof(dpi_found) == 64, "one is found by a shift");

struct dp_ctx {
    uint64_t registry;  /* the number of reg, of which none is 0 or 1: typed.h reads it */
    dpi_thread *thread; /* while a snapshot is held: of the thread that pinned it */
    dpi_state *state;   /* in force: states[n], inside of n guards */
    bool guarded;       /* some of them were entered outside of a call */
    bool watched;       /* traced or timed, or its mode is about fallbacks */
    unsigned special; /* 1: watched, guarded, or without membarrier: not for dp_enter's short way */
    bool outdated;    /* the snapshot held names a generation that is closed */
    bool shares_pin;  /* another context of this thread holds the snapshot */
    bool tracing, timing;
    uint32_t pins; /* dp_ctx_begin nesting */
    dp_registry *reg;
    dp_arena arena;
    uint32_t n_counts;
    atomic_uint_fast64_t *counts; /* calls per operator id; written by this context's thread only */
    dp_call_stats stats;
    uint64_t t_top; /* timing: when the top-level call began */
    uint64_t since; /* when the request began; 0: nobody said */
    int threads;
    dp_flag *grad_flag;   /* borrowed; NULL: none */
    dpi_stop stop;        /* of dp_checkpoint() */
    atomic_uchar looping; /* 1: dp_parallel_for() runs; 2: and its body called an operator */
    uint64_t label_id;    /* another one for each label set; 0: none */
    uint32_t refused;     /* depth of the call whose kernel said dp_refuse(); 0: none */
    char label[32];
    struct dpi_trace *trace;
    dp_tensor **owned; /* tensors bound for the request: wrapped numbers */
    uint32_t n_owned, cap_owned;
    dpi_found found[DPI_FOUND];
    dp_mode mode;    /* outside of guards */
    dp_mode **modes; /* [cap_modes] of guards that set one; each is made once and kept */
    uint32_t cap_modes;
    dp_ctx *next, **link;      /* the registry's list, under ctx_lock */
    dp_generators *generators; /* borrowed; NULL: the registry's */
    dp_account *account;       /* borrowed; NULL: nobody's */
    dp_streams *streams;       /* borrowed; NULL until they are asked for, then own_streams */
    dp_streams *own_streams;
    uint32_t streams_id;     /* dpi_streams_id(streams) */
    uint64_t session;        /* dp_session_id() */
    dp_generator *generator; /* counted; held by the running kernel; NULL: none */
    const dp_waits *waits;   /* borrowed; NULL: nobody is told */
    void *waits_arg;
    char **warnings; /* of the request; dp_malloc() */
    uint32_t n_warnings, cap_warnings;
    dp_error error;
    dpi_state states[DP_LIMIT_GUARDS + 1];
};

/* Is fake mode on?  Then whatever is made is a fake. */
static inline bool dpi_ctx_fake(const dp_ctx *ctx)
{
    return (ctx->state->include.functionality & DPI_BIT(Fake)) != 0;
}

/* Of a call: has an argument no memory (device meta, a fake), or is fake mode on? */
static inline bool dpi_keys_memoryless(dp_keyset ks)
{
    return ((ks.functionality & DPI_BIT(Fake)) | (ks.backend & DP_BBIT(DP_B_Meta))) != 0;
}

/* Does the call that ctx runs make tensors without memory?  Its kernel has bytes to neither read
 * nor write then. */
static inline bool dpi_ctx_memoryless(const dp_ctx *ctx)
{
    uint32_t n = ctx->thread ? atomic_load_explicit(&ctx->thread->depth, memory_order_relaxed) : 0;

    return dpi_ctx_fake(ctx) ||
           (n > 0 && dpi_keys_memoryless(dpi_frame_keys(&ctx->thread->frames[n - 1])));
}

/* The running kernel was told that its tensors have memory, or the host is about to write for it.
 * Without that, a kernel with DP_FLAG_META has written nothing.  Any thread. */
static inline void dpi_ctx_touch(const dp_ctx *ctx)
{
    uint32_t n = ctx->thread ? atomic_load_explicit(&ctx->thread->depth, memory_order_relaxed) : 0;

    if (n > 0)
        atomic_store_explicit(&ctx->thread->frames[n - 1].touched, 1, memory_order_relaxed);
}

/* Where a new tensor lies, at the expense of the context's account.  In fake mode it is a fake.  A
 * kernel for CPU that serves Meta, too, makes tensors of Meta there, whatever it names: it copies
 * operands and makes its results where it is. */
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

/* The snapshot that ctx holds; only while it holds one. */
static inline const dpi_snapshot *dpi_ctx_snapshot(const dp_ctx *ctx)
{
    return atomic_load_explicit(&ctx->thread->pinned, memory_order_relaxed);
}

const dp_op *dpi_ctx_running(const dp_ctx *ctx);     /* the innermost call's; NULL: none runs */
const dpi_kernel *dpi_ctx_kernel(const dp_ctx *ctx); /* its kernel */

/* Hold a snapshot for a moment: the running call's or program's, or the newest. */
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

int dpi_ctx_count_grow(dp_ctx *ctx, uint32_t op_id); /* room for a counter; slow path */
/* Own a tensor for the request. takes */
int dpi_ctx_own(dp_ctx *ctx, dp_tensor *t);
void dpi_warnings_clear(dp_ctx *ctx); /* warn.c */

/* Calls counted so far: of one operator, of all. */
uint64_t dpi_op_calls(dp_registry *reg, uint32_t op_id);
uint64_t dpi_registry_calls(dp_registry *reg);

#pragma GCC visibility pop

#endif
