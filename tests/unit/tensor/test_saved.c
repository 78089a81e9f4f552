/* test_saved.c -- tensors as graph nodes save them. */
#include "tensors.h"
#include "tensor/saved.h"

START_TEST(a_saved_tensor_is_as_it_was)
{
    int64_t four[] = {4}, two[] = {2}, strides[] = {2};
    dp_tensor *t = floats(1, four), *v = NULL, *back = NULL;
    dpi_saved s;

    OK(dpi_as_strided(t, 1, two, strides, 1, &v, &err));
    dpi_tensor_join(v, t, false, DP_CREATED_DEFAULT);
    dpi_saved_set(&s, v);
    uint64_t id = dp_tensor_storage_id(t);
    dp_tensor_unref(v);
    dp_tensor_unref(t); /* the geometry keeps the storage */
    OK(dpi_saved_tensor(&s, &back, &err));
    assert_floats(back, 2, (float[]){1, 3});
    ck_assert_uint_eq(dp_tensor_storage_id(back), id);
    ck_assert_int_eq(dp_tensor_offset(back), 1);
    ck_assert_ptr_null(dp_tensor_root(back));
    ck_assert_uint_eq(atomic_load(&back->history), 0);
    dpi_saved_clear(&s);
    assert_floats(back, 2, (float[]){1, 3});
    dp_tensor_unref(back);
}
END_TEST

START_TEST(it_tells_whether_the_tensor_was_written)
{
    int64_t four[] = {4};
    dp_tensor *t = floats(1, four), *back = NULL;
    dpi_saved before, after;

    dpi_saved_set(&before, t);
    ck_assert(!dpi_saved_is_stale(&before));
    dp_tensor_bump_version(t);
    dpi_saved_set(&after, t);
    ck_assert(dpi_saved_is_stale(&before) && !dpi_saved_is_stale(&after));
    OK(dpi_saved_tensor(&after, &back, &err));
    dp_tensor_bump_version(back); /* they share the version */
    ck_assert(dpi_saved_is_stale(&after));
    ck_assert_uint_eq(dp_tensor_version(t), dp_tensor_version(back));
    dpi_saved_clear(&before);
    dpi_saved_clear(&after);
    dp_tensor_unref(t);
    dp_tensor_unref(back);
}
END_TEST

START_TEST(clearing_leaves_nothing)
{
    dpi_saved none = {0};

    dpi_saved_clear(&none);
    int64_t four[] = {4};
    dp_tensor *t = floats(1, four), *back = NULL;
    dpi_saved_set(&none, t);
    dp_tensor_unref(t);
    dp_fault_arm(1);
    FAILS(dpi_saved_tensor(&none, &back, &err), DP_ERESOURCE, "out of memory: a saved tensor");
    dp_fault_arm(0);
    dpi_saved_clear(&none);
    dpi_saved_clear(&none);
    ck_assert_ptr_null(none.geometry);
}
END_TEST

UNIT_SUITE(saved)
{
    tcase_add_checked_fixture(tc, alive_begin, alive_end);
    tcase_add_test(tc, a_saved_tensor_is_as_it_was);
    tcase_add_test(tc, it_tells_whether_the_tensor_was_written);
    tcase_add_test(tc, clearing_leaves_nothing);
}
