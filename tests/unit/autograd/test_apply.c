/* test_apply.c -- one node: the gradients that it gets and computes, and what it saved. */
#include "graphs.h"

static void both(dp_tensor *x, dp_tensor *w, dp_value rets[2])
{
    const dp_value args[2] = {dp_tensor_value(x), dp_tensor_value(w)};

    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "t::both"), args, 2, rets, 2), 0);
}

START_TEST(undefined_gradients_are_none_or_zeros)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = leaf(FLOATS(5));
    dp_value rets[2];

    both(x, w, rets);
    ck_assert_int_eq(try_backward(rets[1].u.t, NULL, DP_BACKWARD_RETAIN), 0); /* grad is None */
    has_grad(x, FLOATS(1));
    has_grad(w, FLOATS(1));
    ck_assert_int_eq(try_backward(rets[0].u.t, NULL, DP_BACKWARD_RETAIN), 0); /* grad1 is zeros */
    has_grad(x, FLOATS(6));
    has_grad(w, FLOATS(1));
    dp_values_release(rets, 2);
    DROP(x, w);
}
END_TEST

START_TEST(what_nobody_wants_is_not_computed)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = floats(FLOATS(5));
    dp_value rets[2];

    both(x, w, rets); /* need.other is false */
    backward(rets[1].u.t);
    ck_assert_int_eq(runs, 0);
    has_grad(x, FLOATS(1));
    ck_assert_ptr_null(dp_tensor_grad(w));
    dp_values_release(rets, 2);
    DROP(x, w);
}
END_TEST

START_TEST(one_node_alone)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = leaf(FLOATS(5)), *y = call2("aten::mul.Tensor", x, w);
    dp_tensor *grad = floats(FLOATS(2)), *grads[2] = {NULL, NULL};
    bool wanted[2] = {false, true};
    dpi_applied out = {grads, wanted, false, NULL, NULL};
    dpi_edge e;

    ck_assert_int_eq(dpi_edge_of(ctx, y, &e), 0);
    ck_assert_int_eq(dp_ctx_begin(ctx), 0);
    dp_mode no_grad = *dp_ctx_mode(ctx);
    no_grad.no_grad = true;
    int depth = dp_guard_mode(ctx, &no_grad);
    ck_assert_msg(dpi_node_apply(ctx, e.to, &grad, &out) == 0, "%s", said());
    ck_assert_ptr_null(grads[0]);
    is_floats(grads[1], FLOATS(6));
    dpi_node_release(e.to);
    refused(dpi_node_apply(ctx, e.to, &grad, &out), DP_ERUNTIME, "a second time");
    dp_guard_leave(ctx, depth);
    dp_ctx_end(ctx);
    dpi_edge_unref(e);
    DROP(x, w, y, grad, grads[1]);
}
END_TEST

START_TEST(a_saved_return_has_its_history)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::copied", x), *grad, *second;

    ck_assert_int_eq(try_backward(y, NULL, DP_BACKWARD_CREATE | DP_BACKWARD_RETAIN), 0);
    grad = dp_tensor_grad(x);
    is_floats(grad, FLOATS(3));
    ck_assert_int_eq(dp_tensor_set_grad(ctx, x, NULL), 0);
    backward(grad);
    has_grad(x, FLOATS(3));
    second = dp_tensor_grad(x);
    DROP(x, y, grad, second);
}
END_TEST

START_TEST(a_stale_saved_tensor_names_versions)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = floats(FLOATS(5)), *y = call2("aten::mul.Tensor", x, w);
    char part[80];

    uint64_t saved = dp_tensor_version(w);
    dp_tensor_bump_version(w);
    snprintf(part, sizeof(part), "is at version %d; expected version %d instead", (int)saved + 1,
             (int)saved);
    refused(try_backward(y, NULL, 0), DP_ERUNTIME, part);
    refused(try_backward(y, NULL, 0), DP_ERUNTIME, part); /* it is not freed by the failure */
    DROP(x, w, y);
}
END_TEST

START_TEST(a_call_of_an_operator_that_is_gone)
{
    dp_tensor *t;

    refused(dpi_call_one(ctx, "t::gone", NULL, 0, &t), DP_ENOTFOUND, "t::gone");
    ck_assert_ptr_null(t);
}
END_TEST

START_TEST(zeros_like_a_return)
{
    dp_tensor *t;
    int64_t two = 2;

    ck_assert_int_eq(dpi_zeros(ctx, 1, &two, DP_FLOAT32, DP_DEVICE_CPU, &t), 0);
    is_floats(t, FLOATS(0, 0));
    dp_tensor_unref(t);
}
END_TEST

UNIT_SUITE(autograd_apply)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, undefined_gradients_are_none_or_zeros);
    tcase_add_test(tc, what_nobody_wants_is_not_computed);
    tcase_add_test(tc, one_node_alone);
    tcase_add_test(tc, a_saved_return_has_its_history);
    tcase_add_test(tc, a_stale_saved_tensor_names_versions);
    tcase_add_test(tc, a_call_of_an_operator_that_is_gone);
    tcase_add_test(tc, zeros_like_a_return);
}
