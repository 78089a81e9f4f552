/* room.h -- declarations that the files of libdispatch/tensor share, some of which autograd uses,
 * too.
 *
 * Memory: alloc.c (host allocator), storage.c and block.c (data on a device), keep.c (accounts),
 * held.c (statistics).  Geometry: layout.c, view.c, resize.c, become.c, changes.c, seen.c,
 * overlap.c.  Tensors: tensor.c, home.c, empty.c, scalar.c, about.c, wrapper.c, saved.c.  Dtypes:
 * promote.c.  Moving elements: strided.c, copy.c, transpose.c, twist.c, async.c, between.c.  Loops
 * over tensors: iter.c, iter_types.c, iter_layout.c, iter_run.c, iter_reduce.c. */
#ifndef DPI_ROOM_H
#define DPI_ROOM_H

#include "tensor_i.h"
#include <dispatchd/shared.h>

enum {
    DPI_ITEM_MAX = 16, /* bytes of the largest dtype */
    DPI_GRAIN = 32768  /* loops over fewer elements use one thread (at::internal::GRAIN_SIZE) */
};
/* Add 1 to an atomic counter, without an atomic read-modify-write while there is only one
 * thread. */
#define DPI_COUNT_UP(counter)                                                                      \
    (DP_ONE_THREAD_                                                                                \
         ? atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, \
                                 memory_order_relaxed)                                             \
         : (void)atomic_fetch_add_explicit(counter, 1, memory_order_relaxed))
/* Drop a reference.  Returns true if it was the last one.  If the caller has the only reference, no
 * atomic read-modify-write is needed. */
static inline bool dpi_unref_last(atomic_uint *refs)
{
    unsigned n = atomic_load_explicit(refs, memory_order_acquire);

    if (n == 1)
        return true;
    if (!DP_ONE_THREAD_)
        return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
    atomic_store_explicit(refs, n - 1, memory_order_relaxed);
    return false;
}

/* -- alloc.c -- */
size_t dpi_memory_warm(void); /* bytes of freed blocks that are cached */

/* Bytes that are charged to an account.  `word` has the account's address and, in its low bits, the
 * kind of use that they are counted under (DP_HOLDER_*; see keep.c).  All zero: no charge. */
typedef struct dpi_charge {
    uintptr_t word;
    uint64_t bytes;
} dpi_charge;

/* -- storage.c -- */
/* Fail with DP_ENOTIMPL and PyTorch's message, because the tensors of `s` have no bytes to read. */
int dpi_no_data(const dpi_storage *s, dp_error *err);
/* Enter the device of `s` until dpi_device_leave(), so that its bytes can be used.  (*d)->host: the
 * bytes are in host memory.  DP_ERUNTIME: "backend npu was unloaded"; DP_ENOTIMPL: `s` has no
 * memory. */
int dpi_storage_enter(const dpi_storage *s, dpi_device **d, dp_error *err);
/* Return how many bytes of data a storage of `bytes` has in its home: `bytes`, or 0 if they are
 * allocated elsewhere. */
size_t dpi_storage_inline_bytes(dp_device device, size_t bytes);
/* Initialise `s`.  `inline_data`: 64-byte aligned memory in its home, of the size that
 * dpi_storage_inline_bytes() gives; not used if that size is 0. */
int dpi_storage_init(dpi_storage *s, dpi_target at, size_t bytes, void *inline_data, dp_error *err);
/* Initialise `s` over a block on a device that another process exported. */
int dpi_storage_init_import(dpi_storage *s, dpi_target at, size_t bytes, const dp_block_name *name,
                            dp_error *err);
/* Initialise `s` over the caller's memory.  `release` NULL: nothing releases that memory. */
void dpi_storage_init_foreign(dpi_storage *s, void *data, size_t bytes, void (*release)(void *arg),
                              void *arg);
/* Initialise `s`, whose bytes do not lie in its home, and allocate its memory, unless the device is
 * meta or at.device has the flag DPI_MEMORYLESS. */
int dpi_storage_init_memory(dpi_storage *s, dpi_target at, size_t bytes, dp_error *err);
/* Initialise `s` with memory that other processes can map; `a` as for dpi_shared_new(). */
int dpi_storage_init_shared(dpi_storage *s, dp_account *a, size_t bytes, dp_error *err);
/* End `charge`, which is for the memory of `s` without its growths.  Call this before
 * dpi_storage_memory_release().  A block, or memory that other processes map, takes the charge,
 * because it may outlive the storage. */
void dpi_storage_settle(dpi_storage *s, dpi_charge charge);
/* Release the memory of `s`, without its growths.  A block counts its bytes itself. */
void dpi_storage_memory_release(dpi_storage *s);
/* Call dpi_storage_memory_release(), and drop the reference to the backend of `s`. */
void dpi_storage_memory_fini(dpi_storage *s);

/* -- growth.c -- */
/* Release the memory of `s` and of its growths. */
void dpi_storage_fini(dpi_storage *s);
/* Make `s` at least `bytes` long, for all tensors on it; its old bytes are copied.  DP_ERUNTIME:
 * the memory of `s` is fixed, another call grew `s` since this call began, or `s` grew
 * DP_LIMIT_RESIZES times during a call that still runs.  DP_ERESOURCE: over the account's limit, or
 * out of memory. */
int dpi_storage_grow(dpi_storage *s, dp_account *a, size_t bytes, dp_error *err);
/* Count a geometry that needs `bytes` of `s` and was just made (`by` = 1) or released (`by` = -1),
 * in dpi_growth.needs of every growth that this thread's call made and without which the geometry
 * would not fit.  Returns false if there is no such growth. */
bool dpi_storage_count_needs(const dpi_storage *s, size_t bytes, int by);
/* Changes of shapes and growths are numbered together (dpi_changes.n); `change` is such a number.
 * Mark the growths of `s` that this thread made after `change`, so that none of them will be
 * undone. */
void dpi_storage_protect_growths(const dpi_storage *s, uint64_t change);
/* Undo the growths of `s` that this thread made after `change`, as above, the newest first.
 * Stops at a growth whose memory another thread has read or that a geometry needs.  Call between
 * dpi_change_shapes_begin() and _end(). */
void dpi_storage_undo_growths(dpi_storage *s, uint64_t change);

/* Make sure that `s` never grows again (dpi_storage.named). */
void dpi_storage_fix(dpi_storage *s);
/* Make sure that the memory of `s` is shared memory, by moving its bytes once, and that it stays
 * there: `s` can no longer grow.  `*out`: that memory, owned.  `a`: charged if `s` is charged to
 * nobody; may be NULL.  Errors: see dp_tensor_share(). */
int dpi_storage_share(dpi_storage *s, dp_account *a, dp_shared **out, dp_error *err);

/* -- shared.c -- */
/* Allocate the data of `s`, whose size is set, as memory that other processes can map.  `a`: the
 * account whose freed shared memory may be used again; NULL: none. */
int dpi_shared_new(dpi_storage *s, dp_account *a, dp_error *err);
/* Return how many bytes the memory of a storage of `bytes` bytes takes: whole pages. */
size_t dpi_shared_bytes(size_t bytes);
/* dpi_storage.release of a storage in shared memory: drop the dp_shared `shared`. */
void dpi_shared_release(void *shared);
/* Take `charge` and refund it when `shared` is freed. */
void dpi_shared_charge(dp_shared *shared, dpi_charge charge);

/* -- keep.c: its head explains charges -- */
/* Charge `bytes` to account `a` before allocating them.  DP_ERESOURCE: over the account's limit. */
int dpi_charge_begin(dpi_charge *charge, dp_account *a, uint64_t bytes, dp_error *err);
/* Record the charge of the new storage `s`. */
static inline void dpi_storage_set_charge(dpi_storage *s, dpi_charge charge)
{
    s->call_made = true;
    s->call_made_bytes = charge.bytes;
    atomic_store_explicit(&s->charged, charge.word, memory_order_relaxed);
}
/* Charge s->total_bytes of the new storage `s` to account `a` before allocating its bytes. */
int dpi_storage_charge(dpi_storage *s, dp_account *a, dp_error *err);
/* Return the charge of `s`, whose last reference was dropped.  The caller must end that charge. */
dpi_charge dpi_storage_charge_of(const dpi_storage *s);
/* Refund the charge of `s`, whose last reference was dropped. */
void dpi_storage_discharge(const dpi_storage *s);
/* Has a holder (a handle, a name, a program) charged `s`?  Then `s` lives until it refunds. */
bool dpi_storage_is_held(dpi_storage *s);
void dpi_charge_end(dpi_charge charge); /* Refund `charge` after its bytes were freed. */
/* Charge `bytes` by which `s` will grow to the account that `s` is charged to, else to `a`, the
 * account of the call that grows it, if that is not NULL. */
int dpi_storage_charge_growth(dpi_storage *s, dp_account *a, uint64_t bytes, dp_error *err);
/* Split the charge of `s`: return the charge of `bytes`, which are about to be freed, and leave the
 * remainder with `s`.  `call_made`: the bytes were charged to a call's account when they were
 * allocated. */
dpi_charge dpi_storage_split_charge(dpi_storage *s, uint64_t bytes, bool call_made);

/* -- block.c -- */
typedef struct dpi_block dpi_block;
/* Allocate the data of `of`, whose device and size are set.  The caller has entered `d`, its
 * device. */
int dpi_block_new(dpi_device *d, dpi_storage *of, uint32_t streams, dp_error *err);
/* Open a block of another process as the data of `of`, whose device and size are set. */
int dpi_block_import(dpi_device *d, dpi_storage *of, const dp_block_name *name, dp_error *err);
/* Allocate host memory of at least `bytes` and pin it with `d`, which the caller has entered and
 * which has ops.pin.  dpi_block_release(*out) releases it. */
int dpi_block_pin(dpi_device *d, dp_device device, size_t bytes, dpi_block **out, void **data,
                  dp_error *err);
/* dpi_storage.release of a storage in pinned memory: drop the dpi_block `block`. */
void dpi_block_release(void *block);
/* Take `charge` and refund it when `b` is freed. */
void dpi_block_charge(dpi_block *b, dpi_charge charge);
void dpi_block_drop(dpi_block *b); /* Drop `b`, whose storage is gone. */
/* Return the block of device or pinned memory that `s` uses; NULL: none. */
dpi_block *dpi_block_of(const dpi_storage *s);
/* Return the device that pinned `b`; NULL: `b` is not pinned. */
const dpi_device *dpi_block_pinned_by(const dpi_block *b);
/* Record that stream `s` uses `b` (dp_record_stream()). */
int dpi_block_record(dpi_block *b, dp_stream *s, dp_error *err);
/* Return the data of block `b`, which the new code of a device did not adopt at a reload, for a
 * call that began before that reload; NULL for all other calls. */
void *dpi_block_replaced_data(const dpi_block *b);
/* Enter the device of `b`, as dpi_storage_enter() does for a storage. */
int dpi_block_enter(const dpi_block *b, dpi_device **d, dp_error *err);
void dpi_bytes_count(int64_t bytes); /* Count bytes that were allocated (> 0) or released (< 0). */
/* Get the bytes of all storages, and the peak of this number, which may be too low by 64 KiB for
 * each thread. */
void dpi_storage_stats(uint64_t *bytes, uint64_t *peak);

/* -- keep.c: parts of wrappers -- */
/* Charge the parts of `g`, which is about to become the geometry of a wrapper, to the account that
 * the wrapper's storage is charged to.  Call between dpi_change_shapes_begin() and _end().
 * DP_ERESOURCE: over the account's limit. */
int dpi_parts_charge(const dpi_geometry *g, dp_error *err);
void dpi_parts_discharge(dpi_parts *p); /* Refund the charge of `p` before `p` is freed. */

/* -- layout.c -- */
/* Check that a tensor can have these sizes.  `*numel`: their product. */
int dpi_sizes_check(int ndim, const int64_t *sizes, int64_t *numel, dp_error *err);
/* Check that a tensor can have these sizes, and that its elements, packed, fit into a storage. */
int dpi_packed_check(dp_dtype dtype, int ndim, const int64_t *sizes, dp_error *err);
/* Return how many bytes a storage needs for layout `l`; 0 if there are no elements. */
static inline size_t dpi_layout_bytes(const dpi_layout *l, size_t itemsize)
{
    return l->numel == 0 ? 0 : (size_t)l->extent * itemsize;
}
/* Check that layout `l` lies within a storage of `bytes`. */
int dpi_fits_check(const dpi_layout *l, size_t itemsize, size_t bytes, dp_error *err);
/* Initialise `g` as a geometry over `s`.  Behind `*g` there is memory for its sizes and strides. */
void dpi_geometry_init(dpi_geometry *g, const dpi_layout *l, dpi_storage *s);
void dpi_geometry_set_flags(dpi_geometry *g); /* Set the flags from sizes, strides and numel. */

/* -- resize.c -- */
/* Make a tensor over t's storage with t's dtype and offset, and grow the storage if it is too
 * small.  For dpi_tensors_become().  `strides` NULL: contiguous. */
int dpi_reshaped(dp_account *a, const dp_tensor *t, int ndim, const int64_t *sizes,
                 const int64_t *strides, dp_tensor **out, dp_error *err);

/* -- become.c -- */
/* Return a copy of `p`, with references of its own, that is not charged to anybody; NULL: out of
 * memory. */
dpi_parts *dpi_parts_copy(const dpi_parts *p);
void dpi_parts_free(dpi_parts *p); /* Free `p`, which belongs to no geometry.  NULL is allowed. */
/* Check that `t` can get another geometry now.  dpi_tensors_become() checks that, too. */
int dpi_change_check(const dp_tensor *t, dp_error *err);
/* Give ts[i] the geometry of from[i] and release from[i], to which nobody else may refer, for every
 * i where neither is NULL.  Either all of them change or none.  DP_ERUNTIME: another call changed
 * one of them since this call began, or one was changed DP_LIMIT_RESIZES times during a call that
 * still runs.  DP_ERESOURCE: the new parts of a wrapper are over the limit of the account that the
 * wrapper is charged to.  Any thread. */
int dpi_tensors_become(int n, dp_tensor *const *ts, dp_tensor *const *from, dp_error *err);
/* Return the address of the first element of a tensor with geometry `g`; NULL: it has no memory. */
static inline char *dpi_geometry_data(const dpi_geometry *g, dp_dtype dtype)
{
    const dpi_storage *s = dpi_memory_of(g->storage);
    char *p = __atomic_load_n(&s->data, __ATOMIC_RELAXED);
    if (DPI_UNLIKELY(p == NULL && s->block != NULL))
        p = dpi_block_replaced_data(s->block);
    return p ? p + (size_t)g->offset * dpi_itemsize(dtype) : NULL;
}
/* Return the address of t's first element; NULL: `t` has no memory. */
static inline char *dpi_tensor_data(const dp_tensor *t)
{
    return dpi_geometry_data(dpi_geometry_of(t), t->dtype);
}

/* Tell whether a tensor of dtype `d` can have a gradient (c10::isDifferentiableType). */
static inline bool dpi_differentiable(dp_dtype d)
{
    const uint32_t dtypes = 1u << DP_FLOAT16 | 1u << DP_FLOAT32 | 1u << DP_FLOAT64 |
                            1u << DP_BFLOAT16 | 1u << DP_COMPLEX64 | 1u << DP_COMPLEX128;

    return (dtypes >> d & 1) != 0;
}

/* -- overlap.c -- */
enum { DPI_OVERLAP_NONE, DPI_OVERLAP_FULL, DPI_OVERLAP_PARTIAL, DPI_OVERLAP_TOO_HARD };
/* Check that `out` can be written element by element.  DP_ERUNTIME: elements of `out` share memory
 * or, unless `in` is NULL, `in` overlaps `out` partially and would change while it is read.
 * Source: ATen/MemoryOverlap.cpp. */
int dpi_overlap_check(const dp_tensor *out, const dp_tensor *in, dp_error *err);

/* -- between.c -- */
/* Tell whether `dst` and `src` are on two devices of one backend that copies between its devices.
 * Then dpi_copy_between() can copy `bytes` from `src` to `dst`, which must have the same layout. */
bool dpi_copies_between(const dp_tensor *dst, const dp_tensor *src);
int dpi_copy_between(dp_tensor *dst, const dp_tensor *src, size_t bytes, dp_error *err);

/* -- promote.c -- */
/* Check that a copy can convert elements of `from` to `to`.  DP_ERUNTIME: the dtypes differ and one
 * of them is quantized. */
int dpi_convert_check(dp_dtype to, dp_dtype from, dp_error *err);

/* -- twist.c, strided.c -- */
/* Conjugate or negate the elements at `data` in host memory, a block of sizes [ndim].  `bits`:
 * subset of DPI_MATH_BITS that says what to do.  `strides` are in elements; no two elements may
 * share bytes. */
void dpi_twist(dp_dtype dtype, uint64_t bits, int ndim, const int64_t *sizes,
               const int64_t *strides, char *data);
/* Repeat the first `made` bytes of `dst` until `n` bytes are filled. */
void dpi_repeat(char *dst, int64_t made, int64_t n);
/* Copy `n` elements and convert them from dtype `from` to dtype `to`.  Strides are in bytes. */
void dpi_run_copy(dp_dtype to, char *dst, int64_t dst_stride, dp_dtype from, const char *src,
                  int64_t src_stride, int64_t n);
/* Like dpi_run_copy(), but write packed elements with stores that bypass the caches.  For results
 * so large that their beginning would leave the caches before it is read.  Call dpi_uncached_end()
 * before another thread may read the elements. */
void dpi_run_copy_uncached(dp_dtype to, char *dst, dp_dtype from, const char *src,
                           int64_t src_stride, int64_t n);
void dpi_uncached_end(void);
/* Is `bytes` at least half the size of the last cache, and can stores of this machine bypass the
 * caches? */
bool dpi_goes_past(int64_t bytes);

#endif
