/* conv_walk.h -- results on a lattice, each a sum over channels and taps: what conv_run.c makes of a convolution
 * or of its gradient by the input. */
#ifndef CPU_CONV_WALK_H
#define CPU_CONV_WALK_H

#include "conv.h"

typedef struct conv_walk {
    const conv_class *class;
    const gemm_dtype *packing;
    const conv_dtype *dtype;
    conv_planes planes;
    conv_cut cut; /* of a thin one, whose planes are a part's */
    int64_t n, groups, in_channels, out_channels;
    conv_side w, to; /* w.outer is that of output channels of the walk */
    int64_t w_group;
    int64_t *tap[CONV_SPACE];                      /* places in the kernel */
    int64_t begin[CONV_SPACE], stride[CONV_SPACE]; /* of results in `to` */
    const char *bias;                              /* of the class; NULL: none */
    bool direct;                                   /* may columns be summed up in `to`? */
    bool
        apart; /* each tap's sum is made first, as if by a product; these are added, then the bias */
    bool by_channel; /* k goes channel by channel, not tap by tap */
    int64_t k, *off;
    char *a; /* weights: panels of `rows` output channels, by group */
    int64_t panels, depth, block;
    conv_rooms rooms;
    int64_t first, samples, columns; /* at hand */
    /* Columns are those of an image: all of them, side by side without gaps (width is a row's results), or, if
     * they are `spread`, those of a sample and a d, as they lie in the planes (width is a row of these).  Then
     * nothing is gathered, but what lies between the rows is multiplied, too. */
    bool spread;
    int64_t width, images, per_image;
} conv_walk;

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

/* The weight of tap t of a walk, the taps of all axes being counted in order, from channel 0's. */
static inline int64_t conv_weight_at(const conv_walk *w, int64_t t)
{
    const conv_axis *a = w->planes.axis;

    return w->tap[2][t % a[2].taps] * w->w.at[2] +
           w->tap[1][t / a[2].taps % a[1].taps] * w->w.at[1] +
           w->tap[0][t / a[2].taps / a[1].taps] * w->w.at[0];
}

#endif
