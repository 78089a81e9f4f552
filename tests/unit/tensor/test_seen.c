/* test_seen.c -- which shapes a call sees. */
#include "shapes.h"

START_TEST(a_call_sees_the_shape_it_began_with)
{
    int64_t none[] = {0}, sizes[] = {3, COLUMNS};
    dp_tensor *t = make(1, none), *in = make(2, sizes), *ts[] = {t, in}, *alias = NULL;
    dp_error err = DP_ERROR_INIT;

    call_begins();
    in_another_thread(look_in_a_call_begun_before, ts);
    expect_shape(t, 1, 0);
    ck_assert_uint_eq(dp_tensor_storage_bytes(t), 0);
    ck_assert_int_eq(give_shape(t, in, &err), DP_ERUNTIME);
    ck_assert_str_eq(err.message, "output with shape [0] was given another one by another call, "
                                  "since this one began");
    ck_assert_int_eq(dp_tensor_alias(t, &alias, &err), DP_OK);
    call_ends();
    expect_shape(t, 2, 3);
    expect_shape(alias, 1, 0);
    call_begins();
    expect_shape(t, 2, 3);
    call_ends();
    dp_tensor_unref(alias);
    dp_tensor_unref(t);
    dp_tensor_unref(in);
    ck_assert_uint_eq(alive().tensors, 0);
}
END_TEST

START_TEST(a_call_sees_what_it_changes_itself)
{
    int64_t none[] = {0}, sizes[] = {3, COLUMNS};
    dp_tensor *t = make(1, none), *in = make(2, sizes);
    dp_error err = DP_ERROR_INIT;

    call_begins();
    ck_assert_int_eq(give_shape(t, in, &err), DP_OK);
    expect_shape(t, 2, 3);
    ck_assert_uint_eq(dp_tensor_storage_bytes(t), 3 * COLUMNS * sizeof(float));
    call_ends();
    dp_tensor_unref(t);
    dp_tensor_unref(in);
}
END_TEST

UNIT_SUITE(seen)
{
    tcase_add_test(tc, a_call_sees_the_shape_it_began_with);
    tcase_add_test(tc, a_call_sees_what_it_changes_itself);
}
