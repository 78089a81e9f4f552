/* generator.h -- random state between generator.c and the calls that draw from it. */
#ifndef DPI_GENERATOR_H
#define DPI_GENERATOR_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* DP_ERUNTIME: the backend it was made for was unloaded. */
int dpi_generator_check(const dp_generator *g, dp_error *err);
/* Wait until nobody holds g, then hold it; one thread does at a time. */
void dpi_generator_lock(dp_generator *g);
bool dpi_generator_trylock(dp_generator *g); /* hold g if nobody does; false: somebody does */
/* Hold g unless *stop says that the wait is to end, which is asked again at its deadline and at
 * each dp_generator_wake().  DP_ECANCELLED or DP_EDEADLINE: g is not held. */
int dpi_generator_wait(dp_generator *g, const dpi_stop *stop);
void dpi_generator_unlock(dp_generator *g);

/* The functions of dispatch.h with these names, for a thread that holds the generator. */
void dpi_generator_seed(dp_generator *g, uint64_t seed);
void dpi_generator_state_get(const dp_generator *g, void *out);
int dpi_generator_state_set(dp_generator *g, const void *state, size_t bytes, dp_error *err);
/* Set the seed of default generators that are made later. */
void dpi_generators_seed(dp_generators *all, uint64_t seed);
dp_generator *dpi_generators_item(dp_generators *all, uint32_t i); /* counted; NULL: there are i */

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
