/* test_inputs.c -- backward to some tensors: their gradients, and nothing else. */
#include "graphs.h"

START_TEST(gradients_of_inputs_are_returned)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = leaf(FLOATS(2)), *far = leaf(FLOATS(1));
    dp_tensor *y = call2("aten::mul.Tensor", x, w), *side = call1("t::through", w);
    dp_tensor *z = call2("aten::mul.Tensor", y, side), *grads[3];
    dp_tensor *inputs[3] = {y, x, far};

    ck_assert_msg(gradients_of(z, 3, inputs, grads, 0) == 0, "%s", said());
    is_floats(grads[0], FLOATS(2));
    is_floats(grads[1], FLOATS(4));
    ck_assert_ptr_null(grads[2]);
    ck_assert_int_eq(runs, 0); /* it leads to no input */
    ck_assert(dp_tensor_grad(x) == NULL && dp_tensor_grad(w) == NULL);
    DROP(grads[0], grads[1]);
    dp_tensor *none = floats(FLOATS(1));
    inputs[1] = none;
    refused(gradients_of(z, 2, inputs, grads, 0), DP_ERUNTIME,
            "One of the differentiated Tensors does not require grad: input 1");
    ck_assert(grads[0] == NULL && grads[1] == NULL);
    DROP(x, w, far, y, side, z, none);
}
END_TEST

START_TEST(inputs_of_nothing)
{
    dp_tensor *x = leaf(FLOATS(3)), *grads[1];

    ck_assert_int_eq(gradients_of(NULL, 1, &x, grads, 0), 0);
    ck_assert_ptr_null(grads[0]);
    dp_tensor_unref(x);
}
END_TEST

START_TEST(a_tensor_that_is_an_input_twice)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::square", x),
              *z = call2("aten::mul.Tensor", y, y);
    dp_tensor *inputs[4] = {y, x, y, x}, *grads[4];

    ck_assert_int_eq(gradients_of(z, 4, inputs, grads, 0), 0);
    for (int i = 0; i < 4; i++)
        is_floats(grads[i], 1, (float[]){i % 2 == 0 ? 18 : 108});
    DROP(x, y, z, grads[0], grads[1], grads[2], grads[3]);
}
END_TEST

START_TEST(one_of_several_returns_is_an_input)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = leaf(FLOATS(5)), *grads[2];
    const dp_value args[2] = {dp_tensor_value(x), dp_tensor_value(w)};
    dp_value rets[2] = {{0}, {0}};

    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "t::both"), args, 2, rets, 2), 0);
    dp_tensor *y = call2("aten::mul.Tensor", rets[0].u.t, rets[1].u.t);
    ck_assert_int_eq(gradients_of(y, 2, (dp_tensor *[]){rets[1].u.t, rets[0].u.t}, grads, 0), 0);
    is_floats(grads[0], FLOATS(15));
    is_floats(grads[1], FLOATS(8));
    DROP(x, w, y, rets[0].u.t, rets[1].u.t, grads[0], grads[1]);
}
END_TEST

START_TEST(finding_inputs_can_be_cancelled)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::square", x), *grad;

    dp_ctx_set_cancel(ctx, &cancel);
    atomic_store(&cancel, 1);
    refused(gradients_of(y, 1, &x, &grad, 0), DP_ECANCELLED, "");
    ck_assert_ptr_null(grad);
    DROP(x, y);
}
END_TEST

UNIT_SUITE(autograd_inputs)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, gradients_of_inputs_are_returned);
    tcase_add_test(tc, inputs_of_nothing);
    tcase_add_test(tc, a_tensor_that_is_an_input_twice);
    tcase_add_test(tc, one_of_several_returns_is_an_input);
    tcase_add_test(tc, finding_inputs_can_be_cancelled);
}
