/* loops/math.h -- the functions in the expressions of pointwise.yaml: exp(x) in an expression is
 * pw_exp_f32(x) for float32, and so on for each suffix of types.h.
 *
 * Each function gives the same bits for every position of an element in a loop and on every vector
 * level: it is either inline code that consists of single IEEE operations, or a call that is never
 * vectorized. */
#ifndef CPU_LOOPS_MATH_H
#define CPU_LOOPS_MATH_H

#pragma GCC diagnostic ignored "-Wunused-function"
/* An expression is compiled for signed and unsigned types, where x < 0 is always false. */
#pragma GCC diagnostic ignored "-Wtype-limits"

#include "lib/math.h"
#include "types.h"

/* -- functions of the C library for float and double -- */

#define PW_LIBM1_(name)                                                                            \
    static inline float pw_##name##_f32(float x)                                                   \
    {                                                                                              \
        return name##f(x);                                                                         \
    }                                                                                              \
    static inline double pw_##name##_f64(double x)                                                 \
    {                                                                                              \
        return name(x);                                                                            \
    }
#define PW_LIBM2_(name)                                                                            \
    static inline float pw_##name##_f32(float x, float y)                                          \
    {                                                                                              \
        return name##f(x, y);                                                                      \
    }                                                                                              \
    static inline double pw_##name##_f64(double x, double y)                                       \
    {                                                                                              \
        return name(x, y);                                                                         \
    }
PW_LIBM1_(sqrt)
PW_LIBM1_(fabs)
PW_LIBM1_(floor)
PW_LIBM1_(ceil)
PW_LIBM1_(trunc)
PW_LIBM1_(rint)
PW_LIBM2_(copysign)

static inline double pw_nextafter_f64(double x, double y, double limit)
{
    (void)limit;
    return nextafter(x, y);
}
/* Return the number of the dtype after `x` towards `y`.  `limit` is the largest number of the
 * dtype; it tells float32, float16 and bfloat16 apart, which are all computed here. */
static inline float pw_nextafter_f32(float x, float y, float limit)
{
    bool half = limit == 65504;

    if (limit == FLT_MAX || x != x || y != y || x == y)
        return nextafterf(x, y);
    uint16_t u = half ? dp_float_to_float16(x) : dp_float_to_bfloat16(x);
    u = x == 0 ? (uint16_t)(1 | (y < 0) << 15) : (uint16_t)((y > x) == (x > 0) ? u + 1 : u - 1);
    return half ? dp_float16_to_float(u) : dp_bfloat16_to_float(u);
}

/* -- functions of lib/math.h -- */

#define PW_OURS1_(name)                                                                            \
    DPM_INLINE float pw_##name##_f32(float x)                                                      \
    {                                                                                              \
        return dpm_##name##_f32(x);                                                                \
    }                                                                                              \
    DPM_INLINE double pw_##name##_f64(double x)                                                    \
    {                                                                                              \
        return dpm_##name##_f64(x);                                                                \
    }
#define PW_OURS2_(name)                                                                            \
    DPM_INLINE float pw_##name##_f32(float x, float y)                                             \
    {                                                                                              \
        return dpm_##name##_f32(x, y);                                                             \
    }                                                                                              \
    DPM_INLINE double pw_##name##_f64(double x, double y)                                          \
    {                                                                                              \
        return dpm_##name##_f64(x, y);                                                             \
    }
PW_OURS1_(exp)
PW_OURS1_(expm1)
PW_OURS1_(exp2)
PW_OURS1_(log)
PW_OURS1_(log1p)
PW_OURS1_(log2)
PW_OURS1_(log10)
PW_OURS1_(asin)
PW_OURS1_(acos)
PW_OURS1_(atan)
PW_OURS1_(sinh)
PW_OURS1_(cosh)
PW_OURS1_(tanh)
PW_OURS1_(asinh)
PW_OURS1_(acosh)
PW_OURS1_(atanh)
PW_OURS1_(erf)
PW_OURS1_(erfc)
PW_OURS1_(sigmoid)
PW_OURS1_(sin)
PW_OURS1_(cos)
PW_OURS1_(tan)
PW_OURS1_(sin_near)
PW_OURS1_(cos_near)
PW_OURS1_(tan_near)
PW_OURS2_(pow)
PW_OURS2_(atan2)
PW_OURS2_(hypot)
PW_OURS2_(fmod)
PW_OURS2_(fmod_near)
PW_OURS2_(rem_floor)
PW_OURS2_(rem_floor_near)
PW_OURS2_(div_floor)
PW_OURS2_(div_floor_near)

/* Return nonzero if the functions above with `near` in their names do not take the argument. */
DPM_INLINE uint64_t pw_far_f32(float x)
{
    return dpm_far_f32(x);
}
DPM_INLINE uint64_t pw_far_f64(double x)
{
    return dpm_far_f64(x);
}
DPM_INLINE uint64_t pw_quotient_far_f32(float x, float y)
{
    return dpm_quotient_far_f32(x, y);
}
DPM_INLINE uint64_t pw_quotient_far_f64(double x, double y)
{
    return dpm_quotient_far_f64(x, y);
}

/* -- complex numbers -- */

#define PW_CLIBM1_(name)                                                                           \
    static inline float _Complex pw_##name##_c64(float _Complex x)                                 \
    {                                                                                              \
        return c##name##f(x);                                                                      \
    }                                                                                              \
    static inline double _Complex pw_##name##_c128(double _Complex x)                              \
    {                                                                                              \
        return c##name(x);                                                                         \
    }
PW_CLIBM1_(log)
PW_CLIBM1_(sqrt)
PW_CLIBM1_(sin)
PW_CLIBM1_(cos)
PW_CLIBM1_(tan)
PW_CLIBM1_(asin)
PW_CLIBM1_(acos)
PW_CLIBM1_(atan)
PW_CLIBM1_(sinh)
PW_CLIBM1_(cosh)
PW_CLIBM1_(tanh)
PW_CLIBM1_(asinh)
PW_CLIBM1_(acosh)
PW_CLIBM1_(atanh)
static inline float _Complex pw_pow_c64(float _Complex x, float _Complex y)
{
    return cpowf(x, y);
}
static inline double _Complex pw_pow_c128(double _Complex x, double _Complex y)
{
    return cpow(x, y);
}

DPM_INLINE float _Complex pw_exp_c64(float _Complex x)
{
    float size = dpm_exp_f32(crealf(x)), turn = cimagf(x);
    return __builtin_complex(size * dpm_cos_f32(turn), size * dpm_sin_f32(turn));
}
DPM_INLINE double _Complex pw_exp_c128(double _Complex x)
{
    double size = dpm_exp_f64(creal(x)), turn = cimag(x);
    return __builtin_complex(size * dpm_cos_f64(turn), size * dpm_sin_f64(turn));
}
DPM_INLINE float _Complex pw_exp_near_c64(float _Complex x)
{
    float size = dpm_exp_f32(crealf(x)), turn = cimagf(x);
    return __builtin_complex(size * dpm_cos_near_f32(turn), size * dpm_sin_near_f32(turn));
}
DPM_INLINE double _Complex pw_exp_near_c128(double _Complex x)
{
    double size = dpm_exp_f64(creal(x)), turn = cimag(x);
    return __builtin_complex(size * dpm_cos_near_f64(turn), size * dpm_sin_near_f64(turn));
}
DPM_INLINE uint64_t pw_far_c64(float _Complex x)
{
    return dpm_far_f32(cimagf(x));
}
DPM_INLINE uint64_t pw_far_c128(double _Complex x)
{
    return dpm_far_f64(cimag(x));
}

#define PW_LOG_OF_(name, t, R, f, base)                                                            \
    static inline R _Complex pw_##name##_##t(R _Complex x)                                         \
    {                                                                                              \
        return clog##f(x) * (R)base;                                                               \
    }
PW_LOG_OF_(log2, c64, float, f, M_LOG2E)
PW_LOG_OF_(log2, c128, double, , M_LOG2E)
PW_LOG_OF_(log10, c64, float, f, M_LOG10E)
PW_LOG_OF_(log10, c128, double, , M_LOG10E)

#define PW_COMPLEX_(t, R, f)                                                                       \
    static inline R _Complex pw_complex_##t(R re, R im)                                            \
    {                                                                                              \
        return __builtin_complex(re, im);                                                          \
    }                                                                                              \
    static inline R pw_real_##t(R _Complex x)                                                      \
    {                                                                                              \
        return creal##f(x);                                                                        \
    }                                                                                              \
    static inline R _Complex pw_sgn_##t(R _Complex x)                                              \
    {                                                                                              \
        R size = cabs##f(x);                                                                       \
        return size == 0 ? 0 : x / size;                                                           \
    }                                                                                              \
    static inline R pw_imag_##t(R _Complex x)                                                      \
    {                                                                                              \
        return cimag##f(x);                                                                        \
    }                                                                                              \
    static inline R pw_abs_##t(R _Complex x)                                                       \
    {                                                                                              \
        return cabs##f(x);                                                                         \
    }                                                                                              \
    static inline R pw_angle_##t(R _Complex x)                                                     \
    {                                                                                              \
        return carg##f(x);                                                                         \
    }                                                                                              \
    static inline R _Complex pw_conj_##t(R _Complex x)                                             \
    {                                                                                              \
        return conj##f(x);                                                                         \
    }                                                                                              \
    static inline R _Complex pw_mul_##t(R _Complex x, R _Complex y)                                \
    {                                                                                              \
        R a = creal##f(x), b = cimag##f(x), c = creal##f(y), d = cimag##f(y);                      \
        return __builtin_complex((R)(a * c - b * d), (R)(a * d + b * c));                          \
    }                                                                                              \
    /* Divide like c10's vectorized division: both numbers are first divided by the larger part */ \
    /* of y; y = 0 gives nan+nanj. */                                                              \
    static inline R _Complex pw_div_##t(R _Complex x, R _Complex y)                                \
    {                                                                                              \
        R c = creal##f(y), d = cimag##f(y), p = fabs##f(c), q = fabs##f(d);                        \
        R scale = 1 / (p > q ? p : q), a = creal##f(x) * scale, b = cimag##f(x) * scale;           \
        c *= scale, d *= scale;                                                                    \
        R n = c * c + d * d;                                                                       \
        return __builtin_complex((R)((a * c + b * d) / n), (R)((b * c - a * d) / n));              \
    }                                                                                              \
    static inline R _Complex pw_select_##t(bool k, R _Complex x, R _Complex y)                     \
    {                                                                                              \
        return k ? x : y;                                                                          \
    }
PW_COMPLEX_(c64, float, f)
PW_COMPLEX_(c128, double, )

static inline float _Complex pw_complex_f32(float re, float im)
{
    return __builtin_complex(re, im);
}
static inline double _Complex pw_complex_f64(double re, double im)
{
    return __builtin_complex(re, im);
}

/* -- every real type -- */

/* Define functions for type t.  greater, lesser and clip return NaN if an argument is NaN. */
#define PW_REAL_(t, T)                                                                             \
    static inline T pw_greater_##t(T x, T y)                                                       \
    {                                                                                              \
        T most = x < y ? y : x;                                                                    \
        return y != y ? y : most;                                                                  \
    }                                                                                              \
    static inline T pw_lesser_##t(T x, T y)                                                        \
    {                                                                                              \
        T least = y < x ? y : x;                                                                   \
        return y != y ? y : least;                                                                 \
    }                                                                                              \
    static inline T pw_clip_##t(T x, T low, T high)                                                \
    {                                                                                              \
        return pw_lesser_##t(pw_greater_##t(x, low), high);                                        \
    }                                                                                              \
    static inline T pw_select_##t(bool k, T x, T y)                                                \
    {                                                                                              \
        return k ? x : y;                                                                          \
    }                                                                                              \
    static inline T pw_mul_##t(T x, T y)                                                           \
    {                                                                                              \
        return (T)(x * y);                                                                         \
    }
PW_REAL_(u8, uint8_t)
PW_REAL_(i8, int8_t)
PW_REAL_(i16, int16_t)
PW_REAL_(i32, int32_t)
PW_REAL_(i64, int64_t)
PW_REAL_(f32, float)
PW_REAL_(f64, double)

/* -- integers -- */

/* Test whether x and y have different signs. */
static inline bool pw_apart(int64_t x, int64_t y)
{
    return (x < 0) != (y < 0);
}

/* Define functions for the integer type t.  INT_MIN / -1 wraps to INT_MIN; division by zero gives 0
 * and sets *fault. */
#define PW_INT_(t, T)                                                                              \
    static inline T pw_int_div_##t(T x, T y, int *fault)                                           \
    {                                                                                              \
        *fault |= y == 0;                                                                          \
        return y == 0 ? 0 : (T)(y + 1) == 0 && (T)-1 < 0 ? (T)-x : (T)(x / y);                     \
    }                                                                                              \
    static inline T pw_int_rem_##t(T x, T y, int *fault)                                           \
    {                                                                                              \
        return (T)(x - (T)(pw_int_div_##t(x, y, fault) * y));                                      \
    }                                                                                              \
    static inline T pw_int_div_floor_##t(T x, T y, int *fault)                                     \
    {                                                                                              \
        T r = pw_int_rem_##t(x, y, fault);                                                         \
        return (T)(pw_int_div_##t(x, y, fault) - (r != 0 && pw_apart(r, y)));                      \
    }                                                                                              \
    static inline T pw_int_rem_floor_##t(T x, T y, int *fault)                                     \
    {                                                                                              \
        T r = pw_int_rem_##t(x, y, fault);                                                         \
        return (T)(r != 0 && pw_apart(r, y) ? r + y : r);                                          \
    }                                                                                              \
    /* Return x to the power y; it is 0 if y < 0 and x is not 1 or -1 (at::native::powi). */       \
    static inline T pw_pow_##t(T x, T y)                                                           \
    {                                                                                              \
        T result = 1;                                                                              \
        if (y < 0)                                                                                 \
            return x == 1 ? 1 : (T)(x + 1) == 0 ? (y % 2 ? (T)-1 : 1) : 0;                         \
        for (; y > 0; y = (T)(y / 2), x = (T)(x * x))                                              \
            result = y % 2 ? (T)(result * x) : result;                                             \
        return result;                                                                             \
    }                                                                                              \
    static inline T pw_size_##t(T x)                                                               \
    {                                                                                              \
        return x < 0 ? (T)-x : x;                                                                  \
    }                                                                                              \
    /* Return gcd(x, y) like at::native::gcd: negative if the magnitude wraps to the least T. */   \
    static inline T pw_gcd_##t(T x, T y)                                                           \
    {                                                                                              \
        x = pw_size_##t(x);                                                                        \
        y = pw_size_##t(y);                                                                        \
        while (x != 0) {                                                                           \
            T r = (T)-1 < 0 && (T)(x + 1) == 0 ? 0 : (T)(y % x);                                   \
            y = x;                                                                                 \
            x = r;                                                                                 \
        }                                                                                          \
        return y;                                                                                  \
    }                                                                                              \
    /* Return lcm(x, y).  Narrow dtypes are computed in int; only the stored result wraps. */      \
    static inline T pw_lcm_##t(T x, T y)                                                           \
    {                                                                                              \
        T g = pw_size_##t(pw_gcd_##t(x, y));                                                       \
        __typeof__(x + 0) product;                                                                 \
        if (g == 0)                                                                                \
            return 0;                                                                              \
        (void)__builtin_mul_overflow(x / g, y, &product);                                          \
        return (T)(product < 0 ? 0 - (uint64_t)product : (uint64_t)product);                       \
    }
/* Shift by n modulo the number of bits of the type in which C shifts, int or int64_t. */
#define PW_SHIFT_(t, T, U, most)                                                                   \
    static inline T pw_shift_left_##t(T x, T n)                                                    \
    {                                                                                              \
        return (T)((U)x << (n & most));                                                            \
    }                                                                                              \
    static inline T pw_shift_right_##t(T x, T n)                                                   \
    {                                                                                              \
        return (T)(x >> (n & most));                                                               \
    }
PW_SHIFT_(u8, uint8_t, uint32_t, 31)
PW_SHIFT_(i8, int8_t, uint32_t, 31)
PW_SHIFT_(i16, int16_t, uint32_t, 31)
PW_SHIFT_(i32, int32_t, uint32_t, 31)
PW_SHIFT_(i64, int64_t, uint64_t, 63)
PW_INT_(u8, uint8_t)
PW_INT_(i8, int8_t)
PW_INT_(i16, int16_t)
PW_INT_(i32, int32_t)
PW_INT_(i64, int64_t)

/* -- float and double -- */

#define PW_FLOAT_(t, T, f)                                                                         \
    static inline T pw_div_##t(T x, T y)                                                           \
    {                                                                                              \
        return x / y;                                                                              \
    }                                                                                              \
    static inline T pw_round_decimals_##t(T x, T decimals)                                         \
    {                                                                                              \
        T ten = (T)pow(10, fabs(decimals));                                                        \
        return decimals < 0 ? rint##f(x / ten) * ten : rint##f(x * ten) / ten;                     \
    }                                                                                              \
    /* Return the derivative at `x` of gelu with tanh; `t` is the value of that tanh. */           \
    static inline T pw_gelu_tanh_slope_##t(T x, T t)                                               \
    {                                                                                              \
        T slope = (T)(M_SQRT2 * M_2_SQRTPI * 0.5) * (1 + (T)(3 * 0.044715) * x * x);               \
        return (T)0.5 * (1 + t) + (T)0.5 * x * (1 - t * t) * slope;                                \
    }                                                                                              \
    static inline T pw_fmax_##t(T x, T y)                                                          \
    {                                                                                              \
        return ((y != y) | (x > y)) ? x : y;                                                       \
    }                                                                                              \
    static inline T pw_fmin_##t(T x, T y)                                                          \
    {                                                                                              \
        return ((y != y) | (x < y)) ? x : y;                                                       \
    }                                                                                              \
    static inline bool pw_signbit_##t(T x)                                                         \
    {                                                                                              \
        return __builtin_signbit(x) != 0;                                                          \
    }
PW_FLOAT_(f32, float, f)
PW_FLOAT_(f64, double, )

#endif
