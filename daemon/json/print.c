/* print.c -- prints numbers with the fewest digits that read back as the same value of the
 * element's dtype, whatever the locale of the process is. */
#include "json/text.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A decimal is digits * 10^exp10, where `digits` is an integer.  A long double with 64 bits of
 * precision represents exactly every integer below 10^18 and every power of ten up to 10^27.  One
 * multiplication or division therefore computes the digits of a number, and a second one computes
 * the value that these digits stand for; both results are exact except for the last bit.  The C
 * library is used where that bit could change the outcome, and for larger powers of ten. */

#if LDBL_MANT_DIG < 64
#error "a long double of less than 64 bits"
#endif
enum { POWERS = 28, POSITIONAL_MAX = 15, POSITIONAL_MIN = -4 };
static const long double powers[POWERS] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                           1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                           1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                           1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};

typedef struct decimal {
    uint64_t digits;
    int exp10;
} decimal;

enum { NO, YES, UNSURE }; /* does a decimal read back as the number that it was computed from? */

/* min_digits: a decimal of at most this many digits is unchanged by the conversion decimal -> dtype
 * -> decimal (FLT_DIG).  max_digits: this many digits identify every value of the dtype. */
typedef struct precision {
    int min_digits, max_digits;
    /* smaller numbers are subnormal: they have fewer bits, so fewer digits may suffice */
    double min_normal;
    double exact_below; /* every integer below this magnitude is a value of the dtype */
} precision;

static precision precision_of(dp_dtype dtype)
{
    switch (dtype) {
    case DP_FLOAT16:
        return (precision){3, 5, 0x1p-14, 0x1p11};
    case DP_BFLOAT16:
        return (precision){2, 4, 0x1p-126, 0x1p8};
    case DP_FLOAT32:
        return (precision){6, 9, 0x1p-126, 0x1p24};
    default:
        return (precision){15, 17, 0x1p-1022, 0x1p53};
    }
}

static double read_as(dp_dtype dtype, long double x)
{
    double d = (double)x;
    uint16_t half;

    if (dtype == DP_FLOAT64)
        return d;
    if (dtype == DP_FLOAT32)
        return (double)(float)x;
    dp_convert(dtype, &half, DP_FLOAT64, &d, 1);
    dp_convert(DP_FLOAT64, &d, dtype, &half, 1);
    return d;
}

/* Round `d` > 0 to `n` digits, the first of which has the weight 10^`top`.  Returns YES, NO or
 * UNSURE: does the result read back as `d`? */
static int round_by_power(double d, int n, int top, dp_dtype dtype, decimal *out)
{
    int k = n - 1 - top;

    if (k <= -POWERS || k >= POWERS)
        return UNSURE;
    long double power = powers[k < 0 ? -k : k];
    long double digits = rintl(k < 0 ? d / power : d * power);
    long double value = k < 0 ? digits * power : digits / power;
    *out = (decimal){(uint64_t)digits, -k};
    if (k <= 0 && value < 0x1p64L) /* the product is an integer below 2^64, so it is exact */
        return read_as(dtype, value) == d;
    bool below = read_as(dtype, nextafterl(value, 0)) == d;
    bool above = read_as(dtype, nextafterl(value, INFINITY)) == d;
    return below == above ? below : UNSURE;
}

static int round_by_text(double d, int n, dp_dtype dtype, decimal *out)
{
    char text[64];
    const char *p = text;

    snprintf(text, sizeof(text), "%.*e", n - 1, d);
    *out = (decimal){0, 0};
    for (; *p != 'e'; p++)
        if (*p >= '0' && *p <= '9') /* any other character is the decimal point of the locale */
            out->digits = 10 * out->digits + (uint64_t)(*p - '0');
    out->exp10 = atoi(p + 1) - (n - 1);
    /* strtod() reads the text in the locale in which it was printed. */
    return d ==
           (dtype == DP_FLOAT32 ? (double)strtof(text, NULL) : read_as(dtype, strtod(text, NULL)));
}

/* Find the shortest decimal that reads back as `d` > 0. */
static decimal shortest(double d, dp_dtype dtype)
{
    precision p = precision_of(dtype);
    int top = (int)floor(log10(d));
    decimal x = {0, 0};

    for (int n = d < p.min_normal ? 1 : p.min_digits; n <= p.max_digits; n++) {
        int back = round_by_power(d, n, top, dtype, &x);
        if (back == UNSURE || (back == NO && n == p.max_digits))
            back = round_by_text(d, n, dtype, &x);
        if (back == YES)
            break;
    }
    while (x.digits % 10 == 0) {
        x.digits /= 10;
        x.exp10++;
    }
    return x;
}

static char *put_digits(char *p, const char *digits, int n)
{
    memcpy(p, digits, (size_t)n);
    return p + n;
}

static char *put_zeros(char *p, int n)
{
    memset(p, '0', (size_t)n);
    return p + n;
}

static char *put_exponent(char *p, const char *digits, int n, int exponent)
{
    char text[DIGITS_MAX], *end = text + sizeof(text);
    char *from = digits_of((uint64_t)abs(exponent), end);

    *p++ = digits[0];
    if (n > 1) {
        *p++ = '.';
        p = put_digits(p, digits + 1, n - 1);
    }
    *p++ = 'e';
    if (exponent < 0)
        *p++ = '-';
    return put_digits(p, from, (int)(end - from));
}

/* Print `x`.  An exponent is printed only for large and small numbers; see POSITIONAL_MAX and
 * POSITIONAL_MIN. */
static size_t layout(char *out, bool negative, decimal x)
{
    char text[DIGITS_MAX], *end = text + sizeof(text), *p = out;
    const char *digits = digits_of(x.digits, end);
    int n = (int)(end - digits);
    int point = n + x.exp10; /* number of digits before the decimal point */

    if (negative)
        *p++ = '-';
    if (point > POSITIONAL_MAX || point <= POSITIONAL_MIN) {
        p = put_exponent(p, digits, n, point - 1);
    } else if (point <= 0) {
        p = put_zeros(put_digits(p, "0.", 2), -point);
        p = put_digits(p, digits, n);
    } else if (point < n) {
        p = put_digits(p, digits, point);
        *p++ = '.';
        p = put_digits(p, digits + point, n - point);
    } else {
        p = put_zeros(put_digits(p, digits, n), point - n);
    }
    return (size_t)(p - out);
}

static size_t print_int(char *out, int64_t i)
{
    char text[DIGITS_MAX], *end = text + sizeof(text), *p = out;
    const char *digits = digits_of(i < 0 ? 0 - (uint64_t)i : (uint64_t)i, end);
    bool quoted_text = !is_exact_int(i);

    if (quoted_text)
        *p++ = '"';
    if (i < 0)
        *p++ = '-';
    p = put_digits(p, digits, (int)(end - digits));
    if (quoted_text)
        *p++ = '"';
    return (size_t)(p - out);
}

static size_t put_text(char *out, const char *text)
{
    size_t n = strlen(text);

    memcpy(out, text, n);
    return n;
}

/* Is `d` an integer whose own digits are the shortest decimal that reads back as `d`? */
static bool is_own_decimal(double d, dp_dtype dtype)
{
    double magnitude = fabs(d);
    return magnitude < 1e15 && magnitude < precision_of(dtype).exact_below &&
           (double)(int64_t)d == d;
}

static size_t print_finite(char *out, double d, dp_dtype dtype)
{
    if (d == 0) /* most JSON readers read "-0" as the integer 0, without the sign */
        return put_text(out, signbit(d) ? "-0.0" : "0");
    if (is_own_decimal(d, dtype))
        return print_int(out, (int64_t)d);
    return layout(out, d < 0, shortest(fabs(d), dtype));
}

size_t print_float(char *out, double d, dp_dtype dtype)
{
    if (isfinite(d))
        return print_finite(out, d, dtype);
    return put_text(out, isnan(d) ? "\"nan\"" : d < 0 ? "\"-inf\"" : "\"inf\"");
}

/* -- elements -- */

static size_t print_complex(char *out, const double *z, dp_dtype part)
{
    size_t n = 0;

    out[n++] = '[';
    n += print_float(out + n, z[0], part);
    out[n++] = ',';
    n += print_float(out + n, z[1], part);
    out[n++] = ']';
    return n;
}

size_t print_element(char out[ELEMENT_TEXT_MAX], dp_dtype dtype, const void *p)
{
    union {
        double z[2];
        int64_t i;
    } x;

    if (dtype == DP_BOOL)
        return put_text(out, *(const uint8_t *)p ? "true" : "false");
    if (dp_dtype_is_floating(dtype)) {
        dp_convert(DP_FLOAT64, x.z, dtype, p, 1);
        return print_float(out, x.z[0], dtype);
    }
    if (dp_dtype_is_complex(dtype)) {
        dp_convert(DP_COMPLEX128, x.z, dtype, p, 1);
        return print_complex(out, x.z, dtype == DP_COMPLEX64 ? DP_FLOAT32 : DP_FLOAT64);
    }
    dp_convert(DP_INT64, &x.i, dtype, p, 1);
    return print_int(out, x.i);
}
