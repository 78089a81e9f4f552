/* loops/special.h -- special functions, one element at a time; most are computed in double for float, too.
 *
 * Not vectorised: none is called in a hot loop, and each gives the same bits on every level. */
#ifndef CPU_LOOPS_SPECIAL_H
#define CPU_LOOPS_SPECIAL_H

#include <float.h>
#include <math.h>
#include <stdint.h>

#define SF_LIMIT      1000    /* terms of a series; all converge long before */
#define SF_DEGREE_MAX 1000000 /* of a polynomial: as many steps for one element */
#define SF_STEPS_MAX  1000000 /* from a negative number up to where a series begins */

/* -- in each width -- */

static inline double sf_lgamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

#define SF_T       float
#define SF(name)   sf_##name##f
#define SF_F(name) name##f
#define SF_EPSILON FLT_EPSILON
#include "special_of_type.h"
#undef SF_T
#undef SF
#undef SF_F
#undef SF_EPSILON
#define SF_T       double
#define SF(name)   sf_##name
#define SF_F(name) name
#define SF_EPSILON DBL_EPSILON
#include "special_of_type.h"

/* -- the incomplete gamma functions -- */

/* P(a, x) by its series (x < a + 1), 1 - Q(a, x) by a continued fraction; *upper gives Q. */
static inline double sf_igamma(double a, double x, int upper)
{
    if (x < 0 || a < 0 || a != a || x != x)
        return NAN;
    if (a == 0)
        return x > 0 ? !upper : NAN;
    if (x == 0)
        return upper;
    if (isinf(a))
        return isinf(x) ? NAN : upper;
    if (isinf(x))
        return !upper;
    double front = exp(a * log(x) - x - sf_lgamma(a)), p;
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (double k = 1; k < SF_STEPS_MAX && term > sum * DBL_EPSILON / 4; k++)
            sum += term *= x / (a + k);
        p = front * sum;
        return upper ? 1 - p : p;
    }
    double b = x + 1 - a, c = 1 / DBL_MIN, d = 1 / b, h = d; /* Lentz */
    for (double k = 1; k < SF_STEPS_MAX; k++) {
        double n = -k * (k - a), step;
        b += 2;
        d = n * d + b;
        d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
        c = b + n / c;
        c = fabs(c) < DBL_MIN ? DBL_MIN : c;
        h *= step = d * c;
        if (fabs(step - 1) < DBL_EPSILON)
            break;
    }
    p = front * h;
    return upper ? p : 1 - p;
}

/* -- the error function's kin -- */

/* exp(x^2) erfc(x) */
static inline double sf_erfcx(double x)
{
    if (x < 25) {
        double square = x * x, rest = fma(x, x, -square);
        return exp(square) * (1 + rest) * erfc(x);
    }
    double s = 0.5 / (x * x); /* the asymptotic series; six terms are below an ulp from here on */
    return 1 / (x * 1.7724538509055160273) *
           (1 - s * (1 - 3 * s * (1 - 5 * s * (1 - 7 * s * (1 - 9 * s * (1 - 11 * s))))));
}

/* log of the normal distribution */
static inline double sf_log_ndtr(double x)
{
    double t = x * M_SQRT1_2;
    return x < -1 ? log(sf_erfcx(-t) / 2) - t * t : log1p(-erfc(t) / 2);
}

/* Its inverse in the lower half, 0 < p <= 1/2: Newton's steps on the log of the distribution. */
static inline double sf_ndtri_low(double p)
{
    double target = log(p), t = sqrt(-2 * target);
    double x = p > 0.02 ? (p - 0.5) * 2.5066282746310002
                        : -(t - (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + 0.04481 * t)));

    for (int i = 0; i < 20; i++) {
        double f = sf_log_ndtr(x), slope = exp(-0.5 * x * x - 0.91893853320467274178 - f);
        double step = (f - target) / slope;
        x -= step;
        if (fabs(step) <= 2e-16 * fabs(x))
            break;
    }
    return x;
}

static inline double sf_ndtri(double p)
{
    if (!(p >= 0 && p <= 1))
        return NAN;
    if (p == 0 || p == 1)
        return p == 0 ? -INFINITY : INFINITY;
    return p == 0.5 ? 0 : p < 0.5 ? sf_ndtri_low(p) : -sf_ndtri_low(1 - p);
}

static inline double sf_erfinv(double y)
{
    if (!(fabs(y) <= 1))
        return NAN;
    if (fabs(y) == 1)
        return copysign(INFINITY, y);
    if (fabs(y) > 0.5)
        return copysign(-sf_ndtri_low((1 - fabs(y)) / 2) * M_SQRT1_2, y);
    double x = y * 0.88622692545275801365;
    for (int i = 0; i < 6; i++)
        x -= (erf(x) - y) / (1.12837916709551257390 * exp(-x * x));
    return x;
}

/* -- Bessel functions -- */

/* exp(-|x|) I_n(x) for n of 0 and 1: the power series, and from 30 on the asymptotic one. */
static inline double sf_bessel_ie(int n, double x)
{
    double a = fabs(x), sum = 1, term = 1, sign = n && x < 0 ? -1 : 1;

    if (a <= 30) {
        double square = a * a / 4;
        for (double k = 1; k < SF_LIMIT && term > sum * DBL_EPSILON / 4; k++)
            sum += term *= square / (k * (k + n));
        return sign * exp(-a) * sum * (n ? a / 2 : 1);
    }
    for (double k = 1, last = 1; k < 60; k++) {
        double odd = 2 * k - 1;
        term *= -(4. * n * n - odd * odd) / (8 * k * a);
        if (fabs(term) > last || fabs(term) < DBL_EPSILON / 4)
            break;
        last = fabs(term);
        sum += term;
    }
    return sign * sum / sqrt(2 * M_PI * a);
}

static inline double sf_bessel_i(int n, double x)
{
    double half = exp(fabs(x) / 2); /* in two steps, for what overflows only at the end */
    return sf_bessel_ie(n, x) * half * half;
}

/* exp(x) K_n(x): the trapezoidal rule over exp(-x (cosh t - 1)) cosh(n t), which converges as fast as
 * its doubles do. */
static inline double sf_bessel_ke(int n, double x)
{
    double h = 0.125, sum = 0.5;

    if (x == 0)
        return INFINITY;
    if (!(x > 0))
        return NAN;
    for (int k = 1; k < 100 * SF_LIMIT; k++) {
        double t = k * h, s = sinh(t / 2), term = exp(-2 * x * s * s) * (n ? cosh(t) : 1);
        sum += term;
        if (term < sum * DBL_EPSILON / 8 && x * cosh(t) > 1)
            break;
    }
    return h * sum;
}

static inline double sf_spherical_j0(double x)
{
    return isinf(x) ? 0 : fabs(x) < 1e-8 ? 1 : sin(x) / x;
}

/* -- by the names of expressions -- */

#define SF_BOTH1(name, body)                                                                       \
    static inline double pw_##name##_f64(double x)                                                 \
    {                                                                                              \
        return body;                                                                               \
    }                                                                                              \
    static inline float pw_##name##_f32(float y)                                                   \
    {                                                                                              \
        double x = y;                                                                              \
        return (float)(body);                                                                      \
    }
#define SF_BOTH2(name, body)                                                                       \
    static inline double pw_##name##_f64(double x, double y)                                       \
    {                                                                                              \
        return body;                                                                               \
    }                                                                                              \
    static inline float pw_##name##_f32(float a, float b)                                          \
    {                                                                                              \
        double x = a, y = b;                                                                       \
        return (float)(body);                                                                      \
    }
SF_BOTH1(lgamma, sf_lgamma(x))
SF_BOTH1(erfinv, sf_erfinv(x))
SF_BOTH1(erfcx, sf_erfcx(x))
SF_BOTH1(log_ndtr, sf_log_ndtr(x))
SF_BOTH1(ndtri, sf_ndtri(x))
SF_BOTH1(i0, sf_bessel_i(0, x))
SF_BOTH1(i1, sf_bessel_i(1, x))
SF_BOTH1(i0e, sf_bessel_ie(0, x))
SF_BOTH1(i1e, sf_bessel_ie(1, x))
SF_BOTH1(k0, exp(-x) * sf_bessel_ke(0, x))
SF_BOTH1(k1, exp(-x) * sf_bessel_ke(1, x))
SF_BOTH1(k0e, sf_bessel_ke(0, x))
SF_BOTH1(k1e, sf_bessel_ke(1, x))
SF_BOTH1(j0, j0(x))
SF_BOTH1(j1, j1(x))
SF_BOTH1(y0, x < 0 ? NAN : y0(x))
SF_BOTH1(y1, x < 0 ? NAN : y1(x))
SF_BOTH1(spherical_j0, sf_spherical_j0(x))
SF_BOTH2(igamma, sf_igamma(x, y, 0))
SF_BOTH2(igammac, sf_igamma(x, y, 1))

#define SF_EACH1(name, f32, f64)                                                                   \
    static inline double pw_##name##_f64(double x)                                                 \
    {                                                                                              \
        return f64;                                                                                \
    }                                                                                              \
    static inline float pw_##name##_f32(float x)                                                   \
    {                                                                                              \
        return f32;                                                                                \
    }
#define SF_EACH2(name, f32, f64)                                                                   \
    static inline double pw_##name##_f64(double x, double y)                                       \
    {                                                                                              \
        return f64;                                                                                \
    }                                                                                              \
    static inline float pw_##name##_f32(float x, float y)                                          \
    {                                                                                              \
        return f32;                                                                                \
    }
#define SF_POLYNOMIAL(name, at, first)                                                             \
    SF_EACH2(name, sf_chebyshevf(at, first, (int64_t)y), sf_chebyshev(at, first, (int64_t)y))
SF_EACH1(digamma, sf_digammaf(x), sf_digamma(x))
SF_EACH2(zeta, sf_zetaf(x, y), sf_zeta(x, y))
SF_EACH2(polygamma, sf_polygammaf((int64_t)x, y), sf_polygamma((int64_t)x, y))
SF_POLYNOMIAL(chebyshev_t, x, x)
SF_POLYNOMIAL(chebyshev_u, x, 2 * x)
SF_POLYNOMIAL(chebyshev_v, x, 2 * x - 1)
SF_POLYNOMIAL(chebyshev_w, x, 2 * x + 1)
SF_POLYNOMIAL(shifted_t, 2 * x - 1, 2 * x - 1)
SF_POLYNOMIAL(shifted_u, 2 * x - 1, 2 * (2 * x - 1))
SF_POLYNOMIAL(shifted_v, 2 * x - 1, 2 * (2 * x - 1) - 1)
SF_POLYNOMIAL(shifted_w, 2 * x - 1, 2 * (2 * x - 1) + 1)
SF_EACH2(hermite_h, sf_hermite_hf(x, (int64_t)y), sf_hermite_h(x, (int64_t)y))
SF_EACH2(hermite_he, sf_hermite_hef(x, (int64_t)y), sf_hermite_he(x, (int64_t)y))
SF_EACH2(laguerre, sf_laguerref(x, (int64_t)y), sf_laguerre(x, (int64_t)y))
SF_EACH2(legendre, sf_legendref(x, (int64_t)y), sf_legendre(x, (int64_t)y))

#endif
