/* conv.h -- convolutions: one correlation, and its two gradients, over 1 to 3 dimensions of space.
 *
 *     y[n, g O + o, q] = bias[g O + o] + sum over c, t of x[n, g C + c, q stride + t dilation -
 *     padding] w[g O + o, c, t]
 *
 * with O = out_channels and C = in_channels of a group; x is 0 outside of its sizes.  A transposed
 * convolution is the gradient by x.  Sums are kept in the class of the dtype (gemm.h); results are
 * the same bits for any number of threads. */
#ifndef CPU_CONV_H
#define CPU_CONV_H

#include "conv_loops.h"
#include "matmul/gemm.h"

enum { CONV_SPACE = 3 }; /* dimensions of space; missing ones come first and have size 1 */

typedef struct conv_shape {
    int64_t n, groups;                 /* n: samples */
    int64_t in_channels, out_channels; /* of one group */
    int64_t in[CONV_SPACE], out[CONV_SPACE], kernel[CONV_SPACE];
    int64_t stride[CONV_SPACE], padding[CONV_SPACE], dilation[CONV_SPACE];
} conv_shape;

/* Memory of x, y or w, at any strides, which count elements; outer is that of samples, or of w's
 * output channels. */
typedef struct conv_side {
    char *data;
    int64_t outer, channel, at[CONV_SPACE];
} conv_side;

/* All sides are of `dtype`, one that has a class other than the complex ones.  Nothing is empty but
 * what space has no elements, and bias is NULL or dense.  DP_ERESOURCE: no memory. */
int conv_forward(dp_ctx *ctx, dp_dtype dtype, const conv_shape *s, const conv_side *x,
                 const conv_side *w, const void *bias, const conv_side *y);
/* x from y; the bias is by x's channels.  apart: as PyTorch's transposed convolutions add, first
 * over the channels, then over the taps, then the bias. */
int conv_input(dp_ctx *ctx, dp_dtype dtype, const conv_shape *s, const conv_side *y,
               const conv_side *w, const void *bias, bool apart, const conv_side *x);
/* w from x and y. */
int conv_weight(dp_ctx *ctx, dp_dtype dtype, const conv_shape *s, const conv_side *x,
                const conv_side *y, const conv_side *w);

/* -- shared by conv_run.c and conv_weight.c: planes.  A padded copy of some samples in their class,
 * or the samples themselves where these need no padding -- */

/* Along one dimension of space: result q meets tap t at q * step + off[t] of the source. */
typedef struct conv_axis {
    int64_t in;          /* of the source */
    int64_t count, step; /* of results */
    int64_t taps, *off;
    int64_t low, reach; /* what results meet: `reach` elements of the source, from `low` on */
    int64_t extent;     /* of what is copied */
    /* It lies in pieces, so that results are side by side: one for each remainder of places by
     * `step`, or, if that is less, one for each tap. */
    bool by_tap;
    int64_t pieces, piece; /* how many, and how long */
    int64_t
        /* of results: 1, or the step: where samples are read where they lie, or channels are
         * inside */
        pace;
} conv_axis;

typedef struct conv_planes {
    conv_axis axis[CONV_SPACE];
    const conv_dtype *dtype;
    conv_side from;
    int64_t bytes, class_bytes;   /* of an element of `from`, and of `data` */
    int64_t channels, samples;    /* samples: so many at a time */
    bool copied, channels_inside; /* inside: side by side, `width` of them for each group */
    int64_t per_group, width;
    char *data;
    int64_t sample, channel, at[CONV_SPACE]; /* strides of data; channel: of groups if inside */
} conv_planes;

/* p->axis up to off, dtype, from, bytes, class_bytes, channels, per_group, width and
 * channels_inside are set; allocates for as many of n samples as are to be at hand at the same
 * time.  slack: elements behind the last that may be read. */
int conv_planes_init(dp_ctx *ctx, conv_planes *p, int64_t n, int64_t slack, bool may_lend);
/* Bring in `samples` samples from `first` on. */
int conv_planes_fill(dp_ctx *ctx, conv_planes *p, int64_t first, int64_t samples);

/* Planes of one group of one sample, for a part of the results that is made while they are in a
 * core's cache: number i of `parts` begins at result first[]. */
typedef struct conv_cut {
    int64_t of[CONV_SPACE], each[CONV_SPACE], parts; /* all results, and those of a part, at most */
} conv_cut;

/* As conv_planes_init(), but nothing is allocated, and the axes' counts become those of a part. */
int conv_planes_cut(dp_ctx *ctx, conv_planes *p, conv_cut *cut);
/* The same for p, whose results are those that are cut already. */
int conv_planes_cut_as(dp_ctx *ctx, conv_planes *p, const conv_cut *cut);
/* first[], and how many results there are along each axis. */
void conv_cut_part(const conv_cut *cut, int64_t i, int64_t first[CONV_SPACE],
                   int64_t count[CONV_SPACE]);
/* Bring in what a part needs; `to` has room for conv_part_bytes().  fresh: no such part was there
 * before. */
void conv_planes_fill_part(const conv_planes *p, int64_t sample, int64_t group,
                           const int64_t first[CONV_SPACE], char *to, bool fresh);
int64_t conv_part_bytes(const conv_planes *p);

/* Where tap t of result 0 is met, and how far apart results are. */
static inline int64_t conv_place(const conv_axis *a, int64_t t)
{
    int64_t at = a->off[t] - a->low;

    if (a->by_tap)
        return t * a->piece;
    return a->pace == a->step ? at : at % a->step * a->piece + at / a->step;
}
/* The row of results number `row` of the samples at hand: where it begins in data, in elements. */
int64_t conv_planes_row(const conv_planes *p, int64_t row);

/* Memory for workers, each with `bytes` of its own. */
typedef struct conv_rooms {
    char *data;
    size_t each;
    int64_t n;
} conv_rooms;
int conv_rooms_init(dp_ctx *ctx, conv_rooms *r, size_t bytes);
/* Run fn(user, i, room, fresh) for i in [0, n).  fresh: nothing ran in this room before. */
typedef void (*conv_item)(const void *user, int64_t i, char *room, bool fresh);
int conv_each(dp_ctx *ctx, const conv_rooms *rooms, int64_t n, conv_item fn, const void *user);

#endif
