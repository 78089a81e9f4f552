/* test_capture_values.c -- the tables of a capture, and what undoing forgets. */
#include "base/account.h"
#include "captures.h"

enum { MANY = 1000 };

START_TEST(tensors_are_found_by_number_while_the_tables_grow)
{
    dp_error err = DP_ERROR_INIT;
    static dp_tensor *made[MANY];
    int64_t n = 1;

    for (uint32_t i = 0; i < MANY; i++) {
        ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &n, NULL, &made[i], &err), 0);
        ck_assert_int_eq(dpi_capture_reserve(ctx, cap), 0);
        ck_assert_int_eq(dpi_capture_add_tensor(ctx, cap, made[i]), 0);
    }
    unit_each(cap->n_table == MANY && 2 * cap->n_table <= cap->mask + 1, "%u of %u", cap->n_table,
              cap->mask);
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t by_id = *dpi_capture_slot(cap, cap->table, dp_tensor_id(made[i]), false);
        uint32_t home = *dpi_capture_slot(cap, cap->homes, dp_tensor_storage_id(made[i]), true);
        unit_each(by_id == i + 1 && home == i + 1, "%u: %u, %u", i, by_id, home);
        dp_tensor_unref(made[i]);
    }
}
END_TEST

START_TEST(a_tensor_without_a_reference_is_not_kept)
{
    dp_error err = DP_ERROR_INIT;
    dp_tensor_stats before, after;
    dp_tensor *t;
    int64_t n = 1;

    dp_tensor_stats_get(&before);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &n, NULL, &t, &err), 0);
    ck_assert_int_eq(dpi_capture_add_tensor(ctx, cap, t), 0);
    dp_tensor_unref(t);
    dp_tensor_stats_get(&after);
    ck_assert_uint_eq(after.tensors, before.tensors);
}
END_TEST

START_TEST(undo_forgets_what_came_later)
{
    dp_value a, b;

    ck_assert_int_eq(start(x), 0);
    ck_assert_int_eq(call_of("t::fresh", x, &a), 0);
    const dp_capture_mark mark = dp_capture_now(cap);
    ck_assert_int_eq(call_of("t::fresh", a.u.t, &b), 0);
    dp_capture_undo(cap, &mark);
    ck_assert_uint_eq(dp_capture_steps(cap), 1);
    ck_assert_uint_eq(*dpi_capture_slot(cap, cap->table, dp_tensor_id(b.u.t), false), 0);
    ck_assert_uint_eq(*dpi_capture_slot(cap, cap->table, dp_tensor_id(a.u.t), false), 2);
    dp_values_release(&a, 1);
    dp_values_release(&b, 1);
}
END_TEST

static const dp_holder_limit limits[DP_HOLDERS];

START_TEST(the_account_lives_as_long_as_the_capture)
{
    dp_account *account = NULL;
    dp_capture *c = NULL;

    ck_assert_int_eq(dp_account_new(limits, &account, dp_ctx_error(ctx)), 0);
    dp_ctx_set_account(ctx, account);
    ck_assert_int_eq(dp_capture_new(ctx, NULL, &c), 0);
    ck_assert_uint_eq(atomic_load(&account->refs), 2);
    c = dp_capture_free(c);
    ck_assert_uint_eq(atomic_load(&account->refs), 1);
    dp_ctx_set_account(ctx, NULL);
    dp_account_close(account);
}
END_TEST

START_TEST(a_capture_needs_a_kernel_that_records)
{
    dp_registry *empty = rec_registry();
    dp_ctx *other = NULL;
    dp_capture *c = NULL;

    ck_assert_int_eq(dp_ctx_new(empty, &other, dp_ctx_error(ctx)), 0);
    ck_assert_int_eq(dp_capture_new(other, NULL, &c), DP_ENOTFOUND);
    ck_assert_str_eq(dp_ctx_error(other)->message,
                     "a capture of calls needs plugin 'capture', which is not loaded: plugin.load "
                     "loads it, with the path of capture.so");
    ck_assert_ptr_null(c);
    dp_ctx_free(other);
    ck_assert_ptr_null(dp_registry_free(empty));
}
END_TEST

START_TEST(arrays_have_a_limit)
{
    uint32_t before = cap->cap_values;

    ck_assert(!dpi_capture_grow(ctx, cap, &cap->values, &cap->cap_values,
                                DP_LIMIT_PROGRAM_VALUES + 1ull, sizeof(*cap->values)));
    expect(dp_ctx_error(ctx)->code, DP_ERESOURCE, "a capture of more than");
    ck_assert_uint_eq(cap->cap_values, before);
}
END_TEST

UNIT_SUITE(capture_values)
{
    tcase_add_checked_fixture(tc, capture_setup, capture_teardown);
    tcase_add_test(tc, tensors_are_found_by_number_while_the_tables_grow);
    tcase_add_test(tc, a_tensor_without_a_reference_is_not_kept);
    tcase_add_test(tc, undo_forgets_what_came_later);
    tcase_add_test(tc, the_account_lives_as_long_as_the_capture);
    tcase_add_test(tc, a_capture_needs_a_kernel_that_records);
    tcase_add_test(tc, arrays_have_a_limit);
}
