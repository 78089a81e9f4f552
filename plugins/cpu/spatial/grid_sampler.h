/* grid_sampler.h -- sampling at the points of a grid: grid_sampler.c prepares it,
 * levels/grid_sampler.c has the loops.
 *
 * Each point becomes a table of taps: indices of elements in a plane, their weights, and the
 * derivatives of the weights by the point's coordinates.  The samples, and both gradients, are sums
 * over the taps. */
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

typedef struct grid_job {
    int dims, mode, padding;
    bool align;
    int64_t n, channels, points; /* sizes of the result; `points` of a plane */
    /* sizes of the input's planes (width, height, depth), and their elements */
    int64_t size[3], places;
    /* contiguous; grad: gradient of the result, NULL in the forward call */
    const char *x, *grid, *grad;
    char *out;              /* result, or the gradient of the input or of the grid */
    int64_t blocks, groups; /* blocks of points, and groups of channels */
} grid_job;

/* dp_range_fns whose `user` is the grid_job: the result, over n * blocks; the gradient of the
 * input, added to zeros, over n * groups; the gradient of the grid, over n * blocks. */
typedef struct grid_loops {
    dp_range_fn sample, input_back, grid_back;
} grid_loops;
DP_ISA_TABLE(grid_loops, grid_types) /* float32, float64 */

enum { GRID_GROUP = 8 }; /* channels for which one table is used */

#endif
