/* elements.h -- kernels that move elements, or add to them one at a time, whatever their dtype. */
#ifndef CPU_ELEMENTS_H
#define CPU_ELEMENTS_H

#include "../dims.h"
#include <complex.h>
#include <string.h>

/* X(dtype, type in memory, type of values, load, store): those that have an order, and all twelve.
 * Integers add in unsigned types, since they wrap. */
#define ELEMENT_REALS(X)                                                                           \
    X(DP_BOOL, uint8_t, uint8_t, (bool), 0 !=)                                                     \
    X(DP_UINT8, uint8_t, uint8_t, , (uint8_t))                                                     \
    X(DP_INT8, int8_t, int8_t, , (int8_t))                                                         \
    X(DP_INT16, int16_t, int16_t, , (int16_t))                                                     \
    X(DP_INT32, int32_t, int32_t, , (int32_t))                                                     \
    X(DP_INT64, int64_t, int64_t, , (int64_t))                                                     \
    X(DP_FLOAT32, float, float, , (float))                                                         \
    X(DP_FLOAT64, double, double, , (double))                                                      \
    X(DP_FLOAT16, uint16_t, float, dp_float16_to_float, dp_float_to_float16)                       \
    X(DP_BFLOAT16, uint16_t, float, dp_bfloat16_to_float, dp_float_to_bfloat16)

#define ELEMENT_TYPES(X)                                                                           \
    ELEMENT_REALS(X)                                                                               \
    X(DP_COMPLEX64, float _Complex, float _Complex, , (float _Complex))                            \
    X(DP_COMPLEX128, double _Complex, double _Complex, , (double _Complex))

/* X(bytes, type): elements by their size */
#define ELEMENT_SIZES(X)                                                                           \
    X(1, uint8_t)                                                                                  \
    X(2, uint16_t)                                                                                 \
    X(4, uint32_t)                                                                                 \
    X(8, uint64_t)                                                                                 \
    X(16, double _Complex)

enum { ELEMENT_MAX = 16 }; /* bytes */

/* v, a number or a bool, as one element of dtype, cast as C casts; out [ELEMENT_MAX] */
void write_scalar(dp_value v, dp_dtype dtype, void *out);
/* DP_ERUNTIME if v is out of dtype's range.  Source: c10::checked_convert. */
int check_fits(dp_ctx *ctx, dp_value v, dp_dtype dtype);
/* DP_ERUNTIME where elements of `written` share memory with one another, or with any of others [n].
 * Source: assert_no_internal_overlap, assert_no_overlap. */
int check_apart(dp_ctx *ctx, dp_tensor *written, dp_tensor *const *others, int n);
/* DP_ERUNTIME: a mask of bytes has others than 0 and 1. */
int check_bits(dp_ctx *ctx, dp_tensor *mask);
/* n elements of `size` bytes; steps in bytes, which may be negative or 0 */
void copy_elements(size_t size, int64_t n, char *dst, int64_t to, const char *src, int64_t from);

#endif
