/* test_hold.c -- values that outlive what made them. */
#include "../alive.h"
#include "program/program_i.h"

static dp_error err;

START_TEST(bump_measures_first_and_copies_then)
{
    int64_t numbers[3] = {1, 2, 3};
    dp_value list = {DP_TAG_INTS, 3, {0}};
    _Alignas(16) char room[256];
    dpi_bump measure = {0}, copy = {.at = room};

    list.u.ints = numbers;
    ck_assert_ptr_null(dpi_bump_add(&measure, "abc", 4));
    dpi_bump_value(&measure, &list);
    char *text = dpi_bump_add(&copy, "abc", 4);
    dp_value copied = dpi_bump_value(&copy, &list);
    ck_assert_uint_eq(copy.used, measure.used);
    ck_assert_uint_le(copy.used, sizeof(room));
    numbers[1] = 9;
    ck_assert_str_eq(text, "abc");
    ck_assert_int_eq(copied.u.ints[1], 2);
    ck_assert((char *)copied.u.ints >= room && (char *)copied.u.ints < room + copy.used);
}
END_TEST

START_TEST(hold_owns_the_tensors_of_a_list)
{
    dp_tensor *t = NULL;
    dp_arena *a = dp_arena_new();
    dp_value items[2], list = {DP_TAG_LIST, 2, {0}};

    OK(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, SIZES(8), NULL, &t, &err));
    items[0] = dp_tensor_value(t);
    items[1] = dp_int(5);
    list.u.values = items;
    ck_assert_uint_eq(dpi_storage_bytes_of(&list), 32);
    OK(dpi_value_ref(a, &list, &err));
    items[1] = dp_none();
    dp_tensor_unref(t);
    ck_assert_uint_eq(alive().tensors, alive_before.tensors + 1);
    ck_assert_int_eq(list.u.values[1].u.i, 5);
    dp_values_release(&list, 1);
    dp_arena_free(a);
}
END_TEST

UNIT_SUITE(hold)
{
    tcase_add_checked_fixture(tc, alive_begin, alive_end);
    tcase_add_test(tc, bump_measures_first_and_copies_then);
    tcase_add_test(tc, hold_owns_the_tensors_of_a_list);
}
