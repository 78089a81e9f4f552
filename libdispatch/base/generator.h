/* generator.h -- random state between generator.c and the calls that draw from it. */
#ifndef DPI_GENERATOR_H
#define DPI_GENERATOR_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* DP_ERUNTIME: the backend it was made for was unloaded. */
int dpi_generator_check(const dp_generator *g, dp_error *err);
/* One at a time, whoever asks first: wait until nobody holds it, then hold it. */
void dpi_generator_hold(dp_generator *g);
void dpi_generator_drop(dp_generator *g);

/* By whoever holds it.  The stream of the CPU's, the ranges of every other device's; the wrong one
 * of them is DP_ERUNTIME. */
int dpi_generator_u32(dp_generator *g, uint32_t *out, size_t n, dp_error *err);
int dpi_generator_u64(dp_generator *g, uint64_t *out, size_t n, dp_error *err);
int dpi_generator_uniform(dp_generator *g, dp_dtype dtype, void *out, size_t n, dp_error *err);
int dpi_generator_normal(dp_generator *g, dp_dtype dtype, void *out, size_t n, dp_error *err);
int dpi_generator_philox(dp_generator *g, uint64_t increment, uint64_t *seed, uint64_t *offset,
                         dp_error *err);

#pragma GCC visibility pop

#endif
