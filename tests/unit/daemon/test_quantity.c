/* test_quantity.c -- numbers with units, and what is wrong with one. */
#include "options.h"
#include "unit.h"

static const struct {
    const char *text;
    int unit;
    int64_t value;
} right[] = {
    {"16", UNIT_NONE, 16},
    {"660", UNIT_OCTAL, 0660},
    {"512", UNIT_BYTES, 512},
    {"7B", UNIT_BYTES, 7},
    {"3 KiB", UNIT_BYTES, 3 << 10},
    {"64MiB", UNIT_BYTES, 64 << 20},
    {"2 TiB", UNIT_BYTES, (int64_t)2 << 40},
    {"9 ms", UNIT_TIME, 9},
    {"5 s", UNIT_TIME, 5000},
    {"2min", UNIT_TIME, 120000},
    {"1 h", UNIT_TIME, 3600000},
};

START_TEST(quantities)
{
    dp_error err = DP_ERROR_INIT;
    int64_t n = -1;

    ck_assert_int_eq(quantity_read(right[_i].text, right[_i].unit, 0, INT64_MAX, "here", &n, &err),
                     0);
    ck_assert_int_eq(n, right[_i].value);
}
END_TEST

static const struct {
    const char *text;
    int unit;
    const char *message;
} wrong[] = {
    {"", UNIT_NONE, "here: expected a number from 1 to 99, got ''"},
    {"100", UNIT_NONE, "here: expected a number from 1 to 99, got '100'"},
    {"5 s", UNIT_NONE, "here: expected a number from 1 to 99, got '5 s'"},
    {"0x5", UNIT_NONE, "here: expected a number from 1 to 99, got '0x5'"},
    {"888", UNIT_OCTAL, "here: expected an octal number from 1 to 143, got '888'"},
    {"1 KiB", UNIT_BYTES,
     "here: expected a number of bytes from 1 to 99 (a unit may follow: B, KiB, MiB, GiB or TiB), "
     "got '1 KiB'"},
    {"5 kB", UNIT_BYTES,
     "here: expected a number of bytes from 1 to 99 (a unit may follow: B, KiB, MiB, GiB or TiB), "
     "got '5 kB'"},
    {"9999999999999 TiB", UNIT_BYTES,
     "here: expected a number of bytes from 1 to 99 (a unit may follow: B, KiB, MiB, GiB or TiB), "
     "got '9999999999999 TiB'"},
    {"5 MiB", UNIT_TIME,
     "here: expected a number of milliseconds from 1 to 99 (a unit may follow: ms, s, min or h), "
     "got '5 MiB'"},
};

START_TEST(wrong_quantities)
{
    dp_error err = DP_ERROR_INIT;
    int64_t n = 7;

    ck_assert_int_eq(quantity_read(wrong[_i].text, wrong[_i].unit, 1, 99, "here", &n, &err),
                     DP_EVALUE);
    ck_assert_str_eq(err.message, wrong[_i].message);
    ck_assert_int_eq(n, 7);
}
END_TEST

START_TEST(units_follow_from_names)
{
    ck_assert_int_eq(quantity_unit("line_bytes"), UNIT_BYTES);
    ck_assert_int_eq(quantity_unit("linger_ms"), UNIT_TIME);
    ck_assert_int_eq(quantity_unit("sessions"), UNIT_NONE);
    ck_assert_int_eq(quantity_unit("ms"), UNIT_NONE);
}
END_TEST

UNIT_SUITE(quantity)
{
    tcase_add_loop_test(tc, quantities, 0, sizeof(right) / sizeof(right[0]));
    tcase_add_loop_test(tc, wrong_quantities, 0, sizeof(wrong) / sizeof(wrong[0]));
    tcase_add_test(tc, units_follow_from_names);
}
