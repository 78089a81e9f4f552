/* pointwise_math.h -- functions that the expressions of pointwise.yaml may use, beside tgmath.h's.
 *
 * Included by the generated loops only.  They define T, the type that they compute in. */
#ifndef CPU_POINTWISE_MATH_H
#define CPU_POINTWISE_MATH_H

#include "isa.h"
#include "pointwise.h"

/* An expression is compiled for signed and unsigned types, where x < 0 is always false. */
#pragma GCC diagnostic ignored "-Wtype-limits"

#include <complex.h>
#include <math.h>

/* glibc's libmvec of x86-64 has vector versions of these; without the attribute gcc calls the scalar
 * ones. */
#ifdef __x86_64__
#define VECTOR(name)                                                                               \
    __attribute__((simd("notinbranch"))) extern double name(double);                               \
    __attribute__((simd("notinbranch"))) extern float name##f(float);
VECTOR(exp)
VECTOR(expm1)
VECTOR(log)
VECTOR(log1p)
VECTOR(log2)
VECTOR(sin)
VECTOR(cos)
VECTOR(tan)
VECTOR(tanh)
VECTOR(erf)
__attribute__((simd("notinbranch"))) extern double pow(double, double);
__attribute__((simd("notinbranch"))) extern float powf(float, float);
__attribute__((simd("notinbranch"))) extern double atan2(double, double);
__attribute__((simd("notinbranch"))) extern float atan2f(float, float);
#undef VECTOR
#endif

#include <tgmath.h>

/* No iteration depends on another: p[0] is the address of an input or overlaps none of them. */
#define PW_LOOP(n) _Pragma("GCC ivdep") for (int64_t i = 0; i < (n); i++)

#define K(x) ((T)(x))

static inline void pw_finish(pw_state *s, int fault)
{
    if (fault)
        __atomic_store_n(&s->fault, 1, __ATOMIC_RELAXED);
}

/* If either is NaN, so is the result. */
#define REAL_FUNCTIONS(type, suffix)                                                               \
    __attribute__((unused)) static inline type greater_##suffix(type a, type b)                    \
    {                                                                                              \
        return a > b || isnan((double)a) ? a : b;                                                  \
    }                                                                                              \
    __attribute__((unused)) static inline type lesser_##suffix(type a, type b)                     \
    {                                                                                              \
        return a < b || isnan((double)a) ? a : b;                                                  \
    }
REAL_FUNCTIONS(uint8_t, u8)
REAL_FUNCTIONS(int64_t, i64)
REAL_FUNCTIONS(float, f32)
REAL_FUNCTIONS(double, f64)
#define PW_REAL(name)                                                                              \
    _Generic((T)0, uint8_t                                                                         \
             : name##_u8, int64_t                                                                  \
             : name##_i64, float                                                                   \
             : name##_f32, double                                                                  \
             : name##_f64)
#define greater(a, b)    PW_REAL(greater)(a, b)
#define lesser(a, b)     PW_REAL(lesser)(a, b)
#define clip(x, low, hi) lesser(greater(x, low), hi)

/* Do they have different signs? */
static inline bool apart(int64_t a, int64_t b)
{
    return (a < 0) != (b < 0);
}

/* Integers.  INT64_MIN / -1 wraps to INT64_MIN.  Division by zero gives 0 and sets fault. */
#define INT_FUNCTIONS(type, suffix)                                                                \
    __attribute__((unused)) static inline type int_div_##suffix(type a, type b, int *fault)        \
    {                                                                                              \
        *fault |= b == 0;                                                                          \
        return b == 0 ? 0 : (type)(b + 1) == 0 && (type)-1 < 0 ? (type)-a : (type)(a / b);         \
    }                                                                                              \
    __attribute__((unused)) static inline type int_rem_##suffix(type a, type b, int *fault)        \
    {                                                                                              \
        return (type)(a - (type)(int_div_##suffix(a, b, fault) * b));                              \
    }                                                                                              \
    __attribute__((unused)) static inline type int_div_floor_##suffix(type a, type b, int *fault)  \
    {                                                                                              \
        type r = int_rem_##suffix(a, b, fault);                                                    \
        return (type)(int_div_##suffix(a, b, fault) - (r != 0 && apart(r, b)));                    \
    }                                                                                              \
    __attribute__((unused)) static inline type int_rem_floor_##suffix(type a, type b, int *fault)  \
    {                                                                                              \
        type r = int_rem_##suffix(a, b, fault);                                                    \
        return (type)(r != 0 && apart(r, b) ? r + b : r);                                          \
    }                                                                                              \
    /* A negative power is 0 but for bases 1 and -1 (at::native::powi). */                         \
    __attribute__((unused)) static inline type int_pow_##suffix(type a, type b)                    \
    {                                                                                              \
        type result = 1;                                                                           \
        if (b < 0)                                                                                 \
            return a == 1 ? 1 : (type)(a + 1) == 0 ? (b % 2 ? (type)-1 : 1) : 0;                   \
        for (; b > 0; b = (type)(b / 2), a = (type)(a * a))                                        \
            result = b % 2 ? (type)(result * a) : result;                                          \
        return result;                                                                             \
    }
INT_FUNCTIONS(uint8_t, u8)
INT_FUNCTIONS(int64_t, i64)
#define PW_INT(name)               _Generic((T)0, uint8_t : name##_u8, int64_t : name##_i64)
#define int_div(a, b, fault)       PW_INT(int_div)(a, b, &(fault))
#define int_rem(a, b, fault)       PW_INT(int_rem)(a, b, &(fault))
#define int_div_floor(a, b, fault) PW_INT(int_div_floor)(a, b, &(fault))
#define int_rem_floor(a, b, fault) PW_INT(int_rem_floor)(a, b, &(fault))
#define int_pow(a, b)              PW_INT(int_pow)(a, b)

/* div_floor computes the quotient from the remainder, so that it cannot be rounded up to the next
 * integer (at::native::div_floor_floating). */
#define FLOAT_FUNCTIONS(type, suffix)                                                              \
    __attribute__((unused)) static inline type select_##suffix(bool c, type a, type b)             \
    {                                                                                              \
        return c ? a : b;                                                                          \
    }                                                                                              \
    __attribute__((unused)) static inline type rem_floor_##suffix(type a, type b)                  \
    {                                                                                              \
        type r = fmod(a, b);                                                                       \
        return r != 0 && (b < 0) != (r < 0) ? r + b : r;                                           \
    }                                                                                              \
    __attribute__((unused)) static inline type div_floor_##suffix(type a, type b)                  \
    {                                                                                              \
        type r = fmod(a, b), q = (a - r) / b, whole;                                               \
        if (b == 0)                                                                                \
            return a / b;                                                                          \
        q -= r != 0 && (b < 0) != (r < 0);                                                         \
        if (q == 0)                                                                                \
            return copysign((type)0, a / b);                                                       \
        whole = floor(q);                                                                          \
        return q - whole > (type)0.5 ? whole + 1 : whole;                                          \
    }
FLOAT_FUNCTIONS(float, f32)
FLOAT_FUNCTIONS(double, f64)
#define PW_FLOAT(name)  _Generic((T)0, float : name##_f32, double : name##_f64)
#define select(c, a, b) PW_FLOAT(select)(c, a, b)
#define rem_floor(a, b) PW_FLOAT(rem_floor)(a, b)
#define div_floor(a, b) PW_FLOAT(div_floor)(a, b)

#endif
