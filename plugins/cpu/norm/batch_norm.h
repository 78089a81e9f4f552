/* batch_norm.h -- one call of batch normalisation or of its gradient: checks, layout, and sums per
 * channel. */
#ifndef CPU_BATCH_NORM_H
#define CPU_BATCH_NORM_H

#include "norm.h"
#include "core/dense.h"
#include "core/pack.h"

enum { BN_WEIGHT, BN_BIAS, BN_MEAN, BN_VAR, BN_PARAMETERS };

typedef struct bn_batch {
    pack p;
    dp_tensor *input, *parameters[BN_PARAMETERS];
    double eps;
    /* the members below are set by bn_prepare() */
    dp_dtype dtype, opmath, parameter_dtype;
    dp_memory_format format;
    int64_t numel, n, channels, size; /* if `columns`, there are `n` rows, and `size` is 1 */
    bool columns;
    const void *x;
    double *mean, *squares; /* [channels] */
} bn_batch;

/* Check the arguments; in training, running statistics may be missing. */
int bn_check(dp_ctx *ctx, bn_batch *b, bool training);
int bn_check_vector(dp_ctx *ctx, const char *name, dp_tensor *t, int64_t channels);
/* Find the layout of the input, and allocate `mean` and `squares`. */
void bn_prepare(bn_batch *b);
/* Run loop `loop` of norm.h over n parts of `each` elements. */
int bn_run(bn_batch *b, int loop, int64_t n, double each, void *job);
int64_t bn_planes(const bn_batch *b);
/* Return the coefficients of channels [channels] as one coefficient per plane. */
double *bn_by_plane(bn_batch *b, const double *of_channels);
/* Split the rows into chunks that are summed separately, with sums [chunks, 2, n].  The number of
 * chunks depends only on the shape, so that the sums do not depend on the number of threads. */
int64_t bn_make_chunks(bn_batch *b, nm_columns *c);
/* Add the sums of all chunks: first [channels] and second [channels]; `second` may be NULL. */
void bn_add_chunks(const nm_columns *c, int64_t chunks, double *first, double *second);
/* Return the number of elements in a channel. */
double bn_count(const bn_batch *b);
/* Make an output of `dtype` from values [n]; NULL: the output has no elements. */
void bn_give_vector(bn_batch *b, const double *values, int64_t n, dp_dtype dtype, dp_tensor **out);
/* Return 1 / sqrt(variance + eps) per channel; outside training, mean and variance are the running
 * statistics. */
double *bn_inverse(bn_batch *b, bool training);
/* Release all memory, and, if the call failed, the results [n]. */
int bn_finish(bn_batch *b, dp_tensor **const *results, int n);

#endif
