/* test_math.c -- plugins/lib/math.h: how wrong its functions are, their values at the ends of their
 * domains, and that every vector level gives the same bits.
 *
 * MATH_STRIDE=n looks at every n-th float (1: all); MATH_SHOW=1 prints the largest errors. */
#include "../../lib/math_loops.h"
#include "unit.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 1021 /* odd, so that loops have tails */

typedef struct function {
    const char *name;
    double limit; /* in ulp */
    long double (*exact)(long double, long double);
} function;

static long double sigmoidl(long double x)
{
    return 1 / (1 + expl(-x));
}

/* glibc's powl(-infinity, -0x1p63) is infinity. */
static long double power(long double a, long double b)
{
    return isinf(a) || isinf(b) ? (long double)pow((double)a, (double)b) : powl(a, b);
}
#define powl power

static long double rem_floorl(long double a, long double b)
{
    long double r = fmodl(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* of doubles: (a - r) / b is a whole number, which may have too many digits */
static long double div_floorl(long double a, long double b)
{
    long double r = fmodl(a, b), q = (a - r) / b - (r != 0 && (r < 0) != (b < 0));
    return b == 0 ? a / b : q == 0 ? copysignl(0, a / b) : rintl(q);
}

#define UNARY_EXACT(name, ulps)                                                                    \
    static long double exact_##name(long double a, long double b)                                  \
    {                                                                                              \
        (void)b;                                                                                   \
        return name##l(a);                                                                         \
    }
#define BINARY_EXACT(name, ulps)                                                                   \
    static long double exact_##name(long double a, long double b)                                  \
    {                                                                                              \
        return name##l(a, b);                                                                      \
    }
MATH_UNARY(UNARY_EXACT)
MATH_BINARY(BINARY_EXACT)
MATH_QUOTIENT(BINARY_EXACT)

#define FUNCTION(name, ulps) {#name, ulps, exact_##name},
#define COUNT(name, ulps)    +1
static const function functions[] = {MATH_UNARY(FUNCTION) MATH_BINARY(FUNCTION)
                                         MATH_QUOTIENT(FUNCTION)};
enum { UNARY = 0 MATH_UNARY(COUNT), FUNCTIONS = UNARY MATH_BINARY(COUNT) MATH_QUOTIENT(COUNT) };

static const math_loop *levels[3];
static int n_levels;

static void find_levels(void)
{
    n_levels = 0;
    levels[n_levels++] = math_loops_v1;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        levels[n_levels++] = math_loops_v3;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        levels[n_levels++] = math_loops_v4;
#endif
}

/* The distance of a type's numbers around x: `digits` stored digits, `least` the smallest exponent.
 * */
static double spacing(double x, int digits, int least)
{
    uint64_t u;

    memcpy(&u, &x, sizeof(u));
    int e = (int)(u >> 52 & 0x7ff) - 1023;
    e = (e < least ? least : e) - digits;
    if (e < -1022)
        return ldexp(1, e);
    u = (uint64_t)(e + 1023) << 52;
    memcpy(&x, &u, sizeof(x));
    return x;
}

/* In units of the last place; 0 if both are the same infinity, NaN or zero. */
static double error(double got, long double want, int digits, int least, double most)
{
    double rounded = (double)want;

    if (isnan(got) || isnan(rounded))
        return isnan(got) && isnan(rounded) ? 0 : INFINITY;
    if (fabsl(want) > most * (1 + ldexp(0.5, -digits - 1)))
        rounded = copysign(INFINITY, rounded);
    if (isinf(got) || isinf(rounded))
        return got == rounded                                                 ? 0
               : fabsl(want) > most * 0.999999 && fabs(got) > most * 0.999999 ? 1
                                                                              : INFINITY;
    if (want == 0)
        return got == 0 && !signbit(got) == !signbit(rounded) ? 0 : INFINITY;
    return (double)(fabsl((long double)got - want) / spacing(rounded, digits, least));
}

static uint64_t random_bits(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Any bits, or numbers of the sizes where functions bend. */
static double random_double(uint64_t *state)
{
    static const double scale[] = {1e-3, 0.5, 1, 2, 7, 30, 750, 1e6};
    uint64_t u = random_bits(state), kind = random_bits(state) % 16;
    double x, unit = (double)(u >> 11) * 0x1p-52 - 1;

    memcpy(&x, &u, sizeof(x));
    return kind < 4 ? x : kind < 6 ? 1 + unit * 0.5 : unit * scale[kind % 8];
}

static const double ends[] = {
    0,           0x1p-149, 0x1p-127, FLT_MIN, 0x1p-1074, 0x1p-1023,   DBL_MIN,     0x1p-60,
    0x1p-30,     0.25,     0.5,      0.75,    1,         1 - 0x1p-24, 1 + 0x1p-23, 1 - 0x1p-53,
    1 + 0x1p-52, 1.5,      2,        3,       4,         8,           10,          16,
    17,          20,       64,       87.3365, 88.7228,   88.73,       89.4,        103.97,
    104.1,       128,      149,      151,     708.3964,  709.7827,    709.79,      710.4758,
    710.48,      745.13,   745.2,    1000,    1024,      1075,        2097153,     0x1p24,
    0x1p31,      0x1p53,   0x1p63,   1e9,     1e22,      1e30,        FLT_MAX,     DBL_MAX,
    INFINITY,    NAN,      M_PI,     M_PI_2,  M_PI_4,    M_LN2,       M_E,         0x1p127,
    0x1p1023};
#define N_ENDS (2 * (int)(sizeof(ends) / sizeof(ends[0])))

static double end(int i)
{
    return i % 2 ? -ends[i / 2] : ends[i / 2];
}

static bool same_f64(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

static bool same_f32(float a, float b)
{
    return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

/* Runs every level on a block; all must agree.  The last one's results stay in out. */
static void run_f32(int f, float *out, const float *a, const float *b, size_t n, int first)
{
    float other[BLOCK];

    levels[n_levels - 1][f].f32(out, a, b, n);
    for (int k = first; k < n_levels - 1; k++) {
        levels[k][f].f32(other, a, b, n);
        for (size_t i = 0; i < n; i++)
            unit_each(same_f32(out[i], other[i]), "%s(%a, %a): level %d gives %a, level %d %a",
                      functions[f].name, (double)a[i], (double)b[i], k, (double)other[i],
                      n_levels - 1, (double)out[i]);
    }
}

static void run_f64(int f, double *out, const double *a, const double *b, size_t n, int first)
{
    double other[BLOCK];

    levels[n_levels - 1][f].f64(out, a, b, n);
    for (int k = first; k < n_levels - 1; k++) {
        levels[k][f].f64(other, a, b, n);
        for (size_t i = 0; i < n; i++)
            unit_each(same_f64(out[i], other[i]), "%s(%a, %a): level %d gives %a, level %d %a",
                      functions[f].name, a[i], b[i], k, other[i], n_levels - 1, out[i]);
    }
}

static double check_f64(int f, const double *a, const double *b, size_t n, double worst, int first)
{
    double out[BLOCK];

    run_f64(f, out, a, b, n, first);
    for (size_t i = 0; i < n; i++) {
        long double want = functions[f].exact(a[i], b[i]);
        double e = error(out[i], want, 52, -1022, DBL_MAX);
        unit_each(e <= functions[f].limit, "%s(%a, %a) = %a, not %La: %g ulp", functions[f].name,
                  a[i], b[i], out[i], want, e);
        worst = e > worst ? e : worst;
    }
    return worst;
}

/* error() for floats; nearly all of them are not special. */
static double error_f32(float got, double want)
{
    float w = (float)want;
    double size = fabs(want);
    uint64_t u;

    if ((w == 0 || w - w != 0) && same_f32(got, w))
        return 0;
    if (!(size >= 0x1p-126 && size < 0x1p127 && fabsf(got) <= FLT_MAX))
        return error(got, want, 23, -126, FLT_MAX);
    memcpy(&u, &size, sizeof(u));
    u &= UINT64_C(0x7ff) << 52;
    memcpy(&size, &u, sizeof(size));
    return fabs(got - want) / size * 0x1p23;
}

/* The exact value is taken from math.h's double functions, which other tests check. */
static double check_f32(int f, const float *a, const float *b, size_t n, double worst, int first)
{
    float out[BLOCK];
    double da[BLOCK], db[BLOCK], want[BLOCK];

    run_f32(f, out, a, b, n, first);
    for (size_t i = 0; i < n; i++)
        da[i] = a[i], db[i] = b[i];
    levels[n_levels - 1][f].f64(want, da, db, n);
    for (size_t i = 0; i < n; i++) {
        double e = error_f32(out[i], want[i]);
        unit_each(e <= functions[f].limit, "%s(%a, %a) = %a, not %a: %g ulp", functions[f].name,
                  da[i], db[i], (double)out[i], want[i], e);
        worst = e > worst ? e : worst;
    }
    return worst;
}

static void show(int f, const char *type, double worst)
{
    if (getenv("MATH_SHOW"))
        printf("%-10s %s %.3f ulp\n", functions[f].name, type, worst);
}

START_TEST(math_doubles_are_right_and_the_same_on_every_level)
{
    double a[BLOCK], b[BLOCK], worst = 0;
    uint64_t state = (uint64_t)_i;

    find_levels();
    for (int round = 0; round < 100; round++) {
        for (size_t i = 0; i < BLOCK; i++)
            a[i] = random_double(&state), b[i] = random_double(&state);
        worst = check_f64(_i, a, b, BLOCK, worst, round % 8 ? n_levels - 1 : 0);
    }
    for (int i = 0; i < N_ENDS; i++) {
        for (int j = 0; j < N_ENDS; j++)
            a[j] = end(i), b[j] = end(j);
        worst = check_f64(_i, a, b, _i < UNARY ? 1 : N_ENDS, worst, 0);
    }
    show(_i, "f64", worst);
}
END_TEST

START_TEST(math_floats_are_right_and_the_same_on_every_level)
{
    const char *text = getenv("MATH_STRIDE");
    uint64_t stride = text ? strtoul(text, NULL, 10) : 97, state = (uint64_t)_i;
    float a[BLOCK], b[BLOCK];
    double worst = 0;
    size_t n = 0, blocks = 0;

    find_levels();
    for (uint64_t u = 0; u < UINT64_C(1) << 32; u += stride) {
        uint32_t bits = (uint32_t)u;
        memcpy(&a[n], &bits, sizeof(a[n]));
        b[n] = _i < UNARY ? 0 : (float)random_double(&state);
        if (++n < BLOCK)
            continue;
        worst = check_f32(_i, a, b, n, worst, blocks++ % 64 ? n_levels - 1 : 0);
        n = 0;
    }
    worst = check_f32(_i, a, b, n, worst, 0);
    for (int i = 0; i < N_ENDS; i++) {
        for (int j = 0; j < N_ENDS; j++)
            a[j] = (float)end(i), b[j] = (float)end(j);
        worst = check_f32(_i, a, b, _i < UNARY ? 1 : N_ENDS, worst, 0);
    }
    show(_i, "f32", worst);
}
END_TEST

UNIT_SUITE(math)
{
    tcase_set_tags(tc, "not_valgrind"); /* the wanted values are long double */
    tcase_add_loop_test(tc, math_doubles_are_right_and_the_same_on_every_level, 0, FUNCTIONS);
    tcase_add_loop_test(tc, math_floats_are_right_and_the_same_on_every_level, 0, FUNCTIONS);
}
