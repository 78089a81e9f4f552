/* base.h -- declarations for all of libdispatch: errors, dtypes, memory, keys, backends and their
 * devices, counters, clocks, threads, signals and hashes.
 *
 * Names with the prefix dpi_ are internal to libdispatch.  The public names (dp_*) that base
 * defines are declared in dispatchd/dispatch.h. */
#ifndef DPI_BASE_H
#define DPI_BASE_H

#include "keybits.h"
#include <dispatchd/dispatch.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

/* Hidden visibility: libdispatch exports none of these names, and calls need no GOT entry. */
#pragma GCC visibility push(hidden)

#define DPI_LIKELY(x)   __builtin_expect(!!(x), 1)
#define DPI_UNLIKELY(x) __builtin_expect(!!(x), 0)
/* For functions that every call of an operator runs, or every call that is recorded.  The linker
 * puts them side by side; scattered, they evict each other from the instruction cache, and a call
 * costs up to twice as much. */
#define DPI_HOT      __attribute__((hot))
#define DPI_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Sizes of the dtypes in bytes, by dtype; 0 where a number is not a dtype. */
extern const uint8_t dpi_itemsizes[DP_DTYPE_END];
/* Inline version of dp_dtype_size(): bytes of one element.  0: `d` is not a dtype. */
static inline size_t dpi_itemsize(dp_dtype d)
{
    return d >= 0 && d < DP_DTYPE_END ? dpi_itemsizes[d] : 0;
}
/* Check that tensors may have dtype `d`.  DP_ETYPE: they may not; if PyTorch has a dtype with this
 * number, the error message names it. */
int dpi_dtype_check(dp_dtype d, dp_error *err);
/* Is `name` a dtype that PyTorch has and dispatchd lacks, such as "float8_e5m2"? */
bool dpi_dtype_is_reserved(const char *name);
/* Set the error "out of memory: " followed by `what`, and return DP_ERESOURCE. */
int dpi_no_memory(dp_error *err, const char *what);
/* DPI_GIVEN(err, code, path, out): check that no pointer in the list is NULL.  False: one is NULL,
 * and an error with code `code` names the first such argument and the calling function.  Use it for
 * arguments that callers must pass. */
#define DPI_GIVEN(err, code, ...)                                                                  \
    dpi_given(err, code, __func__, #__VA_ARGS__, (const void *const[]){__VA_ARGS__},               \
              sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *))
/* Set the error of DPI_GIVEN() for argument `i` of the comma-separated `names`; returns false. */
bool dpi_refuse_null(dp_error *err, int code, const char *function, const char *names, size_t i);
static inline __attribute__((always_inline)) bool dpi_given(dp_error *err, int code,
                                                            const char *function, const char *names,
                                                            const void *const *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (DPI_UNLIKELY(p[i] == NULL))
            return dpi_refuse_null(err, code, function, names, i);
    return true;
}
/* Does `p` point into this thread's stack below `frame`, the address of a frame that still runs,
 * and so into a frame that has returned?  Addresses more than 64 MiB below `frame` are not
 * recognised.  Defined in stack.c. */
bool dpi_stack_left(const void *p, const void *frame);
/* Return the lowest stack address at which a call may begin on this thread.  Below that address
 * 256 KiB of stack are free for the kernel, or a quarter of a stack smaller than 1 MiB.  0: the
 * bounds of the stack are unknown.  Takes microseconds.  Defined in stack.c. */
uintptr_t dpi_stack_floor(void);
/* Count one allocation for dp_fault_arm().  True: this allocation must fail.  Allocators that do
 * not call dp_malloc() call this function instead. */
bool dpi_fault(void);
/* Internal version of dp_cpu_level(), the vector level of this machine; `err` may be NULL.  Defined
 * in isa.c. */
int dpi_cpu_level(dp_error *err);
/* Grow `array`, of capacity `*cap` items, by doubling until its capacity is at least `need` items
 * of `item` bytes.  The array comes from dp_realloc().  Returns the array, which may have moved.
 * NULL: out of memory; the array and `*cap` are unchanged. */
void *dpi_grow(void *array, uint32_t *cap, uint32_t need, size_t item);

/* -- arenas (arena.c) -- */

/* The struct is public within libdispatch so that a struct can embed an arena and read `at` without
 * a function call. */
struct dp_arena {
    char *at;                       /* next free byte, in the newest block; NULL: no block */
    size_t left;                    /* free bytes from `at` to the end of the block */
    struct dpi_arena_block *blocks; /* owned, newest first; the newest one is being filled */
    struct dpi_arena_large *large;  /* owned large allocations, newest first */
    size_t newest_bytes;            /* data bytes of the last block that was added */
    size_t most_bytes;              /* block sizes double up to this size */
    dp_account *account;            /* borrowed: charged for new memory; NULL: no account */
    void *(*alloc)(size_t bytes);
    void (*release)(void *p, size_t bytes);
};
/* Initialise `a`, which is embedded in a struct; `alloc` and `release` replace dp_malloc() and
 * dp_free() for its blocks. */
void dpi_arena_init(dp_arena *a, void *(*alloc)(size_t bytes),
                    void (*release)(void *p, size_t bytes));
void dpi_arena_fini(dp_arena *a);
/* Free everything that was allocated after `a->at` had the value `at`.  NULL: free everything, as
 * dp_arena_reset() does. */
void dpi_arena_rewind(dp_arena *a, char *at);

/* Growable text in memory from dp_malloc().  After a failure (no memory, or an invalid format)
 * `failed` stays true and appending does nothing. */
typedef struct dpi_text {
    char *s; /* owned; NULL until the first append, then NUL-terminated */
    size_t len, cap;
    bool failed;
} dpi_text;
void dpi_text_add(dpi_text *t, const char *s);
void dpi_text_addn(dpi_text *t, const char *s, size_t n);
void dpi_text_printf(dpi_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void dpi_text_fini(dpi_text *t);

/* -- keys -- */

/* A slot is an index in an operator's dispatch table; each runtime key has one.  Slot 0 is
 * Undefined.  Slots 1 to DPI_SLOTS_PLAIN-1 are the functionalities that are not per backend,
 * ordered by rank (keybits.h).  After them each backend has a column of the 7 per-backend
 * functionalities, ordered by rank.  The columns are: built-in backends in the order of their bits,
 * Meta, named backends (those that plugins name) in the order of their bits.  A table with columns
 * for n named backends has DPI_SLOTS(n) slots. */
enum {
#ifdef DP_TEST_INSERTED
    DPI_PER_BACKEND = 8,
#else
    DPI_PER_BACKEND = 7,
#endif
    DPI_SLOTS_PLAIN = DPI_RANKS - DPI_PER_BACKEND, /* Undefined included */
    DPI_COLUMNS_BUILTIN = DP_B_NAMED_FIRST + 1,    /* Meta included */
    DPI_SLOTS_MAX = DPI_SLOTS_PLAIN + DPI_PER_BACKEND * (DPI_COLUMNS_BUILTIN + DP_B_NAMED_MAX)
};
#define DPI_SLOTS(n_named) (DPI_SLOTS_PLAIN + DPI_PER_BACKEND * (DPI_COLUMNS_BUILTIN + (n_named)))

/* The backend bit that marks wrapper tensors, in their key sets and in key sets of calls that have
 * one as argument.  The bit is no backend's and has no table column, so the normal lookup of such a
 * call fails and dpi_resolve_wrapped() handles the call.  The bit is not visible outside
 * libdispatch. */
#define DPI_WRAPPER_BIT ((uint64_t)1 << 62)
/* The slot of a key is base[rank] + stride[rank] * column[backend bit].  Row i has `base` and
 * `stride` of rank i and `column` of backend bit i.  The table is constant, so that no code has to
 * fill it at start-up. */
typedef struct dpi_slot_row {
    uint16_t base;  /* first slot; rank 0 is Undefined */
    uint8_t stride; /* 0, or DPI_PER_BACKEND for per-backend functionalities */
    uint8_t column; /* index of the backend's column */
} dpi_slot_row;
extern const dpi_slot_row dpi_slot_rows[64];

/* Slot of runtime key `k`; aliases have no slot. */
static inline unsigned dpi_key_slot(dp_key k)
{
    int rank = dpi_rank(k), b = dp_key_backend(k);
    return dpi_slot_rows[rank].base +
           dpi_slot_rows[rank].stride * dpi_slot_rows[b < 0 ? 0 : b].column;
}
dp_key dpi_slot_key(unsigned slot); /* inverse of dpi_key_slot() */
/* List the runtime keys that have a meaning now, in slot order, Undefined first.  The list has no
 * keys of backends that are not alive (dpi_backend_install()).  Of the keys Kind0 to Kind7, it has
 * those that a loaded plugin uses for a kind of wrapper tensor (kind.h).  Of the backends' autocast
 * keys, it has AutocastNamed once for each living named backend.  Returns the number of keys. */
size_t dpi_runtime_keys(dp_key out[DPI_SLOTS_MAX]);

/* Find a per-backend functionality by name ("Dense", "Quantized") and return its key without a
 * backend.  Undefined: `name` is not one.  This is for fallbacks, which may be registered for such
 * a functionality on all backends. */
dp_key dpi_functionality_find(const char *name);
/* Is `k` a per-backend functionality without a backend? */
static inline bool dpi_is_functionality(dp_key k)
{
    return dp_key_backend(k) < 0 && (DPI_PER_BACKEND_BITS & dpi_key_bit(k)) != 0;
}

/* Return the key set of a dense tensor on backend `backend`: Dense, its autograd key and
 * ADInplaceOrView.  Autocast keys are not in the set, because autocast is thread state.  A backend
 * without an autograd key of its own gets AutogradOther, as in c10/core/DispatchKeySet.cpp. */
dp_keyset dpi_backend_keys(int backend);

/* Does `alias` include runtime key `k`?  If `alias` is a runtime key itself: are they equal?  This
 * is c10::runtimeDispatchKeySetHas. */
bool dpi_alias_has(dp_key alias, dp_key k);
/* Does alias CompositeExplicitAutograd include `k`?  This is c10::isBackendDispatchKey. */
bool dpi_is_backend_key(dp_key k);
int dpi_autocast_backend(dp_key k); /* inverse of dp_autocast_key(); -1: no autocast key */
/* Return the bits of the autocast functionalities of a mask of backends (DP_BBIT). */
uint64_t dpi_autocast_bits(uint64_t backends);
/* Return the autograd key for backend key `k`: Autograd<backend>, or AutogradOther. */
dp_key dpi_autograd_of(dp_key k);

/* -- backends: one table for the whole process, because a backend's bit in key sets must mean the
 * same backend in all registries -- */

/* The newest operators that queued work on streams of a backend's devices, and for whose work no
 * call has waited yet.  Errors of work that fails later name these operators. */
enum { DPI_QUEUED_MAX = 8, DPI_QUEUED_NAME_MAX = 64 };
typedef struct dpi_queued_op {
    int index;                      /* number of the device */
    const void *stream;             /* the backend's handle; only compared, never used */
    char name[DPI_QUEUED_NAME_MAX]; /* operator, cut to fit; "": the entry is empty */
} dpi_queued_op;
typedef struct dpi_queued {
    pthread_mutex_t lock;
    unsigned next; /* number of operators noted; the next one overwrites the oldest entry */
    dpi_queued_op ops[DPI_QUEUED_MAX];
} dpi_queued;

/* One registration of a backend: the functions that allocate and copy its tensors' memory.
 * Reference counted.  It outlives the plugin's code that `ops` points to; dpi_device_use() fails
 * once that code may be gone. */
typedef struct dpi_device {
    atomic_uint refs;
    int bit;           /* backend's bit; -1: not registered for a backend yet */
    const char *name;  /* name of its backend, never freed; NULL while `bit` is -1 */
    bool host;         /* true: tensors are in host memory, and `ops` is all zero */
    dp_device_ops ops; /* a copy: the plugin's record may be shorter, and may be unmapped */
    /* The lock of backend.c protects these fields. */
    bool changing;   /* closed: other threads wait to enter */
    bool ended;      /* for ever: entering fails, and the plugin's code may be gone */
    bool warned;     /* a warning about a changed floating-point environment was sent */
    unsigned inside; /* calls of dpi_device_enter() minus calls of dpi_device_leave() */
    /* The lock of block.c protects these lists of memory that `ops` allocated. */
    struct dpi_block *blocks, *waiting; /* `waiting`: freed, but still used by streams */
    /* The lock of stream.c protects the list of streams and events that `ops` made. */
    struct dpi_handle *handles;
    dpi_queued queued;
} dpi_device;
/* Make a device from a plugin's record `ops`; NULL: a device in host memory.  DP_EPLUGIN: the
 * record lacks a required function or has unknown flags.  The device has no bit until
 * dpi_backend_install(). */
int dpi_device_new(const char *name, const dp_device_ops *ops, dpi_device **out, dp_error *err);
dpi_device *dpi_device_ref(dpi_device *d);
dpi_device *dpi_device_unref(dpi_device *d);

/* Register backend `name` with device `d`.  A bit is alive, and so is its backend, while the bit is
 * built in, registered, used by a storage, or pinned.  The device name of a built-in backend
 * ("cuda") gets that backend's bit.  A name whose old bit is still alive gets that bit back.  Every
 * other name gets the lowest named bit that is not alive.  The table has a reference to `d` until
 * another device replaces it.  DP_EEXISTS: the name is registered, or is "cpu", "meta" or the name
 * of a kind (kind.h).  DP_ERESOURCE: DP_B_NAMED_MAX named backends are alive. */
int dpi_backend_install(const char *name, const char *owner, dpi_device *d, int *bit,
                        dp_error *err);
/* Make a device from `ops` and register backend `name` with it, as dpi_backend_install() does. */
int dpi_backend_register(const char *name, const char *owner, const dp_device_ops *ops, int *bit,
                         dp_error *err);
/* Replace `old`, which must be closed (dpi_device_close()), by `d` at a reload of plugin `owner`;
 * the bit stays the same.  Both devices are open afterwards: `d` for all calls, `old` only for
 * dpi_device_use() with `replaced` true. */
void dpi_backend_replace(dpi_device *old, const char *owner, dpi_device *d);
/* End the registration of `bit`.  Returns when no other thread runs a function of its device.
 * Later allocations on the backend fail with an error that names it.  The bit is free again when no
 * storage and no pin uses it. */
void dpi_backend_unregister(int bit);
/* Close `d`: other threads that want to enter it wait until it is open or has ended.  Returns when
 * all other threads have left. */
void dpi_device_close(dpi_device *d);
/* Reopen `d`, which was closed for a change that did not take place. */
void dpi_device_open(dpi_device *d);
/* End `d`, which is closed: entering it fails from now on.  If `d` is still the device of its
 * backend, the backend's registration ends too. */
void dpi_device_finish(dpi_device *d);
int dpi_backend_find(const char *name);        /* bit by key name ("CPU", "npu"); -1: unknown */
int dpi_backend_find_device(const char *name); /* bit by device name ("cpu", "npu"); -1: unknown */
const char *dpi_backend_name(int bit);         /* NULL: no living backend has this bit */
bool dpi_backend_has_memory(int bit);          /* does a plugin allocate its tensors? */
unsigned dpi_backend_named_top(void); /* number of named bits up to the highest living one */
/* Count one storage more, or one fewer, on backend `bit`.  While a backend has storages, its bit is
 * not reused, and its plugin is unloaded only by force.  dp_backends_pin() only prevents the
 * reuse. */
void dpi_backend_ref(int bit);
void dpi_backend_unref(int bit);
uint64_t dpi_backend_storages(int bit); /* live storages; always 0 for CPU and Meta */
/* Enter the device of backend `bit`: *out is the device, and its plugin's functions may be called
 * until dpi_device_leave().  Waits while another thread has closed the device, unless this thread
 * has entered the backend already.  DP_ERUNTIME: the backend was unloaded, or no plugin has
 * registered its device. */
int dpi_device_enter(int bit, dpi_device **out, dp_error *err);
/* Enter device `*on` as dpi_device_enter() does, until dpi_device_leave(); dpi_device_move() in
 * another thread may change `*on`.  DP_ERUNTIME: the device has ended or, unless `replaced` is
 * true, was replaced by a reload.  A replaced device is entered to use and release the memory,
 * streams and events that its code made. */
int dpi_device_use(dpi_device *const *on, bool replaced, dpi_device **out, dp_error *err);
/* Store `to` in `*on`: takes a reference to `to` and drops the reference to the previous device. */
void dpi_device_move(dpi_device **on, dpi_device *to);
void dpi_device_leave(dpi_device *d);
/* A value of `stream` below: all streams of the device. */
#define DPI_ALL_STREAMS ((const void *)-1)
/* Note that operator `op` is about to queue work on `stream`; NULL: the default stream. */
void dpi_queued_note(dpi_device *d, dp_device device, const void *stream, const char *op);
/* Forget the operators noted for `stream` or DPI_ALL_STREAMS: their work has ended, or its error
 * was reported. */
void dpi_queued_forget(dpi_device *d, dp_device device, const void *stream);
/* Handle the result `rc` of `function`, a member of d->ops, which has waited for `stream`, or
 * failed when it queried the stream; it wrote its error to `from`.  0: forget the operators noted
 * for the stream.  Otherwise fail as dpi_device_failed() does, and name the operators that may have
 * queued the work that failed. */
int dpi_device_waited(dpi_device *d, const char *function, int rc, const dp_error *from,
                      dp_device device, const void *stream, dp_error *err);
/* Set an error that names the backend and `function`, a member of d->ops, which returned `rc` and
 * wrote its error to `from`; return its code. */
int dpi_device_failed(const dpi_device *d, const char *function, int rc, const dp_error *from,
                      dp_error *err);
/* Number of devices of the backend; every device index is below this number.  The caller must have
 * entered `d`. */
int dpi_device_count(const dpi_device *d);
/* Number of registrations of `bit` that have ended; a reload does not count.  An object that stores
 * this number can detect that its backend was unloaded, even if a later backend has the same name.
 * The number does not change between enter and leave. */
uint64_t dpi_backend_registration(int bit);

/* -- tally.c: statistics that all threads update often and that are read rarely -- */
enum {
    DPI_TALLY_TENSORS,
    DPI_TALLY_NODES,    /* of graphs of autograd */
    DPI_TALLY_STORAGES, /* on CPU and Meta; backend.c counts those of other backends */
    DPI_TALLY_BYTES, /* of storages; tensor/held.c adds this counter to its total and resets it */
    DPI_TALLY_END
};
/* Counters of one thread; only that thread writes `n`.  Row 0 is shared by all threads that have no
 * row of their own. */
typedef struct dpi_small dpi_small;
typedef struct dpi_tally_row {
    _Alignas(64) atomic_int_fast64_t n[DPI_TALLY_END];
    dpi_small *small; /* list of blocks that the thread keeps (small.c); NULL in row 0 */
    uint32_t n_small;
    atomic_bool taken; /* a thread uses this row */
} dpi_tally_row;
extern dpi_tally_row dpi_tally_rows[];
extern _Thread_local dpi_tally_row *dpi_tally_own; /* row of the calling thread */
void dpi_tally_enter(void);       /* take a free row for this thread; none free: keep row 0 */
int64_t dpi_tally_sum(int which); /* sum of all rows; exact while no thread counts */
/* Add `by` to counter `which` and return the new value in the calling thread's row. */
static inline int64_t dpi_tally_add(int which, int64_t by)
{
    dpi_tally_row *row = dpi_tally_own;

    if (DPI_UNLIKELY(row == dpi_tally_rows)) {
        dpi_tally_enter();
        row = dpi_tally_own;
        if (row == dpi_tally_rows)
            return by + atomic_fetch_add_explicit(&row->n[which], by, memory_order_relaxed);
    }
    int64_t n = by + atomic_load_explicit(&row->n[which], memory_order_relaxed);
    atomic_store_explicit(&row->n[which], n, memory_order_relaxed);
    return n;
}

/* -- small.c: blocks of one size that a thread keeps for its next allocation -- */
enum { DPI_SMALL_BYTES = 448 }; /* a tensor of 4 dimensions, or of 32 bytes and 2 dimensions */
void *
dpi_small_alloc(void); /* a block of DPI_SMALL_BYTES, aligned as by malloc(); NULL: no memory */
void dpi_small_free(void *p);

/* -- clocks, and the thread pool behind dp_parallel_for -- */
uint64_t dpi_nanos(void); /* nanoseconds of CLOCK_MONOTONIC */
/* Nanoseconds of CLOCK_MONOTONIC, late by up to one clock tick; a tenth of dpi_nanos()'s cost. */
uint64_t dpi_nanos_about(void);
struct timespec dpi_time_after(int ms); /* now + `ms` milliseconds, in CLOCK_MONOTONIC */
/* Conditions that stop work early; all zero: none. */
typedef struct dpi_stop {
    uint64_t deadline;            /* in dpi_nanos(); 0: none */
    const dp_cancel_flag *cancel; /* borrowed; NULL: cannot be cancelled */
} dpi_stop;
/* Return DP_ECANCELLED or DP_EDEADLINE if work under `s` must stop now, else 0. */
static inline int dpi_stop_code(const dpi_stop *s)
{
    if (s->cancel != NULL && atomic_load_explicit(s->cancel, memory_order_relaxed) != 0)
        return DP_ECANCELLED;
    return s->deadline != 0 && dpi_nanos() >= s->deadline ? DP_EDEADLINE : 0;
}

/* Call `fn` on pieces of [begin, end), each at least `grain` long, on at most `max_threads` threads
 * including the caller; 0: all threads of the pool.  Nested and simultaneous calls share the
 * threads that are free; the caller's own thread always works.  A range shorter than 2 * `grain` is
 * one piece, for which `fn` is called once.  `stop`, unless NULL, is checked at the end and, in a
 * longer range, between slices, which take about 2 ms each but have at least `grain` steps.
 * Returns 0, or the code of `stop`.  DPI_THREAD_LEFT: `fn` ended the helper thread that it ran on.
 * Any thread may call. */
enum { DPI_THREAD_LEFT = INT32_MIN };
int dpi_thread_pool_run(int max_threads, int64_t begin, int64_t end, int64_t grain, dp_range_fn fn,
                        void *user, const dpi_stop *stop);

/* Return DP_ECANCELLED or DP_EDEADLINE if the parallel loop whose body runs on the calling thread
 * must stop; 0: it need not, or no loop runs here. */
int dpi_thread_pool_stop_code(void);

/* -- signals, hashes, suggestions -- */
/* Block all signals except those by which the system reports a thread's own faults, such as
 * SIGSEGV.  Called before a thread is started, because the new thread inherits the mask.  `*before`
 * gets the previous mask. */
void dpi_signals_block(sigset_t *before);
uint64_t dpi_hash(const char *s, size_t n);
/* SipHash-2-4 with 128 bits of output.  The result is the same on every machine.  Nobody who does
 * not know the key can find two inputs with one result in practical time. */
typedef struct dpi_siphash {
    uint64_t v[4], word; /* `word`: the last n % 8 bytes */
    size_t n;            /* bytes so far */
} dpi_siphash;
void dpi_siphash_begin(dpi_siphash *h, uint64_t key0, uint64_t key1);
void dpi_siphash_add(dpi_siphash *h, const void *p, size_t n);
void dpi_siphash_end(dpi_siphash *h, uint64_t out[2]);
/* Find the strings of `names` [n] that are nearest to `name` by edit distance, each once, and write
 * at most `max` (at most 8) of them as "'a', 'b'" into `buf` of `bytes` bytes. */
void dpi_nearest(const char *name, const char *const *names, size_t n, size_t max, char *buf,
                 size_t bytes);

#pragma GCC visibility pop

#endif
