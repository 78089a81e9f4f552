/* conv_walk.h -- walks: results on a lattice, each a sum over channels and taps.  conv_run.c makes
 * walks from a convolution or its gradient by the input. */
#ifndef CPU_CONV_WALK_H
#define CPU_CONV_WALK_H

#include "conv.h"

/* loops of a dtype and of its class */
typedef struct conv_walk_loops {
    const conv_class *class;
    const gemm_dtype *packing;
    const conv_dtype *dtype;
} conv_walk_loops;

/* the operation, set by conv_forward() and conv_input() */
typedef struct conv_walk_op {
    int64_t n, groups, in_channels, out_channels;
    conv_side weights, to; /* weights.outer is the stride of the walk's output channels */
    /* distance from a group's weights to those of the next group, in elements */
    int64_t group_step;
    int64_t *tap[CONV_SPACE];                      /* indices of the taps in the kernel */
    int64_t begin[CONV_SPACE], stride[CONV_SPACE]; /* positions of the results in `to` */
    const char *bias;                              /* bias in the class; NULL: none */
    bool accumulate_in_output;                     /* columns may be summed up in `to` */
    /* each tap's product is summed first; then these sums are added, then the bias */
    bool separate_taps;
    bool by_channel; /* k counts the taps of channel 0 first, instead of the channels of tap 0 */
} conv_walk_op;

/* Weights packed to panels of `rows` output channels, by group; made by conv_pack_weights(). */
typedef struct conv_walk_packed {
    int64_t k;        /* number of channels times taps */
    int64_t *offsets; /* [k] offsets in the planes, in elements */
    char *data;
    int64_t panels; /* panels of a group */
} conv_walk_packed;

/* How columns are cut into blocks, chosen by conv_run_blocks().  Normally the columns are the
 * results of all images, contiguous; `width` is the number of results in a row.  If `spread`, the
 * columns are those of one sample and one depth, in the layout of the planes; `width` is the length
 * of a row of the planes.  Then nothing is gathered, but the elements between the rows are
 * multiplied, too. */
typedef struct conv_walk_blocks {
    int64_t depth, size; /* number of k multiplied at a time; columns of a block */
    conv_rooms rooms;
    bool spread;
    int64_t width, images, per_image;
} conv_walk_blocks;

/* samples in memory, whose planes are filled */
typedef struct conv_walk_pass {
    int64_t first, samples, columns;
} conv_walk_pass;

typedef struct conv_walk {
    conv_walk_loops loops;
    conv_walk_op op;
    conv_planes planes;
    conv_cut cut; /* for a thin walk, whose planes are those of a part */
    conv_walk_packed packed;
    conv_walk_blocks blocks;
    conv_walk_pass pass;
} conv_walk;

/* conv_pack.c: Pack the weights, and store the offset of each k in the planes. */
int conv_pack_weights(dp_ctx *ctx, conv_walk *w);
/* conv_blocks.c: Return the number of k that are multiplied at a time; allocate the workers'
 * scratch memory; run all blocks. */
int64_t conv_block_depth(const conv_walk *w);
int conv_block_rooms(dp_ctx *ctx, conv_walk *w);
int conv_run_blocks(dp_ctx *ctx, conv_walk *w);
/* Test whether groups have few output channels: results are then computed in parts, without
 * gathering. */
bool conv_is_thin(const conv_walk *w);
/* Run a thin walk, whose planes are cut and whose weights are packed. */
int conv_run_thin(dp_ctx *ctx, conv_walk *w);
/* Test for, and run, a depthwise walk with innermost channels.  It needs no planes. */
bool conv_is_pixelwise(const conv_walk *w);
int conv_run_pixelwise(dp_ctx *ctx, conv_walk *w);
/* Test for, and run, a walk with innermost channels in both input and results.  It needs no
 * planes. */
bool conv_is_of_pixels(const conv_walk *w);
int conv_run_of_pixels(dp_ctx *ctx, const conv_walk *w);
/* Compute conv_weight() if groups have one input channel and one output channel. */
int conv_weight_thin(dp_ctx *ctx, dp_dtype dtype, const conv_shape *s, const conv_side *x,
                     const conv_side *y, const conv_side *w);

static inline int64_t conv_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Return the offset of the weight of tap `t` from that of channel 0; the taps of all axes are
 * counted in order. */
static inline int64_t conv_weight_at(const conv_walk *w, int64_t t)
{
    const conv_axis *a = w->planes.axis;

    return w->op.tap[2][t % a[2].taps] * w->op.weights.at[2] +
           w->op.tap[1][t / a[2].taps % a[1].taps] * w->op.weights.at[1] +
           w->op.tap[0][t / a[2].taps / a[1].taps] * w->op.weights.at[0];
}

#endif
