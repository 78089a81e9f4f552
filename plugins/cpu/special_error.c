/* special_error.c -- the error function's kin. */
#include "special.h"
#include <math.h>

double sf_erfcx(double x)
{
    if (x < -26.7)
        return INFINITY;
    if (x < 25) {
        double square = x * x, rest = fma(x, x, -square);
        return exp(square) * (1 + rest) * erfc(x);
    }
    double s = 0.5 / (x * x); /* the asymptotic series; six terms are below an ulp from here on */
    return 1 / (x * 1.7724538509055160273) *
           (1 - s * (1 - 3 * s * (1 - 5 * s * (1 - 7 * s * (1 - 9 * s * (1 - 11 * s))))));
}

/* As exact as PyTorch's: the square of a negative number is rounded. */
float sf_erfcx_f32(float x)
{
    if (x < -26.7F)
        return INFINITY;
    return x < 0 ? 2 * expf(x * x) - (float)sf_erfcx(-(double)x) : (float)sf_erfcx(x);
}

double sf_log_ndtr(double x)
{
    double t = x * M_SQRT1_2;
    return x < -1 ? log(sf_erfcx(-t) / 2) - t * t : log1p(-erfc(t) / 2);
}

/* The inverse of the normal distribution in the lower half, 0 < p <= 1/2: Newton's steps on the log of the distribution. */
static double ndtri_low(double p)
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

double sf_ndtri(double p)
{
    if (!(p >= 0 && p <= 1))
        return NAN;
    if (p == 0 || p == 1)
        return p == 0 ? -INFINITY : INFINITY;
    return p == 0.5 ? 0 : p < 0.5 ? ndtri_low(p) : -ndtri_low(1 - p);
}

double sf_erfinv(double y)
{
    if (!(fabs(y) <= 1))
        return NAN;
    if (fabs(y) == 1)
        return copysign(INFINITY, y);
    if (fabs(y) > 0.5)
        return copysign(-ndtri_low((1 - fabs(y)) / 2) * M_SQRT1_2, y);
    double x = y * 0.88622692545275801365;
    for (int i = 0; i < 6; i++)
        x -= (erf(x) - y) / (1.12837916709551257390 * exp(-x * x));
    return x;
}
