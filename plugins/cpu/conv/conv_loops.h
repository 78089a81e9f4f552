/* conv_loops.h -- the loops of convolutions, of every class and dtype, once for each vector level
 * (levels/conv.c).  A class is what sums are kept in; gemm.h says which class a dtype has. */
#ifndef CPU_CONV_LOOPS_H
#define CPU_CONV_LOOPS_H

#include "core/isa.h"

enum { CONV_VECTORS = 3 }; /* of columns in a tile */

/* Where a tile's sums go: `rows` by `lanes` of c, at most those of a tile.  The bias (NULL: none)
 * of its row, or of its lane (tile_of_places), is added at the end.  If `fresh`, c is not read but
 * becomes the sums. */
typedef struct conv_tile {
    void *c;
    int64_t c_row;
    int rows, lanes;
    const void *bias;
    bool fresh;
} conv_tile;

typedef struct conv_class {
    int rows, lanes; /* of a tile */
    int bytes;       /* of a number */
    /* c [rows, lanes] += a b over k steps.  A step of a has `rows` numbers side by side; vector v
     * of step p of b lies at b[v] + p * b_step numbers, at any address. */
    void (*tile)(int64_t k, const void *a, const void *const b[CONV_VECTORS], int64_t b_step,
                 const conv_tile *t);
    /* The same with step p of b, all its vectors, at b + off[p]. */
    void (*tile_at)(int64_t k, const void *a, const void *b, const int64_t *off,
                    const conv_tile *t);
    /* c [rows, lanes] += sum over t < taps and i < k of a[t rows + row][first + i] b[t k + i],
     * where a has addresses, and b numbers side by side: lanes, in whole vectors.  NULL: of
     * integers there is none. */
    void (*tile_of_places)(int64_t taps, int64_t first, int64_t k, const void *const *a,
                           const void *b, const conv_tile *t);
    /* k rows of `lanes` numbers, one after the other.  Row i is made of n runs, of len[s] from
     * lane[s] on, of what lies at from[s] + off[i].  A run is read and written in whole vectors:
     * the next one overwrites what is too much, and behind the last row there is room for one
     * more. */
    void (*gather)(void *to, int64_t k, const int64_t *off, int n, const void *const *from,
                   const int *lane, const int *len);
    /* y [rows, n] = bias + sum over k of w[i w_step] from[off[i] + r from_row + j]; up to a vector
     * behind `from` is read. */
    void (*blend)(int64_t rows, int64_t n, void *y, int64_t y_row, int64_t k, const void *w,
                  int64_t w_step, const void *from, int64_t from_row, const int64_t *off,
                  const void *bias);
    /* y [results, n] = bias [n] + sum over k of w[i] [n] from[i] [results, n]; rows y_step and step
     * apart */
    void (*blend_channels)(int64_t n, int64_t results, void *y, int64_t y_step, int64_t k,
                           const void *const *w, const void *const *from, int64_t step,
                           const void *bias);
    /* sums [k, a vector], which add up to sum over r, j of y[r y_row + j] from[off[i] + r from_row
     * + j], grow; up to a vector behind y and `from` is read. */
    void (*dots)(void *sums, int64_t rows, int64_t n, int64_t k, const void *y, int64_t y_row,
                 const void *from, int64_t from_row, const int64_t *off);
    /* to [n] += from [n] */
    void (*add)(int64_t n, void *to, const void *from);
} conv_class;

typedef struct conv_dtype {
    /* to [rows, cols] of the class, its rows to_row apart, from elements that lie row and col
     * apart. */
    void (*widen)(void *to, int64_t to_row, const void *from, int64_t row, int64_t col,
                  int64_t rows, int64_t cols);
    /* The way back; from has rows from_row apart. */
    void (*narrow)(void *to, int64_t row, int64_t col, const void *from, int64_t from_row,
                   int64_t rows, int64_t cols);
} conv_dtype;

DP_ISA_TABLE(conv_class,
             conv_classes) /* by number of gemm_dtype.class: float, double, uint32, uint64 */
DP_ISA_TABLE(conv_dtype, conv_dtypes) /* by dtype's number; NULLs: none */

#endif
