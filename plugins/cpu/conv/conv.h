/* conv.h -- convolutions: a correlation over 1 to 3 spatial dimensions, and its two gradients.
 *
 *     y[n, g O + o, q] = bias[g O + o] + sum over c, t of x[n, g C + c, q stride + t dilation -
 *     padding] w[g O + o, c, t]
 *
 * O and C are out_channels and in_channels of a group; x is 0 outside its sizes.  A transposed
 * convolution is the gradient by x.  Sums have the class of the dtype (gemm.h).  The results have
 * the same bits for any number of threads. */
#ifndef CPU_CONV_H
#define CPU_CONV_H

#include "conv_loops.h"
#include "matmul/gemm.h"

enum { CONV_SPACE = 3 }; /* number of spatial dimensions; missing ones come first and have size 1 */

typedef struct conv_shape {
    int64_t n, groups;                 /* `n` is the number of samples */
    int64_t in_channels, out_channels; /* channels of one group */
    int64_t in[CONV_SPACE], out[CONV_SPACE], kernel[CONV_SPACE];
    int64_t stride[CONV_SPACE], padding[CONV_SPACE], dilation[CONV_SPACE];
} conv_shape;

/* Memory of x, y or w with any strides, which count elements.  `outer` is the stride of samples, or
 * of the output channels of w. */
typedef struct conv_side {
    char *data;
    int64_t outer, channel, at[CONV_SPACE];
} conv_side;

/* Compute the convolution `y`.  All sides have `dtype`, which must have a real class.  Only spatial
 * dimensions may be empty.  `bias` is NULL or contiguous.  DP_ERESOURCE: over a memory limit. */
int conv_forward(dp_ctx *ctx, dp_dtype dtype, const conv_shape *s, const conv_side *x,
                 const conv_side *w, const void *bias, const conv_side *y);
/* Compute x from y, the gradient by the input or a transposed convolution; `bias` has an element
 * per channel of x.  `apart`: sum in the order of PyTorch's transposed convolutions: over the
 * channels, then over the taps, then the bias. */
int conv_input(dp_ctx *ctx, dp_dtype dtype, const conv_shape *s, const conv_side *y,
               const conv_side *w, const void *bias, bool apart, const conv_side *x);
/* Compute w, the gradient by the weights, from x and y. */
int conv_weight(dp_ctx *ctx, dp_dtype dtype, const conv_shape *s, const conv_side *x,
                const conv_side *y, const conv_side *w);

/* -- Planes, shared by conv_run.c and conv_weight.c: a padded copy of some samples in their class,
 * or the samples themselves if they need no padding -- */

/* One spatial dimension: for result q, tap t reads element q * step + off[t] of the source. */
typedef struct conv_axis {
    int64_t in;          /* size of the source */
    int64_t count, step; /* number of results, and the distance of the elements that they read */
    int64_t taps, *off;
    int64_t low, reach; /* the results read `reach` elements of the source, from `low` on */
    int64_t extent;     /* number of elements that are copied */
    /* The copy is in pieces, so that results are contiguous: one piece for each remainder of a
     * position modulo `step`, or, if that needs fewer elements, one piece for each tap. */
    bool by_tap;
    int64_t pieces, piece; /* number of pieces, and elements of a piece */
    /* distance of neighbouring results in the copy: 1, or `step` if samples are read in place or
     * channels are innermost */
    int64_t pace;
} conv_axis;

typedef struct conv_planes {
    conv_axis axis[CONV_SPACE];
    const conv_dtype *dtype;
    conv_side from;
    int64_t bytes, class_bytes; /* bytes of an element of `from`, and of `data` */
    int64_t channels, samples;  /* channels; number of samples that are in memory at a time */
    /* inside: channels are innermost, `width` of them for each group */
    bool copied, channels_inside;
    int64_t per_group, width;
    char *data;
    /* strides of data; `channel` is the stride of groups if channels_inside */
    int64_t sample, channel, at[CONV_SPACE];
} conv_planes;

/* Complete the planes and allocate memory for as many of `n` samples as should be in memory at a
 * time.  The caller has set p->axis up to `off`, and dtype, from, bytes, class_bytes, channels,
 * per_group, width and channels_inside.  `slack` is the number of elements after the last one that
 * may be read.  `may_lend`: the samples may be used without a copy. */
int conv_planes_init(dp_ctx *ctx, conv_planes *p, int64_t n, int64_t slack, bool may_lend);
/* Copy `samples` samples to the planes, from sample `first` on. */
int conv_planes_fill(dp_ctx *ctx, conv_planes *p, int64_t first, int64_t samples);

/* Planes of one group of one sample, for a part of the results that is computed while the planes
 * are in a core's cache.  Part i of `parts` begins at result first[]. */
typedef struct conv_cut {
    /* number of all results, and of those in one part */
    int64_t of[CONV_SPACE], each[CONV_SPACE], parts;
} conv_cut;

/* Complete the planes like conv_planes_init(), but allocate nothing, and set the axes' counts to
 * those of a part. */
int conv_planes_cut(dp_ctx *ctx, conv_planes *p, conv_cut *cut);
/* Complete the planes `p` like conv_planes_cut(), for the parts `cut` that were chosen before. */
int conv_planes_cut_as(dp_ctx *ctx, conv_planes *p, const conv_cut *cut);
/* Set first[] and the number of results of part `i` along each axis. */
void conv_cut_part(const conv_cut *cut, int64_t i, int64_t first[CONV_SPACE],
                   int64_t count[CONV_SPACE]);
/* Copy the elements that a part reads to `to`, which has conv_part_bytes().  `fresh`: `to` was not
 * used for such a part before. */
void conv_planes_fill_part(const conv_planes *p, int64_t sample, int64_t group,
                           const int64_t first[CONV_SPACE], char *to, bool fresh);
int64_t conv_part_bytes(const conv_planes *p);

/* Return the position that tap `t` reads for result 0; the distance between results is a->pace. */
static inline int64_t conv_place(const conv_axis *a, int64_t t)
{
    int64_t at = a->off[t] - a->low;

    if (a->by_tap)
        return t * a->piece;
    return a->pace == a->step ? at : at % a->step * a->piece + at / a->step;
}
/* Return the offset in data, in elements, of row `row` of the results of the samples in memory. */
int64_t conv_planes_row(const conv_planes *p, int64_t row);

/* Scratch memory for workers, `bytes` for each. */
typedef struct conv_rooms {
    char *data;
    size_t each;
    int64_t n;
} conv_rooms;
int conv_rooms_init(dp_ctx *ctx, conv_rooms *r, size_t bytes);
/* Call fn(user, i, room, fresh) for all i in [0, n).  `room` is a worker's scratch memory; `fresh`:
 * it was not used before. */
typedef void (*conv_item)(const void *user, int64_t i, char *room, bool fresh);
int conv_each(dp_ctx *ctx, const conv_rooms *rooms, int64_t n, conv_item fn, const void *user);

#endif
