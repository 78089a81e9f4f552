/* test_call.c -- boxed calls: what reaches a kernel, what it may return, what is refused. */
#include "../calls.h"

START_TEST(call_checks_arguments_before_a_kernel_runs)
{
    dp_value args[2] = {dp_tensor_value(a), dp_int(1)}, ret;
    const dp_op *op = dp_op_find(ctx, "t::first");

    attach_as("cpu", "CPU", first, NULL, 0);
    ck_assert_int_eq(dp_call_boxed(ctx, op, args, 2, &ret, 1), DP_ETYPE);
    ck_assert_msg(strstr(dp_ctx_error(ctx)->message, "'b'") != NULL, "%s",
                  dp_ctx_error(ctx)->message);
    ck_assert_int_eq(dp_call_boxed(ctx, op, args, 1, &ret, 1), DP_ETYPE);
    ck_assert_int_eq(atomic_load(&kernel_runs), 0);
}
END_TEST

START_TEST(call_without_arguments_or_results_where_some_are_counted_fails)
{
    dp_value args[2] = {dp_tensor_value(a), dp_tensor_value(b)}, ret = dp_int(1);

    attach_as("cpu", "CPU", first, NULL, 0);
    const dp_op *op = dp_op_find(ctx, "t::first");
    ck_assert_ptr_nonnull(op);
    ck_assert_int_eq(dp_call_boxed(ctx, op, NULL, 2, &ret, 1), DP_EVALUE);
    ck_assert_str_eq(dp_ctx_error(ctx)->message, "args is NULL for a count of 2");
    ck_assert_uint_eq(ret.tag, DP_TAG_NONE);
    ret = dp_int(1);
    ck_assert_int_eq(dp_redispatch_boxed(ctx, op, (dp_keyset){0, 0}, NULL, 2, &ret, 1), DP_EVALUE);
    ck_assert_uint_eq(ret.tag, DP_TAG_NONE);
    ck_assert_int_eq(dp_call_boxed(ctx, op, args, 2, NULL, 1), DP_EVALUE);
    ck_assert_str_eq(dp_ctx_error(ctx)->message, "rets is NULL for a count of 1");
}
END_TEST

START_TEST(call_refuses_what_a_kernel_must_not_return)
{
    attach_as("k1", "CPU", nothing, NULL, 0);
    expect_fail(DP_EPLUGIN, "nothing for return 1 of 1");
    attach_as("k2", "CPU", returns_int, NULL, 0);
    expect_fail(DP_EPLUGIN, "int");
    attach_as("k3", "CPU", returns_seven, NULL, 0);
    expect_fail(DP_EPLUGIN, "returned 7");
}
END_TEST

/* `first` of this registry has the number that `other` has of another one. */
START_TEST(call_refuses_another_registrys_operator)
{
    static const dp_item def[] = {REC_DEF("other(Tensor a, Tensor b) -> Tensor")};
    static const dp_item impl[] = {REC_IMPL("other", second)};
    static const dp_block blocks[] = {REC_BLOCK(DP_BLOCK_LIBRARY, __LINE__, "t", "", def),
                                      REC_BLOCK(DP_BLOCK_IMPL, __LINE__, "t", "CPU", impl)};
    dp_registry *reg2 = rec_registry();
    dp_unit *u2 = rec_attach(reg2, "two", blocks, 2);
    dp_unit *u = attach_as("cpu", "CPU", first, (dp_any_fn)first_unboxed, 0);
    dp_ctx *ctx2 = NULL;
    dp_typed t, t2;
    dp_tensor *out = NULL;
    dp_value args[2] = {dp_tensor_value(a), dp_tensor_value(b)}, ret;

    ck_assert_int_eq(dp_ctx_new(reg2, &ctx2, &err), 0);
    const dp_op *op = dp_op_find(ctx, "t::first"), *op2 = dp_op_find(ctx2, "t::other");
    ck_assert_uint_eq(op->id, op2->id);
    ck_assert_int_eq(dp_call_boxed(ctx2, op, args, 2, &ret, 1), DP_ENOTFOUND);
    ck_assert_ptr_nonnull(
        strstr(dp_ctx_error(ctx2)->message, "t::first: its handle is of another"));
    ck_assert_int_eq(dp_typed_init(ctx, "t::first", "TT>T", &t), 0);
    ck_assert_int_eq(dp_typed_init(ctx2, "t::other", "TT>T", &t2), 0);
    for (int i = 0; i < 2; i++) { /* the second time it has been resolved before */
        ck_assert_int_eq(typed_first(ctx2, &t2, a, b, &out), 0);
        dp_tensor_unref(out);
        ck_assert_int_eq(typed_first(ctx2, &t, a, b, &out), DP_ENOTFOUND);
        ck_assert_int_eq(typed_first(ctx, &t, a, b, &out), 0);
        dp_tensor_unref(out);
    }
    detach(u);
    rec_detach(reg2, u2);
    dp_ctx_free(ctx2);
    dp_registry_free(reg2);
}
END_TEST

UNIT_SUITE(call)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, call_checks_arguments_before_a_kernel_runs);
    tcase_add_test(tc, call_without_arguments_or_results_where_some_are_counted_fails);
    tcase_add_test(tc, call_refuses_what_a_kernel_must_not_return);
    tcase_add_test(tc, call_refuses_another_registrys_operator);
}
