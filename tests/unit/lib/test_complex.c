/* test_complex.c -- plugins/lib/complex.h: how wrong its functions are, infinities and NaN, and
 * that every vector level gives the same bits. */
#include "../../../plugins/lib/complex.h"
#include "../../lib/math_loops.h"
#include "unit.h"
#include <stdio.h>
#include <stdlib.h>

#define BLOCK  1021
#define ROUNDS 60
#define LIMIT  8 /* of an error's size, in units of 2^-24 or 2^-53 of the result's */

typedef double _Complex c128;
typedef long double _Complex exact;

static exact clog2l(exact z)
{
    return clogl(z) * 1.44269504088896340735992468100189214L;
}

#undef clog10l /* glibc's is an extension */
static exact log10_(exact z)
{
    return clogl(z) * 0.434294481903251827651128918916605082L;
}
#define clog10l log10_

#define EXACT(name)                                                                                \
    static exact exact_##name(exact z)                                                             \
    {                                                                                              \
        return c##name##l(z);                                                                      \
    }
COMPLEX_PLAIN(EXACT)
COMPLEX_TURN(EXACT)

#define FUNCTION(name) exact_##name,
#define COUNT(name)    +1
static exact (*const functions[])(exact) = {COMPLEX_PLAIN(FUNCTION) COMPLEX_TURN(FUNCTION)};
enum { TURNED = 0 COMPLEX_PLAIN(COUNT), FUNCTIONS = TURNED COMPLEX_TURN(COUNT) };

static const complex_loop *levels[3];
static int n_levels;

static void find_levels(void)
{
    n_levels = 0;
    levels[n_levels++] = complex_loops_v1;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        levels[n_levels++] = complex_loops_v3;
    if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw"))
        levels[n_levels++] = complex_loops_v4;
#endif
}

static double random_part(unsigned *state)
{
    static const double scale[] = {1e-3, 0.1, 1, 3, 8, 1e6};

    double unit = rand_r(state) / (RAND_MAX / 2.0) - 1;
    return unit * scale[rand_r(state) % 6];
}

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

/* Runs every level, which must agree.  The last one's results stay in out. */
static void run_c128(int f, c128 *out, const c128 *in, size_t n)
{
    c128 other[BLOCK];

    levels[n_levels - 1][f].c128(out, in, n);
    for (int k = 0; k < n_levels - 1; k++) {
        levels[k][f].c128(other, in, n);
        for (size_t i = 0; i < n; i++)
            unit_each(same(creal(out[i]), creal(other[i])) && same(cimag(out[i]), cimag(other[i])),
                      "%s(%a%+ai): level %d gives %a%+ai, level %d %a%+ai", levels[0][f].name,
                      creal(in[i]), cimag(in[i]), k, creal(other[i]), cimag(other[i]), n_levels - 1,
                      creal(out[i]), cimag(out[i]));
    }
}

static void run_c64(int f, float _Complex *out, const float _Complex *in, size_t n)
{
    float _Complex other[BLOCK];

    levels[n_levels - 1][f].c64(out, in, n);
    for (int k = 0; k < n_levels - 1; k++) {
        levels[k][f].c64(other, in, n);
        for (size_t i = 0; i < n; i++)
            unit_each(same(crealf(out[i]), crealf(other[i])) &&
                          same(cimagf(out[i]), cimagf(other[i])),
                      "%s(%a%+ai): level %d gives %a%+ai, level %d %a%+ai", levels[0][f].name,
                      crealf(in[i]), cimagf(in[i]), k, crealf(other[i]), cimagf(other[i]),
                      n_levels - 1, crealf(out[i]), cimagf(out[i]));
    }
}

static double error(c128 got, exact want, double unit)
{
    long double off = hypotl(creal(got) - creall(want), cimag(got) - cimagl(want));

    return off == 0 ? 0 : (double)(off / hypotl(creall(want), cimagl(want)) / unit);
}

static double check(int f, c128 in, c128 got, double unit, double worst)
{
    exact want = functions[f](in);
    double e = error(got, want, unit);
    long double size = hypotl(creall(want), cimagl(want));

    if (size > 1e37L || size < 1e-37L)
        return worst; /* parts may not be normal floats */
    unit_each(e <= LIMIT, "%s(%a%+ai) = %a%+ai, not %La%+Lai: %g units of %g", levels[0][f].name,
              creal(in), cimag(in), creal(got), cimag(got), creall(want), cimagl(want), e, unit);
    return e > worst ? e : worst;
}

START_TEST(complex_functions_are_right_and_the_same_on_every_level)
{
    c128 in[BLOCK], out[BLOCK];
    float _Complex in_c64[BLOCK], out_c64[BLOCK];
    unsigned state = (unsigned)_i;
    double worst = 0, worst_c64 = 0;

    find_levels();
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < BLOCK; i++) {
            in[i] = __builtin_complex(random_part(&state), random_part(&state));
            in_c64[i] = (float _Complex)in[i];
        }
        run_c128(_i, out, in, BLOCK);
        run_c64(_i, out_c64, in_c64, BLOCK);
        for (size_t i = 0; i < BLOCK; i++) {
            worst = check(_i, in[i], out[i], 0x1p-53, worst);
            worst_c64 = check(_i, in_c64[i], out_c64[i], 0x1p-24, worst_c64);
        }
    }
    if (getenv("MATH_SHOW"))
        printf("%-8s c128 %.2f c64 %.2f units\n", levels[0][_i].name, worst, worst_c64);
}
END_TEST

static const double ends[] = {0,        -0.0,      1,   -1,    0.5,     100, -2,
                              INFINITY, -INFINITY, NAN, 1e200, -1e-200, 1e30};
enum { ENDS = sizeof(ends) / sizeof(ends[0]) };

static bool alike(double got, double want)
{
    return same(got, want) || (want != 0 && fabs(got - want) <= fabs(want) * 1e-13);
}

/* Of exp PyTorch's ends are those of its formula. */
START_TEST(complex_ends_are_those_of_annex_g)
{
    c128 in[ENDS * ENDS], out[ENDS * ENDS];
    bool is_exp = _i == TURNED;

    find_levels();
    for (int i = 0; i < ENDS * ENDS; i++)
        in[i] = __builtin_complex(ends[i / ENDS], ends[i % ENDS]);
    run_c128(_i, out, in, ENDS * ENDS);
    for (int i = 0; i < ENDS * ENDS; i++) {
        double x = creal(in[i]), y = cimag(in[i]);
        exact e = functions[_i](in[i]);
        c128 want = is_exp ? __builtin_complex(exp(x) * cos(y), exp(x) * sin(y)) : (c128)e;
        unit_each(alike(creal(out[i]), creal(want)) && alike(cimag(out[i]), cimag(want)),
                  "%s(%g%+gi) = %g%+gi, not %g%+gi", levels[0][_i].name, x, y, creal(out[i]),
                  cimag(out[i]), creal(want), cimag(want));
    }
}
END_TEST

#define Z(re, im) __builtin_complex((double)(re), (double)(im))

/* Captured from PyTorch 1.13.1. */
START_TEST(complex_pow_is_exp_of_y_log_x)
{
    static const c128 cases[][3] = {
        {Z(0, 0), Z(0, 0), Z(NAN, NAN)},
        {Z(0, 0), Z(0, 1), Z(NAN, NAN)},
        {Z(0, 0), Z(1, 0), Z(0, 0)},
        {Z(INFINITY, 0), Z(2, 0), Z(INFINITY, NAN)},
        {Z(0, 0), Z(-1, 0), Z(INFINITY, NAN)},
        {Z(1, 2), Z(2, 0), Z(-3, 4)},
        {Z(1, 2), Z(3, 4), Z(0.12900959407446697, 0.03392409290517014)},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        c128 got = dpm_pow_c128(cases[i][0], cases[i][1]), want = cases[i][2];
        unit_each(alike(creal(got), creal(want)) && alike(cimag(got), cimag(want)),
                  "case %zu: %g%+gi, not %g%+gi", i, creal(got), cimag(got), creal(want),
                  cimag(want));
    }
    ck_assert(alike(dpm_abs_c128(Z(3e200, -4e200)), 5e200));
    ck_assert_double_eq(dpm_angle_c128(Z(-1, -0.0)), -M_PI);
    ck_assert_double_nan(dpm_angle_c128(Z(NAN, 0)));
}
END_TEST

UNIT_SUITE(complex)
{
    tcase_set_tags(tc, "not_valgrind"); /* the wanted values are long double */
    tcase_add_loop_test(tc, complex_functions_are_right_and_the_same_on_every_level, 0, FUNCTIONS);
    tcase_add_loop_test(tc, complex_ends_are_those_of_annex_g, 0, FUNCTIONS);
    tcase_add_test(tc, complex_pow_is_exp_of_y_log_x);
}
