/* base.h -- what every room of libdispatch uses: memory, errors, keys, backends, dtypes.
 *
 * Public names (dp_*) are declared in dispatchd/dispatch.h; here is what only libdispatch shares.
 */
#ifndef DPI_BASE_H
#define DPI_BASE_H

#include "keybits.h"
#include <dispatchd/dispatch.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

/* Nothing here is exported, so calls need not go through the GOT. */
#pragma GCC visibility push(hidden)

#define DPI_LIKELY(x)   __builtin_expect(!!(x), 1)
#define DPI_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define DPI_COUNT(a)    (sizeof(a) / sizeof((a)[0]))

/* dp_dtype_size(), inline. */
extern const uint8_t dpi_itemsizes[DP_DTYPE_END];
static inline size_t dpi_itemsize(dp_dtype d)
{
    return d >= 0 && d < DP_DTYPE_END ? dpi_itemsizes[d] : 0;
}
/* DP_ETYPE unless tensors may have this dtype; the error has the name of one of PyTorch's that is
 * not here. */
int dpi_dtype_check(dp_dtype d, dp_error *err);
/* The name of a dtype that PyTorch has and dispatchd does not, "float8_e5m2". */
bool dpi_dtype_is_reserved(const char *name);
/* dp_error_set(DP_ERESOURCE, "out of memory: what"). */
int dpi_no_memory(dp_error *err, const char *what);
/* DPI_GIVEN(err, code, path, out): none of these pointers is NULL; else false, and the error `code`
 * names the first one that is, and the function.  For arguments that callers must not leave out. */
#define DPI_GIVEN(err, code, ...)                                                                  \
    dpi_given(err, code, __func__, #__VA_ARGS__, (const void *const[]){__VA_ARGS__},               \
              sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *))
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
/* Does p lie in a frame of this thread's stack that was left: below `frame`?  stack.c */
bool dpi_stack_left(const void *p, const void *frame);
/* The address below which no call may begin on this thread, so that each kernel finds 256 KiB of
 * stack, or a quarter of a smaller one; 0: not known.  Takes microseconds.  stack.c */
uintptr_t dpi_stack_floor(void);
/* Counts one allocation for dp_fault_arm(); true: it must fail.  For allocations by other means
 * than dp_malloc(). */
bool dpi_fault(void);
/* dp_cpu_level(); err may be NULL.  isa.c */
int dpi_cpu_level(dp_error *err);
/* Make room for `need` items in an array of *cap items from dp_realloc(), by doubling.  Returns the
 * array, which may have moved.  NULL: no memory; the array and *cap are unchanged. */
void *dpi_grow(void *array, uint32_t *cap, uint32_t need, size_t item);

/* -- arenas (arena.c); the struct is here so that who has one inside looks at `at` for nothing --
 */
struct dp_arena {
    char *at;                 /* in the first block; NULL: there is none */
    size_t left;              /* bytes after it */
    struct dpi_block *blocks; /* the one being filled first */
    struct dpi_own *own;      /* large allocations, the latest first */
    size_t grown;             /* size of the latest block */
    dp_account *account;      /* borrowed: who pays for what it takes from now on; NULL: nobody */
    void *(*alloc)(size_t bytes);
    void (*release)(void *p, size_t bytes);
};
/* In place, with blocks from elsewhere than dp_malloc(). */
void dpi_arena_init(dp_arena *a, void *(*alloc)(size_t bytes),
                    void (*release)(void *p, size_t bytes));
void dpi_arena_fini(dp_arena *a);
/* What was allocated since a->at was `at` is gone. */
void dpi_arena_rewind(dp_arena *a, char *at);

/* Growable text in dp_malloc memory; once `failed` it stays so and appends do nothing. */
typedef struct dpi_text {
    char *s; /* NUL-terminated once anything was appended */
    size_t len, cap;
    bool failed;
} dpi_text;
void dpi_text_add(dpi_text *t, const char *s);
void dpi_text_addn(dpi_text *t, const char *s, size_t n);
void dpi_text_printf(dpi_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void dpi_text_fini(dpi_text *t);

/* -- keys -- */

/* Slots of a dispatch table.  Slot 0 is Undefined, 1..DPI_SLOTS_PLAIN-1 the functionalities that
 * are not per-backend by rank, then for each backend column (built-ins in bit order, Meta, named by
 * bit) the 7 per-backend functionalities by rank.  A table that has room for n named backends has
 * DPI_SLOTS(n) slots. */
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

/* The mark of wrapper tensors, among the backends of their key sets and of calls with one: it is no
 * backend, and has no column, so that resolving such a call fails at first (dpi_resolve_wrapped()).
 * Nobody outside of the library sees it. */
#define DPI_WRAPPER_BIT ((uint64_t)1 << 62)
/* slot = base[rank] + stride[rank] * column[backend].  The rows are constants, so
 * that no code runs at start-up. */
typedef struct dpi_slot_row {
    uint16_t base;  /* of rank i, 0 = Undefined */
    uint8_t stride; /* of rank i: 0 or DPI_PER_BACKEND */
    uint8_t column; /* of backend bit i */
} dpi_slot_row;
extern const dpi_slot_row dpi_slot_rows[64];

static inline unsigned dpi_key_slot(dp_key k) /* runtime keys only */
{
    int rank = dpi_rank(k), b = dp_key_backend(k);
    return dpi_slot_rows[rank].base +
           dpi_slot_rows[rank].stride * dpi_slot_rows[b < 0 ? 0 : b].column;
}
dp_key dpi_slot_key(unsigned slot); /* inverse */
/* Runtime keys of the backends alive, in table order, Undefined first; returns how many.
 * AutocastNamed is a key of named backends only. */
size_t dpi_runtime_keys(dp_key out[DPI_SLOTS_MAX]);

/* A functionality of all backends, "Dense", "Quantized": what fallbacks can be for, beside runtime
 * keys and aliases.  DP_KEY(f) of a per-backend f; Undefined for every other name. */
dp_key dpi_functionality_find(const char *name);
static inline bool dpi_is_functionality(dp_key k)
{
    return dp_key_backend(k) < 0 && (DPI_PER_BACKEND_BITS & dpi_key_bit(k)) != 0;
}

/* A tensor's own keys on backend b: Dense, Autograd, ADInplaceOrView (no autocast keys; those are
 * thread state).  Backends without autograd keys of their own get AutogradOther, as in
 * c10/core/DispatchKeySet.cpp. */
dp_keyset dpi_backend_keys(int backend);

/* Does alias (or runtime key) `alias` stand for runtime key k?  (c10::runtimeDispatchKeySetHas) */
bool dpi_alias_has(dp_key alias, dp_key k);
/* k has backend functionality: a key of CompositeExplicitAutograd's set (isBackendDispatchKey). */
bool dpi_is_backend_key(dp_key k);
/* The autograd key above a backend key: Autograd<b>, or AutogradOther. */
dp_key dpi_autograd_of(dp_key k);

/* -- backends: process-wide, because a tensor's keys are -- */

/* One registration of a backend: where its tensors' memory is, and what can be done with it.
 * Counted; it outlives the code that ops points to, which dpi_device_use() knows. */
/* The operators that asked for a stream since it was last synchronised, the newest ones, for errors
 * of work that fails later. */
enum { DPI_QUEUED_MAX = 8, DPI_QUEUED_NAME_MAX = 64 };
typedef struct dpi_queued_op {
    int index;
    const void *stream;             /* the backend's handle, to be compared alone */
    char name[DPI_QUEUED_NAME_MAX]; /* cut; "": none */
} dpi_queued_op;
typedef struct dpi_queued {
    pthread_mutex_t lock;
    unsigned next;
    dpi_queued_op ops[DPI_QUEUED_MAX];
} dpi_queued;

typedef struct dpi_device {
    atomic_uint refs;
    int bit;           /* -1: not installed yet */
    const char *name;  /* its backend's, interned */
    bool host;         /* its memory is the host's; ops is zero */
    dp_device_ops ops; /* a copy: the plugin's record may be shorter, and may be unmapped */
    /* Under backend.c's lock: */
    bool changing; /* nobody may enter */
    bool ended;    /* nobody will; its code may be gone */
    bool warned;   /* that one of its functions changed the floating-point environment */
    unsigned inside;
    /* What it gave out, under the locks of storage.c and stream.c: */
    struct dpi_block *blocks, *waiting;
    struct dpi_handle *handles;
    dpi_queued queued;
} dpi_device;
/* ops NULL: host memory.  Checks that the record is whole.  Not of a bit yet. */
int dpi_device_new(const char *name, const dp_device_ops *ops, dpi_device **out, dp_error *err);
dpi_device *dpi_device_ref(dpi_device *d);
dpi_device *dpi_device_unref(dpi_device *d);

/* Name a backend: takes the lowest free named bit, or that of a built-in backend by its device name
 * ("cuda").  DP_EEXISTS when the name is registered or is "cpu" or "meta", DP_ERESOURCE at
 * DP_B_NAMED_MAX.  A name whose old tensors still live gets its old bit back.  d: counted by the
 * table until another takes its place. */
int dpi_backend_install(const char *name, const char *owner, dpi_device *d, int *bit,
                        dp_error *err);
/* The same, with a device made of ops. */
int dpi_backend_register(const char *name, const char *owner, const dp_device_ops *ops, int *bit,
                         dp_error *err);
/* For a reload: the bit stays; `d` takes the place of `old`, which must be closed and is open
 * afterwards, as d is, to those who give back what is of it. */
void dpi_backend_replace(dpi_device *old, const char *owner, dpi_device *d);
/* Ends the registration.  The bit is free again when no storage is left on it.  Returns when no
 * thread is inside its ops; later allocations on it fail with its name. */
void dpi_backend_unregister(int bit);
/* From now on nobody else can enter d; returns when everybody has left. */
void dpi_device_close(dpi_device *d);
void dpi_device_open(dpi_device *d); /* it was closed, and nothing came of it */
/* d, which is closed, is gone, and with it the registration of its bit if that is d's still. */
void dpi_device_finish(dpi_device *d);
int dpi_backend_find(const char *name);        /* bit by key name ("CPU", "npu"); -1: none */
int dpi_backend_find_device(const char *name); /* bit by device name ("cpu", "npu"); -1: none */
const char *dpi_backend_name(int bit);         /* NULL: no such backend alive */
bool dpi_backend_has_memory(int bit);          /* a plugin's device, with memory of its own */
unsigned dpi_backend_named_top(void);          /* highest named bit in use + 1 - DP_B_NAMED_FIRST */
/* Live storages keep a bit from being reused, and the plugin from being unloaded; dp_backends_pin()
 * does only the first. */
void dpi_backend_ref(int bit);
void dpi_backend_unref(int bit);
uint64_t dpi_backend_storages(int bit); /* 0 of CPU and Meta, which are not counted by bit */
/* Get the device that a backend has now, pinned until dpi_device_leave().  Fails with DP_ERUNTIME,
 * backend npu was unloaded, backend CUDA has no device in this process. */
int dpi_device_enter(int bit, dpi_device **out, dp_error *err);
/* Pin the device that *on points to; another thread may change that pointer, by dpi_device_move().
 * Fails if it is not its backend's device any more.  former: to give something back, which
 * a device that was replaced takes until it is finished. */
int dpi_device_use(dpi_device *const *on, bool replaced, dpi_device **out, dp_error *err);
/* *on = to, with their references. */
void dpi_device_move(dpi_device **on, dpi_device *to);
void dpi_device_leave(dpi_device *d);
/* Turn what a function of a device returned (rc) and wrote (from) into an error that names both. */
#define DPI_ALL_STREAMS ((const void *)-1)
/* An operator is about to give work to this stream, NULL the default one, of a device of d. */
void dpi_queued_note(dpi_device *d, dp_device device, const void *stream, const char *op);
/* What the stream, or DPI_ALL_STREAMS of the device, was given has ended, or its fault was told. */
void dpi_queued_forget(dpi_device *d, dp_device device, const void *stream);
/* Function `what` of d, which waited for the stream or asked for it, returned rc.  0: nothing is
 * queued any more.  Else dpi_device_failed(), and the error names the operators that may have
 * queued what failed. */
int dpi_device_waited(dpi_device *d, const char *what, int rc, const dp_error *from,
                      dp_device device, const void *stream, dp_error *err);
int dpi_device_failed(const dpi_device *d, const char *what, int rc, const dp_error *from,
                      dp_error *err);
/* How many devices it has: its indices are below that.  The caller is inside. */
int dpi_device_count(const dpi_device *d);
/* A number that changes when a registration of the bit ends, but not on a reload.  It tells memory
 * of an unloaded device from that of a later one with the same name.  Stable between enter and
 * leave. */
uint64_t dpi_backend_registration(int bit);

/* -- tally.c: numbers that every thread counts and few ask for -- */
enum {
    DPI_TALLY_TENSORS,
    DPI_TALLY_STORAGES, /* of backends that are always there; backend.c counts those of others */
    DPI_TALLY_BYTES,    /* of storages, as far as block.c has not counted them */
    DPI_TALLY_END
};
typedef struct dpi_tally_row { /* of a thread, which alone writes n; the first one is shared */
    _Alignas(64) atomic_int_fast64_t n[DPI_TALLY_END];
    atomic_bool taken;
} dpi_tally_row;
extern dpi_tally_row dpi_tally_rows[];
extern _Thread_local dpi_tally_row *dpi_tally_own;
void dpi_tally_enter(void);       /* take a row for this thread, if there is one left */
int64_t dpi_tally_sum(int which); /* exact while nobody counts */
/* What this row holds now. */
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

/* -- the pool behind dp_parallel_for -- */
uint64_t dpi_nanos(void);               /* CLOCK_MONOTONIC */
uint64_t dpi_nanos_about(void);         /* the same up to a tick of the system ago, for a tenth */
struct timespec dpi_time_after(int ms); /* when so many ms have passed, by CLOCK_MONOTONIC */
/* When work is to stop; all zero: never. */
typedef struct dpi_stop {
    uint64_t deadline; /* nanos; 0: none */
    const dp_cancel_flag *cancel;
} dpi_stop;
/* 0, DP_ECANCELLED or DP_EDEADLINE. */
static inline int dpi_stop_code(const dpi_stop *s)
{
    if (s->cancel != NULL && atomic_load_explicit(s->cancel, memory_order_relaxed) != 0)
        return DP_ECANCELLED;
    return s->deadline != 0 && dpi_nanos() >= s->deadline ? DP_EDEADLINE : 0;
}

/* fn over [begin, end) in pieces of at least `grain`, on at most max_threads threads (0: all of the
 * pool's), the caller included.  Nested calls, and calls while the pool is busy with another, run
 * on whatever threads are free, at least the caller.  It asks `stop` (NULL: does not) before the
 * first step and about every 2 ms, in pieces as long as the grain if one takes longer, and returns
 * its code.  DPI_THREAD_LEFT: fn ended the thread that it was called on.  Any thread. */
enum { DPI_THREAD_LEFT = INT32_MIN };
int dpi_thread_pool_run(int max_threads, int64_t begin, int64_t end, int64_t grain, dp_range_fn fn,
                        void *user, const dpi_stop *stop);

/* The code with which the job whose body the calling thread runs is to stop; 0: none, or there is
 * no such job. */
int dpi_thread_pool_stop_code(void);

/* -- small things -- */
/* For a thread that the caller starts next: it takes no signals but those of its own faults. */
void dpi_signals_block(sigset_t *before);
uint64_t dpi_hash(const char *s, size_t n);
/* Up to `max` of the `n` names nearest to `name` by edit distance, as "'a', 'b'" into buf. */
void dpi_nearest(const char *name, const char *const *names, size_t n, size_t max, char *buf,
                 size_t bytes);

#pragma GCC visibility pop

#endif
