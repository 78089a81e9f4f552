/* test_gradient.c -- gradients of roots, and gradients that are fitted to where they go. */
#include "graphs.h"

START_TEST(a_gradient_is_fitted_to_its_edge)
{
    dp_error err = DP_ERROR_INIT;
    dp_tensor *x = leaf(FLOATS(2)), *w = floats(FLOATS(1, 2, 3)), *three = floats(FLOATS(1, 1, 1));
    dp_tensor *y = call2("aten::mul.Tensor", w, x), *d = NULL;

    ck_assert_int_eq(try_backward(y, three, 0), 0); /* broadcast: summed */
    has_grad(x, FLOATS(6));
    int64_t one = 1;
    double half = 0.5;
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT64, DP_DEVICE_CPU, 1, &one, NULL, &d, &err), 0);
    ck_assert_int_eq(dp_tensor_write(d, &half, &err), 0);
    ck_assert_int_eq(try_backward(x, d, 0), 0); /* another dtype: cast */
    has_grad(x, FLOATS(6.5F));
    DROP(x, w, three, y, d);
}
END_TEST

START_TEST(what_backward_refuses_to_begin_with)
{
    dp_error err = DP_ERROR_INIT;
    int64_t n = 2;
    dp_tensor *x = leaf(FLOATS(1, 2)), *w = floats(FLOATS(1)), *c = NULL;

    refused(try_backward(x, NULL, 0), DP_ERUNTIME, "only for scalar outputs, and tensor 0 has 2");
    refused(try_backward(w, NULL, 0), DP_ERUNTIME, "element 0 of tensors does not require grad");
    refused(try_backward(x, w, 0), DP_ERUNTIME,
            "Mismatch in shape: gradient 0 has shape [1] and tensor 0 has shape [2]");
    ck_assert_int_eq(dp_tensor_new(DP_COMPLEX64, DP_DEVICE_CPU, 1, &n, NULL, &c, &err), 0);
    refused(try_backward(x, c, 0), DP_ERUNTIME, "gradient 0 is of complex64, but its tensor of");
    ck_assert_int_eq(dp_backward(ctx, NULL), DP_EVALUE);
    ck_assert_ptr_null(dp_tensor_grad(x));
    DROP(x, w, c);
}
END_TEST

UNIT_SUITE(autograd_gradient)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, a_gradient_is_fitted_to_its_edge);
    tcase_add_test(tc, what_backward_refuses_to_begin_with);
}
