/* normal_fill.h -- normal numbers of uniform ones, Box and Muller's, as at::native::normal_fill has
 * it. */
#ifndef CPU_NORMAL_H
#define CPU_NORMAL_H

#include "core/isa.h"

/* x [n], n a multiple of 16, of dtype float16, bfloat16, float32 or float64: elements i and i + 8
 * of each 16, in [0, 1), become two normal ones. */
void normal_from_uniform(dp_dtype dtype, void *x, int64_t n, double mean, double deviation);

/* The same for float32 and for float64, with functions that are vectors. */
typedef void (*normal_fn)(void *x, int64_t n, double mean, double deviation);
DP_ISA_TABLE(normal_fn, normal_loops)

#endif
