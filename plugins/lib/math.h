/* math.h -- elementary functions as inlined C that compilers vectorise: dpm_exp_f32(float),
 * dpm_exp_f64(double), ... (math_of_type.h lists them).
 *
 * There is one text for loops and for scalars, without branches, tables or calls.  It gives the
 * same bits at every vector width, in a loop's tail, on every machine and with every compiler: each
 * step is an IEEE operation, and fused steps are written out.  So it must be compiled with -ffp-
 * contract=off, -fno-trapping-math and -fno-math-errno (to vectorise), and never with -ffast-math.
 *
 * Errors are at most 1 ulp for exp and log and at most 4 ulp for the others
 * (tests/unit/lib/test_math.c measures them).  Infinities, NaN, -0, subnormal arguments and
 * subnormal results are as in C99's annex F.  Any thread. */
#ifndef PLUGINS_LIB_MATH_H
#define PLUGINS_LIB_MATH_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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

/* s, the sum of two numbers rounded to nearest, with e left over, as the same sum rounded to odd:
 * that may be rounded again, to fewer digits, as if it were exact. */
DPM_INLINE double dpm_odd(double s, double e)
{
    uint64_t u = dpm_bits_f64(s), even = ~u & 1, down = (u ^ dpm_bits_f64(e)) >> 63;
    uint64_t step = (even ^ -down) + down; /* towards e: even, or -even */

    return dpm_real_f64(u + (e != 0 ? step : 0));
}

/* a * b + c, rounded once.
 *
 * Processors without such an instruction (x86-64 below v3) compute it from others: libm's would be
 * a call for each element.  Source: Boldo and Melquiond, "Emulation of FMA and correctly rounded
 * sums", 2008. */
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
#else
DPM_INLINE float dpm_fma_f32(float a, float b, float c)
{
    double p = (double)a * b, s = p + c, t = s - p;
    float sum = (float)dpm_odd(s, (p - (s - t)) + (c - t));

    return sum - sum == 0 ? sum : (float)s;
}

/* The upper half of x's digits, rounded: what is left over fits in 26 bits too. */
DPM_INLINE double dpm_upper(double x)
{
    return dpm_real_f64((dpm_bits_f64(x) + (UINT64_C(1) << 26)) & ~((UINT64_C(1) << 27) - 1));
}

/* Right unless a * b overflows, or its lower half is subnormal and not small against c. */
DPM_INLINE double dpm_fma_f64(double a, double b, double c)
{
    double ah = dpm_upper(a), al = a - ah, bh = dpm_upper(b), bl = b - bh;
    double p = a * b, pe = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
    double t = c + pe, t1 = t - c, te = (c - (t - t1)) + (pe - t1);
    double s = p + t, s1 = s - p, se = (p - (s - s1)) + (t - s1);
    double u = se + te, u1 = u - se, ue = (se - (u - u1)) + (te - u1);
    double sum = s + dpm_odd(u, ue);

    return sum - sum == 0 ? sum : p + c;
}

/* Without comparing: there are no vector instructions for that. */
DPM_INLINE uint64_t dpm_lesser_f64(uint64_t a, uint64_t b)
{
    uint64_t d = a - b, borrow = ((~a & b) | ((~a | b) & d)) >> 63;

    return b + (d & -borrow);
}
#endif

DPM_INLINE uint32_t dpm_lesser_f32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The text of every function, for float and for double. */
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
