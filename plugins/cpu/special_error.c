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
