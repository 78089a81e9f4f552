/* gamma.c -- functions related to the gamma function. */
#include "special.h"
#include <float.h>
#include <math.h>
#include <stddef.h>

enum {
    /* greatest number of terms of a series or continued fraction; P or Q is 0 if more are needed */
    TERMS_MAX = 2000,
    /* greatest number of steps from a negative number to the number where a series begins */
    NEGATIVE_MAX = 100
};

double sf_lgamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* Return zeta(x, q) for x > 1, by 9 terms and the Euler-Maclaurin formula; q <= 0 only where zeta
 * has a value. */
static double zeta_from(double x, double q)
{
    static const double f[] = {12.0,
                               -720.0,
                               30240.0,
                               -1209600.0,
                               47900160.0, /* (2k)! / B2k */
                               -1.8924375803183791606e9,
                               7.47242496e10,
                               -2.950130727918164224e12,
                               1.1646782814350067249e14,
                               -4.5979787224074726105e15,
                               1.8152105401943546773e17,
                               -7.1661652561756670113e18};
    double sum = pow(q, -x), a = q, b = 0, k = 0, factor = 1, t;
    size_t i = 0;

    for (; i < 9 || a <= 9; i++) {
        a += 1;
        b = pow(a, -x);
        sum += b;
        if (fabs(b) < DBL_EPSILON / 2 * sum)
            return sum;
    }
    sum += b * a / (x - 1) - 0.5 * b;
    for (i = 0; i < sizeof(f) / sizeof(*f); i++) {
        factor *= x + k;
        b /= a;
        t = factor * b / f[i];
        sum += t;
        if (fabs(t / sum) < DBL_EPSILON / 2)
            break;
        k += 1;
        factor *= x + k;
        b /= a;
        k += 1;
    }
    return sum;
}

double sf_zeta(double x, double q)
{
    if (x == 1)
        return INFINITY;
    if (x < 1)
        return NAN;
    if (q <= 0 && q == floor(q))
        return INFINITY;
    if (q <= 0 && x != floor(x))
        return NAN;
    if (!(q < -NEGATIVE_MAX))
        return zeta_from(x, q);
    if (isinf(x))
        return INFINITY;
    /* the terms with negative numbers are those of two sums over positive numbers, from `part` on
     * and after -q */
    double part = -q - floor(-q), below = zeta_from(x, part) - zeta_from(x, 1 - q);
    return zeta_from(x, 1 - part) + (fmod(x, 2) == 0 ? below : -below);
}

double sf_polygamma_f64(int64_t n, double x)
{
    if (n < 2)
        return n == 0 ? sf_digamma_f64(x) : sf_trigamma_f64(x);
    double size = exp(sf_lgamma((double)n + 1)) * sf_zeta((double)n + 1, x);
    return n % 2 ? size : -size;
}

float sf_polygamma_f32(int64_t n, float x)
{
    if (n < 2)
        return n == 0 ? sf_digamma_f32(x) : sf_trigamma_f32(x);
    /* as in PyTorch, n! is a double and the sum is a float, because 35! is greater than any
     * float */
    double size = exp(sf_lgamma((double)(float)n + 1)) * (float)sf_zeta((float)n + 1, x);
    return (float)(n % 2 ? size : -size);
}

/* -- the incomplete gamma functions (DLMF 8.7, 8.9, 8.11, 8.12) -- */

/* Return x^a exp(-x) / gamma(a); by Stirling's series if a log(x) - x - lgamma(a) would lose
 * digits. */
static double front(double a, double x)
{
    double s = (x - a) / a, square = 1 / (a * a);

    if (a < 20 || fabs(s) > 0.4)
        return exp(a * log(x) - x - sf_lgamma(a));
    double rest = (1. / 12 - square * (1. / 360 - square * (1. / 1260 - square / 1680))) / a;
    return sqrt(a / (2 * M_PI)) * exp(a * (log1p(s) - s) - rest);
}

static double lower_series(double a, double x, double exact)
{
    double term = 1, sum = 1;

    for (int k = 1; k <= TERMS_MAX && term > sum * exact; k++)
        sum += term *= x / (a + k);
    return front(a, x) * sum / a;
}

/* Return Q for small x by a series, because 1 - P would lose digits. */
static double upper_series(double a, double x, double exact)
{
    double factor = 1, sum = 0, term = 1, log_x = log(x);

    for (int k = 1; k < TERMS_MAX && fabs(term) > exact * fabs(sum); k++) {
        factor *= -x / k;
        term = factor / (a + k);
        sum += term;
    }
    return -expm1(a * log_x - sf_lgamma(1 + a)) - exp(a * log_x - sf_lgamma(a)) * sum;
}

/* Return Q by its continued fraction with convergents p / q, which are scaled down when they grow
 * large. */
static double upper_fraction(double a, double x, double exact)
{
    const double large = 1 / DBL_EPSILON;
    double y = 1 - a, z = x + y + 1, p = 1, q = x, p_next = x + 1, q_next = z * x;
    double value = p_next / q_next, apart = INFINITY;

    for (int k = 1; k < TERMS_MAX && apart > exact * fabs(value); k++) {
        y += 1;
        z += 2;
        double c = y * k, p_new = p_next * z - p * c, q_new = q_next * z - q * c;
        double scale = fabs(p_new) > large ? DBL_EPSILON : 1, last = value;
        value = q_new == 0 ? last : p_new / q_new;
        apart = q_new == 0 ? INFINITY : fabs(last - value);
        p = p_next * scale;
        q = q_next * scale;
        p_next = p_new * scale;
        q_next = q_new * scale;
    }
    return front(a, x) * value;
}

/* Return P or Q for large `a` and x near to a, by Temme's expansion, which is uniform in x / a
 * (DLMF 8.12.3).  For a > 20, more terms would be below an ulp. */
static double around(double a, double x, int upper, double exact)
{
    enum { ROWS = 10, COLUMNS = 15 };
    static const double d[ROWS][COLUMNS] = {
        {-3.3333333333333333e-1, 8.3333333333333333e-2, -1.4814814814814815e-2,
         1.1574074074074074e-3, 3.527336860670194e-4, -1.7875514403292181e-4, 3.9192631785224378e-5,
         -2.1854485106799922e-6, -1.85406221071516e-6, 8.296711340953086e-7, -1.7665952736826079e-7,
         6.7078535434014986e-9, 1.0261809784240308e-8, -4.3820360184533532e-9,
         9.1476995822367902e-10},
        {-1.8518518518518519e-3, -3.4722222222222222e-3, 2.6455026455026455e-3,
         -9.9022633744855967e-4, 2.0576131687242798e-4, -4.0187757201646091e-7,
         -1.8098550334489978e-5, 7.6491609160811101e-6, -1.6120900894563446e-6,
         4.6471278028074343e-9, 1.378633446915721e-7, -5.752545603517705e-8, 1.1951628599778147e-8,
         -1.7543241719747648e-11, -1.0091543710600413e-9},
        {4.1335978835978836e-3, -2.6813271604938272e-3, 7.7160493827160494e-4,
         2.0093878600823045e-6, -1.0736653226365161e-4, 5.2923448829120125e-5,
         -1.2760635188618728e-5, 3.4235787340961381e-8, 1.3721957309062933e-6,
         -6.298992138380055e-7, 1.4280614206064242e-7, -2.0477098421990866e-10,
         -1.4092529910867521e-8, 6.228974084922022e-9, -1.3670488396617113e-9},
        {6.4943415637860082e-4, 2.2947209362139918e-4, -4.6918949439525571e-4,
         2.6772063206283885e-4, -7.5618016718839764e-5, -2.3965051138672967e-7,
         1.1082654115347302e-5, -5.6749528269915966e-6, 1.4230900732435884e-6,
         -2.7861080291528142e-11, -1.6958404091930277e-7, 8.0994649053880824e-8,
         -1.9111168485973654e-8, 2.3928620439808118e-12, 2.0620131815488798e-9},
        {-8.618882909167117e-4, 7.8403922172006663e-4, -2.9907248030319018e-4,
         -1.4638452578843418e-6, 6.6414982154651222e-5, -3.9683650471794347e-5,
         1.1375726970678419e-5, 2.5074972262375328e-10, -1.6954149536558306e-6,
         8.9075075322053097e-7, -2.2929348340008049e-7, 2.956794137544049e-11,
         2.8865829742708784e-8, -1.4189739437803219e-8, 3.4463580499464897e-9},
        {-3.3679855336635815e-4, -6.9728137583658578e-5, 2.7727532449593921e-4,
         -1.9932570516188848e-4, 6.7977804779372078e-5, 1.419062920643967e-7,
         -1.3594048189768693e-5, 8.0184702563342015e-6, -2.2914811765080952e-6,
         -3.252473551298454e-10, 3.4652846491085265e-7, -1.8447187191171343e-7,
         4.8240967037894181e-8, -1.7989466721743515e-14, -6.3061945000135234e-9},
        {5.3130793646399222e-4, -5.9216643735369388e-4, 2.7087820967180448e-4,
         7.9023532326603279e-7, -8.1539693675619688e-5, 5.6116827531062497e-5,
         -1.8329116582843376e-5, -3.0796134506033048e-9, 3.4651553688036091e-6,
         -2.0291327396058604e-6, 5.7887928631490037e-7, 2.338630673826657e-13,
         -8.8286007463304835e-8, 4.7435958880408128e-8, -1.2545415020710382e-8},
        {3.4436760689237767e-4, 5.1717909082605922e-5, -3.3493161081142236e-4, 2.812695154763237e-4,
         -1.0976582244684731e-4, -1.2741009095484485e-7, 2.7744451511563644e-5,
         -1.8263488805711333e-5, 5.7876949497350524e-6, 4.9387589339362704e-10,
         -1.0595367014026043e-6, 6.1667143761104075e-7, -1.7562973359060462e-7,
         -1.2974473287015439e-12, 2.695423606288966e-8},
        {-6.5262391859530942e-4, 8.3949872067208728e-4, -4.3829709854172101e-4,
         -6.969091458420552e-7, 1.6644846642067548e-4, -1.2783517679769219e-4,
         4.6299532636913043e-5, 4.5579098679227077e-9, -1.0595271125805195e-5,
         6.7833429048651666e-6, -2.1075476666258804e-6, -1.7213731432817145e-11,
         3.7735877416110979e-7, -2.1867506700122867e-7, 6.2202288040189269e-8},
        {-5.9676129019274625e-4, -7.2048954160200106e-5, 6.7823088376673284e-4,
         -6.4014752602627585e-4, 2.7750107634328704e-4, 1.8197008380465151e-7,
         -8.4795071170685032e-5, 6.105192082501531e-5, -2.1073920183404862e-5,
         -8.8585890141255994e-10, 4.5284535953805377e-6, -2.8427815022504408e-6,
         8.7082341778646412e-7, 3.6886101871706965e-12, -1.5344695190702061e-7}};
    double s = (x - a) / a, half = log1p(s) - s, sign = upper ? 1 : -1;
    double eta = copysign(sqrt(-2 * half), s), sum = 0, scale = 1, term = 1;

    for (int k = 0; k < ROWS && fabs(term) > exact * fabs(sum); k++, scale /= a) {
        double row = 0;
        for (int n = COLUMNS - 1; n >= 0; n--)
            row = row * eta + d[k][n];
        sum += term = row * scale;
    }
    return 0.5 * erfc(sign * eta * sqrt(a / 2)) + sign * exp(a * half) * sum / sqrt(2 * M_PI * a);
}

static int is_near(double a, double x)
{
    double apart = fabs(x - a) / a;
    return (a > 20 && a < 200 && apart < 0.3) || (a > 200 && apart < 4.5 / sqrt(a));
}

static double upper_gamma(double a, double x, double exact)
{
    /* for larger a, 1 - P does not lose digits */
    double turn = x > 1.1 ? x : x > 0.5 ? x * 1.1 : -0.4 / log(x);

    if (turn < a)
        return 1 - lower_series(a, x, exact);
    return x > 1.1 ? upper_fraction(a, x, exact) : upper_series(a, x, exact);
}

double sf_igamma(double a, double x, int upper, double exact)
{
    if (x < 0 || a < 0 || (a == 0 && !(x > 0)))
        return NAN;
    if (a == 0)
        return !upper;
    if (x == 0)
        return upper;
    if (isinf(a))
        return isinf(x) ? NAN : upper;
    if (isinf(x))
        return !upper;
    if (is_near(a, x))
        return around(a, x, upper, exact);
    if (upper)
        return upper_gamma(a, x, exact);
    return x > 1 && x > a ? 1 - upper_gamma(a, x, exact) : lower_series(a, x, exact);
}
