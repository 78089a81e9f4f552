/* erf.c -- functions related to the error function. */
#include "special.h"
#include <math.h>

/* Return erfcx(x) for x >= 10 by its asymptotic series; six terms are exact to a float's ulp from
 * 10 on, to a double's from 25 on. */
static double erfcx_far(double x)
{
    double s = 0.5 / (x * x);

    return 1 / (x * 1.7724538509055160273) *
           (1 - s * (1 - 3 * s * (1 - 5 * s * (1 - 7 * s * (1 - 9 * s * (1 - 11 * s))))));
}

double sf_erfcx(double x)
{
    if (x < -26.7)
        return INFINITY;
    if (!(x < 25))
        return erfcx_far(x);
    double square = x * x, rest = fma(x, x, -square);
    return exp(square) * (1 + rest) * erfc(x);
}

/* Return erfcx(x) for 0 <= x <= 10, with a relative error of 7e-10: (x + 4) erfcx(x) is a smooth
 * function of (x - 4) / (x + 4). */
static double erfcx_near(double x)
{
    static const double c[] = {
        2.3294831733774174e-05, -0.00070073452784039298, -0.00036241064397336402,
        0.0061924515836468434,  -0.026315563571504219,   0.07637580612312396,
        -0.17402010220602998,   0.33085130382555439,     -0.54085326239425768,
        0.77320872849328659,    -0.97654873906856055,    1.0959956608321115};
    double d = 1 / (x + 4), t = (x - 4) * d, sum = c[0];

    for (size_t i = 1; i < sizeof(c) / sizeof(*c); i++)
        sum = sum * t + c[i];
    return sum * d;
}

/* Round the square of a negative number to float, so that the result is as exact as PyTorch's. */
float sf_erfcx_f32(float x)
{
    if (x < -26.7F)
        return INFINITY;
    double a = fabs((double)x), y = a < 10 ? erfcx_near(a) : erfcx_far(a);
    return x < 0 ? 2 * expf(x * x) - (float)y : (float)y;
}

double sf_log_ndtr(double x)
{
    double t = x * M_SQRT1_2;
    return x < -1 ? log(sf_erfcx(-t) / 2) - t * t : log1p(-erfc(t) / 2);
}
