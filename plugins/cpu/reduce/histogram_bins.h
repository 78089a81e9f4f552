/* histogram_bins.h -- points counted in the bins between edges, for the histograms. */
#ifndef CPU_BINS_H
#define CPU_BINS_H

#include <dispatchd/plugin.h>

/* How a point's bin is found: by its edges; by division; by division, and edges near by. */
enum { BINS_SEARCHED, BINS_SPREAD, BINS_SPREAD_NEAR };

/* n points of `dims` numbers, packed, with a weight each or none (NULL). */
typedef struct binning {
    int64_t n;
    int dims, method;
    const void *points, *weights;
    const void *edges[DP_DIM_MAX];          /* of each dimension, rising, in the points' dtype, */
    int64_t n_edges[DP_DIM_MAX];            /* at least two */
    int64_t steps[DP_DIM_MAX], bins, slots; /* from here on bins_count's own */
    void *counts;                           /* [slots, bins] */
} binning;

/* hist, of one dimension for each of the points' and their dtype (float32, float64 or bfloat16),
 * packed or not, = how many points, or the sum of their weights, lie in each bin. Errors: those of
 * memory and of cancelled calls. */
int bins_count(dp_ctx *ctx, binning *c, dp_tensor *hist);

#endif
