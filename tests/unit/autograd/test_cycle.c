/* test_cycle.c -- leaves that their gradients lead back to. */
#include "graphs.h"

static const dp_holder_limit limits[DP_HOLDERS] = {
    [DP_HOLDER_TENSORS] = {"A", "B", 100, 1 << 20},
    [DP_HOLDER_INTERMEDIATES] = {"C", "D", 100, 1 << 20},
    [DP_HOLDER_HISTORY] = {"NODES", "NODE_BYTES", 1000, 1 << 20},
};
static dp_account *account;

static void setup(void)
{
    dp_error err = DP_ERROR_INIT;

    graphs_setup();
    ck_assert_int_eq(dp_account_new(limits, &account, &err), 0);
    dp_ctx_set_account(ctx, account);
}

static void teardown(void)
{
    dp_usage held[DP_HOLDERS];

    dp_grad_end(account);
    dp_account_usage(account, held);
    ck_assert_uint_eq(held[DP_HOLDER_HISTORY].count, 0);
    ck_assert_uint_eq(held[DP_HOLDER_HISTORY].bytes, 0);
    dp_ctx_set_account(ctx, NULL);
    account = dp_account_close(account);
    graphs_teardown(); /* finds what is left */
}

/* Backward of `n` leaves, whose gradients have history; all of them are released. */
static void make_cycles(int n)
{
    for (int i = 0; i < n; i++) {
        dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::square", x);
        ck_assert_int_eq(try_backward(y, NULL, DP_BACKWARD_CREATE | DP_BACKWARD_RETAIN), 0);
        DROP(x, y);
    }
}

START_TEST(the_end_of_a_session_breaks_them)
{
    make_cycles(3);
    ck_assert_uint_gt(dp_grad_nodes(), 0);
    dp_grad_end(account);
    ck_assert_uint_eq(dp_grad_nodes(), 0);
    make_cycles(2); /* of an account that goes on */
}
END_TEST

START_TEST(a_leaf_that_ends_before_is_listed_no_more)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::square", x), *w = leaf(FLOATS(2));

    ck_assert_int_eq(dp_tensor_set_grad(ctx, w, y), 0); /* w's gradient has history, but not of w */
    make_cycles(1);
    ck_assert_int_eq(dp_tensor_set_grad(ctx, x, y), 0);
    ck_assert_int_eq(dp_tensor_set_grad(ctx, x, NULL), 0);
    DROP(w, x, y);
}
END_TEST

START_TEST(a_gradient_that_is_kept_after_detaching)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::square", x), *z;

    ck_assert_int_eq(dp_tensor_retain_grad(ctx, y), 0);
    dp_tensor_detach(y);
    ck_assert_int_eq(dp_tensor_set_requires_grad(ctx, y, true), 0);
    z = call1("t::square", y);
    ck_assert_int_eq(try_backward(z, NULL, DP_BACKWARD_CREATE | DP_BACKWARD_RETAIN), 0);
    has_grad(y, FLOATS(18));
    DROP(x, y, z);
}
END_TEST

UNIT_SUITE(autograd_cycle)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_end_of_a_session_breaks_them);
    tcase_add_test(tc, a_leaf_that_ends_before_is_listed_no_more);
    tcase_add_test(tc, a_gradient_that_is_kept_after_detaching);
}
