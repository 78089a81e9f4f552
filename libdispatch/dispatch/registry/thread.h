/* thread.h -- the record in which a thread publishes the snapshot it pins and the kernels it runs.
 *
 * A snapshot that a thread pins is not freed.  A frame describes one running call.  A frame names
 * generation g (one load of a plugin, truth.h) if the kernel of the call belongs to g.
 *
 *   I3: a thread that runs a kernel of generation g has published a frame naming g
 *   I4: a generation's code is unmapped only when no frame names it and no later frame can */
#ifndef DPI_THREAD_H
#define DPI_THREAD_H

#include "registry.h"

#pragma GCC visibility push(hidden)

/* One call of a thread.  Only this thread writes the frame, except `touched`, which any thread may
 * set.  `kernel` is stored with release, the other atomic members relaxed.  Other threads read the
 * atomic members. */
typedef struct dpi_frame {
    _Atomic(const dpi_kernel *) kernel; /* NULL: none */
    _Atomic(const dp_op *) op;
    /* The call's key set without the keys that fall through; the kernel is its highest key's. */
    _Atomic(uint64_t) functionality, backend;
    _Atomic(const dp_value *) args; /* arguments of a running boxed call; else NULL */
    /* Dispatcher state of the context when the call began; only the frame's own thread reads it.
     * Not set by the fast path for outermost calls (enter_short()). */
    struct dpi_state *state;
    /* not 0: the call's kernel may have written bytes of tensors (dpi_ctx_touch()).  Read only for
     * kernels with DP_FLAG_META, which can also run on tensors without memory: while `touched` is
     * 0, such a kernel has written no bytes itself. */
    _Atomic(uint64_t) touched;
    uint64_t unused;
} dpi_frame;
_Static_assert(sizeof(dpi_frame) == 64, "a power of 2");

static inline dp_keyset dpi_frame_keys(const dpi_frame *f)
{
    return (dp_keyset){atomic_load_explicit(&f->functionality, memory_order_relaxed),
                       atomic_load_explicit(&f->backend, memory_order_relaxed)};
}

/* The record of one thread.  It is never freed; a later thread may reuse it. */
typedef struct dpi_thread {
    struct dpi_thread *next;
    atomic_int used;                      /* 1: a thread has this record */
    uint32_t number;                      /* from 1, unique among the records */
    _Atomic(const dpi_snapshot *) pinned; /* the snapshot that the thread pins; NULL: none */
    atomic_uint depth;                    /* number of frames in use */
    /* when the outermost running call began, as dpi_changes.n, which counts changes of shapes */
    dpi_looker looker;
    /* label_id of the dp_ctx that set `since` and `label`; only the record's own thread uses it */
    uint64_t labelled;
    atomic_uint_fast64_t since; /* time when the request began, in nanoseconds; 0: unknown */
    _Atomic(uint64_t) label[4]; /* label of the request, 32 bytes; valid while `pinned` is set */
    dpi_frame frames[DP_LIMIT_CALL_DEPTH];
    /* whose hook on the end of a session runs, which has no frame (session.c); NULL: none */
    _Atomic(const dpi_generation *) hook;
    atomic_uint_fast64_t shapes_pin; /* dpi_changes.n at dp_shapes_pin(); 0: not pinned */
    struct dp_ctx *begun; /* context whose dp_ctx_begin() set `pinned`; for the own thread only */
    void (*abandon)(
        struct dp_ctx *);  /* called for `begun` if the thread ends; both are set together */
    uintptr_t stack_floor; /* dpi_stack_floor() of this thread */
} dpi_thread;

/* The line about the calling thread in a crash report, with the thread's name and its plugin's .so
 * file, if a plugin started the thread; else "". */
enum { DPI_THREAD_PLUGIN_BYTES = 512 };
extern _Thread_local char dpi_thread_plugin[DPI_THREAD_PLUGIN_BYTES];

/* -- barrier.c -- */

void dpi_membarrier_start(void);  /* register the process for membarrier(2), once */
void dpi_membarrier(void);        /* run a memory barrier on every thread */
extern bool dpi_membarrier_works; /* false: no membarrier(2), so every call runs a fence */

/* -- thread.c -- */

/* The calling thread's record; &dpi_thread_nobody while the thread has none. */
extern _Thread_local dpi_thread *dpi_thread_self;
/* The value of dpi_thread_self before a thread's first call.  The `pinned` of this record is not
 * NULL, so the fast path of a call, which requires that no snapshot is pinned, is not taken; the
 * slow path calls dpi_thread_enter(). */
extern dpi_thread dpi_thread_nobody;

enum { DPI_LABEL_BYTES = 32 };
void dpi_thread_label(const dpi_thread *t, char out[DPI_LABEL_BYTES]); /* copy the label of `t` */
const dpi_thread *dpi_threads(void);         /* the newest record, head of the list of records */
dpi_thread *dpi_thread_enter(dp_error *err); /* give this thread a record; NULL: *err says why */

/* Order a thread's store before its next load.  `barriers` is dpi_membarrier_works: if it is true,
 * this function needs no instruction, because the thread that reads other threads' records runs a
 * barrier on all threads. */
static inline void dpi_thread_fence(bool barriers)
{
    if (DPI_LIKELY(barriers)) {
        atomic_signal_fence(memory_order_seq_cst);
    } else {
        /* A locked instruction instead of a fence: ThreadSanitizer does not support fences. */
        static atomic_int any;
        atomic_fetch_add(&any, 0);
    }
}

/* Pin the snapshot at `newest` (reg->current or reg->candidate), and the current shapes of all
 * tensors, for this thread, whose record is `t`.  The thread must not use a snapshot that it pinned
 * before.  False: another snapshot was published meanwhile, so *out may have been freed: do not
 * read it, but try again or call dpi_thread_unpin(). */
static inline bool dpi_thread_try_pin(dpi_thread *t, _Atomic(const dpi_snapshot *) *newest,
                                      bool barriers, const dpi_snapshot **out)
{
    const dpi_snapshot *s = *out = atomic_load_explicit(newest, memory_order_acquire);
    atomic_store_explicit(&t->pinned, s, memory_order_release);
    dpi_thread_fence(barriers);
    dpi_call_begin(&t->looker); /* after `pinned` is stored, which dpi_oldest_call() relies on */
    return s == atomic_load_explicit(newest, memory_order_acquire);
}

static inline void dpi_thread_unpin(dpi_thread *t)
{
    dpi_call_end(&t->looker);
    atomic_store_explicit(&t->pinned, NULL, memory_order_release);
}

bool dpi_thread_pins(const dpi_snapshot *s); /* does any thread pin `s`? */
/* Return true if no thread runs a kernel of `gen`, and none can start one.  Without `close`, that
 * is the case if no thread pins a snapshot older than the detach of `gen`.  With `close`, first
 * close `gen`, so that no call can enter its kernels any more; then it is the case if no frame
 * names `gen` and no hook of `gen` runs.  False: `who` (`bytes` bytes, or NULL) describes a call
 * that may use `gen`. */
bool dpi_generation_idle(dp_registry *reg, dpi_generation *gen, bool close, char *who,
                         size_t bytes);
/* Poll dpi_generation_idle() until it returns true, for at most `timeout_ms` milliseconds
 * (negative: without limit; with `close`, less than 50 counts as 50).  False: a call still uses
 * `gen`, and `who` describes the call.  `close`: close `gen` after 50 ms, so that calls with an
 * older snapshot fail, with an error that names the plugin, when they want to enter one of its
 * kernels. */
bool dpi_generation_drain(dp_registry *reg, dpi_generation *gen, bool close, int timeout_ms,
                          char *who, size_t bytes);

#pragma GCC visibility pop

#endif
