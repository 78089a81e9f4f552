/* math_of_type.h -- the functions of math.h for one type.  T is float or double, U the unsigned
 * integer of the same size.  FN(name) is the name of a function for T.  K(s, d) is `s` for float
 * and `d` for double. */

#define DIGITS K(23, 52) /* stored bits of a significand */
#define BITS   ((int)sizeof(T) * 8)
#define BIAS   (((U)1 << K(7, 10)) - 1) /* bias of an exponent */
#define INF    ((T)INFINITY)
/* Adding ROUND to `x` rounds `x` to an integer, which is then in the last bits of the sum. */
#define ROUND    K(0x1.8p23f, 0x1.8p52)
#define LN2_HIGH K(0x1.62e43p-1f, 0x1.62e42fefa39efp-1) /* ln 2 = LN2_HIGH + LN2_LOW */
#define LN2_LOW  K(-0x1.05c61p-29f, 0x1.abc9e3b39803fp-56)
#define LOG2_E   K(0x1.715476p0f, 0x1.71547652b82fep0)

#define TOP  (~((U)-1 >> 1))      /* the sign bit */
#define TINY K(0x1p-30f, 0x1p-60) /* for smaller |x|, expm1(x), sinh(x) and tanh(x) are x */

/* POLY(x, (coefficients for float), (coefficients for double)): the polynomial of `x`, with
 * coefficients from the highest power down. */
#define POLY(x, s, d) K(POLY_(x, UNPACK s), POLY_(x, UNPACK d))
#define POLY_(x, ...)                                                                              \
    FN(poly)(x, (const T[]){__VA_ARGS__}, sizeof((const T[]){__VA_ARGS__}) / sizeof(T))
#define UNPACK(...) __VA_ARGS__

/* A long polynomial is computed as two polynomials of x^2, which the processor can run in
 * parallel. */
DPM_INLINE T FN(poly)(T x, const T *c, size_t n)
{
    const size_t chains = n < 8 ? 1 : 2;
    T step = chains == 1 ? x : x * x, sum[2];

    DPM_UNROLL
    for (size_t i = 0; i < n; i++) {
        size_t k = (n - 1 - i) % chains;
        sum[k] = i < chains ? c[i] : FN(fma)(sum[k], step, c[i]);
    }
    return chains == 1 ? sum[0] : FN(fma)(sum[1], x, sum[0]);
}

DPM_INLINE T FN(pick)(bool c, T a, T b)
{
    return c ? a : b;
}

DPM_INLINE T FN(abs)(T x)
{
    return FN(real)(FN(bits)(x) & ~TOP);
}

/* Return |x| with the sign of `y`. */
DPM_INLINE T FN(sign)(T x, T y)
{
    return FN(real)((FN(bits)(x) & ~TOP) | (FN(bits)(y) & TOP));
}

/* A function computes its polynomial also for x where the polynomial is not valid, and then does
 * not pick() the value.  If x were limited to a valid bound instead, gcc would compute everything
 * twice, for x and for the bound. */

/* -- exponentials: x = n ln 2 + r, |r| <= ln 2 / 2, exp(x) = 2^n exp(r) -- */

/* Return q, where exp(r) = 1 + r + r^2 q. */
DPM_INLINE T FN(exp_of)(T r)
{
    return POLY(r, (0x1.6d4ea6p-10f, 0x1.120c8ep-7f, 0x1.5554e8p-5f, 0x1.5554dcp-3f, 0x1p-1f),
                (0x1.ad900f74b92c4p-26, 0x1.28ae1ad6237fcp-22, 0x1.71df1b08728bap-19,
                 0x1.a0199942cc288p-16, 0x1.a01a012edb8a3p-13, 0x1.6c16c1847f532p-10,
                 0x1.1111111126ecbp-7, 0x1.55555555506a4p-5, 0x1.55555555554fdp-3,
                 0x1.000000000000ap-1));
}

/* Set `*r` for the argument `x`, and return exp_of(r).  `*exponent` gets x / ln 2 + ROUND, which
 * has n in its last bits. */
DPM_INLINE T FN(exp_part)(T x, T *r, T *exponent)
{
    T z = FN(fma)(x, LOG2_E, ROUND), n = z - ROUND;

    *exponent = z;
    *r = FN(fma)(n, -LN2_LOW, FN(fma)(n, -LN2_HIGH, x));
    return FN(exp_of)(*r);
}

/* Return y 2^n, rounded once; `exponent` is that of exp_part().  y is multiplied by two factors,
 * since 2^n may be subnormal or overflow. */
DPM_INLINE T FN(exp_scaled)(T y, T exponent)
{
    U n = FN(bits)(exponent), half = n >> 1;

    return y * FN(real)((half + BIAS) << DIGITS) * FN(real)((n - half + BIAS) << DIGITS);
}

/* Return (1 + p r) 2^n, with two factors as in exp_scaled(). */
DPM_INLINE T FN(exp_of_remainder)(T p, T r, T exponent)
{
    U n = FN(bits)(exponent), half = n >> 1;
    T s = FN(real)((half + BIAS) << DIGITS);

    return FN(fma)(p, r * s, s) * FN(real)((n - half + BIAS) << DIGITS);
}

/* Return 2^(n + k), which must be a normal number; `exponent` is that of exp_part(). */
DPM_INLINE T FN(exp_scale)(T exponent, int k)
{
    return FN(real)((FN(bits)(exponent) << DIGITS) + ((BIAS + (U)k) << DIGITS));
}

DPM_INLINE T FN(exp)(T x)
{
    const T most = K(0x1.62e42ep6f, 0x1.62e42fefa39efp9);
    const T least = K(-104, -746); /* for smaller x, exp is 0 */
    T z, r, q = FN(exp_part)(FN(real)(FN(lesser)(FN(bits)(x), FN(bits)(least))), &r, &z);

    return FN(pick)(x <= most, FN(exp_of_remainder)(FN(fma)(q, r, 1), r, z), x + INF);
}

/* Return (exp(x) - 1) / 4, for |x| >= TINY.  The division by 4 is for sinh, since exp(x) may
 * overflow where sinh(x) does not. */
DPM_INLINE T FN(expm1_quarter)(T x)
{
    T z, r, q = FN(exp_part)(x, &r, &z), s = FN(exp_scale)(z, -2);

    return FN(fma)(s, FN(fma)(r * r, q, r), s - (T)0.25);
}

DPM_INLINE T FN(expm1)(T x)
{
    const T least = K(-20, -40), most = K(0x1.62e42ep6f, 0x1.62e42fefa39efp9);
    T y = FN(pick)(x < least, -1, 4 * FN(expm1_quarter)(x));

    y = FN(pick)(FN(abs)(x) < TINY, x, y);
    return FN(pick)(x <= most, y, x + INF);
}

DPM_INLINE T FN(exp2)(T x)
{
    const T least = K(-151, -1076), most = K(128, 1024);
    T low = FN(real)(FN(lesser)(FN(bits)(x), FN(bits)(least))), z = low + ROUND;
    T r = (low - (z - ROUND)) * LN2_HIGH;

    return FN(pick)(x < most, FN(exp_of_remainder)(FN(fma)(FN(exp_of)(r), r, 1), r, z), x + INF);
}

/* 1 / (1 + e^-x); numerator and denominator are multiplied by 2^-k, since e^-x may overflow where
 * the quotient does not. */
DPM_INLINE T FN(sigmoid)(T x)
{
    const int k = K(32, 64);
    const T unit = K(0x1p-32f, 0x1p-64);
    const T least = K(-40, -60); /* for smaller -x, 1 + e^-x rounds to 1 */
    const T most = K(104, 746);  /* for larger -x, the result is 0 */
    T z, r, q = FN(exp_part)(FN(real)(FN(lesser)(FN(bits)(-x), FN(bits)(least))), &r, &z);
    T s = FN(exp_scale)(z, -k), e = FN(fma)(s, FN(fma)(r * r, q, r), s);

    return unit / FN(pick)(-x <= most, unit + e, INF - x);
}

DPM_INLINE T FN(tanh)(T x)
{
    const T most = K(10, 20);
    T a = FN(abs)(x), e = FN(expm1_quarter)(2 * a), y = FN(pick)(a > most, 1, e / (e + (T)0.5));

    return FN(pick)(a < TINY, x, FN(sign)(y, x));
}

DPM_INLINE T FN(sinh)(T x)
{
    const T most = K(0x1.65a9fap6f, 0x1.633ce8fb9f87dp9);
    T a = FN(abs)(x), q = FN(expm1_quarter)(a), y = 2 * q + 2 * q / (4 * q + 1);

    return FN(pick)(a < TINY, x, FN(sign)(FN(pick)(a <= most, y, a + INF), x));
}

DPM_INLINE T FN(cosh)(T x)
{
    const T most = K(0x1.65a9fap6f, 0x1.633ce8fb9f87dp9);
    T a = FN(abs)(x), z, r, q = FN(exp_part)(a, &r, &z), s = FN(exp_scale)(z, -2);
    T e = FN(fma)(s, FN(fma)(r * r, q, r), s);

    return FN(pick)(a <= most, 2 * e + (T)0.125 / e, a + INF);
}

/* -- logarithms: x = 2^n (1 + f), |f| <= 1/3 -- */

/* Return ln(1 + f) - f.  With s = f / (2 + f), f = 2 s + s f and
 * ln(1 + f) = 2 s + 2/3 s^3 + 2/5 s^5 + ... */
DPM_INLINE T FN(log_part)(T f)
{
    T s = f / (2 + f), z = s * s, half = (T)0.5 * f * f;
    T series = z * POLY(z, (0x1.32dc28p-2f, 0x1.99616cp-2f, 0x1.555566p-1f),
                        (0x1.16ea8853e3eecp-3, 0x1.0e8136b53618dp-3, 0x1.3b2a7126a1deap-3,
                         0x1.745ca7aa58afdp-3, 0x1.c71c72f137c3fp-3, 0x1.24924923cccf4p-2,
                         0x1.999999999a008p-2, 0x1.5555555555555p-1));

    return FN(fma)(s, half + series, -half);
}

/* Return ln(1 + f) - h, where h = 2 f / (2 + f).  This function is shorter than log_part(), but
 * less exact: it is for callers whose error may be more than 1 ulp. */
DPM_INLINE T FN(log_remainder)(T h)
{
    T w = h * h;

    return h * w *
           POLY(w, (0x1.32dc28p-9f, 0x1.99616cp-7f, 0x1.555566p-4f),
                (0x1.16ea8853e3eecp-20, 0x1.0e8136b53618dp-18, 0x1.3b2a7126a1deap-16,
                 0x1.745ca7aa58afdp-14, 0x1.c71c72f137c3fp-12, 0x1.24924923cccf4p-9,
                 0x1.999999999a008p-7, 0x1.5555555555555p-4));
}

/* Return m and set `*e` to n + BIAS, where x = 2^n m and 2/3 <= m < 4/3, for a positive, finite and
 * normal `x`. */
DPM_INLINE T FN(log_split)(T x, U *e)
{
    const U low = K(0x3f2aaaab, 0x3fe5555555555555); /* 2/3 */
    U u = FN(bits)(x) - low + (BIAS << DIGITS);

    *e = u >> DIGITS;
    return FN(real)((u & (((U)1 << DIGITS) - 1)) + low);
}

/* Return e - BIAS - less as a T. */
DPM_INLINE T FN(log_count)(U e, T less)
{
    const T grid = K(0x1p23f, 0x1p52);

    return FN(real)(e | FN(bits)(grid)) - (grid + BIAS + less);
}

/* Return `y`, the value of a logarithm for 0 < x < infinity; for other x return -infinity, infinity
 * or NaN, as a logarithm does. */
DPM_INLINE T FN(log_ends)(T x, T y)
{
    T low = FN(pick)(x == 0, -INF, (T)NAN);

    return FN(pick)(x > 0, FN(pick)(x < INF, y, x), low);
}

/* Return f and set `*n`, where x = 2^n (1 + f), for a positive finite `x`, which may be
 * subnormal. */
DPM_INLINE T FN(log_parts)(T x, T *n)
{
    const T least = K(FLT_MIN, DBL_MIN);
    U e;
    T m = FN(log_split)(FN(pick)(x < least, x * K(0x1p25f, 0x1p54), x), &e);

    *n = FN(log_count)(e, FN(pick)(x < least, K(25, 54), 0));
    return m - 1;
}

DPM_INLINE T FN(log)(T x)
{
    T n, f = FN(log_parts)(x, &n), y = FN(fma)(n, LN2_LOW, FN(log_part)(f));

    return FN(log_ends)(x, FN(fma)(n, LN2_HIGH, f + y));
}

DPM_INLINE T FN(log2)(T x)
{
    T n, f = FN(log_parts)(x, &n), h = 2 * f / (2 + f), y = h + FN(log_remainder)(h);

    return FN(log_ends)(x, FN(fma)(y, LOG2_E, n));
}

DPM_INLINE T FN(log10)(T x)
{
    const T two_high = K(0x1.344136p-2f, 0x1.34413509f79ffp-2); /* log10(2) = two_high + two_low */
    const T two_low = K(-0x1.ec10c0p-27f, -0x1.9dc1da994fd21p-59);
    const T e = K(0x1.bcb7b2p-2f, 0x1.bcb7b1526e50ep-2); /* log10(e) */
    T n, f = FN(log_parts)(x, &n), h = 2 * f / (2 + f), y = h + FN(log_remainder)(h);

    return FN(log_ends)(x, FN(fma)(n, two_high, FN(fma)(y, e, n * two_low)));
}

/* Return n ln 2 + ln(1 + f), where h = 2 f / (2 + f). */
DPM_INLINE T FN(log_sum)(T n, T h)
{
    return FN(fma)(n, LN2_HIGH, h + FN(fma)(n, LN2_LOW, FN(log_remainder)(h)));
}

/* f is computed from x, not from u, because u = 1 + x is rounded. */
DPM_INLINE T FN(log1p)(T x)
{
    T u = 1 + x;
    U e;
    T m = FN(log_split)(u, &e), s = FN(real)((2 * BIAS - e) << DIGITS); /* 2^-n */
    T f = FN(pick)(u < K(0x1p60f, 0x1p100), FN(fma)(x, s, s - 1), m - 1);

    return FN(sign)(FN(log_ends)(u, FN(log_sum)(FN(log_count)(e, 0), 2 * f / (2 + f))), x);
}

/* With r = sqrt(a^2 + 1), the result is ln(a + r) = ln(1 + m / d), where m = a (a + d) and d = r +
 * 1; this needs a single division, in h.  For a >= much, the result is 3 ln 2 + ln(1 + a / 4). */
DPM_INLINE T FN(asinh)(T x)
{
    const T much = K(0x1p28f, 0x1p60);
    T a = FN(abs)(x), r = K(sqrtf, sqrt)(FN(fma)(a, a, 1)), d = r + 1, m = a * (a + d), sum = a + r;
    T less = FN(pick)(a < much, 0, -3);
    U e;

    sum = FN(pick)(a < much, sum, a / 4);
    m = FN(pick)(a < much, m, a / 4);
    d = FN(pick)(a < much, d, 1);
    FN(log_split)(sum, &e);
    T s = FN(real)((2 * BIAS - e) << DIGITS); /* 2^-n */
    T h = 2 * FN(fma)(s, m, (s - 1) * d) / FN(fma)(s, m, (s + 1) * d);

    return FN(pick)(a < INF, FN(sign)(FN(log_sum)(FN(log_count)(e, less), h), x), x);
}

DPM_INLINE T FN(acosh)(T x)
{
    const T much = K(0x1p28f, 0x1p60);
    T t = x - 1, mid = t + K(sqrtf, sqrt)(FN(fma)(t, t, 2 * t));
    T y = FN(log1p)(FN(pick)(x < much, mid, x)) + FN(pick)(x < much, 0, LN2_HIGH);

    return FN(pick)(x >= 1, y, (T)NAN);
}

/* (1 + a) / (1 - a) = 2^n (1 + f), where n is computed from the difference of the bit patterns of 1
 * + a and 1 - a. */
DPM_INLINE T FN(atanh)(T x)
{
    T a = FN(abs)(x), u = 1 + a, v = 1 - a;
    U e = (FN(bits)(u) - FN(bits)(v) + ((U)1 << (DIGITS - 1)) + (BIAS << DIGITS)) >> DIGITS;
    T s = FN(real)((2 * BIAS - e) << DIGITS); /* 2^-n */
    T num = FN(pick)(s == 1, 2 * a, FN(fma)(s, u, -v)), h = 2 * num / FN(fma)(s, u, v);
    T y = (T)0.5 * FN(log_sum)(FN(log_count)(e, 0), h);

    return FN(sign)(FN(pick)(a < 1, y, FN(pick)(a == 1, INF, (T)NAN)), x);
}

#include "circular_of_type.h"

/* -- pow --
 *
 * x^y = exp(y ln x).  ln x is computed with twice the digits of T, as a sum of two numbers, the
 * second of which is small. */

/* Return the first of the two numbers for ln(m 2^n), with 2/3 <= m < 4/3, and set `*low` to the
 * second. */
DPM_INLINE T FN(log_twice)(T m, T n, T *low)
{
    /* ln 2 = high + high_low; `high` has few digits, so n * high is exact */
    const T high = K(0x1.62e4p-1f, 0x1.62e42fefa38p-1);
    const T high_low = K(0x1.7f7d1cp-20f, 0x1.ef35793c7673p-45);
    const T third = K(0x1.555556p-1f, 0x1.5555555555555p-1); /* 2/3 */
    const T third_low = K(-0x1.555556p-26f, 0x1.5555555555555p-55);
    T f = m - 1, d = 2 + f, inverse = 1 / d;
    T s = f * inverse, sl = inverse * FN(fma)(-s, f - (d - 2), FN(fma)(-s, d, f));
    T z = s * s, zl = FN(fma)(2 * s, sl, FN(fma)(s, s, -z));
    T q = z * POLY(z, (0x1.8c3c1cp-3f, 0x1.c69f98p-3f, 0x1.24928p-2f, 0x1.99999ap-2f),
                   (0x1.f3ecbf8f3ca68p-4, 0x1.dd3e0ffe9877cp-4, 0x1.1125aacafa38p-3,
                    0x1.3b134c2e81207p-3, 0x1.745d1853a5a47p-3, 0x1.c71c71c5b725ap-3,
                    0x1.2492492492a62p-2, 0x1.9999999999999p-2));
    T c = third + q, cl = third - c + q + third_low;
    T t = z * s, tl = FN(fma)(z, s, -t) + FN(fma)(z, sl, zl * s); /* s^3 */
    T p = t * c, pl = FN(fma)(t, c, -p) + FN(fma)(t, cl, tl * c);
    T a = n * high, b = a + 2 * s, bl = a - b + 2 * s;
    T sum = b + p;

    *low = b - sum + p + bl + 2 * sl + FN(fma)(n, high_low, pl);
    return sum;
}

/* Test whether `a` >= 0 is an integer or infinite. */
DPM_INLINE bool FN(whole)(T a)
{
    const T grid = K(0x1p23f, 0x1p52);

    return FN(pick)(a < grid, a + grid - grid, a) == a;
}

/* Return exp(e + l), where `l` is small compared with `e`. */
DPM_INLINE T FN(exp_twice)(T e, T l)
{
    const T least = K(-104, -746), most = K(89, 710);
    T z, r, q;

    FN(exp_part)(FN(real)(FN(lesser)(FN(bits)(e), FN(bits)(least))), &r, &z);
    r += l;
    q = FN(exp_of)(r);
    T y = FN(exp_scaled)(FN(fma)(FN(fma)(q, r, 1), r, 1), z);

    return FN(pick)(e <= least, 0, FN(pick)(e >= most, INF, y));
}

DPM_INLINE T FN(pow)(T x, T y)
{
    const T least = K(FLT_MIN, DBL_MIN);
    T a = FN(abs)(x), b = FN(abs)(y), l;
    U e;
    T m = FN(log_split)(FN(pick)(a < least, a * K(0x1p25f, 0x1p54), a), &e);
    T h = FN(log_twice)(m, FN(log_count)(e, FN(pick)(a < least, K(25, 54), 0)), &l);

    h = FN(pick)(a == 0, -INF, FN(pick)(a < INF, h, a));
    T p = y * h, pl = FN(fma)(y, l, FN(fma)(y, h, -p)), r = FN(exp_twice)(p, pl);
    r = FN(pick)(FN(whole)(b), FN(sign)(r, FN(pick)(FN(whole)(b / 2), 1, x)),
                 FN(pick)(x < 0, FN(pick)(a < INF, (T)NAN, r), r));
    T one = FN(pick)(x > 0, 1, FN(pick)(b == INF, 1, r));
    return FN(pick)(y == 0, 1, FN(pick)(a == 1, one, r));
}

#include "erf_of_type.h"

/* Return sqrt(x^2 + y^2).  Both numbers are first divided by a power of two near the mean of |x|
 * and |y|, so that no square overflows, and that of the larger number is not subnormal. */
DPM_INLINE T FN(hypot)(T x, T y)
{
    T a = FN(abs)(x), b = FN(abs)(y), mean = (T)0.5 * a + (T)0.5 * b;
    U e = FN(bits)(mean + K(FLT_MIN, DBL_MIN)) >> DIGITS;
    T up = FN(real)((2 * BIAS + 1 - e) << DIGITS), u = a * up, v = b * up;
    T r = (T)0.5 * K(sqrtf, sqrt)(FN(fma)(u, u, v * v)) * FN(real)(e << DIGITS);

    return FN(pick)(a == INF, INF, FN(pick)(b == INF, INF, r));
}

#include "remainder_of_type.h"

#undef DIGITS
#undef BIAS
#undef BITS
#undef INF
#undef ROUND
#undef LN2_HIGH
#undef LN2_LOW
#undef LOG2_E
#undef TOP
#undef TINY
#undef POLY
#undef POLY_
#undef UNPACK
