/* types.h -- the types in which loops compute, named by suffixes: pw_mem_f32 is the type of an
 * element in memory, pw_val_f32 its type in expressions. */
#ifndef CPU_LOOPS_TYPES_H
#define CPU_LOOPS_TYPES_H

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

/* X(suffix, index in a row of kernels, dtype, type in memory, type in expressions) */
#define PW_TYPE_MAP(X)                                                                             \
    X(b8, 0, DP_BOOL, uint8_t, bool)                                                               \
    X(u8, 1, DP_UINT8, uint8_t, uint8_t)                                                           \
    X(i8, 2, DP_INT8, int8_t, int8_t)                                                              \
    X(i16, 3, DP_INT16, int16_t, int16_t)                                                          \
    X(i32, 4, DP_INT32, int32_t, int32_t)                                                          \
    X(i64, 5, DP_INT64, int64_t, int64_t)                                                          \
    X(f32, 6, DP_FLOAT32, float, float)                                                            \
    X(f64, 7, DP_FLOAT64, double, double)                                                          \
    X(c64, 8, DP_COMPLEX64, float _Complex, float _Complex)                                        \
    X(c128, 9, DP_COMPLEX128, double _Complex, double _Complex)

enum { PW_TYPES = 10 };

#define PW_TYPE_(t, place, dtype, memory, value)                                                   \
    typedef memory pw_mem_##t;                                                                     \
    typedef value pw_val_##t;
PW_TYPE_MAP(PW_TYPE_)
#undef PW_TYPE_

/* The type in which elements of a dtype are computed: its index in a row of kernels, its dtype, and
 * its bytes.  float16 and bfloat16 are computed in float. */
typedef struct pw_type {
    int8_t place, dtype, bytes;
} pw_type;
extern const pw_type pw_types[/* DP_DTYPE_END */]; /* by the dtype of the elements */

#endif
