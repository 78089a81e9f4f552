/* test_convert.c -- every dtype to every other, at every vector level of the machine, beside a
 * reference that converts one element at a time. */
#include "unit.h"
#include <dispatchd/dtypes.h>
#include "base/levels/convert.h"
#include <math.h>
#include <stdlib.h>

enum { N = 1100, BYTES = 16 };

/* -- the reference: by way of int64 or of two doubles, both of which hold every element exactly
 * -- */

typedef struct number {
    bool whole;
    int64_t i;
    double re, im;
} number;

static number number_at(dp_dtype d, const void *p)
{
    union {
        uint8_t u8;
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint16_t half;
        float f[2];
        double d[2];
    } x;
    memcpy(&x, p, dp_dtype_size(d));
    switch (d) {
    case DP_BOOL:
        return (number){true, x.u8 != 0, 0, 0};
    case DP_UINT8:
        return (number){true, x.u8, 0, 0};
    case DP_INT8:
        return (number){true, x.i8, 0, 0};
    case DP_INT16:
        return (number){true, x.i16, 0, 0};
    case DP_INT32:
        return (number){true, x.i32, 0, 0};
    case DP_INT64:
        return (number){true, x.i64, 0, 0};
    case DP_FLOAT16:
        return (number){false, 0, dp_float16_to_float(x.half), 0};
    case DP_BFLOAT16:
        return (number){false, 0, dp_bfloat16_to_float(x.half), 0};
    case DP_FLOAT32:
        return (number){false, 0, x.f[0], 0};
    case DP_FLOAT64:
        return (number){false, 0, x.d[0], 0};
    case DP_COMPLEX64:
        return (number){false, 0, x.f[0], x.f[1]};
    default:
        return (number){false, 0, x.d[0], x.d[1]};
    }
}

static int64_t to_int64(double d)
{
    return d >= -0x1p63 && d < 0x1p63 ? (int64_t)d : INT64_MIN;
}

static int32_t to_int32(double d)
{
    return d > -2147483649.0 && d < 2147483648.0 ? (int32_t)d : INT32_MIN;
}

static void put_real(dp_dtype d, number x, void *p)
{
    float f[2] = {x.whole ? (float)x.i : (float)x.re, x.whole ? 0 : (float)x.im};
    double both[2] = {x.whole ? (double)x.i : x.re, x.whole ? 0 : x.im};
    uint16_t half = d == DP_FLOAT16 ? dp_float_to_float16(f[0]) : dp_float_to_bfloat16(f[0]);

    if (d == DP_FLOAT16 || d == DP_BFLOAT16)
        memcpy(p, &half, 2);
    else if (d == DP_FLOAT32 || d == DP_COMPLEX64)
        memcpy(p, f, dp_dtype_size(d));
    else
        memcpy(p, both, dp_dtype_size(d));
}

static void put(dp_dtype d, number x, void *p)
{
    int64_t wide = x.whole ? x.i : d == DP_UINT8 || d == DP_INT64 ? to_int64(x.re) : to_int32(x.re);
    uint8_t truth = x.whole ? x.i != 0 : x.re != 0 || x.im != 0;

    if (d == DP_BOOL)
        memcpy(p, &truth, 1);
    else if (d <= DP_INT64)
        memcpy(p, &wide, dp_dtype_size(d)); /* the machine is little-endian */
    else
        put_real(d, x, p);
}

/* -- elements -- */

static const dp_dtype dtypes[] = {
#define ID(name, dtype, ...) dtype,
    DP_DTYPES_ALL(ID)
#undef ID
};

/* Any bytes at all, and numbers around every limit. */
static void fill(dp_dtype d, char *p)
{
    static const double numbers[] = {
        0,    -0.0,     1,         -1.5,       127.5,      128,     255.9,        256,
        -129, 32768,    65504,     65520,      3e9,        -3e9,    2147483647.9, -2147483648.9,
        1e19, -0x1p63,  1e39,      -1e39,      0x1p-24,    0x1p-25, 0x1p-149,     5e-324,
        NAN,  INFINITY, -INFINITY, 1 + 0x1p-8, 1 + 0x1p-11};
    size_t bytes = dp_dtype_size(d);

    for (size_t i = 0; i < N * bytes; i++)
        p[i] = (char)rand();
    for (size_t i = 0; i < N; i += 2)
        put(d,
            (number){false, 0, numbers[(size_t)rand() % DPI_COUNT(numbers)],
                     numbers[(size_t)rand() % DPI_COUNT(numbers)]},
            p + i * bytes);
}

static bool same(dp_dtype d, const void *a, const void *b)
{
    number x = number_at(d, a), y = number_at(d, b);

    if (memcmp(a, b, dp_dtype_size(d)) == 0)
        return true;
    return !x.whole &&
           ((x.re == y.re && signbit(x.re) == signbit(y.re)) || (isnan(x.re) && isnan(y.re))) &&
           (x.im == y.im || (isnan(x.im) && isnan(y.im)));
}

static const dpi_convert_row *level(int i)
{
#ifdef __x86_64__
    if (i == 1)
        return __builtin_cpu_supports("x86-64-v3") ? dpi_converts_v3 : NULL;
    if (i == 2)
        return __builtin_cpu_supports("x86-64-v4") ? dpi_converts_v4 : NULL;
#endif
    return i == 0 ? dpi_converts_v1 : NULL;
}

/* from's elements lie ss apart, to's ds apart; both begin at an odd address. */
static void check(dp_dtype to, dp_dtype from, const char *src, int64_t ds, int64_t ss, int64_t n)
{
    static char base[N * 3 * BYTES + 1], out[N * 3 * BYTES + 1], want[BYTES];
    size_t bytes = dp_dtype_size(to), span = (size_t)(n * ds) + bytes;

    for (int i = 0; i < 3 && level(i) != NULL; i++) {
        memset(out, 0x5a, span + 1);
        level(i)[to][from](out + 1, ds, src, ss, n);
        for (int64_t k = 0; k < n; k++) {
            put(to, number_at(from, src + k * ss), want);
            unit_each(same(to, out + 1 + k * ds, want), "%s to %s, level %d: element %d of %d",
                      dp_dtype_name(from), dp_dtype_name(to), i, (int)k, (int)n);
        }
        unit_each(out[1 + n * ds] == 0x5a, "%s to %s: wrote behind the end", dp_dtype_name(from),
                  dp_dtype_name(to));
        if (i == 0)
            memcpy(base, out, span + 1);
        unit_each(memcmp(base, out, span + 1) == 0, "%s to %s: level %d has other bits",
                  dp_dtype_name(from), dp_dtype_name(to), i);
    }
}

START_TEST(every_level_converts_as_the_reference_does)
{
    static char src[N * 3 * BYTES + 1];
    static const int64_t lengths[] = {0, 1, 7, 8, 15, 33, 64, 1025};

    srand(7);
    for (size_t i = 0; i < DPI_COUNT(dtypes) * DPI_COUNT(dtypes); i++) {
        dp_dtype from = dtypes[i / 12], to = dtypes[i % 12];
        int64_t ss = (int64_t)dp_dtype_size(from), ds = (int64_t)dp_dtype_size(to);
        fill(from, src + 1);
        for (size_t k = 0; k < DPI_COUNT(lengths); k++)
            check(to, from, src + 1, ds, ss, lengths[k]);
        check(to, from, src + 1, 2 * ds, ss, 100);
        check(to, from, src + 1, ds, 2 * ss, 100);
        check(to, from, src + 1, 3 * ds, 2 * ss, 100);
        check(to, from, src + 1, ds, 0, 100);
        ck_assert_ptr_nonnull(dp_converter(to, from));
    }
    ck_assert_ptr_null(dp_converter(DP_FLOAT32, DP_DTYPE_NONE));
    ck_assert_ptr_null(dp_converter(77, DP_FLOAT32));
}
END_TEST

UNIT_SUITE(convert)
{
    tcase_add_test(tc, every_level_converts_as_the_reference_does);
}
