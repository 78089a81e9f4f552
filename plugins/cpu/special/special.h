/* special.h -- special functions of one number.
 *
 * The functions are compiled once, not once per vector level, so they give the same bits on every
 * level.  For NaN, infinities and poles the results are those of ATen/native/Math.h.  All functions
 * run in bounded time, on any thread. */
#ifndef CPU_SPECIAL_H
#define CPU_SPECIAL_H

#include "lib/math.h"
#include <stdint.h>

#define SF_COUNT(c) ((int)(sizeof(c) / sizeof(*(c))))

/* Return `first` x^n + c[0] x^(n - 1) + ... + c[n - 1], n >= 1, as two independent sums of powers
 * of x^2. */
static inline double sf_polynomial(double x, double first, const double *c, int n)
{
    double step = x * x, sum[2] = {first, c[0]};

    DPM_UNROLL
    for (int k = 1; k < n; k++)
        sum[1 - k % 2] = sum[1 - k % 2] * step + c[k];
    return n % 2 == 0 ? sum[0] + x * sum[1] : sum[1] + x * sum[0];
}

#define SF_FROM_ONE(x, c) sf_polynomial(x, 1, c, SF_COUNT(c))
#define SF_FROM(x, c)     sf_polynomial(x, *(c), (c) + 1, SF_COUNT(c) - 1)

/* Functions that ATen computes in the type of the argument: for float, a result that is computed in
 * double and then rounded would differ visibly from PyTorch's. */
#define SF_DECLARE_TYPED(T, end)                                                                   \
    T sf_digamma##end(T x);                                                                        \
    T sf_trigamma##end(T x);
SF_DECLARE_TYPED(float, _f32)
SF_DECLARE_TYPED(double, _f64)
#undef SF_DECLARE_TYPED

double sf_lgamma(double x);
double sf_zeta(double x, double q); /* Hurwitz zeta function */
double sf_polygamma_f64(int64_t n, double x);
float sf_polygamma_f32(int64_t n, float x);
/* Return the regularised incomplete gamma function P, or Q if `upper`.  Terms smaller than `exact`
 * times the sum are left out. */
double sf_igamma(double a, double x, int upper, double exact);

double sf_erfcx(double x); /* exp(x^2) erfc(x) */
float sf_erfcx_f32(float x);
double sf_log_ndtr(double x);

/* Bessel functions, where n is 0 or 1.  sf_bessel_ie() returns exp(-|x|) I_n(x), sf_bessel_ke()
 * returns exp(x) K_n(x). */
double sf_bessel_i(int n, double x);
double sf_bessel_ie(int n, double x);
double sf_bessel_k(int n, double x);
double sf_bessel_ke(int n, double x);
double sf_bessel_j(int n, double x);
double sf_bessel_y(int n, double x);
double sf_spherical_j0(double x);
double sf_airy_ai(double x);

#endif
