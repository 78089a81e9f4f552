/* test_number.c -- numbers as JSON spells them: bare, as digits, as "nan". */
#include "methods/methods.h"
#include "unit.h"
#include <math.h>
#include <string.h>

static const json_path at = {NULL, "x", 0};
static dp_error err;

static const struct {
    const char *json;
    int rc;
    int64_t value;
    const char *message;
} ints[] = {
    {"7", 0, 7, NULL},
    {"-7", 0, -7, NULL},
    {"\"9223372036854775807\"", 0, INT64_MAX, NULL},
    {"\"-9223372036854775808\"", 0, INT64_MIN, NULL},
    {"\"007\"", 0, 7, NULL},
    {"1.5", DP_EVALUE, 0, "x: expected an integer but got 1.5"},
    {"\"\"", DP_EVALUE, 0, "x: expected decimal digits but got ''"},
    {"\"1x\"", DP_EVALUE, 0, "x: expected decimal digits but got '1x'"},
    {"\"9223372036854775808\"", DP_EVALUE, 0, "x: 9223372036854775808 does not fit int64"},
    {"true", DP_ETYPE, 0, "x: expected an integer but got bool"},
};

START_TEST(an_int_is_bare_or_digits)
{
    cJSON *j = NULL;
    int64_t out = 0;

    dp_error_clear(&err);
    ck_assert_int_eq(json_parse(ints[_i].json, strlen(ints[_i].json), &j, &err), 0);
    ck_assert_int_eq(int_from_json(j, &at, &out, &err), ints[_i].rc);
    if (ints[_i].rc == 0)
        ck_assert_int_eq(out, ints[_i].value);
    else
        ck_assert_str_eq(err.message, ints[_i].message);
    json_free(j);
}
END_TEST

static double read_double(const char *text, int want)
{
    cJSON *j = NULL;
    double out = 0;

    dp_error_clear(&err);
    ck_assert_int_eq(json_parse(text, strlen(text), &j, &err), 0);
    ck_assert_int_eq(double_from_json(j, &at, &out, &err), want);
    json_free(j);
    return out;
}

START_TEST(a_double_may_be_a_word)
{
    ck_assert_double_eq(read_double("2.5", 0), 2.5);
    ck_assert(isnan(read_double("\"nan\"", 0)));
    ck_assert_double_eq(read_double("\"-inf\"", 0), -INFINITY);
    read_double("\"infinity\"", DP_EVALUE);
    ck_assert_str_eq(err.message,
                     "x: expected a number, 'nan', 'inf' or '-inf' but got 'infinity'");
    read_double("[]", DP_ETYPE);
}
END_TEST

UNIT_SUITE(number)
{
    tcase_add_loop_test(tc, an_int_is_bare_or_digits, 0, sizeof(ints) / sizeof(ints[0]));
    tcase_add_test(tc, a_double_may_be_a_word);
}
