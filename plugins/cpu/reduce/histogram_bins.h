/* histogram_bins.h -- counting of points in the bins of a histogram. */
#ifndef CPU_BINS_H
#define CPU_BINS_H

#include <dispatchd/plugin.h>

/* Methods to find the bin of a point (BIN_SELECTION_ALGORITHM in ATen's HistogramKernel.cpp):
 * binary search in the edges; linear interpolation between the first and the last edge; linear
 * interpolation corrected by a search in the nearest edges. */
enum { BINS_SEARCH, BINS_LINEAR, BINS_LINEAR_LOCAL };

/* arguments and state of bins_count() */
typedef struct binning {
    int64_t n;           /* number of points */
    int dims, method;    /* coordinates of a point; BINS_* */
    const void *points;  /* [n, dims], contiguous */
    const void *weights; /* [n]; NULL: all 1 */
    /* bin edges of each dimension, in the points' dtype; nothing checks that they ascend */
    const void *edges[DP_DIM_MAX];
    int64_t n_edges[DP_DIM_MAX]; /* number of edges of each dimension, at least 2 */
    /* the members below are set by bins_count() */
    int64_t steps[DP_DIM_MAX], bins; /* strides of the histogram; number of its bins */
    int64_t slots;                   /* parts of the points, which threads count in parallel */
    void *counts;                    /* [slots, bins]: a histogram of each part */
} binning;

/* Set each element of `hist` to the number of points in its bin, or to the sum of their weights.
 * `hist` has one dimension per coordinate of a point and the points' dtype (float32, float64 or
 * bfloat16); it need not be contiguous.  Errors: DP_ERESOURCE, and those of dp_parallel_for() and
 * dp_copy(). */
int bins_count(dp_ctx *ctx, binning *c, dp_tensor *hist);

#endif
