/* batch_norm.h -- one call of batch normalisation, or of its gradient: checks, layout and sums by
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
    /* found by bn_prepare() */
    dp_dtype dtype, opmath, parameter_dtype;
    dp_memory_format format;
    int64_t numel, n, channels, size; /* columns: n rows, of size 1 */
    bool columns;
    const void *x;
    double *mean, *squares; /* [channels] */
} bn_batch;

/* training: running statistics may be missing */
int bn_check(dp_ctx *ctx, bn_batch *b, bool training);
int bn_check_vector(dp_ctx *ctx, const char *name, dp_tensor *t, int64_t channels);
/* Find how the input lies, and make `mean` and `squares`. */
void bn_prepare(bn_batch *b);
/* Run loop `loop` of norm.h over n parts of `each` elements. */
int bn_run(bn_batch *b, int loop, int64_t n, double each, void *job);
int64_t bn_planes(const bn_batch *b);
/* Coefficients [channels], one for each plane. */
double *bn_by_plane(bn_batch *b, const double *of_channels);
/* Chunks of rows that are added up by themselves, and their sums [chunks, 2, n].  Their number
 * depends on the shape alone, so that sums do not depend on the number of threads. */
int64_t bn_make_chunks(bn_batch *b, nm_columns *c);
/* first, second [channels]: sums over all chunks; second may be NULL. */
void bn_add_chunks(const nm_columns *c, int64_t chunks, double *first, double *second);
/* Elements of a channel. */
double bn_count(const bn_batch *b);
/* A vector of these values as an output of `dtype`; NULL: it has memory of nothing. */
void bn_give_vector(bn_batch *b, const double *values, int64_t n, dp_dtype dtype, dp_tensor **out);
/* 1 / sqrt(variance + eps) [channels]; outside of training mean and variance are the running
 * ones. */
double *bn_inverse(bn_batch *b, bool training);
/* Release all, and the results [n] of a failed call. */
int bn_finish(bn_batch *b, dp_tensor **const *results, int n);

#endif
