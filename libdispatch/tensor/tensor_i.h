/* tensor_i.h -- storage, geometry, tensor: the structs behind dp_tensor.
 *
 * A storage is a run of bytes on one device.  A geometry is immutable: sizes, strides and offset,
 * the flags derived from them, and the storage.  A tensor and what is made for it lie in one
 * counted allocation, its home.  Changing a tensor's shape gives it another geometry.  A running
 * call does not see changes by other calls: to it, a tensor has the geometry that it had when the
 * call began, or that the call itself gave it.  So one connection's call can resize a tensor while
 * another's kernel reads it. */
#ifndef DPI_TENSOR_I_H
#define DPI_TENSOR_I_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

/* In a device for a new tensor: its storage is to take no memory, whatever the device is.  Such a
 * tensor has sizes and strides and no data: whoever reads bytes refuses it, whoever writes skips
 * it.  Everything on device meta is so. */
enum { DPI_MEMORYLESS = 1 << 30, DPI_FAKE = DPI_MEMORYLESS | 1 << 29 /* and has the key Fake */ };

/* Where the memory of a new tensor is to be, and at whose expense. */
typedef struct dpi_target {
    dp_device device;
    uint32_t
        streams; /* dpi_streams_id(): a device's block is for its current one; 0: the default one */
    dp_account *account; /* NULL: nobody's */
} dpi_target;

typedef struct dpi_storage {
    dp_device device;
    void *data;                 /* may be NULL when bytes is 0; becomes NULL when its device goes */
    size_t bytes;               /* that may be used; memoryless: that would be used */
    atomic_uint_fast64_t id;    /* never reused; 0: nobody has asked for it yet */
    void (*release)(void *arg); /* foreign memory; NULL: the allocator's or the device's */
    void *release_arg;
    bool host;       /* data can be read and written here */
    bool memoryless; /* it has a size and never any data: device meta, fakes, wrappers */
    bool fake;       /* memoryless, and its tensors have the key Fake */
    uint8_t
        kind_ref; /* slot of a wrapper's kind + 1, which dpi_kind_unref() takes; 0: it has no key */
    const char *kind; /* of a wrapper, whose bytes are its parts'; in its home; NULL: of none */
    struct dpi_block *block; /* whose data this is; NULL: the host's */
    /* keep.c's: whose account it is charged to, and how often that holder asked; its bytes and
     * those that it grew by, and how many of them were made for an account. */
    atomic_uintptr_t charged;
    uint32_t charge_count;
    bool call_made; /* `bytes` were */
    uint64_t total_bytes, call_made_bytes;
    bool fixed; /* it never gets more bytes: the memory is somebody else's */
    _Atomic(struct dpi_growth *) growth; /* the latest; NULL: it never grew */
} dpi_storage;

/* A storage that grew: its bytes are these from change `since` on, which thread `by` made.  What
 * they were before stays as long as a running call may have begun before.  When the call that grew
 * it fails, the growth is undone (dpi_tensor_shrink) unless another thread has read its memory: it
 * then has none, and the storage's next growth uses the struct, which other threads may be
 * reading. */
typedef struct dpi_growth {
    dpi_storage memory;
    struct dpi_growth *replaced; /* NULL: the storage's own memory, or nothing any more */
    atomic_uint_fast64_t state;  /* `since` << 2, and one of DPI_CHANGE_* */
    _Atomic(const void *) by;
    int n_replaced; /* memories behind it, the storage's own among them */
    uint32_t
        needs; /* geometries that do not fit in what it grew from, made by the call that grew it */
} dpi_growth;

/* Which threads have used a change of shape or memory: the one that made it alone, others, too, so
 * that it is not undone, or none will, since it is undone. */
enum { DPI_CHANGE_OWN, DPI_CHANGE_READ, DPI_CHANGE_UNDONE };

typedef struct dpi_version {
    atomic_uint_fast64_t value;
} dpi_version;

/* What a wrapper tensor is made of, in one block.  Belongs to its geometry: the two change
 * together, and a running call sees neither change. */
typedef struct dpi_parts {
    uint32_t version, n_tensors, n_ints, n_doubles;
    int32_t layout;
    uint32_t depth; /* 1 + that of the deepest wrapper among the tensors, when t was made */
    dp_tensor *const *tensors; /* counted */
    const int64_t *ints;
    const double *doubles;
    uintptr_t
        /* keep.c's: whose account holds the tensors, as the storage; changes of shape wait */
        charged;
} dpi_parts;

typedef struct dpi_geometry {
    int32_t ndim;
    int64_t numel;
    int64_t offset;                                          /* elements */
    bool contiguous, channels_last, channels_last_3d, dense; /* c10/core/Contiguity.h */
    bool like_channels_last, like_channels_last_3d;          /* strides in that order, not packed */
    int64_t *sizes, *strides;                                /* [ndim], behind this struct */
    dpi_storage *storage;                                    /* its home is held */
    struct dpi_parts *parts; /* owned; of a wrapper; NULL: of no wrapper */
    /* If this geometry replaced another in a tensor: `former` is that one, held as long as a
     * running call may have begun before; `since` is the number of the change (dpi_changes.n); `by`
     * identifies the thread that made it.  n_replaced: at most so long is the chain of formers.
     * `state` becomes DPI_CHANGE_UNDONE when no call may use it any more, not even one that began
     * after it. */
    _Atomic(struct dpi_geometry *) replaced;
    uint64_t since;
    const void *by;
    atomic_int n_replaced;
    atomic_int state; /* DPI_CHANGE_* */
    size_t needs; /* bytes, as counted in dpi_growth.needs of its storage; 0: it is not counted */
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
    dp_keyset keys; /* first: ABI promise of tensor.h */
    uint32_t refs;  /* by dp_tensor_ref() and dp_tensor_unref() only */
    dp_dtype dtype;
    bool wrapped;
    _Atomic(dpi_geometry *) geometry; /* dpi_geometry_of() */
    dpi_version *version;
    _Atomic(void *) attached; /* dispatch/call/attach.c's; NULL: nothing ever was */
    dp_tensor *root;  /* counted; of a view: what it views, which is no view.  NULL: no view */
    uint8_t creation; /* DP_CREATED_*; of views */
    atomic_uint_fast64_t id; /* 0: nobody has asked for it yet */
};

/* One allocation: a tensor, and its own version, storage and geometry.  A view has its geometry
 * here, but the storage of its base, and the version, too, once it has joined it
 * (dpi_tensor_join()); an alias has none of them here.  Whoever refers to
 * a part of another home holds all of that home: the tensor for its geometry and its version, the
 * geometry for its storage and its former.  (So what a resized tensor was is kept for its views,
 * too.) */
typedef struct dpi_home {
    dp_tensor tensor; /* until dp_tensor_destroy(), which is one reference to the home */
    atomic_uint refs;
    dpi_version version;
    dpi_storage storage;        /* in use if geometry.storage is this one */
    struct dpi_home *next_dead; /* while homes are ended */
    /* in use if it has a storage.  Behind it its sizes and strides, and the bytes of a small
     * storage */
    dpi_geometry geometry;
} dpi_home;

/* t is a wrapper whose home is held by its geometry alone, and nobody else refers to that. */
bool dpi_parts_are_only(const dp_tensor *t);

/* Nobody else refers to t or to anything of it, and it shares nobody's version: for whoever holds
 * the reference. */
static inline bool dpi_tensor_is_only(const dp_tensor *t)
{
    const dpi_home *h = (const dpi_home *)(const void *)t; /* the tensor is its first member */

    return __atomic_load_n(&t->refs, __ATOMIC_ACQUIRE) == 1 && t->version == &h->version &&
           (atomic_load_explicit(&h->refs, memory_order_acquire) == 1 || dpi_parts_are_only(t));
}

_Static_assert(offsetof(dpi_home, tensor) == 0, "dpi_tensor_is_only() needs it");

void dpi_tensor_may_grad(dp_tensor *t, bool on); /* the skip bit of t's keys; any thread */

/* n: 1 + the number of shape changes so far.  On its own cache line, since every call reads it. */
typedef struct dpi_counter {
    _Alignas(64) atomic_uint_fast64_t n;
} dpi_counter;
extern dpi_counter dpi_changes;
/* A thread as one that looks at tensors; part of its record (dpi_thread), which is never freed. */
typedef struct dpi_looker {
    /* dpi_changes.n when its call began; 0: no call runs.  Written by its thread alone */
    atomic_uint_fast64_t began;
} dpi_looker;
extern _Thread_local dpi_looker *dpi_looker_self; /* of a thread that never called: nobody's */

/* `oldest` gives the least dpi_looker.began of all threads: 0 where one is just beginning,
 * UINT64_MAX where no call runs.  A call that it does not see sees all changes that were made
 * before it was asked.  Until it is known, no former geometry goes. */
void dpi_oldest_call_from(uint64_t (*oldest)(void));
uint64_t dpi_oldest_call(void);

/* Only one thread changes shapes at a time, from begin, which gives the number of the change, to
 * end: calls that begin afterwards see it. */
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
/* A change by `by` that was made while this thread's call runs, and not by the call itself. */
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

/* This call uses a geometry that replaced another.  False: it is undone. */
bool dpi_geometry_read_first(dpi_geometry *g);
static inline bool dpi_geometry_read(dpi_geometry *g)
{
    return atomic_load_explicit(&g->state, memory_order_acquire) == DPI_CHANGE_READ ||
           dpi_geometry_read_first(g);
}

/* t's geometry, borrowed: the same one during a whole call, unless the call itself changes it.
 * Outside of a call it is the newest, until somebody changes it. */
static inline const dpi_geometry *dpi_geometry_of(const dp_tensor *t)
{
    dpi_geometry *g = atomic_load_explicit(&t->geometry, memory_order_acquire);

    while (DPI_UNLIKELY(dpi_replaced_of(g) != NULL) &&
           (dpi_is_unseen(g->since, g->by) || !dpi_geometry_read(g)))
        g = dpi_replaced_of(g);
    return g;
}
/* Which of DPI_MATH_BITS t has: what its bytes have yet to be turned into. */
static inline uint64_t dpi_math_bits(const dp_tensor *t)
{
    return __atomic_load_n(&t->keys.functionality, __ATOMIC_RELAXED) & DPI_MATH_BITS;
}

/* Its key set with its marks; another thread may be changing the skip bit. */
static inline dp_keyset dpi_keys_of(const dp_tensor *t)
{
    return (dp_keyset){__atomic_load_n(&t->keys.functionality, __ATOMIC_RELAXED), t->keys.backend};
}
static inline dpi_storage *dpi_storage_of(const dp_tensor *t)
{
    return dpi_geometry_of(t)->storage;
}

/* The memory of s, which has grown, as dpi_memory_of() gives it. */
const dpi_storage *dpi_memory_grown(const dpi_storage *s, dpi_growth *g);
/* Whose `data` and `bytes` are those of s: the same ones during a whole call, as with
 * geometries. */
static inline const dpi_storage *dpi_memory_of(const dpi_storage *s)
{
    dpi_growth *g = atomic_load_explicit(&s->growth, memory_order_acquire);

    return DPI_UNLIKELY(g != NULL) ? dpi_memory_grown(s, g) : s;
}

static inline bool dpi_is_memoryless(const dp_tensor *t)
{
    return dpi_storage_of(t)->memoryless;
}

/* What a geometry is to be, checked.  sizes and strides are borrowed. */
typedef struct dpi_layout {
    int ndim;
    const int64_t *sizes, *strides; /* strides NULL: contiguous */
    int64_t offset, numel;
    int64_t extent; /* elements of a storage up to the last one; nothing if numel is 0 */
} dpi_layout;
/* Checks sizes and strides (>= 0, product fits int64, extent DP_LIMIT_STORAGE_BYTES). */
int dpi_layout_check(int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset,
                     dpi_layout *out, dp_error *err);
/* Contiguous, after dpi_packed_check(). */
int dpi_layout_packed(dp_dtype dtype, int ndim, const int64_t *sizes, dpi_layout *out,
                      dp_error *err);
/* Bytes a storage needs for this geometry; 0 when empty. */
size_t dpi_geometry_bytes(const dpi_geometry *g, size_t itemsize);
void dpi_strides_contiguous(int ndim, const int64_t *sizes, int64_t *strides);
int dpi_strides_format(int ndim, const int64_t *sizes, dp_memory_format f, int64_t *strides,
                       dp_error *err);
void dpi_strides_dense_like(int ndim, const int64_t *sizes, const int64_t *like, int64_t *strides);

/* The host's memory: freed blocks are kept warm.  64-byte aligned, contents undefined; NULL when
 * there is none, and for 0 bytes.  Any thread. */
void *dpi_memory_alloc(size_t bytes);
void dpi_memory_free(void *p, size_t bytes); /* bytes as asked for; NULL is fine */
/* End a device: it waits for what it was given, frees its streams and events, releases the memory
 * that tensors still hold, which fail with "backend npu was unloaded" from then on, and is no
 * backend's any more.  Its code may go. */
void dpi_device_end(dpi_device *d);
/* Before its code is asked whether it may go: the same with all but the memory that tensors hold,
 * and the device goes on. */
void dpi_device_quiet(dpi_device *d);
/* How many storages have memory that this code of a device gave out. */
uint64_t dpi_device_storages(const dpi_device *d);
/* d takes the place of old at its backend, and the memory that its code adopts.  Other tensors fail
 * as if old had ended, but for the calls that began before; old releases theirs when it ends.
 * Returns how many storages lost their memory this way. */
uint64_t dpi_device_replace(dpi_device *old, const char *owner, dpi_device *d);
/* Release what was put aside and is not used any more, on all devices.  Does not wait.  How many
 * blocks are left. */
size_t dpi_blocks_reap(void);
/* Wait for what is put aside on a backend's devices, and release it. */
void dpi_blocks_settle(int bit);
/* Fails with DP_ERUNTIME, backend npu was unloaded, if the device of t's memory is gone. */
int dpi_tensor_check_device(const dp_tensor *t, dp_error *err);
/* t gets back the geometry that it had when `change` was the number of the last change, as far as
 * this thread changed it since; what others made of it stays.  Its version stays, too.  During a
 * call that began before.  DP_ERESOURCE: no memory; it keeps the one it has. */
int dpi_tensor_restore(dp_tensor *t, uint64_t change, dp_error *err);
/* Afterwards, when all tensors of the call are restored: undo by how much t's storage has grown
 * since `change`.  Its former memory is its memory again, and what it grew to is released.  It
 * stays as it is where somebody else may use the new memory: another thread has read it or may
 * still see the shape that was undone, or tensors that need it may be left. */
void dpi_tensor_shrink(dp_tensor *t, uint64_t change);
/* A tensor on the storage of t, which has room for it, with t's dtype and version. */
int dpi_tensor_on(const dp_tensor *t, const dpi_layout *l, dp_tensor **out, dp_error *err);
/* Make v, which nobody else refers to, a view of base: their version is base's.  With a root unless
 * `detached`: base's, or base itself.  creation: DP_CREATED_*, of which v gets base's if it is
 * DEFAULT or base's is INFERENCE. */
void dpi_tensor_join(dp_tensor *v, dp_tensor *base, bool detached, int creation);
/* A fake of t: its dtype, device and geometry, and a storage of its own, of that size and without
 * memory. */
int dpi_tensor_fake(const dp_tensor *t, dp_tensor **out, dp_error *err);
/* A tensor over a storage without bytes, of a kind, which is copied, made of p.  Takes p, on
 * success only. */
int dpi_tensor_of_parts(dp_dtype dtype, dp_device device, const char *kind, const dpi_layout *l,
                        dpi_parts *p, dp_tensor **out, dp_error *err);
/* The same over t's storage. */
int dpi_tensor_with_parts(const dp_tensor *t, const dpi_layout *l, dpi_parts *p, dp_tensor **out,
                          dp_error *err);
/* Fails with DP_ENOTIMPL, by its kind, if t is a wrapper: it has no bytes to be read or written. */
int dpi_no_wrapper(const dp_tensor *t, dp_error *err);
/* t, new, has the version of `of` and is no view. */
void dpi_tensor_share_version(dp_tensor *t, dp_tensor *of);
/* Does a lie on the storage of b, or does one of what a wrapper is made of? */
bool dpi_share_storage(const dp_tensor *a, const dp_tensor *b);
/* -- wrapper.c -- */
int dpi_wrapper_new(const dp_wrapper *w, dp_tensor **out, dp_error *err);
int dpi_wrapper_become(dp_tensor *t, const dp_wrapper *w, dp_error *err);
/* The functions of api.h without a context; dispatch/host_tensor.c gives them one. */
int dpi_empty(dp_dtype dtype, dpi_target at, int ndim, const int64_t *sizes, dp_memory_format f,
              dp_tensor **out, dp_error *err);
int dpi_empty_strided(dp_dtype dtype, dpi_target at, int ndim, const int64_t *sizes,
                      const int64_t *strides /* NULL: contiguous */, dp_tensor **out,
                      dp_error *err);
int dpi_empty_like(const dp_tensor *t, dp_dtype dtype, dpi_target at, dp_memory_format f,
                   dp_tensor **out, dp_error *err);
/* The same in another dtype, in whose elements strides and offset count, and with these of
 * DPI_MATH_BITS flipped. */
int dpi_view_as(const dp_tensor *t, dp_dtype dtype, uint64_t flip, int ndim, const int64_t *sizes,
                const int64_t *strides, int64_t offset, dp_tensor **out, dp_error *err);
int dpi_as_strided(const dp_tensor *t, int ndim, const int64_t *sizes, const int64_t *strides,
                   int64_t offset, dp_tensor **out, dp_error *err);
int dpi_view_sizes(const dp_tensor *t, int ndim, const int64_t *sizes, dp_tensor **out,
                   dp_error *err);
/* at::resize_; PRESERVE: without a memory format.  a: who pays for what it grows by, unless t is
 * charged to somebody; NULL: nobody. */
int dpi_resize(dp_account *a, dp_tensor *t, int ndim, const int64_t *sizes, dp_memory_format f,
               dp_error *err);
/* at::set_.source_Storage_storage_offset, with the storage of `source`; strides NULL:
 * contiguous. */
int dpi_set_storage(dp_account *a, dp_tensor *t, const dp_tensor *source, int64_t offset, int ndim,
                    const int64_t *sizes, const int64_t *strides, dp_error *err);
/* An output of a wrong shape: at::resize_output, then these strides; NULL: contiguous. */
int dpi_resize_output(dp_account *a, dp_tensor *t, int ndim, const int64_t *sizes,
                      const int64_t *strides, dp_error *err);
int dpi_scalar_tensor(dp_account *a, dp_value scalar, dp_dtype dtype, dp_tensor **out,
                      dp_error *err);
int dpi_broadcast_shapes(int na, const int64_t *a, int nb, const int64_t *b, int64_t *out,
                         dp_error *err);
/* fake: as if some operand were a fake.  account: who pays for outputs that are made.  a: memory
 * for what does not fit into *it. */
int dpi_iter_init(const dp_iter_config *c, bool fake, dp_account *account, dp_arena *a, dp_iter *it,
                  dp_error *err);
/* DP_ECANCELLED, DP_EDEADLINE: `stop` (NULL: never) said so between two pieces. */
int dpi_iter_run(const dp_iter *it, int max_threads, dp_iter_loop2d loop, void *user,
                 const dpi_stop *stop, dp_error *err);
int dpi_iter_run_1d(const dp_iter *it, int max_threads, dp_iter_loop loop, void *user,
                    const dpi_stop *stop, dp_error *err);
int dpi_iter_reduce(const dp_iter *it, int max_threads, const dp_reduction *r, void *user,
                    dp_arena *a, const dpi_stop *stop, dp_error *err);
/* threads: at most so many take part in a large copy; 0: all of the pool's. */
int dpi_copy(dp_tensor *dst, const dp_tensor *src, int threads, dp_error *err);
/* dpi_copy() that `stop` may end with its code: then part of dst is written. */
int dpi_copy_until(dp_tensor *dst, const dp_tensor *src, int threads, const dpi_stop *stop,
                   dp_error *err);
int dpi_copy_async(dp_tensor *dst, const dp_tensor *src, dp_stream *s, int threads, dp_error *err);
int dpi_fill_bytes(dp_tensor *t, int byte, dp_stream *s, dp_error *err);
/* fn is called with a tensor's `attached` when the tensor ends; the same one each time. */
void dpi_on_tensor_end(void (*fn)(void *attached));
/* dp_tensor_export(), dp_tensor_import() */
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
