/* pack.h -- operands as contiguous (row-major) arrays, for kernels that loop over arrays in an
 * order of their own.  pack_end() releases all tensors of the pack.
 *
 *     pack p = {.ctx = ctx};
 *     const double *x = pack_get(&p, self, DP_FLOAT64);
 *     double *y = pack_new(&p, DP_FLOAT64, ndim, sizes, &made);
 *     if (p.rc == 0 && !dp_memoryless(ctx)) ...
 *     return pack_end(&p);
 *
 * After a step has failed, all later steps do nothing and return NULL; pack_end() returns the code
 * of the failed step. */
#ifndef CPU_PACK_H
#define CPU_PACK_H

#include "lib/dims.h"

enum { PACK_MAX = 24 };

typedef struct pack {
    dp_ctx *ctx;
    int rc, n; /* code of the step that failed, or 0; number of tensors in `made` */
    /* device of new tensors; pack_get(), pack_own() and pack_as() set it to that of `t` */
    dp_device device;
    dp_tensor *made[PACK_MAX]; /* owned tensors [n] */
} pack;

/* Return the elements of `t` as a contiguous array of `dtype`: the elements of t itself if t is
 * contiguous and has that dtype, else a copy.  NULL if t is NULL. */
void *pack_get(pack *p, dp_tensor *t, dp_dtype dtype);
/* Return a copy of the elements of `t`, which is not NULL, as a contiguous array of `dtype`.
 * Kernels use it for values that they check first and rely on later, because another thread may
 * write to t in between. */
void *pack_own(pack *p, dp_tensor *t, dp_dtype dtype);
/* Return the elements of `t` like pack_get(), but contiguous in memory format `format`. */
void *pack_as(pack *p, dp_tensor *t, dp_dtype dtype, dp_memory_format format);
/* Make a contiguous tensor with uninitialized elements.  Store it in *out and return its elements;
 * the pack owns the tensor. */
void *pack_new(pack *p, dp_dtype dtype, int ndim, const int64_t *sizes, dp_tensor **out);
/* Make a tensor like pack_new(), but contiguous in memory format `format`. */
void *pack_new_as(pack *p, dp_dtype dtype, int ndim, const int64_t *sizes, dp_memory_format format,
                  dp_tensor **out);
/* Make a tensor like pack_new(), with all elements 0. */
void *pack_zeros(pack *p, dp_dtype dtype, int ndim, const int64_t *sizes, dp_tensor **out);
/* Allocate memory for `n` items of `item` bytes.  The dispatcher frees the memory when the running
 * operator call ends. */
void *pack_array(pack *p, int64_t n, size_t item);
/* Resize *out, unless it is NULL, to the shape of `made`; *out must have `dtype`.  An operator with
 * several outputs calls it for each of them before pack_give() writes the first one. */
void pack_place(pack *p, const dp_tensor *made, dp_dtype dtype, dp_tensor **out);
/* Give the elements of `made`, converted to `dtype`, to the output *out of the running operator.
 * *out NULL: it becomes a new reference to `made` if made has that dtype, or else a new tensor with
 * the strides of `made`.  Else *out is resized by dp_set_output() and written. */
void pack_give(pack *p, dp_tensor *made, dp_dtype dtype, dp_tensor **out);
/* Release all tensors of the pack.  Return 0, or the code of the step that failed. */
int pack_end(pack *p);

#endif
