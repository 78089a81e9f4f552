/* write.c -- JSON text of answers, straight into a buffer (docs/protocol.md).
 *
 * A jw owns its buffer and nothing else.  Numbers are printed so that they read back exactly, in
 * the element's own dtype, with as few digits as that takes, whatever the process's locale is. */
#include "json/json.h"
#include "daemon.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JW_DEPTH_MAX = 64, JW_FIRST_BYTES = 512, ELEMENT_TEXT_MAX = 96 };

void jw_init(jw *w)
{
    *w = (jw){0};
}

void jw_fini(jw *w)
{
    if (w->paid_by != NULL) {
        dp_account_refund(w->paid_by, DP_HOLDER_INTERMEDIATES, 0, w->paid);
        dp_account_close(w->paid_by);
    }
    dp_free(w->s);
    jw_init(w);
}

/* For a buffer of cap bytes. */
static bool pay(jw *w, size_t cap)
{
    if (w->account == NULL || cap <= LIMIT_INLINE_BYTES)
        return true;
    w->refused =
        dp_account_charge(w->account, DP_HOLDER_INTERMEDIATES, 0, cap - w->paid, w->err) < 0;
    if (w->refused)
        return false;
    if (w->paid_by == NULL)
        w->paid_by = dp_account_ref(w->account);
    w->paid = cap;
    return true;
}

static bool grow(jw *w, size_t n)
{
    size_t cap = w->cap > JW_FIRST_BYTES ? w->cap : JW_FIRST_BYTES;

    if (w->failed)
        return false;
    while (cap - w->len < n)
        cap *= 2;
    char *s = w->len + n > LIMIT_ANSWER_BYTES || !pay(w, cap) ? NULL : dp_realloc(w->s, cap);
    w->failed = s == NULL;
    if (s == NULL)
        return false;
    w->s = s;
    w->cap = cap;
    return true;
}

static inline bool room(jw *w, size_t n)
{
    return (w->cap - w->len >= n && !w->failed) || grow(w, n);
}

/* n bytes as the first and the last `part` of them, which may overlap; part <= n <= 2 * part. */
static inline __attribute__((always_inline)) void copy_ends(char *to, const char *from, size_t n,
                                                            size_t part)
{
    char first[8], last[8];

    memcpy(first, from, part);
    memcpy(last, from + n - part, part);
    memcpy(to, first, part);
    memcpy(to + n - part, last, part);
}

/* memcpy() for texts that are mostly short. */
static inline void copy(char *to, const char *from, size_t n)
{
    if (n > 16)
        memcpy(to, from, n);
    else if (n >= 8)
        copy_ends(to, from, n, 8);
    else if (n >= 4)
        copy_ends(to, from, n, 4);
    else if (n >= 2)
        copy_ends(to, from, n, 2);
    else if (n == 1)
        *to = *from;
}

void jw_text(jw *w, const char *s, size_t n)
{
    if (n > 0 && room(w, n)) {
        copy(w->s + w->len, s, n);
        w->len += n;
    }
}

static inline void put(jw *w, char c)
{
    if (room(w, 1))
        w->s[w->len++] = c;
}

static inline void element(jw *w)
{
    uint64_t level = (uint64_t)1 << w->depth;

    if (w->comma & level)
        put(w, ',');
    w->comma |= level;
}

static void open_with(jw *w, char bracket)
{
    element(w);
    put(w, bracket);
    if (w->depth + 1 >= JW_DEPTH_MAX)
        w->failed = true;
    else
        w->comma &= ~((uint64_t)1 << ++w->depth);
}

static void close_with(jw *w, char bracket)
{
    if (w->depth > 0)
        w->depth--;
    put(w, bracket);
}

void jw_object(jw *w)
{
    open_with(w, '{');
}

void jw_object_end(jw *w)
{
    close_with(w, '}');
}

void jw_array(jw *w)
{
    open_with(w, '[');
}

void jw_array_end(jw *w)
{
    close_with(w, ']');
}

void jw_raw(jw *w, const char *s, size_t n)
{
    element(w);
    jw_text(w, s, n);
}

void jw_null(jw *w)
{
    jw_raw(w, "null", 4);
}

void jw_bool(jw *w, bool b)
{
    jw_raw(w, b ? "true" : "false", b ? 4 : 5);
}

/* -- strings -- */

static void escape(jw *w, unsigned char c)
{
    static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *at = memchr(plain, c, sizeof(plain) - 1);
    char text[8];

    if (at != NULL)
        jw_text(w, (char[]){'\\', letters[at - plain]}, 2);
    else
        jw_text(w, text, (size_t)snprintf(text, sizeof(text), "\\u%04x", c));
}

/* The first byte of s, which is not plain; behind it. */
static const char *put_special(jw *w, const char *s, size_t n)
{
    size_t bytes = utf8_sequence(s, n);

    if (bytes == 0)
        jw_text(w, "\xef\xbf\xbd", 3); /* U+FFFD for each byte that is no UTF-8 */
    else if (bytes > 1)
        jw_text(w, s, bytes);
    else
        escape(w, (unsigned char)*s);
    return s + (bytes > 0 ? bytes : 1);
}

static void quoted(jw *w, const char *s, size_t n)
{
    const char *end = s + n;

    put(w, '"');
    for (size_t plain; (plain = plain_bytes(s, (size_t)(end - s))) < (size_t)(end - s);) {
        jw_text(w, s, plain);
        s = put_special(w, s + plain, (size_t)(end - s) - plain);
    }
    jw_text(w, s, (size_t)(end - s));
    put(w, '"');
}

void jw_strn(jw *w, const char *s, size_t n)
{
    element(w);
    quoted(w, s, n);
}

void jw_str(jw *w, const char *s)
{
    if (s == NULL)
        jw_null(w);
    else
        jw_strn(w, s, strlen(s));
}

void jw_keyn(jw *w, const char *name, size_t n)
{
    uint64_t level = (uint64_t)1 << w->depth;

    if (room(w, n + sizeof(",\"\":") - 1)) {
        char *p = w->s + w->len;
        if (w->comma & level)
            *p++ = ',';
        *p++ = '"';
        copy(p, name, n);
        memcpy(p + n, "\":", 2);
        w->len = (size_t)(p + n + 2 - w->s);
    }
    w->comma &= ~level; /* its value follows without a comma */
}

/* -- integers -- */

enum { DIGITS_MAX = 20 };

/* Decimal digits of x, so that they end at `end`; where they begin. */
static char *digits_of(uint64_t x, char *end)
{
    do {
        *--end = (char)('0' + x % 10);
        x /= 10;
    } while (x > 0);
    return end;
}

void jw_int(jw *w, int64_t i)
{
    char text[1 + DIGITS_MAX], *end = text + sizeof(text);
    char *p = digits_of(i < 0 ? 0 - (uint64_t)i : (uint64_t)i, end);

    if (i < 0)
        *--p = '-';
    jw_raw(w, p, (size_t)(end - p));
}

static bool is_exact_int(int64_t i)
{
    return i > -JSON_EXACT_INT && i < JSON_EXACT_INT;
}

void jw_value_int(jw *w, int64_t i)
{
    char text[40];

    if (is_exact_int(i))
        jw_int(w, i);
    else
        jw_raw(w, text, (size_t)snprintf(text, sizeof(text), "{\"int\":\"%" PRId64 "\"}", i));
}

/* -- members -- */

void member_strings(jw *w, const char *name, const char *const *strings, size_t n)
{
    jw_key(w, name);
    jw_array(w);
    for (size_t i = 0; i < n; i++)
        jw_str(w, strings[i]);
    jw_array_end(w);
}

/* -- floating point -- */

/* A decimal is digits * 10^exp10, with an integer for digits.  A long double of 64 bits holds every
 * digits below 10^18 and every power up to 10^27 exactly.  So one product or quotient gives the
 * digits of a number, and another one the value that a decimal reads as; both are exact but for the
 * last bit.  Where that bit could decide, and beyond those powers, the C library is asked. */

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

enum { NO, YES, UNSURE }; /* does a decimal read back as the number it was made of? */

/* How many digits survive decimal -> dtype -> decimal, and how many any value needs. */
typedef struct precision {
    int least, most;
    double normal; /* below it values have fewer bits, so fewer digits may do */
    double exact;  /* below it no two integers read as the same value */
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

/* d > 0 rounded to n digits, the first of them that of 10^top, and whether they read as d. */
static int round_by_power(double d, int n, int top, dp_dtype dtype, decimal *out)
{
    int k = n - 1 - top;

    if (k <= -POWERS || k >= POWERS)
        return UNSURE;
    long double power = powers[k < 0 ? -k : k];
    long double digits = rintl(k < 0 ? d / power : d * power);
    long double value = k < 0 ? digits * power : digits / power;
    *out = (decimal){(uint64_t)digits, -k};
    if (k <= 0 && value < 0x1p64L) /* nothing was rounded */
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
        if (*p >= '0' && *p <= '9') /* else it is the locale's decimal point */
            out->digits = 10 * out->digits + (uint64_t)(*p - '0');
    out->exp10 = atoi(p + 1) - (n - 1);
    /* strtod reads the text in the same locale that printed it. */
    return d ==
           (dtype == DP_FLOAT32 ? (double)strtof(text, NULL) : read_as(dtype, strtod(text, NULL)));
}

/* Of d > 0. */
static decimal shortest(double d, dp_dtype dtype)
{
    precision p = precision_of(dtype);
    int top = (int)floor(log10(d));
    decimal x = {0, 0};

    for (int n = d < p.normal ? 1 : p.least; n <= p.most; n++) {
        int back = round_by_power(d, n, top, dtype, &x);
        if (back == UNSURE || (back == NO && n == p.most))
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

/* Without an exponent as long as that is short, and as long as an integral number stays below what
 * would be read as an int. */
static size_t layout(char *out, bool negative, decimal x)
{
    char text[DIGITS_MAX], *end = text + sizeof(text), *p = out;
    const char *digits = digits_of(x.digits, end);
    int n = (int)(end - digits);
    int point = n + x.exp10; /* digits before the decimal point */

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

/* Is d an integer that is short, and that no shorter decimal reads as? */
static bool is_own_decimal(double d, dp_dtype dtype)
{
    double size = fabs(d);
    return size < 1e15 && size < precision_of(dtype).exact && (double)(int64_t)d == d;
}

static size_t print_finite(char *out, double d, dp_dtype dtype)
{
    if (d == 0) /* "-0" would be an integer to most readers, and lose its sign */
        return put_text(out, signbit(d) ? "-0.0" : "0");
    if (is_own_decimal(d, dtype))
        return print_int(out, (int64_t)d);
    return layout(out, d < 0, shortest(fabs(d), dtype));
}

static size_t print_float(char *out, double d, dp_dtype dtype)
{
    if (isfinite(d))
        return print_finite(out, d, dtype);
    return put_text(out, isnan(d) ? "\"nan\"" : d < 0 ? "\"-inf\"" : "\"inf\"");
}

void jw_value_double(jw *w, double d)
{
    char text[ELEMENT_TEXT_MAX];
    size_t n = print_float(text, d, DP_FLOAT64);

    if (isfinite(d) && d != floor(d)) {
        jw_raw(w, text, n);
        return;
    }
    jw_object(w);
    jw_key(w, "float");
    jw_raw(w, text, n);
    jw_object_end(w);
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

static size_t element_print(char out[ELEMENT_TEXT_MAX], dp_dtype dtype, const void *p)
{
    union {
        double z[2];
        int64_t i;
    } x;

    switch (dtype) {
    case DP_BOOL:
        return put_text(out, *(const uint8_t *)p ? "true" : "false");
    case DP_COMPLEX64:
    case DP_COMPLEX128:
        dp_convert(DP_COMPLEX128, x.z, dtype, p, 1);
        return print_complex(out, x.z, dtype == DP_COMPLEX64 ? DP_FLOAT32 : DP_FLOAT64);
    case DP_FLOAT16:
    case DP_BFLOAT16:
    case DP_FLOAT32:
    case DP_FLOAT64:
        dp_convert(DP_FLOAT64, x.z, dtype, p, 1);
        return print_float(out, x.z[0], dtype);
    default:
        dp_convert(DP_INT64, &x.i, dtype, p, 1);
        return print_int(out, x.i);
    }
}

void jw_element(jw *w, dp_dtype dtype, const void *p)
{
    char text[ELEMENT_TEXT_MAX];
    jw_raw(w, text, element_print(text, dtype, p));
}

void jw_elements(jw *w, dp_dtype dtype, const char *p, int64_t n)
{
    size_t item = dp_dtype_size(dtype);

    for (int64_t i = 0; i < n && room(w, ELEMENT_TEXT_MAX + 1); i++, p += item) {
        if (i > 0)
            w->s[w->len++] = ',';
        w->len += element_print(w->s + w->len, dtype, p);
    }
}
