/* grid_sampler.h -- sampling at points of a grid: grid.c prepares it, levels/grid.c has the loops.
 *
 * Each point becomes a table of taps: places of a plane, their weights, and how the weights change
 * with the point.  What is sampled, and both gradients, are sums over those. */
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
enum { GRID_BLOCK = 32 }; /* points whose tables are made together */

typedef struct grid_job {
    int dims, mode, padding;
    bool align;
    int64_t n, channels, points; /* of the result's planes */
    int64_t size[3], places;     /* of the input's planes: width, height, depth */
    const char *x, *grid, *grad; /* packed; grad: of the result, NULL forward */
    char *out;              /* the result; backward: the gradient of the input, or of the grid */
    int64_t blocks, groups; /* of points, and of channels */
} grid_job;

/* dp_range_fns, user is the grid_job: the result over n * blocks; the gradient of the input, zeros
 * before, over n * groups of channels; that of the grid over n * blocks. */
typedef struct grid_loops {
    dp_range_fn sample, input_back, grid_back;
} grid_loops;
DP_ISA_TABLE(grid_loops, grid_types) /* float32, float64 */

enum { GRID_GROUP = 8 }; /* channels for which a table is made */

#endif
