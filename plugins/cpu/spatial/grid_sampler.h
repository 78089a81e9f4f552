/* grid_sampler.h -- the loops of grid_sampler, which samples an input at the points of a grid:
 * grid_sampler.c calls the loops, levels/grid_sampler.c defines them.
 *
 * A sample is a weighted sum of some input elements, the taps of its point.  A plane is one channel
 * of one image of the input or the result.  A table has the taps of some points: indices of
 * elements in a plane of the input, their weights, and the derivatives of the weights by the
 * point's coordinates.  The gradients of the input and of the grid are sums over the taps, too. */
#ifndef CPU_GRID_H
#define CPU_GRID_H

#include "core/isa.h"

enum {
    GRID_LINEAR,
    GRID_NEAREST,
    GRID_CUBIC,
    GRID_MODES
}; /* at::native::GridSamplerInterpolation */
enum {
    GRID_ZEROS,
    GRID_BORDER,
    GRID_REFLECTION,
    GRID_PADDINGS
};                        /* at::native::GridSamplerPadding */
enum { GRID_BLOCK = 32 }; /* points whose tables are made at a time */

/* arguments of the loops, shared by all threads */
typedef struct grid_job {
    int dims, mode, padding;     /* spatial dimensions, 2 or 3; GRID_LINEAR ...; GRID_ZEROS ... */
    bool align;                  /* align_corners */
    int64_t n, channels, points; /* sizes of the result; `points` of a plane */
    /* width, height and depth of the input's planes; number of their elements */
    int64_t size[3], places;
    /* contiguous tensors; `grad` is the gradient of the result, NULL in the forward call */
    const char *x, *grid, *grad;
    char *out;              /* result, or the gradient of the input or of the grid */
    int64_t blocks, groups; /* blocks of points, and groups of channels */
} grid_job;

/* Loops for dp_parallel_for(); `user` is the grid_job.  `sample` computes the result, over
 * n * blocks; `input_back` adds the gradient of the input to `out`, which the caller has set to
 * zeros, over n * groups; `grid_back` computes the gradient of the grid, over n * blocks. */
typedef struct grid_loops {
    dp_range_fn sample, input_back, grid_back;
} grid_loops;
DP_ISA_TABLE(grid_loops, grid_types) /* float32, float64 */

enum { GRID_GROUP = 8 }; /* channels for which one table is used */

#endif
