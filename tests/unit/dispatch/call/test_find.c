/* test_find.c -- operators that are not there. */
#include "../calls.h"

static int invokes_gone(dp_call *call)
{
    return dp_call_boxed(call->ctx, dp_op_find(call->ctx, "gone::op"), call->args, 1, call->rets,
                         1);
}

/* The header's own idiom, dp_call_boxed(ctx, dp_op_find(ctx, name), ...), without a look between.
 */
START_TEST(call_of_an_operator_that_is_not_there_fails_by_name)
{
    const dp_keyset none = {0, 0};
    dp_value args[1] = {dp_tensor_value(a)}, ret = dp_int(1);
    dp_typed t;
    dp_tensor *out;
    dp_bound bound;
    dp_explanation x;

    attach_as("cpu", "CPU", invokes_gone, NULL, 0);
    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "gone::op"), args, 1, &ret, 1),
                     DP_ENOTFOUND);
    ck_assert_msg(strstr(dp_ctx_error(ctx)->message, "gone::op") != NULL, "%s",
                  dp_ctx_error(ctx)->message);
    ck_assert_uint_eq(ret.tag, DP_TAG_NONE);
    ck_assert_int_eq(dp_redispatch_boxed(ctx, NULL, none, args, 1, &ret, 1), DP_ENOTFOUND);
    expect_fail(DP_ENOTFOUND, "gone::op");
    dp_ctx_reset(ctx); /* no error to hand on */
    ck_assert_int_eq(dp_call_boxed(ctx, NULL, args, 1, &ret, 1), DP_ENOTFOUND);
    ck_assert_msg(strstr(dp_ctx_error(ctx)->message, "no operator") != NULL, "%s",
                  dp_ctx_error(ctx)->message);
    ck_assert_int_eq(dp_typed_init(ctx, "gone::op", DP_CODE((T, T), (T)), &t), DP_ENOTFOUND);
    ck_assert_int_eq(typed_first(ctx, &t, a, b, &out), DP_ENOTFOUND);
    dp_ctx_reset(ctx);
    ck_assert_int_eq(typed_first(ctx, &t, a, b, &out), DP_ENOTFOUND);
    ck_assert_int_eq(dp_bind(ctx, "gone::op", args, 1, NULL, 0, &bound), DP_ENOTFOUND);
    ck_assert_uint_eq(dp_bound_kernel(ctx, &bound), 0);
    ck_assert_int_eq(dp_explain(ctx, &bound, dp_ctx_arena(ctx), &x), DP_ENOTFOUND);
    ck_assert_str_eq(dp_op_name(NULL), "(no operator)");
}
END_TEST

UNIT_SUITE(find)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, call_of_an_operator_that_is_not_there_fails_by_name);
}
