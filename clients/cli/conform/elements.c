/* elements.c -- elements of every dtype: read, written, printed, and the distance of two */
#include "conform.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool dtype_is_complex(dpc_dtype dtype)
{
    return dtype == DPC_COMPLEX64 || dtype == DPC_COMPLEX128;
}

bool dtype_is_real(dpc_dtype dtype)
{
    return dtype == DPC_FLOAT16 || dtype == DPC_BFLOAT16 || dtype == DPC_FLOAT32 ||
           dtype == DPC_FLOAT64;
}

bool dtype_is_integer(dpc_dtype dtype)
{
    return dpc_dtype_size(dtype) > 0 && !dtype_is_complex(dtype) && !dtype_is_real(dtype);
}

dpc_dtype dtype_named(const char *name)
{
    for (int i = 0; i < 32; i++) {
        const char *known = dpc_dtype_name((dpc_dtype)i);
        if (known != NULL && strcmp(known, name) == 0)
            return (dpc_dtype)i;
    }
    return DPC_DTYPE_OTHER;
}

/* -- 16-bit floats -- */

static double from_half(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                  : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                 : ldexp(fraction, -24);

    return bits >> 15 ? -size : size;
}

/* Round to a float with `digits` fraction bits whose least exponent is `least` and whose largest
 * finite number is `most`: to nearest, ties to even, as the current rounding mode does it. */
static double rounded(double x, int digits, int least, double most)
{
    int exponent;

    if (!isfinite(x) || x == 0)
        return x;
    frexp(x, &exponent); /* |x| is in [2^(exponent-1), 2^exponent) */
    int unit = (exponent - 1 > least ? exponent - 1 : least) - digits;
    double y = ldexp(nearbyint(ldexp(x, -unit)), unit);
    return fabs(y) > most ? copysign(INFINITY, y) : y;
}

static uint16_t to_half(double x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    int exponent;

    if (isnan(x))
        return 0x7e00;
    x = fabs(rounded(x, 10, -14, 65504));
    if (isinf(x))
        return sign | 0x7c00;
    if (x < ldexp(1, -14))
        return (uint16_t)(sign | (int)ldexp(x, 24));
    frexp(x, &exponent);
    return (uint16_t)(sign | (exponent + 14) << 10 | ((int)ldexp(x, 11 - exponent) & 1023));
}

static double from_bfloat(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float f;

    memcpy(&f, &wide, sizeof(f));
    return f;
}

static uint16_t to_bfloat(double x)
{
    float f = (float)rounded(x, 7, -126, 0x1.fep127);
    uint32_t wide;

    if (isnan(x))
        return 0x7fc0;
    memcpy(&wide, &f, sizeof(f));
    return (uint16_t)(wide >> 16);
}

/* -- elements -- */

/* Integers as C types and their dtypes. */
#define INTEGERS(X)                                                                                \
    X(DPC_UINT8, uint8_t)                                                                          \
    X(DPC_INT8, int8_t)                                                                            \
    X(DPC_INT16, int16_t) X(DPC_INT32, int32_t) X(DPC_INT64, int64_t) X(DPC_BOOL, uint8_t)

element element_read(dpc_dtype dtype, const void *at)
{
    element e = {0, 0, 0};
    uint16_t half;
    float f[2];
    double d[2];

    switch (dtype) {
#define READ(name, type)                                                                           \
    case name: {                                                                                   \
        type v;                                                                                    \
        memcpy(&v, at, sizeof(v));                                                                 \
        e.whole = v;                                                                               \
        e.re = (double)v;                                                                          \
        break;                                                                                     \
    }
        INTEGERS(READ)
    case DPC_FLOAT16:
    case DPC_BFLOAT16:
        memcpy(&half, at, sizeof(half));
        e.re = dtype == DPC_FLOAT16 ? from_half(half) : from_bfloat(half);
        break;
    case DPC_FLOAT32:
    case DPC_COMPLEX64:
        memcpy(f, at, dpc_dtype_size(dtype));
        e.re = f[0];
        e.im = dtype == DPC_COMPLEX64 ? f[1] : 0;
        break;
    case DPC_FLOAT64:
    case DPC_COMPLEX128:
        memcpy(d, at, dpc_dtype_size(dtype));
        e.re = d[0];
        e.im = dtype == DPC_COMPLEX128 ? d[1] : 0;
        break;
    case DPC_DTYPE_OTHER:
        break;
    }
    return e;
}

void element_write(dpc_dtype dtype, void *at, element e)
{
    float f[2] = {(float)e.re, (float)e.im};
    double d[2] = {e.re, e.im};
    uint16_t half = dtype == DPC_FLOAT16 ? to_half(e.re) : to_bfloat(e.re);

    switch (dtype) {
#define WRITE(name, type)                                                                          \
    case name: {                                                                                   \
        type v = (type)e.whole;                                                                    \
        memcpy(at, &v, sizeof(v));                                                                 \
        break;                                                                                     \
    }
        INTEGERS(WRITE)
    case DPC_FLOAT16:
    case DPC_BFLOAT16:
        memcpy(at, &half, sizeof(half));
        break;
    case DPC_FLOAT32:
    case DPC_COMPLEX64:
        memcpy(at, f, dpc_dtype_size(dtype));
        break;
    case DPC_FLOAT64:
    case DPC_COMPLEX128:
        memcpy(at, d, dpc_dtype_size(dtype));
        break;
    case DPC_DTYPE_OTHER:
        break;
    }
}

/* Return the place of a finite number among those of the dtype: adjacent ones differ by 1. */
static double place(dpc_dtype dtype, double x)
{
    int digits = dtype == DPC_FLOAT16                             ? 10
                 : dtype == DPC_BFLOAT16                          ? 7
                 : dtype == DPC_FLOAT32 || dtype == DPC_COMPLEX64 ? 23
                                                                  : 52;
    int least = dtype == DPC_FLOAT16                              ? -14
                : dtype == DPC_FLOAT64 || dtype == DPC_COMPLEX128 ? -1022
                                                                  : -126;
    int exponent;

    if (x == 0)
        return 0;
    frexp(x, &exponent);
    exponent = exponent - 1 > least ? exponent - 1 : least;
    double size = ldexp(fabs(x), digits - exponent) + ldexp(exponent - least, digits);
    return x < 0 ? -size : size;
}

double element_ulps(dpc_dtype dtype, double a, double b)
{
    if (dtype_is_integer(dtype) || !isfinite(a) || !isfinite(b))
        return -1;
    return fabs(place(dtype, a) - place(dtype, b));
}

char *element_text(dpc_dtype dtype, element e)
{
    int digits = dtype == DPC_FLOAT64 || dtype == DPC_COMPLEX128 ? 17
                 : dtype == DPC_FLOAT16 || dtype == DPC_BFLOAT16 ? 5
                                                                 : 9;

    if (dtype == DPC_BOOL)
        return text_printf("%s", e.whole ? "true" : "false");
    if (dtype_is_integer(dtype))
        return text_printf("%lld", (long long)e.whole);
    if (dtype_is_complex(dtype))
        return text_printf("%.*g%+.*gi", digits, e.re, digits, e.im);
    return text_printf("%.*g", digits, e.re);
}

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
