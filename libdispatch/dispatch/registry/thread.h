/* thread.h -- what each thread publishes: the snapshot it holds and the kernels it runs.
 *
 *   I3: a thread that runs a kernel of generation g has published a frame naming g
 *   I4: a generation's code is unmapped only when no frame names it and no later frame can */
#ifndef DPI_THREAD_H
#define DPI_THREAD_H

#include "registry.h"

#pragma GCC visibility push(hidden)

/* What a thread publishes about one call.  Written by its thread with plain (relaxed) stores; the
 * atomic members are read by anyone. */
typedef struct dpi_frame {
    _Atomic(const dpi_kernel *) kernel; /* NULL: none */
    _Atomic(const dp_op *) op;
    _Atomic(uint64_t) functionality, backend; /* the call's key set, masked; its highest key ran */
    _Atomic(const dp_value *) args;           /* of a boxed call while it runs, else NULL */
    /* of the context when it began; for its own thread alone; not of calls that went the short
     * way, which begin with the outermost */
    struct dpi_state *state;
    _Atomic(uint64_t) touched; /* not 0: a kernel with DP_FLAG_META may have written bytes */
    uint64_t unused;
} dpi_frame;
_Static_assert(sizeof(dpi_frame) == 64, "a power of 2");
static inline dp_keyset dpi_frame_keys(const dpi_frame *f)
{
    return (dp_keyset){atomic_load_explicit(&f->functionality, memory_order_relaxed),
                       atomic_load_explicit(&f->backend, memory_order_relaxed)};
}

typedef struct dpi_thread {
    struct dpi_thread *next;
    atomic_int used;
    uint32_t number; /* from 1, never another record's */
    _Atomic(const dpi_snapshot *) pinned;
    atomic_uint depth;
    dpi_looker looker;
    uint64_t labelled;          /* dp_ctx.label_id that the next two are of; for this thread only */
    atomic_uint_fast64_t since; /* nanos when the request began; 0: unknown */
    _Atomic(uint64_t) label[4]; /* 32 bytes of text, as words; valid while a snapshot is pinned */
    dpi_frame frames[DP_LIMIT_CALL_DEPTH];
    atomic_uint_fast64_t looks; /* dpi_changes.n when dp_shapes_pin() began; 0: nothing is held */
    struct dp_ctx *begun;       /* that holds `pinned` by dp_ctx_begin(); for this thread only */
    void (*abandon)(struct dp_ctx *); /* tell `begun` that the thread ended; set with it */
    uintptr_t stack_floor;            /* dpi_stack_floor() of this thread */
} dpi_thread;

/* Of a thread that a plugin started: its name and its file, for crash reports; else "". */
enum { DPI_THREAD_PLUGIN_BYTES = 512 };
extern _Thread_local char dpi_thread_plugin[DPI_THREAD_PLUGIN_BYTES];

/* -- barrier.c -- */

void dpi_membarrier_start(void);
void dpi_membarrier(void);
extern bool dpi_membarrier_works;

/* -- thread.c -- */

extern _Thread_local dpi_thread *dpi_thread_self;
/* What that is until the thread's first call.  Holds a snapshot, so that whoever looks whether he
 * may pin one sees that there is something to do. */
extern dpi_thread dpi_thread_nobody;

enum { DPI_LABEL_BYTES = 32 };
void dpi_thread_label(const dpi_thread *t, char out[DPI_LABEL_BYTES]);
const dpi_thread *dpi_threads(void);         /* the newest record; they are never freed */
dpi_thread *dpi_thread_enter(dp_error *err); /* gives this thread a record; NULL: *err says why */

/* Between a thread's store and the load that must come after it.  Free where writers pass the
 * barrier for us (barriers: dpi_membarrier_works). */
static inline void dpi_thread_fence(bool barriers)
{
    if (DPI_LIKELY(barriers)) {
        atomic_signal_fence(memory_order_seq_cst);
    } else {
        static atomic_int any; /* a locked instruction: thread sanitizer knows no fences */
        atomic_fetch_add(&any, 0);
    }
}

/* Pin the newest snapshot, and the shapes that tensors have now, for this thread, which must not
 * hold one.  False: a newer one came meanwhile; *out is not to be looked at. */
static inline bool dpi_thread_try_pin(dpi_thread *t, dp_registry *reg, bool barriers,
                                      const dpi_snapshot **out)
{
    const dpi_snapshot *s = *out = atomic_load_explicit(&reg->current, memory_order_acquire);
    atomic_store_explicit(&t->pinned, s, memory_order_release);
    dpi_thread_fence(barriers);
    dpi_call_begin(&t->looker); /* after what says that a call is beginning: dpi_oldest_call() */
    return s == atomic_load_explicit(&reg->current, memory_order_acquire);
}

static inline void dpi_thread_unpin(dpi_thread *t)
{
    dpi_call_end(&t->looker);
    atomic_store_explicit(&t->pinned, NULL, memory_order_release);
}

bool dpi_thread_pins(const dpi_snapshot *s);
/* True when no thread runs gen's kernels and none can start to: no pinned snapshot older than the
 * detach, or (close) gen is closed and no frame names it.  *who says what is in the way. */
bool dpi_generation_idle(dp_registry *reg, dpi_generation *gen, bool close, char *who,
                         size_t bytes);
/* Poll dpi_generation_idle until timeout_ms (-1 for ever). false: still in use, *who says by whom.
 * close: after a grace of 50 ms close the generation, so that calls from older snapshots that reach
 * it fail by name instead of holding it. */
bool dpi_generation_drain(dp_registry *reg, dpi_generation *gen, bool close, int timeout_ms,
                          char *who, size_t bytes);

#pragma GCC visibility pop

#endif
