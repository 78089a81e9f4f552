/* generator.h -- functions of generators for libdispatch: locking a generator, and drawing numbers
 * from one that the calling thread has locked. */
#ifndef DPI_GENERATOR_H
#define DPI_GENERATOR_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Check that the backend of `g` is still loaded.  DP_ERUNTIME: it was unloaded. */
int dpi_generator_check(const dp_generator *g, dp_error *err);
/* Lock `g` for the calling thread, after waiting until no other thread has it locked. */
void dpi_generator_lock(dp_generator *g);
/* Lock `g` without waiting.  False: another thread has it locked. */
bool dpi_generator_trylock(dp_generator *g);
/* Lock `g` as dpi_generator_lock() does, but give up when `stop` demands it.  `stop` is checked at
 * its deadline and at each dp_generator_wake().  DP_ECANCELLED or DP_EDEADLINE: `g` is not
 * locked. */
int dpi_generator_wait(dp_generator *g, const dpi_stop *stop);
void dpi_generator_unlock(dp_generator *g);

/* Versions of the functions in dispatch.h for a thread that has locked the generator. */
void dpi_generator_seed(dp_generator *g, uint64_t seed);
void dpi_generator_state_get(const dp_generator *g, void *out);
int dpi_generator_state_set(dp_generator *g, const void *state, size_t bytes, dp_error *err);
/* Copy `g`, which the calling thread has locked, with its state: *out, owned. */
int dpi_generator_copy(const dp_generator *g, dp_generator **out, dp_error *err);
/* Make default generators with the seed of `all`, none of which exists yet: *out, owned. */
int dpi_generators_like(dp_generators *all, dp_generators **out, dp_error *err);
/* Add `g`, whose reference is taken, as the default generator of its device, which has none. */
int dpi_generators_put(dp_generators *all, dp_generator *g, dp_error *err);
/* Set the seed of default generators that are made from now on; existing ones keep theirs. */
void dpi_generators_seed(dp_generators *all, uint64_t seed);
/* Return a new reference to the i-th default generator; NULL: there are not more than `i`. */
dp_generator *dpi_generators_item(dp_generators *all, uint32_t i);

/* The functions below draw numbers; the calling thread must have locked the generator.
 * dpi_generator_philox() is for generators of other devices than the CPU: it reserves a range of a
 * Philox stream.  All others are for generators of the CPU.  DP_ERUNTIME: `g` is not of a device
 * that the function is for. */
int dpi_generator_u32(dp_generator *g, uint32_t *out, size_t n, dp_error *err);
int dpi_generator_u64(dp_generator *g, uint64_t *out, size_t n, dp_error *err);
int dpi_generator_uniform(dp_generator *g, dp_dtype dtype, void *out, size_t n, dp_error *err);
int dpi_generator_normal(dp_generator *g, dp_dtype dtype, void *out, size_t n, dp_error *err);
int dpi_generator_philox(dp_generator *g, uint64_t increment, uint64_t *seed, uint64_t *offset,
                         dp_error *err);

#pragma GCC visibility pop

#endif
