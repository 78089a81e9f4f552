/* conv_loops.h -- the loops of convolutions for every class and dtype, compiled for each vector
 * level (levels/conv.c).  A class is the type of the sums; gemm.h says which class a dtype has. */
#ifndef CPU_CONV_LOOPS_H
#define CPU_CONV_LOOPS_H

#include "core/isa.h"

enum { CONV_VECTORS = 3 }; /* vectors of columns in a tile */

/* The destination of a tile's sums: `rows` by `lanes` numbers of c, at most those of a tile.  At
 * the end, the bias of the row, or of the lane in tile_of_places, is added (NULL: none).  `fresh`:
 * c is written without being read. */
typedef struct conv_tile {
    void *c;
    int64_t c_row;
    int rows, lanes;
    const void *bias;
    bool fresh;
} conv_tile;

typedef struct conv_class {
    int rows, lanes; /* sizes of a tile */
    int bytes;       /* bytes of a number */
    /* c [rows, lanes] += a b over k steps.  A step of `a` has `rows` numbers side by side.  Vector
     * v of step p of b is at b[v] + p * b_step numbers, at any address. */
    void (*tile)(int64_t k, const void *a, const void *const b[CONV_VECTORS], int64_t b_step,
                 const conv_tile *t);
    /* like `tile`, but all vectors of step p of b are at b + off[p] */
    void (*tile_at)(int64_t k, const void *a, const void *b, const int64_t *off,
                    const conv_tile *t);
    /* c [rows, lanes] += sum over t < taps and i < k of a[t rows + row][first + i] b[t k + i]; `a`
     * has addresses; b has lanes side by side, in whole vectors.  NULL: the class is an integer. */
    void (*tile_of_places)(int64_t taps, int64_t first, int64_t k, const void *const *a,
                           const void *b, const conv_tile *t);
    /* Gather k rows of `lanes` numbers.  Row i has n runs: run s has len[s] numbers from from[s] +
     * off[i], and begins at lane[s].  A run is copied in whole vectors: the next run overwrites the
     * excess, and after the last row there must be memory for one more. */
    void (*gather)(void *to, int64_t k, const int64_t *off, int n, const void *const *from,
                   const int *lane, const int *len);
    /* y [rows, n] = bias + sum over k of w[i w_step] from[off[i] + r from_row + j]; reads up to a
     * vector after `from`. */
    void (*blend)(int64_t rows, int64_t n, void *y, int64_t y_row, int64_t k, const void *w,
                  int64_t w_step, const void *from, int64_t from_row, const int64_t *off,
                  const void *bias);
    /* y [results, n] = bias [n] + sum over k of w[i] [n] from[i] [results, n]; y_step and `step`
     * are the distances of rows */
    void (*blend_channels)(int64_t n, int64_t results, void *y, int64_t y_step, int64_t k,
                           const void *const *w, const void *const *from, int64_t step,
                           const void *bias);
    /* Add to sums [k, a vector], whose elements add up to the sum over r, j of y[r y_row + j]
     * from[off[i] + r from_row + j]; reads up to a vector after y and `from`. */
    void (*dots)(void *sums, int64_t rows, int64_t n, int64_t k, const void *y, int64_t y_row,
                 const void *from, int64_t from_row, const int64_t *off);
    /* to [n] += from [n] */
    void (*add)(int64_t n, void *to, const void *from);
} conv_class;

typedef struct conv_dtype {
    /* Convert elements to to [rows, cols] of the class.  `row` and `col` are the strides of `from`,
     * to_row is that of the rows of `to`. */
    void (*widen)(void *to, int64_t to_row, const void *from, int64_t row, int64_t col,
                  int64_t rows, int64_t cols);
    /* Convert numbers of the class back to elements; `from` has rows from_row apart. */
    void (*narrow)(void *to, int64_t row, int64_t col, const void *from, int64_t from_row,
                   int64_t rows, int64_t cols);
} conv_dtype;

DP_ISA_TABLE(conv_class,
             conv_classes) /* indexed by gemm_dtype.class: float, double, uint32, uint64 */
/* indexed by dtype; members are NULL for unsupported dtypes */
DP_ISA_TABLE(conv_dtype, conv_dtypes)

#endif
