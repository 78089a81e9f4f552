/* math.h -- elementary functions as inline C that compilers vectorize, such as dpm_exp_f32(float)
 * and dpm_exp_f64(double); math_of_type.h and the headers that it includes have all of them.
 *
 * The same code serves loops and single numbers.  It has no branches, no calls and no tables, with
 * these exceptions: erf for double reads a table.  sin, cos, tan, fmod and the functions that call
 * them (rem_floor, div_floor) branch to slower code for arguments that their _near variants do not
 * accept; loops use the _near variants.  On processors without fused multiply-add (x86-64 below
 * v3), the functions for double call dpm_fma_f64(), so loops of them are not vectorized there.
 *
 * The results have the same bits at every vector width, in the last elements of a loop, on every
 * machine and with every compiler, because each step is one IEEE operation.  Compilers must not
 * fuse multiplications and additions; where a fused one is wanted, the code says dpm_fma_f32() or
 * dpm_fma_f64().  Compile it with -ffp-contract=off, and with -fno-trapping-math and
 * -fno-math-errno, without which it is not vectorized; never use -ffast-math.
 *
 * Errors are at most 1 ulp for exp and log, and at most 4 ulp for the other functions
 * (tests/unit/lib/test_math.c measures them).  Infinities, NaN, -0 and subnormal numbers are
 * treated as in C99's annex F.  Any thread. */
#ifndef PLUGINS_LIB_MATH_H
#define PLUGINS_LIB_MATH_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "erf_table.h"

#ifdef __clang__
#define DPM_UNROLL _Pragma("clang loop unroll(full)")
#else
#define DPM_UNROLL _Pragma("GCC unroll 64")
#endif
#define DPM_INLINE __attribute__((unused, always_inline)) static inline

DPM_INLINE uint32_t dpm_bits_f32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof(u));
    return u;
}

DPM_INLINE float dpm_real_f32(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof(x));
    return x;
}

DPM_INLINE uint64_t dpm_bits_f64(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof(u));
    return u;
}

DPM_INLINE double dpm_real_f64(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof(x));
    return x;
}

/* Return s + e rounded to odd: if s + e is not a double, the result is that of the two neighbouring
 * doubles whose last bit is 1.  `s` is a sum rounded to nearest, and `e` its rounding error.
 * Rounding the result again to fewer digits then gives what rounding the exact sum once would
 * give. */
DPM_INLINE double dpm_to_odd(double s, double e)
{
    uint64_t u = dpm_bits_f64(s), even = ~u & 1, down = (u ^ dpm_bits_f64(e)) >> 63;
    uint64_t step = (even ^ -down) + down; /* `even`, or -even if the signs of `s` and `e` differ */

    return dpm_real_f64(u + (e != 0 ? step : 0));
}

/* Return a * b + c, rounded once.
 *
 * For processors without fused multiply-add (x86-64 below v3), dpm_fma_f32() and dpm_fma_f64() are
 * composed of other operations.  The first one is inline, so that loops are vectorized; the second
 * one replaces fma() of the C library.  Source: Boldo and Melquiond, "Emulation of FMA and
 * correctly rounded sums", 2008. */
#if defined(__FMA__) || defined(__aarch64__)
DPM_INLINE float dpm_fma_f32(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

DPM_INLINE double dpm_fma_f64(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}

DPM_INLINE uint64_t dpm_lesser_f64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

DPM_INLINE double dpm_pick_odd_f64(uint64_t u, double a, double b)
{
    return u & 1 ? a : b;
}
#else
DPM_INLINE float dpm_fma_f32(float a, float b, float c)
{
    double p = (double)a * b, s = p + c, t = s - p;
    float sum = (float)dpm_to_odd(s, (p - (s - t)) + (c - t));

    return sum - sum == 0 ? sum : (float)s;
}

/* Return `x` rounded to the upper half of its digits (26 bits); the remainder then has at most 26
 * bits, too. */
DPM_INLINE double dpm_upper(double x)
{
    return dpm_real_f64((dpm_bits_f64(x) + (UINT64_C(1) << 26)) & ~((UINT64_C(1) << 27) - 1));
}

/* The result is correctly rounded unless a * b overflows, or the lower half of a * b is subnormal
 * and not small compared with c.  This function is not inlined: inlining made the kernels four
 * times as large, and four times as slow to compile. */
__attribute__((unused, noinline, const)) static double dpm_fma_f64(double a, double b, double c)
{
    double ah = dpm_upper(a), al = a - ah, bh = dpm_upper(b), bl = b - bh;
    double p = a * b, pe = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
    double t = c + pe, t1 = t - c, te = (c - (t - t1)) + (pe - t1);
    double s = p + t, s1 = s - p, se = (p - (s - s1)) + (t - s1);
    double u = se + te, u1 = u - se, ue = (se - (u - u1)) + (te - u1);
    double sum = s + dpm_to_odd(u, ue);

    return sum - sum == 0 ? sum : p + c;
}

/* The next two functions do not compare 64-bit integers, since these processors may have no vector
 * instruction for that. */
DPM_INLINE uint64_t dpm_lesser_f64(uint64_t a, uint64_t b)
{
    uint64_t d = a - b, borrow = ((~a & b) | ((~a | b) & d)) >> 63;

    return b + (d & -borrow);
}

DPM_INLINE double dpm_pick_odd_f64(uint64_t u, double a, double b)
{
    return dpm_real_f64(u << 63 | dpm_bits_f64(1)) < 0 ? a : b;
}
#endif

/* Return `a` if `u` is odd, else `b`. */
DPM_INLINE float dpm_pick_odd_f32(uint32_t u, float a, float b)
{
    return u & 1 ? a : b;
}

DPM_INLINE uint32_t dpm_lesser_f32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Largest |x| that the _near variants of sin, cos and tan accept (circular_of_type.h). */
#define DPM_NEAR_F32 0x1p17f
#define DPM_NEAR_F64 0x1p47

/* Subtract a number of quarter turns (pi / 2) from x >= DPM_NEAR_F32.  Set `*reduced` to the
 * difference, at most pi / 4 in magnitude, and return the number of quarter turns modulo 4.
 * Source: Payne and Hanek, "Radian reduction for trigonometric functions", 1983. */
__attribute__((unused)) static unsigned dpm_turns(double x, double *reduced)
{
    /* 64 zero bits, then the bits of 2 / pi after the binary point */
    static const uint64_t inverse[] = {
        0,
        0xa2f9836e4e441529,
        0xfc2757d1f534ddc0,
        0xdb6295993c439041,
        0xfe5163abdebbc561,
        0xb7246e3a424dd2e0,
        0x06492eea09d1921c,
        0xfe1deb1cb129a73e,
        0xe88235f52ebb4484,
        0xe99c7026b45f7e41,
        0x3991d639835339f4,
        0x9c845f8bbdf9283b,
        0x1ff897ffde05980f,
        0xef2f118b5a0a6d1f,
        0x6d367ecf27cb09b7,
        0x4f463f669e5fea2d,
        0x7527bac7ebe5f17b,
        0x3d0739f78a5292ea,
        0x6bfb5fb11f8d5d08,
        0x56033046fc7b6bab,
        0xf0cfbc209af4361d,
    };
    typedef unsigned __int128 wide;
    uint64_t u = dpm_bits_f64(x), m = (u & 0xfffffffffffff) | 0x10000000000000;
    /* Index of the first bit of `inverse` that is used.  The value of this bit, times x, is 2 m
     * quarter turns.  Each bit before it contributes a multiple of 4 quarter turns, that is, whole
     * turns, and is left out. */
    unsigned bit = (unsigned)(u >> 52) - 1013, shift = bit % 64;
    const uint64_t *w = inverse + bit / 64;
    wide high = ((wide)w[0] << 64 | w[1]) << shift | (shift ? w[2] >> (64 - shift) : 0);
    wide low = (wide)(w[2] << shift | (shift ? w[3] >> (64 - shift) : 0)) * m >> 64;
    wide turns = high * m + low + ((wide)1 << 125); /* fixed point: 2^126 is one quarter turn */
    __int128 part = (__int128)(turns & (((wide)1 << 126) - 1)) - ((__int128)1 << 125);
    double top = (double)part, tail = (double)(part - (__int128)top);
    const double scale = 0x1.921fb54442d18p-126, scale_low = 0x1.1a62633145c07p-180;

    *reduced = dpm_fma_f64(top, scale, dpm_fma_f64(tail, scale, top * scale_low));
    return (unsigned)(turns >> 126);
}

/* Define every function for float and for double. */
#define T        float
#define U        uint32_t
#define FN(name) dpm_##name##_f32
#define K(s, d)  s
#include "math_of_type.h"
#undef T
#undef U
#undef FN
#undef K

#define T        double
#define U        uint64_t
#define FN(name) dpm_##name##_f64
#define K(s, d)  d
#include "math_of_type.h"
#undef T
#undef U
#undef FN
#undef K

#endif
