/* test_hook.c -- hooks of gradients: their order, failures, and what is left of them. */
#include "graphs.h"

static int hook(dp_tensor *t, const char *op)
{
    return dp_tensor_hook(ctx, t, op != NULL ? dp_op_find(ctx, op) : NULL);
}

START_TEST(hooks_run_in_order_before_an_older_gradient_is_added)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::square", x); /* the gradient of x is 6 */

    ck_assert_int_eq(hook(x, "t::square"), 0);
    ck_assert_int_eq(hook(x, "t::count"), 0);
    ck_assert_uint_eq(dp_tensor_hooks(x), 2);
    ck_assert_int_eq(try_backward(y, NULL, DP_BACKWARD_RETAIN), 0);
    has_grad(x, FLOATS(36));
    ck_assert_int_eq(runs, 1);
    ck_assert_int_eq(hook(x, NULL), 0);
    ck_assert_uint_eq(dp_tensor_hooks(x), 0);
    backward(y);
    has_grad(x, FLOATS(36 + 6));
    ck_assert_int_eq(runs, 1);
    DROP(x, y);
}
END_TEST

START_TEST(a_hook_that_fails_changes_nothing)
{
    dp_tensor *x = leaf(FLOATS(1, 2)), *z = leaf(FLOATS(5, 7)),
              *y = call2("aten::mul.Tensor", x, z);
    dp_tensor *s = call1("aten::sum", y);

    ck_assert_int_eq(hook(x, "aten::sum"), 0);
    refused(try_backward(s, NULL, DP_BACKWARD_RETAIN), DP_ERUNTIME,
            "hook aten::sum has changed the gradient from float32 [2] on cpu to float32 [] on cpu");
    ck_assert_ptr_null(dp_tensor_grad(x));
    ck_assert_ptr_null(dp_tensor_grad(z));
    ck_assert_int_eq(hook(x, NULL), 0);
    ck_assert_int_eq(hook(x, "t::cancel"), 0);
    dp_ctx_set_cancel(ctx, &cancel);
    ck_assert_int_eq(try_backward(s, NULL, DP_BACKWARD_RETAIN), DP_ECANCELLED);
    ck_assert_ptr_null(dp_tensor_grad(z));
    DROP(x, z, y, s);
}
END_TEST

START_TEST(tensors_and_operators_without_hooks)
{
    dp_tensor *x = leaf(FLOATS(1)), *plain = floats(FLOATS(1)), *y = call1("t::square", x);

    refused(hook(plain, "t::plain"), DP_ERUNTIME, "a tensor that doesn't require gradient");
    refused(hook(y, "t::plain"), DP_ERUNTIME, "does not retain its gradient");
    refused(hook(x, "aten::mul.Tensor"), DP_ETYPE, "");
    refused(hook(x, "aten::zero_"), DP_ETYPE, "");
    refused(hook(x, "t::both"), DP_ETYPE, "");
    ck_assert_int_eq(hook(x, NULL), 0); /* there are none to remove */
    ck_assert_uint_eq(dp_tensor_hooks(y), 0);
    DROP(x, plain, y);
}
END_TEST

START_TEST(a_hook_ends_with_its_tensor)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::square", x), *s;

    ck_assert_int_eq(dp_tensor_retain_grad(ctx, y), 0);
    ck_assert_int_eq(hook(y, "t::count"), 0);
    s = call1("aten::sum", y);
    ck_assert_int_eq(try_backward(s, NULL, DP_BACKWARD_RETAIN), 0);
    ck_assert_int_eq(runs, 1);
    dp_tensor_unref(y); /* its node stays */
    backward(s);
    ck_assert_int_eq(runs, 1);
    DROP(x, s);
}
END_TEST

static const dp_op *square, *plain_op; /* found before an allocation fails */

static int hooked_backward(void)
{
    dp_tensor *x = NULL, *y = NULL, *s = NULL, *grad = NULL;
    dp_error err = DP_ERROR_INIT;
    int64_t n = 1;
    const float three = 3;
    int rc = dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &n, NULL, &x, &err);

    if (rc == 0)
        rc = dp_tensor_write(x, &three, &err);
    if (rc == 0)
        rc = dp_tensor_set_requires_grad(ctx, x, true);
    if (rc == 0)
        rc = dp_tensor_hook(ctx, x, square);
    if (rc == 0)
        rc = try_call("t::square", (dp_value[]){dp_tensor_value(x)}, 1, &y);
    if (rc == 0)
        rc = dp_tensor_retain_grad(ctx, y);
    if (rc == 0)
        rc = dp_tensor_hook(ctx, y, plain_op);
    if (rc == 0)
        rc = try_call("aten::sum", (dp_value[]){dp_tensor_value(y)}, 1, &s);
    if (rc == 0)
        rc = try_backward(s, NULL, 0);
    if (rc == 0)
        grad = dp_tensor_grad(x);
    if (rc == 0)
        is_floats(grad, FLOATS(36));
    DROP(x, y, s, grad);
    return rc;
}

START_TEST(each_allocation_fails_once)
{
    square = dp_op_find(ctx, "t::square"), plain_op = dp_op_find(ctx, "t::plain");
    ck_assert_uint_gt(each_allocation(hooked_backward), 15);
}
END_TEST

UNIT_SUITE(autograd_hook)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, hooks_run_in_order_before_an_older_gradient_is_added);
    tcase_add_test(tc, a_hook_that_fails_changes_nothing);
    tcase_add_test(tc, tensors_and_operators_without_hooks);
    tcase_add_test(tc, a_hook_ends_with_its_tensor);
    tcase_add_test(tc, each_allocation_fails_once);
}
