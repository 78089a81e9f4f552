/* dispatchd/dispatch.h -- the dispatcher for whoever embeds it: a daemon, a test, a program.
 *
 *     dp_registry *reg; dp_ctx *ctx; dp_error err = DP_ERROR_INIT;
 *     dp_registry_new(&reg, &err);
 *     dp_plugin_load(reg, "/path/cpu.so", NULL, &report, &err);
 *     dp_ctx_new(reg, &ctx, &err);
 *     dp_call_boxed(ctx, dp_op_find(ctx, "aten::add.Tensor"), args, 3, rets, 1);
 *
 * A registry is a set of operators and plugins; it may be asked and called from any thread while
 * plugins come and go.  Functions that change it take its one lock.  Reading and calling take none:
 * they work on the immutable snapshot that was newest when the top-level call began. */
#ifndef DISPATCHD_DISPATCH_H
#define DISPATCHD_DISPATCH_H

#include "abi.h"
#include <stdarg.h>
#ifdef __GLIBC__ /* stdint.h, by way of abi.h, says so */
#include <sys/single_threaded.h>
#define DP_ONE_THREAD_ (__libc_single_threaded != 0)
#else
#define DP_ONE_THREAD_ 0
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if defined(DISPATCHD_PLUGIN_H)
#error "plugin.h is for plugins, dispatch.h for embedders: one file includes one of them"
#endif

/* noplt, where the compiler knows it: a call goes through the GOT at once, not by way of the PLT.
 */
#if defined(__GNUC__) && !defined(__clang__)
#define DP_API __attribute__((visibility("default"), noplt))
#else
#define DP_API __attribute__((visibility("default")))
#endif

/* Limits.  Everything a client or a plugin can grow has one: X(NAME, name, value). */
#define DP_LIMIT_MAP(X)                                                                            \
    X(CALL_DEPTH, call_depth, 128)             /* calls inside calls on one thread */              \
    X(OPERATORS, operators, 65535)             /* operator names a registry ever saw */            \
    X(KERNELS_PER_OP, kernels_per_op, 1000)    /* registered on one operator for one key */        \
    X(ARGUMENTS, arguments, 64)                /* of one schema, and returns */                    \
    X(SCHEMA_BYTES, schema_bytes, 16384)       /* text of one schema */                            \
    X(TYPE_DEPTH, type_depth, 16)              /* nesting of one type in a schema */               \
    X(NAME_BYTES, name_bytes, 127)             /* operator, plugin, backend names */               \
    X(PLUGINS, plugins, 1024)                  /* loaded at once */                                \
    X(PLUGIN_FILE, plugin_file, 256 << 20)     /* bytes of a plugin's file */                      \
    X(DRAINING, draining, 64)                  /* old generations still in use */                  \
    X(GUARDS, guards, 256)                     /* open at once in one request */                   \
    X(TRACE, trace, 4096)                      /* steps of one trace */                            \
    X(THREADS, threads, 1024)                  /* threads that ever called at once */              \
    X(OBSERVERS, observers, 16)                /* of all plugins together */                       \
    X(PLUGIN_THREADS, plugin_threads, 64)      /* of one plugin at once */                         \
    X(RESIZES, resizes, 64)                    /* new shapes of one tensor */                      \
    X(WARNINGS, warnings, 32)                  /* of one request */                                \
    X(WARNING_BYTES, warning_bytes, 1000)      /* of one; longer ones are cut */                   \
    X(NOTES, notes, 16)                        /* of one plugin (dp_note) */                       \
    X(NOTE_BYTES, note_bytes, 255)             /* of one; longer ones are cut */                   \
    X(WRAPPER_DEPTH, wrapper_depth, 64)        /* wrapper tensors inside one another */            \
    X(WRAPPER_PARTS, wrapper_parts, 256)       /* tensors of one wrapper, and integers */          \
    X(ATTACHED, attached, 16)                  /* values attached to one tensor */                 \
    X(ATTACHED_BYTES, attached_bytes, 1 << 20) /* of one such value */                             \
    X(KINDS, kinds, 8)                         /* of wrapper tensors, DP_WRAPPER_KIND */           \
    X(OBJECT_KINDS, object_kinds, 64)          /* DP_OBJECT_KIND, in the process */                \
    X(OBJECT_TENSORS, object_tensors, 1024)    /* of one object */                                 \
    X(REPEATED, repeated, 65535) /* elements that one number given for int[N] stands for */        \
    X(WARM_BYTES, warm_bytes, 256 << 20) /* freed memory that is kept for the next tensors */

#define DP_LIMIT_VALUE_(NAME, name, value) DP_LIMIT_##NAME = (value),
enum { DP_LIMIT_MAP(DP_LIMIT_VALUE_) };
#undef DP_LIMIT_VALUE_
/* Bytes of one storage, and elements from its start to the last one that a tensor reaches.  Twice
 * as many of the largest elements still fit int64: a step past the end never wraps. */
#define DP_LIMIT_STORAGE_BYTES ((int64_t)1 << 58)

/* -- the functions plugins have too (api.h): tensors, calls, guards -- */
#define DP_FN(ret, name, params, args) DP_API ret name params;
#include "api.h"
#undef DP_FN
#include "helpers.h"

/* -- references, counted in place: a call of a function that does no more costs as much as half a
 * dispatch.  Plugins, which are not built with the library that they will meet, call the host. --
 */

typedef struct dp_tensor_head { /* of this release's tensors; not part of the plugin ABI */
    dp_keyset keys;
    uint32_t refs;
} dp_tensor_head;
DP_API dp_tensor *dp_tensor_destroy(dp_tensor *t); /* its last reference is gone; returns NULL */

/* A locked instruction costs as much as a call: while the process has one thread they go without
 * (libstdc++'s shared_ptr does the same). */
extern inline __attribute__((gnu_inline, always_inline)) void dp_refs_add_(uint32_t *refs)
{
    if (DP_ONE_THREAD_)
        __atomic_store_n(refs, __atomic_load_n(refs, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
    else
        __atomic_fetch_add(refs, 1, __ATOMIC_RELAXED);
}
extern inline __attribute__((gnu_inline, always_inline)) bool
dp_refs_drop_(uint32_t *refs) /* true: that was the last one */
{
    if (!DP_ONE_THREAD_)
        return __atomic_sub_fetch(refs, 1, __ATOMIC_ACQ_REL) == 0;
    uint32_t left = __atomic_load_n(refs, __ATOMIC_RELAXED) - 1;
    __atomic_store_n(refs, left, __ATOMIC_RELAXED);
    return left == 0;
}

extern inline __attribute__((gnu_inline)) dp_tensor *dp_tensor_ref(dp_tensor *t)
{
    dp_refs_add_(&((dp_tensor_head *)(void *)t)->refs);
    return t;
}
extern inline __attribute__((gnu_inline)) dp_tensor *dp_tensor_unref(dp_tensor *t)
{
    if (t != NULL && __builtin_expect(dp_refs_drop_(&((dp_tensor_head *)(void *)t)->refs), 0))
        dp_tensor_destroy(t);
    return NULL;
}

/* -- memory of the host: the C library's, with allocation faults that a test can ask for -- */
DP_API void *dp_malloc(size_t bytes);
DP_API void *dp_calloc(size_t n, size_t bytes);
DP_API void *dp_realloc(void *p, size_t bytes);
DP_API char *dp_strdup(const char *s);
/* Allocate n items of `each` bytes; an overflow counts as no memory, as it does in dp_calloc(). */
static inline void *dp_malloc_n(size_t n, size_t each)
{
    return dp_malloc(dp_size_times(n, each));
}
static inline void *dp_realloc_n(void *p, size_t n, size_t each)
{
    return dp_realloc(p, dp_size_times(n, each));
}
DP_API void dp_free(void *p);
/* The n-th allocation from now (1 = the next), of any thread, fails once; 0 takes it back. */
DP_API void dp_fault_arm(uint64_t n);
DP_API bool dp_fault_hit(void); /* did it fail since the last arm? */

/* Freed memory of tensors is kept for the next ones, DP_LIMIT_WARM_BYTES of it: give it back to the
 * system, the largest pieces first, until at most `keep` bytes are left.  For when nobody will want
 * it soon. */
DP_API void dp_memory_trim(size_t keep);

/* One lifetime for many allocations.  Not thread-safe. */
typedef struct dp_arena dp_arena;
DP_API dp_arena *dp_arena_new(void);                    /* NULL: no memory */
DP_API dp_arena *dp_arena_free(dp_arena *a);            /* NULL is fine; returns NULL */
DP_API void dp_arena_reset(dp_arena *a);                /* keeps one block warm */
DP_API void *dp_arena_alloc(dp_arena *a, size_t bytes); /* 16-byte aligned; NULL: no memory */
/* Such an allocation of `what` failed: DP_ERESOURCE, by the limit of who pays for a context's
 * arena, or for want of memory. */
DP_API int dp_arena_failed(dp_arena *a, size_t bytes, const char *what, dp_error *err);
DP_API void *dp_arena_dup(dp_arena *a, const void *p, size_t bytes);
/* Allocate n items of `each` bytes; an overflow counts as no memory. */
static inline void *dp_arena_alloc_n(dp_arena *a, size_t n, size_t each)
{
    return dp_arena_alloc(a, dp_size_times(n, each));
}
static inline void *dp_arena_dup_n(dp_arena *a, const void *p, size_t n, size_t each)
{
    return dp_arena_dup(a, p, dp_size_times(n, each));
}
DP_API char *dp_arena_printf(dp_arena *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* -- errors -- */
DP_API int dp_error_set(dp_error *err, int code, const char *format, ...) /* err may be NULL */
    __attribute__((format(printf, 3, 4)));
DP_API void dp_error_clear(dp_error *err);
DP_API const char *dp_error_name(int code); /* "TypeError"; NULL for a code that is not ours */
DP_API const char *dp_error_text(int code);

/* DP_OK while bytes, which sizes [n] of items of `each` come to (sizes.h), are at most `limit`;
 * else DP_ERESOURCE with all of them and the limit's name. */
DP_API int dp_sizes_check(uint64_t bytes, uint64_t limit, const char *name, const int64_t *sizes,
                          size_t n, size_t each, dp_error *err);
/* Characters to insert, drop or change to make b of a (Levenshtein), of their first
 * DP_LIMIT_NAME_BYTES: for "did you mean". */
DP_API size_t dp_edit_distance(const char *a, const char *b);

/* -- dtypes, keys, devices -- */
DP_API dp_dtype dp_dtype_parse(const char *name); /* DP_DTYPE_NONE when there is none */
/* Elements of one dtype as another, n of them, packed; full conversions as static_cast does in
 * ATen. */
DP_API void dp_convert(dp_dtype to, void *dst, dp_dtype from, const void *src, size_t n);

/* The plugin that names the kind of wrapper tensors whose key k is, copied into owner; "" when it
 * is unloaded and tensors of the kind live.  NULL: k is no living kind's. */
DP_API const char *dp_kind_owner(dp_key k, char owner[DP_LIMIT_NAME_BYTES + 1]);
DP_API dp_key dp_key_parse(const char *name); /* Undefined for "Undefined" and for unknown names */
/* Tells those two apart.  DP_ENOTFOUND names the nearest ones. */
DP_API int dp_key_lookup(const char *name, dp_key *out, dp_error *err);
/* Runtime keys of a set, highest priority first; returns how many, writes at most cap. */
DP_API size_t dp_keyset_list(dp_keyset s, dp_key *out, size_t cap);
/* "DispatchKeySet(AutogradCPU, CPU)" without the wrapper: "AutogradCPU, CPU". */
DP_API const char *dp_keyset_print(dp_keyset s, char *buf, size_t bytes);
/* How often this thread has begun to call functions of devices that plugins bring: for executors,
 * since any of them may wait for its device. */
DP_API uint64_t dp_devices_entered(void);
DP_API const char *dp_device_name(dp_device d, char buf[DP_KEY_NAME_MAX]); /* "cpu", "npu:0" */
DP_API int dp_device_parse(const char *name, dp_device *out, dp_error *err);
/* Pin those named backends of `bits` (DP_BBIT) that are alive, and return their bits for
 * dp_backends_unpin().  Code that keeps a device number beyond a call pins its backend: the number
 * might otherwise mean another backend after an unload and a load.  A pin holds no plugin back.
 * Any thread. */
DP_API uint64_t dp_backends_pin(uint64_t bits);
DP_API void dp_backends_unpin(uint64_t bits);
/* The same for code that keeps a key set: its named backends, and its kinds of wrapper tensors.
 * Returns what dp_keyset_unpin() takes. */
DP_API dp_keyset dp_keyset_pin(dp_keyset s);
DP_API void dp_keyset_unpin(dp_keyset pinned);

typedef struct dp_backend_info {
    const char *name; /* key name: "CPU", "npu" */
    int bit;
    bool named;
    const char *owner; /* plugin, for named ones */
    uint64_t storages; /* live on it */
} dp_backend_info;
/* Every backend alive, lowest bit first; *out in the arena.  0: no memory.  Any thread. */
DP_API size_t dp_backend_list(dp_arena *a, const dp_backend_info **out);

#include "account.h"

/* -- tensors, beside those of api.h -- */

/* What is attached to a tensor (dp_tensor_attach). */
typedef struct dp_attached_info {
    const char *key;
    uint64_t bytes; /* charged */
} dp_attached_info;
/* *out [*n] in the arena, in the order in which they were attached.  Any thread. */
DP_API int dp_tensor_attached_list(const dp_tensor *t, dp_arena *arena,
                                   const dp_attached_info **out, size_t *n, dp_error *err);

/* These make tensors without a context.  Same meaning as their namesakes; *out owned. */
DP_API int dp_tensor_new(dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
                         const int64_t *strides /* NULL: contiguous */, dp_tensor **out,
                         dp_error *err);
/* A tensor over a whole storage of n_elements with geometry of its own, zero-filled where the
 * host's. */
DP_API int dp_tensor_new_storage(dp_dtype dtype, dp_device device, int64_t n_elements, int ndim,
                                 const int64_t *sizes, const int64_t *strides, int64_t offset,
                                 dp_tensor **out, dp_error *err);
/* Wrap foreign host memory; release(arg) runs when the last tensor on it goes.  Takes on success.
 */
DP_API int dp_tensor_wrap(dp_dtype dtype, int ndim, const int64_t *sizes, const int64_t *strides,
                          void *data, size_t bytes, void (*release)(void *arg), void *arg,
                          dp_tensor **out, dp_error *err);
/* A second tensor that stands for t, as when t is saved: the same storage, geometry, version
 * counter and dp_tensor_id(). */
DP_API int dp_tensor_alias(const dp_tensor *t, dp_tensor **out, dp_error *err);
/* It has sizes and a dtype and nothing to read: on device meta, a fake. */
DP_API bool dp_tensor_is_memoryless(const dp_tensor *t);
/* Copy all elements, packed row-major, to or from host memory of numel*itemsize bytes.  Writing
 * counts as a version. */
DP_API int dp_tensor_read(const dp_tensor *t, void *dst, dp_error *err);
DP_API int dp_tensor_write(dp_tensor *t, const void *src, dp_error *err);
/* A new contiguous tensor of version 0 with these elements, packed and of dtype `of`, which are
 * converted; *out owned.  Made for a, as by a call of its context (account.h); NULL: for nobody. */
DP_API int dp_tensor_from(dp_account *a, dp_dtype dtype, dp_device device, int ndim,
                          const int64_t *sizes, dp_dtype of, const void *src, dp_tensor **out,
                          dp_error *err);

/* fn(arg) is called when memory that a stream still uses is put aside (dp_record_stream): somebody
 * has to call dp_plugin_reap() from time to time then, or it is released with the next allocation
 * on its device.  On any thread; it must be short and call nothing of the library.  NULL: nobody is
 * told. */
DP_API void dp_on_aside(void (*fn)(void *arg), void *arg);

/* fn(text, arg) is called when code of a plugin changed state of the process that it must leave
 * alone (docs/plugins.md), which the host has set back then: once for each generation of a plugin
 * and kind of code, and after every load, hook and unload that did.  What a kernel changed is among
 * its context's warnings, too.  On the thread that ran the code; it must be short and load no
 * plugin.  NULL: nobody is told. */
DP_API void dp_on_warning(void (*fn)(const char *text, void *arg), void *arg);

typedef struct dp_tensor_stats {
    uint64_t tensors, storages, bytes, bytes_peak;
} dp_tensor_stats;
DP_API void dp_tensor_stats_get(dp_tensor_stats *out); /* of the process */

/* -- generators, beside the draws of api.h; any thread -- */

/* The seed of a generator that nobody seeded: torch.Generator()'s. */
#define DP_GENERATOR_SEED UINT64_C(67280421310721)
/* Counted; *out owned.  DP_ERUNTIME: no such device. */
DP_API int dp_generator_new(dp_device device, uint64_t seed, dp_generator **out, dp_error *err);
DP_API dp_generator *dp_generator_ref(dp_generator *g);
DP_API dp_generator *dp_generator_unref(dp_generator *g); /* NULL is fine; returns NULL */
/* seed, state_get and state_set wait for the kernel that holds it.  A state is the bytes of
 * torch.Generator.get_state(), for the CPU, and {seed, offset} for other devices; DP_EVALUE: it is
 * none. */
DP_API void dp_generator_seed(dp_generator *g, uint64_t seed);
DP_API uint64_t dp_generator_initial_seed(const dp_generator *g);
DP_API size_t dp_generator_state_bytes(const dp_generator *g);
DP_API void dp_generator_state_get(dp_generator *g, void *out);
DP_API int dp_generator_state_set(dp_generator *g, const void *state, size_t bytes, dp_error *err);
DP_API bool dp_generator_busy(const dp_generator *g); /* a kernel holds it now */
/* Let those that wait for g ask again whether they were called off (dp_ctx_set_cancel). */
DP_API void dp_generator_wake(dp_generator *g);

/* The current stream of each device: of a session.  Any thread. */
typedef struct dp_streams dp_streams;
DP_API int dp_streams_new(dp_streams **out, dp_error *err);
DP_API dp_streams *dp_streams_free(dp_streams *all); /* NULL is fine; returns NULL */

/* Default generators, one a device, each made when it is first asked for; all with one seed, which
 * nobody knows before it is set. */
typedef struct dp_generators dp_generators;
DP_API int dp_generators_new(dp_generators **out, dp_error *err);
DP_API dp_generators *dp_generators_free(dp_generators *all); /* NULL is fine; returns NULL */
DP_API int dp_generators_get(dp_generators *all, dp_device device, dp_generator **out /* owned */,
                             dp_error *err);
DP_API void dp_generators_seed(dp_generators *all, uint64_t seed); /* torch.manual_seed */
/* Their seed; false: nobody set it. */
DP_API bool dp_generators_initial_seed(dp_generators *all, uint64_t *seed);
DP_API bool dp_generators_busy(dp_generators *all); /* a kernel holds one of them now */

/* -- objects of plugins (api.h) -- */

DP_API int dp_object_check(dp_object *o, dp_error *err); /* DP_ERUNTIME: it has ended */
DP_API const char *dp_object_plugin(const dp_object *o); /* that made it; borrowed from o */
DP_API size_t dp_object_bytes(const dp_object *o);       /* of its data */
DP_API uint64_t dp_objects_count(void);                  /* in the process, ended ones too */

/* Threads of the pool behind dp_parallel_for, the caller not counted; once, before the first use.
 * 0 runs everything on the caller. */
DP_API int dp_thread_pool_start(int threads, dp_error *err);
DP_API void dp_thread_pool_stop(void);

/* -- registry -- */
typedef struct dp_registry dp_registry;
DP_API int dp_registry_new(dp_registry **out, dp_error *err); /* *out owned; DP_ERESOURCE */
/* Unloads everything.  Every context must be gone.  NULL is fine; returns NULL, or reg, which then
 * has to stay, when a thread of a plugin did not end. */
DP_API dp_registry *dp_registry_free(dp_registry *reg);

/* Where a definition or kernel comes from. */
typedef struct dp_provenance {
    const char *plugin; /* "(built in)" for the host's fallthroughs */
    uint64_t generation;
    const char *file;
    uint32_t line;
} dp_provenance;

/* Attach records without a file: what dp_plugin_load does after dlopen, for embedders and tests.
 * All or nothing, publishes one snapshot.  Blocks, and what they point to, must outlive the unit.
 */
typedef struct dp_unit dp_unit;
DP_API int dp_registry_attach(dp_registry *reg, const char *name, const char *version,
                              const dp_block *blocks, size_t n, dp_unit **out, dp_error *err);
/* Undo it: one snapshot, then waits until nobody runs its kernels (timeout_ms, -1: for ever).  On
 * DP_EBUSY it stays attached and *err says who runs what.  Frees the unit on success. */
DP_API int dp_registry_detach(dp_registry *reg, dp_unit *unit, int timeout_ms, dp_error *err);

/* -- plugins -- */
typedef struct dp_load_options {
    uint32_t size;
    bool reject_override; /* replace:"reject": a kernel on an occupied (operator, key) is refused */
    const char *search_path; /* ':'-separated; where a bare name is looked up */
    const char
        *cache_dir; /* where private copies live; NULL: a directory under the temporary one */
    /* Try the private copy in another process, which may die of it: dp_plugin_try() there.  What it
     * refuses is not mapped here.  NULL: no trial. */
    int (*probe)(const char *copy, dp_error *err);
    int drain_ms; /* a reload waits so long for calls of the old code; 0: 20 */
} dp_load_options;

typedef struct dp_plugin_report {
    char plugin[128];
    char version[64];
    uint64_t generation;
    uint32_t defs, impls, fallbacks, n_backends;
    const char *const *backends; /* in the arena */
    uint32_t n_dangling;
    const char *const *dangling; /* operators implemented but not defined */
    uint32_t n_overrides;
    const char *const *overrides; /* "aten::add.Tensor CPU: a.c:3 over b.c:7" */
    double millis;
} dp_plugin_report;

typedef struct dp_unload_report {
    double drained_ms;
    uint32_t removed; /* registrations */
    bool unmapped;
    char kept_because[256]; /* why the mapping stayed; "" when it went */
    uint64_t bytes_returned;
    uint64_t old_generation; /* reload */
    bool drained;            /* reload: the old one was gone when this was answered */
} dp_unload_report;

/* Any thread; one load, unload or reload at a time, the others wait.  They block, reading files and
 * draining.  A failure leaves the registry as it was.
 *
 * path absolute, or a bare name.  o may be NULL.  Strings of *report live in a.  DP_ENOTFOUND: no
 * file; DP_EABI, DP_EPLUGIN: not one of ours, or it breaks its contract; DP_EEXISTS: loaded
 * already, or what it brings is taken; DP_ERESOURCE. */
DP_API int dp_plugin_load(dp_registry *reg, const char *path, const dp_load_options *o, dp_arena *a,
                          dp_plugin_report *report, dp_error *err);
/* Detach, wait until nobody runs its kernels (timeout_ms, -1: for ever), close.  DP_EBUSY: still in
 * use, or storages live on its backend and force is false; it stays loaded.  With force those are
 * released before its on_unload runs, and one that fails only keeps the code mapped; calls that
 * still run keep it mapped until they have ended, and kept_because names one.  DP_ENOTFOUND offers
 * the nearest names. */
DP_API int dp_plugin_unload(dp_registry *reg, const char *plugin, int timeout_ms, bool force,
                            dp_unload_report *report, dp_error *err);
/* Load the file again from its path, in the old one's place; if it fails the old one stays. */
DP_API int dp_plugin_reload(dp_registry *reg, const char *plugin, const dp_load_options *o,
                            dp_arena *a, dp_plugin_report *report, dp_unload_report *old,
                            dp_error *err);
/* Load this very file (absolute) as dp_plugin_load does, up to its on_load hook, and unload it; no
 * registry, no copy.  A damaged file may kill the process that does this. */
DP_API int dp_plugin_try(const char *path, dp_error *err);
/* The file that dp_plugin_load would read: path itself when absolute, else DIR/NAME.so or DIR/NAME
 * in the first directory of search_path that has one.  *out in a. */
DP_API int dp_plugin_find(const char *path, const char *search_path, dp_arena *a, const char **out,
                          dp_error *err);
/* Close old generations nobody runs any more, and drop the registry's old snapshots; returns how
 * many generations are left, and one more if snapshots are, and how many blocks of devices' memory
 * wait for a stream (dp_on_aside).  Call now and then after a load, unload
 * or reload, until it is 0. */
DP_API size_t dp_plugin_reap(dp_registry *reg);

/* A line that a plugin says of itself (dp_note). */
typedef struct dp_note_info {
    const char *name, *text;
} dp_note_info;

typedef struct dp_plugin_info {
    const char *plugin, *version, *path, *mapped_file;
    uint64_t generation, load_number;
    uint32_t defs, impls, fallbacks, backends;
    bool resident, draining;  /* draining: an old generation that still runs */
    const char *kept_because; /* draining, kept: why; else why it would stay mapped, or "" */
    uint64_t calls_running;
    bool kept;                 /* nothing of it is registered any more, but it is still mapped */
    uint32_t kinds;            /* of wrapper tensors, DP_WRAPPER_KIND */
    const dp_note_info *notes; /* oldest first */
    size_t n_notes;
} dp_plugin_info;
/* By load number: those that are loaded, and generations that are not gone from memory yet.  The
 * generation of one whose load failed is 0. */
DP_API int dp_plugin_list(dp_registry *reg, dp_arena *a, const dp_plugin_info **out, size_t *n,
                          dp_error *err);

/* The manifest read from the file's ELF note; nothing in it runs, it is not even mapped for
 * execution.  `text` is canonical: a block line, then its items, in the order of file and line. */
typedef struct dp_manifest {
    const char *plugin, *version;
    uint16_t abi_major, abi_minor, abi_target, abi_draft;
    uint32_t defs, impls, fallbacks, n_backends;
    const char *const *backends;
    const char *text;
    uint32_t n_warnings;
    const char *const *warnings; /* what makes unloading unsafe (imports, flags), named */
} dp_manifest;
DP_API int dp_manifest_read(const char *path, dp_arena *a, dp_manifest *out, dp_error *err);

/* -- contexts -- */

#ifdef __cplusplus
typedef int dp_flag; /* C's atomic_int */
#else
typedef _Atomic(int) dp_flag;
#endif
typedef dp_flag dp_cancel_flag;

/* A request's context: *out owned, to be freed before its registry.  One thread at a time, and so
 * are all functions that take one.  Those that return int fail with the code of dp_ctx_error(). */
DP_API int dp_ctx_new(dp_registry *reg, dp_ctx **out, dp_error *err);
DP_API dp_ctx *dp_ctx_free(dp_ctx *ctx);    /* NULL is fine; returns NULL */
DP_API void dp_ctx_reset(dp_ctx *ctx);      /* between requests: memory, error, trace, state */
DP_API dp_error *dp_ctx_error(dp_ctx *ctx); /* borrowed: of the last call that failed */
DP_API dp_arena *dp_ctx_arena(dp_ctx *ctx); /* borrowed: emptied by dp_ctx_reset */
/* Whose request this is, for status and drain reports: "session 12".  Copied, cut at 31 bytes. */
DP_API void dp_ctx_set_label(dp_ctx *ctx, const char *label);
/* Dispatcher state of the connection, for this request; no guard is open.  mode NULL: defaults. */
DP_API void dp_ctx_set_state(dp_ctx *ctx, dp_keyset include, dp_keyset exclude,
                             const dp_mode *mode);
DP_API void dp_state_default(dp_keyset *include, dp_keyset *exclude); /* PyTorch's */
/* Whose default generators its kernels draw from; borrowed until dp_ctx_reset.  NULL: the
 * registry's own. */
DP_API void dp_ctx_set_generators(dp_ctx *ctx, dp_generators *all);
/* What its calls make is charged to it (account.h); borrowed until dp_ctx_reset.  NULL: to
 * nobody. */
DP_API void dp_ctx_set_account(dp_ctx *ctx, dp_account *a);
/* While *flag is 0, calls of this request go as if no tensor may have a gradient; the first that
 * gets one sets it.  Borrowed until dp_ctx_reset().  NULL: the tensors alone decide. */
DP_API void dp_ctx_set_grad_flag(dp_ctx *ctx, dp_flag *flag);
/* Listener: told when a request of a context waits for a generator that another one holds. */
typedef struct dp_waits {
    /* Before it waits; not 0: it does not, and fails with that code and *err. */
    int (*begin)(void *arg, dp_generator *g, dp_error *err);
    /* When it has waited: rc is 0, or DP_ECANCELLED or DP_EDEADLINE with *err.  Returns rc, or what
     * the request is to fail with instead of that. */
    int (*end)(void *arg, int rc, dp_error *err);
} dp_waits;
/* Borrowed until dp_ctx_reset(), called on the thread that waits.  NULL: nobody. */
DP_API void dp_ctx_set_waits(dp_ctx *ctx, const dp_waits *w, void *arg);
/* dp_generator_state_get(), dp_generator_state_set() and dp_generators_seed() for a request: it
 * waits as its kernels do, until it is called off. */
DP_API int dp_ctx_generator_state_get(dp_ctx *ctx, dp_generator *g, void *out);
DP_API int dp_ctx_generator_state_set(dp_ctx *ctx, dp_generator *g, const void *state,
                                      size_t bytes);
DP_API int dp_ctx_generators_seed(dp_ctx *ctx, dp_generators *all, uint64_t seed);
/* Whose current streams its kernels use; borrowed until dp_ctx_reset.  NULL: the context's own,
 * which are the default ones again then. */
/* Whom dp_session_id() names; 0: nobody.  Until dp_ctx_reset(). */
DP_API void dp_ctx_set_session(dp_ctx *ctx, uint64_t session);
/* Tell plugins that the context's session has ended: run their DP_ON_SESSION_END hooks, in load
 * order, on this thread, outside of calls.  failed: called for each that fails, with its plugin and
 * its error.  DP_ERESOURCE: too many threads call (DP_LIMIT_THREADS), and no hook has run. */
typedef void (*dp_session_failed_fn)(void *arg, const char *plugin, const dp_error *err);
DP_API int dp_session_end(dp_ctx *ctx, dp_session_failed_fn failed, void *arg);
DP_API void dp_ctx_set_streams(dp_ctx *ctx, dp_streams *all);
/* Threads that dp_parallel_for may use for this request, the caller included; 0: no bound. */
DP_API void dp_ctx_set_threads(dp_ctx *ctx, int n);
/* When dp_checkpoint() is to stop this request: at CLOCK_MONOTONIC `nanos` (0: never), or once
 * *flag is not 0 (NULL: never), which any thread may set.  Until dp_ctx_reset(). */
DP_API void dp_ctx_set_deadline(dp_ctx *ctx, uint64_t nanos);
DP_API void dp_ctx_set_cancel(dp_ctx *ctx, const dp_cancel_flag *flag);
/* Pin one snapshot over several calls (a program).  Calls between see one registry, and every
 * tensor with the shape that it had, but for what they change themselves; a tensor that other
 * threads may give a shape to is to be looked at inside.  Nests; not inside a call (DP_ERUNTIME),
 * which holds one anyway. */
DP_API int dp_ctx_begin(dp_ctx *ctx);
DP_API void dp_ctx_end(dp_ctx *ctx);
/* Between these two, all that this thread finds in a tensor (sizes, strides, memory) stays where it
 * is, though other threads give it another shape, which is seen at once outside of calls.  Holding
 * again lets what was held.  DP_ERESOURCE: too many threads (DP_LIMIT_THREADS).  Not ended by a
 * call. */
DP_API int dp_shapes_pin(dp_error *err);
DP_API void dp_shapes_unpin(void);

/* What kernels warned of since dp_ctx_reset(), in order: *n texts, borrowed until then. */
DP_API const char *const *dp_ctx_warnings(const dp_ctx *ctx, size_t *n);
/* Set this thread's floating-point environment to C's default, after a call or a run.  Kernels may
 * have left what calls do not compare: exceptions that trap, the x87 control word.  If they did,
 * warn of it: `ran` ran. */
DP_API void dp_ctx_fp_settle(dp_ctx *ctx, const char *ran);

/* Steps of a traced request, in the order entered. */
typedef struct dp_trace_step {
    const dp_op *op;
    dp_key key;
    uint16_t depth;
    uint16_t redispatch; /* 1: entered by redispatch */
    const char *provenance;
    dp_provenance from;
    uint64_t nanos; /* the kernel and what it called */
} dp_trace_step;
DP_API int dp_ctx_trace(dp_ctx *ctx, bool on); /* DP_ERESOURCE: no memory */
DP_API const dp_trace_step *dp_ctx_trace_get(const dp_ctx *ctx, size_t *n, bool *cut);

/* Facts of the last top-level call, which was boxed or of a context that is traced or timed: for
 * the executor and `timing`. */
typedef struct dp_call_stats {
    uint64_t kernel_id; /* of the outermost; changes with every generation of it */
    uint32_t n_calls;   /* entered, the first included; 1: a leaf, whatever layers handed it on */
    uint64_t kernel_nanos, dispatch_nanos; /* 0 unless timing is on */
} dp_call_stats;
DP_API void dp_ctx_timing(dp_ctx *ctx, bool on);
DP_API dp_call_stats dp_ctx_stats(const dp_ctx *ctx);

/* -- choosing an overload and fitting arguments -- */

typedef struct dp_kwarg {
    const char *name;
    dp_value value;
} dp_kwarg;

typedef struct dp_bound {
    const dp_op *op;
    uint32_t n_args, n_rets;
    dp_value *args;        /* [n_args] in the context's memory */
    uint64_t written;      /* bit i: the schema marks argument i as written */
    uint64_t ret_written;  /* bit i: return i is an argument that was written */
    int8_t ret_alias[64];  /* which argument return i is, when ret_written has bit i; else -1 */
    uint8_t ret_names[64]; /* whose names the numbers of return i have, for dp_name_returns() */
} dp_bound;

/* Choose an overload of `name` ("aten::add" or "aten::add.Tensor") and fit args and kwargs to its
 * schema: positions, names, defaults, int for float, a number for Tensor (a wrapped number, owned
 * by the context until dp_ctx_reset), "float32" for ScalarType, lists.  Lists come in as
 * DP_TAG_LIST. DP_ENOTFOUND names the nearest operators, DP_ETYPE what does not fit and the
 * candidates. */
DP_API int dp_bind(dp_ctx *ctx, const char *name, const dp_value *args, size_t n_args,
                   const dp_kwarg *kwargs, size_t n_kwargs, dp_bound *out);

/* Numbers in rets [b->n_rets] that stand for a dtype, a layout, a memory format or a device become
 * its name, a string in the context's memory, which dp_bind() takes again.  A number that is none
 * of them stays.  Fails with DP_ERESOURCE; rets are good then too. */
DP_API int dp_name_returns(dp_ctx *ctx, const dp_bound *b, dp_value *rets);

/* What would run: 0 for nothing, else the same number as long as the same kernels do, layers that
 * hand the call on and the one below them, whose dp_kernel_info.id is DP_KERNEL_BELOW() of it.  For
 * the executor. */
DP_API uint64_t dp_bound_kernel(dp_ctx *ctx, const dp_bound *b);
#define DP_KERNEL_BITS          40 /* of ids; the next bit is 0 in what dp_bound_kernel() gives */
#define DP_KERNEL_BELOW(number) ((number) & (((uint64_t)1 << DP_KERNEL_BITS) - 1))

/* -- asking: any thread, without waiting for calls.  What is found lives in the arena given and
 * says what was so at that moment.  All fail with DP_ERESOURCE when memory ends, those that take an
 * operator's or a key's name with DP_ENOTFOUND. -- */

typedef struct dp_argument_info {
    const char *name, *type, *default_value; /* NULL: none */
    bool kwarg_only, written;
} dp_argument_info;
typedef struct dp_kernel_info {
    dp_key key;
    dp_provenance from;
    bool active, fallthrough, unboxed, for_gradients; /* DP_FLAG_GRAD */
    uint64_t id;                                      /* dp_call_stats.kernel_id */
} dp_kernel_info;
typedef struct dp_cell_info {
    dp_key key;
    const char *provenance;       /* "kernel", "math kernel", "missing" ... */
    const dp_kernel_info *kernel; /* NULL: missing */
} dp_cell_info;
typedef struct dp_op_info {
    const char *name, *schema; /* schema NULL: implemented but not defined */
    const char *tags;
    dp_provenance defined_by;
    uint32_t n_args, n_rets, n_kernels, n_cells;
    const dp_argument_info *args, *rets;
    const dp_kernel_info *kernels; /* key order, newest first */
    const dp_cell_info *cells;     /* every runtime key, Undefined first, ascending */
    uint64_t calls;
} dp_op_info;
DP_API int dp_registry_describe(dp_registry *reg, const char *op, dp_arena *a, dp_op_info *out,
                                dp_error *err);

typedef struct dp_list_filter {
    const char *ns, *match, *key, *plugin; /* each may be NULL; match: substring */
    bool dangling;                         /* only operators implemented but not defined */
} dp_list_filter;
/* Sorted full names. */
DP_API int dp_registry_list(dp_registry *reg, const dp_list_filter *f, dp_arena *a,
                            const char *const **out, size_t *n, dp_error *err);

typedef struct dp_what_if {
    const char *op, *key;
} dp_what_if;
/* Provenance of each (op, key); `with` are kernels the registry would also have. */
DP_API int dp_registry_table(dp_registry *reg, const char *const *ops, size_t n_ops,
                             const dp_key *keys, size_t n_keys, const dp_what_if *with,
                             size_t n_with, dp_arena *a, const char ***cells /* [n_ops * n_keys] */,
                             dp_error *err);

/* Every runtime key of the backends alive, in table order (Undefined first), then aliases. */
DP_API size_t dp_registry_keys(dp_registry *reg, dp_arena *a, const dp_key **out);

typedef struct dp_explain_step {
    dp_key key;
    const char *provenance;
    dp_provenance from;
    const char *why;
    bool assumed;
} dp_explain_step;
typedef struct dp_explanation {
    const dp_op *op;
    dp_keyset argument_keys, merged, after_state;
    uint32_t n_path, n_skipped;
    const dp_explain_step *path, *skipped;
} dp_explanation;
DP_API int dp_explain(dp_ctx *ctx, const dp_bound *b, dp_arena *a, dp_explanation *out);

/* Canonical text of everything registered: the same set of registrations gives the same bytes. */
DP_API int dp_registry_dump(dp_registry *reg, dp_arena *a, const char **text, dp_error *err);
/* Recompute everything and compare; *violations are lines, n 0 when all is well. */
DP_API int dp_registry_check(dp_registry *reg, dp_arena *a, const char *const **violations,
                             size_t *n, dp_error *err);

typedef struct dp_registry_stats {
    uint32_t plugins, ops, kernels, backends, draining;
    uint64_t calls, snapshots;
} dp_registry_stats;
DP_API void dp_registry_stats_get(dp_registry *reg, dp_registry_stats *out);

/* Calls running now, outermost first for each thread. */
typedef struct dp_running {
    char label[32];
    const char *op;                       /* lives as long as the registry */
    char plugin[DP_LIMIT_NAME_BYTES + 1]; /* a copy: it may be unloaded by now */
    uint64_t generation;
    dp_key key;
    int depth;
    uint64_t nanos;  /* since the top-level call began */
    uint64_t thread; /* dp_thread_number() of the thread that runs it */
} dp_running;
/* Return the number of the calling thread, which no other thread ever gets.  0: DP_LIMIT_THREADS
 * threads have numbers already. */
DP_API uint64_t dp_thread_number(void);
DP_API size_t dp_registry_running(dp_registry *reg, dp_running *out, size_t cap);
/* What a thread runs, a line a call, outermost first: whose it is, operator, key, plugin, shapes of
 * the arguments.  Thread 0 is the calling one; false: there is no thread of that number.  For crash
 * reports: async-signal-safe, and it looks at what other threads may be changing, so that a caller
 * who reports them has to survive a fault. */
DP_API bool dp_thread_report(size_t thread, void (*line)(void *arg, const char *text), void *arg);
/* The same for a thread that runs nothing: the call that it ran last, whose result may be at fault.
 */
DP_API void dp_thread_report_last(void (*line)(void *arg, const char *text), void *arg);

/* Listener: told of every operator that gets or loses its definition, under the registry's lock, in
 * order; first of all of those already there.  Must not call the registry. */
typedef struct dp_listener {
    void (*defined)(void *arg, const char *op);
    void (*undefined)(void *arg, const char *op);
    /* (optional) after each published change */
    void (*changed)(void *arg, const char *plugin, uint64_t generation, uint32_t added,
                    uint32_t removed);
    void *arg;
    /* (optional) after each dp_note() */
    void (*noted)(void *arg, const char *plugin, const char *name, const char *text);
} dp_listener;
DP_API int dp_registry_listen(dp_registry *reg, const dp_listener *l,
                              dp_error *err); /* borrowed until unlisten */
DP_API void dp_registry_unlisten(dp_registry *reg, const dp_listener *l);

/* -- schemas -- */
typedef struct dp_schema dp_schema;
/* *out owned, immutable.  DP_EVALUE names the column, DP_ERESOURCE the limit.  Any thread. */
DP_API int dp_schema_parse(const char *text, dp_schema **out, dp_error *err);
DP_API dp_schema *dp_schema_free(dp_schema *s);   /* NULL is fine; returns NULL */
DP_API char *dp_schema_print(const dp_schema *s); /* canonical; owned, dp_free(); NULL: no memory */

#ifdef __cplusplus
}
#endif
#endif
