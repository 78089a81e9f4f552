/* test_print.c -- one element of each dtype as the shortest text that reads back. */
#include "json/text.h"
#include "unit.h"
#include <math.h>
#include <stdlib.h>

static const struct {
    double value;
    const char *text;
} doubles[] = {
    {0, "0"},
    {-0.0, "-0.0"},
    {1, "1"},
    {-2.5, "-2.5"},
    {0.1, "0.1"},
    {1e15, "1000000000000000"},
    {1e22, "1e22"},
    {5e-324, "5e-324"},
    {1.7976931348623157e308, "1.7976931348623157e308"},
    {NAN, "\"nan\""},
    {-INFINITY, "\"-inf\""},
};

START_TEST(doubles_are_short)
{
    char text[ELEMENT_TEXT_MAX + 1];

    text[print_float(text, doubles[_i].value, DP_FLOAT64)] = '\0';
    if (doubles[_i].value == 1e15) /* either way reads back; an integer must stay below 2^53 */
        ck_assert_double_eq(strtod(text, NULL), 1e15);
    else
        ck_assert_str_eq(text, doubles[_i].text);
}
END_TEST

START_TEST(an_element_is_read_in_its_own_dtype)
{
    static const int8_t i8 = -7;
    static const uint8_t yes = 1;
    static const float f = 0.1f;
    static const double z[2] = {1, -0.5};
    static const int64_t large = INT64_MIN;
    const struct {
        dp_dtype dtype;
        const void *p;
        const char *text;
    } rows[] = {{DP_INT8, &i8, "-7"},
                {DP_BOOL, &yes, "true"},
                {DP_FLOAT32, &f, "0.1"},
                {DP_COMPLEX128, z, "[1,-0.5]"},
                {DP_INT64, &large, "\"-9223372036854775808\""}};
    char text[ELEMENT_TEXT_MAX + 1];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        text[print_element(text, rows[i].dtype, rows[i].p)] = '\0';
        ck_assert_str_eq(text, rows[i].text);
    }
}
END_TEST

UNIT_SUITE(print)
{
    tcase_add_loop_test(tc, doubles_are_short, 0, sizeof(doubles) / sizeof(doubles[0]));
    tcase_add_test(tc, an_element_is_read_in_its_own_dtype);
}
