/* room.h -- what only the files of this room share.
 *
 * alloc.c memory; storage.c bytes on a device; layout.c geometry; tensor.c the object; view.c other
 * geometries on the same bytes; promote.c dtypes; overlap.c shared bytes; strided.c loops over raw
 * memory; copy.c moving elements; iterator.c elementwise loops over tensors. */
#ifndef DPI_ROOM_H
#define DPI_ROOM_H

#include "tensor_i.h"

enum {
    DPI_SHAPE_TEXT = 512, /* bytes of a printed shape; longer ones are cut */
    DPI_ITEM_MAX = 16,    /* bytes of the largest dtype */
    DPI_GRAIN = 32768     /* elements under which a loop is not split (at::internal) */
};
#define DPI_EXTENT_MAX                                                                             \
    (INT64_MAX / DPI_ITEM_MAX) /* elements that any dtype can address in bytes                     \
                                */

/* Drop a reference; true: it was the last one.  A sole owner need not tell anybody. */
static inline bool dpi_unref_last(atomic_uint *refs)
{
    return atomic_load_explicit(refs, memory_order_acquire) == 1 ||
           atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

/* -- alloc.c -- */
/* 64-byte aligned, contents undefined; NULL when there is none, and for 0 bytes.  Any thread. */
void *dpi_memory_alloc(size_t bytes);
void dpi_memory_free(void *p, size_t bytes); /* bytes as asked for; NULL is fine */
/* Give warm blocks back to the system, the largest first, until at most `keep` bytes are left. */
void dpi_memory_trim(size_t keep);
size_t dpi_memory_warm(void); /* bytes of freed blocks that are kept */

/* -- storage.c -- */
/* The device of s, pinned until leave, while its bytes are touched.  *ops NULL: data is the host's.
 * DP_ERUNTIME "backend npu was unloaded". */
int dpi_storage_enter(const dpi_storage *s, const dp_device_ops **ops, dp_error *err);
void dpi_storage_leave(const dpi_storage *s);
/* Foreign memory; release NULL: somebody else frees it, later. */
int dpi_storage_wrap(void *data, size_t bytes, void (*release)(void *arg), void *arg,
                     dpi_storage **out, dp_error *err);
/* What ops->copy or ops->allocate said, as an error of ours; from is what it wrote. */
int dpi_device_failed(int bit, const char *what, int rc, const dp_error *from, dp_error *err);

/* -- layout.c -- */
/* "[2, 3]" into buf; returns buf. */
const char *dpi_shape_print(char buf[DPI_SHAPE_TEXT], int ndim, const int64_t *sizes);
/* Are these sizes of a tensor?  *numel out. */
int dpi_sizes_check(int ndim, const int64_t *sizes, int64_t *numel, dp_error *err);
static inline dpi_geometry *dpi_geometry_ref(const dpi_geometry *g)
{
    dpi_geometry *shared = (dpi_geometry *)(uintptr_t)g; /* but for its count it is immutable */

    atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
    return shared;
}
static inline bool dpi_same_sizes(const dpi_geometry *a, const dpi_geometry *b)
{
    return a->ndim == b->ndim && memcmp(a->sizes, b->sizes, (size_t)a->ndim * sizeof(int64_t)) == 0;
}
static inline bool dpi_same_strides(const dpi_geometry *a, const dpi_geometry *b)
{
    return a->ndim == b->ndim &&
           memcmp(a->strides, b->strides, (size_t)a->ndim * sizeof(int64_t)) == 0;
}

/* -- tensor.c -- */
/* Do the bytes that g reaches lie within a storage of `bytes`? */
int dpi_fits_check(const dpi_geometry *g, size_t itemsize, size_t bytes, dp_error *err);
void dpi_count_bytes(int64_t bytes); /* of a storage that came or went */
/* ts[i] gets the geometry of from[i], which nobody else knows and which is released, for every i
 * where neither is NULL: all of them, or, DP_ERUNTIME, none.  Fails when another call changed one
 * since this one began, and beyond DP_LIMIT_RESIZES.  Any thread. */
int dpi_tensors_become(int n, dp_tensor *const *ts, dp_tensor *const *from, dp_error *err);
static inline char *dpi_geometry_data(const dpi_geometry *g, dp_dtype dtype)
{
    char *p = g->storage->data;
    return p ? p + (size_t)g->offset * dp_dtype_size(dtype) : NULL;
}
static inline char *dpi_tensor_data(const dp_tensor *t) /* first element; NULL: no bytes */
{
    return dpi_geometry_data(dpi_geometry_of(t), t->dtype);
}

/* -- overlap.c -- */
enum { DPI_OVERLAP_NONE, DPI_OVERLAP_FULL, DPI_OVERLAP_PARTIAL, DPI_OVERLAP_TOO_HARD };
/* May out be written element by element while in (NULL: nothing) is read?  ATen/MemoryOverlap.cpp
 */
int dpi_overlap_check(const dp_tensor *out, const dp_tensor *in, dp_error *err);

/* -- strided.c -- */
/* A loop nest over raw host memory; dimension 0 is the innermost. */
typedef struct dpi_nest {
    int n_ops, ndim; /* ndim >= 1 */
    int64_t numel;
    int64_t *sizes;   /* [ndim] */
    int64_t *strides; /* [ndim][n_ops] bytes */
    char *data[DP_ITER_OPERANDS_MAX];
} dpi_nest;
/* Order of dimensions, innermost first, by the operands' strides; perm [ndim] out.  The nest itself
 * is permuted.  Operands whose strides are all 0 have no say.  True when it was as it should be. */
bool dpi_nest_order(dpi_nest *nest, int *perm);
void dpi_nest_coalesce(dpi_nest *nest);
/* Elements begin..end-1 in runs along dimension 0. */
void dpi_nest_run(const dpi_nest *nest, int64_t begin, int64_t end, dp_iter_loop loop, void *user);
/* n elements of one dtype to another; strides in bytes. */
void dpi_run_copy(dp_dtype to, char *dst, int64_t dst_stride, dp_dtype from, const char *src,
                  int64_t src_stride, int64_t n);

#endif
