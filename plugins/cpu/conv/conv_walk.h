/* conv_walk.h -- results on a lattice, each a sum over channels and taps: what conv_run.c makes of
 * a convolution or of its gradient by the input. */
#ifndef CPU_CONV_WALK_H
#define CPU_CONV_WALK_H

#include "conv.h"

/* The loops of a dtype and its class. */
typedef struct conv_walk_loops {
    const conv_class *class;
    const gemm_dtype *packing;
    const conv_dtype *dtype;
} conv_walk_loops;

/* What is computed: set by conv_forward() and conv_input(). */
typedef struct conv_walk_op {
    int64_t n, groups, in_channels, out_channels;
    conv_side weights, to;    /* weights.outer is that of output channels of the walk */
    int64_t group_step;       /* from a group's weights to the next group's, in elements */
    int64_t *tap[CONV_SPACE]; /* places in the kernel */
    int64_t begin[CONV_SPACE], stride[CONV_SPACE]; /* of results in `to` */
    const char *bias;                              /* of the class; NULL: none */
    bool accumulate_in_output;                     /* columns may be summed up in `to` */
    bool separate_taps; /* each tap is summed first, as a product; then these sums, then the bias */
    bool by_channel;    /* k goes channel by channel, not tap by tap */
} conv_walk_op;

/* Weights as panels of `rows` output channels, by group: made by conv_pack_weights(). */
typedef struct conv_walk_packed {
    int64_t k;        /* channels times taps */
    int64_t *offsets; /* [k] in the planes, in elements */
    char *data;
    int64_t panels; /* of a group */
} conv_walk_packed;

/* How columns are cut to blocks: chosen by conv_run_blocks().  Columns are those of an image: all
 * of them, side by side without gaps (width is a row's results), or, if they are `spread`, those of
 * a sample and a d, as they lie in the planes (width is a row of these).  Then nothing is gathered,
 * but what lies between the rows is multiplied, too. */
typedef struct conv_walk_blocks {
    int64_t depth, size; /* k that are multiplied at a time; columns of a block */
    conv_rooms rooms;
    bool spread;
    int64_t width, images, per_image;
} conv_walk_blocks;

/* The samples at hand, whose planes are filled. */
typedef struct conv_walk_pass {
    int64_t first, samples, columns;
} conv_walk_pass;

typedef struct conv_walk {
    conv_walk_loops loops;
    conv_walk_op op;
    conv_planes planes;
    conv_cut cut; /* of a thin one, whose planes are a part's */
    conv_walk_packed packed;
    conv_walk_blocks blocks;
    conv_walk_pass pass;
} conv_walk;

/* conv_pack.c: pack the weights, and list where each k lies in the planes. */
int conv_pack_weights(dp_ctx *ctx, conv_walk *w);
/* conv_blocks.c: how many of k are multiplied at a time; the memory of workers; and run all
 * blocks. */
int64_t conv_block_depth(const conv_walk *w);
int conv_block_rooms(dp_ctx *ctx, conv_walk *w);
int conv_run_blocks(dp_ctx *ctx, conv_walk *w);
/* Few output channels in a group: results are made part by part, with nothing gathered. */
bool conv_is_thin(const conv_walk *w);
/* Run it, of planes that are cut and weights that are packed. */
int conv_run_thin(dp_ctx *ctx, conv_walk *w);
/* Depthwise, and channels lie side by side: run all of it, without planes. */
bool conv_is_pixelwise(const conv_walk *w);
int conv_run_pixelwise(dp_ctx *ctx, conv_walk *w);
/* Channels lie side by side, of what is read and of results: run all of it, without planes. */
bool conv_is_of_pixels(const conv_walk *w);
int conv_run_of_pixels(dp_ctx *ctx, const conv_walk *w);
/* conv_weight() where groups have one channel in and one out. */
int conv_weight_thin(dp_ctx *ctx, dp_dtype dtype, const conv_shape *s, const conv_side *x,
                     const conv_side *y, const conv_side *w);

static inline int64_t conv_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The weight of tap t of a walk, the taps of all axes being counted in order, from channel 0's. */
static inline int64_t conv_weight_at(const conv_walk *w, int64_t t)
{
    const conv_axis *a = w->planes.axis;

    return w->op.tap[2][t % a[2].taps] * w->op.weights.at[2] +
           w->op.tap[1][t / a[2].taps % a[1].taps] * w->op.weights.at[1] +
           w->op.tap[0][t / a[2].taps / a[1].taps] * w->op.weights.at[0];
}

#endif
