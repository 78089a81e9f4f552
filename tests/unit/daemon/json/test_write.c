/* test_write.c -- what is printed reads back exactly, is as short as can be, and is JSON. */
#include "methods/methods.h"
#include "unit.h"
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static jw w;

static void setup(void)
{
    jw_init(&w);
}

static void teardown(void)
{
    jw_fini(&w);
}

static const char *text(void)
{
    jw_text(&w, "", 1);
    ck_assert_int_eq(w.failed, false);
    return w.s;
}

static const char *element(dp_dtype dtype, const void *p)
{
    jw_fini(&w);
    jw_element(&w, dtype, p);
    return text();
}

START_TEST(commas_stand_between_elements_only)
{
    jw_object(&w);
    jw_key(&w, "a");
    jw_array(&w);
    jw_int(&w, 1);
    jw_null(&w);
    jw_array(&w);
    jw_array_end(&w);
    jw_object(&w);
    jw_object_end(&w);
    jw_bool(&w, true);
    jw_array_end(&w);
    jw_key(&w, "b");
    jw_raw(&w, "[1]", 3);
    jw_key(&w, "c");
    jw_str(&w, NULL);
    jw_object_end(&w);
    ck_assert_str_eq(text(), "{\"a\":[1,null,[],{},true],\"b\":[1],\"c\":null}");
}
END_TEST

static const struct {
    const char *in, *out;
} strings[] = {
    {"", "\"\""},
    {"plain", "\"plain\""},
    {"\"\\/", "\"\\\"\\\\/\""},
    {"\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\""},
    {"\x01\x1f\x7f", "\"\\u0001\\u001f\x7f\""},
    {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
     "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\""},
    {"\xff", "\"\xef\xbf\xbd\""},
    {"a\xc3", "\"a\xef\xbf\xbd\""},
    {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    {"\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
};

START_TEST(strings_are_escaped_and_valid)
{
    jw_str(&w, strings[_i].in);
    ck_assert_str_eq(text(), strings[_i].out);
}
END_TEST

START_TEST(nul_inside_a_string)
{
    jw_strn(&w, "a\0b", 3);
    ck_assert_str_eq(text(), "\"a\\u0000b\"");
}
END_TEST

static const struct {
    int64_t in;
    const char *out;
} ints[] = {
    {0, "0"},
    {-7, "-7"},
    {9007199254740991, "9007199254740991"},
    {-9007199254740991, "-9007199254740991"},
    {9007199254740992, "{\"int\":\"9007199254740992\"}"},
    {-9007199254740992, "{\"int\":\"-9007199254740992\"}"},
    {INT64_MAX, "{\"int\":\"9223372036854775807\"}"},
    {INT64_MIN, "{\"int\":\"-9223372036854775808\"}"},
};

START_TEST(int_values)
{
    jw_value_int(&w, ints[_i].in);
    ck_assert_str_eq(text(), ints[_i].out);
}
END_TEST

static const struct {
    double in;
    const char *out;
} doubles[] = {
    {0.1, "0.1"},
    {-2.5, "-2.5"},
    {0.0001, "0.0001"},
    {0.00001, "1e-5"},
    {1.0 / 3, "0.3333333333333333"},
    {5e-324, "5e-324"},
    {2.2250738585072014e-308, "2.2250738585072014e-308"},
    {123456.789, "123456.789"},
    {9007199254740991.5e-3, "9007199254740.992"},
    {0, "{\"float\":0}"},
    {-0.0, "{\"float\":-0.0}"},
    {2, "{\"float\":2}"},
    {1e15, "{\"float\":1e15}"},
    {123456789012345, "{\"float\":123456789012345}"},
    {1e22, "{\"float\":1e22}"},
    {1.7976931348623157e308, "{\"float\":1.7976931348623157e308}"},
    {NAN, "{\"float\":\"nan\"}"},
    {INFINITY, "{\"float\":\"inf\"}"},
    {-INFINITY, "{\"float\":\"-inf\"}"},
};

START_TEST(double_values)
{
    jw_value_double(&w, doubles[_i].in);
    ck_assert_str_eq(text(), doubles[_i].out);
}
END_TEST

START_TEST(elements_of_each_dtype)
{
    float f = 0.1f, big = 16777216, mu = 3.4028235e38f;
    double d = 0.1, one = 1;
    int64_t max = INT64_MAX;
    uint8_t u = 255, yes = 1;
    uint16_t half = 0x3555, bf = 0x3dcd; /* a third; a tenth */
    float z[2] = {1.5f, -INFINITY};

    ck_assert_str_eq(element(DP_FLOAT32, &f), "0.1");
    ck_assert_str_eq(element(DP_FLOAT32, &big), "16777216");
    ck_assert_str_eq(element(DP_FLOAT32, &mu), "3.4028235e38");
    ck_assert_str_eq(element(DP_FLOAT64, &d), "0.1");
    ck_assert_str_eq(element(DP_FLOAT64, &one), "1");
    ck_assert_str_eq(element(DP_INT64, &max), "\"9223372036854775807\"");
    ck_assert_str_eq(element(DP_UINT8, &u), "255");
    ck_assert_str_eq(element(DP_BOOL, &yes), "true");
    ck_assert_str_eq(element(DP_FLOAT16, &half), "0.3333");
    ck_assert_str_eq(element(DP_BFLOAT16, &bf), "0.1");
    ck_assert_str_eq(element(DP_COMPLEX64, z), "[1.5,\"-inf\"]");
}
END_TEST

/* Digits of the shortest decimal, by asking the C library for one more digit at a time. */
static int fewest_digits(double d, bool single)
{
    char s[64];

    for (int n = 1; n < 17; n++) {
        snprintf(s, sizeof(s), "%.*e", n - 1, d);
        if (single ? strtof(s, NULL) == (float)d : strtod(s, NULL) == d)
            return n;
    }
    return 17;
}

static int digits_of(const char *s)
{
    int n = 0, zeros = 0;

    for (; *s != '\0' && *s != 'e'; s++) {
        if (*s < '0' || *s > '9' || (n == 0 && *s == '0'))
            continue;
        n++;
        zeros = *s == '0' ? zeros + 1 : 0;
    }
    return n - zeros;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

enum { RANDOM_NUMBERS = 20000 };

START_TEST(random_doubles_read_back)
{
    uint64_t state = 88172645463325252u;
    double d;

    for (int i = 0; i < RANDOM_NUMBERS; i++) {
        uint64_t bits = next_random(&state);
        if (i % 2) /* exponents near 0, and few digits */
            d = (double)(bits % 1000000) / (double)(1 + bits % 997);
        else
            memcpy(&d, &bits, sizeof(d));
        if (!isfinite(d))
            continue;
        const char *s = element(DP_FLOAT64, &d);
        unit_each(strtod(s, NULL) == d, "%.17g printed as %s", d, s);
        unit_each(d == 0 || digits_of(s) == fewest_digits(fabs(d), false), "%.17g is %s", d, s);
    }
}
END_TEST

START_TEST(random_floats_read_back)
{
    uint64_t state = 2463534242u;

    for (int i = 0; i < RANDOM_NUMBERS; i++) {
        uint32_t bits = (uint32_t)next_random(&state);
        float f;
        memcpy(&f, &bits, sizeof(f));
        if (i % 2)
            f = (float)(bits % 100000) / 1000;
        if (!isfinite(f))
            continue;
        const char *s = element(DP_FLOAT32, &f);
        unit_each(strtof(s, NULL) == f, "%.9g printed as %s", (double)f, s);
        unit_each((float)strtod(s, NULL) == f, "%.9g printed as %s", (double)f, s);
        unit_each(f == 0 || digits_of(s) == fewest_digits(fabs((double)f), true), "%.9g is %s",
                  (double)f, s);
    }
}
END_TEST

/* Every value of the two halves reads back by the conversion that reads them in. */
START_TEST(every_half_reads_back)
{
    dp_dtype dtype = _i == 0 ? DP_FLOAT16 : DP_BFLOAT16;

    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        uint16_t h = (uint16_t)bits, back;
        double d;
        dp_convert(DP_FLOAT64, &d, dtype, &h, 1);
        if (!isfinite(d))
            continue;
        const char *s = element(dtype, &h);
        d = strtod(s, NULL);
        dp_convert(dtype, &back, DP_FLOAT64, &d, 1);
        unit_each(back == h, "%s 0x%04x printed as %s, read as 0x%04x", dp_dtype_name(dtype), h, s,
                  back);
    }
}
END_TEST

/* Makes a locale whose decimal point is a comma; 0 when this system cannot. */
static int make_comma_locale(char *dir)
{
    char command[512];

    if (mkdtemp(dir) == NULL)
        return 0;
    snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 %s/xx_XX.UTF-8 >/dev/null 2>&1",
             dir);
    if (system(command) != 0 || setenv("LOCPATH", dir, 1) != 0)
        return 0;
    return setlocale(LC_ALL, "xx_XX.UTF-8") != NULL && localeconv()->decimal_point[0] == ',';
}

/* Numbers in and out do not depend on the locale.  Tests run in a child each, so it ends with this.
 */
START_TEST(a_comma_locale_changes_nothing)
{
    char dir[] = "/tmp/dispatchd-locale-XXXXXX", command[64];
    double d = 0.1234567890123456789, tiny = 1.5e-300;
    dp_error err = DP_ERROR_INIT;
    cJSON *j = NULL;

    int made = make_comma_locale(dir);
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    ck_assert_int_eq(system(command), 0);
    if (!made)
        return; /* no sources of locales on this machine: nothing to switch to */
    ck_assert_str_eq(element(DP_FLOAT64, &d), "0.12345678901234568");
    ck_assert_str_eq(element(DP_FLOAT64, &tiny), "1.5e-300");
    ck_assert_int_eq(json_parse("[1.5,-2.25e1]", 13, &j, &err), 0);
    ck_assert_double_eq(j->child->valuedouble, 1.5);
    ck_assert_double_eq(j->child->next->valuedouble, -22.5);
    json_free(j);
    setlocale(LC_ALL, "C");
}
END_TEST

START_TEST(no_memory_is_remembered)
{
    dp_fault_arm(1);
    jw_str(&w, "x");
    jw_str(&w, "y");
    dp_fault_arm(0);
    ck_assert_int_eq(w.failed, true);
    ck_assert_uint_eq(w.len, 0);
}
END_TEST

/* Bytes within a reservation are written without an allocation, so also when memory is short. */
START_TEST(reserved_bytes_can_be_written)
{
    enum { RESERVED = 5000 };

    ck_assert_int_eq(jw_reserve(&w, RESERVED), true);
    dp_fault_arm(1);
    for (int i = 0; i < RESERVED; i++)
        jw_text(&w, "x", 1);
    bool hit = dp_fault_hit();
    dp_fault_arm(1);
    bool more = jw_reserve(&w, RESERVED);
    dp_fault_arm(0);
    ck_assert_uint_eq(w.len, RESERVED);
    ck_assert_int_eq(hit, false);
    ck_assert_int_eq(more, false);
}
END_TEST

START_TEST(too_deep_is_a_failure)
{
    for (int i = 0; i < 70; i++)
        jw_array(&w);
    ck_assert_int_eq(w.failed, true);
}
END_TEST

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

START_TEST(too_long_is_a_failure)
{
    jw_init(&w);
    jw_array(&w);
    jw_raw(&w, "", (size_t)LIMIT_ANSWER_BYTES + 1); /* refused before it is read */
    ck_assert(w.failed);
    jw_fini(&w);
}
END_TEST

UNIT_SUITE(json_write)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, commas_stand_between_elements_only);
    tcase_add_loop_test(tc, strings_are_escaped_and_valid, 0, COUNT(strings));
    tcase_add_test(tc, nul_inside_a_string);
    tcase_add_loop_test(tc, int_values, 0, COUNT(ints));
    tcase_add_loop_test(tc, double_values, 0, COUNT(doubles));
    tcase_add_test(tc, elements_of_each_dtype);
    tcase_add_test(tc, random_floats_read_back);
    tcase_add_loop_test(tc, every_half_reads_back, 0, 2);
    tcase_add_test(tc, a_comma_locale_changes_nothing);
    tcase_add_test(tc, no_memory_is_remembered);
    tcase_add_test(tc, reserved_bytes_can_be_written);
    tcase_add_test(tc, too_deep_is_a_failure);
    tcase_add_test(tc, too_long_is_a_failure);
}

UNIT_SUITE(json_write_doubles)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_tags(tc, "not_valgrind"); /* which prints them in 64 bits */
    tcase_add_test(tc, random_doubles_read_back);
}
