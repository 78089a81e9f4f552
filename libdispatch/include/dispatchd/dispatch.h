/* dispatchd/dispatch.h -- the dispatcher as a library, for embedders: a daemon, a test or another
 * program.
 *
 *     dp_registry *reg; dp_ctx *ctx; dp_error err = DP_ERROR_INIT;
 *     dp_registry_new(&reg, &err);
 *     dp_plugin_load(reg, "/path/cpu.so", NULL, arena, &report, &err);
 *     dp_ctx_new(reg, &ctx, &err);
 *     dp_call_boxed(ctx, dp_op_find(ctx, "aten::add.Tensor"), args, 3, rets, 1);
 *
 * A registry is a set of operators and plugins.  Any thread may query it and call its operators,
 * also while plugins are loaded and unloaded.  Functions that change the registry take a lock, so
 * that they run one after another, and publish a snapshot: an immutable copy of the registry's
 * contents.  Queries and calls take no lock: they use the snapshot that was the newest when the
 * outermost call began.  Each load and each reload of a plugin makes a generation: one mapped copy
 * of the plugin's file, with a number. */
#ifndef DISPATCHD_DISPATCH_H
#define DISPATCHD_DISPATCH_H

#include "abi.h"
#include <stdarg.h>
#ifdef __GLIBC__ /* defined by stdint.h, which abi.h includes */
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

/* noplt, where the compiler supports it: a call reads the address from the GOT and does not jump
 * through the PLT. */
#if defined(__GNUC__) && !defined(__clang__)
#define DP_API __attribute__((visibility("default"), noplt))
#else
#define DP_API __attribute__((visibility("default")))
#endif

/* Limits: X(NAME, name, value).  Everything that a client or a plugin can make larger has a
 * limit. */
#define DP_LIMIT_MAP(X)                                                                            \
    X(CALL_DEPTH, call_depth, 128)             /* calls inside calls on one thread */              \
    X(OPERATORS, operators, 65535)             /* operator names that a registry ever had */       \
    X(KERNELS_PER_OP, kernels_per_op, 1000)    /* registered for one operator and one key */       \
    X(ARGUMENTS, arguments, 64)                /* of one schema; also its returns */               \
    X(SCHEMA_BYTES, schema_bytes, 16384)       /* text of one schema */                            \
    X(TYPE_DEPTH, type_depth, 16)              /* nesting of one type in a schema */               \
    X(NAME_BYTES, name_bytes, 127)             /* operator, plugin, backend names */               \
    X(PLUGINS, plugins, 1024)                  /* plugins loaded at once */                        \
    X(PLUGIN_FILE, plugin_file, 256 << 20)     /* bytes of a plugin's file */                      \
    X(DRAINING, draining, 64)                  /* unloaded generations that still run */           \
    X(GUARDS, guards, 256)                     /* entered at once in one request */                \
    X(TRACE, trace, 4096)                      /* steps of one trace */                            \
    X(FALLBACKS, fallbacks, 256)               /* told apart in one request (dp_fallback_count) */ \
    X(THREADS, threads, 1024)                  /* living threads that called an operator */        \
    X(OBSERVERS, observers, 16)                /* of all plugins together */                       \
    X(PLUGIN_THREADS, plugin_threads, 64)      /* of one plugin, at once */                        \
    X(RESIZES, resizes, 64)                    /* of one shape or storage, during a call */        \
    X(WARNINGS, warnings, 32)                  /* of one request */                                \
    X(WARNING_BYTES, warning_bytes, 1000)      /* of one warning; longer ones are cut */           \
    X(NOTES, notes, 16)                        /* of one plugin (dp_note) */                       \
    X(NOTE_BYTES, note_bytes, 255)             /* of one note; longer ones are cut */              \
    X(WRAPPER_DEPTH, wrapper_depth, 64)        /* nesting of wrapper tensors */                    \
    X(WRAPPER_PARTS, wrapper_parts, 256)       /* tensors (ints, doubles) of a wrapper */          \
    X(ATTACHED, attached, 16)                  /* values attached to one tensor */                 \
    X(ATTACHED_BYTES, attached_bytes, 1 << 20) /* of one attached value */                         \
    X(HOOKS, hooks, 16)                        /* of the gradient of one tensor */                 \
    X(KINDS, kinds, 8)                         /* kinds of wrapper tensors */                      \
    X(OBJECT_KINDS, object_kinds, 64)          /* kinds of objects in the process */               \
    X(OBJECT_TENSORS, object_tensors, 1024)    /* tensors of one object */                         \
    X(REPEATED, repeated, 65535)               /* length N of int[N] given as one number */        \
    X(WARM_BYTES, warm_bytes, 256 << 20)       /* freed memory cached for new tensors */

#define DP_LIMIT_VALUE_(NAME, name, value) DP_LIMIT_##NAME = (value),
enum { DP_LIMIT_MAP(DP_LIMIT_VALUE_) };
#undef DP_LIMIT_VALUE_
/* Limit of the bytes of one storage, and of the elements from its start to the last element of a
 * tensor.  That many elements of the largest dtype (16 bytes) have 2^62 bytes, so far below the
 * largest int64 that the address one step after the last element cannot wrap. */
#define DP_LIMIT_STORAGE_BYTES ((int64_t)1 << 58)

/* -- the functions that plugins have, too (api.h): tensors, calls, guards -- */
#define DP_FN(ret, name, params, args) DP_API ret name params;
#include "api.h"
#undef DP_FN
#include "helpers.h"

/* -- reference counting as inline functions --
 *
 * A call of a function in the library would cost half as much as a dispatch.  Plugins do call the
 * library's functions, since they are not built together with it and must not know the layout of a
 * tensor. */

typedef struct dp_tensor_head { /* start of a tensor in this release; not part of the plugin ABI */
    dp_keyset keys;
    uint32_t refs;
} dp_tensor_head;
/* Free a tensor after its last reference was released; returns NULL. */
DP_API dp_tensor *dp_tensor_destroy(dp_tensor *t);

/* An atomic instruction costs as much as a call, so plain ones are used while the process has only
 * one thread (as in libstdc++'s shared_ptr). */
extern inline __attribute__((gnu_inline, always_inline)) void dp_refs_add_(uint32_t *refs)
{
    if (DP_ONE_THREAD_)
        __atomic_store_n(refs, __atomic_load_n(refs, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
    else
        __atomic_fetch_add(refs, 1, __ATOMIC_RELAXED);
}
extern inline __attribute__((gnu_inline, always_inline)) bool
dp_refs_drop_(uint32_t *refs) /* true: the last reference was released */
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

/* -- memory of the host: the C library's malloc, with failures that a test can inject -- */
DP_API void *dp_malloc(size_t bytes);
DP_API void *dp_calloc(size_t n, size_t bytes);
DP_API void *dp_realloc(void *p, size_t bytes);
DP_API char *dp_strdup(const char *s);
/* Allocate `n` items of `each` bytes.  An overflow of the product counts as lack of memory, as in
 * dp_calloc(). */
static inline void *dp_malloc_n(size_t n, size_t each)
{
    return dp_malloc(dp_size_times(n, each));
}
static inline void *dp_realloc_n(void *p, size_t n, size_t each)
{
    return dp_realloc(p, dp_size_times(n, each));
}
DP_API void dp_free(void *p);
/* Make the n-th allocation from now on, by any thread, fail once (1: the next allocation).  0:
 * cancel this. */
DP_API void dp_fault_arm(uint64_t n);
DP_API bool dp_fault_hit(void); /* has the allocation chosen by dp_fault_arm() failed? */

/* Return cached memory to the system, the largest pieces first, until at most `keep` bytes are
 * cached.  The host caches freed memory of tensors, up to DP_LIMIT_WARM_BYTES, for new tensors.
 * Call this when no new tensors are expected soon. */
DP_API void dp_memory_trim(size_t keep);

/* An arena: allocations that are freed together.  Used by one thread at a time. */
typedef struct dp_arena dp_arena;
DP_API dp_arena *dp_arena_new(void);         /* NULL: no memory */
DP_API dp_arena *dp_arena_free(dp_arena *a); /* NULL is allowed; returns NULL */
/* Free the allocations; one block of memory stays cached in the arena. */
DP_API void dp_arena_reset(dp_arena *a);
DP_API void *dp_arena_alloc(dp_arena *a, size_t bytes); /* 16-byte aligned; NULL: no memory */
/* Describe why an allocation of `bytes` for `what` failed: the limit of the account that pays for
 * the arena, or lack of memory.  Returns DP_ERESOURCE. */
DP_API int dp_arena_failed(dp_arena *a, size_t bytes, const char *what, dp_error *err);
DP_API void *dp_arena_dup(dp_arena *a, const void *p, size_t bytes);
/* Allocate `n` items of `each` bytes; an overflow of the product counts as lack of memory. */
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
/* Fill in *err and return `code`; `err` may be NULL. */
DP_API int dp_error_set(dp_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
DP_API void dp_error_clear(dp_error *err);
DP_API const char *dp_error_name(int code); /* "TypeError"; NULL: not a DP_E* code */
DP_API const char *dp_error_text(int code); /* last column of DP_ERROR_MAP, or NULL */
/* A limit that something would exceed. */
typedef struct dp_refusal {
    const char *limit; /* its name, as in DP_LIMIT_MAP; a string that is never freed */
    uint64_t most, asked;
} dp_refusal;
/* Record, for this thread, that the error with this `code`, which was just set, is due to a limit.
 * Returns `code`.  dp_error_refusal() returns the record for that error, and for errors with the
 * same code that are made of it, such as one with a longer message, as long as no error with
 * another code is set on this thread; NULL: the error is not due to a limit.  An embedder that
 * handles requests calls dp_error_refusal_clear() before each. */
DP_API int dp_error_limit(int code, const char *limit, uint64_t most, uint64_t asked);
DP_API const dp_refusal *dp_error_refusal(const dp_error *err);
DP_API void dp_error_refusal_clear(void);

/* Return DP_OK if `bytes` is at most `limit`.  Otherwise fail with DP_ERESOURCE; the message has
 * sizes [n] and `each`, the factors of `bytes`, and the name of the limit.  See sizes.h. */
DP_API int dp_sizes_check(uint64_t bytes, uint64_t limit, const char *name, const int64_t *sizes,
                          size_t n, size_t each, dp_error *err);
/* Return how many characters must be inserted, removed or replaced to change `a` into `b` (the
 * Levenshtein distance).  Only the first DP_LIMIT_NAME_BYTES of each are compared.  For messages
 * such as "did you mean". */
DP_API size_t dp_edit_distance(const char *a, const char *b);

/* -- dtypes, keys, devices -- */
DP_API dp_dtype dp_dtype_parse(const char *name); /* DP_DTYPE_NONE: there is no such dtype */
/* Convert `n` contiguous elements of dtype `from` to dtype `to`, as static_cast does in ATen. */
DP_API void dp_convert(dp_dtype to, void *dst, dp_dtype from, const void *src, size_t n);

/* Copy into `owner` the name of the plugin that registered the kind of wrapper tensors whose key is
 * `k`, and return `owner`; "" if the plugin was unloaded while tensors of the kind live.  NULL: no
 * existing kind has this key. */
DP_API const char *dp_kind_owner(dp_key k, char owner[DP_LIMIT_NAME_BYTES + 1]);
DP_API dp_key dp_key_parse(const char *name); /* Undefined for "Undefined" and for unknown names */
/* Find a key by name.  DP_ENOTFOUND: the name is unknown; the message gives similar names. */
DP_API int dp_key_lookup(const char *name, dp_key *out, dp_error *err);
/* Return the key of autocast for a backend, AutocastNamed for a named one; Undefined: autocast
 * cannot be on for the backend. */
DP_API dp_key dp_autocast_key(int backend);
/* Write at most `cap` runtime keys of a set into `out`, highest priority first.  Returns the number
 * of keys in the set. */
DP_API size_t dp_keyset_list(dp_keyset s, dp_key *out, size_t cap);
/* Write the keys of a set into `buf` as PyTorch prints them, but without "DispatchKeySet()" around
 * them: "AutogradCPU, CPU".  Returns `buf`. */
DP_API const char *dp_keyset_print(dp_keyset s, char *buf, size_t bytes);
/* Return how often this thread has called functions of plugins' devices.  An executor uses the
 * number to notice requests that may wait for a device. */
DP_API uint64_t dp_devices_entered(void);
DP_API const char *dp_device_name(dp_device d, char buf[DP_KEY_NAME_MAX]); /* "cpu", "npu:0" */
/* Find a device by name, "cpu" or "npu:1".  DP_ERUNTIME: there is no such backend, or the text is
 * malformed; the index is not checked. */
DP_API int dp_device_parse(const char *name, dp_device *out, dp_error *err);
/* Pin the named backends of `bits` (DP_BBIT) that exist, and return their bits for
 * dp_backends_unpin().  Code that stores a device number after a call has ended must pin its
 * backend: otherwise the number could mean another backend after an unload and a load.  A pin does
 * not prevent an unload.  Any thread. */
DP_API uint64_t dp_backends_pin(uint64_t bits);
DP_API void dp_backends_unpin(uint64_t bits);
/* Pin the named backends and the kinds of wrapper tensors of a key set that is stored after a call
 * has ended; see dp_backends_pin().  Returns the argument for dp_keyset_unpin(). */
DP_API dp_keyset dp_keyset_pin(dp_keyset s);
DP_API void dp_keyset_unpin(dp_keyset pinned);

typedef struct dp_backend_info {
    const char *name; /* name of the key: "CPU", "npu" */
    int bit;
    bool named;
    const char *owner; /* plugin that registered the backend's device; "": none did */
    /* number of existing storages on the backend; not counted, 0, for CPU and Meta */
    uint64_t storages;
} dp_backend_info;
/* List the existing backends, lowest bit first; *out is allocated in arena `a`.  Returns their
 * number; 0: out of memory.  Any thread. */
DP_API size_t dp_backend_list(dp_arena *a, const dp_backend_info **out);

#include "account.h"

/* -- tensors: functions that api.h does not have -- */

/* A value that is attached to a tensor (dp_tensor_attach). */
typedef struct dp_attached_info {
    const char *key;
    uint64_t bytes; /* bytes charged for the value */
} dp_attached_info;
/* List attached values in the order in which they were attached: *out [*n], allocated in `arena`.
 * Any thread. */
DP_API int dp_tensor_attached_list(const dp_tensor *t, dp_arena *arena,
                                   const dp_attached_info **out, size_t *n, dp_error *err);

/* The next functions make tensors without a context.  Parameters have the meaning they have in the
 * function of api.h with a similar name; *out owned. */
DP_API int dp_tensor_new(dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
                         const int64_t *strides /* NULL: contiguous */, dp_tensor **out,
                         dp_error *err);
/* Make a tensor with the given geometry, which uses a whole storage of n_elements.  Host memory is
 * set to zero. */
DP_API int dp_tensor_new_storage(dp_dtype dtype, dp_device device, int64_t n_elements, int ndim,
                                 const int64_t *sizes, const int64_t *strides, int64_t offset,
                                 dp_tensor **out, dp_error *err);
/* Make a tensor that uses memory of the caller.  release(arg) is called when the last tensor that
 * uses the memory is freed; `release` NULL: nothing is called.  After a failure the caller still
 * owns `data`.  DP_EVALUE: `data` is not aligned for the dtype. */
DP_API int dp_tensor_wrap(dp_dtype dtype, int ndim, const int64_t *sizes, const int64_t *strides,
                          void *data, size_t bytes, void (*release)(void *arg), void *arg,
                          dp_tensor **out, dp_error *err);
/* Make a second tensor with the storage, geometry, version counter and dp_tensor_id() of `t`, for
 * example to save `t` for backward. */
DP_API int dp_tensor_alias(const dp_tensor *t, dp_tensor **out, dp_error *err);
/* Make a second tensor with the storage, geometry and version counter of `t`, but without its
 * autograd history and root (Tensor.detach).  Call it between dp_ctx_begin() and dp_ctx_end() if
 * another thread may resize `t`.  DP_ENOTIMPL: `t` is a wrapper. */
DP_API int dp_tensor_detached(const dp_tensor *t, dp_tensor **out, dp_error *err);
/* From now on, no call can make the storage of `t` larger; dp_tensor_share() can still move the
 * storage into shared memory, once.  A call that began earlier may still enlarge it. */
DP_API void dp_tensor_fix(const dp_tensor *t);
/* Has the tensor sizes and a dtype, but no data?  True on device meta, for fakes and for wrapper
 * tensors. */
DP_API bool dp_tensor_is_memoryless(const dp_tensor *t);
/* Copy all elements to or from host memory of numel * itemsize bytes, in row-major order without
 * gaps.  A write increases the version. */
DP_API int dp_tensor_read(const dp_tensor *t, void *dst, dp_error *err);
DP_API int dp_tensor_write(dp_tensor *t, const void *src, dp_error *err);
/* Make a contiguous tensor of version 0 from the elements at `src`, which have dtype `of` and no
 * gaps, and are converted to `dtype`.  *out owned.  The tensor's memory is charged to account `a`,
 * as in a call of a context with this account (account.h); NULL: it is not charged. */
DP_API int dp_tensor_from(dp_account *a, dp_dtype dtype, dp_device device, int ndim,
                          const int64_t *sizes, dp_dtype of, const void *src, dp_tensor **out,
                          dp_error *err);

/* Set a function that is called when a freed block must wait for a stream that still uses it
 * (dp_record_stream).  After such a call the embedder must call dp_plugin_reap() from time to time;
 * otherwise the block is freed only at the next allocation on its device.  `fn` runs on any thread,
 * must be short and must not call the library.  NULL: no function. */
DP_API void dp_on_aside(void (*fn)(void *arg), void *arg);

/* Set a function that is called after the host restored process state that a plugin must not change
 * (docs/plugins.md).  For kernels, observers and device functions it is called once for each
 * generation of a plugin and each kind of code; for loads, hooks and unloads each time.  A warning
 * about a kernel is also added to the warnings of the context that ran the kernel.  `fn` runs on
 * the thread that ran the plugin's code, must be short and must not load a plugin.  NULL: no
 * function. */
DP_API void dp_on_warning(void (*fn)(const char *text, void *arg), void *arg);

typedef struct dp_tensor_stats {
    /* Existing tensors and storages; bytes of the storages, and the greatest number of bytes so
     * far, which may be too low by 64 KiB for each thread. */
    uint64_t tensors, storages, bytes, bytes_peak;
} dp_tensor_stats;
DP_API void dp_tensor_stats_get(dp_tensor_stats *out); /* of the whole process */

/* -- generators: functions that api.h does not have; any thread -- */

/* The seed of a generator that was not seeded, as in torch.Generator(). */
#define DP_GENERATOR_SEED UINT64_C(67280421310721)
/* Make a generator; *out owned, reference-counted.  DP_ERUNTIME: no such device. */
DP_API int dp_generator_new(dp_device device, uint64_t seed, dp_generator **out, dp_error *err);
DP_API dp_generator *dp_generator_ref(dp_generator *g);
DP_API dp_generator *dp_generator_unref(dp_generator *g); /* NULL is allowed; returns NULL */
/* dp_generator_seed(), dp_generator_state_get() and dp_generator_state_set() wait for the kernel
 * that holds the generator.  A state is, for the CPU, the bytes of torch.Generator.get_state(), and
 * for other devices {seed, offset}.  DP_EVALUE: the bytes are not a state. */
DP_API void dp_generator_seed(dp_generator *g, uint64_t seed);
DP_API uint64_t dp_generator_initial_seed(const dp_generator *g);
DP_API size_t dp_generator_state_bytes(const dp_generator *g);
DP_API void dp_generator_state_get(dp_generator *g, void *out);
DP_API int dp_generator_state_set(dp_generator *g, const void *state, size_t bytes, dp_error *err);
DP_API bool dp_generator_busy(const dp_generator *g); /* true: a kernel holds it now */
/* Wake the requests that wait for `g`, so that they check whether they were cancelled
 * (dp_ctx_set_cancel). */
DP_API void dp_generator_wake(dp_generator *g);

/* The current stream of each device, for one session.  Any thread. */
typedef struct dp_streams dp_streams;
DP_API int dp_streams_new(dp_streams **out, dp_error *err);
DP_API dp_streams *dp_streams_free(dp_streams *all); /* NULL is allowed; returns NULL */

/* Default generators, one for each device, each made at its first use.  All have the same seed,
 * which is random until dp_generators_seed() sets it. */
typedef struct dp_generators dp_generators;
DP_API int dp_generators_new(dp_generators **out, dp_error *err);
DP_API dp_generators *dp_generators_free(dp_generators *all); /* NULL is allowed; returns NULL */
DP_API int dp_generators_get(dp_generators *all, dp_device device, dp_generator **out /* owned */,
                             dp_error *err);
DP_API void dp_generators_seed(dp_generators *all, uint64_t seed); /* torch.manual_seed */
/* Get the seed; false: the seed was not set. */
DP_API bool dp_generators_initial_seed(dp_generators *all, uint64_t *seed);
DP_API bool dp_generators_busy(dp_generators *all); /* true: a kernel uses one of them now */

/* -- objects of plugins: functions that api.h does not have -- */

DP_API int dp_object_check(dp_object *o, dp_error *err); /* DP_ERUNTIME: the object has ended */
/* Return the name of the plugin whose kernel made `o`, borrowed from `o`. */
DP_API const char *dp_object_plugin(const dp_object *o);
DP_API size_t dp_object_bytes(const dp_object *o); /* bytes of the data of `o` */
/* Return the number of objects in the process, with those whose plugin was unloaded. */
DP_API uint64_t dp_objects_count(void);

/* Start `threads` threads, at most 256, on which dp_parallel_for() runs work in addition to the
 * calling thread; 0, or without this call: only on the calling thread.  Call it while no such loop
 * runs.  DP_EEXISTS: threads run already.  DP_ERESOURCE: a thread could not be started; then none
 * runs. */
DP_API int dp_thread_pool_start(int threads, dp_error *err);
DP_API void dp_thread_pool_stop(void);

/* -- registry -- */
typedef struct dp_registry dp_registry;
/* *out owned; DP_ERESOURCE: no memory */
DP_API int dp_registry_new(dp_registry **out, dp_error *err);
/* Unload all plugins and free the registry.  Free every context first.  NULL is allowed.  Returns
 * NULL; or returns `reg`, which was not freed, if a thread of a plugin did not end. */
DP_API dp_registry *dp_registry_free(dp_registry *reg);

/* Origin of a definition or of a kernel. */
typedef struct dp_provenance {
    const char *plugin; /* "(built in)" for fallthrough kernels of the host */
    uint64_t generation;
    const char *file;
    uint32_t line;
} dp_provenance;

/* A unit is a set of records that are attached to a registry, and detached from it, together.
 * dp_registry_attach() is for embedders and tests whose records do not come from a file;
 * dp_plugin_load() does the same with the records of a file.  Either all records are attached, in
 * one snapshot, or none.  The blocks and everything they point to must outlive the unit. */
typedef struct dp_unit dp_unit;
DP_API int dp_registry_attach(dp_registry *reg, const char *name, const char *version,
                              const dp_block *blocks, size_t n, dp_unit **out, dp_error *err);
/* Detach a unit in one snapshot, wait until no thread runs its kernels, and free the unit.
 * `timeout_ms` -1: no limit.  DP_EBUSY: a kernel still runs, and the unit stays attached; *err says
 * who runs it. */
DP_API int dp_registry_detach(dp_registry *reg, dp_unit *unit, int timeout_ms, dp_error *err);

/* -- plugins -- */
typedef struct dp_load_options {
    uint32_t size;
    /* fail with DP_EEXISTS if the plugin has a kernel for an (operator, key) that has
     * a kernel already */
    bool reject_override;
    /* directories, separated by ':', for a plugin name without a directory */
    const char *search_path;
    /* directory in which the host makes a private copy of each file before mapping it; NULL: a
     * directory in the temporary directory */
    const char *cache_dir;
    /* A function that starts another process, in which dp_plugin_try() loads and unloads the file
     * `copy`, since this may kill the process.  If the function fails, the file is not mapped in
     * this process.  NULL: the file is not tried. */
    int (*probe)(const char *copy, dp_error *err);
    int drain_ms; /* milliseconds that a reload waits for calls of the old code; 0: 20 */
    /* A reload leaves the loaded code in use, and makes the new code its canary: it serves the
     * calls for which dp_ctx_canary() is true, until dp_plugin_canary_end().  One plugin of a
     * registry has a canary at a time (DP_EEXISTS).  DP_EVALUE: the two builds define other
     * operators, or one of them registers kinds of wrapper tensors or of objects.  The devices of
     * the plugin stay those of the loaded code. */
    bool canary;
} dp_load_options;

typedef struct dp_plugin_report {
    char plugin[128];
    char version[64];
    uint64_t generation;
    uint32_t defs, impls, fallbacks, n_backends;
    const char *const *backends; /* allocated in the arena */
    uint32_t n_dangling;
    const char *const *dangling; /* operators that have kernels but no definition */
    uint32_t n_overrides;
    const char *const *overrides; /* "aten::add.Tensor CPU: a.c:3 over b.c:7" */
    double millis;                /* duration of the load or reload */
    /* what the old code registered and the new code does not: operators ("aten::add.Tensor"),
     * kernels of other operators ("aten::add.Tensor CPU") and fallbacks ("fallback CPU") */
    uint32_t n_dropped;
    const char *const *dropped;
} dp_plugin_report;

typedef struct dp_unload_report {
    double drained_ms; /* milliseconds waited for calls that used the old code */
    uint32_t removed;  /* number of registrations removed */
    bool unmapped;
    char kept_because[256];  /* reason why the code is still mapped; "" if it is not */
    uint64_t bytes_returned; /* size of the mapping, if it was unmapped; else 0 */
    uint64_t old_generation; /* generation that was unloaded or replaced */
    bool drained;            /* no call used the old code any more when the function returned */
} dp_unload_report;

/* Load a plugin.  Any thread; loads, unloads and reloads run one after another.  These functions
 * block: they read files and wait for calls.  After a failure the registry is as before.
 *
 * `path`: an absolute path, or a name to look up; /proc/self/fd/N loads a file that is open, and
 * such a plugin cannot be reloaded (DP_EVALUE).  `o` may be NULL.  Strings of *report are
 * allocated in arena `a`.  DP_ENOTFOUND: no such file.  DP_EABI, DP_EPLUGIN: the file is not a
 * plugin, was built for another interface, or breaks its contract.  DP_EEXISTS: the plugin is
 * loaded already, or registers something that another plugin has registered.  DP_ERESOURCE: over a
 * limit. */
DP_API int dp_plugin_load(dp_registry *reg, const char *path, const dp_load_options *o, dp_arena *a,
                          dp_plugin_report *report, dp_error *err);
/* Unload a plugin: detach its registrations, wait until no thread runs its kernels, and unmap its
 * code.  `timeout_ms` -1: no limit.  Without `force`, the plugin stays loaded after a failure.
 * DP_EBUSY: a kernel or a thread of the plugin still runs, storages on its backend exist, or
 * another plugin has kernels for its backend or its kind of wrapper tensors.  If on_unload fails,
 * the code that it returned is returned.  With `force`, those storages lose their memory before
 * on_unload runs, and the unload succeeds even if on_unload fails or calls still run: the code then
 * stays mapped, in the second case until these calls have ended, and kept_because gives the reason.
 * With `force`, DP_EBUSY: calls still run, and DP_LIMIT_DRAINING unloaded generations still run
 * already.  DP_ENOTFOUND: the message gives similar names. */
DP_API int dp_plugin_unload(dp_registry *reg, const char *plugin, int timeout_ms, bool force,
                            dp_unload_report *report, dp_error *err);
/* Load the plugin's file again from its path and replace the loaded one.  After a failure the old
 * code stays in use. */
DP_API int dp_plugin_reload(dp_registry *reg, const char *plugin, const dp_load_options *o,
                            dp_arena *a, dp_plugin_report *report, dp_unload_report *old,
                            dp_error *err);
/* End the canary of `plugin` (dp_load_options.canary).  `promote`: it replaces the loaded code, as
 * by a reload, and *report and *gone are as those of dp_plugin_reload(); if that fails, the canary
 * stays.  Otherwise it is unloaded, which cannot fail; `a` and `report` may be NULL, and *gone is
 * about the canary.  `drain_ms`: as in dp_load_options.  DP_ENOTFOUND: the plugin is not loaded, or
 * has no canary.  dp_plugin_unload() ends the canary of a plugin, too. */
DP_API int dp_plugin_canary_end(dp_registry *reg, const char *plugin, bool promote, int drain_ms,
                                dp_arena *a, dp_plugin_report *report, dp_unload_report *gone,
                                dp_error *err);
/* Do with the file `path` (absolute) what dp_plugin_load() does before it runs on_load, but without
 * making a private copy and without a registry; then unload the file.  A damaged file may kill the
 * calling process. */
DP_API int dp_plugin_try(const char *path, dp_error *err);
/* Find the file that dp_plugin_load() would read: `path` itself if it is absolute; otherwise
 * DIR/NAME.so or DIR/NAME in the first directory of `search_path` that has one.  *out is allocated
 * in `a`. */
DP_API int dp_plugin_find(const char *path, const char *search_path, dp_arena *a, const char **out,
                          dp_error *err);
/* Unmap old generations that no thread runs any more, and release old snapshots of the registry.
 * Returns the number of generations that are left, plus 1 if snapshots are left, plus the number of
 * blocks of device memory that wait for a stream (dp_on_aside).  After a load, unload or reload,
 * call this function from time to time until it returns 0. */
DP_API size_t dp_plugin_reap(dp_registry *reg);

/* A line of text that a plugin published about itself (dp_note). */
typedef struct dp_note_info {
    const char *name, *text;
} dp_note_info;

typedef struct dp_plugin_info {
    const char *plugin, *version, *path, *mapped_file;
    uint64_t generation, load_number; /* load_number grows with each load; a reload keeps it */
    uint32_t defs, impls, fallbacks, backends;
    bool resident, draining; /* draining: an old generation that still runs */
    /* if draining or kept, the reason why the code is mapped; otherwise the reason why an unload
     * would leave it mapped, or "" */
    const char *kept_because;
    uint64_t calls_running;
    bool kept;                 /* true: it was unloaded, but its code stays mapped */
    uint32_t kinds;            /* number of kinds of wrapper tensors */
    const dp_note_info *notes; /* oldest first */
    size_t n_notes;
    bool canary; /* dp_load_options.canary: beside the loaded one of the same load_number */
} dp_plugin_info;
/* List plugins in order of load_number: those that are loaded, and old generations whose code is
 * still mapped.  The generation of a plugin whose load failed is 0. */
DP_API int dp_plugin_list(dp_registry *reg, dp_arena *a, const dp_plugin_info **out, size_t *n,
                          dp_error *err);

/* The manifest of a file, read from its ELF note.  No code of the file runs, and the file is not
 * mapped for execution.  `text` is canonical: for each block one line, then its items, in order of
 * file and line. */
typedef struct dp_manifest {
    const char *plugin, *version;
    uint16_t abi_major, abi_minor, abi_target, abi_draft;
    uint32_t defs, impls, fallbacks, n_backends;
    const char *const *backends;
    const char *text;
    uint32_t n_warnings;
    const char *const *warnings; /* causes that may prevent an unload (imports, linker flags) */
} dp_manifest;
DP_API int dp_manifest_read(const char *path, dp_arena *a, dp_manifest *out, dp_error *err);

/* -- contexts -- */

#ifdef __cplusplus
typedef int dp_flag; /* atomic_int in C */
#else
typedef _Atomic(int) dp_flag;
#endif
typedef dp_flag dp_cancel_flag;

/* Make the context of a request; *out owned.  Free it before its registry.  Only one thread at a
 * time may use a context; this holds for every function with a parameter `ctx`.  A function with
 * `ctx` that returns int describes its failure in dp_ctx_error() and returns the code. */
DP_API int dp_ctx_new(dp_registry *reg, dp_ctx **out, dp_error *err);
DP_API dp_ctx *dp_ctx_free(dp_ctx *ctx); /* NULL is allowed; returns NULL */
/* Prepare the context for the next request: reset its memory, error, warnings, trace and dispatcher
 * state, and everything that a dp_ctx_set_* function has set. */
DP_API void dp_ctx_reset(dp_ctx *ctx);
DP_API dp_error *dp_ctx_error(dp_ctx *ctx); /* borrowed: error of the last call that failed */
DP_API dp_arena *dp_ctx_arena(dp_ctx *ctx); /* borrowed: dp_ctx_reset() empties it */
/* Set the text that status and drain reports show for the request: "session 12".  It is copied, at
 * most 31 bytes. */
DP_API void dp_ctx_set_label(dp_ctx *ctx, const char *label);
/* Set the dispatcher state with which the request begins.  Call this while no guard is entered.
 * `mode` NULL: the default mode. */
DP_API void dp_ctx_set_state(dp_ctx *ctx, dp_keyset include, dp_keyset exclude,
                             const dp_mode *mode);
/* Return the dtype to which autocast of mode `m` casts on a backend: the mode's, or bfloat16 or
 * float16, PyTorch's default for the backend. */
DP_API dp_dtype dp_autocast_dtype(const dp_mode *m, int backend);
DP_API void dp_state_default(dp_keyset *include, dp_keyset *exclude); /* PyTorch's defaults */
/* Set the default generators for kernels of the request; borrowed until dp_ctx_reset().  NULL: the
 * generators of the registry. */
DP_API void dp_ctx_set_generators(dp_ctx *ctx, dp_generators *all);
/* Set the account to which memory that calls allocate is charged (account.h); borrowed until
 * dp_ctx_reset().  NULL: none. */
DP_API void dp_ctx_set_account(dp_ctx *ctx, dp_account *a);
/* Set a flag that says whether any tensor may have a gradient.  While *flag is 0, calls of the
 * request skip kernels with DP_FLAG_GRAD; dp_tensor_set_may_grad() sets *flag to 1.  Borrowed until
 * dp_ctx_reset().  NULL: only the tensors decide. */
DP_API void dp_ctx_set_grad_flag(dp_ctx *ctx, dp_flag *flag);
/* Functions that are called when a request must wait for a generator that another request uses. */
typedef struct dp_waits {
    /* Called before the wait.  A result other than 0 refuses the wait: the request fails with this
     * code and *err. */
    int (*begin)(void *arg, dp_generator *g, dp_error *err);
    /* Called after the wait.  `rc` is 0, or DP_ECANCELLED or DP_EDEADLINE with *err.  Returns `rc`,
     * or another code with which the request fails. */
    int (*end)(void *arg, int rc, dp_error *err);
} dp_waits;
/* Set the functions for waits; borrowed until dp_ctx_reset().  They run on the waiting thread.
 * NULL: none. */
DP_API void dp_ctx_set_waits(dp_ctx *ctx, const dp_waits *w, void *arg);
/* The next functions do for a request what dp_generator_state_get(), dp_generator_state_set() and
 * dp_generators_seed() do.  If they wait for a kernel that uses the generator, the wait ends when
 * the request is cancelled. */
DP_API int dp_ctx_generator_state_get(dp_ctx *ctx, dp_generator *g, void *out);
DP_API int dp_ctx_generator_state_set(dp_ctx *ctx, dp_generator *g, const void *state,
                                      size_t bytes);
DP_API int dp_ctx_generators_seed(dp_ctx *ctx, dp_generators *all, uint64_t seed);
/* Set the number that dp_session_id() returns, until dp_ctx_reset().  0: no session. */
DP_API void dp_ctx_set_session(dp_ctx *ctx, uint64_t session);
/* Run the DP_ON_SESSION_END hooks of all plugins for the context's session, in load order, on this
 * thread, outside of calls.  `failed` is called for each hook that fails, with the plugin's name
 * and the error.  DP_ERESOURCE: too many threads call (DP_LIMIT_THREADS); then no hook has run. */
typedef void (*dp_session_failed_fn)(void *arg, const char *plugin, const dp_error *err);
DP_API int dp_session_end(dp_ctx *ctx, dp_session_failed_fn failed, void *arg);
/* Set the current streams that kernels of the request use; borrowed until dp_ctx_reset().  NULL:
 * the context's own, which dp_ctx_reset() sets to the default streams. */
DP_API void dp_ctx_set_streams(dp_ctx *ctx, dp_streams *all);
/* Let the next calls of the context run on the registry's canary (dp_load_options.canary), if it
 * may serve operator `op` in another way than the loaded code does: calls of `op`, all operators
 * that these call, and nothing else before dp_ctx_canary(ctx, NULL) or dp_ctx_reset().  The context
 * must be in no call, and not between dp_ctx_begin() and dp_ctx_end().  false: there is no canary,
 * or it does not serve `op`; calls run as usual. */
DP_API bool dp_ctx_canary(dp_ctx *ctx, const dp_op *op);
/* Set how many threads dp_parallel_for() may use for this request, the caller included; 0: no
 * limit. */
DP_API void dp_ctx_set_threads(dp_ctx *ctx, int n);
/* Set when dp_checkpoint() stops this request: at time `nanos` of CLOCK_MONOTONIC (0: never), or as
 * soon as *flag is not 0 (NULL: never).  Any thread may set *flag.  Valid until dp_ctx_reset(). */
DP_API void dp_ctx_set_deadline(dp_ctx *ctx, uint64_t nanos);
DP_API void dp_ctx_set_cancel(dp_ctx *ctx, const dp_cancel_flag *flag);
/* Pin one snapshot for several calls, for example those of a program.  All calls until dp_ctx_end()
 * see the same registry, and see tensors with the shapes that they had at the beginning, except for
 * changes that the calls make themselves.  If other threads may change a tensor's shape, inspect
 * the tensor only between dp_ctx_begin() and dp_ctx_end().  Such pairs of calls may be nested.
 * DP_ERUNTIME: inside a call of an operator, which has pinned a snapshot already. */
DP_API int dp_ctx_begin(dp_ctx *ctx);
DP_API void dp_ctx_end(dp_ctx *ctx);
/* Pin the shapes of all tensors for this thread until dp_shapes_unpin(): sizes, strides and data
 * that the thread reads stay valid, even if other threads change a tensor's shape.  Outside of
 * calls, and without a pin, such a change is visible at once.  Pinning again ends the earlier pin.
 * A call of an operator does not end the pin.  DP_ERESOURCE: too many threads
 * (DP_LIMIT_THREADS). */
DP_API int dp_shapes_pin(dp_error *err);
DP_API void dp_shapes_unpin(void);

typedef struct dp_warning {
    const char *op; /* name of the operator whose kernel gave the warning; NULL: none was running */
    const char *text;
} dp_warning;
/* Return the warnings since dp_ctx_reset(), in order: an array of *n, borrowed until then. */
DP_API const dp_warning *dp_ctx_warnings(const dp_ctx *ctx, size_t *n);
/* Set the thread's floating-point environment to C's default, after a call or a run named `ran`.
 * Kernels may have changed parts of it that are not compared after each call: exceptions that trap,
 * and the x87 control word.  If so, add a warning. */
DP_API void dp_ctx_fp_settle(dp_ctx *ctx, const char *ran);

/* Steps of a traced request, in the order in which they began. */
typedef struct dp_trace_step {
    const dp_op *op;
    dp_key key;
    uint16_t depth;
    uint16_t redispatch; /* 1: entered by a redispatch */
    const char *provenance;
    dp_provenance from;
    uint64_t nanos; /* time of the kernel and of everything that it called */
    /* 1: the step is a fallback to which the mode's policy applies; `copied`: bytes that
     * dp_fallback_cpu() copied in it */
    uint64_t fell_back, copied;
} dp_trace_step;
/* Turn tracing on or off; turning it on deletes earlier steps.  DP_ERESOURCE: no memory. */
DP_API int dp_ctx_trace(dp_ctx *ctx, bool on);
/* Return the steps, [*n], borrowed until dp_ctx_reset().  *cut: steps are missing, because there
 * were more than DP_LIMIT_TRACE, or no memory. */
DP_API const dp_trace_step *dp_ctx_trace_get(const dp_ctx *ctx, size_t *n, bool *cut);

/* The calls of an operator that ran by the fallback of a backend, or whose kernel called
 * dp_fallback_cpu(): those to which dp_mode.fallback applies.  Calls that fail count, too. */
typedef struct dp_fallback_count {
    /* lives as long as the registry; "": all calls of operators beyond DP_LIMIT_FALLBACKS */
    const char *op;
    char key[DP_KEY_NAME_MAX]; /* name of the key that has no kernel: "npu"; "" if `op` is "" */
    uint64_t calls;
    uint64_t bytes; /* that dp_fallback_cpu() copied, to the CPU and back */
} dp_fallback_count;
/* Return the counts since dp_ctx_fallbacks_clear() or dp_ctx_reset(): an array of *n, borrowed
 * until the next call.  If there is no memory, calls are not counted. */
DP_API const dp_fallback_count *dp_ctx_fallbacks(const dp_ctx *ctx, size_t *n);
DP_API void dp_ctx_fallbacks_clear(dp_ctx *ctx);

/* Statistics of the last outermost call, by which the daemon decides where requests run and answers
 * requests with `timing`.  Calls with C types (typed.h) may leave them as they were, unless the
 * context is traced or timed. */
typedef struct dp_call_stats {
    uint64_t kernel_id; /* of the outermost kernel; each generation of a kernel has another id */
    /* number of kernels that were called, the first included; layers that only redispatch do not
     * count, so 1 means that the kernel called no other operator */
    uint32_t n_calls;
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
    dp_value *args;       /* [n_args] in the context's memory */
    uint64_t written;     /* bit i: the schema marks argument i as written */
    uint64_t ret_written; /* bit i: return i is a written argument */
    /* number of the argument that return i is, if ret_written has bit i; else -1 */
    int8_t ret_alias[64];
    /* for dp_name_returns(): the enum to which the numbers of return i belong */
    uint8_t ret_names[64];
} dp_bound;

/* Choose an overload of `name` ("aten::add" or "aten::add.Tensor") and convert `args` and `kwargs`
 * to its schema: positions, names, defaults, an int for float, a number for Tensor (a wrapped
 * number, owned by the context until dp_ctx_reset()), "float32" for ScalarType, lists.  Lists are
 * passed as DP_TAG_LIST; the numbers of a last int[] may stand one by one: permute(x, 1, 0).
 * DP_ENOTFOUND: the message gives similar operators.  DP_ETYPE: it gives the arguments that do not
 * fit, and the candidates. */
DP_API int dp_bind(dp_ctx *ctx, const char *name, const dp_value *args, size_t n_args,
                   const dp_kwarg *kwargs, size_t n_kwargs, dp_bound *out);

/* Replace numbers in rets [b->n_rets] that stand for a dtype, layout, memory format or device by
 * their names: strings in the context's memory, which dp_bind() accepts.  An unknown number stays.
 * DP_ERESOURCE: no memory; rets are valid nevertheless. */
DP_API int dp_name_returns(dp_ctx *ctx, const dp_bound *b, dp_value *rets);

/* Return a number that identifies the kernels that the call would run: the layers that redispatch,
 * and the kernel below the layers.  0: there is no kernel.  The number stays the same while the
 * same kernels would run.  DP_KERNEL_BELOW(number) is the dp_kernel_info.id of the kernel below the
 * layers. */
DP_API uint64_t dp_bound_kernel(dp_ctx *ctx, const dp_bound *b);
/* May the bytes of the call's tensor arguments change while it runs, because another process writes
 * them?  The operator has the tag reads_once, writes no argument, and no argument requires a
 * gradient. */
DP_API bool dp_bound_reads_once(dp_ctx *ctx, const dp_bound *b);
/* May two calls with the same arguments differ?  The operator has the tag nondeterministic_seeded.
 * Also true if the operator has no definition any more. */
DP_API bool dp_bound_random(dp_ctx *ctx, const dp_bound *b);
#define DP_KERNEL_BITS          40 /* bits of an id; the next bit of dp_bound_kernel() is 0 */
#define DP_KERNEL_BELOW(number) ((number) & (((uint64_t)1 << DP_KERNEL_BITS) - 1))

/* Where the kernel below the layers comes from. */
typedef struct dp_kernel_origin {
    uint64_t id;                          /* as in dp_kernel_info; 0: there is no kernel */
    dp_key key;                           /* key or alias key for which the kernel is registered */
    char plugin[DP_LIMIT_NAME_BYTES + 1]; /* a copy, since the plugin may be unloaded by now */
    uint64_t generation;
} dp_kernel_origin;
/* Describe the kernel whose id is DP_KERNEL_BELOW(dp_bound_kernel(ctx, b)).  Takes no lock. */
DP_API void dp_bound_origin(dp_ctx *ctx, const dp_bound *b, dp_kernel_origin *out);

/* -- queries of the registry: any thread, without waiting for calls --
 *
 * Results are allocated in the given arena and describe the registry at the moment of the query.
 * All functions fail with DP_ERESOURCE if memory runs out, and with DP_ENOTFOUND if the operator or
 * the key that a parameter names does not exist. */

typedef struct dp_argument_info {
    const char *name, *type, *default_value; /* NULL: none */
    bool kwarg_only, written;
} dp_argument_info;
typedef struct dp_kernel_info {
    dp_key key;
    dp_provenance from;
    bool active, fallthrough, unboxed, for_gradients; /* for_gradients: DP_FLAG_GRAD */
    uint64_t id;                                      /* the id in dp_call_stats.kernel_id */
} dp_kernel_info;
typedef struct dp_cell_info {
    dp_key key;
    const char *provenance;       /* "kernel", "math kernel", "missing" ... */
    const dp_kernel_info *kernel; /* NULL: missing */
} dp_cell_info;
typedef struct dp_op_info {
    const char *name, *schema; /* schema NULL: the operator has kernels but no definition */
    const char *tags;
    dp_provenance defined_by;
    uint32_t n_args, n_rets, n_kernels, n_cells;
    const dp_argument_info *args, *rets;
    const dp_kernel_info *kernels; /* in order of keys; for one key the newest first */
    const dp_cell_info *cells;     /* one for each runtime key, ascending, Undefined first */
    uint64_t calls;
} dp_op_info;
DP_API int dp_registry_describe(dp_registry *reg, const char *op, dp_arena *a, dp_op_info *out,
                                dp_error *err);

typedef struct dp_list_filter {
    const char *ns, *match, *key, *plugin; /* each may be NULL; match: text in the name */
    /* true: only operators that have kernels but no definition */
    bool dangling;
} dp_list_filter;
/* List full names of operators, sorted. */
DP_API int dp_registry_list(dp_registry *reg, const dp_list_filter *f, dp_arena *a,
                            const char *const **out, size_t *n, dp_error *err);

typedef struct dp_what_if {
    const char *op, *key;
} dp_what_if;
/* Get, for each (operator, key), the text of dp_cell_info.provenance.  `with`: kernels to assume in
 * addition to those of the registry. */
DP_API int dp_registry_table(dp_registry *reg, const char *const *ops, size_t n_ops,
                             const dp_key *keys, size_t n_keys, const dp_what_if *with,
                             size_t n_with, dp_arena *a, const char ***cells /* [n_ops * n_keys] */,
                             dp_error *err);

/* List the runtime keys of all existing backends, in the order of dp_op_info.cells, then the alias
 * keys. */
DP_API size_t dp_registry_keys(dp_registry *reg, dp_arena *a, const dp_key **out);

/* The fallback of a key, which serves operators that have no kernel for the key, beside the one
 * that PyTorch 1.13 registers there.  `kind` and `pytorch`: "kernel", "fallthrough" or "none". */
typedef struct dp_key_fallback {
    const char *kind;
    dp_provenance from; /* plugin NULL: none; "(built in)": the host's own fallthrough */
    const char *pytorch;
    const char *reason; /* why the two differ; NULL: they do not, or PyTorch has none */
} dp_key_fallback;
/* Describe the fallbacks of runtime keys: (*out)[n], in `a`. */
DP_API int dp_registry_key_fallbacks(dp_registry *reg, const dp_key *keys, size_t n, dp_arena *a,
                                     const dp_key_fallback **out, dp_error *err);

/* One key of a call that dp_explain() explains. */
typedef struct dp_explain_step {
    dp_key key;
    const char *provenance;
    dp_provenance from;
    const char *why;
    /* a layer above is assumed to redispatch, since its kernel does not say so (DP_FLAG_BELOW) */
    bool assumed;
} dp_explain_step;
typedef struct dp_explanation {
    const dp_op *op;
    /* keys of the arguments; with included keys; without excluded ones */
    dp_keyset argument_keys, merged, after_state;
    uint32_t n_path, n_skipped;
    const dp_explain_step *path, *skipped;
} dp_explanation;
/* Explain which kernels the call would run, without running it: `path` has the keys whose kernels
 * would run, in order, and `skipped` the keys that would be passed over.  *out is allocated in `a`.
 * DP_ENOTFOUND: the operator has changed since dp_bind(). */
DP_API int dp_explain(dp_ctx *ctx, const dp_bound *b, dp_arena *a, dp_explanation *out);

/* Write everything that is registered as canonical text: equal sets of registrations give equal
 * bytes. */
DP_API int dp_registry_dump(dp_registry *reg, dp_arena *a, const char **text, dp_error *err);
/* Recompute all derived tables and compare.  *violations [*n] has one line for each difference; 0
 * lines mean that the registry is consistent. */
DP_API int dp_registry_check(dp_registry *reg, dp_arena *a, const char *const **violations,
                             size_t *n, dp_error *err);

typedef struct dp_registry_stats {
    uint32_t plugins, ops, kernels, backends, draining;
    uint64_t calls, snapshots;
} dp_registry_stats;
DP_API void dp_registry_stats_get(dp_registry *reg, dp_registry_stats *out);

typedef struct dp_op_calls {
    const char *op; /* lives as long as the registry */
    uint64_t calls;
} dp_op_calls;
/* List the operators that were called, in the order in which the registry got their names, with the
 * number of their calls by all contexts until now: by clients, by programs and by kernels.  A
 * redispatch counts as a call. */
DP_API int dp_registry_calls(dp_registry *reg, dp_arena *a, const dp_op_calls **out, size_t *n,
                             dp_error *err);

/* A call that runs now.  dp_registry_running() lists the calls of each thread with the outermost
 * first. */
typedef struct dp_running {
    char label[32];
    const char *op;                       /* lives as long as the registry */
    char plugin[DP_LIMIT_NAME_BYTES + 1]; /* a copy, since the plugin may be unloaded by now */
    uint64_t generation;
    dp_key key;
    int depth;
    uint64_t nanos;  /* time since the outermost call began */
    uint64_t thread; /* dp_thread_number() of the thread that runs it */
} dp_running;
/* Return the number of the calling thread, from 1.  Threads that live at once have different
 * numbers; a later thread may get the number of one that has ended.  0: DP_LIMIT_THREADS threads
 * have numbers already, or no memory. */
DP_API uint64_t dp_thread_number(void);
DP_API size_t dp_registry_running(dp_registry *reg, dp_running *out, size_t cap);
/* Report the calls that a thread runs, outermost first, one line for each: label of the request,
 * operator, key, plugin, shapes of the arguments.  Thread 0 is the calling thread, 1 and up are the
 * other threads, in the order of an internal list.  False: there are not as many threads.  For
 * crash reports: the function is async-signal-safe.  It reads data that another thread may be
 * changing, so a caller that reports another thread must be able to survive a fault. */
DP_API bool dp_thread_report(size_t thread, void (*line)(void *arg, const char *text), void *arg);
/* If the calling thread runs no call, report the operator and key of the call that it ran last,
 * since the result of that call may have caused the crash. */
DP_API void dp_thread_report_last(void (*line)(void *arg, const char *text), void *arg);

/* Functions that the registry calls after changes, in order, while it holds its lock; they must not
 * call functions of the registry.  `defined` and `undefined` are called for each operator whose
 * definition is added or removed; dp_registry_listen() calls `defined` for all operators that are
 * defined already.  Each function may be NULL. */
typedef struct dp_listener {
    void (*defined)(void *arg, const char *op);
    void (*undefined)(void *arg, const char *op);
    /* called after each published change */
    void (*changed)(void *arg, const char *plugin, uint64_t generation, uint32_t added,
                    uint32_t removed);
    void *arg;
    /* called after each dp_note() */
    void (*noted)(void *arg, const char *plugin, const char *name, const char *text);
} dp_listener;
DP_API int dp_registry_listen(dp_registry *reg, const dp_listener *l,
                              dp_error *err); /* borrowed until dp_registry_unlisten() */
DP_API void dp_registry_unlisten(dp_registry *reg, const dp_listener *l);

/* -- schemas -- */
typedef struct dp_schema dp_schema;
/* Parse a schema; *out owned, immutable.  DP_EVALUE: the message gives the column.  DP_ERESOURCE:
 * it gives the limit.  Any thread. */
DP_API int dp_schema_parse(const char *text, dp_schema **out, dp_error *err);
DP_API dp_schema *dp_schema_free(dp_schema *s); /* NULL is allowed; returns NULL */
/* Return the canonical text of a schema, owned by the caller: free it with dp_free().  NULL: no
 * memory. */
DP_API char *dp_schema_print(const dp_schema *s);

#ifdef __cplusplus
}
#endif
#endif
