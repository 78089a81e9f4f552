/* math_bits.c -- a hash of what each function of plugins/lib/math.h and
 * complex.h gives for the same numbers: machines of two kinds must print the
 * same lines (arm64.sh). */
#include "math_loops.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { N = 4096, ROUNDS = 20 };

static uint64_t state;

static uint64_t random_bits(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* Any bits, or numbers up to 2, 40 or 800. */
static double any_f64(void)
{
    static const double sizes[] = {0, 2, 40, 800};
    uint64_t u = random_bits(), kind = random_bits() % 4;
    double x = (double)(int64_t)u * 0x1p-63 * sizes[kind];

    if (kind == 0)
        memcpy(&x, &u, sizeof(x));
    return x;
}

static float any_f32(void)
{
    static const float sizes[] = {0, 2, 40, 100};
    uint64_t u = random_bits(), kind = random_bits() % 4;
    float x = (float)((double)(int64_t)u * 0x1p-63) * sizes[kind];

    if (kind == 0)
        memcpy(&x, &u, sizeof(x));
    return x;
}

/* All NaN are one: their bits are the machine's. */
#define HASH(name, type)                                                                           \
    static uint64_t hash_##name(uint64_t h, const type *x, size_t n)                               \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            uint64_t bits = 0;                                                                     \
            memcpy(&bits, &x[i], sizeof(x[i]));                                                    \
            h = (h ^ (isnan(x[i]) ? 1 : bits)) * 0x100000001b3;                                    \
        }                                                                                          \
        return h;                                                                                  \
    }
HASH(any_f32, float)
HASH(any_f64, double)

/* Every second round is of small numbers alone, which loops have forms for. */
#define OF(name, type, any, each, ...)                                                             \
    static uint64_t of_##name(__VA_ARGS__)                                                         \
    {                                                                                              \
        static type a[2 * N], b[2 * N], out[2 * N];                                                \
        uint64_t h = 1;                                                                            \
        state = 0;                                                                                 \
        for (int round = 0; round < ROUNDS; round++) {                                             \
            for (int i = 0; i < 2 * N; i++) {                                                      \
                a[i] = any(), b[i] = any();                                                        \
                if (round % 2 && !(fabs((double)a[i]) < 1000 && fabs((double)b[i]) < 1000))        \
                    a[i] = 1, b[i] = 2;                                                            \
            }                                                                                      \
            each;                                                                                  \
            h = hash_##any(h, out, 2 * N);                                                         \
        }                                                                                          \
        return h;                                                                                  \
    }
OF(f32, float, any_f32, fn(out, a, b, 2 * N),
   void (*fn)(float *, const float *, const float *, size_t))
OF(f64, double, any_f64, fn(out, a, b, 2 * N),
   void (*fn)(double *, const double *, const double *, size_t))
OF(c64, float, any_f32, fn((float _Complex *)out, (const float _Complex *)a, N),
   void (*fn)(float _Complex *, const float _Complex *, size_t))
OF(c128, double, any_f64, fn((double _Complex *)out, (const double _Complex *)a, N),
   void (*fn)(double _Complex *, const double _Complex *, size_t))

int main(void)
{
#define ONE(name, ulps)   +1
#define COMPLEX_ONE(name) +1
    const int n = 0 MATH_UNARY(ONE) MATH_BINARY(ONE) MATH_QUOTIENT(ONE);
    const int n_complex = 0 COMPLEX_PLAIN(COMPLEX_ONE) COMPLEX_TURN(COMPLEX_ONE);

    for (int i = 0; i < n; i++)
        printf("%s %016llx %016llx\n", math_loops_v1[i].name,
               (unsigned long long)of_f32(math_loops_v1[i].f32),
               (unsigned long long)of_f64(math_loops_v1[i].f64));
    for (int i = 0; i < n_complex; i++)
        printf("complex %s %016llx %016llx\n", complex_loops_v1[i].name,
               (unsigned long long)of_c64(complex_loops_v1[i].c64),
               (unsigned long long)of_c128(complex_loops_v1[i].c128));
    return 0;
}
