/* test_capture_io.c -- inputs, constants and outputs of a capture. */
#include "captures.h"

START_TEST(a_tensor_is_one_input_or_constant)
{
    const dp_value v = dp_tensor_value(x);

    ck_assert_int_eq(dp_capture_input(ctx, cap, "a", &v), 0);
    expect(dp_capture_input(ctx, cap, "b", &v), DP_EEXISTS,
           "'b' is a tensor that the capture knows");
    expect(dp_capture_constant(ctx, cap, "k", x), DP_EEXISTS,
           "'k' is a tensor that the capture knows");
    ck_assert_uint_eq(cap->n_inputs, 1);
    ck_assert_uint_eq(cap->n_constants, 0);
}
END_TEST

START_TEST(a_constant_lives_as_long_as_the_capture)
{
    dp_error err = DP_ERROR_INIT;
    dp_tensor_stats before, after;
    dp_tensor *t;
    dp_value a;
    int64_t n = 1;

    dp_tensor_stats_get(&before);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &n, NULL, &t, &err), 0);
    ck_assert_int_eq(dp_capture_constant(ctx, cap, "k", t), 0);
    dp_ctx_set_capture(ctx, cap);
    ck_assert_int_eq(call_of("t::fresh", t, &a), 0);
    dp_tensor_unref(t);
    gives(&a, "program() -> (y: %0)\n  constant k = <float32 [1]>\n     0  %0 = t::fresh(k)\n");
    dp_values_release(&a, 1);
    dp_tensor_stats_get(&after);
    ck_assert_uint_eq(after.tensors, before.tensors + 1);
    cap = dp_capture_free(cap);
    dp_tensor_stats_get(&after);
    ck_assert_uint_eq(after.tensors, before.tensors);
}
END_TEST

START_TEST(a_list_is_an_input_whose_items_are_known)
{
    dp_tensor *items[1] = {x};
    const dp_value list = dp_tensors(items, 1);
    dp_value a;

    ck_assert_int_eq(dp_capture_input(ctx, cap, "l", &list), 0);
    dp_ctx_set_capture(ctx, cap);
    ck_assert_int_eq(call_of("t::fresh", x, &a), 0);
    gives(&a, "program(Tensor[] l) -> (y: %2)\n"
              "     0  %1 = l[0]\n"
              "     1  %2 = t::fresh(%1)  # ends: %1\n");
    dp_values_release(&a, 1);
}
END_TEST

START_TEST(a_number_is_an_input_that_nothing_uses)
{
    const dp_value two = dp_int(2);

    ck_assert_int_eq(dp_capture_input(ctx, cap, "n", &two), 0);
    gives(&two, "program(any n) -> (y: 2)\n");
}
END_TEST

UNIT_SUITE(capture_io)
{
    tcase_add_checked_fixture(tc, capture_setup, capture_teardown);
    tcase_add_test(tc, a_tensor_is_one_input_or_constant);
    tcase_add_test(tc, a_constant_lives_as_long_as_the_capture);
    tcase_add_test(tc, a_list_is_an_input_whose_items_are_known);
    tcase_add_test(tc, a_number_is_an_input_that_nothing_uses);
}
