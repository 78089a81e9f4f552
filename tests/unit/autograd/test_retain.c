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

/* Backward to a tensor that keeps its gradient, to a view of it that was written, and to leaves. */
static dp_tensor *x, *two;

static int keep_and_walk(void)
{
    dp_tensor *y = NULL, *half = NULL, *same = NULL, *z = NULL;
    int rc = try_call("t::square", &(dp_value){DP_TAG_TENSOR, 0, {.t = x}}, 1, &y);

    if (rc == 0 && (rc = dp_tensor_retain_grad(ctx, y)) < 0)
        ck_assert(!dp_tensor_retains_grad(y));
    if (rc == 0)
        rc = try_call("t::half", &(dp_value){DP_TAG_TENSOR, 0, {.t = y}}, 1, &half);
    if (rc == 0)
        rc = try_call2("aten::mul_.Tensor", half, two, &same);
    if (rc == 0)
        rc = try_call("aten::sum", &(dp_value){DP_TAG_TENSOR, 0, {.t = y}}, 1, &z);
    for (int i = 1; i < 3 && rc == 0; i++) {
        rc = try_backward(z, NULL, DP_BACKWARD_RETAIN);
        dp_tensor *of_x = dp_tensor_grad(x), *of_y = dp_tensor_grad(y);
        float n = (float)(rc == 0 ? i : i - 1);
        unit_each((of_x == NULL) == (n == 0) && (of_y == NULL) == (n == 0), "half a change");
        if (n > 0)
            is_floats(of_x, FLOATS(2 * n, 8 * n, 6 * n, 16 * n));
        if (n > 0)
            is_floats(of_y, FLOATS(n, 2 * n, n, 2 * n));
        DROP(of_x, of_y);
    }
    dp_grad_graph *g = NULL;
    if (rc == 0)
        rc = dp_grad_graph_new(ctx, &z, 1, 100, &g);
    if (rc == 0 && dp_grad_graph_dot(g, NULL, dp_ctx_arena(ctx)) == NULL)
        rc = DP_ERESOURCE;
    dp_grad_graph_free(g);
    DROP(y, half, same, z);
    ck_assert(dpi_meta_find(x) == NULL || dp_tensor_set_grad(ctx, x, NULL) == 0);
    return rc;
}

START_TEST(no_allocation_changes_half)
{
    x = leaf(FLOATS(1, 2, 3, 4)), two = floats(FLOATS(2, 2));
    ck_assert_uint_gt(each_allocation(keep_and_walk), 60);
    DROP(x, two);
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
    tcase_add_test(tc, no_allocation_changes_half);
}
