/* pack.h -- operands as packed row-major arrays, for kernels that go over them in their own order:
 * each is released by pack_end().
 *
 *     pack p = {.ctx = ctx};
 *     const double *x = pack_get(&p, self, DP_FLOAT64);
 *     double *y = pack_new(&p, DP_FLOAT64, ndim, sizes, &made);
 *     if (p.rc == 0 && !dp_memoryless(ctx)) ...
 *     return pack_end(&p);
 *
 * After a step that failed all others do nothing and return NULL; pack_end() returns its code. */
#ifndef CPU_PACK_H
#define CPU_PACK_H

#include "lib/dims.h"

enum { PACK_MAX = 24 };

typedef struct pack {
    dp_ctx *ctx;
    int rc, n;
    dp_device device; /* of the operand that came last: of what is made */
    dp_tensor *made[PACK_MAX];
} pack;

/* t's elements as `dtype`, borrowed from t where they lie so.  NULL for a t that is NULL. */
void *pack_get(pack *p, dp_tensor *t, dp_dtype dtype);
/* The same, always copied: what is checked before it is trusted, since others may write to t. */
void *pack_own(pack *p, dp_tensor *t, dp_dtype dtype);
/* As pack_get(), in the order of another memory format. */
void *pack_as(pack *p, dp_tensor *t, dp_dtype dtype, dp_memory_format format);
/* A new tensor, which is the pack's. */
void *pack_new(pack *p, dp_dtype dtype, int ndim, const int64_t *sizes, dp_tensor **out);
void *pack_new_as(pack *p, dp_dtype dtype, int ndim, const int64_t *sizes, dp_memory_format format,
                  dp_tensor **out);
/* The same, of zeros. */
void *pack_zeros(pack *p, dp_dtype dtype, int ndim, const int64_t *sizes, dp_tensor **out);
/* Memory for n items, for the call. */
void *pack_array(pack *p, int64_t n, size_t item);
/* An output that is given gets the shape of `made`, and must have `dtype`: for operators with
 * several, before the first of them is given its elements. */
void pack_place(pack *p, const dp_tensor *made, dp_dtype dtype, dp_tensor **out);
/* An output of the running operator gets the elements of `made`, in `dtype`: *out NULL is made with
 * its strides, a given one as dp_set_output() has it. */
void pack_give(pack *p, dp_tensor *made, dp_dtype dtype, dp_tensor **out);
/* Release all.  Nothing that was made is NULL where the code is not 0. */
int pack_end(pack *p);

#endif
