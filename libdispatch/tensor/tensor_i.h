/* tensor_i.h -- storage, geometry, tensor: the structs behind dp_tensor.
 *
 * A storage is a range of bytes on one device.  A geometry is immutable: sizes, strides and offset,
 * the flags derived from them, and the storage.  A tensor and the version, storage and geometry
 * that are made with it lie in one block of memory with a reference count, the tensor's home.
 *
 * A resize gives the tensor a new geometry.  A running call does not see changes by other calls:
 * for that call, a tensor has the geometry that it had when the call began, or that the call itself
 * gave it.  Here, a call is an outermost call of an operator, with everything that it calls, or all
 * calls between dp_ctx_begin() and dp_ctx_end().  Therefore one connection's call can resize a
 * tensor while a kernel of another connection reads the tensor. */
#ifndef DPI_TENSOR_I_H
#define DPI_TENSOR_I_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

/* Flags in the device of a new tensor.  DPI_MEMORYLESS: its storage gets no memory, whatever the
 * device is.  Such a tensor has sizes and strides but no data: functions that read bytes refuse it,
 * and functions that write bytes do nothing.  All tensors on device meta are memoryless.  DPI_FAKE:
 * memoryless, and the tensor has the key Fake. */
enum { DPI_MEMORYLESS = 1 << 30, DPI_FAKE = DPI_MEMORYLESS | 1 << 29 };

/* The device of a new tensor, with the flags above, and the account that is charged for its
 * memory. */
typedef struct dpi_target {
    dp_device device;
    /* id of a session's current streams (dpi_streams_id()): memory of a device is allocated for the
     * current stream of that device; 0: for the default stream */
    uint32_t streams;
    dp_account *account; /* NULL: no account is charged */
} dpi_target;

typedef struct dpi_storage {
    dp_device device;
    /* NULL: `bytes` is 0, or the storage is memoryless, or the data was released (the device ended,
     * or a reload did not adopt the data, or a growth replaced it) */
    void *data;
    size_t bytes;            /* usable bytes; memoryless: bytes that the tensors' sizes need */
    atomic_uint_fast64_t id; /* never reused; 0: not assigned yet */
    /* releases `data` that is an embedder's, pinned (dpi_block_release()), or mapped by other
     * processes (dpi_shared_release()); does nothing for `data` in the storage's home; NULL:
     * dpi_memory_free() or the device releases `data` */
    void (*release)(void *arg);
    void *release_arg; /* memoryless: the meter that counts the bytes (meter.h), or NULL */
    bool host;         /* `data` is host memory */
    bool memoryless;   /* has no data, whatever `bytes` is: device meta, fakes, wrappers */
    bool fake;         /* memoryless, and its tensors have the key Fake */
    /* of a wrapper: 1 + the slot of its kind (kind.h), with a reference (dpi_kind_ref()); 0:
     * none */
    uint8_t kind_ref;
    const char *kind; /* name of the wrapper's kind, in the storage's home; NULL: no wrapper */
    struct dpi_block *block; /* device block that `data` lies in; NULL: host memory */
    /* Used by keep.c: `charged` is the account and the holder that the storage is charged to, and
     * `charge_count` is how often that holder has charged it.  `total_bytes` are the bytes of the
     * storage and of all its growths; of these, `call_made_bytes` were allocated by calls of
     * operators with an account. */
    atomic_uintptr_t charged;
    uint32_t charge_count;
    bool call_made; /* a call of an operator with an account allocated `bytes` */
    uint64_t total_bytes, call_made_bytes;
    bool fixed; /* cannot grow: an embedder or another process has or uses the memory */
    bool named; /* cannot grow, but can be moved into shared memory (dp_tensor_fix()) */
    _Atomic(struct dpi_growth *) growth; /* the newest; NULL: it never grew */
} dpi_storage;

/* One growth of a storage.  Changes of shapes and growths are numbered (dpi_changes).  From change
 * `since` on, which thread `by` made, the storage's bytes are those of `memory`.  The replaced
 * memory is released when no running call can be older than that change.  If the call that grew the
 * storage fails, the growth is undone (dpi_tensor_shrink), unless another thread has read the new
 * memory.  A growth that is undone has no memory, but stays in the list, because other threads may
 * be reading the struct; the next growth of the storage reuses it. */
typedef struct dpi_growth {
    dpi_storage memory;
    /* the growth before; NULL: the storage's own memory, or released */
    struct dpi_growth *replaced;
    atomic_uint_fast64_t state; /* `since` << 2 | DPI_CHANGE_* */
    _Atomic(const void *) by;
    int n_replaced; /* number of replaced memories that still exist */
    /* number of geometries of the call that grew the storage which do not fit without this
     * growth */
    uint32_t needs;
} dpi_growth;

/* The state of a change of shape or memory.  OWN: only the thread that made the change has used the
 * new shape or memory.  READ: another thread has used it, so the change cannot be undone.  UNDONE:
 * the change was undone after a failure, and no thread will use the new shape or memory any
 * more. */
enum { DPI_CHANGE_OWN, DPI_CHANGE_READ, DPI_CHANGE_UNDONE };

typedef struct dpi_version {
    atomic_uint_fast64_t value;
} dpi_version;

/* The parts (tensors, integers, doubles) that a wrapper tensor is made of (dp_wrapper), in one
 * block.  They belong to the wrapper's geometry and are replaced with it, so a running call sees
 * old parts with an old geometry. */
typedef struct dpi_parts {
    uint32_t version, n_tensors, n_ints, n_doubles;
    int32_t layout;
    /* 1 + the greatest depth among `tensors` when the wrapper was first made; a tensor that is no
     * wrapper has depth 0 */
    uint32_t depth;
    dp_tensor *const *tensors; /* [n_tensors] each with a reference */
    const int64_t *ints;
    const double *doubles;
    /* Used by keep.c: the account and the holder that `tensors` are charged to, as in
     * dpi_storage.charged.  Written only between dpi_change_shapes_begin() and _end(). */
    uintptr_t charged;
} dpi_parts;

typedef struct dpi_geometry {
    int32_t ndim;
    int64_t numel;
    int64_t offset;                                          /* in elements */
    bool contiguous, channels_last, channels_last_3d, dense; /* as in c10/core/Contiguity.h */
    bool like_channels_last, like_channels_last_3d;          /* the strides have that order */
    int64_t *sizes, *strides; /* [ndim] in memory behind this struct */
    dpi_storage *storage;     /* with a reference to its home */
    struct dpi_parts *parts;  /* owned; NULL: no wrapper */
    /* Set if this geometry replaced another one in a tensor.  `replaced` is that other geometry,
     * with a reference that is dropped when no running call can be older than the change.  `since`
     * is the number of the change (dpi_changes.n), and `by` identifies the thread that made it.
     * `n_replaced` is an upper bound for the length of the chain of replaced geometries.  `state`
     * becomes DPI_CHANGE_UNDONE when no call may use this geometry any more, not even a call that
     * begins later. */
    _Atomic(struct dpi_geometry *) replaced;
    uint64_t since;
    const void *by;
    atomic_int n_replaced;
    atomic_int state; /* DPI_CHANGE_* */
    /* bytes of the storage that this geometry needs, if dpi_growth.needs counts it; 0: not
     * counted */
    size_t needs;
} dpi_geometry;

static inline bool dpi_same_sizes(const dpi_geometry *a, const dpi_geometry *b)
{
    return a->ndim == b->ndim && memcmp(a->sizes, b->sizes, (size_t)a->ndim * sizeof(int64_t)) == 0;
}
static inline bool dpi_same_strides(const dpi_geometry *a, const dpi_geometry *b)
{
    return a->ndim == b->ndim &&
           memcmp(a->strides, b->strides, (size_t)a->ndim * sizeof(int64_t)) == 0;
}

struct dp_tensor {
    dp_keyset keys; /* first member: ABI promise of tensor.h */
    uint32_t refs;  /* changed only by dp_refs_add_() and dp_refs_drop_() */
    dp_dtype dtype;
    bool wrapped; /* a 0-dim tensor made from a number (c10 is_wrapped_number), not a wrapper */
    _Atomic(dpi_geometry *) geometry; /* read it with dpi_geometry_of() */
    dpi_version *version;
    _Atomic(void *) attached; /* written by dispatch/call/attach.c; NULL: nothing attached */
    dp_tensor *root;  /* base of a view, with a reference; it is no view itself.  NULL: no view */
    uint8_t creation; /* DP_CREATED_*, for views */
    /* of a view: `keys` has the skip bit (DPI_GRAD_BIT) only because `root` may get it */
    bool grad_by_root;
    /* For views: low bits of the version at which `history` was recorded.  An in-place operation on
     * the base, or on another view of the base, increases the version, and then `history` is out of
     * date (libdispatch/autograd). */
    uint32_t view_version;
    atomic_uintptr_t history; /* used by libdispatch/autograd (history.h); 0: none */
    atomic_uint_fast64_t id;  /* 0: not assigned yet */
};

/* One block of memory with a reference count: a tensor, and its own version, storage and geometry.
 * A view uses the geometry of its own home, the storage of its base and, after dpi_tensor_join(),
 * the version of its base.  An alias uses none of these three from its own home.
 *
 * A reference to a version, storage or geometry is a reference to the whole home in which it lies.
 * A tensor has references to the homes of its geometry and its version.  A geometry has references
 * to the homes of its storage and of the geometry that it replaced.  Therefore a replaced geometry
 * also stays while views use it. */
typedef struct dpi_home {
    dp_tensor tensor; /* holds one reference to the home until dp_tensor_destroy() */
    atomic_uint refs;
    bool small; /* the block is from dpi_small_alloc(), else from dp_malloc() */
    dpi_version version;
    dpi_storage storage;        /* in use if geometry.storage points to it */
    struct dpi_home *next_dead; /* list used while homes are freed */
    /* in use if it has a storage.  Its sizes and strides, and the bytes of a small storage, lie
     * behind it. */
    dpi_geometry geometry;
} dpi_home;

/* Tell whether `t` is a wrapper whose home has only two references, by `t` and by its geometry, and
 * that geometry's home only one, by `t`. */
bool dpi_parts_are_only(const dp_tensor *t);

/* Tell whether the caller has the only reference to `t` and to the version, storage and geometry of
 * `t`, so that no other tensor shares these. */
static inline bool dpi_tensor_is_only(const dp_tensor *t)
{
    const dpi_home *h = (const dpi_home *)(const void *)t; /* `tensor` is the first member */

    return __atomic_load_n(&t->refs, __ATOMIC_ACQUIRE) == 1 && t->version == &h->version &&
           (atomic_load_explicit(&h->refs, memory_order_acquire) == 1 || dpi_parts_are_only(t));
}

_Static_assert(offsetof(dpi_home, tensor) == 0, "dpi_tensor_is_only() needs it");

/* Set or clear the skip bit of t's keys; any thread. */
void dpi_tensor_may_grad(dp_tensor *t, bool on);
/* May `t`, which has the skip bit, require a gradient?  A view has the bit from its creation on,
 * since its root may require a gradient later; until then the answer is no. */
static inline bool dpi_grad_is_likely(const dp_tensor *t)
{
    return t->root == NULL || !__atomic_load_n(&t->grad_by_root, __ATOMIC_RELAXED) ||
           (__atomic_load_n(&t->root->keys.functionality, __ATOMIC_RELAXED) & DPI_GRAD_BIT) != 0;
}

/* n: 1 + the number of shape changes so far.  On its own cache line, because every call reads
 * it. */
typedef struct dpi_counter {
    _Alignas(64) atomic_uint_fast64_t n;
} dpi_counter;
extern dpi_counter dpi_changes;
/* The state of a thread that uses tensors.  Part of the thread's record (dpi_thread), which is
 * never freed. */
typedef struct dpi_looker {
    /* dpi_changes.n when the thread's call began; 0: no call runs.  Written only by that thread */
    atomic_uint_fast64_t began;
} dpi_looker;
/* this thread's looker; before the thread's first call a dummy that all such threads share */
extern _Thread_local dpi_looker *dpi_looker_self;

/* Set the function that returns the least dpi_looker.began of all running calls: 0 if a call is
 * just beginning, UINT64_MAX if no call runs.  A call that the function misses sees all changes
 * made before the function ran.  Without such a function, no replaced geometry is released. */
void dpi_oldest_call_from(uint64_t (*oldest)(void));
uint64_t dpi_oldest_call(void);

/* Begin and end a change of shapes; only one thread can be between the two.  The first returns the
 * number of the change.  Calls that begin after the end see the change. */
uint64_t dpi_change_shapes_begin(void);
void dpi_change_shapes_end(uint64_t since);

static inline uint64_t dpi_last_change(void)
{
    return atomic_load_explicit(&dpi_changes.n, memory_order_acquire);
}

static inline void dpi_call_begin(dpi_looker *self)
{
    atomic_store_explicit(&self->began, dpi_last_change(), memory_order_release);
}
static inline void dpi_call_end(dpi_looker *self)
{
    atomic_store_explicit(&self->began, 0, memory_order_release);
}
static inline uint64_t dpi_call_since(void)
{
    return atomic_load_explicit(&dpi_looker_self->began, memory_order_relaxed);
}
/* Tell whether this thread's call must not see change `since` of thread `by`: another thread made
 * the change after the call began. */
static inline bool dpi_is_unseen(uint64_t since, const void *by)
{
    const dpi_looker *self = dpi_looker_self;
    uint64_t began = atomic_load_explicit(&self->began, memory_order_relaxed);

    return began != 0 && since > began && by != self;
}
static inline dpi_geometry *dpi_replaced_of(const dpi_geometry *g)
{
    return atomic_load_explicit(&g->replaced, memory_order_acquire);
}

/* Mark geometry `g`, which replaced another one, as used, so that it is not undone; not necessary
 * if this call made it.  Returns false if `g` was undone. */
bool dpi_geometry_read_first(dpi_geometry *g);
static inline bool dpi_geometry_read(dpi_geometry *g)
{
    return atomic_load_explicit(&g->state, memory_order_acquire) == DPI_CHANGE_READ ||
           dpi_geometry_read_first(g);
}

/* Return the geometry of `t`, borrowed.  During a call of an operator the result is always the same
 * geometry, unless the call itself changes it.  Outside of a call the result is the newest geometry
 * that was not undone, and is valid until the tensor is resized. */
static inline const dpi_geometry *dpi_geometry_of(const dp_tensor *t)
{
    dpi_geometry *g = atomic_load_explicit(&t->geometry, memory_order_acquire);

    while (DPI_UNLIKELY(dpi_replaced_of(g) != NULL) &&
           (dpi_is_unseen(g->since, g->by) || !dpi_geometry_read(g)))
        g = dpi_replaced_of(g);
    return g;
}
/* Return the bits of DPI_MATH_BITS that `t` has: its elements are the conjugate or the negative of
 * the values in memory. */
static inline uint64_t dpi_math_bits(const dp_tensor *t)
{
    return __atomic_load_n(&t->keys.functionality, __ATOMIC_RELAXED) & DPI_MATH_BITS;
}

/* Return the key set of `t`, including internal bits.  Another thread may be changing the skip
 * bit. */
static inline dp_keyset dpi_keys_of(const dp_tensor *t)
{
    return (dp_keyset){__atomic_load_n(&t->keys.functionality, __ATOMIC_RELAXED), t->keys.backend};
}
static inline dpi_storage *dpi_storage_of(const dp_tensor *t)
{
    return dpi_geometry_of(t)->storage;
}

/* Find the memory of `s`, which has grown, for dpi_memory_of(). */
const dpi_storage *dpi_memory_grown(const dpi_storage *s, dpi_growth *g);
/* Return the struct whose `data` and `bytes` are the memory of `s`: `s` itself, or the memory of a
 * growth.  During a call the result is always the same, as for dpi_geometry_of(). */
static inline const dpi_storage *dpi_memory_of(const dpi_storage *s)
{
    dpi_growth *g = atomic_load_explicit(&s->growth, memory_order_acquire);

    return DPI_UNLIKELY(g != NULL) ? dpi_memory_grown(s, g) : s;
}

static inline bool dpi_is_memoryless(const dp_tensor *t)
{
    return dpi_storage_of(t)->memoryless;
}

/* A checked description of a geometry.  `sizes` and `strides` are borrowed. */
typedef struct dpi_layout {
    int ndim;
    const int64_t *sizes, *strides; /* `strides` NULL: contiguous */
    int64_t offset, numel;
    /* elements up to the end of the last one, from the storage's begin; unused if `numel` is 0 */
    int64_t extent;
} dpi_layout;
/* Check sizes, strides and offset: none is negative (but contiguous strides of an empty tensor may
 * have wrapped), the product of sizes fits int64, and the extent is at most
 * DP_LIMIT_STORAGE_BYTES. */
int dpi_layout_check(int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset,
                     dpi_layout *out, dp_error *err);
/* Set `*out` to a contiguous layout, with the checks of dpi_packed_check(). */
int dpi_layout_packed(dp_dtype dtype, int ndim, const int64_t *sizes, dpi_layout *out,
                      dp_error *err);
/* Return how many bytes a storage needs for this geometry; 0 if the geometry has no elements. */
size_t dpi_geometry_bytes(const dpi_geometry *g, size_t itemsize);
/* Compute strides [ndim].  dpi_strides_contiguous(): contiguous strides.  dpi_strides_format():
 * those of memory format `f`; DP_ERUNTIME: `f` is DP_PRESERVE, or has no strides for `ndim`
 * dimensions.  dpi_strides_dense_like(): dense strides in the order of `like`, the strides of
 * another tensor of these sizes. */
void dpi_strides_contiguous(int ndim, const int64_t *sizes, int64_t *strides);
int dpi_strides_format(int ndim, const int64_t *sizes, dp_memory_format f, int64_t *strides,
                       dp_error *err);
void dpi_strides_dense_like(int ndim, const int64_t *sizes, const int64_t *like, int64_t *strides);

/* Allocate host memory, 64-byte aligned, not initialised.  Freed blocks are cached.  NULL: out of
 * memory, or `bytes` is 0 or more than alloc.c allows (almost 1 TiB).  Any thread. */
void *dpi_memory_alloc(size_t bytes);
/* `bytes` as for dpi_memory_alloc(); `p` may be NULL */
void dpi_memory_free(void *p, size_t bytes);
/* End a device.  Wait for its queued work, free its streams and events, release the memory that
 * tensors still use, and remove the device from its backend.  From then on these tensors fail with
 * "backend npu was unloaded".  Afterwards the device's code can be unloaded. */
void dpi_device_end(dpi_device *d);
/* Prepare a device for its plugin's on_unload hook, which may end the library that streams need:
 * wait for queued work, free streams and events and unpin memory, but keep the tensors' memory.
 * The device can be used afterwards. */
void dpi_device_quiet(dpi_device *d);
/* Return the number of storages whose memory was allocated by `d`, one version of a device's
 * code. */
uint64_t dpi_device_storages(const dpi_device *d);
/* Replace `old` by `d` as the device of a backend, at a reload.  `d` gets the blocks of memory that
 * its code adopts.  Tensors whose memory was not adopted fail as if `old` had ended, except in
 * calls that began before; `old` releases their memory when it ends.  Returns the number of
 * storages that lost their memory. */
uint64_t dpi_device_replace(dpi_device *old, const char *owner, dpi_device *d);
/* Release blocks that waited for streams and are not used any more, on all devices, without
 * waiting.  Returns the number of blocks that still wait. */
size_t dpi_blocks_reap(void);
/* Wait until streams have finished with the blocks that wait on a backend's devices, and release
 * these blocks. */
void dpi_blocks_settle(int bit);
/* Check that the device of t's memory still exists.  DP_ERUNTIME: "backend npu was unloaded". */
int dpi_tensor_check_device(const dp_tensor *t, dp_error *err);
/* Undo the changes of t's geometry that this thread made after change number `change`; a change by
 * another thread, and everything before it, stays.  The version is not restored.  Call it during
 * the call that made the changes.  DP_ERESOURCE: out of memory; `t` is unchanged. */
int dpi_tensor_restore(dp_tensor *t, uint64_t change, dp_error *err);
/* Undo the growths of t's storages since `change`, after dpi_tensor_restore() for all tensors of
 * the call: a storage gets its replaced memory back, and the new memory is released.  A growth
 * stays if the new memory may be in use: another thread has read it or may still see the shape that
 * was undone, or tensors that need it exist. */
void dpi_tensor_shrink(dp_tensor *t, uint64_t change);
/* Make a tensor over the storage of `t`, which must be large enough, with t's dtype and a version
 * of its own. */
int dpi_tensor_on(const dp_tensor *t, const dpi_layout *l, dp_tensor **out, dp_error *err);
/* Make `v`, to which only the caller refers, a view of `base`: `v` shares base's version.  If
 * `detached`, `v` has no root; otherwise v's root is base's root, or `base` if base has no root,
 * and `v` gets the skip bit if its dtype can have a gradient and it was not made in inference mode.
 * `creation` is one of DP_CREATED_*.  If the base is a view itself, base's own `creation` is used
 * instead if `creation` is DP_CREATED_DEFAULT or if base's is DP_CREATED_INFERENCE. */
void dpi_tensor_join(dp_tensor *v, dp_tensor *base, bool detached, int creation);
/* Make `v`, a view that has no history, a tensor without root.  It still shares memory and version
 * with what was its root. */
void dpi_tensor_leave_root(dp_tensor *v);
/* Make a fake of `t`: a tensor with its dtype, device and geometry, over a new storage of the same
 * size without memory. */
int dpi_tensor_fake(const dp_tensor *t, dp_tensor **out, dp_error *err);
/* Make a wrapper: a tensor with parts `p` over a storage without bytes.  `kind` is copied.  `p`
 * belongs to the tensor on success only. */
int dpi_tensor_of_parts(dp_dtype dtype, dp_device device, const char *kind, const dpi_layout *l,
                        dpi_parts *p, dp_tensor **out, dp_error *err);
/* Like dpi_tensor_of_parts(), but over the storage of wrapper `t`. */
int dpi_tensor_with_parts(const dp_tensor *t, const dpi_layout *l, dpi_parts *p, dp_tensor **out,
                          dp_error *err);
/* Check that `t` is no wrapper.  DP_ENOTIMPL: a wrapper has no bytes of its own to read or
 * write. */
int dpi_no_wrapper(const dp_tensor *t, dp_error *err);
/* Make `t`, which is new and no view, share the version of `of`. */
void dpi_tensor_share_version(dp_tensor *t, dp_tensor *of);
/* Tell whether `a` and `b` share a storage.  For a wrapper, its parts are compared. */
bool dpi_share_storage(const dp_tensor *a, const dp_tensor *b);
/* -- wrapper.c -- */
int dpi_wrapper_new(const dp_wrapper *w, dp_tensor **out, dp_error *err);
int dpi_wrapper_become(dp_tensor *t, const dp_wrapper *w, dp_error *err);
/* The functions dpi_x() below, and the two above, do the work of dp_x() in api.h, which has a
 * context; dispatch/call/host_tensor.c passes what these functions need of the context, such as the
 * account. */
int dpi_empty(dp_dtype dtype, dpi_target at, int ndim, const int64_t *sizes, dp_memory_format f,
              dp_tensor **out, dp_error *err);
int dpi_empty_strided(dp_dtype dtype, dpi_target at, int ndim, const int64_t *sizes,
                      const int64_t *strides /* NULL: contiguous */, dp_tensor **out,
                      dp_error *err);
int dpi_empty_like(const dp_tensor *t, dp_dtype dtype, dpi_target at, dp_memory_format f,
                   dp_tensor **out, dp_error *err);
/* Make a view of `t` with another dtype.  `strides` and `offset` are in elements of `dtype`.
 * `flip`: bits of DPI_MATH_BITS that differ from those of `t`. */
int dpi_view_as(const dp_tensor *t, dp_dtype dtype, uint64_t flip, int ndim, const int64_t *sizes,
                const int64_t *strides, int64_t offset, dp_tensor **out, dp_error *err);
int dpi_as_strided(const dp_tensor *t, int ndim, const int64_t *sizes, const int64_t *strides,
                   int64_t offset, dp_tensor **out, dp_error *err);
int dpi_view_sizes(const dp_tensor *t, int ndim, const int64_t *sizes, dp_tensor **out,
                   dp_error *err);
/* at::resize_.  `f` DP_PRESERVE: without a memory format.  `a`: the account that is charged for
 * growth if `t` is charged to none; NULL: none. */
int dpi_resize(dp_account *a, dp_tensor *t, int ndim, const int64_t *sizes, dp_memory_format f,
               dp_error *err);
/* at::set_.source_Storage_storage_offset with the storage of `source`.  `strides` NULL:
 * contiguous. */
int dpi_set_storage(dp_account *a, dp_tensor *t, const dp_tensor *source, int64_t offset, int ndim,
                    const int64_t *sizes, const int64_t *strides, dp_error *err);
/* Resize an output of a wrong shape (at::resize_output) and set `strides`; NULL: contiguous. */
int dpi_resize_output(dp_account *a, dp_tensor *t, int ndim, const int64_t *sizes,
                      const int64_t *strides, dp_error *err);
int dpi_scalar_tensor(dp_account *a, dp_value scalar, dp_dtype dtype, dp_tensor **out,
                      dp_error *err);
int dpi_broadcast_shapes(int na, const int64_t *a, int nb, const int64_t *b, int64_t *out,
                         dp_error *err);
/* Fill in `*it` for dp_iter_build().  `fake`: make fake outputs even if no operand is a fake.
 * `account`: charged for new outputs.  `a`: memory for data that does not fit into `*it`. */
int dpi_iter_init(const dp_iter_config *c, bool fake, dp_account *account, dp_arena *a, dp_iter *it,
                  dp_error *err);
/* Run a loop over an iterator.  DP_ECANCELLED, DP_EDEADLINE: `stop` requested this between two
 * pieces of work.  `stop` NULL: the loop cannot be stopped. */
int dpi_iter_run(const dp_iter *it, int max_threads, dp_iter_loop2d loop, void *user,
                 const dpi_stop *stop, dp_error *err);
int dpi_iter_run_1d(const dp_iter *it, int max_threads, dp_iter_loop loop, void *user,
                    const dpi_stop *stop, dp_error *err);
int dpi_iter_reduce(const dp_iter *it, int max_threads, const dp_reduction *r, void *user,
                    dp_arena *a, const dpi_stop *stop, dp_error *err);
/* `threads`: the greatest number of threads for a large copy; 0: all threads of the thread pool. */
int dpi_copy(dp_tensor *dst, const dp_tensor *src, int threads, dp_error *err);
/* Like dpi_copy(), but return DP_ECANCELLED or DP_EDEADLINE when `stop` requests it; then only a
 * part of `dst` may have been written. */
int dpi_copy_until(dp_tensor *dst, const dp_tensor *src, int threads, const dpi_stop *stop,
                   dp_error *err);
int dpi_copy_async(dp_tensor *dst, const dp_tensor *src, dp_stream *s, int threads, dp_error *err);
int dpi_fill_bytes(dp_tensor *t, int byte, dp_stream *s, dp_error *err);
/* Set the function that is called when a tensor is freed, with its `attached`.  Every caller passes
 * the same function. */
void dpi_on_tensor_end(void (*fn)(void *attached));
/* Set the function that is called when a tensor is freed, to release what its `history` refers to.
 * Every caller passes the same function. */
void dpi_on_history_end(void (*fn)(uintptr_t history));
static inline uint64_t dpi_version_of(const dp_tensor *t)
{
    return atomic_load_explicit(&t->version->value, memory_order_acquire);
}
/* These functions dpi_x(), too, do the work of dp_x() in api.h. */
int dpi_tensor_export(const dp_tensor *t, dp_exported *out, dp_error *err);
int dpi_tensor_import(const dp_exported *from, dp_dtype dtype, dpi_target at, int ndim,
                      const int64_t *sizes, const int64_t *strides, int64_t offset, dp_tensor **out,
                      dp_error *err);
int dpi_empty_pinned(dp_dtype dtype, dpi_target at, int ndim, const int64_t *sizes, dp_tensor **out,
                     dp_error *err);
bool dpi_tensor_is_pinned(const dp_tensor *t);
int dpi_record_stream(dp_tensor *t, dp_stream *s, dp_error *err);

#pragma GCC visibility pop

#endif
