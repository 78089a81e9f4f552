/* test_view.c -- bases that are written through views, and views whose bases were written. */
#include "graphs.h"

static const float four[4] = {1, 1, 1, 1};

START_TEST(a_base_written_through_a_view_knows_the_view)
{
    dp_tensor *x = leaf(FLOATS(1, 2, 3, 4)), *w = leaf(FLOATS(10, 20)), *ones = floats(4, four);
    dp_tensor *base = call1("aten::clone", x), *h = call1("t::half", base);

    write2("aten::mul_.Tensor", h, w);
    is_floats(base, FLOATS(1, 20, 3, 80));
    ck_assert_str_eq(dp_tensor_grad_fn(base), "aten::mul_.Tensor");
    ck_assert_int_eq(try_backward(base, ones, 0), 0);
    has_grad(x, FLOATS(1, 10, 1, 20));
    has_grad(w, FLOATS(2, 4));
    DROP(x, w, ones, base, h);
}
END_TEST

START_TEST(a_base_without_history_gets_one)
{
    dp_tensor *base = floats(FLOATS(1, 2, 3, 4)), *w = leaf(FLOATS(10, 20));
    dp_tensor *h = call1("t::half", base), *ones = floats(4, four);

    write2("aten::mul_.Tensor", h, w);
    ck_assert(dp_tensor_requires_grad(base) && dp_tensor_requires_grad(h));
    ck_assert_int_eq(try_backward(base, ones, 0), 0);
    has_grad(w, FLOATS(2, 4));
    DROP(base, w, h, ones);
}
END_TEST

START_TEST(a_view_of_a_written_base_has_new_history)
{
    dp_tensor *x = leaf(FLOATS(1, 2, 3, 4)), *w = leaf(FLOATS(10, 20, 30, 40)), *y;
    dp_tensor *base = call1("aten::clone", x), *h = call1("t::half", base);
    dp_tensor *ones = floats(2, four);

    ck_assert_str_eq(dp_tensor_grad_fn(h), "t::half");
    write2("aten::mul_.Tensor", base, w);
    y = call1("t::square", h); /* of (2 * 20)^2, (4 * 40)^2 */
    ck_assert_str_eq(dp_tensor_grad_fn(h), "as_strided");
    ck_assert(!dp_tensor_is_leaf(h));
    ck_assert_int_eq(try_backward(y, ones, 0), 0);
    has_grad(x, FLOATS(0, 2 * 40 * 20, 0, 2 * 160 * 40));
    has_grad(w, FLOATS(0, 2 * 40 * 2, 0, 2 * 160 * 4));
    DROP(x, w, y, base, h, ones);
}
END_TEST

START_TEST(another_view_of_a_written_view)
{
    dp_tensor *x = leaf(FLOATS(1, 2, 3, 4)), *base = call1("aten::clone", x), *y;
    dp_tensor *h = call1("t::half", base), *other = call1("t::half", base);
    dp_tensor *w = floats(FLOATS(10, 20)), *ones = floats(2, four);

    write2("aten::mul_.Tensor", h, w);
    y = call2("aten::mul.Tensor", other, w);
    ck_assert_int_eq(try_backward(y, ones, 0), 0);
    has_grad(x, FLOATS(0, 100, 0, 400));
    DROP(x, base, y, h, other, w, ones);
}
END_TEST

START_TEST(elements_that_a_view_repeats_are_summed)
{
    int64_t sizes[1] = {3}, strides[1] = {0};
    dp_tensor *x = leaf(FLOATS(5)), *base = call1("aten::clone", x), *view;
    dp_tensor *w = floats(FLOATS(2)), *ones = floats(3, four), *y;
    const dp_value args[4] = {dp_tensor_value(base), dp_ints(sizes, 1), dp_ints(strides, 1),
                              dp_int(0)};

    ck_assert_int_eq(try_call("aten::as_strided", args, 4, &view), 0);
    write2("aten::mul_.Tensor", base, w);
    y = call1("t::through", view);
    is_floats(y, FLOATS(10, 10, 10));
    ck_assert_msg(try_backward(y, ones, 0) == 0, "%s", said());
    has_grad(x, FLOATS(6));
    DROP(x, base, view, w, ones, y);
}
END_TEST

START_TEST(the_history_of_a_view_by_that_of_its_base)
{
    dp_tensor *x = leaf(FLOATS(1, 2, 3, 4)), *base = call1("aten::clone", x);
    dp_tensor *h = call1("t::half", base), *w = floats(FLOATS(10, 20));
    dpi_node *view;
    dpi_edge e;

    write2("aten::mul_.Tensor", h, w);
    ck_assert_int_eq(dpi_edge_of(ctx, base, &e), 0);
    ck_assert_int_eq(dpi_view_of_slices(ctx, e.to, &view), 0);
    ck_assert_int_eq(view->kind, DPI_NODE_STRIDED);
    ck_assert_ptr_eq(view->edges[0].to, e.to);
    ck_assert_uint_gt(view->topo, dpi_edge_topo(e));
    ck_assert(view->rets[0].ndim == 1 && view->dims[0] == 2); /* the view's geometry */
    ck_assert_int_eq(view->base->dims[0], 4);
    dpi_node_unref(view);
    dpi_edge_unref(e);
    DROP(x, base, h, w);
}
END_TEST

START_TEST(views_that_are_not_written)
{
    dp_tensor *x = leaf(FLOATS(1, 2, 3, 4)), *base = call1("aten::clone", x), *same;
    dp_tensor *w = floats(FLOATS(10)), *h, *y;
    dp_mode plain = {.size = sizeof(plain)}, no_grad = plain;
    dp_value arg = dp_tensor_value(base), pair;

    no_grad.no_grad = true;
    int depth = dp_guard_mode(ctx, &no_grad);
    h = call1("t::half", base);
    dp_guard_leave(ctx, depth);
    dp_tensor *joined = leaf(FLOATS(10, 20));
    refused(try_call2("aten::mul_.Tensor", h, joined, &same), DP_ERUNTIME,
            "aten::mul_.Tensor: a view was created in no_grad mode and is being modified inplace "
            "with grad mode enabled");
    write2("aten::mul_.Tensor", base, w);
    const dp_value used = dp_tensor_value(h);
    refused(try_call("t::square", &used, 1, &y), DP_ERUNTIME,
            "its base or another view of its base has been modified inplace");
    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "t::pair"), &arg, 1, &pair, 1), 0);
    refused(try_call2("aten::mul_.Tensor", pair.u.tensors[0], joined, &same), DP_ERUNTIME,
            "is the output of a function that returns multiple views");
    dp_values_release(&pair, 1);
    DROP(x, base, w, h, joined);
}
END_TEST

START_TEST(a_copy_of_a_geometry)
{
    dp_tensor *x = floats(FLOATS(1, 2, 3, 4)), *h = call1("t::half", x);
    dpi_geometry_copy *g = dpi_geometry_copy_new(h);

    ck_assert(g->ndim == 1 && g->offset == 1 && g->dims[0] == 2 && g->dims[1] == 2);
    ck_assert(g->dtype == DP_FLOAT32 && g->device == DP_DEVICE_CPU && g->math_bits == 0);
    dp_free(g);
    dp_fault_arm(1);
    ck_assert_ptr_null(dpi_geometry_copy_new(h));
    dp_fault_arm(0);
    DROP(x, h);
}
END_TEST

static int write_through_views(void)
{
    float values[4] = {1, 2, 3, 4};
    int64_t n = 4, half = 2;
    dp_error err = DP_ERROR_INIT;
    dp_tensor *x = NULL, *w = NULL, *base = NULL, *h = NULL, *same = NULL, *y = NULL;
    int rc = dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &n, NULL, &x, &err);

    if (rc == 0)
        rc = dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &half, NULL, &w, &err);
    if (rc == 0 && (rc = dp_tensor_write(x, values, &err)) == 0)
        rc = dp_tensor_write(w, values, &err);
    if (rc == 0)
        rc = dp_tensor_set_requires_grad(ctx, x, true);
    if (rc == 0)
        rc = try_call("t::square", &(dp_value){DP_TAG_TENSOR, 0, {.t = x}}, 1, &base);
    if (rc == 0)
        rc = try_call("t::half", &(dp_value){DP_TAG_TENSOR, 0, {.t = base}}, 1, &h);
    if (rc == 0)
        rc = try_call2("aten::mul_.Tensor", h, w, &same); /* CopySlices */
    if (rc == 0)
        rc = try_call2("aten::mul.Tensor", h, w, &y); /* new history of the view */
    if (rc == 0)
        rc = try_backward(y, w, 0);
    if (rc == 0)
        has_grad(x, FLOATS(0, 2 * 2 * 1, 0, 2 * 4 * 8));
    DROP(x, w, base, h, same, y);
    return rc;
}

START_TEST(no_allocation_leaks)
{
    ck_assert_uint_gt(each_allocation(write_through_views), 20);
}
END_TEST

START_TEST(a_reshaped_view_has_history_of_its_own)
{
    dp_tensor *x = leaf(FLOATS(1, 2, 3, 4)), *base = call1("aten::clone", x);
    dp_tensor *view = call1("t::half", base), *same = call1("t::reshaped_", view);
    dp_tensor *ones = floats(FLOATS(1, 1));

    ck_assert_ptr_eq(same, view);
    dp_tensor_unref(same);
    ck_assert_str_eq(dp_tensor_grad_fn(view), "t::reshaped_");
    ck_assert_str_eq(dp_tensor_grad_fn(base), "aten::clone");
    ck_assert_int_eq(try_backward(view, ones, 0), 0);
    has_grad(x, FLOATS(0, 1, 0, 1));
    DROP(x, base, view, ones);
}
END_TEST

UNIT_SUITE(autograd_view)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, a_base_written_through_a_view_knows_the_view);
    tcase_add_test(tc, a_base_without_history_gets_one);
    tcase_add_test(tc, a_view_of_a_written_base_has_new_history);
    tcase_add_test(tc, another_view_of_a_written_view);
    tcase_add_test(tc, elements_that_a_view_repeats_are_summed);
    tcase_add_test(tc, the_history_of_a_view_by_that_of_its_base);
    tcase_add_test(tc, views_that_are_not_written);
    tcase_add_test(tc, a_copy_of_a_geometry);
    tcase_add_test(tc, no_allocation_leaks);
    tcase_add_test(tc, a_reshaped_view_has_history_of_its_own);
}
