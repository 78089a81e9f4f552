/* dispatchd/dtypes.h -- elements as C types: a loop for each dtype, and where an element lies.
 *
 *     #define LOOP(name, dtype, memory, value, load, store)                                      \
 *         static void twice_##name(char *const *data, const int64_t *strides, int64_t n, void *u)\
 *         {                                                                                      \
 *             for (int64_t i = 0; i < n; i++)                                                    \
 *                 DP_ITEM(memory, data, strides, 0, i) =                                         \
 *                     store(2 * load(DP_ITEM(memory, data, strides, 1, i)));                     \
 *         }
 *     #define ROW(name, dtype, ...) [dtype] = twice_##name,
 *     DP_DTYPES_FLOATING(LOOP) DP_DTYPES_REDUCED_FLOATING(LOOP)
 *     static const dp_iter_loop loops[DP_DTYPE_END] = {DP_DTYPES_FLOATING(ROW)
 *                                                      DP_DTYPES_REDUCED_FLOATING(ROW)};
 *
 * An empty place of the table is a dtype that dp_refuse_dtype() of check.h refuses.  Groups side by
 * side are one group (AT_DISPATCH_FLOATING_TYPES_AND2); in a switch each makes its cases.  Include
 * plugin.h before this. */
#ifndef DISPATCHD_DTYPES_H
#define DISPATCHD_DTYPES_H

#include "each.h"
#include "tensor.h"

/* X(end of names, dtype, type in memory, type of values, load, store): load makes a value of what
 * lies in memory, store the other way round. */
#define DP_DTYPES_BOOL(X) X(b8, DP_BOOL, uint8_t, uint8_t, (bool), 0 !=)
#define DP_DTYPES_INTEGRAL(X)                                                                      \
    X(u8, DP_UINT8, uint8_t, uint8_t, , (uint8_t))                                                 \
    X(i8, DP_INT8, int8_t, int8_t, , (int8_t))                                                     \
    X(i16, DP_INT16, int16_t, int16_t, , (int16_t))                                                \
    X(i32, DP_INT32, int32_t, int32_t, , (int32_t))                                                \
    X(i64, DP_INT64, int64_t, int64_t, , (int64_t))
#define DP_DTYPES_FLOATING(X)                                                                      \
    X(f32, DP_FLOAT32, float, float, , (float))                                                    \
    X(f64, DP_FLOAT64, double, double, , (double))
#define DP_DTYPES_FLOAT16(X)                                                                       \
    X(f16, DP_FLOAT16, uint16_t, float, dp_float16_to_float, dp_float_to_float16)
#define DP_DTYPES_BFLOAT16(X)                                                                      \
    X(bf16, DP_BFLOAT16, uint16_t, float, dp_bfloat16_to_float, dp_float_to_bfloat16)
#define DP_DTYPES_REDUCED_FLOATING(X) DP_DTYPES_FLOAT16(X) DP_DTYPES_BFLOAT16(X)
#define DP_DTYPES_COMPLEX(X)                                                                       \
    X(c64, DP_COMPLEX64, float _Complex, float _Complex, , (float _Complex))                       \
    X(c128, DP_COMPLEX128, double _Complex, double _Complex, , (double _Complex))
/* Those that have an order, and all twelve. */
#define DP_DTYPES_REAL(X)                                                                          \
    DP_DTYPES_BOOL(X) DP_DTYPES_INTEGRAL(X) DP_DTYPES_FLOATING(X) DP_DTYPES_REDUCED_FLOATING(X)
#define DP_DTYPES_ALL(X) DP_DTYPES_REAL(X) DP_DTYPES_COMPLEX(X)

/* float16 or bfloat16 (c10::isReducedFloatingType). */
static inline bool dp_dtype_is_reduced_floating(dp_dtype d)
{
    return d == DP_FLOAT16 || d == DP_BFLOAT16;
}

/* A group as a set, with bit `dtype` for each of its dtypes: DP_DTYPE_BITS(DP_DTYPES_INTEGRAL). */
#define DP_DTYPE_BITS(group)            (0u group(DP_DTYPE_BIT_))
#define DP_DTYPE_BIT_(name, dtype, ...) | 1u << (dtype)

/* X(bytes, type): elements that are only moved, by their size. */
#define DP_DTYPE_SIZES(X)                                                                          \
    X(1, uint8_t)                                                                                  \
    X(2, uint16_t)                                                                                 \
    X(4, uint32_t)                                                                                 \
    X(8, uint64_t)                                                                                 \
    X(16, double _Complex)
enum { DP_DTYPE_SIZE_MAX = 16 };

/* Element i of operand k in a loop of dp_iter_run_1d(). */
#define DP_ITEM(type, data, strides, k, i) (*(type *)(void *)((data)[k] + (i) * (strides)[k]))

/* The element of a dp_view at as many indices as it has dimensions, up to 5:  DP_AT(float, x, i, j)
 * = 1; Source: at::TensorAccessor. */
#define DP_AT(type, view, ...)                                                                     \
    (((type *)(view).data)[DP_CAT(DP_AT_, DP_COUNT(__VA_ARGS__))((view).strides, __VA_ARGS__)])
#define DP_AT_1(s, a)             ((a) * (s)[0])
#define DP_AT_2(s, a, b)          (DP_AT_1(s, a) + (b) * (s)[1])
#define DP_AT_3(s, a, b, c)       (DP_AT_2(s, a, b) + (c) * (s)[2])
#define DP_AT_4(s, a, b, c, d)    (DP_AT_3(s, a, b, c) + (d) * (s)[3])
#define DP_AT_5(s, a, b, c, d, e) (DP_AT_4(s, a, b, c, d) + (e) * (s)[4])

#endif
