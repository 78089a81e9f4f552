/* test_retain.c -- gradients of tensors that are no leaves. */
#include "graphs.h"

START_TEST(a_gradient_is_kept_and_added_to)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::square", x),
              *z = call2("aten::mul.Tensor", y, x);

    ck_assert(!dp_tensor_retains_grad(y));
    ck_assert_int_eq(dp_tensor_retain_grad(ctx, y), 0);
    ck_assert_int_eq(dp_tensor_retain_grad(ctx, y), 0);
    ck_assert(dp_tensor_retains_grad(y) && dp_tensor_grad(y) == NULL);
    ck_assert_int_eq(try_backward(z, NULL, DP_BACKWARD_RETAIN), 0);
    has_grad(y, FLOATS(3));
    dp_tensor *first = dp_tensor_grad(y);
    backward(z);
    has_grad(y, FLOATS(6));
    is_floats(first, FLOATS(3)); /* which a client may still read */
    has_grad(x, FLOATS(54));
    DROP(first, x, y, z);
}
END_TEST

START_TEST(what_was_set_before_is_kept)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::square", x), *grad = floats(FLOATS(5));

    ck_assert_int_eq(dp_tensor_set_grad(ctx, y, grad), 0);
    ck_assert_int_eq(dp_tensor_retain_grad(ctx, y), 0);
    has_grad(y, FLOATS(5));
    backward(y);
    has_grad(y, FLOATS(6));
    ck_assert_int_eq(dp_tensor_set_grad(ctx, y, grad), 0);
    has_grad(y, FLOATS(5));
    ck_assert_int_eq(dp_tensor_set_grad(ctx, y, NULL), 0);
    ck_assert_ptr_null(dp_tensor_grad(y));
    DROP(x, y, grad);
}
END_TEST

START_TEST(leaves_and_others)
{
    dp_tensor *x = leaf(FLOATS(3)), *plain = floats(FLOATS(1));

    ck_assert_int_eq(dp_tensor_retain_grad(ctx, x), 0);
    ck_assert(!dp_tensor_retains_grad(x));
    refused(dp_tensor_retain_grad(ctx, plain), DP_ERUNTIME, "can't retain_grad on Tensor");
    ck_assert_int_eq(dp_tensor_output_nr(x), 0);
    DROP(x, plain);
}
END_TEST

START_TEST(a_tensor_that_has_ended_gets_none)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::square", x), *z = call1("aten::sum", y);

    ck_assert_int_eq(dp_tensor_retain_grad(ctx, y), 0);
    dp_tensor_unref(y);
    backward(z);
    has_grad(x, FLOATS(6));
    DROP(x, z);
}
END_TEST

START_TEST(a_kept_gradient_with_history_ends_with_its_tensor)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::square", x),
              *z = call2("aten::mul.Tensor", y, y);
    uint32_t flags = DP_BACKWARD_RETAIN | DP_BACKWARD_CREATE;

    ck_assert_int_eq(dp_tensor_retain_grad(ctx, y), 0);
    ck_assert_int_eq(try_backward(z, NULL, flags), 0);
    has_grad(y, FLOATS(18));
    dp_tensor *grad = dp_tensor_grad(y);
    ck_assert(dp_tensor_requires_grad(grad));
    ck_assert_int_eq(dp_tensor_set_grad(ctx, x, NULL), 0);
    DROP(grad, z, y, x); /* the teardown finds nodes that are left */
}
END_TEST

START_TEST(a_write_in_place_takes_it_along)
{
    dp_tensor *x = leaf(FLOATS(3)), *two = floats(FLOATS(2)), *y = call1("t::square", x);

    ck_assert_int_eq(dp_tensor_retain_grad(ctx, y), 0);
    write2("aten::mul_.Tensor", y, two);
    backward(y);
    has_grad(y, FLOATS(1));
    has_grad(x, FLOATS(12));
    DROP(x, y, two);
}
END_TEST

START_TEST(backward_into_inputs)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = leaf(FLOATS(5)), *y = call1("t::square", x);
    dp_tensor *z = call2("aten::mul.Tensor", y, w), *inputs[2] = {y, w}, *grad = floats(FLOATS(10));

    ck_assert_int_eq(dp_tensor_backward(ctx, z, NULL, inputs, 2, DP_BACKWARD_RETAIN), 0);
    ck_assert_ptr_null(dp_tensor_grad(x));
    has_grad(y, FLOATS(5));
    has_grad(w, FLOATS(9));
    ck_assert_int_eq(dp_tensor_backward(ctx, z, grad, NULL, 0, 0), 0);
    has_grad(y, FLOATS(55));
    has_grad(w, FLOATS(99));
    has_grad(x, FLOATS(300));
    inputs[0] = grad;
    refused(dp_tensor_backward(ctx, z, NULL, inputs, 1, 0), DP_ERUNTIME, "can't retain_grad");
    DROP(x, w, y, z, grad);
}
END_TEST

UNIT_SUITE(autograd_retain)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, a_gradient_is_kept_and_added_to);
    tcase_add_test(tc, what_was_set_before_is_kept);
    tcase_add_test(tc, leaves_and_others);
    tcase_add_test(tc, a_tensor_that_has_ended_gets_none);
    tcase_add_test(tc, a_kept_gradient_with_history_ends_with_its_tensor);
    tcase_add_test(tc, a_write_in_place_takes_it_along);
    tcase_add_test(tc, backward_into_inputs);
}
