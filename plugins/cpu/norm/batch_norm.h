/* batch_norm.h -- one call of batch normalization or of its gradient: checks, memory layout, and
 * sums per channel. */
#ifndef CPU_BATCH_NORM_H
#define CPU_BATCH_NORM_H

#include "norm.h"
#include "core/dense.h"
#include "core/pack.h"

enum { BN_WEIGHT, BN_BIAS, BN_MEAN, BN_VAR, BN_PARAMETERS };

/* arguments and state of one call */
typedef struct bn_batch {
    pack p;
    dp_tensor *input, *parameters[BN_PARAMETERS]; /* parameters may be NULL */
    double eps;
    /* the members below are set by bn_prepare() */
    dp_dtype dtype, opmath, parameter_dtype;
    dp_memory_format format;
    int64_t numel, n, channels, size; /* input: [n, channels, size]; if `columns`, [n, channels] */
    bool columns;                     /* channels are the last dimension; `size` is 1 */
    const void *x;                    /* elements of the input */
    double *mean, *squares;           /* [channels]; squares: sums of squared deviations */
} bn_batch;

/* Check the arguments.  With `training`, running statistics may be NULL. */
int bn_check(dp_ctx *ctx, bn_batch *b, bool training);
/* Check that `t`, argument `name`, is NULL or has `channels` elements. */
int bn_check_vector(dp_ctx *ctx, const char *name, dp_tensor *t, int64_t channels);
/* Set the members that describe the input, and allocate `mean` and `squares`. */
void bn_prepare(bn_batch *b);
/* Run loop `loop` (NM_*) of norm.h over [0, n), on several threads.  One index stands for `each`
 * elements; `job` is the argument of the loop. */
int bn_run(bn_batch *b, int loop, int64_t n, double each, void *job);
/* Return the number of planes, n * channels. */
int64_t bn_planes(const bn_batch *b);
/* Return an array with one coefficient per plane, from of_channels [channels]. */
double *bn_by_plane(bn_batch *b, const double *of_channels);
/* Split the rows into chunks that are summed separately: set c->chunk, and allocate c->sums
 * [chunks, 2, n].  Return the number of chunks.  It depends only on the shape, so that the sums do
 * not depend on the number of threads. */
int64_t bn_make_chunks(bn_batch *b, nm_columns *c);
/* Set first [channels] and second [channels] to the sums over all chunks; `second` may be NULL. */
void bn_add_chunks(const nm_columns *c, int64_t chunks, double *first, double *second);
/* Return the number of elements in a channel. */
double bn_count(const bn_batch *b);
/* Set *out to a new tensor of `dtype` with values [n].  `values` may be NULL only if an earlier
 * step of b->p has failed; *out then stays. */
void bn_give_vector(bn_batch *b, const double *values, int64_t n, dp_dtype dtype, dp_tensor **out);
/* Return 1 / sqrt(variance + eps) per channel.  The variance is computed from b->squares or,
 * outside training, is the running variance; b->mean is then set to the running mean. */
double *bn_inverse(bn_batch *b, bool training);
/* Release all memory and, if the call failed, results [n].  Return the code of the call. */
int bn_finish(bn_batch *b, dp_tensor **const *results, int n);

#endif
