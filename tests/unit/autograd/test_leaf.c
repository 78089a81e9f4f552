/* test_leaf.c -- gradients that leaves get from backward. */
#include "graphs.h"

START_TEST(a_recorded_gradient_of_a_leaf)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::square", x), *one = floats(FLOATS(1)), *grad;
    uint32_t flags = DP_BACKWARD_RETAIN | DP_BACKWARD_CREATE;

    ck_assert_int_eq(try_backward(y, NULL, flags), 0);
    grad = dp_tensor_grad(x);
    ck_assert(dp_tensor_requires_grad(grad)); /* x, its gradient and the graph are a cycle */
    ck_assert_int_eq(dp_tensor_set_grad(ctx, x, NULL), 0);
    backward(grad);
    has_grad(x, FLOATS(2));
    ck_assert_int_eq(dp_tensor_set_grad(ctx, x, NULL), 0);
    ck_assert_int_eq(try_backward(x, one, DP_BACKWARD_CREATE), 0);
    dp_tensor_unref(grad);
    grad = dp_tensor_grad(x);
    ck_assert_ptr_ne(grad, one); /* which the caller may write to */
    DROP(x, y, one, grad);
}
END_TEST

START_TEST(a_gradient_that_others_hold_is_copied_for_the_leaf)
{
    dp_tensor *x = leaf(FLOATS(3)), *one = floats(FLOATS(1)), *grad;

    ck_assert_int_eq(try_backward(x, one, 0), 0);
    grad = dp_tensor_grad(x);
    ck_assert_ptr_ne(grad, one);
    ck_assert_int_eq(try_backward(x, one, 0), 0); /* added in place */
    is_floats(grad, FLOATS(2));
    is_floats(one, FLOATS(1));
    DROP(x, one, grad);
}
END_TEST

UNIT_SUITE(autograd_leaf)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, a_recorded_gradient_of_a_leaf);
    tcase_add_test(tc, a_gradient_that_others_hold_is_copied_for_the_leaf);
}
