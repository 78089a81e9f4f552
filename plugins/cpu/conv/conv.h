/* conv.h -- convolutions over 1 to 3 spatial dimensions, and their gradients by input and weight.
 *
 *     y[n, g O + o, q] = bias[g O + o] + sum over c, t of x[n, g C + c, q stride + t dilation -
 *     padding] w[g O + o, c, t]
 *
 * n is a sample, g a group, o and c are channels, q is a position of the result and t a tap (an
 * index in the kernel).  O and C are out_channels and in_channels of a group; x is 0 outside its
 * sizes.  A transposed convolution is the gradient by x, that is, with respect to x.  The class of
 * a dtype is the type in which its products are summed (gemm.h).  Planes are copies of samples,
 * with padding and converted to the class; a convolution reads them (below).  The results have the
 * same bits for any number of threads. */
#ifndef CPU_CONV_H
#define CPU_CONV_H

#include "conv_loops.h"
#include "matmul/gemm.h"

enum { CONV_SPACE = 3 }; /* number of spatial dimensions; missing ones come first and have size 1 */

/* sizes and arguments of a convolution */
typedef struct conv_shape {
    int64_t n, groups;                 /* number of samples; number of groups */
    int64_t in_channels, out_channels; /* channels of one group */
    int64_t in[CONV_SPACE], out[CONV_SPACE], kernel[CONV_SPACE];
    int64_t stride[CONV_SPACE], padding[CONV_SPACE], dilation[CONV_SPACE];
} conv_shape;

/* The memory of x, y or w.  Strides count elements: `outer` is the stride of samples or, for w, of
 * output channels; `channel` is that of channels or, for w, of input channels; at[] has those of
 * the spatial dimensions. */
typedef struct conv_side {
    char *data;
    int64_t outer, channel, at[CONV_SPACE];
} conv_side;

/* Compute the convolution `y` of `x` and `w`.  All three have `dtype`, which must not be complex.
 * Only spatial dimensions may have size 0.  `bias` is NULL or contiguous.  DP_ERESOURCE: over a
 * memory limit. */
int conv_forward(dp_ctx *ctx, dp_dtype dtype, const conv_shape *s, const conv_side *x,
                 const conv_side *w, const void *bias, const conv_side *y);
/* Compute `x` from `y`: the gradient by the input, or a transposed convolution.  `bias` has an
 * element per channel of x, or is NULL.  `apart`: sum in the order of PyTorch's transposed
 * convolutions: for each tap over the channels, then over the taps; then add the bias. */
int conv_input(dp_ctx *ctx, dp_dtype dtype, const conv_shape *s, const conv_side *y,
               const conv_side *w, const void *bias, bool apart, const conv_side *x);
/* Compute `w`, the gradient by the weight, from the input `x` and the output's gradient `y`. */
int conv_weight(dp_ctx *ctx, dp_dtype dtype, const conv_shape *s, const conv_side *x,
                const conv_side *y, const conv_side *w);

/* -- Planes (conv_padded.c), which walks (conv_walk.h) and gradients by the weight read: a copy of
 * some samples with padding, converted to the class; or the samples themselves if they need neither
 * padding nor conversion -- */

/* One spatial dimension of the planes.  For result q, tap t reads element q * step + off[t] of the
 * source, the tensor from which the planes are copied. */
typedef struct conv_axis {
    int64_t in;          /* size of the source */
    int64_t count, step; /* number of results; distance of the elements that they read */
    int64_t taps, *off;  /* number of taps; [taps] offsets in the source */
    int64_t low, reach;  /* the results read `reach` elements of the source, from `low` on */
    int64_t extent;      /* number of elements of the copy, with padding */
    /* The copy is cut into pieces, in which the elements that one tap reads for neighbouring
     * results are `pace` apart.  There is a piece for each remainder of a position modulo `step`,
     * or a single piece if `pace` is `step`.  If a piece for each tap needs fewer elements, by_tap
     * is set, and the copy has these pieces instead. */
    bool by_tap;
    int64_t pieces, piece; /* number of pieces; elements of a piece */
    /* distance of the elements that a tap reads for neighbouring results: 1, or `step` if samples
     * are read in place or channels are innermost */
    int64_t pace;
} conv_axis;

typedef struct conv_planes {
    conv_axis axis[CONV_SPACE];
    const conv_dtype *dtype;
    conv_side from;             /* the source */
    int64_t bytes, class_bytes; /* bytes of an element of `from`, and of `data` */
    int64_t channels, samples;  /* channels; number of samples that are in memory at a time */
    bool copied;                /* false: `data` is the memory of the source */
    bool channels_inside;       /* channels are the innermost dimension of `data` */
    /* channels of a group; numbers stored for a group at each position, if channels_inside */
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
/* Copy `samples` samples to the planes, from sample `first` on; if p->copied is false, only set
 * p->data to their address. */
int conv_planes_fill(dp_ctx *ctx, conv_planes *p, int64_t first, int64_t samples);

/* A cut of the results of one group of one sample into parts.  Planes are made for one part at a
 * time, so that they are still in the core's cache when the part is computed. */
typedef struct conv_cut {
    /* number of all results, and of the results in one part, along each axis; number of parts, over
     * all axes */
    int64_t of[CONV_SPACE], each[CONV_SPACE], parts;
} conv_cut;

/* Complete the planes like conv_planes_init(), but allocate nothing.  Choose the parts `cut`, and
 * set the counts of the axes to the numbers of results in one part. */
int conv_planes_cut(dp_ctx *ctx, conv_planes *p, conv_cut *cut);
/* Complete the planes like conv_planes_cut(), but for the given parts `cut`. */
int conv_planes_cut_as(dp_ctx *ctx, conv_planes *p, const conv_cut *cut);
/* Set first[] to the first result of part `i` along each axis, and count[] to the number of its
 * results. */
void conv_cut_part(const conv_cut *cut, int64_t i, int64_t first[CONV_SPACE],
                   int64_t count[CONV_SPACE]);
/* Copy to `to` [conv_part_bytes(p)] the elements of group `group` of sample `sample` that are read
 * for the part that begins at result first[].  `fresh`: `to` was not used for a part of these
 * planes before, so it is first filled with zeros. */
void conv_planes_fill_part(const conv_planes *p, int64_t sample, int64_t group,
                           const int64_t first[CONV_SPACE], char *to, bool fresh);
/* Return the number of bytes of the planes of one part. */
int64_t conv_part_bytes(const conv_planes *p);

/* Return the position in the planes that tap `t` reads for result 0; the positions for the next
 * results are a->pace apart. */
static inline int64_t conv_place(const conv_axis *a, int64_t t)
{
    int64_t at = a->off[t] - a->low;

    if (a->by_tap)
        return t * a->piece;
    return a->pace == a->step ? at : at % a->step * a->piece + at / a->step;
}
/* Return the offset in p->data, in elements, of the position that tap 0 reads for the first result
 * of row `row`; rows are counted over all samples in memory. */
int64_t conv_planes_row(const conv_planes *p, int64_t row);

/* scratch memory of `n` workers, `each` bytes for each of them */
typedef struct conv_rooms {
    char *data;
    size_t each;
    int64_t n;
} conv_rooms;
/* Allocate `bytes` of scratch memory for each worker. */
int conv_rooms_init(dp_ctx *ctx, conv_rooms *r, size_t bytes);
/* Call fn(user, i, room, fresh) for all i in [0, n), on several workers.  `room` is the scratch
 * memory of the worker; `fresh`: this is the worker's first call. */
typedef void (*conv_item)(const void *user, int64_t i, char *room, bool fresh);
int conv_each(dp_ctx *ctx, const conv_rooms *rooms, int64_t n, conv_item fn, const void *user);

#endif
