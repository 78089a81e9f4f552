/* test_once.c -- gradients that cannot be differentiated again. */
#include "graphs.h"

#define DERIVATIVE                                                                                 \
    "in grad Tensor\nin self Tensor\na = aten::mul.Tensor(grad, self)\n"                           \
    "b = aten::add.Tensor(a, a)\nout self b\n"
static const dp_item once_formulas[] = {
    FORMULA_FLAGS("wrong", "once_differentiable", DERIVATIVE),
    FORMULA_FLAGS("plain", "once_differentiable", "in grad Tensor\nout self grad\n")};
static const dp_block once_blocks[] = {
    REC_BLOCK(DP_BLOCK_IMPL, 1, "t", "AutogradFormula", once_formulas)};
#define TEXT "t::wrong: trying to differentiate twice a function that was marked with @once_differ"

static void once_setup(void)
{
    graphs_setup();
    rec_attach(reg, "once", once_blocks, DPI_COUNT(once_blocks));
}

static dp_tensor *created(dp_tensor *y, dp_tensor *x)
{
    ck_assert_int_eq(try_backward(y, NULL, DP_BACKWARD_CREATE), 0);
    dp_tensor *grad = dp_tensor_grad(x);
    ck_assert_int_eq(dp_tensor_set_grad(ctx, x, NULL), 0);
    return grad;
}

START_TEST(a_second_backward_fails_by_name)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::wrong", x), *grad = created(y, x), *sum;

    is_floats(grad, FLOATS(6));
    ck_assert(dp_tensor_requires_grad(grad));
    refused(try_backward(grad, NULL, 0), DP_ERUNTIME, TEXT);
    sum = call2("aten::add.Tensor", grad, x); /* also where another way would lead to x */
    refused(try_backward(sum, NULL, 0), DP_ERUNTIME, TEXT);
    ck_assert_ptr_null(dp_tensor_grad(x));
    DROP(x, y, grad, sum);
}
END_TEST

START_TEST(inputs_that_it_leads_to)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = leaf(FLOATS(5)), *other = leaf(FLOATS(1)), *found = NULL;
    dp_tensor *h = call1("t::wrong", x), *y = call2("aten::mul.Tensor", h, w);
    dp_tensor *grad = created(y, x), *sum;
    dp_backward_options o = {
        .size = sizeof(o), .tensors = &grad, .n = 1, .inputs = &w, .n_inputs = 1, .grads = &found};

    refused(dp_backward(ctx, &o), DP_ERUNTIME, TEXT); /* w is in the gradient that it got */
    sum = call2("aten::mul.Tensor", grad, other);
    o.tensors = &sum;
    o.inputs = &other;
    ck_assert_int_eq(dp_backward(ctx, &o), 0); /* does not lead through it */
    is_floats(found, FLOATS(30));
    ck_assert_int_eq(dp_tensor_set_grad(ctx, w, NULL), 0);
    DROP(x, w, h, y, grad, sum, other, found);
}
END_TEST

START_TEST(constant_gradients_have_no_history)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::plain", x), *grad = created(y, x);

    is_floats(grad, FLOATS(1));
    ck_assert(!dp_tensor_requires_grad(grad));
    DROP(y, grad);
    dp_tensor *h = call1("t::plain", x);
    y = call1("t::square", h); /* here its gradient depends on x */
    grad = created(y, x);
    is_floats(grad, FLOATS(6));
    refused(try_backward(grad, NULL, 0), DP_ERUNTIME, "t::plain: trying to differentiate twice");
    DROP(x, h, y, grad);
}
END_TEST

START_TEST(without_create_graph_it_is_a_formula_as_others)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::wrong", x);

    backward(y);
    has_grad(x, FLOATS(6));
    ck_assert_uint_eq(dp_grad_nodes(), 1);
    DROP(x, y);
}
END_TEST

static dp_tensor *x;

static int differentiate(void)
{
    dp_tensor *y = NULL;
    int rc = try_call("t::wrong", (dp_value[]){dp_tensor_value(x)}, 1, &y);

    if (rc == 0)
        rc = try_backward(y, NULL, DP_BACKWARD_CREATE);
    if (rc == 0)
        rc = dp_tensor_set_grad(ctx, x, NULL);
    dp_tensor_unref(y);
    return rc;
}

START_TEST(no_allocation_leaks)
{
    x = leaf(FLOATS(3));
    ck_assert_uint_gt(each_allocation(differentiate), 10);
    dp_tensor_unref(x);
}
END_TEST

UNIT_SUITE(autograd_once)
{
    tcase_add_checked_fixture(tc, once_setup, graphs_teardown);
    tcase_add_test(tc, a_second_backward_fails_by_name);
    tcase_add_test(tc, inputs_that_it_leads_to);
    tcase_add_test(tc, constant_gradients_have_no_history);
    tcase_add_test(tc, without_create_graph_it_is_a_formula_as_others);
    tcase_add_test(tc, no_allocation_leaks);
}
