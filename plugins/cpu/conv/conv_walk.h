/* conv_walk.h -- walks.  A walk computes the results at every stride-th position of a tensor, from
 * a first position on; each result is a sum over channels and taps (positions in the kernel).
 * conv_run.c makes one walk from a convolution, and one or more from the gradient with respect to
 * the input (one per remainder of a position modulo the stride).  conv.h explains taps, the class
 * of a dtype, and planes. */
#ifndef CPU_CONV_WALK_H
#define CPU_CONV_WALK_H

#include "conv.h"

/* Loops: those of the class, the type in which products are summed (conv_loops.h); gemm.h's for the
 * dtype (size and packing of elements); and conversions between elements and the class. */
typedef struct conv_walk_loops {
    const conv_class *class;
    const gemm_dtype *packing;
    const conv_dtype *dtype;
} conv_walk_loops;

/* the operation, which conv_forward() and conv_input() set */
typedef struct conv_walk_op {
    int64_t n, groups, in_channels, out_channels;
    conv_side weights, to; /* weights.outer is the stride of the walk's output channels */
    /* distance from a group's weights to those of the next group, in elements */
    int64_t group_step;
    int64_t *tap[CONV_SPACE]; /* indices of the taps in the kernel */
    /* result q is at position begin + q stride of `to` */
    int64_t begin[CONV_SPACE], stride[CONV_SPACE];
    const char *bias;          /* bias, converted to the class; NULL: none */
    bool accumulate_in_output; /* sums may be added up in `to` itself */
    /* each tap is summed over the channels first, then the sums of the taps are added, then the
     * bias is added */
    bool separate_taps;
    /* order of the k summands (channel, tap): all taps of channel 0 come first; else all channels
     * of tap 0 come first */
    bool by_channel;
} conv_walk_op;

/* Weights, packed by conv_pack_weights().  A panel has the weights of conv_class.rows output
 * channels of a group. */
typedef struct conv_walk_packed {
    int64_t k; /* number of summands of a result: channels of a group times taps */
    /* [k] position of each summand in the planes: offset from the group's first channel, in
     * elements */
    int64_t *offsets;
    char *data;
    int64_t panels; /* panels of a group */
} conv_walk_packed;

/* How results are cut into blocks.  conv_run_blocks() sets all members except `depth` and `rooms`.
 * A result is a column of a matrix product.  Normally the columns are the results of all samples
 * whose planes are filled (conv_walk_pass), without gaps, and `width` is the number of results in a
 * row.  If `spread`, the columns are all positions of one sample's planes at one index of the first
 * spatial dimension, and `width` is the length of a row of the planes: no elements are gathered,
 * but results are also computed for the positions between the rows, and dropped. */
typedef struct conv_walk_blocks {
    int64_t depth, size; /* number of summands multiplied at a time; columns of a block */
    conv_rooms rooms;    /* scratch memory of the workers */
    bool spread;
    /* `width`; number of images; columns of an image.  An image is all samples whose planes are
     * filled or, if `spread`, one index of the first spatial dimension of one sample. */
    int64_t width, images, per_image;
} conv_walk_blocks;

/* the samples in memory, whose planes are filled: index of the first one, their number, and the
 * number of their results in a group */
typedef struct conv_walk_pass {
    int64_t first, samples, columns;
} conv_walk_pass;

typedef struct conv_walk {
    conv_walk_loops loops;
    conv_walk_op op;
    conv_planes planes;
    /* for conv_run_thin(): cut of the results into parts; its planes hold what one part reads */
    conv_cut cut;
    conv_walk_packed packed;
    conv_walk_blocks blocks;
    conv_walk_pass pass;
} conv_walk;

/* Pack the weights, and store the offset in the planes of each of the k summands. */
int conv_pack_weights(dp_ctx *ctx, conv_walk *w);
/* Return the number of summands that are multiplied at a time. */
int64_t conv_block_depth(const conv_walk *w);
/* Allocate the workers' scratch memory for conv_run_blocks(). */
int conv_block_rooms(dp_ctx *ctx, conv_walk *w);
/* Compute all blocks of the results of the samples in memory. */
int conv_run_blocks(dp_ctx *ctx, conv_walk *w);
/* Test whether the walk is thin: groups have few output channels and, with separate_taps, one input
 * channel.  conv_run_thin() is then faster than conv_run_blocks(). */
bool conv_is_thin(const conv_walk *w);
/* Run a thin walk, whose planes are cut into parts (conv_planes_cut) and whose weights are
 * packed. */
int conv_run_thin(dp_ctx *ctx, conv_walk *w);
/* Test whether the walk is depthwise (groups have one input and one output channel) with innermost
 * channels (channels_last), few taps and no conversion of elements; run such a walk, which needs no
 * planes. */
bool conv_is_pixelwise(const conv_walk *w);
int conv_run_pixelwise(dp_ctx *ctx, conv_walk *w);
/* Test whether channels are innermost both in the input and in the results, and the walk's stride,
 * class and sizes suit conv_run_of_pixels(); run such a walk, which needs no planes. */
bool conv_is_of_pixels(const conv_walk *w);
int conv_run_of_pixels(dp_ctx *ctx, const conv_walk *w);
/* Compute conv_weight() if groups have one input channel and one output channel. */
int conv_weight_thin(dp_ctx *ctx, dp_dtype dtype, const conv_shape *s, const conv_side *x,
                     const conv_side *y, const conv_side *w);

static inline int64_t conv_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Return the offset of the weight of tap `t` from the first weight of the same channel.  Taps of
 * all axes are counted in row-major order. */
static inline int64_t conv_weight_at(const conv_walk *w, int64_t t)
{
    const conv_axis *a = w->planes.axis;

    return w->op.tap[2][t % a[2].taps] * w->op.weights.at[2] +
           w->op.tap[1][t / a[2].taps % a[1].taps] * w->op.weights.at[1] +
           w->op.tap[0][t / a[2].taps / a[1].taps] * w->op.weights.at[0];
}

#endif
