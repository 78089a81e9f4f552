/* test_capture.c -- the kernel that records calls: arguments, views, lists, failures. */
#include "captures.h"

START_TEST(calls_are_steps_in_their_order)
{
    dp_value a, b;

    ck_assert_int_eq(start(x), 0);
    ck_assert_int_eq(call_of("t::fresh", x, &a), 0);
    ck_assert_int_eq(call_of("t::draws", a.u.t, &b), 0);
    ck_assert_uint_eq(dp_capture_steps(cap), 2);
    gives(&b, "program(Tensor x) -> (y: %2)\n"
              "     0  %1 = t::fresh(x)\n"
              "     1  %2 = t::draws(%1)  # random, ends: %1\n");
    dp_values_release(&a, 1);
    dp_values_release(&b, 1);
}
END_TEST

START_TEST(calls_outside_are_not_recorded)
{
    dp_value a, b;

    ck_assert_int_eq(start(x), 0);
    ck_assert_int_eq(call_of("t::fresh", x, &a), 0);
    dp_ctx_set_capture(ctx, NULL);
    ck_assert_int_eq(call_of("t::fresh", x, &b), 0);
    ck_assert_uint_eq(dp_capture_steps(cap), 1);
    dp_values_release(&a, 1);
    dp_values_release(&b, 1);
}
END_TEST

START_TEST(a_tensor_that_it_does_not_know_is_an_error)
{
    dp_error err = DP_ERROR_INIT;
    dp_tensor *other;
    dp_value a;
    int64_t n = 3;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &n, NULL, &other, &err), 0);
    ck_assert_int_eq(start(x), 0);
    expect(
        call_of("t::fresh", other, &a), DP_EVALUE,
        "t::fresh: argument 'x' is a float32 tensor of shape [3] that the capture does not know");
    ck_assert_uint_eq(dp_capture_steps(cap), 0);
    ck_assert_int_eq(runs, 0);
    a = dp_tensor_value(other);
    expect(dp_capture_output(ctx, cap, "y", &a), DP_EVALUE, "output 'y' is a float32 tensor");
    dp_tensor_unref(other);
}
END_TEST

START_TEST(a_call_that_fails_is_forgotten)
{
    dp_value a;

    ck_assert_int_eq(start(x), 0);
    expect(call_of("t::fails", x, &a), DP_ERUNTIME, "it fails");
    ck_assert_uint_eq(dp_capture_steps(cap), 0);
    ck_assert_int_eq(call_of("t::fresh", x, &a), 0);
    gives(&a, "program(Tensor x) -> (y: %1)\n     0  %1 = t::fresh(x)\n");
    dp_values_release(&a, 1);
}
END_TEST

START_TEST(items_of_a_list_are_values)
{
    dp_value parts, joined;

    ck_assert_int_eq(start(x), 0);
    ck_assert_int_eq(call_of("t::parts", x, &parts), 0);
    dp_tensor *turned[2] = {parts.u.tensors[1], x};
    dp_value arg = dp_tensors(turned, 2);
    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "t::join"), &arg, 1, &joined, 1), 0);
    ck_assert_uint_ge(dp_capture_steps(cap), 3);
    gives(&joined, "program(Tensor x) -> (y: %5)\n"
                   "     0  %1 = t::parts(x)\n"
                   "     1  %2 = %1[0]  # ends: %2\n"
                   "     2  %3 = %1[1]  # ends: %1\n"
                   "     3  %4 = [%3, x]  # ends: %3\n"
                   "     3  %5 = t::join(%4)  # ends: %4\n");
    dp_values_release(&parts, 1);
    dp_values_release(&joined, 1);
}
END_TEST

START_TEST(a_view_made_without_a_call_is_known_by_its_storage)
{
    dp_error err = DP_ERROR_INIT;
    dp_tensor *base, *view, *same;
    dp_value a;
    int64_t n = 4, half = 2, one = 1;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &n, NULL, &base, &err), 0);
    ck_assert_int_eq(start(base), 0);
    dp_ctx_set_capture(ctx, NULL);
    ck_assert_int_eq(dp_as_strided(ctx, base, 1, &half, &one, 2, &view), 0);
    ck_assert_int_eq(dp_as_strided(ctx, base, 1, &n, &one, 0, &same), 0);
    dp_ctx_set_capture(ctx, cap);
    ck_assert_int_eq(call_of("t::fresh", same, &a), 0);
    ck_assert_uint_eq(dp_capture_steps(cap), 1);
    dp_values_release(&a, 1);
    expect(call_of("t::fresh", view, &a), DP_ENOTFOUND, "aten::as_strided");
    ck_assert_uint_eq(dp_capture_steps(cap), 1);
    dp_tensor_unref(view);
    dp_tensor_unref(same);
    dp_tensor_unref(base);
}
END_TEST

static int record_and_make(void)
{
    dp_value parts = dp_none(), joined = dp_none();
    dp_program *p = NULL;
    const dp_capture_options o = {sizeof(o), true, false, false};
    int rc = dp_capture_new(ctx, &o, &cap);

    if (rc == 0)
        rc = start(x);
    if (rc == 0)
        rc = call_of("t::parts", x, &parts);
    if (rc == 0) {
        dp_value arg = dp_tensors(parts.u.tensors, 2);
        rc = dp_call_boxed(ctx, dp_op_find(ctx, "t::join"), &arg, 1, &joined, 1);
    }
    if (rc == 0)
        rc = dp_capture_output(ctx, cap, "y", &joined);
    dp_ctx_set_capture(ctx, NULL);
    if (rc == 0)
        rc = dp_capture_finish(ctx, cap, &p);
    dp_program_unref(p);
    cap = dp_capture_free(cap);
    dp_values_release(&parts, 1);
    dp_values_release(&joined, 1);
    return rc;
}

START_TEST(each_allocation_fails_once)
{
    dp_tensor_stats before, after;
    uint64_t n = 0;
    int rc;

    cap = dp_capture_free(cap);
    dp_tensor_stats_get(&before);
    do {
        dp_fault_arm(++n);
        rc = record_and_make();
        dp_fault_arm(0);
        unit_each(rc == 0 || rc == DP_ERESOURCE, "allocation %llu: %d %s", (unsigned long long)n,
                  rc, dp_ctx_error(ctx)->message);
        dp_tensor_stats_get(&after);
        unit_each(after.tensors == before.tensors, "allocation %llu left tensors",
                  (unsigned long long)n);
        dp_ctx_reset(ctx);
    } while (rc != 0);
    ck_assert_uint_gt(n, 5);
}
END_TEST

UNIT_SUITE(capture)
{
    tcase_add_checked_fixture(tc, capture_setup, capture_teardown);
    tcase_add_test(tc, calls_are_steps_in_their_order);
    tcase_add_test(tc, calls_outside_are_not_recorded);
    tcase_add_test(tc, a_tensor_that_it_does_not_know_is_an_error);
    tcase_add_test(tc, a_call_that_fails_is_forgotten);
    tcase_add_test(tc, items_of_a_list_are_values);
    tcase_add_test(tc, a_view_made_without_a_call_is_known_by_its_storage);
    tcase_add_test(tc, each_allocation_fails_once);
}
