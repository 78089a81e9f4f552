/* loops/erfinv.h -- the inverses of the normal distribution and of the error function: the rational
 * functions of Cephes (S. Moshier), with fused multiply-adds, which take half as long as separate
 * multiplications and additions, and are as exact. */
#ifndef CPU_LOOPS_SPECIAL_INVERSE_H
#define CPU_LOOPS_SPECIAL_INVERSE_H

#include "special_f32.h"

/* Compute c[0] x^(n - 1) + ... + c[n - 1] by Horner's rule; two interleaved sums would each be much
 * larger than the result. */
SF_INLINE double sf_fused(double x, const double *c, int n)
{
    double y = c[0];

    SF_UNROLL
    for (int k = 1; k < n; k++)
        y = dpm_fma_f64(y, x, c[k]);
    return y;
}

/* Return the inverse of the normal distribution at 1/2 + y, |y| < 1/2 - exp(-2). */
SF_INLINE double sf_ndtri_middle(double y)
{
    static const double p[] = {-5.99633501014107895267e1, 9.80010754185999661536e1,
                               -5.66762857469070293439e1, 1.39312609387279679503e1,
                               -1.23916583867381258016e0};
    static const double q[] = {
        1.00000000000000000000e0,  1.95448858338141759834e0,  4.67627912898881538453e0,
        8.63602421390890590575e1,  -2.25462687854119370527e2, 2.00260212380060660359e2,
        -8.20372256168333339912e1, 1.59056225126211695515e1,  -1.18331621121330003142e0};
    double square = y * y;

    return (y +
            y * (square * sf_fused(square, p, SF_COUNT(p)) / sf_fused(square, q, SF_COUNT(q)))) *
           2.50662827463100050242;
}

/* Return the inverse of the normal distribution at p, 0 < p <= exp(-2). */
static double sf_ndtri_low(double p)
{
    static const double p_near[] = {
        4.05544892305962419923e0,   3.15251094599893866154e1,   5.71628192246421288162e1,
        4.40805073893200834700e1,   1.46849561928858024014e1,   2.18663306850790267539e0,
        -1.40256079171354495875e-1, -3.50424626827848203418e-2, -8.57456785154685413611e-4};
    static const double q_near[] = {
        1.00000000000000000000e0,   1.57799883256466749731e1,   4.53907635128879210584e1,
        4.13172038254672030440e1,   1.50425385692907503408e1,   2.50464946208309415979e0,
        -1.42182922854787788574e-1, -3.80806407691578277194e-2, -9.33259480895457427372e-4};
    static const double p_far[] = {
        3.23774891776946035970e0,  6.91522889068984211695e0,  3.93881025292474443415e0,
        1.33303460815807542389e0,  2.01485389549179081538e-1, 1.23716634817820021358e-2,
        3.01581553508235416007e-4, 2.65806974686737550832e-6, 6.23974539184983293730e-9};
    static const double q_far[] = {
        1.00000000000000000000e0,  6.02427039364742014255e0,  3.67983563856160859403e0,
        1.37702099489081330271e0,  2.16236993594496635890e-1, 1.34204006088543189037e-2,
        3.28014464682127739104e-4, 2.89247864745380683936e-6, 6.79019408009981274425e-9};
    double x = sqrt(-2 * log(p)), z = 1 / x;
    const double *p_of = x < 8 ? p_near : p_far, *q_of = x < 8 ? q_near : q_far;

    return z * sf_fused(z, p_of, SF_COUNT(p_near)) / sf_fused(z, q_of, SF_COUNT(q_near)) -
           (x - log(x) / x);
}

static const double sf_low_end = 0.13533528323661269189; /* exp(-2) */

DPM_INLINE double pw_ndtri_f64(double p)
{
    if (!(p >= 0 && p <= 1))
        return NAN;
    if (p == 0 || p == 1)
        return p == 0 ? -INFINITY : INFINITY;
    return p <= sf_low_end      ? sf_ndtri_low(p)
           : p > 1 - sf_low_end ? -sf_ndtri_low(1 - p)
                                : sf_ndtri_middle(p - 0.5);
}

DPM_INLINE double pw_erfinv_f64(double y)
{
    double end = (1 - fabs(y)) / 2;

    if (!(fabs(y) <= 1))
        return NAN;
    if (end == 0)
        return copysign(INFINITY, y);
    return M_SQRT1_2 * (end > sf_low_end ? sf_ndtri_middle(y / 2) : copysign(sf_ndtri_low(end), y));
}

DPM_INLINE float pw_erfinv_f32(float x)
{
    return (float)pw_erfinv_f64(x);
}

#endif
