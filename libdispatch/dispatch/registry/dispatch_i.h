/* dispatch_i.h -- the registry's truth, its snapshots, and the call machinery.
 *
 * Truth: each dpi_truth keeps an operator's kernels per key, newest first; it is changed under the
 * registry's lock only.  Cache: dpi_entry, an immutable table derived from one truth by one
 * function (dpi_entry_build).  Snapshot: an immutable array of entries and a hash of names.
 *
 *   I1: table slot of (op, key) == dpi_table_cell(truth(op), key), for every snapshot published
 *   I2: a published snapshot and what it points to never change
 *   I3: a thread that runs a kernel of generation g has published a frame naming g
 *   I4: a generation's code is unmapped only when no frame names it and no later frame can
 */
#ifndef DPI_DISPATCH_I_H
#define DPI_DISPATCH_I_H

#include "tensor/tensor_i.h"
#include "dispatch/schema/schema.h"
#include <pthread.h>

#pragma GCC visibility push(hidden)

/* One load of one plugin's (or unit's) code. */
typedef struct dpi_generation {
    atomic_uint refs;  /* kernels, frames never: host memory only, not the mapping */
    atomic_int closed; /* 1: no new frame may name it (I4) */
    atomic_uint_fast64_t
        gone_at;          /* number of the first snapshot without it; UINT64_MAX: attached */
    uint64_t number;      /* grows with every load in the process's registry */
    uint64_t load_number; /* place in the stack; a reload keeps it */
    char plugin[DP_LIMIT_NAME_BYTES + 1];
    char version[64];
} dpi_generation;
dpi_generation *dpi_generation_ref(dpi_generation *g);
dpi_generation *dpi_generation_unref(dpi_generation *g);

typedef struct dpi_kernel { /* immutable, counted */
    dp_boxed_fn boxed;
    dp_any_fn unboxed;
    dpi_generation *gen;
    uint64_t id; /* unique for ever */
    atomic_uint refs;
    uint32_t line;
    uint32_t order;    /* within its generation: later records are newer */
    uint16_t flags;    /* DP_FLAG_* */
    dp_key key;        /* registered for: may be an alias; Undefined for none */
    char *file, *code; /* copies: they outlive the mapping */
} dpi_kernel;
dpi_kernel *dpi_kernel_unref(dpi_kernel *k);

/* What stands in a table cell; index into dpi_provenance_names. */
enum {
    DPI_P_KERNEL,
    DPI_P_DEFAULT_BACKEND,
    DPI_P_MATH,
    DPI_P_NESTED,
    DPI_P_AUTOGRAD,
    DPI_P_BATCHED,
    DPI_P_META,
    DPI_P_AMBIGUOUS,
    DPI_P_FALLBACK,
    DPI_P_FALLTHROUGH,
    DPI_P_MISSING
};
extern const char *const dpi_provenance_names[];

typedef struct dpi_cell {
    const dpi_kernel *kernel; /* NULL: missing, ambiguous, or the host's own fallthrough */
    uint8_t provenance;
} dpi_cell;

/* Kernels of one operator for one registered key, newest first. */
typedef struct dpi_stack {
    dp_key key;
    uint32_t n, cap;
    dpi_kernel **kernels;
} dpi_stack;

/* An operator's truth.  Interned: lives as long as the registry, so handles never dangle. */
struct dp_op {
    uint32_t id;
    const dp_registry *reg;
    char *name; /* "aten::add.Tensor" */
    /* under the registry's lock: */
    dp_schema *schema;       /* NULL: not defined */
    dpi_generation *def_gen; /* who defined it */
    char *def_file, *tags;
    uint32_t def_line;
    uint64_t def_order; /* grows in the order of definition */
    uint32_t n_stacks, cap_stacks;
    dpi_stack *stacks; /* by key, ascending dp_key */
};
typedef struct dp_op dpi_truth;

/* Fallbacks per runtime key, and per functionality, for the backends without one of their own: at
 * most one. */
typedef struct dpi_fallbacks {
    dpi_kernel *kernel[DPI_SLOTS_MAX];
    dpi_kernel *of_all[DP_F_COUNT];
} dpi_fallbacks;
static inline const dpi_kernel *dpi_fallback_for(const dpi_fallbacks *f, dp_key k)
{
    const dpi_kernel *own = f->kernel[dpi_key_slot(k)];
    return own != NULL ? own : f->of_all[dp_key_functionality(k)];
}

/* The rules of c10::impl::OperatorEntry for one runtime key (Undefined included): truth, fallbacks,
 * and the host's own fallthroughs in; what serves the key out.  extra, n_extra: kernels that the
 * operator would also have (what-if), as if registered last. */
dpi_cell dpi_table_cell(const dpi_truth *t, const dpi_fallbacks *f, dp_key k, const dp_key *extra,
                        size_t n_extra);

enum {
    DPI_CELL_MISSING = 0xffff,
    DPI_CELL_AMBIGUOUS = 0xfffe,
    DPI_CELL_WARY =
        0x8000 /* with the index of a kernel that may want bytes, see dpi_may_want_bytes */
};

/* The cache of one operator: immutable, counted. */
typedef struct dpi_entry {
    atomic_uint refs;
    const dp_op *op;
    const dp_op *callable; /* op when it is defined, else NULL */
    dp_schema *schema;     /* counted; NULL: not defined */
    uint64_t def_order;    /* of the operator: overloads are tried in it */
    uint32_t code;         /* dpi_registry_code() of schema->code; UINT32_MAX, no caller's: none */
    uint32_t n_slots;
    uint32_t n_args, n_rets; /* of the schema */
    /* dpi_argument.tags; a written argument's return: None */
    uint32_t arg_tags[DP_LIMIT_ARGUMENTS], ret_tags[DP_LIMIT_ARGUMENTS];
    uint64_t written;    /* arguments that kernels write: the schema's, and "also_written" ones */
    uint64_t counted;    /* those of them whose versions count up */
    bool returns_memory; /* some return may point to memory: a list, a string */
    bool views;          /* some return may be a view of an argument */
    bool views_one;      /* and there is nothing more to it: one tensor, a view of another */
    bool detached;       /* such returns have no root (tag "detached") */
    bool settles;        /* calls of it have more to do: memory, versions, views */
    bool boxes;          /* the host has to see arguments and returns of every call of it */
    uint32_t n_kernels, n_columns;
    dpi_kernel **kernels; /* counted */
    uint16_t *table;      /* [n_slots] index into kernels, with DPI_CELL_WARY or not; DPI_CELL_* */
    uint8_t *provenance;  /* [n_slots] */
    const dpi_kernel *composite; /* of kernels: the one that calls other operators; NULL: none */
    uint64_t mask[]; /* [2 * n_columns] functionalities that are not passed over, by backend's
                        column; [2 * c + 1]: with the skip bit, [2 * c]: without */
} dpi_entry;         /* kernels, table and provenance are in this block */

/* What the entry's table says for k. */
dpi_cell dpi_entry_cell(const dpi_entry *e, dp_key k);
/* The key is passed over: the host's fallthrough, or a kernel that is one. */
bool dpi_cell_falls_through(dpi_cell c);
/* So it is where no argument may have a gradient. */
bool dpi_cell_needs_grad(dpi_cell c);
bool dpi_is_composite(dp_key k); /* an alias whose kernels call others, as a rule */
/* A composite kernel that nobody has flagged as touching none: it may be written like one of a backend.
 * Then it runs for no tensor without memory; where no tensor is involved, it may. */
bool dpi_may_want_bytes(const dpi_entry *e, const dpi_kernel *k);
/* The keys that have a kernel, for messages: "CPU, AutogradCPU", or "none"; the first of many. */
void dpi_entry_list(const dpi_entry *e, dpi_text *t);

typedef struct dpi_names dpi_names; /* counted hash: full name -> operator id */

typedef struct dpi_snapshot {
    atomic_uint refs;
    uint64_t number;
    dp_registry *reg;
    uint32_t n_entries;  /* operator ids below this */
    uint32_t n_plain;    /* n_entries, or 0 when there are observers */
    dpi_entry **entries; /* NULL where the operator has neither def nor kernel */
    dpi_names *names;
    uint32_t n_observers;
    dpi_kernel **observers; /* counted; fn in ->unboxed */
    struct dpi_snapshot *next_retired;
} dpi_snapshot;

/* -- threads and contexts -- */

/* What a thread publishes about one call.  Written by its thread with plain (relaxed) stores; the
 * atomic members are read by anyone. */
typedef struct dpi_frame {
    _Atomic(const dpi_kernel *) kernel; /* NULL: none */
    _Atomic(const dp_op *) op;
    _Atomic(uint64_t) functionality, backend; /* the call's key set, masked; its highest key ran */
    _Atomic(const dp_value *) args;           /* of a boxed call while it runs, else NULL */
    struct dpi_state *state; /* of the context when it began; for its own thread alone; not of calls
                                that went the short way, which begin with the outermost */
    uint64_t unused[2];
} dpi_frame;
_Static_assert(sizeof(dpi_frame) == 64, "a power of 2");

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
    atomic_uint_fast64_t looks; /* dpi_changes.n when dp_shapes_hold() began; 0: nothing is held */
    struct dp_ctx *begun;       /* that holds `pinned` by dp_ctx_begin(); for this thread only */
} dpi_thread;

/* Of a thread that a plugin started: its name and its file, for crash reports; else "". */
enum { DPI_THREAD_PLUGIN_BYTES = 512 };
extern _Thread_local char dpi_thread_plugin[DPI_THREAD_PLUGIN_BYTES];

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

/* Dispatcher state: of the request, or inside of a guard.  64 bytes: depths are shifts then. */
typedef struct dpi_state {
    dp_keyset include, exclude;
    const dp_mode *mode; /* the context's own, or modes[n_modes - 1] */
    uint64_t n_modes;    /* of dp_ctx.modes, in use */
    uint64_t unused[2];
} dpi_state;
_Static_assert(sizeof(dpi_state) == 64, "a power of 2");

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
    dp_call_facts facts;
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
    dp_streams *streams;       /* borrowed; NULL: own_streams, made when they are first asked for */
    dp_streams *own_streams;
    dp_generator *generator; /* counted; held by the running kernel; NULL: none */
    char **warnings;         /* of the request; dp_malloc() */
    uint32_t n_warnings, cap_warnings;
    dp_error error;
    dpi_state states[DP_LIMIT_GUARDS + 1];
};

/* -- values (value.c) -- */

/* Tags of values that point to memory which has to live as long as they do. */
#define DPI_TAGS_MEMORY                                                                            \
    (1u << DP_TAG_COMPLEX | 1u << DP_TAG_STR | 1u << DP_TAG_TENSORS | 1u << DP_TAG_INTS |          \
     1u << DP_TAG_DOUBLES | 1u << DP_TAG_BOOLS | 1u << DP_TAG_LIST)
size_t dpi_items_bytes(uint32_t tag, size_t n); /* of a list of n, or of a string */
bool dpi_value_lacks(const dp_value *v);        /* it has to point somewhere and does not */
/* Those that point into frames of this thread below `frame`, deep, become None; are there any? */
bool dpi_values_left(dp_value *values, size_t n, const void *frame);
/* Bytes of all that the values point to, lists in lists too; tensors are not followed. */
size_t dpi_values_bytes(const dp_value *values, size_t n);
/* Copy all that to `to`, which has so many bytes, and have them point there; its end. */
char *dpi_values_move(dp_value *values, size_t n, char *to);
/* The same into an arena.  DP_ERESOURCE, and nothing has happened. */
int dpi_values_copy(dp_arena *a, dp_value *values, size_t n);
/* One more reference for every tensor in them, lists in lists too. */
void dpi_values_ref(const dp_value *values, size_t n);
/* Wind the arena back to `at`, but for what the values point to, which lies there then.
 * DP_ERESOURCE: the values may be released already. */
int dpi_values_settle(dp_arena *a, char *at, dp_value *values, size_t n);

/* -- registry -- */

struct dpi_plugin; /* plugin.c */

struct dp_registry {
    pthread_mutex_t lock; /* every change, and reading of truth */
    uint32_t number;      /* of the process's; tells typed calls of one from those of another */
    _Atomic(const dpi_snapshot *) current;
    uint64_t next_snapshot, next_generation, next_load, next_kernel;
    dp_op **ops; /* by id */
    uint32_t n_ops, cap_ops;
    dpi_names *names; /* of every interned name; snapshots share it */
    dpi_fallbacks fallbacks;
    struct dpi_library *libraries; /* namespace -> owner, by namespace */
    uint32_t n_observers;
    dpi_kernel **observers;    /* fn in ->unboxed; in load order */
    dp_generators *generators; /* of contexts that have no others */
    pthread_mutex_t ctx_lock;
    dp_ctx *contexts;
    uint64_t *counts_gone; /* calls per operator of contexts that are gone */
    uint32_t n_counts_gone;
    dpi_snapshot *retired;
    struct dpi_plugin *plugins; /* by load number; plugin.c's */
    /* Set with the first plugin, the first thread of one.  False: a thread runs on, and with it the
     * registry. */
    bool (*plugins_free)(dp_registry *reg), (*threads_end)(dp_registry *reg);
    pthread_mutex_t plugin_lock; /* one load, unload or reload at a time */
    struct dpi_listener_node *listeners;
    uint32_t n_kernels;
    dp_unit *units;
};

/* A namespace owned by a DP_LIBRARY block. */
typedef struct dpi_library {
    struct dpi_library *next;
    char *ns, *file;
    uint32_t line;
    dpi_generation *gen;
} dpi_library;

/* Calls counted so far: of one operator, of all. */
uint64_t dpi_op_calls(dp_registry *reg, uint32_t op_id);
uint64_t dpi_registry_calls(dp_registry *reg);

/* All registrations of one generation, as one change.  Made from blocks; what it says is checked in
 * full before anything changes.  Copies every string: records may be unmapped while it lives. */
struct dp_unit {
    dp_unit *next;
    dp_registry *reg;
    dpi_generation *gen;
    struct dpi_reg *regs; /* what to undo */
    uint32_t n_regs;
    uint32_t defs, impls, fallbacks, backends;
};

typedef struct dpi_attach_options {
    bool reject_override;
    dp_unit *replace; /* reload: take this unit's place and load number, and drop it, in the same
                     snapshot; it becomes draining: its generation stays callable from older pins */
} dpi_attach_options;

/* Check and publish, one snapshot.  On failure nothing has changed.  overrides (may be NULL): lines
 * for the report.  Blocks are sorted by (file, line) here. */
int dpi_registry_attach(dp_registry *reg, const char *name, const char *version,
                        const dp_block *const *blocks, size_t n, const dpi_attach_options *o,
                        dp_unit **out, dpi_text *overrides, dp_error *err);
/* Undo, one snapshot.  The unit's registrations are gone; its generation may still run. */
int dpi_registry_detach(dp_registry *reg, dp_unit *unit, dp_error *err);
/* Take a detach back (its drain timed out): same place in every stack, one snapshot. */
int dpi_registry_reattach(dp_registry *reg, dp_unit *unit, dp_error *err);
void dpi_unit_free(dp_unit *unit);                        /* after detach or replacement */
dpi_generation *dpi_unit_generation(const dp_unit *unit); /* borrowed */
/* True when no thread runs gen's kernels and none can start to: no pinned snapshot older than the
 * detach, or (close) gen is closed and no frame names it.  *who says what is in the way. */
bool dpi_generation_idle(dp_registry *reg, dpi_generation *gen, bool close, char *who,
                         size_t bytes);
/* Poll dpi_generation_idle until timeout_ms (-1 for ever). false: still in use, *who says by whom.
 * close: after a grace of 50 ms close the generation, so that calls from older snapshots that reach
 * it fail by name instead of holding it. */
bool dpi_generation_drain(dp_registry *reg, dpi_generation *gen, bool close, int timeout_ms,
                          char *who, size_t bytes);
bool dpi_registry_reclaim(
    dp_registry *reg); /* frees retired snapshots nobody pins; are some left? */

/* Hold a snapshot for reading (not calling); any thread. */
const dpi_snapshot *dpi_snapshot_get(dp_registry *reg);
void dpi_snapshot_put(const dpi_snapshot *s);
const dpi_entry *dpi_snapshot_find(const dpi_snapshot *s, const char *name,
                                   size_t n); /* NULL: none */
/* A C type as entries and callers of one registry keep it: its number, and the registry's above. */
static inline uint32_t dpi_registry_code(const dp_registry *reg, const char *code)
{
    uint32_t number = dpi_code_intern(code);
    return number != 0 ? number | reg->number << DPI_CODE_BITS : 0;
}

/* Resolve: argument keys -> final key set, key, cell.  Shared by call, explain and bind. */
dp_keyset dpi_call_keys(const dpi_entry *e, dp_keyset arguments, dp_keyset include,
                        dp_keyset exclude);
dp_keyset dpi_argument_keys(const dpi_entry *e, const dp_value *args);
/* Old generations that still run; under the registry's lock. */
uint32_t dpi_plugins_draining(const dp_registry *reg);
/* The host's table for plugins (host.c). */
const dp_host *dpi_host_table(void);
static inline dp_keyset dpi_frame_keys(const dpi_frame *f)
{
    return (dp_keyset){atomic_load_explicit(&f->functionality, memory_order_relaxed),
                       atomic_load_explicit(&f->backend, memory_order_relaxed)};
}

/* Is fake mode on?  Then whatever is made is a fake. */
static inline bool dpi_ctx_fake(const dp_ctx *ctx)
{
    return (ctx->state->include.functionality & DP_FBIT(DP_F_Fake)) != 0;
}

/* Of a call: has an argument no memory (device meta, a fake), or is fake mode on? */
static inline bool dpi_keys_memoryless(dp_keyset ks)
{
    return ((ks.functionality & DP_FBIT(DP_F_Fake)) | (ks.backend & DP_BBIT(DP_B_Meta))) != 0;
}

/* Does the call that ctx runs make tensors without memory?  Its kernel has bytes to neither read nor
 * write then. */
static inline bool dpi_ctx_memoryless(const dp_ctx *ctx)
{
    uint32_t n = ctx->thread ? atomic_load_explicit(&ctx->thread->depth, memory_order_relaxed) : 0;

    return dpi_ctx_fake(ctx) ||
           (n > 0 && dpi_keys_memoryless(dpi_frame_keys(&ctx->thread->frames[n - 1])));
}

/* Where a new tensor lies, at the expense of the context's account.  In fake mode it is a fake.  A
 * kernel for CPU that serves Meta, too, makes tensors of Meta there, whatever it names: it copies
 * operands and makes its results where it is. */
static inline dpi_place dpi_ctx_place(const dp_ctx *ctx, dp_device device)
{
    if (DPI_LIKELY(!dpi_ctx_memoryless(ctx)))
        return (dpi_place){device, ctx->account};
    if (dpi_ctx_fake(ctx))
        return (dpi_place){device | DPI_FAKE, ctx->account};
    const dpi_frame *f = &ctx->thread->frames[atomic_load(&ctx->thread->depth) - 1];
    const dpi_kernel *k = atomic_load_explicit(&f->kernel, memory_order_relaxed);
    if (dpi_frame_keys(f).functionality & DP_FBIT(DP_F_Fake))
        device |= DPI_FAKE;
    else if (k->key == DP_KEY_OF(DP_F_Dense, DP_B_CPU))
        device = DP_DEVICE(DP_B_Meta, 0);
    return (dpi_place){device, ctx->account};
}

/* The snapshot that ctx holds; only while it holds one. */
static inline const dpi_snapshot *dpi_ctx_snapshot(const dp_ctx *ctx)
{
    return atomic_load_explicit(&ctx->thread->pinned, memory_order_relaxed);
}

const dp_op *dpi_ctx_running(const dp_ctx *ctx);     /* the innermost call's; NULL: none runs */
const dpi_kernel *dpi_ctx_kernel(const dp_ctx *ctx); /* its kernel */

/* Hold a snapshot for a moment: the running call's or program's, or the newest. */
static inline int dpi_ctx_hold(dp_ctx *ctx, bool *begun)
{
    *begun = ctx->thread == NULL;
    return DPI_UNLIKELY(*begun) ? dp_ctx_begin(ctx) : 0;
}
static inline void dpi_ctx_let_go(dp_ctx *ctx, bool begun)
{
    if (DPI_UNLIKELY(begun))
        dp_ctx_end(ctx);
}

/* The entry of an operator id in s; NULL: it has neither definition nor kernel there. */
static inline dpi_entry *dpi_snapshot_at(const dpi_snapshot *s, uint64_t id)
{
    return DPI_LIKELY(id < s->n_entries) ? s->entries[id] : NULL;
}
static inline const dpi_entry *dpi_snapshot_entry(const dpi_snapshot *s, const dp_op *op)
{
    return DPI_LIKELY(op != NULL) ? dpi_snapshot_at(s, op->id) : NULL; /* NULL for NULL, too */
}

/* The code of a call of NULL, which is what dp_op_find() gave: its error stands. */
int dpi_fail_no_op(dp_ctx *ctx);

/* -- state.c -- */
void dpi_ctx_watch(dp_ctx *ctx);   /* sets ctx->watched */
void dpi_state_reset(dp_ctx *ctx); /* to the defaults, no guard open */
void dpi_state_fini(dp_ctx *ctx);

/* -- between call.c and ctx.c -- */
int dpi_ctx_count_grow(dp_ctx *ctx, uint32_t op_id); /* room for a counter; slow path */
/* A trace step begins / ends; index of the step, or -1. */
int32_t dpi_trace_enter(dp_ctx *ctx, const dp_op *op, dp_key key, uint32_t depth, bool redispatch,
                        const dpi_kernel *k, uint8_t provenance);
void dpi_trace_leave(dp_ctx *ctx, int32_t step, uint64_t nanos);
void dpi_warnings_clear(dp_ctx *ctx); /* warn.c */
/* Own a tensor for the request. takes */
int dpi_ctx_own(dp_ctx *ctx, dp_tensor *t);

#pragma GCC visibility pop

#endif
