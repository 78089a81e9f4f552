/* loops/reduce.h -- what the loops of reductions have in common; they are in fold.h, finish.h,
 * var.h and place.h, each included once for every reduction and type.
 *
 * Which bits come out is fixed by the shape and strides alone: element i of a row goes to lane
 * i % RD_LANES, lanes are merged by halves, rows in order (and chunks in pairs, by
 * dp_iter_reduce()). */
#ifndef CPU_LOOPS_REDUCE_H
#define CPU_LOOPS_REDUCE_H

#include "core/isa.h"
#include "reduce/reduce.h"
#include "pointwise/loops/math.h"
#include "pointwise/loops/types.h"
#include <string.h>
#include "lib/math.h"

/* gcc 12 unrolls a loop of fewer than 64 turns beyond them, and warns of what it made there. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"

enum {
    RD_LANES = 64,
    RD_WIDE =
        256, /* bytes of neighbouring outputs that are reduced at a time: lanes fit the L1 cache */
    RD_PACKED = 1024, /* elements that are brought together or converted at a time */
    RD_ROWS = 8,      /* rows of neighbouring outputs that are converted at a time */
    RD_FEW = 16,      /* rows of no more elements are reduced across outputs */
    RD_STORED = 256   /* results that are converted at a time */
};

#define RD_ALIGNED __attribute__((aligned(64)))
#define RD_INLINE  static inline __attribute__((always_inline))

/* Is a step's work done across outputs, which lie side by side, rather than along each one's
 * elements? */
RD_INLINE bool rd_across(int64_t s0, int64_t s1, int64_t n0, int64_t n, int64_t bytes)
{
    return n > 1 && ((s1 == bytes && s0 != bytes) || (n0 <= RD_FEW && n >= RD_FEW));
}

RD_INLINE int64_t rd_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* |x| to the p, which is the same in a vector as alone: of doubles one at a time. */
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

/* Dtype, and place in a row of kernels, by the end of a type's name. */
enum {
#define RD_TYPE_(t, place, dtype, memory, value) RD_PLACE_##t = place, RD_DTYPE_##t = dtype,
    PW_TYPE_MAP(RD_TYPE_)
#undef RD_TYPE_
};

/* Rows of neighbouring outputs as the loop has them: n elements s1 bytes apart, rows s0 bytes
 * apart, to `bytes` each in rows of `row`. */
typedef struct rd_rows {
    const rd_state *s;
    char *to;
    int64_t row, bytes, s0, s1, n;
} rd_rows;

enum { RD_WIDENED = 32 };

/* RD_WIDENED bfloat16. */
RD_INLINE void rd_widen(float *restrict to, const uint16_t *restrict x)
{
    for (int j = 0; j < RD_WIDENED; j++)
        to[j] = dp_bfloat16_to_float(x[j]);
}

/* The next rows from x on.  A call for each short row would take as long as its work: bfloat16
 * needs none. */
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

/* n results to output k, from `at` on. */
#define RD_STORE(k, from, at, n)                                                                   \
    s->store[k](data[k] + (at)*strides[k], strides[k], (const char *)(from), sizeof(*(from)), n)

#endif
