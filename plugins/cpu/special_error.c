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

/* -- the inverses: Cephes's quotients of polynomials (S. Moshier) -- */

enum { MIDDLE = 5, WIDE = 9 }; /* coefficients */

/* The inverse of the normal distribution at 1/2 + y, |y| < 1/2 - exp(-2). */
static double ndtri_middle(double y)
{
    static const double p[MIDDLE] = {-5.99633501014107895267e1, 9.80010754185999661536e1,
                                     -5.66762857469070293439e1, 1.39312609387279679503e1,
                                     -1.23916583867381258016e0};
    static const double q[WIDE] = {
        1.00000000000000000000e0,  1.95448858338141759834e0,  4.67627912898881538453e0,
        8.63602421390890590575e1,  -2.25462687854119370527e2, 2.00260212380060660359e2,
        -8.20372256168333339912e1, 1.59056225126211695515e1,  -1.18331621121330003142e0};
    double square = y * y;

    return (y + y * (square * sf_polynomial(square, 0, p, MIDDLE) /
                     sf_polynomial(square, 0, q, WIDE))) *
           2.50662827463100050242;
}

/* At p, 0 < p <= exp(-2). */
static double ndtri_low(double p)
{
    static const double p_near[WIDE] = {
        4.05544892305962419923e0,   3.15251094599893866154e1,   5.71628192246421288162e1,
        4.40805073893200834700e1,   1.46849561928858024014e1,   2.18663306850790267539e0,
        -1.40256079171354495875e-1, -3.50424626827848203418e-2, -8.57456785154685413611e-4};
    static const double q_near[WIDE] = {
        1.00000000000000000000e0,   1.57799883256466749731e1,   4.53907635128879210584e1,
        4.13172038254672030440e1,   1.50425385692907503408e1,   2.50464946208309415979e0,
        -1.42182922854787788574e-1, -3.80806407691578277194e-2, -9.33259480895457427372e-4};
    static const double p_far[WIDE] = {
        3.23774891776946035970e0,  6.91522889068984211695e0,  3.93881025292474443415e0,
        1.33303460815807542389e0,  2.01485389549179081538e-1, 1.23716634817820021358e-2,
        3.01581553508235416007e-4, 2.65806974686737550832e-6, 6.23974539184983293730e-9};
    static const double q_far[WIDE] = {
        1.00000000000000000000e0,  6.02427039364742014255e0,  3.67983563856160859403e0,
        1.37702099489081330271e0,  2.16236993594496635890e-1, 1.34204006088543189037e-2,
        3.28014464682127739104e-4, 2.89247864745380683936e-6, 6.79019408009981274425e-9};
    double x = sqrt(-2 * log(p)), z = 1 / x;
    int near = x < 8;

    return z * sf_polynomial(z, 0, near ? p_near : p_far, WIDE) /
               sf_polynomial(z, 0, near ? q_near : q_far, WIDE) -
           (x - log(x) / x);
}

static const double low_end = 0.13533528323661269189; /* exp(-2) */

double sf_ndtri(double p)
{
    if (!(p >= 0 && p <= 1))
        return NAN;
    if (p == 0 || p == 1)
        return p == 0 ? -INFINITY : INFINITY;
    return p <= low_end      ? ndtri_low(p)
           : p > 1 - low_end ? -ndtri_low(1 - p)
                             : ndtri_middle(p - 0.5);
}

double sf_erfinv(double y)
{
    double end = (1 - fabs(y)) / 2;

    if (!(fabs(y) <= 1))
        return NAN;
    if (end == 0)
        return copysign(INFINITY, y);
    return M_SQRT1_2 * (end > low_end ? ndtri_middle(y / 2) : copysign(ndtri_low(end), y));
}
