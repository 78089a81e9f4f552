/* draw.h -- random elements: tensors filled with what PyTorch draws for the same seed, one draw
 * after the other, in the order in which elements lie in memory
 * (aten/src/ATen/native/cpu/DistributionTemplates.h).
 *
 * A generator is one stream, so one thread draws; nothing depends on how many there are.  Functions
 * that make elements do so by the functions of the C library, as PyTorch does: on one machine they
 * agree to the last bit where PyTorch has no vectors for it. */
#ifndef CPU_DRAW_H
#define CPU_DRAW_H

#include "lib/dims.h"

typedef struct draw draw;
struct draw {
    /* n elements of dtype `made`, by dp_generator_*() of the generator that ctx holds */
    int (*make)(dp_ctx *ctx, const draw *d, void *out, int64_t n);
    dp_dtype made;
    double a, b; /* what `make` says they are */
    uint64_t range;
    int64_t base;
};

enum { DRAW_BLOCK = 1024 }; /* elements made at a time where they are converted */

/* Fill self, which kernel `name` takes in `types` (DENSE_BIT); complex ones as pairs of real ones.
 * g NULL: the session's generator.  DP_ERUNTIME: another dtype, elements that share memory. */
int draw_fill(dp_ctx *ctx, const char *name, unsigned types, dp_tensor *self, dp_generator *g,
              const draw *d);
/* The same for float32, float64 and 16-bit ones of mean and deviation, which PyTorch draws in other
 * ways from 16 elements on. */
int draw_normal(dp_ctx *ctx, dp_tensor *self, dp_generator *g, double mean, double deviation);
/* n elements of dtype, packed; the generator is held. */
int draw_run(dp_ctx *ctx, const draw *d, dp_dtype dtype, void *out, int64_t n);
/* DP_ERUNTIME: not one of `types`, or elements that share memory. */
int draw_check(dp_ctx *ctx, const char *name, unsigned types, dp_tensor *self);

/* Makers of float64: 53 bits of [0, 1); -log(1 - u) / a of those. */
int draw_uniform64(dp_ctx *ctx, const draw *d, void *out, int64_t n);
int draw_exponential(dp_ctx *ctx, const draw *d, void *out, int64_t n);

/* v as the nearest number of dtype */
double draw_rounded(double v, dp_dtype dtype);

#define DRAW_FLOATS  (DP_DTYPE_BITS(DP_DTYPES_FLOATING) | DP_DTYPE_BITS(DP_DTYPES_REDUCED_FLOATING))
#define DRAW_COMPLEX DP_DTYPE_BITS(DP_DTYPES_COMPLEX)

#endif
