/* normal_fill.c -- the conversion of uniform numbers in [0, 1) to normal numbers, 16 at a time, by
 * Box and Muller's method, in float32 and float64. */
#include "random/normal_fill.h"
#include "lib/math.h"
#include <math.h>

enum { STEP = 16, HALF = STEP / 2, BLOCK = 128 };

/* Define the conversion of n numbers, 2 * `half` at a time, so that loops are as wide as
 * vectors. */
#define NORMAL(T, E, root)                                                                         \
    static void normal_##E(void *data, int64_t n, double mean, double deviation)                   \
    {                                                                                              \
        T *x = data, m = (T)mean, s = (T)deviation, u1[BLOCK], u2[BLOCK], a[BLOCK], b[BLOCK];      \
        for (int64_t at = 0; at < n; at += 2 * BLOCK) {                                            \
            int64_t pairs = (n - at < 2 * BLOCK ? n - at : 2 * BLOCK) / 2;                         \
            for (int64_t i = 0; i < pairs; i += HALF)                                              \
                for (int j = 0; j < HALF; j++) {                                                   \
                    u1[i + j] = 1 - x[at + 2 * i + j];                                             \
                    u2[i + j] = x[at + 2 * i + HALF + j];                                          \
                }                                                                                  \
            for (int64_t i = 0; i < pairs; i++) {                                                  \
                T radius = root(-2 * dpm_log_##E(u1[i]));                                          \
                T theta = (T)(2.0 * M_PI * (double)u2[i]);                                         \
                a[i] = radius * dpm_cos_near_##E(theta) * s + m;                                   \
                b[i] = radius * dpm_sin_near_##E(theta) * s + m;                                   \
            }                                                                                      \
            for (int64_t i = 0; i < pairs; i += HALF)                                              \
                for (int j = 0; j < HALF; j++) {                                                   \
                    x[at + 2 * i + j] = a[i + j];                                                  \
                    x[at + 2 * i + HALF + j] = b[i + j];                                           \
                }                                                                                  \
        }                                                                                          \
    }
NORMAL(float, f32, sqrtf)
NORMAL(double, f64, sqrt)

const normal_fn DP_ISA_NAME(normal_loops)[] = {normal_f32, normal_f64};
