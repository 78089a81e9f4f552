/* math_loops.c -- see math_loops.h.  MATH_LEVEL is v1, v3 or v4. */
#include "math_loops.h"
#include "../../plugins/lib/complex.h"

#define LOOPS(name, call)                                                                          \
    static void name##_f32(float *restrict out, const float *restrict a, const float *restrict b,  \
                           size_t n)                                                               \
    {                                                                                              \
        (void)b;                                                                                   \
        for (size_t i = 0; i < n; i++)                                                             \
            out[i] = dpm_##name##_f32 call;                                                        \
    }                                                                                              \
    static void name##_f64(double *restrict out, const double *restrict a,                         \
                           const double *restrict b, size_t n)                                     \
    {                                                                                              \
        (void)b;                                                                                   \
        for (size_t i = 0; i < n; i++)                                                             \
            out[i] = dpm_##name##_f64 call;                                                        \
    }
/* As kernels use them: the vector form if no element is far. */
#define TURN_LOOP(name, type, bits, suffix)                                                        \
    static void name##_##suffix(type *restrict out, const type *restrict a,                        \
                                const type *restrict b, size_t n)                                  \
    {                                                                                              \
        bits far = 0;                                                                              \
        (void)b;                                                                                   \
        for (size_t i = 0; i < n; i++)                                                             \
            far |= dpm_far_##suffix(a[i]);                                                         \
        if (far)                                                                                   \
            for (size_t i = 0; i < n; i++)                                                         \
                out[i] = dpm_##name##_##suffix(a[i]);                                              \
        else                                                                                       \
            for (size_t i = 0; i < n; i++)                                                         \
                out[i] = dpm_##name##_near_##suffix(a[i]);                                         \
    }
#define TURN(name, ulps)                                                                           \
    TURN_LOOP(name, float, uint32_t, f32) TURN_LOOP(name, double, uint64_t, f64)
#define UNARY(name, ulps)  LOOPS(name, (a[i]))
#define BINARY(name, ulps) LOOPS(name, (a[i], b[i]))
MATH_PLAIN(UNARY)
MATH_TURN(TURN)
MATH_BINARY(BINARY)

#define QUOTIENT_LOOP(name, type, bits, suffix)                                                    \
    static void name##_##suffix(type *restrict out, const type *restrict a,                        \
                                const type *restrict b, size_t n)                                  \
    {                                                                                              \
        bits far = 0;                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            far |= dpm_quotient_far_##suffix(a[i], b[i]);                                          \
        if (far)                                                                                   \
            for (size_t i = 0; i < n; i++)                                                         \
                out[i] = dpm_##name##_##suffix(a[i], b[i]);                                        \
        else                                                                                       \
            for (size_t i = 0; i < n; i++)                                                         \
                out[i] = dpm_##name##_near_##suffix(a[i], b[i]);                                   \
    }
#define QUOTIENT(name, ulps)                                                                       \
    QUOTIENT_LOOP(name, float, uint32_t, f32) QUOTIENT_LOOP(name, double, uint64_t, f64)
MATH_QUOTIENT(QUOTIENT)

#define ENTRY(name, ulps) {#name, name##_f32, name##_f64},
#define JOIN(a, b)        JOIN_(a, b)
#define JOIN_(a, b)       a##b
const math_loop JOIN(math_loops_,
                     MATH_LEVEL)[] = {MATH_UNARY(ENTRY) MATH_BINARY(ENTRY) MATH_QUOTIENT(ENTRY){0}};

#define COMPLEX_LOOP(name, type, suffix, far_, near)                                               \
    static void name##_##suffix(type _Complex *restrict out, const type _Complex *restrict in,     \
                                size_t n)                                                          \
    {                                                                                              \
        bool far = false;                                                                          \
        if (far_) {                                                                                \
            uint64_t any = 0;                                                                      \
            for (size_t i = 0; i < n; i++)                                                         \
                any |= dpm_far_##suffix(in[i]);                                                    \
            far = any;                                                                             \
        }                                                                                          \
        if (far)                                                                                   \
            for (size_t i = 0; i < n; i++)                                                         \
                out[i] = dpm_##name##_##suffix(in[i]);                                             \
        else                                                                                       \
            for (size_t i = 0; i < n; i++)                                                         \
                out[i] = near(in[i]);                                                              \
    }
#define COMPLEX(name)                                                                              \
    COMPLEX_LOOP(name, float, c64, false, dpm_##name##_c64)                                        \
    COMPLEX_LOOP(name, double, c128, false, dpm_##name##_c128)
#define COMPLEX_TURNED(name)                                                                       \
    COMPLEX_LOOP(name, float, c64, true, dpm_##name##_near_c64)                                    \
    COMPLEX_LOOP(name, double, c128, true, dpm_##name##_near_c128)
COMPLEX_PLAIN(COMPLEX)
COMPLEX_TURN(COMPLEX_TURNED)

#define COMPLEX_ENTRY(name) {#name, name##_c64, name##_c128},
const complex_loop JOIN(complex_loops_, MATH_LEVEL)[] = {COMPLEX_PLAIN(COMPLEX_ENTRY)
                                                             COMPLEX_TURN(COMPLEX_ENTRY){0}};
