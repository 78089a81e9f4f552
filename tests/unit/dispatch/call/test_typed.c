/* test_typed.c -- calls with C types. */
/* Before the helpers, whose variable `reg` its parameters would hide. */
#include "dispatch/registry/thread.h"

#include "../calls.h"

START_TEST(call_reaches_a_kernel_boxed_and_typed)
{
    dp_typed t;
    dp_tensor *out = NULL;

    attach_as("cpu", "CPU", first, (dp_any_fn)first_unboxed, 0);
    expect_tensor(a);
    ck_assert_int_eq(dp_typed_init(ctx, "t::first", DP_CODE((T, T), (T)), &t), 0);
    ck_assert_int_eq(typed_first(ctx, &t, a, b, &out), 0);
    ck_assert_ptr_eq(out, a);
    dp_tensor_unref(out);
    ck_assert_int_eq(atomic_load(&kernel_runs), 2);
}
END_TEST

/* The short way through dp_enter() and the long one, which timing asks for, are one. */
START_TEST(call_typed_is_the_same_with_and_without_timing)
{
    dp_keyset none = {0, 0}, autograd = {DPI_AUTOGRAD_BITS, 0};
    dp_registry_stats before, after;
    dp_typed t;

    ck_assert_int_eq(dp_typed_init(ctx, "t::first", DP_CODE((T, T), (T)), &t), 0);
    for (int i = 0; i < 2; i++) {
        dp_tensor *out = NULL;
        dp_ctx_timing(ctx, i == 1);
        ck_assert_int_eq(typed_first(ctx, &t, a, b, &out), DP_ENOTIMPL);
        dp_unit *cpu = attach_as("cpu", "CPU", first, (dp_any_fn)first_unboxed, 0);
        dp_unit *above = attach_as("auto", "AutogradCPU", below, NULL, 0);
        dp_registry_stats_get(reg, &before);
        ck_assert_int_eq(typed_first(ctx, &t, a, b, &out), 0);
        ck_assert_ptr_eq(out, a);
        dp_tensor_unref(out);
        dp_registry_stats_get(reg, &after);
        ck_assert_uint_eq(after.calls - before.calls, 2);
        int g = dp_guard_enter(ctx, none, autograd);
        ck_assert_int_eq(typed_first(ctx, &t, a, b, &out), 0);
        dp_tensor_unref(out);
        dp_guard_leave(ctx, g);
        dp_registry_stats_get(reg, &before);
        ck_assert_uint_eq(before.calls - after.calls, 1);
        if (i == 1) {
            ck_assert_uint_eq(dp_ctx_stats(ctx).n_calls, 1);
            ck_assert_uint_ne(dp_ctx_stats(ctx).kernel_id, 0);
        }
        detach(above);
        detach(cpu);
    }
}
END_TEST

START_TEST(call_typed_boxes_for_a_boxed_kernel)
{
    dp_typed t;
    dp_tensor *out = NULL;

    attach_as("cpu", "CPU", second, NULL, 0);
    ck_assert_int_eq(dp_typed_init(ctx, "t::first", DP_CODE((T, T), (T)), &t), 0);
    for (int times = 0; times < 2; times++) { /* the second call is a cached one */
        ck_assert_int_eq(typed_first(ctx, &t, a, b, &out), 0);
        ck_assert_ptr_eq(out, b);
        dp_tensor_unref(out);
        /* A report of a crash in a later call does not read the arguments of this one. */
        ck_assert_ptr_null(atomic_load(&dpi_thread_self->frames[0].args));
    }
}
END_TEST

START_TEST(call_typed_mismatch_names_both_types)
{
    dp_typed t;
    ck_assert_int_eq(dp_typed_init(ctx, "t::first", "Ti>T", &t), DP_ETYPE);
    ck_assert_ptr_nonnull(strstr(dp_ctx_error(ctx)->message, "TT>T"));
    ck_assert_ptr_nonnull(strstr(dp_ctx_error(ctx)->message, "Ti>T"));
}
END_TEST

UNIT_SUITE(typed)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, call_reaches_a_kernel_boxed_and_typed);
    tcase_add_test(tc, call_typed_is_the_same_with_and_without_timing);
    tcase_add_test(tc, call_typed_boxes_for_a_boxed_kernel);
    tcase_add_test(tc, call_typed_mismatch_names_both_types);
}
