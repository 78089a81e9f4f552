/* room.h -- what only the files of this room share.
 *
 * alloc.c memory; storage.c bytes on a device; layout.c geometry; tensor.c the object; empty.c new ones;
 * about.c what is known of it; view.c other geometries on the same bytes; resize.c another geometry in the same tensor; promote.c dtypes; overlap.c shared bytes; strided.c loops over raw
 * memory; copy.c, transpose.c moving elements; iter.c, iter_types.c, iter_layout.c, iter_run.c loops over tensors. */
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
size_t dpi_storage_inside(dp_device device, size_t bytes);
/* Make *s a storage.  inside: dpi_storage_inside() bytes of its home, 64-byte aligned, if that is
 * not 0. */
int dpi_storage_init(dpi_storage *s, dpi_place at, size_t bytes, void *inside, dp_error *err);
/* A storage over the caller's memory.  release NULL: it is not the storage's to free. */
void dpi_storage_init_foreign(dpi_storage *s, void *data, size_t bytes, void (*release)(void *arg),
                              void *arg);
void dpi_storage_fini(dpi_storage *s);
/* At least `bytes` long from here on, with what it held at its beginning; for all tensors on it.
 * DP_ERUNTIME: its memory is fixed, another call grew it since this one began, or it grew
 * DP_LIMIT_RESIZES times while a call runs that began before.
 * DP_ERESOURCE: the account that pays for it, or the machine, has no more. */
int dpi_storage_grow(dpi_storage *s, dp_account *a, size_t bytes, dp_error *err);

/* -- keep.c: see there -- */
/* Bytes and whose they are; all zero: nobody's. */
typedef struct dpi_bill {
    uintptr_t word;
    uint64_t bytes;
} dpi_bill;
/* So many bytes are about to be made for a.  DP_ERESOURCE: that is too much for it. */
int dpi_bill_begin(dpi_bill *b, dp_account *a, uint64_t bytes, dp_error *err);
static inline void dpi_storage_take_bill(dpi_storage *s, dpi_bill b) /* of s, which is new */
{
    s->made = true;
    s->all_made = b.bytes;
    atomic_store_explicit(&s->charged, b.word, memory_order_relaxed);
}
/* The bytes of s, which is new, are about to be made for a. */
int dpi_storage_charge(dpi_storage *s, dp_account *a, dp_error *err);
dpi_bill dpi_storage_bill(const dpi_storage *s); /* of s, which is gone */
void dpi_storage_forget(const dpi_storage *s);   /* the same, ended */
void dpi_bill_end(dpi_bill b);                   /* those bytes are gone */
/* s is about to grow by so many bytes, made for a: whoever is charged for s pays; a, if it is nobody
 * and a is not NULL. */
int dpi_storage_charge_growth(dpi_storage *s, dp_account *a, uint64_t bytes, dp_error *err);
/* So many bytes of s, which were `made` for an account or not, go: their part of what it is charged. */
dpi_bill dpi_storage_part(dpi_storage *s, uint64_t bytes, bool made);

/* -- block.c -- */
typedef struct dpi_block dpi_block;
/* Give `of`, whose device and bytes are known, its data.  The caller is inside d, its device. */
int dpi_block_new(dpi_device *d, dpi_storage *of, dp_error *err);
/* Host memory, pinned by d, which can do so and which the caller is inside of; for a storage that is
 * released by dpi_block_release(*out). */
int dpi_block_pin(dpi_device *d, dp_device device, size_t bytes, dpi_block **out, void **data,
                  dp_error *err);
void dpi_block_release(void *block);
void dpi_block_charge(dpi_block *b, dpi_bill bill); /* ends it when b is released; takes */
void dpi_block_drop(dpi_block *b);                  /* its storage is gone */
dpi_block *dpi_block_of(const dpi_storage *s);      /* of pinned memory, too; NULL: there is none */
const dpi_device *dpi_block_pinned_by(const dpi_block *b); /* NULL: it is not pinned */
int dpi_block_record(dpi_block *b, dp_stream *s, dp_error *err);
/* What a call that began before a reload still sees of a block that was not adopted; NULL to all
 * others. */
void *dpi_block_former(const dpi_block *b);
int dpi_block_enter(const dpi_block *b, dpi_device **d, dp_error *err); /* dpi_storage_enter() */
void dpi_bytes_count(int64_t bytes); /* > 0: a storage was made; < 0: one was released */
/* Of all storages together; the peak but for 64 KiB a thread. */
void dpi_storage_stats(uint64_t *bytes, uint64_t *peak);

/* -- keep.c, too -- */
/* What a wrapper is about to be made of, with a new geometry over its storage, is charged to whom that
 * is.  Between dpi_change_shapes_begin() and _end().  DP_ERESOURCE: that is too much for it. */
int dpi_parts_keep(const dpi_geometry *g, dp_error *err);
void dpi_parts_let(dpi_parts *p); /* they go */

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
static inline bool dpi_same_sizes(const dpi_geometry *a, const dpi_geometry *b)
{
    return a->ndim == b->ndim && memcmp(a->sizes, b->sizes, (size_t)a->ndim * sizeof(int64_t)) == 0;
}
static inline bool dpi_same_strides(const dpi_geometry *a, const dpi_geometry *b)
{
    return a->ndim == b->ndim &&
           memcmp(a->strides, b->strides, (size_t)a->ndim * sizeof(int64_t)) == 0;
}

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
 * that began before.  DP_ERESOURCE: a wrapper's new parts are too much for its keeper.  Any thread. */
int dpi_tensors_become(int n, dp_tensor *const *ts, dp_tensor *const *from, dp_error *err);
static inline char *dpi_geometry_data(const dpi_geometry *g, dp_dtype dtype)
{
    const dpi_storage *s = dpi_memory_of(g->storage);
    char *p = __atomic_load_n(&s->data, __ATOMIC_RELAXED);
    if (DPI_UNLIKELY(p == NULL && s->block != NULL))
        p = dpi_block_former(s->block);
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

/* -- strided.c -- */
/* A loop nest over raw host memory; dimension 0 is the innermost. */
typedef struct dpi_nest {
    int n_ops, ndim; /* ndim >= 1 */
    int64_t numel;
    int64_t *sizes;   /* [ndim] */
    int64_t *strides; /* [ndim][n_ops] bytes */
    char *data[DP_ITER_OPERANDS_MAX];
    int n_reduced; /* so many operands are of a reduction: dimensions where their stride is 0 are inside */
} dpi_nest;
/* Sort the nest's dimensions by the operands' strides, the smallest innermost; perm [ndim] says
 * where each was before.  Strides of 0 do not count.  linear: the order stays, but for reductions.
 * True: the order was right already. */
bool dpi_nest_order(dpi_nest *nest, int *perm, bool linear);
/* Merge neighbouring dimensions that lie one after the other in memory. */
void dpi_nest_coalesce(dpi_nest *nest);
/* Run the loop over elements [begin, end), in runs along dimension 0. */
void dpi_nest_run(const dpi_nest *nest, int64_t begin, int64_t end, dp_iter_loop loop, void *user);
/* Conjugates or negates, by `bits` of DP_MATH_BITS, sizes [ndim] elements in host memory; strides in
 * elements, none of them beside another's bytes twice. */
void dpi_twist(dp_dtype dtype, uint64_t bits, int ndim, const int64_t *sizes,
               const int64_t *strides, char *data);
/* dst, of n bytes, begins with `made` bytes, which are repeated until it is full. */
void dpi_repeat(char *dst, int64_t made, int64_t n);
/* Convert n elements from one dtype to another; strides in bytes. */
void dpi_run_copy(dp_dtype to, char *dst, int64_t dst_stride, dp_dtype from, const char *src,
                  int64_t src_stride, int64_t n);
/* The same to packed elements, which go past the caches: for results of which the first parts would be gone
 * from them when somebody reads them.  dpi_past_end() before another thread is told of them. */
void dpi_run_past(dp_dtype to, char *dst, dp_dtype from, const char *src, int64_t src_stride,
                  int64_t n);
void dpi_past_end(void);
bool dpi_goes_past(int64_t bytes); /* Is a result so large?  At least half of the last cache */

/* -- transpose.c: nests of two operands, what is written and what is read, that copy.c made -- */
/* The dimension that is innermost in what is read; 0: the one that is in what is written. */
int dpi_nest_across(const dpi_nest *nest);
/* Copy all of it, by tiles of dimension 0 and `across`, not 0.  past: dpi_goes_past(), and the elements
 * that are written lie one after the other. */
void dpi_copy_across(const dpi_nest *nest, int across, dp_dtype to, dp_dtype from, bool past,
                     int threads);

/* -- iter*.c: what is known of an iterator while it is built -- */
typedef struct dpi_iter_plan {
    const dp_iter_config *c;
    dp_iter *it;
    bool fake;           /* outputs become fakes */
    dp_account *account; /* pays for them */
    bool same;           /* all operands that keep their shape have the loop's */
    bool differ;         /* own and seen differ for some operand */
    int ndim;
    const int64_t *shape; /* [ndim] of the loop, before dimensions are sorted and merged */
    int out_ndim;
    const int64_t *out_shape;      /* [out_ndim] of the outputs: the loop's but in reductions */
    uint32_t resize;               /* bit k: output k is given another shape */
    const dpi_geometry **geometry; /* [n] of operand k, which exists and keeps its shape; NULL: an
                                      output still to be allocated or resized */
    dp_tensor **fresh;             /* [n_out] that were made; owned until init succeeds */
    int64_t *room, *out_room;      /* [DP_DIM_MAX] for shapes that are no operand's */
} dpi_iter_plan;
/* One dimension of n elements; room[1 + k] is operand k's stride, room[1 + it->n + k] is 0. */
static inline void dpi_iter_one_run(dp_iter *it, int64_t n)
{
    it->ndim = 1;
    it->n_reduced = 0;
    it->n_each = 1;
    it->numel = n;
    it->room[0] = n;
    it->shape = it->room;
    it->strides = it->room + 1;
}
/* iter_types.c: sets device, memoryless and p->fake; dtype, own, seen, converts. */
int dpi_iter_devices(dpi_iter_plan *p, dp_error *err);
int dpi_iter_dtypes(dpi_iter_plan *p, dp_error *err);
/* iter_layout.c: makes the outputs; sets ndim, numel, shape, strides.  a: where they do not fit. */
int dpi_iter_lay_out(dpi_iter_plan *p, dp_arena *a, dp_error *err);
/* iter_run.c: elements that are converted at a time, and one such block: n0 * n1 of them at most. */
int64_t dpi_iter_block(const dp_iter *it);
void dpi_iter_run_block(const dp_iter *it, char *const *data, const int64_t *strides, int64_t n0,
                        int64_t n1, dp_iter_loop2d loop, void *user);

#endif
