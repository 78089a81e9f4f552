/* levels/convert.h -- conversion of one element, for each pair of dtypes.
 *
 * levels/convert.c and base/convert.c include this file.  On every machine a float that an integer
 * type cannot represent becomes what x86-64's cvttsd2si gives.  As in ATen, a float becomes uint8
 * by way of int64, int8 and int16 by way of int32, and any value becomes a 16-bit float by way of
 * float. */
#ifndef DPI_LEVELS_CONVERT_H
#define DPI_LEVELS_CONVERT_H

#include "base/base.h"
#include <complex.h>
#include <dispatchd/isa.h>

/* Types of elements in memory, which may be unaligned. */
#define CV_UNALIGNED __attribute__((aligned(1), may_alias))
typedef uint8_t cv_u8 CV_UNALIGNED;
typedef int8_t cv_i8 CV_UNALIGNED;
typedef int16_t cv_i16 CV_UNALIGNED;
typedef uint16_t cv_u16 CV_UNALIGNED;
typedef int32_t cv_i32 CV_UNALIGNED;
typedef int64_t cv_i64 CV_UNALIGNED;
typedef float cv_f32 CV_UNALIGNED;
typedef double cv_f64 CV_UNALIGNED;
typedef float _Complex cv_c64 CV_UNALIGNED;
typedef double _Complex cv_c128 CV_UNALIGNED;
typedef struct cv_f16 {
    cv_u16 bits;
} CV_UNALIGNED cv_f16;
typedef struct cv_bf16 {
    cv_u16 bits;
} CV_UNALIGNED cv_bf16;

/* X(suffix of names, dtype, type in memory, class of the value read).  The class is I for an
 * integer, R for a real number, C for a complex number.  CV_TO(X) is the same list for
 * destinations, without the class. */
#define CV_FROM(X, ...)                                                                            \
    X(b8, DP_BOOL, cv_u8, I, __VA_ARGS__)                                                          \
    X(u8, DP_UINT8, cv_u8, I, __VA_ARGS__)                                                         \
    X(i8, DP_INT8, cv_i8, I, __VA_ARGS__)                                                          \
    X(i16, DP_INT16, cv_i16, I, __VA_ARGS__)                                                       \
    X(i32, DP_INT32, cv_i32, I, __VA_ARGS__)                                                       \
    X(i64, DP_INT64, cv_i64, I, __VA_ARGS__)                                                       \
    X(f16, DP_FLOAT16, cv_f16, R, __VA_ARGS__)                                                     \
    X(bf16, DP_BFLOAT16, cv_bf16, R, __VA_ARGS__)                                                  \
    X(f32, DP_FLOAT32, cv_f32, R, __VA_ARGS__)                                                     \
    X(f64, DP_FLOAT64, cv_f64, R, __VA_ARGS__)                                                     \
    X(c64, DP_COMPLEX64, cv_c64, C, __VA_ARGS__)                                                   \
    X(c128, DP_COMPLEX128, cv_c128, C, __VA_ARGS__)
#define CV_TO(X)                                                                                   \
    X(b8, DP_BOOL, cv_u8)                                                                          \
    X(u8, DP_UINT8, cv_u8)                                                                         \
    X(i8, DP_INT8, cv_i8)                                                                          \
    X(i16, DP_INT16, cv_i16)                                                                       \
    X(i32, DP_INT32, cv_i32)                                                                       \
    X(i64, DP_INT64, cv_i64)                                                                       \
    X(f16, DP_FLOAT16, cv_f16)                                                                     \
    X(bf16, DP_BFLOAT16, cv_bf16)                                                                  \
    X(f32, DP_FLOAT32, cv_f32)                                                                     \
    X(f64, DP_FLOAT64, cv_f64)                                                                     \
    X(c64, DP_COMPLEX64, cv_c64)                                                                   \
    X(c128, DP_COMPLEX128, cv_c128)

/* Return the element as a value of the plain type, without CV_UNALIGNED, as _Generic needs it. */
static inline float cv_read_f32(float x)
{
    return x;
}
static inline double cv_read_f64(double x)
{
    return x;
}
static inline float _Complex cv_read_c64(float _Complex x)
{
    return x;
}
static inline double _Complex cv_read_c128(double _Complex x)
{
    return x;
}
/* Read an element as a number of a C type that represents all values of its dtype. */
#define CV_READ_b8(x)   ((x) != 0)
#define CV_READ_u8(x)   (x)
#define CV_READ_i8(x)   (x)
#define CV_READ_i16(x)  (x)
#define CV_READ_i32(x)  (x)
#define CV_READ_i64(x)  (x)
#define CV_READ_f16(x)  dp_float16_to_float((x).bits)
#define CV_READ_bf16(x) dp_bfloat16_to_float((x).bits)
#define CV_READ_f32(x)  cv_read_f32(x)
#define CV_READ_f64(x)  cv_read_f64(x)
#define CV_READ_c64(x)  cv_read_c64(x)
#define CV_READ_c128(x) cv_read_c128(x)

static inline int32_t cv_int32_float(float x)
{
    return x >= -2147483648.0f && x < 2147483648.0f ? (int32_t)x : INT32_MIN;
}
static inline int32_t cv_int32_double(double x)
{
    return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN;
}
static inline int64_t cv_int64_float(float x)
{
    return x >= -9223372036854775808.0f && x < 9223372036854775808.0f ? (int64_t)x : INT64_MIN;
}
static inline int64_t cv_int64_double(double x)
{
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : INT64_MIN;
}
#define CV_INT32(x) _Generic((x), float : cv_int32_float, double : cv_int32_double)(x)
#define CV_INT64(x) _Generic((x), float : cv_int64_float, double : cv_int64_double)(x)

/* Return the real part of `x` in the precision of `x`. */
static inline float cv_real_float(float x)
{
    return x;
}
static inline double cv_real_double(double x)
{
    return x;
}
static inline float cv_real_c64(float _Complex x)
{
    return crealf(x);
}
static inline double cv_real_c128(double _Complex x)
{
    return creal(x);
}
#define CV_REAL(x)                                                                                 \
    _Generic((x), float                                                                            \
             : cv_real_float, double                                                               \
             : cv_real_double, float _Complex                                                      \
             : cv_real_c64, double _Complex                                                        \
             : cv_real_c128)(x)

/* CV_PUT_<class>_<suffix>(x): convert value `x` of class I, R or C to the type with that suffix. */
#define CV_PUT_I_b8(x)   ((x) != 0)
#define CV_PUT_I_u8(x)   ((uint8_t)(x))
#define CV_PUT_I_i8(x)   ((int8_t)(x))
#define CV_PUT_I_i16(x)  ((int16_t)(x))
#define CV_PUT_I_i32(x)  ((int32_t)(x))
#define CV_PUT_I_i64(x)  ((int64_t)(x))
#define CV_PUT_I_f16(x)  ((cv_f16){dp_float_to_float16((float)(x))})
#define CV_PUT_I_bf16(x) ((cv_bf16){dp_float_to_bfloat16((float)(x))})
#define CV_PUT_I_f32(x)  ((float)(x))
#define CV_PUT_I_f64(x)  ((double)(x))
#define CV_PUT_I_c64(x)  ((float)(x))
#define CV_PUT_I_c128(x) ((double)(x))
#define CV_PUT_R_b8(x)   ((x) != 0)
#define CV_PUT_R_u8(x)   ((uint8_t)CV_INT64(CV_REAL(x)))
#define CV_PUT_R_i8(x)   ((int8_t)CV_INT32(CV_REAL(x)))
#define CV_PUT_R_i16(x)  ((int16_t)CV_INT32(CV_REAL(x)))
#define CV_PUT_R_i32(x)  CV_INT32(CV_REAL(x))
#define CV_PUT_R_i64(x)  CV_INT64(CV_REAL(x))
#define CV_PUT_R_f16(x)  ((cv_f16){dp_float_to_float16((float)CV_REAL(x))})
#define CV_PUT_R_bf16(x) ((cv_bf16){dp_float_to_bfloat16((float)CV_REAL(x))})
#define CV_PUT_R_f32(x)  ((float)CV_REAL(x))
#define CV_PUT_R_f64(x)  ((double)CV_REAL(x))
#define CV_PUT_R_c64(x)  (x)
#define CV_PUT_R_c128(x) (x)
#define CV_PUT_C_b8(x)   ((x) != 0)
#define CV_PUT_C_u8(x)   CV_PUT_R_u8(x)
#define CV_PUT_C_i8(x)   CV_PUT_R_i8(x)
#define CV_PUT_C_i16(x)  CV_PUT_R_i16(x)
#define CV_PUT_C_i32(x)  CV_PUT_R_i32(x)
#define CV_PUT_C_i64(x)  CV_PUT_R_i64(x)
#define CV_PUT_C_f16(x)  CV_PUT_R_f16(x)
#define CV_PUT_C_bf16(x) CV_PUT_R_bf16(x)
#define CV_PUT_C_f32(x)  CV_PUT_R_f32(x)
#define CV_PUT_C_f64(x)  CV_PUT_R_f64(x)
#define CV_PUT_C_c64(x)  (x)
#define CV_PUT_C_c128(x) (x)

/* Table of loops: table[dtype written][dtype read]. */
typedef dp_convert_fn dpi_convert_row[DP_DTYPE_END];
DP_ISA_TABLE(dpi_convert_row, dpi_converts)

#endif
