/* conv_loops.h -- the loops of convolutions for every class and dtype, compiled for each vector
 * level (levels/conv.c).  The class of a dtype is the type in which its products are summed
 * (gemm.h).  conv.h explains taps. */
#ifndef CPU_CONV_LOOPS_H
#define CPU_CONV_LOOPS_H

#include "core/isa.h"

enum { CONV_VECTORS = 3 }; /* number of vectors in a row of a tile */

/* The destination of the sums of a tile (a small matrix that fits in registers): `rows` rows of
 * `lanes` numbers at `c`, at most conv_class.rows and conv_class.lanes; c_row is the stride of
 * rows.  At the end, bias[row] is added, or bias[lane] by tile_of_places() (NULL: none).  `fresh`:
 * c is written without being read. */
typedef struct conv_tile {
    void *c;
    int64_t c_row;
    int rows, lanes;
    const void *bias;
    bool fresh;
} conv_tile;

/* The loops of one class.  A number is a value in the type of the class. */
typedef struct conv_class {
    int rows, lanes; /* sizes of a tile */
    int bytes;       /* bytes of a number */
    /* Add to t->c the product of matrices a [rows, k] and b [k, lanes].  Column p of `a` is `rows`
     * contiguous numbers.  Vector v of row p of b is b_step * p numbers after b[v], and need not be
     * aligned. */
    void (*tile)(int64_t k, const void *a, const void *const b[CONV_VECTORS], int64_t b_step,
                 const conv_tile *t);
    /* like `tile`, but row p of b is contiguous, off[p] numbers after b */
    void (*tile_at)(int64_t k, const void *a, const void *b, const int64_t *off,
                    const conv_tile *t);
    /* Add to number [row, lane] of t->c the sum over t < taps and i < k of
     * a[t rows + row][first + i] b[t k + i, lane].  `a` is an array of addresses; a row of b is
     * contiguous, in whole vectors.  This pointer is NULL if the class is an integer type. */
    void (*tile_of_places)(int64_t taps, int64_t first, int64_t k, const void *const *a,
                           const void *b, const conv_tile *t);
    /* Copy numbers to `k` rows of `lanes` numbers.  Row i is composed of `n` runs: run s is len[s]
     * numbers, copied from from[s] + off[i] to lane[s] and the lanes after it.  A run is copied in
     * whole vectors, and the next run overwrites the surplus, so there must be memory for one more
     * vector after the last row. */
    void (*gather)(void *to, int64_t k, const int64_t *off, int n, const void *const *from,
                   const int *lane, const int *len);
    /* Set y [rows, n] to *bias (NULL: 0) + the sum over i < k of w[i w_step] from[off[i] + r
     * from_row + j], where r is the row and j the column; y_row is the stride of rows of y.  Up to
     * a vector after the last element of `from` is read. */
    void (*blend)(int64_t rows, int64_t n, void *y, int64_t y_row, int64_t k, const void *w,
                  int64_t w_step, const void *from, int64_t from_row, const int64_t *off,
                  const void *bias);
    /* Set y [results, n] to bias [n] (NULL: 0) + the sum over i < k of w[i] [n] times from[i]
     * [results, n]; y_step and `step` are the strides of rows of y and of from[i]. */
    void (*blend_channels)(int64_t n, int64_t results, void *y, int64_t y_step, int64_t k,
                           const void *const *w, const void *const *from, int64_t step,
                           const void *bias);
    /* Add the sum over r < rows and j < n of y[r y_row + j] from[off[i] + r from_row + j] to vector
     * i < k of `sums`, as partial sums in its lanes.  Up to a vector after the last elements of `y`
     * and `from` is read. */
    void (*dots)(void *sums, int64_t rows, int64_t n, int64_t k, const void *y, int64_t y_row,
                 const void *from, int64_t from_row, const int64_t *off);
    /* Add from [n] to `to` [n]. */
    void (*add)(int64_t n, void *to, const void *from);
} conv_class;

/* conversions of one dtype */
typedef struct conv_dtype {
    /* Convert elements of `from` to numbers of the class, `to` [rows, cols].  `row` and `col` are
     * the strides of `from`, to_row is the stride of rows of `to`. */
    void (*widen)(void *to, int64_t to_row, const void *from, int64_t row, int64_t col,
                  int64_t rows, int64_t cols);
    /* Convert numbers of the class, from [rows, cols], back to elements of `to`; the strides are as
     * for `widen`. */
    void (*narrow)(void *to, int64_t row, int64_t col, const void *from, int64_t from_row,
                   int64_t rows, int64_t cols);
} conv_dtype;

/* indexed by gemm_dtype.class: float, double, uint32, uint64 */
DP_ISA_TABLE(conv_class, conv_classes)
/* indexed by dtype; members are NULL for unsupported dtypes */
DP_ISA_TABLE(conv_dtype, conv_dtypes)

#endif
