/* draw.h -- filling tensors with the random numbers that PyTorch draws for the same seed, in the
 * order of elements in memory (aten/src/ATen/native/cpu/DistributionTemplates.h).
 *
 * A generator is one sequence, so one thread draws, and the numbers do not depend on the number of
 * threads.  Elements are computed with the functions of the C library, as in PyTorch: on one
 * machine they have the same bits wherever PyTorch does not use vectorized functions. */
#ifndef CPU_DRAW_H
#define CPU_DRAW_H

#include "lib/dims.h"

typedef struct draw draw;
struct draw {
    /* make n elements of dtype `made` with dp_generator_*() of the generator that ctx has
     * entered */
    int (*make)(dp_ctx *ctx, const draw *d, void *out, int64_t n);
    dp_dtype made;
    double a, b; /* parameters of `make` */
    uint64_t range;
    int64_t base;
};

enum { DRAW_BLOCK = 1024 }; /* elements made at a time if they are converted */

/* Fill self, whose dtype must be one of `types` (DENSE_BIT); `name` is the kernel's name.  Complex
 * elements are filled as pairs of real ones.  `g` NULL: the session's generator.  DP_ERUNTIME:
 * another dtype, or elements share memory. */
int draw_fill(dp_ctx *ctx, const char *name, unsigned types, dp_tensor *self, dp_generator *g,
              const draw *d);
/* Fill self with normal numbers, in float32, float64 or a 16-bit float dtype.  PyTorch uses another
 * method from 16 elements on. */
int draw_normal(dp_ctx *ctx, dp_tensor *self, dp_generator *g, double mean, double deviation);
/* Make n contiguous elements of `dtype`; the caller has entered the generator. */
int draw_run(dp_ctx *ctx, const draw *d, dp_dtype dtype, void *out, int64_t n);
/* Check self for draw_fill().  DP_ERUNTIME: the dtype is not in `types`, or elements share
 * memory. */
int draw_check(dp_ctx *ctx, const char *name, unsigned types, dp_tensor *self);

/* Make float64 elements: uniform in [0, 1) with 53 bits; -log(1 - u) / a of uniform u. */
int draw_uniform64(dp_ctx *ctx, const draw *d, void *out, int64_t n);
int draw_exponential(dp_ctx *ctx, const draw *d, void *out, int64_t n);

/* Return `v` rounded to `dtype`. */
double draw_rounded(double v, dp_dtype dtype);

#define DRAW_FLOATS  (DP_DTYPE_BITS(DP_DTYPES_FLOATING) | DP_DTYPE_BITS(DP_DTYPES_REDUCED_FLOATING))
#define DRAW_COMPLEX DP_DTYPE_BITS(DP_DTYPES_COMPLEX)

#endif
