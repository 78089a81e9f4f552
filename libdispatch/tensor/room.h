/* room.h -- what only the files of this room share.
 *
 * alloc.c memory; storage.c bytes on a device; layout.c geometry; tensor.c the object; empty.c new
 * ones; about.c what is known of it; view.c other geometries on the same bytes; resize.c another
 * geometry in the same tensor; promote.c dtypes; overlap.c shared bytes; strided.c loops over raw
 * memory; copy.c, transpose.c moving elements; iter.c, iter_types.c, iter_layout.c, iter_run.c
 * loops over tensors. */
#ifndef DPI_ROOM_H
#define DPI_ROOM_H

#include "tensor_i.h"

enum {
    DPI_ITEM_MAX = 16, /* bytes of the largest dtype */
    DPI_GRAIN = 32768  /* elements under which a loop is not split (at::internal) */
};
/* One more, of an atomic counter; without an atomic read-modify-write while there is one thread. */
#define DPI_COUNT_UP(counter)                                                                      \
    (DP_ONE_THREAD_                                                                                \
         ? atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, \
                                 memory_order_relaxed)                                             \
         : (void)atomic_fetch_add_explicit(counter, 1, memory_order_relaxed))
/* Drop a reference; true: it was the last one.  A sole owner needs no atomic read-modify-write. */
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
size_t dpi_memory_warm(void); /* bytes of freed blocks that are kept */

/* -- storage.c -- */
/* DP_ENOTIMPL, in PyTorch's words: a tensor on `device` has no bytes to read. */
int dpi_no_data(const dpi_storage *s, dp_error *err);
/* Pin the device of s until dpi_device_leave(), to use s's bytes; (*d)->host: they are in host
 * memory.  Fails with DP_ERUNTIME, backend npu was unloaded, and with DP_ENOTIMPL for a storage
 * without memory. */
int dpi_storage_enter(const dpi_storage *s, dpi_device **d, dp_error *err);
/* How much of its home's memory a storage of `bytes` wants: all that it needs, or none. */
size_t dpi_storage_inline_bytes(dp_device device, size_t bytes);
/* Make *s a storage.  inside: dpi_storage_inside() bytes of its home, 64-byte aligned, if that is
 * not 0. */
int dpi_storage_init(dpi_storage *s, dpi_target at, size_t bytes, void *inline_data, dp_error *err);
/* A storage over a block of another process, on a device. */
int dpi_storage_init_import(dpi_storage *s, dpi_target at, size_t bytes, const dp_block_name *name,
                            dp_error *err);
/* A storage over the caller's memory.  release NULL: it is not the storage's to free. */
void dpi_storage_init_foreign(dpi_storage *s, void *data, size_t bytes, void (*release)(void *arg),
                              void *arg);
void dpi_storage_fini(dpi_storage *s);
/* At least `bytes` long from here on, with what it held at its beginning; for all tensors on it.
 * DP_ERUNTIME: its memory is fixed, another call grew it since this one began, or it grew
 * DP_LIMIT_RESIZES times while a call runs that began before.
 * DP_ERESOURCE: the account that pays for it, or the machine, has no more. */
int dpi_storage_grow(dpi_storage *s, dp_account *a, size_t bytes, dp_error *err);
/* A geometry over `bytes` of s is made, by = 1, or gone, -1: those growths of s by this thread's
 * call count it that it does not fit in without (dpi_growth.needs).  False: there is none. */
bool dpi_storage_count_needs(const dpi_storage *s, size_t bytes, int by);
/* No growth of s by this thread since `change` will be undone. */
void dpi_storage_protect_growths(const dpi_storage *s, uint64_t change);
/* Undo the growths of s by this thread since `change`, while shapes change, up to one whose memory
 * another thread has read, or that a geometry needs. */
void dpi_storage_undo_growths(dpi_storage *s, uint64_t change);

/* -- keep.c: see there -- */
/* Bytes and whose they are; all zero: nobody's. */
typedef struct dpi_charge {
    uintptr_t word;
    uint64_t bytes;
} dpi_charge;
/* So many bytes are about to be made for a.  DP_ERESOURCE: that is too much for it. */
int dpi_charge_begin(dpi_charge *charge, dp_account *a, uint64_t bytes, dp_error *err);
static inline void dpi_storage_set_charge(dpi_storage *s,
                                          dpi_charge charge) /* of s, which is new */
{
    s->call_made = true;
    s->call_made_bytes = charge.bytes;
    atomic_store_explicit(&s->charged, charge.word, memory_order_relaxed);
}
/* The bytes of s, which is new, are about to be made for a. */
int dpi_storage_charge(dpi_storage *s, dp_account *a, dp_error *err);
dpi_charge dpi_storage_charge_of(const dpi_storage *s); /* of s, which is gone */
void dpi_storage_discharge(const dpi_storage *s);       /* the same, ended */
void dpi_charge_end(dpi_charge charge);                 /* those bytes are gone */
/* s is about to grow by so many bytes, made for a: whoever is charged for s pays; a, if it is
 * nobody and a is not NULL. */
int dpi_storage_charge_growth(dpi_storage *s, dp_account *a, uint64_t bytes, dp_error *err);
/* So many bytes of s, which were `made` for an account or not, go: their part of what it is
 * charged. */
dpi_charge dpi_storage_split_charge(dpi_storage *s, uint64_t bytes, bool call_made);

/* -- block.c -- */
typedef struct dpi_block dpi_block;
/* Give `of`, whose device and bytes are known, its data.  The caller is inside d, its device. */
int dpi_block_new(dpi_device *d, dpi_storage *of, uint32_t streams, dp_error *err);
/* The same of another process's block. */
int dpi_block_import(dpi_device *d, dpi_storage *of, const dp_block_name *name, dp_error *err);
/* Host memory, pinned by d, which can do so and which the caller is inside of; for a storage that
 * is released by dpi_block_release(*out). */
int dpi_block_pin(dpi_device *d, dp_device device, size_t bytes, dpi_block **out, void **data,
                  dp_error *err);
void dpi_block_release(void *block);
void dpi_block_charge(dpi_block *b, dpi_charge charge); /* ends it when b is released; takes */
void dpi_block_drop(dpi_block *b);                      /* its storage is gone */
dpi_block *dpi_block_of(const dpi_storage *s); /* of pinned memory, too; NULL: there is none */
const dpi_device *dpi_block_pinned_by(const dpi_block *b); /* NULL: it is not pinned */
int dpi_block_record(dpi_block *b, dp_stream *s, dp_error *err);
/* What a call that began before a reload still sees of a block that was not adopted; NULL to all
 * others. */
void *dpi_block_replaced_data(const dpi_block *b);
int dpi_block_enter(const dpi_block *b, dpi_device **d, dp_error *err); /* dpi_storage_enter() */
void dpi_bytes_count(int64_t bytes); /* > 0: a storage was made; < 0: one was released */
/* Of all storages together; the peak but for 64 KiB a thread. */
void dpi_storage_stats(uint64_t *bytes, uint64_t *peak);

/* -- keep.c, too -- */
/* What a wrapper is about to be made of, with a new geometry over its storage, is charged to whom
 * that is.  Between dpi_change_shapes_begin() and _end().  DP_ERESOURCE: that is too much for
 * it. */
int dpi_parts_charge(const dpi_geometry *g, dp_error *err);
void dpi_parts_discharge(dpi_parts *p); /* they go */

/* -- layout.c -- */
/* Checks that a tensor can have these sizes.  *numel: their product. */
int dpi_sizes_check(int ndim, const int64_t *sizes, int64_t *numel, dp_error *err);
/* The same, and that so many packed elements fit into a storage. */
int dpi_packed_check(dp_dtype dtype, int ndim, const int64_t *sizes, dp_error *err);
/* Bytes that a storage needs for it; 0 when it has no elements. */
static inline size_t dpi_layout_bytes(const dpi_layout *l, size_t itemsize)
{
    return l->numel == 0 ? 0 : (size_t)l->extent * itemsize;
}
/* Checks that it lies within a storage of `bytes`. */
int dpi_fits_check(const dpi_layout *l, size_t itemsize, size_t bytes, dp_error *err);
/* Make *g, behind which there is room for its sizes and strides, a geometry over s. */
void dpi_geometry_init(dpi_geometry *g, const dpi_layout *l, dpi_storage *s);
void dpi_geometry_set_flags(dpi_geometry *g); /* from its sizes, strides and numel */

/* -- resize.c -- */
/* A tensor of t's dtype over t's storage, from t's offset on, which grows if it has to; for
 * dpi_tensors_become().  strides NULL: contiguous. */
int dpi_reshaped(dp_account *a, const dp_tensor *t, int ndim, const int64_t *sizes,
                 const int64_t *strides, dp_tensor **out, dp_error *err);

/* -- tensor.c -- */
dpi_parts *dpi_parts_copy(const dpi_parts *p); /* nobody is charged for it yet; NULL: no memory */
void dpi_parts_free(dpi_parts *p);             /* of no geometry; NULL is fine */
/* Can t get another shape now?  dpi_tensors_become() asks, too. */
int dpi_change_check(const dp_tensor *t, dp_error *err);
/* Gives ts[i] the geometry of from[i] and releases from[i], which nobody else may refer to, for
 * every i where neither is NULL.  Either all of them change or none:  DP_ERUNTIME if another call
 * changed one since this call began, or if one was changed DP_LIMIT_RESIZES times while a call runs
 * that began before.  DP_ERESOURCE: a wrapper's new parts are too much for its keeper.  Any
 * thread. */
int dpi_tensors_become(int n, dp_tensor *const *ts, dp_tensor *const *from, dp_error *err);
static inline char *dpi_geometry_data(const dpi_geometry *g, dp_dtype dtype)
{
    const dpi_storage *s = dpi_memory_of(g->storage);
    char *p = __atomic_load_n(&s->data, __ATOMIC_RELAXED);
    if (DPI_UNLIKELY(p == NULL && s->block != NULL))
        p = dpi_block_replaced_data(s->block);
    return p ? p + (size_t)g->offset * dpi_itemsize(dtype) : NULL;
}
static inline char *dpi_tensor_data(const dp_tensor *t) /* first element; NULL: no memory */
{
    return dpi_geometry_data(dpi_geometry_of(t), t->dtype);
}

/* Can a tensor of this dtype have a gradient?  c10::isDifferentiableType */
static inline bool dpi_differentiable(dp_dtype d)
{
    const uint32_t dtypes = 1u << DP_FLOAT16 | 1u << DP_FLOAT32 | 1u << DP_FLOAT64 |
                            1u << DP_BFLOAT16 | 1u << DP_COMPLEX64 | 1u << DP_COMPLEX128;

    return (dtypes >> d & 1) != 0;
}

/* -- overlap.c -- */
enum { DPI_OVERLAP_NONE, DPI_OVERLAP_FULL, DPI_OVERLAP_PARTIAL, DPI_OVERLAP_TOO_HARD };
/* Fails if out cannot be written element by element: its elements share memory, or, unless `in` is
 * NULL, part of `in` would change while it is read.  Source: ATen/MemoryOverlap.cpp. */
int dpi_overlap_check(const dp_tensor *out, const dp_tensor *in, dp_error *err);

/* -- between.c -- */
/* Are they on two devices of one backend that copies between them?  Then dpi_copy_between() copies
 * `bytes` from one to the other; both lie in the same way. */
bool dpi_copies_between(const dp_tensor *dst, const dp_tensor *src);
int dpi_copy_between(dp_tensor *dst, const dp_tensor *src, size_t bytes, dp_error *err);

/* -- promote.c -- */
/* May a copy convert elements of `from` to `to`?  DP_ERUNTIME where one of two dtypes is
 * quantized. */
int dpi_convert_check(dp_dtype to, dp_dtype from, dp_error *err);

/* -- strided.c -- */
/* Conjugates or negates, by `bits` of DPI_MATH_BITS, sizes [ndim] elements in host memory; strides
 * in elements, none of them beside another's bytes twice. */
void dpi_twist(dp_dtype dtype, uint64_t bits, int ndim, const int64_t *sizes,
               const int64_t *strides, char *data);
/* dst, of n bytes, begins with `made` bytes, which are repeated until it is full. */
void dpi_repeat(char *dst, int64_t made, int64_t n);
/* Convert n elements from one dtype to another; strides in bytes. */
void dpi_run_copy(dp_dtype to, char *dst, int64_t dst_stride, dp_dtype from, const char *src,
                  int64_t src_stride, int64_t n);
/* The same to packed elements, which go past the caches: for results of which the first parts would
 * be gone from them when somebody reads them.  dpi_past_end() before another thread is told of
 * them. */
void dpi_run_copy_uncached(dp_dtype to, char *dst, dp_dtype from, const char *src,
                           int64_t src_stride, int64_t n);
void dpi_uncached_end(void);
bool dpi_goes_past(int64_t bytes); /* Is a result so large?  At least half of the last cache */

#endif
