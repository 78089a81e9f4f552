/* normal_fill.c -- normal numbers computed from uniform numbers, 16 at a time.  As in PyTorch,
 * every operation of bfloat16 rounds to bfloat16, and for float16 only those operations round whose
 * results PyTorch stores in a variable. */
#include "normal_fill.h"
#include "core/dense.h"

enum { STEP = 16, HALF = STEP / 2 };

static float same_float(float x)
{
    return x;
}

static float to_bfloat16(float x)
{
    return dp_bfloat16_to_float(dp_float_to_bfloat16(x));
}

static float to_float16(float x)
{
    return dp_float16_to_float(dp_float_to_float16(x));
}

/* Define the conversion for one dtype.  T is the type of arithmetic, S the type in memory.  R
 * rounds the result of an operation, V the value of a variable. */
#define NORMAL(name, T, S, get, put, R, V, end)                                                    \
    static void name(void *data, int64_t n, double mean, double deviation)                         \
    {                                                                                              \
        S *x = data;                                                                               \
        T m = V((T)mean), s = V((T)deviation);                                                     \
        for (int64_t i = 0; i < n; i += STEP)                                                      \
            for (int64_t j = i; j < i + HALF; j++) {                                               \
                T u1 = V((T)1 - get(x[j])), u2 = get(x[j + HALF]);                                 \
                T radius = V(sqrt##end(R(-2 * R(log##end(u1)))));                                  \
                T theta = V((T)(2.0 * M_PI * (double)u2));                                         \
                x[j] = put(R(R(R(radius * R(cos##end(theta))) * s) + m));                          \
                x[j + HALF] = put(R(R(R(radius * R(sin##end(theta))) * s) + m));                   \
            }                                                                                      \
    }
NORMAL(normal_bf16, float, uint16_t, dp_bfloat16_to_float, dp_float_to_bfloat16, to_bfloat16,
       to_bfloat16, f)
NORMAL(normal_f16, float, uint16_t, dp_float16_to_float, dp_float_to_float16, same_float,
       to_float16, f)

void normal_from_uniform(dp_dtype dtype, void *x, int64_t n, double mean, double deviation)
{
    if (dtype == DP_FLOAT32 || dtype == DP_FLOAT64)
        CPU_CHOSEN(normal_loops)[dtype == DP_FLOAT64](x, n, mean, deviation);
    else if (dtype == DP_BFLOAT16)
        normal_bf16(x, n, mean, deviation);
    else
        normal_f16(x, n, mean, deviation);
}
