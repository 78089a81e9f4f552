/* test_dtype.c -- dtypes: names, sizes and conversions of one value. */
#include "base/backend.h"
#include "unit.h"
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

START_TEST(dtype_names_and_sizes)
{
#define CHECK(id, number, name, aten, bytes, category)                                             \
    ck_assert_int_eq(dp_dtype_parse(name), number);                                                \
    ck_assert_str_eq(dp_dtype_name(id), name);                                                     \
    ck_assert_uint_eq(dp_dtype_size(id), bytes);
    DP_DTYPE_MAP(CHECK)
#undef CHECK
    ck_assert_int_eq(dp_dtype_parse("float"), DP_DTYPE_NONE);
    ck_assert_uint_eq(dp_dtype_size(8), 0);
    ck_assert_uint_eq(dp_dtype_size(DP_DTYPE_NONE), 0);
    ck_assert_str_eq(dp_dtype_name(99), "?");
}
END_TEST

START_TEST(reserved_dtypes_are_refused_by_name)
{
#define CHECK(number, name)                                                                        \
    ck_assert_uint_eq(dp_dtype_size(number), 0);                                                   \
    ck_assert_int_eq(dp_dtype_parse(name), DP_DTYPE_NONE);                                         \
    ck_assert(dpi_dtype_is_reserved(name));                                                        \
    ck_assert_int_eq(dpi_dtype_check(number, &err), DP_ETYPE);                                     \
    ck_assert_ptr_nonnull(strstr(err.message, name));
    dp_error err = DP_ERROR_INIT;
    DP_DTYPE_RESERVED_MAP(CHECK)
#undef CHECK
    ck_assert(!dpi_dtype_is_reserved("float32") && !dpi_dtype_is_reserved("float33"));
    ck_assert_int_eq(dpi_dtype_check(46, &err), DP_ETYPE);
    ck_assert_str_eq(err.message, "no dtype has number 46");
    ck_assert_int_eq(dpi_dtype_check(DP_DTYPE_NONE, &err), DP_ETYPE);
    ck_assert_int_eq(dpi_dtype_check(DP_QUINT8, &err), 0);
}
END_TEST

/* A quantized element converts as the integer that it is stored as. */
START_TEST(convert_quantized_as_stored)
{
    static const int64_t in[] = {-1, 5, 127};
    int8_t q8[3];
    uint8_t qu8[3];
    int64_t back[3];

    dp_convert(DP_QINT8, q8, DP_INT64, in, 3);
    ck_assert_int_eq(q8[0], -1);
    dp_convert(DP_QUINT8, qu8, DP_INT64, in, 3);
    ck_assert_int_eq(qu8[0], 255);
    dp_convert(DP_INT64, back, DP_QINT8, q8, 3);
    ck_assert_mem_eq(back, in, sizeof(in));
}
END_TEST

/* What PyTorch 1.13.1 gives on x86-64, out of range too. */
START_TEST(convert_floats_to_integers)
{
    static const float in[] = {300.0f, -1.5f, 1e20f, NAN,    INFINITY, -300.0f,
                               40000,  3e9f,  -3e9f, 129.0f, 255.5f};
    static const uint8_t u8[] = {44, 255, 0, 0, 0, 212, 64, 0, 0, 129, 255};
    static const int8_t i8[] = {44, -1, 0, 0, 0, -44, 64, 0, 0, -127, -1};
    static const int16_t i16[] = {300, -1, 0, 0, 0, -300, -25536, 0, 0, 129, 255};
    static const int32_t i32[] = {300,   -1,        INT32_MIN, INT32_MIN, INT32_MIN, -300,
                                  40000, INT32_MIN, INT32_MIN, 129,       255};
    static const int64_t i64[] = {300,   -1,         INT64_MIN,   INT64_MIN, INT64_MIN, -300,
                                  40000, 3000000000, -3000000000, 129,       255};
    static const uint8_t b[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const struct {
        dp_dtype to;
        const void *want;
    } cases[] = {{DP_UINT8, u8},  {DP_INT8, i8},   {DP_INT16, i16},
                 {DP_INT32, i32}, {DP_INT64, i64}, {DP_BOOL, b}};
    int64_t out[DPI_COUNT(in)];

    for (size_t c = 0; c < DPI_COUNT(cases); c++) {
        dp_convert(cases[c].to, out, DP_FLOAT32, in, DPI_COUNT(in));
        ck_assert_mem_eq(out, cases[c].want, DPI_COUNT(in) * dp_dtype_size(cases[c].to));
    }
}
END_TEST

START_TEST(convert_rounds_halves_to_even)
{
    static const float in[] = {1.0f,       65504.0f,  65519.9f,    65520.0f, 0x1p-24f,
                               0x1.8p-25f, 0x1p-25f,  -0.0f,       NAN,      0x1.002p0f,
                               0x1.006p0f, -INFINITY, 0x1.ffcp-15f};
    static const uint16_t want[] = {0x3c00, 0x7bff, 0x7bff, 0x7c00, 1,      1,         0,
                                    0x8000, 0x7e00, 0x3c00, 0x3c02, 0xfc00, 0x03ff + 1};
    static const uint16_t bwant[] = {0x3f80, 0x4780, 0x4780, 0x4780, 0x3380, 0x3340, 0x3300,
                                     0x8000, 0x7fc0, 0x3f80, 0x3f80, 0xff80, 0x3880};
    uint16_t out[DPI_COUNT(in)];

    dp_convert(DP_FLOAT16, out, DP_FLOAT32, in, DPI_COUNT(in));
    for (size_t i = 0; i + 1 < DPI_COUNT(in); i++)
        ck_assert_uint_eq(out[i], want[i]);
    dp_convert(DP_BFLOAT16, out, DP_FLOAT32, in, DPI_COUNT(in));
    for (size_t i = 0; i < DPI_COUNT(in); i++)
        ck_assert_uint_eq(out[i], bwant[i]);
}
END_TEST

/* Every float16 and bfloat16 survives the way through float32. */
START_TEST(convert_halves_there_and_back)
{
    static const dp_dtype halves[] = {DP_FLOAT16, DP_BFLOAT16};

    for (int k = 0; k < 2; k++)
        for (uint32_t u = 0; u <= 0xffff; u++) {
            uint16_t h = (uint16_t)u, back;
            float f;
            dp_convert(DP_FLOAT32, &f, halves[k], &h, 1);
            dp_convert(halves[k], &back, DP_FLOAT32, &f, 1);
            if (isnan(f))
                unit_each((back & 0x7fff) == (k ? 0x7fc0 : 0x7e00), "nan %04x came back as %04x", h,
                          back);
            else
                unit_each(back == h, "%04x came back as %04x", h, back);
        }
}
END_TEST

START_TEST(convert_every_dtype_to_every_other)
{
    static const uint8_t ones[] = {1, 0, 1};
    unsigned char a[64], b[64];
    uint8_t back[3];

    for (dp_dtype from = 0; from < DP_DTYPE_END; from++)
        for (dp_dtype to = 0; to < DP_DTYPE_END; to++) {
            if (!dp_dtype_size(from) || !dp_dtype_size(to))
                continue;
            dp_convert(from, a, DP_UINT8, ones, 3);
            dp_convert(to, b, from, a, 3);
            dp_convert(DP_UINT8, back, to, b, 3);
            ck_assert_mem_eq(back, ones, 3);
        }
    static const double c[] = {2.5, -1, 0, 1};
    float re[2], c64[4];
    uint8_t truth[2];
    int64_t big = INT64_MAX, same;
    dp_convert(DP_FLOAT32, re, DP_COMPLEX128, c, 2);
    ck_assert_float_eq(re[0], 2.5f);
    ck_assert_float_eq(re[1], 0.0f);
    dp_convert(DP_COMPLEX64, c64, DP_COMPLEX128, c, 2);
    ck_assert_float_eq(c64[1], -1.0f);
    dp_convert(DP_BOOL, truth, DP_COMPLEX128, c, 2);
    ck_assert_uint_eq(truth[1], 1);
    dp_convert(DP_INT64, &same, DP_INT64, &big, 1);
    ck_assert_int_eq(same, big);
}
END_TEST

UNIT_SUITE(dtype)
{
    tcase_add_test(tc, dtype_names_and_sizes);
    tcase_add_test(tc, reserved_dtypes_are_refused_by_name);
    tcase_add_test(tc, convert_quantized_as_stored);
    tcase_add_test(tc, convert_floats_to_integers);
    tcase_add_test(tc, convert_rounds_halves_to_even);
    tcase_add_test(tc, convert_halves_there_and_back);
    tcase_add_test(tc, convert_every_dtype_to_every_other);
}
