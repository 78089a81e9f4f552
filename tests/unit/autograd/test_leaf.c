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

/* Value of a gradient of one element; 0: there is none. */
static float grad_of(const dp_tensor *t)
{
    dp_tensor *grad = dp_tensor_grad(t);
    float x = 0;

    if (grad != NULL) {
        dp_view v = view_of_tensor(grad);
        x = *element(&v, 0);
    }
    dp_tensor_unref(grad);
    return x;
}

/* x * y * z + x * y * z: x and y have gradients of 1 before, z has none. */
static dp_tensor *x, *y, *z; /* leaves */

static int walk_to_leaves(void)
{
    dp_tensor *xy = NULL, *product = NULL, *sum = NULL;
    int rc = try_call2("aten::mul.Tensor", x, y, &xy);

    if (rc == 0)
        rc = try_call2("aten::mul.Tensor", xy, z, &product);
    if (rc == 0)
        rc = try_call2("aten::add.Tensor", product, product, &sum);
    if (rc == 0)
        rc = try_backward(sum, NULL, 0);
    DROP(xy, product, sum);
    return rc;
}

static int change_all_or_none(void)
{
    dp_error err = DP_ERROR_INIT;
    const float one = 1;
    dp_tensor *of_x = dp_tensor_grad(x), *of_y = dp_tensor_grad(y), *now_x, *now_y;

    ck_assert_int_eq(dp_tensor_write(of_x, &one, &err), 0);
    ck_assert_int_eq(dp_tensor_write(of_y, &one, &err), 0);
    int rc = walk_to_leaves();
    bool done = rc == 0;
    unit_each(grad_of(x) == (done ? 31 : 1) && grad_of(y) == (done ? 21 : 1) &&
                  grad_of(z) == (done ? 12 : 0),
              "%d: gradients are %g, %g and %g", rc, (double)grad_of(x), (double)grad_of(y),
              (double)grad_of(z));
    now_x = dp_tensor_grad(x), now_y = dp_tensor_grad(y);
    unit_each(now_x == of_x && now_y == of_y, "a gradient is another tensor");
    DROP(of_x, of_y, now_x, now_y);
    ck_assert(dpi_meta_find(z) == NULL || dp_tensor_set_grad(ctx, z, NULL) == 0);
    return rc;
}

START_TEST(all_leaves_change_or_none)
{
    dp_tensor *one = floats(FLOATS(1)), *other = floats(FLOATS(1));

    x = leaf(FLOATS(2)), y = leaf(FLOATS(3)), z = leaf(FLOATS(5));
    ck_assert_int_eq(dp_tensor_set_grad(ctx, x, one), 0);
    ck_assert_int_eq(dp_tensor_set_grad(ctx, y, other), 0);
    DROP(one, other);
    ck_assert_uint_gt(each_allocation(change_all_or_none), 20);
    DROP(x, y, z);
}
END_TEST

START_TEST(leaves_that_share_a_gradient)
{
    dp_tensor *one = floats(FLOATS(1));

    x = leaf(FLOATS(2)), y = leaf(FLOATS(3)), z = leaf(FLOATS(5));
    ck_assert_int_eq(dp_tensor_set_grad(ctx, x, one), 0);
    ck_assert_int_eq(dp_tensor_set_grad(ctx, y, one), 0);
    ck_assert_int_eq(dp_tensor_set_grad(ctx, z, one), 0);
    uint64_t version = dpi_version_of(one);
    ck_assert_int_eq(walk_to_leaves(), 0);
    is_floats(one, FLOATS(1 + 30 + 20 + 12));
    ck_assert_uint_gt(dpi_version_of(one), version);
    DROP(x, y, z, one);
}
END_TEST

START_TEST(sums_that_do_not_fit)
{
    static const int64_t sizes[1] = {2}, strides[1] = {0};
    dp_tensor *a = leaf(FLOATS(2)), *b = leaf(FLOATS(3)), *p = call2("aten::mul.Tensor", a, b);
    dp_tensor *one = floats(FLOATS(1)), *two = leaf(FLOATS(1, 2)), *ones = floats(FLOATS(1, 1));
    dp_tensor *repeated;

    /* the gradient got another shape after it was set */
    ck_assert_int_eq(dp_tensor_set_grad(ctx, b, one), 0);
    ck_assert_int_eq(dp_set_storage(ctx, one, ones, 0, 1, sizes, NULL), 0);
    ck_assert_int_eq(try_backward(p, NULL, DP_BACKWARD_RETAIN), 0);
    is_floats(one, FLOATS(3, 3)); /* as in PyTorch, which adds in place */
    ck_assert_int_eq(dp_tensor_set_grad(ctx, a, NULL), 0);
    ck_assert_int_eq(dp_as_strided(ctx, a, 1, sizes, strides, 0, &repeated), 0);
    ck_assert_int_eq(dp_tensor_set_grad(ctx, two, repeated), 0);
    refused(try_backward(two, ones, 0), DP_ERUNTIME, "more than one element");
    is_floats(repeated, FLOATS(2, 2));
    ck_assert_int_eq(dp_tensor_set_grad(ctx, two, ones), 0);
    ck_assert_int_eq(dp_set_storage(ctx, ones, one, 0, 0, sizes, NULL), 0);
    refused(try_backward(two, repeated, 0), DP_ERUNTIME, "has shape [] and cannot take a sum of");
    DROP(a, b, p, one, two, ones, repeated);
}
END_TEST

UNIT_SUITE(autograd_leaf)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, a_recorded_gradient_of_a_leaf);
    tcase_add_test(tc, a_gradient_that_others_hold_is_copied_for_the_leaf);
    tcase_add_test(tc, all_leaves_change_or_none);
    tcase_add_test(tc, leaves_that_share_a_gradient);
    tcase_add_test(tc, sums_that_do_not_fit);
}
