/* test_iterator.c -- elementwise loops: broadcasting, refusals, failed allocations. */
#include "loops.h"

START_TEST(shapes_that_do_not_broadcast_are_named)
{
    int64_t three[] = {2, 3}, four[] = {2, 4}, wide[] = {5, 2, 3};
    dp_tensor *a = counting(DP_FLOAT32, 2, three), *b = counting(DP_FLOAT32, 2, four);
    dp_tensor *c = counting(DP_FLOAT32, 3, wide);

    refused(NULL, a, b, 0, DP_ERUNTIME,
            "The size of tensor a (3) must match the size of tensor b (4) at non-singleton "
            "dimension 1");
    refused(a, a, c, 0, DP_ERUNTIME,
            "output with shape [2, 3] doesn't match the broadcast shape [5, 2, 3]");
    dp_tensor_unref(a);
    dp_tensor_unref(b);
    dp_tensor_unref(c);
}
END_TEST

/* Each is possible, together they are not. */
START_TEST(shapes_too_large_together_are_refused)
{
    int64_t tall[] = {(int64_t)1 << 40, 1}, wide[] = {1, (int64_t)1 << 40}, zero[] = {0, 0};
    dp_tensor *a = NULL, *b = NULL;

    ck_assert_int_eq(dp_tensor_new(DP_INT8, 0, 2, tall, zero, &a, &err), DP_OK);
    ck_assert_int_eq(dp_tensor_new(DP_INT8, 0, 2, wide, zero, &b, &err), DP_OK);
    refused(NULL, a, b, 0, DP_ERUNTIME,
            "sizes [1099511627776, 1099511627776] have more elements than fit an int64");
    dp_tensor_unref(a);
    dp_tensor_unref(b);
}
END_TEST

START_TEST(outputs_that_share_elements_are_refused)
{
    int64_t six[] = {6}, five[] = {5}, one[] = {1}, zero[] = {0};
    dp_tensor *a = counting(DP_FLOAT32, 1, six), *low = NULL, *high = NULL, *point = NULL;
    dp_tensor *outs[1], *ins[1];
    dp_iter it;

    ck_assert_int_eq(dpi_as_strided(a, 1, five, one, 0, &low, &err), DP_OK);
    ck_assert_int_eq(dpi_as_strided(a, 1, five, one, 1, &high, &err), DP_OK);
    ck_assert_int_eq(dpi_as_strided(a, 1, five, zero, 0, &point, &err), DP_OK);
    refused(low, high, high, 0, DP_ERUNTIME,
            "unsupported operation: some elements of the input tensor and the written-to tensor "
            "refer to a single memory location; clone() the input first");
    refused(point, high, high, 0, DP_ERUNTIME,
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location; clone() it first");
    outs[0] = low;
    ins[0] = high;
    ck_assert_int_eq(init(outs, 1, ins, 1, DP_ITER_NO_OVERLAP_CHECK, DP_DTYPE_NONE, &it), DP_OK);
    ins[0] = low; /* full overlap is fine */
    ck_assert_int_eq(init(outs, 1, ins, 1, 0, DP_DTYPE_NONE, &it), DP_OK);
    dp_tensor_unref(low);
    dp_tensor_unref(high);
    dp_tensor_unref(point);
    dp_tensor_unref(a);
}
END_TEST

START_TEST(wrong_configurations_are_the_plugins_fault)
{
    dp_tensor *outs[1] = {NULL}, *ins[1] = {NULL};
    dp_iter it;
    dp_iter_config small = {.size = 8, .n_out = 1, .n_in = 1, .outs = outs, .ins = ins};

    ck_assert_int_eq(init(outs, 1, ins, 1, 0, DP_DTYPE_NONE, &it), DP_EPLUGIN);
    ck_assert_str_eq(err.message, "input 0 of a loop is NULL");
    ck_assert_int_eq(init(outs, 1, ins, 0, 0, DP_DTYPE_NONE, &it), DP_EPLUGIN);
    ck_assert_int_eq(init(outs, 9, ins, 8, 0, DP_DTYPE_NONE, &it), DP_EPLUGIN);
    ck_assert_int_eq(dpi_iter_init(&small, false, NULL, arena, &it, &err), DP_EPLUGIN);
}
END_TEST

/* Two outputs, one of them resized, so that a failure has something to take back. */
START_TEST(a_failed_allocation_changes_nothing)
{
    int64_t sizes[] = {4, 2}, column[] = {4, 1}, none[] = {0};
    dp_tensor *in[2] = {counting(DP_FLOAT32, 2, sizes), counting(DP_FLOAT32, 2, column)};
    dp_tensor *empty = counting(DP_FLOAT32, 1, none), *outs[2] = {NULL, empty};
    const dpi_geometry *before = empty->geometry;
    uint64_t count = alive().tensors;
    dp_iter it;
    int rc;

    for (uint64_t n = 1;; n++) {
        dp_arena_free(arena);
        arena = dp_arena_new();
        dp_fault_arm(n);
        rc = init(outs, 2, in, 2, DP_ITER_PROMOTE, DP_DTYPE_NONE, &it);
        bool hit = dp_fault_hit();
        dp_fault_arm(0);
        if (!hit)
            break;
        ck_assert_int_eq(rc, DP_ERESOURCE);
        ck_assert_uint_eq(alive().tensors, count);
        ck_assert_ptr_null(outs[0]);
        ck_assert_ptr_eq(empty->geometry, before);
        ck_assert_uint_lt(n, 100);
    }
    ck_assert_int_eq(rc, DP_OK);
    ck_assert_int_eq(empty->geometry->ndim, 2);
    dp_tensor_unref(in[0]);
    dp_tensor_unref(in[1]);
    dp_tensor_unref(outs[0]);
    dp_tensor_unref(empty);
}
END_TEST

UNIT_SUITE(iterator)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, shapes_that_do_not_broadcast_are_named);
    tcase_add_test(tc, shapes_too_large_together_are_refused);
    tcase_add_test(tc, outputs_that_share_elements_are_refused);
    tcase_add_test(tc, wrong_configurations_are_the_plugins_fault);
    tcase_add_test(tc, a_failed_allocation_changes_nothing);
}
