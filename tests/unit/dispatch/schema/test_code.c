/* test_code.c -- C types of operators as numbers. */
#include "dispatch/schema/schema.h"
#include "unit.h"

START_TEST(code_has_one_number_for_ever)
{
    uint32_t a = dpi_code_intern("TTs>T"), b = dpi_code_intern("TTs>TT");

    ck_assert_uint_ne(a, 0);
    ck_assert_uint_ne(b, 0);
    ck_assert_uint_ne(a, b);
    ck_assert_uint_eq(dpi_code_intern("TTs>T"), a);
    ck_assert_str_eq(dpi_code_text(a), "TTs>T");
    ck_assert_str_eq(dpi_code_text(a | 7u << DPI_CODE_BITS), "TTs>T");
}
END_TEST

START_TEST(code_of_nothing_is_none)
{
    ck_assert_uint_eq(dpi_code_intern(""), 0);
    ck_assert_str_eq(dpi_code_text(0), "?");
    ck_assert_str_eq(dpi_code_text((1u << DPI_CODE_BITS) - 1), "?");
}
END_TEST

START_TEST(code_without_memory_is_none_and_comes_later)
{
    dp_fault_arm(1);
    uint32_t none = dpi_code_intern("TTTTTTTT>T");
    bool hit = dp_fault_hit();
    dp_fault_arm(0);
    if (hit)
        ck_assert_uint_eq(none, 0);
    ck_assert_uint_ne(dpi_code_intern("TTTTTTTT>T"), 0);
}
END_TEST

UNIT_SUITE(code)
{
    tcase_add_test(tc, code_has_one_number_for_ever);
    tcase_add_test(tc, code_of_nothing_is_none);
    tcase_add_test(tc, code_without_memory_is_none_and_comes_later);
}
