/* fft.h -- Fourier transforms of lines of numbers of any length: plans, and the loops that execute
 * them.
 *
 * A line is all elements along the transformed dimension.  A tile has the elements of some
 * neighbouring lines, its lanes, side by side, so that every loop runs over lanes.  A single long
 * line is cut into a matrix of n1 x n2 elements, whose columns are the lanes: the columns are
 * transformed (length n1), multiplied by twiddle factors and transposed, and then the rows are
 * transformed (length n2); this is Bailey's four-step method.  Real and imaginary parts are in
 * separate arrays.  fft_plan.c makes plans, levels/fft.c executes them, fft.c has the operators. */
#ifndef CPU_FFT_H
#define CPU_FFT_H

#include "core/isa.h"

enum {
    /* largest prime factor with passes of its own; lengths with a larger prime factor use
     * Bluestein's convolution */
    FFT_PRIME = 61,
    FFT_PASSES = 48, /* upper bound of the passes for a length below 2^63 (radices 8, 4, 2 ...) */
    FFT_LONG = 4096, /* least fft_plan.rows of lines that are always transformed one by one */
    FFT_ALIGN = 64,
};

/* real and imaginary parts, both float or both double */
typedef struct fft_pair {
    void *re, *im;
} fft_pair;

/* one pass of Stockham's algorithm, from an array [radix * m, lanes] to [m, radix * lanes] */
typedef struct fft_pass {
    int64_t radix, m;
    fft_pair factors; /* [m, radix - 1] twiddle factors */
    fft_pair roots;   /* [radix] roots of unity, for radices other than 2, 3, 4, 5, 7, 8 */
} fft_pass;

typedef struct fft_plan fft_plan;
struct fft_plan {
    int64_t n;
    int64_t rows; /* rows of the two tiles that a transform needs (fft_row.run), at least n */
    int n_passes; /* 0: n is 1, or only `first` and `second`, or `inner`, are used */
    fft_pass passes[FFT_PASSES];
    /* plans of the four-step method, n = first->n * second->n; NULL: not used */
    fft_plan *first, *second;
    fft_pair turns;         /* [first->n, second->n] twiddle factors */
    fft_plan *inner;        /* plan of Bluestein's convolution; NULL: not used */
    fft_pair chirp, kernel; /* [n], [inner->n]; the kernel is divided by inner->n */
    fft_pair real;          /* [n / 2 + 1] factors for real lines of 2 n elements, or NULL */
};

/* Set *out to a plan for lines of `n` > 0 complex numbers or, if `real`, of 2 n real numbers, whose
 * parts have `dtype`, float32 or float64.  The caller returns the plan with fft_plan_put().
 * Recently used plans stay in a cache.  Errors: DP_ERESOURCE, and those of dp_parallel_for(). */
int fft_plan_get(dp_ctx *ctx, int64_t n, dp_dtype dtype, bool real, fft_plan **out);
/* End a use of `plan`, which may be NULL.  If the cache does not have the plan, its last user frees
 * it here. */
void fft_plan_put(fft_plan *plan);
/* Free all cached plans; called when the plugin is unloaded. */
void fft_plans_drop(void);

/* The lanes in a tensor.  Offsets and distances count floats or doubles, not complex numbers. */
typedef struct fft_side {
    void *data;
    const int64_t *offsets; /* [lanes] offset of the first element of each lane */
    int64_t apart;          /* distance of neighbouring lanes; 0: the distance varies */
    int64_t step;           /* distance of neighbouring elements of a lane */
    int64_t imag;           /* distance from a real part to its imaginary part */
    bool real;              /* there are no imaginary parts */
} fft_side;

/* a tile; element j of lane b has index j * row + b * lane in `parts` */
typedef struct fft_tile {
    fft_pair parts;
    int64_t row, lane;
    int64_t lanes;
} fft_tile;

/* loops for float or for double */
typedef struct fft_row {
    /* Transform the first p->n rows of x [p->rows, lanes]; the other rows are scratch, and so is
     * `other`, which has the same size.  Return x or `other`, whichever has the result in its first
     * p->n rows. */
    fft_pair (*run)(const fft_plan *p, fft_pair x, fft_pair other, int64_t lanes);
    /* Copy `rows` elements of every lane to the tile. */
    void (*gather)(const fft_tile *t, int64_t rows, const fft_side *from);
    /* Copy `rows` elements of every lane, multiplied by `scale`, from the tile. */
    void (*scatter)(const fft_tile *t, int64_t rows, const fft_side *to, double scale);
    /* A real line of 2 n numbers is transformed as a complex line of n pairs.  real_after()
     * converts the n elements of that transform to the first n + 1 elements of the transform of the
     * real line; real_before() converts back, and multiplies by 2. */
    void (*real_after)(const fft_plan *p, const fft_tile *t);
    void (*real_before)(const fft_plan *p, const fft_tile *t);
    /* Compute elements [n / 2 + 1, n) of a real line's transform, which are the conjugates of its
     * first elements. */
    void (*mirror)(const fft_tile *t, int64_t n);
} fft_row;
DP_ISA_TABLE(fft_row, fft_loops)

#endif
