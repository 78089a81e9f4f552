/* test_handles.c -- short lists of handles: what is added is found until it is taken. */
#include "session.h"
#include "unit.h"

START_TEST(what_is_added_is_found_until_it_is_taken)
{
    handle_list l = {0};
    dp_error err = DP_ERROR_INIT;
    int things[10];

    for (uint64_t i = 0; i < 10; i++) {
        ck_assert_int_eq(handle_list_reserve(&l, &err), 0);
        handle_list_add(&l, 10 + i, &things[i]);
    }
    ck_assert_ptr_eq(handle_list_get(&l, 13), &things[3]);
    ck_assert_ptr_null(handle_list_get(&l, 20));
    ck_assert_ptr_eq(handle_list_take(&l, 13), &things[3]);
    ck_assert_ptr_null(handle_list_take(&l, 13));
    ck_assert_ptr_null(handle_list_get(&l, 13));
    ck_assert_uint_eq(l.n, 9);
    for (size_t i = 1; i < l.n; i++)
        ck_assert_uint_lt(l.items[i - 1].id, l.items[i].id);
    dp_free(l.items);
}
END_TEST

START_TEST(a_list_survives_every_failed_allocation)
{
    handle_list l = {0};
    dp_error err = DP_ERROR_INIT;

    dp_fault_arm(1);
    int rc = handle_list_reserve(&l, &err);
    dp_fault_arm(0);
    ck_assert_int_eq(rc, DP_ERESOURCE);
    ck_assert_uint_eq(l.n, 0);
    ck_assert_int_eq(handle_list_reserve(&l, &err), 0);
    dp_free(l.items);
}
END_TEST

UNIT_SUITE(handles)
{
    tcase_add_test(tc, what_is_added_is_found_until_it_is_taken);
    tcase_add_test(tc, a_list_survives_every_failed_allocation);
}
