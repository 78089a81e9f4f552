/* dtype.c -- the twelve dtypes: names, sizes, and turning elements of one into another. */
#include "base.h"

static const char *const names[DP_DTYPE_END] = {
#define ROW(id, number, name, bytes) [number] = name,
    DP_DTYPE_MAP(ROW)
#undef ROW
};
const uint8_t dpi_itemsizes[DP_DTYPE_END] = {
#define ROW(id, number, name, bytes) [number] = bytes,
    DP_DTYPE_MAP(ROW)
#undef ROW
};

size_t dp_dtype_size(dp_dtype d)
{
    return dpi_itemsize(d);
}

const char *dp_dtype_name(dp_dtype d)
{
    return dp_dtype_size(d) ? names[d] : "?";
}

dp_dtype dp_dtype_parse(const char *name)
{
    for (dp_dtype d = 0; d < DP_DTYPE_END; d++)
        if (names[d] && strcmp(names[d], name) == 0)
            return d;
    return DP_DTYPE_NONE;
}

/* -- floats to integers; values that do not fit give what x86-64's cvttsd2si gives -- */

static inline int64_t to_int64(double d)
{
    return d >= -9223372036854775808.0 && d < 9223372036854775808.0 ? (int64_t)d : INT64_MIN;
}

static inline int32_t to_int32(double d)
{
    return d > -2147483649.0 && d < 2147483648.0 ? (int32_t)d : INT32_MIN;
}

/* -- every dtype to every other -- */

/* An element is read as int64 (I) or as a complex double (F), both of which hold it exactly, and
 * written from there.  16-bit floats are written by way of float, as in ATen. */

typedef struct wide {
    double re, im;
} wide;

#define READ_I(type)     int64_t x = ((const type *)src)[i];
#define READ_BOOL(type)  int64_t x = ((const uint8_t *)src)[i] != 0;
#define READ_F(type)     wide x = {((const type *)src)[i], 0};
#define READ_HALF(type)  wide x = {dp_float16_to_float(((const uint16_t *)src)[i]), 0};
#define READ_BHALF(type) wide x = {dp_bfloat16_to_float(((const uint16_t *)src)[i]), 0};
#define READ_C(type)     wide x = {((const type *)src)[2 * i], ((const type *)src)[2 * i + 1]};

/* X(to, element type, from int64 x, from wide x) */
#define TARGETS(X)                                                                                 \
    X(DP_UINT8, uint8_t, out[i] = (uint8_t)x, out[i] = (uint8_t)to_int64(x.re))                    \
    X(DP_INT8, int8_t, out[i] = (int8_t)x, out[i] = (int8_t)to_int32(x.re))                        \
    X(DP_INT16, int16_t, out[i] = (int16_t)x, out[i] = (int16_t)to_int32(x.re))                    \
    X(DP_INT32, int32_t, out[i] = (int32_t)x, out[i] = to_int32(x.re))                             \
    X(DP_INT64, int64_t, out[i] = x, out[i] = to_int64(x.re))                                      \
    X(DP_FLOAT16, uint16_t, out[i] = dp_float_to_float16((float)x),                                \
      out[i] = dp_float_to_float16((float)x.re))                                                   \
    X(DP_FLOAT32, float, out[i] = (float)x, out[i] = (float)x.re)                                  \
    X(DP_FLOAT64, double, out[i] = (double)x, out[i] = x.re)                                       \
    X(DP_COMPLEX64, float, (out[2 * i] = (float)x, out[2 * i + 1] = 0),                            \
      (out[2 * i] = (float)x.re, out[2 * i + 1] = (float)x.im))                                    \
    X(DP_COMPLEX128, double, (out[2 * i] = (double)x, out[2 * i + 1] = 0),                         \
      (out[2 * i] = x.re, out[2 * i + 1] = x.im))                                                  \
    X(DP_BOOL, uint8_t, out[i] = x != 0, out[i] = x.re != 0 || x.im != 0)                          \
    X(DP_BFLOAT16, uint16_t, out[i] = dp_float_to_bfloat16((float)x),                              \
      out[i] = dp_float_to_bfloat16((float)x.re))

#define CASE(from, read, put)                                                                      \
    case from:                                                                                     \
        for (size_t i = 0; i < n; i++) {                                                           \
            read put;                                                                              \
        }                                                                                          \
        break;
#define CONVERT(to, type, put_i, put_f)                                                            \
    static void convert_to_##to(void *dst, dp_dtype from, const void *src, size_t n)               \
    {                                                                                              \
        type *out = dst;                                                                           \
        switch (from) {                                                                            \
            CASE(DP_UINT8, READ_I(uint8_t), put_i)                                                 \
            CASE(DP_INT8, READ_I(int8_t), put_i)                                                   \
            CASE(DP_INT16, READ_I(int16_t), put_i)                                                 \
            CASE(DP_INT32, READ_I(int32_t), put_i)                                                 \
            CASE(DP_INT64, READ_I(int64_t), put_i)                                                 \
            CASE(DP_BOOL, READ_BOOL(), put_i)                                                      \
            CASE(DP_FLOAT16, READ_HALF(), put_f)                                                   \
            CASE(DP_BFLOAT16, READ_BHALF(), put_f)                                                 \
            CASE(DP_FLOAT32, READ_F(float), put_f)                                                 \
            CASE(DP_FLOAT64, READ_F(double), put_f)                                                \
            CASE(DP_COMPLEX64, READ_C(float), put_f)                                               \
            CASE(DP_COMPLEX128, READ_C(double), put_f)                                             \
        }                                                                                          \
    }
TARGETS(CONVERT)

void dp_convert(dp_dtype to, void *dst, dp_dtype from, const void *src, size_t n)
{
    static void (*const table[DP_DTYPE_END])(void *, dp_dtype, const void *, size_t) = {
#define ENTRY(id, type, put_i, put_f) [id] = convert_to_##id,
        TARGETS(ENTRY)
#undef ENTRY
    };

    if (to == from && to != DP_BOOL)
        memcpy(dst, src, n * dp_dtype_size(to));
    else
        table[to](dst, from, src, n);
}
