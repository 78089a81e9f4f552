/* dispatchd/dtypes.h -- macros that define one loop for each dtype, and that access elements by
 * their C type.
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
 * A NULL entry of `loops` is a dtype that the kernel does not support: refuse it with
 * dp_refuse_dtype() of check.h.  Several groups written one after another act as one group
 * (AT_DISPATCH_FLOATING_TYPES_AND2), also as the cases of a switch.  Include plugin.h before this
 * header. */
#ifndef DISPATCHD_DTYPES_H
#define DISPATCHD_DTYPES_H

#include "each.h"
#include "tensor.h"

/* Groups of dtypes: X(suffix of names, dtype, C type in memory, C type of values, load, store).
 * `load` converts an element in memory to a value, `store` converts a value to an element. */
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
/* DP_DTYPES_REAL: the dtypes whose values have an order.  DP_DTYPES_ALL: these and the
 * complex ones. */
#define DP_DTYPES_REAL(X)                                                                          \
    DP_DTYPES_BOOL(X) DP_DTYPES_INTEGRAL(X) DP_DTYPES_FLOATING(X) DP_DTYPES_REDUCED_FLOATING(X)
#define DP_DTYPES_ALL(X) DP_DTYPES_REAL(X) DP_DTYPES_COMPLEX(X)

/* Is `d` float16 or bfloat16?  Source: c10::isReducedFloatingType. */
static inline bool dp_dtype_is_reduced_floating(dp_dtype d)
{
    return d == DP_FLOAT16 || d == DP_BFLOAT16;
}

/* A group as a bit set, in which bit `dtype` is set for each dtype of the group:
 * DP_DTYPE_BITS(DP_DTYPES_INTEGRAL). */
#define DP_DTYPE_BITS(group)            (0u group(DP_DTYPE_BIT_))
#define DP_DTYPE_BIT_(name, dtype, ...) | 1u << (dtype)

/* X(bytes, C type): types for copying elements of a given size without interpreting them. */
#define DP_DTYPE_SIZES(X)                                                                          \
    X(1, uint8_t)                                                                                  \
    X(2, uint16_t)                                                                                 \
    X(4, uint32_t)                                                                                 \
    X(8, uint64_t)                                                                                 \
    X(16, double _Complex)
enum { DP_DTYPE_SIZE_MAX = 16 };

/* Element `i` of operand `k` in a loop of dp_iter_run_1d(). */
#define DP_ITEM(type, data, strides, k, i) (*(type *)(void *)((data)[k] + (i) * (strides)[k]))

/* The element of dp_view `view` at the given indices, one index for each dimension, at most 5:
 * DP_AT(float, x, i, j) = 1.  Source: at::TensorAccessor. */
#define DP_AT(type, view, ...)                                                                     \
    (((type *)(view).data)[DP_CAT(DP_AT_, DP_COUNT(__VA_ARGS__))((view).strides, __VA_ARGS__)])
#define DP_AT_1(s, a)             ((a) * (s)[0])
#define DP_AT_2(s, a, b)          (DP_AT_1(s, a) + (b) * (s)[1])
#define DP_AT_3(s, a, b, c)       (DP_AT_2(s, a, b) + (c) * (s)[2])
#define DP_AT_4(s, a, b, c, d)    (DP_AT_3(s, a, b, c) + (d) * (s)[3])
#define DP_AT_5(s, a, b, c, d, e) (DP_AT_4(s, a, b, c, d) + (e) * (s)[4])

#endif
