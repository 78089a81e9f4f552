/* loops/reduce.h -- constants and helpers for the loops of reductions.  The loops are in the
 * templates fold.h, finish.h, var.h and extremum.h, each included once per reduction and type.
 *
 * The order of additions, and so the result's bits, depends only on the shape and the strides.  A
 * step (rd_kernel.step) reduces n0 elements to one output: element i is added to lane i % RD_LANES;
 * then the upper half of the lanes is merged into the lower half until one lane is left.  The
 * results of steps are merged in order; the results of the chunks that threads reduce are merged in
 * pairs (by dp_iter_reduce()). */
#ifndef CPU_LOOPS_REDUCE_H
#define CPU_LOOPS_REDUCE_H

#include "core/isa.h"
#include "reduce/reduce.h"
#include "pointwise/loops/math.h"
#include "pointwise/loops/types.h"
#include <string.h>
#include "lib/math.h"

/* gcc 12 unrolls loops of fewer than 64 iterations too far, and then warns about its own code. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"

enum {
    RD_LANES = 64,    /* accumulators of one output */
    RD_WIDE = 256,    /* bytes of outputs reduced at a time: all their lanes fit in the L1 cache */
    RD_PACKED = 1024, /* elements of one output that are converted at a time */
    RD_ROWS = 8,      /* rows that are converted at a time when outputs are neighbours */
    /* for at least RD_FEW outputs of at most RD_FEW elements each, the inner loop is over the
     * outputs */
    RD_FEW = 16,
    RD_STORED = 256 /* results that are converted at a time */
};

#define RD_ALIGNED __attribute__((aligned(64)))
#define RD_INLINE  static inline __attribute__((always_inline))

/* Choose the inner loop of a step: true means over the neighbouring outputs, false means over the
 * elements of one output.  `s0` and `s1` are the strides in bytes between the n0 elements of an
 * output and between the n outputs; `bytes` is the size of an element. */
RD_INLINE bool rd_across(int64_t s0, int64_t s1, int64_t n0, int64_t n, int64_t bytes)
{
    return n > 1 && ((s1 == bytes && s0 != bytes) || (n0 <= RD_FEW && n >= RD_FEW));
}

RD_INLINE int64_t rd_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Return x^p for x >= 0.  The function for float gives the same bits in vector and scalar code;
 * that for double calls pow(), which is never vectorized, so inlining it would gain nothing. */
RD_INLINE float pw_power_f32(float x, double p)
{
    return (float)dpm_exp_f64(p * dpm_log_f64(x));
}
__attribute__((noinline, unused)) static double pw_power_f64(double x, double p)
{
    return pow(x, p);
}
#define pw_power_c64  pw_power_f32
#define pw_power_c128 pw_power_f64
#define pw_creal_c64  crealf
#define pw_cimag_c64  cimagf
#define pw_creal_c128 creal
#define pw_cimag_c128 cimag

/* Column in a row of kernels (RD_PLACE_f32) and dtype (RD_DTYPE_f32), by the suffix of a type. */
enum {
#define RD_TYPE_(t, place, dtype, memory, value) RD_PLACE_##t = place, RD_DTYPE_##t = dtype,
    PW_TYPE_MAP(RD_TYPE_)
#undef RD_TYPE_
};

/* A conversion of rows to the loop's dtype; a row has one element of each of `n` outputs. */
typedef struct rd_rows {
    const rd_state *s;
    char *to;           /* converted rows */
    int64_t row, bytes; /* bytes of a converted row and of a converted element */
    int64_t s0, s1, n;  /* strides in bytes: of rows, of elements in a row; elements of a row */
} rd_rows;

enum { RD_WIDENED = 32 }; /* bfloat16 elements converted at a time */

/* Convert RD_WIDENED bfloat16 elements. */
RD_INLINE void rd_widen(float *restrict to, const uint16_t *restrict x)
{
    for (int j = 0; j < RD_WIDENED; j++)
        to[j] = dp_bfloat16_to_float(x[j]);
}

/* Convert `rows` rows from `x` on.  bfloat16 is converted inline, because a call of `load` for each
 * short row would take as long as the conversion. */
__attribute__((noinline, unused)) static void rd_load_rows(const rd_rows *r, const char *x,
                                                           int64_t rows)
{
    const int64_t row = r->row, s0 = r->s0, n = r->n;
    char *to = r->to;

    if (r->s->bfloat16 && r->s1 == (int64_t)sizeof(uint16_t) && n % RD_WIDENED == 0)
        for (int64_t i = 0; i < rows; i++, x += s0, to += row)
            for (int64_t j = 0; j < n; j += RD_WIDENED) {
                __builtin_prefetch((const uint16_t *)(x + RD_ROWS * s0) + j);
                rd_widen((float *)to + j, (const uint16_t *)x + j);
            }
    else
        for (int64_t i = 0; i < rows; i++, x += s0, to += row)
            r->s->load(to, r->bytes, x, r->s1, n);
}

/* Convert and write the `n` results `from` to output `k`, from element `at` on. */
#define RD_STORE(k, from, at, n)                                                                   \
    s->store[k](data[k] + (at)*strides[k], strides[k], (const char *)(from), sizeof(*(from)), n)

#endif
