/* fft.h -- Fourier transforms of lines of numbers, of any length: plans, and the loops that follow
 * them.
 *
 * A tile holds one element of each of some neighbouring lines beside each other (its lanes), so
 * every loop is over lanes; a line by itself is cut into a matrix of n1 x n2 elements, whose
 * columns are lanes, too: n1-transforms of the columns, factors, a transpose, n2-transforms of the
 * rows (Bailey's four steps).  Real and imaginary parts lie apart.  fft_plan.c makes plans,
 * levels/fft.c follows them, fft.c has the operators. */
#ifndef CPU_FFT_H
#define CPU_FFT_H

#include "core/isa.h"

enum {
    FFT_PRIME = 61,  /* the largest prime factor that has passes; others: Bluestein's convolution */
    FFT_PASSES = 48, /* of lengths below 2^63, by radices 8, 4, 2, 3, ... */
    FFT_LONG = 4096, /* lines of so many rows are always transformed one by one */
    FFT_ALIGN = 64,
};

/* Real and imaginary parts, both float or both double. */
typedef struct fft_pair {
    void *re, *im;
} fft_pair;

/* One pass of Stockham's: columns [radix * m, lanes] become [m, radix * lanes]. */
typedef struct fft_pass {
    int64_t radix, m;
    fft_pair factors; /* [m, radix - 1] */
    fft_pair roots;   /* [radix] of other radices than 2, 3, 4, 5, 7, 8 */
} fft_pass;

typedef struct fft_plan fft_plan;
struct fft_plan {
    int64_t n;
    int64_t rows; /* of the two tiles that a transform needs: n or more */
    int n_passes; /* 0: n is 1, or has a large prime factor */
    fft_pass passes[FFT_PASSES];
    fft_plan *first, *second; /* NULL, or for one line: n = first->n * second->n */
    fft_pair turns;           /* [first->n, second->n] */
    fft_plan *inner;          /* of Bluestein's convolution; NULL: none */
    fft_pair chirp, kernel;   /* [n], [inner->n]; the kernel divided by inner->n */
    fft_pair real;            /* [n / 2 + 1] or NULL: of a real line of 2 n elements */
};

/* A plan for float or double lines of n > 0 elements; `real`: for real ones of 2 n.  The caller's
 * until it is put back.  The last ones are kept.  Errors: DP_ERESOURCE, and those of
 * dp_parallel_for(). */
int fft_plan_get(dp_ctx *ctx, int64_t n, dp_dtype dtype, bool real, fft_plan **out);
void fft_plan_put(fft_plan *plan);
/* Frees those that are kept: at an unload. */
void fft_plans_drop(void);

/* Where lanes lie in a tensor, in elements of float or double. */
typedef struct fft_side {
    void *data;
    const int64_t *offsets; /* [lanes] of their first elements */
    int64_t apart;          /* between neighbouring lanes; 0: no one distance */
    int64_t step;           /* between neighbours of a lane */
    int64_t imag;           /* from a real part to its imaginary one */
    bool real;              /* there are no imaginary ones */
} fft_side;

/* Element j of lane b is at [j * row + b * lane] of a tile. */
typedef struct fft_tile {
    fft_pair parts;
    int64_t row, lane;
    int64_t lanes;
} fft_tile;

/* For float and for double. */
typedef struct fft_row {
    /* Transform x [n, lanes]; other: as large.  Returns which of the two has the result. */
    fft_pair (*run)(const fft_plan *p, fft_pair x, fft_pair other, int64_t lanes);
    /* `rows` elements of every lane */
    void (*gather)(const fft_tile *t, int64_t rows, const fft_side *from);
    void (*scatter)(const fft_tile *t, int64_t rows, const fft_side *to, double scale);
    /* n elements, the transform of pairs of real ones, become the n + 1 of the real lines' of 2 n;
     * and back, twice as large. */
    void (*real_after)(const fft_plan *p, const fft_tile *t);
    void (*real_before)(const fft_plan *p, const fft_tile *t);
    /* Elements [n / 2 + 1, n) by the symmetry of a real line's transform. */
    void (*mirror)(const fft_tile *t, int64_t n);
} fft_row;
DP_ISA_TABLE(fft_row, fft_loops)

#endif
