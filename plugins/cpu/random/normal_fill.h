/* normal_fill.h -- normal numbers computed from uniform numbers by Box and Muller's method, as in
 * at::native::normal_fill. */
#ifndef CPU_NORMAL_H
#define CPU_NORMAL_H

#include "core/isa.h"

/* Replace the uniform numbers x [n] in [0, 1) by normal numbers.  `n` is a multiple of 16; elements
 * i and i + 8 of each group of 16 are replaced by two normal numbers.  dtype is float16, bfloat16,
 * float32 or float64. */
void normal_from_uniform(dp_dtype dtype, void *x, int64_t n, double mean, double deviation);

/* vectorized loops of normal_from_uniform() for float32 and for float64 */
typedef void (*normal_fn)(void *x, int64_t n, double mean, double deviation);
DP_ISA_TABLE(normal_fn, normal_loops)

#endif
