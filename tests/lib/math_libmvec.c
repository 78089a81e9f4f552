/* math_libmvec.c -- the loops of math_loops.h with glibc's vector functions, to compare with.
 * MATH_LEVEL is v1, v3 or v4. */
#include "math_loops.h"
#include <math.h>

#define SIMD __attribute__((simd("notinbranch"))) extern

static inline float sigmoidf(float x)
{
    return 1 / (1 + expf(-x));
}

static inline double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

#define LOOPS(name, call)                                                                          \
    static void loop_##name##_f32(float *restrict out, const float *restrict a,                    \
                                  const float *restrict b, size_t n)                               \
    {                                                                                              \
        (void)b;                                                                                   \
        for (size_t i = 0; i < n; i++)                                                             \
            out[i] = name##f call;                                                                 \
    }                                                                                              \
    static void loop_##name##_f64(double *restrict out, const double *restrict a,                  \
                                  const double *restrict b, size_t n)                              \
    {                                                                                              \
        (void)b;                                                                                   \
        for (size_t i = 0; i < n; i++)                                                             \
            out[i] = name call;                                                                    \
    }
#define UNARY(name, ulps)                                                                          \
    SIMD double name(double);                                                                      \
    SIMD float name##f(float);                                                                     \
    LOOPS(name, (a[i]))
#define BINARY(name, ulps)                                                                         \
    SIMD double name(double, double);                                                              \
    SIMD float name##f(float, float);                                                              \
    LOOPS(name, (a[i], b[i]))
MATH_UNARY(UNARY)
MATH_BINARY(BINARY)

#define ENTRY(name, ulps) {#name, loop_##name##_f32, loop_##name##_f64},
#define JOIN(a, b)        JOIN_(a, b)
#define JOIN_(a, b)       a##b
const math_loop JOIN(math_libmvec_, MATH_LEVEL)[] = {MATH_UNARY(ENTRY) MATH_BINARY(ENTRY){0}};
