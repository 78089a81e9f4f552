/* draw.h -- filling tensors with the random numbers that PyTorch draws for the same seed, in the
 * order of elements in memory (aten/src/ATen/native/cpu/DistributionTemplates.h).
 *
 * A generator is one sequence of numbers, so only one thread draws, and the results do not depend
 * on the number of threads.  Elements are computed with the functions of the C library, as in
 * PyTorch: on the same machine they have the same bits as PyTorch's, except where PyTorch uses
 * vectorized functions. */
#ifndef CPU_DRAW_H
#define CPU_DRAW_H

#include "lib/dims.h"

/* a distribution */
typedef struct draw draw;
struct draw {
    /* Make `n` elements of dtype `made` from the generator that the caller has entered
     * (dp_generator_enter()). */
    int (*make)(dp_ctx *ctx, const draw *d, void *out, int64_t n);
    dp_dtype made;
    /* the members below are parameters, whose meaning depends on `make` */
    double a, b;
    uint64_t range;
    int64_t base;
};

enum { DRAW_BLOCK = 1024 }; /* elements that are made at a time if they must be converted */

/* Fill self, whose dtype must be one of `types` (DENSE_BIT); `name` is the kernel's name in errors.
 * Complex elements are filled as pairs of real numbers.  `g` NULL: use the session's generator.
 * DP_ERUNTIME: self has another dtype, or elements share memory. */
int draw_fill(dp_ctx *ctx, const char *name, unsigned types, dp_tensor *self, dp_generator *g,
              const draw *d);
/* Fill self with normal numbers.  As in PyTorch, contiguous tensors of at least 16 numbers (a
 * complex element is two numbers) are filled by another method than other tensors. */
int draw_normal(dp_ctx *ctx, dp_tensor *self, dp_generator *g, double mean, double deviation);
/* Make n contiguous elements of `dtype`; the caller has entered the generator. */
int draw_run(dp_ctx *ctx, const draw *d, dp_dtype dtype, void *out, int64_t n);
/* Check self for draw_fill().  DP_ERUNTIME: the dtype is not in `types`, or elements share
 * memory. */
int draw_check(dp_ctx *ctx, const char *name, unsigned types, dp_tensor *self);

/* Make `n` float64 elements: uniform numbers u in [0, 1) with 53 random bits; exponential numbers,
 * -log(1 - u) / a. */
int draw_uniform64(dp_ctx *ctx, const draw *d, void *out, int64_t n);
int draw_exponential(dp_ctx *ctx, const draw *d, void *out, int64_t n);

/* Return `v` rounded to `dtype`. */
double draw_rounded(double v, dp_dtype dtype);

#define DRAW_FLOATS  (DP_DTYPE_BITS(DP_DTYPES_FLOATING) | DP_DTYPE_BITS(DP_DTYPES_REDUCED_FLOATING))
#define DRAW_COMPLEX DP_DTYPE_BITS(DP_DTYPES_COMPLEX)

#endif
