/* loops/special_f32.h -- special functions of float32, computed in double.  On processors with
 * fused multiply-add they have no branches or calls, so they are vectorized; only j0, j1, y0, y1
 * and spherical_j0 branch, where their _near variants do not accept x.  All give the same bits on
 * every vector level.
 *
 * The polynomials are Chebyshev interpolations of 40-digit values, with errors below 3e-9.  A
 * result is within an ulp of the exact value, or within 1e-9 where an oscillating function crosses
 * 0. */
#ifndef CPU_LOOPS_SPECIAL_F32_H
#define CPU_LOOPS_SPECIAL_F32_H

#include "lib/math.h"
#include "special/special.h"

/* Without fused multiply-adds nothing here is vectorized, and calls are shorter.  (Unfused steps
 * would be faster there, but take 1.2 to 1.5 times as long where fused ones are available.) */
#if defined(__FMA__) || defined(__aarch64__)
#define SF_INLINE DPM_INLINE
#define SF_UNROLL DPM_UNROLL
#else
#define SF_INLINE __attribute__((unused, noinline)) static
#define SF_UNROLL
#endif

/* Return the polynomial of x with n coefficients, the highest first, as the sum of two polynomials
 * of x^2. */
SF_INLINE double sf_series(double x, const double *c, int n)
{
    double step = x * x, sum[2] = {c[n % 2 == 0], c[n % 2]};

    SF_UNROLL
    for (int i = 2; i < n; i++) {
        int k = (n - 1 - i) % 2;
        sum[k] = dpm_fma_f64(sum[k], step, c[i]);
    }
    return dpm_fma_f64(sum[1], x, sum[0]);
}

#define SF_SERIES(x, ...)                                                                          \
    sf_series(x, (const double[]){__VA_ARGS__},                                                    \
              sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

SF_INLINE double sf_exp(double x)
{
    return dpm_exp_f64(x);
}

SF_INLINE double sf_log(double x)
{
    return dpm_log_f64(x);
}

SF_INLINE double sf_sin(double x)
{
    return dpm_sin_near_f64(x);
}

SF_INLINE double sf_cos(double x)
{
    return dpm_cos_near_f64(x);
}

/* -- modified Bessel functions: K below and above 2, I below and above 8 -- */

/* Return exp(-a) I_0(a) for a >= 0. */
SF_INLINE double sf_ie0(double a)
{
    double u = 8 / a,
           near = SF_SERIES(a, 4.888659733445462e-15, -4.015096461211381e-13,
                            1.5444559970246972e-11, -3.707797367686975e-10, 6.252482937863715e-09,
                            -7.914097642851681e-08, 7.860333356597864e-07, -6.335255937513731e-06,
                            4.258618793163711e-05, -0.00024415064009008667, 0.0012133990084758075,
                            -0.005271458018488257, 0.020000269540443906, -0.06558574282274164,
                            0.1822717434314634, -0.4166604542803983, 0.7499989699878427,
                            -0.9999999318416471, 0.9999999992459054);
    double far =
        sqrt(u) * SF_SERIES(u, 2.4505272412444835e-06, -3.242769066698528e-06,
                            7.271444968228402e-06, 1.886585796382582e-05, 0.0001551898540573185,
                            0.002203850791442052, 0.14104739625913115);

    return dpm_pick_f64(a <= 8, near, far);
}

SF_INLINE double sf_ie1(double a)
{
    double u = 8 / a,
           near =
               a * SF_SERIES(a, 6.691414677740494e-16, -5.5369903885469867e-14,
                             2.1504899558934474e-12, -5.2280914924229924e-11, 8.964119814016619e-10,
                             -1.1601016523668907e-08, 1.186897314878857e-07, -9.949604319088853e-07,
                             7.038902978921984e-06, -4.304256366746393e-05, 0.0002313762378094272,
                             -0.0011022924030548685, 0.004648482505648324, -0.017182588206118336,
                             0.05468500216271245, -0.14583255331554953, 0.31249987054506856,
                             -0.49999999142900736, 0.4999999999051614);
    double far =
        sqrt(u) * SF_SERIES(u, -2.7633740870327867e-06, 3.5207652500856293e-06,
                            -8.7727200294436e-06, -2.678384789804851e-05, -0.0002585229254990232,
                            -0.00661158020822501, 0.14104739505627634);

    return dpm_pick_f64(a <= 8, near, far);
}

DPM_INLINE float pw_i0e_f32(float x)
{
    return (float)sf_ie0(dpm_abs_f32(x));
}

DPM_INLINE float pw_i0_f32(float x)
{
    double a = dpm_abs_f32(x);
    return (float)(sf_ie0(a) * sf_exp(a));
}

DPM_INLINE float pw_i1e_f32(float x)
{
    float y = (float)sf_ie1(dpm_abs_f32(x));
    return dpm_pick_f32(x < 0, -y, y);
}

DPM_INLINE float pw_i1_f32(float x)
{
    double a = dpm_abs_f32(x);
    float y = (float)(sf_ie1(a) * sf_exp(a));
    return dpm_pick_f32(x < 0, -y, y);
}

/* Return K_0(x) for x <= 2. */
SF_INLINE double sf_k0_near(double x)
{
    double t = x * x, i0 = SF_SERIES(t, 5.057299736306279e-10, 6.762348532809912e-08,
                                     6.782214072922958e-06, 0.00043402703360839306,
                                     0.01562500049691236, 0.24999999987567148, 1.0000000000050755);
    return SF_SERIES(t, 6.9474809845978735e-12, 1.2055456369339782e-09, 1.627203574185784e-07,
                     1.4914700880996995e-05, 0.0008460351094922612, 0.025248929922761437,
                     0.2789828789163947, 0.11593151565835645) -
           sf_log(x) * i0;
}

SF_INLINE double sf_k1_near(double x)
{
    double t = x * x,
           i1 = x * SF_SERIES(t, 3.580498531407896e-11, 5.639377659085762e-09,
                              6.782013503330661e-07, 5.425342597910106e-05, 0.0026041666975396413,
                              0.0624999999922762, 0.5000000000003153);
    double y = SF_SERIES(t, -9.561177423643432e-11, -1.3984856572870415e-08,
                         -1.5594429487049345e-06, -0.00011253578039363688, -0.0046421830622645575,
                         -0.08537071958059034, -0.3079657578574243, 1.000000000000882) /
                   x +
               sf_log(x) * i1;
    return dpm_pick_f64(x == 0, INFINITY, y);
}

/* Return exp(x) K_0(x) for x > 2. */
SF_INLINE double sf_ke0_far(double x)
{
    double u = 2 / x;
    return sqrt(u) * SF_SERIES(u, -0.00014995543883420482, 0.0008730337337167681,
                               -0.002328124143657299, 0.003913288909547089, -0.005008435704827485,
                               0.005930552306957684, -0.008075403791842017, 0.015575434853508928,
                               -0.05538909902556986, 0.8862269195135206);
}

SF_INLINE double sf_ke1_far(double x)
{
    double u = 2 / x;
    return sqrt(u) * SF_SERIES(u, 0.00017821477493793755, -0.0010411890167008658,
                               0.002793106422999763, -0.004746329191264386, 0.006204615383917892,
                               -0.00766012249730091, 0.011314622667636876, -0.0259604498232303,
                               0.16616744929400223, 0.8862269425360452);
}

#define SF_K_(n)                                                                                   \
    DPM_INLINE float pw_k##n##_f32(float x)                                                        \
    {                                                                                              \
        double far = sf_ke##n##_far(x) * sf_exp(-(double)x), near = sf_k##n##_near(x);             \
        return (float)dpm_pick_f64(x <= 2, near, far);                                             \
    }                                                                                              \
    DPM_INLINE float pw_k##n##e_f32(float x)                                                       \
    {                                                                                              \
        double far = sf_ke##n##_far(x), near = sf_k##n##_near(x) * sf_exp(x);                      \
        return (float)dpm_pick_f64(x <= 2, near, far);                                             \
    }
SF_K_(0)
SF_K_(1)
#undef SF_K_

/* -- Bessel functions, below and above 5 --
 *
 * pw_j0_near_f32() and so on are for x at which pw_bessel_far_f32() is 0, as in lib/math.h. */

DPM_INLINE uint64_t pw_bessel_far_f32(float x)
{
    return dpm_far_f64(x);
}

/* parts of a Bessel function for large a: `sum` is sin a + cos a, `difference` is sin a - cos a,
 * and the function is p times one of these, plus or minus q times the other */
typedef struct sf_wave {
    double p, q, sum, difference;
} sf_wave;

SF_INLINE sf_wave sf_wave_at(double a, double u, double p, double q)
{
    double sine = sf_sin(a), cosine = sf_cos(a), root = sqrt(u);
    return (sf_wave){p * root, q * root * u, sine + cosine, sine - cosine};
}

SF_INLINE sf_wave sf_wave0(double a)
{
    double u = 5 / a, s = u * u;
    return sf_wave_at(a, u,
                      SF_SERIES(s, 2.0716087061168682e-07, -1.0786955726299983e-06,
                                3.117505369794383e-06, -9.015566517664456e-06,
                                4.524176311629288e-05, -0.0007096289995113123, 0.25231325218160267),
                      SF_SERIES(s, -1.7932723340944824e-07, 8.868591697768323e-07,
                                -2.300526061344899e-06, 5.345170869577383e-06,
                                -1.8302281361348847e-05, 0.0001478377710318357,
                                -0.006307831284638194));
}

SF_INLINE sf_wave sf_wave1(double a)
{
    double u = 5 / a, s = u * u;
    return sf_wave_at(a, u,
                      SF_SERIES(s, -2.316793031611963e-07, 1.2141810114380535e-06,
                                -3.562052131314926e-06, 1.0673510802291013e-05,
                                -5.8174281082751817e-05, 0.0011827161410493214, 0.2523132522245149),
                      SF_SERIES(s, 1.9899768493116474e-07, -9.89005964125057e-07,
                                2.5939158734848227e-06, -6.181693043293279e-06,
                                2.2373849130123698e-05, -0.00020697349626353103,
                                0.018923493892788388));
}

SF_INLINE double sf_j0_near(double t)
{
    return (t - 5.783185962946784) *
           SF_SERIES(t, -2.150800024219037e-17, 8.905324488946282e-15, -2.3416850520566504e-12,
                     4.5724941784528e-10, -6.517085307529434e-08, 6.4047785312981296e-06,
                     -0.00039698771384194645, 0.013329146149097944, -0.1729150690289957);
}

/* Return J_1(sqrt(t)) / sqrt(t), for t <= 25; sf_j0_near() returns J_0(sqrt(t)). */
SF_INLINE double sf_j1_near(double t)
{
    return (t - 14.681970642123893) *
           SF_SERIES(t, -1.082692727586843e-18, 4.865416445842337e-16, -1.4246707477018927e-13,
                     3.153723762852369e-11, -5.188254404452026e-09, 6.019937382292553e-07,
                     -4.5415014159668065e-05, 0.001937384753926764, -0.034055373913114265);
}

DPM_INLINE float pw_j0_near_f32(float x)
{
    double a = dpm_abs_f32(x), near = sf_j0_near(a * a);
    sf_wave w = sf_wave0(a);
    return (float)dpm_pick_f64(a <= 5, near, w.p * w.sum - w.q * w.difference);
}

DPM_INLINE float pw_j1_near_f32(float x)
{
    double a = dpm_abs_f32(x), near = a * sf_j1_near(a * a);
    sf_wave w = sf_wave1(a);
    double y = dpm_pick_f64(a <= 5, near, w.p * w.difference + w.q * w.sum);
    return (float)dpm_pick_f64(x < 0, -y, y);
}

DPM_INLINE float pw_y0_near_f32(float x)
{
    double a = x, t = a * a, l = M_2_PI * sf_log(a);
    double near = l * sf_j0_near(t) + SF_SERIES(t, 3.9203124965997684e-17, -1.6170897010092678e-14,
                                                4.1217311753124525e-12, -7.689257215198833e-10,
                                                1.0358059545696155e-07, -9.494977491602048e-06,
                                                0.0005386025607182459, -0.016073967819176936,
                                                0.17760601671264964, -0.07380429508914046);
    sf_wave w = sf_wave0(a);
    return (float)dpm_pick_f64(a <= 5, near, w.p * w.difference + w.q * w.sum);
}

DPM_INLINE float pw_y1_near_f32(float x)
{
    double a = x, t = a * a, l = M_2_PI * sf_log(a);
    double near =
        a * (l * sf_j1_near(t) +
             SF_SERIES(t, -6.919157248575936e-16, 2.530601498724079e-13, -5.6187402086647e-11,
                       8.92762926146873e-09, -9.926376205897256e-07, 7.164251140482858e-05,
                       -0.002955304908848461, 0.05434868776074923, -0.1960570905845708)) -
        M_2_PI / a;
    sf_wave w = sf_wave1(a);
    near = dpm_pick_f64(a == 0, -INFINITY, near);
    return (float)dpm_pick_f64(a <= 5, near, w.q * w.difference - w.p * w.sum);
}

DPM_INLINE float pw_spherical_j0_near_f32(float x)
{
    double y = sf_sin(x) / x;
    return (float)dpm_pick_f64(x == 0, 1, y);
}

#define SF_WAVE_(name, far)                                                                        \
    static float pw_##name##_f32(float x)                                                          \
    {                                                                                              \
        return pw_bessel_far_f32(x) ? (float)far : pw_##name##_near_f32(x);                        \
    }
SF_WAVE_(j0, sf_bessel_j(0, x))
SF_WAVE_(j1, sf_bessel_j(1, x))
SF_WAVE_(y0, sf_bessel_y(0, x))
SF_WAVE_(y1, sf_bessel_y(1, x))
SF_WAVE_(spherical_j0, sf_spherical_j0(x))
#undef SF_WAVE_

/* -- ln |gamma(x)| -- */

/* Return sin(pi f), where f is the distance of a number from the nearest integer. */
SF_INLINE double sf_sin_pi(double f)
{
    return f * SF_SERIES(f * f, -0.007028303855203096, 0.08205035020147247, -0.599252186531583,
                         2.550163317938427, -5.167712764593, 3.141592653536132);
}

/* Return ln |gamma(x)|.  If a = |x| is less than 3, a polynomial around the roots is used, at a or
 * a + 1; else Stirling's series at a + 4.  The product of the steps between, and the term of the
 * reflection, share one logarithm. */
DPM_INLINE float pw_lgamma_f32(float x)
{
    const double grid = 0x1.8p52;
    double a = dpm_abs_f32(x), b = dpm_pick_f64(a < 1, a + 1, a), y = a + 4, u = 1 / y, s = u * u;
    double near =
        (b - 1) * (b - 2) *
        SF_SERIES(b, 1.1660443077755724e-06, -3.9762848964892475e-05, 0.0006333876522691971,
                  -0.006258825411721712, 0.04296776658626583, -0.2174831706591681,
                  0.8404715745262081, -2.5334944000769304, 6.032772552361773, -11.419761555560973,
                  17.203372281367134, -20.547925949139483, 19.293672035095817, -14.0559595517404,
                  7.832181571853244, -3.374366842246941, 1.4864333870827966);
    double far = (y - 0.5) * sf_log(y) - y + 0.91893853320467274178 +
                 u * (1. / 12 - s * (1. / 360 - s * (1. / 1260 - s / 1680)));
    double steps =
        dpm_pick_f64(a < 3, dpm_pick_f64(a < 1, a, 1), a * (a + 1) * ((a + 2) * (a + 3)));
    double f = dpm_pick_f64(a < 0x1p51, a - (a + grid - grid), 0);
    double mirrored = M_PI * steps / (a * dpm_abs_f64(sf_sin_pi(f)));
    double value = dpm_pick_f64(a < 3, near, far);
    double rest = sf_log(dpm_pick_f64(x < 0, mirrored, steps));

    value = dpm_pick_f64(x < 0, rest - value, value - rest);
    return (float)dpm_pick_f64(a == INFINITY, INFINITY, value);
}

/* -- the inverse of the normal distribution: around 1/2, and by sqrt(-2 ln p) towards 0 -- */

DPM_INLINE float pw_ndtri_f32(float x)
{
    double p = x, low = dpm_pick_f64(p > 0.5, 1 - p, p), y = p - 0.5;
    double middle =
        y * SF_SERIES(y * y, 2187964.4453346226, -1008051.8977719779, 233648.091406997,
                      -27102.0264222575, 2734.231409969872, 41.05316509676136, 50.27278764257255,
                      15.612160104484099, 5.773015500805555, 2.6249333718959535, 2.506628275522511);
    double a = sqrt(-2 * sf_log(low)), u = 1 / (a + 5.4);
    double tail =
        a + SF_SERIES(u, -248833021730.5807, 251237655315.97592, -116151544011.9815,
                      32418504584.956333, -6073523943.119523, 803298230.1918216, -76788159.90259081,
                      5330168.982367501, -265646.44415805885, 9090.339678237382,
                      -202.53499103548432, -1.9357085930176838, -0.03004425459205109);

    tail = dpm_pick_f64(low == 0, INFINITY, tail);
    tail = dpm_pick_f64(p > 0.5, tail, -tail);
    return (float)dpm_pick_f64(low > 0.13533528323661269189, middle, tail);
}

#endif
