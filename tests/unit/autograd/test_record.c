/* test_record.c -- what is recorded of a call, with which saved values, and what is refused. */
#include "graphs.h"

START_TEST(nothing_is_recorded_without_need)
{
    dp_tensor *x = floats(FLOATS(3)), *y = call1("t::square", x);
    dp_mode plain = {.size = sizeof(plain)}, no_grad = plain;

    ck_assert_uint_eq(dp_grad_nodes(), 0);
    ck_assert(dp_tensor_is_leaf(y) && !dp_tensor_requires_grad(y));
    ck_assert_int_eq(dp_tensor_set_requires_grad(ctx, x, true), 0);
    no_grad.no_grad = true;
    int depth = dp_guard_mode(ctx, &no_grad);
    dp_tensor *z = call1("t::square", x);
    dp_guard_leave(ctx, depth);
    ck_assert_uint_eq(dp_grad_nodes(), 0);
    ck_assert(!dp_tensor_requires_grad(z));
    DROP(x, y, z);
}
END_TEST

START_TEST(a_node_describes_its_call)
{
    dp_tensor *x = leaf(FLOATS(3, 4)), *w = floats(FLOATS(5)), *y, *z;
    dpi_edge e, f;

    y = call2("aten::mul.Tensor", w, x), z = call1("t::square", y);
    is_floats(y, FLOATS(15, 20));
    ck_assert_int_eq(dpi_edge_of(ctx, y, &e), 0);
    ck_assert_int_eq(dpi_edge_of(ctx, z, &f), 0);
    const dpi_node *n = e.to, *above = f.to;
    ck_assert_uint_eq(n->n_edges, 2);
    ck_assert_ptr_null(n->edges[0].to);
    ck_assert(n->edges[1].leaf && n->edges[1].to == x);
    ck_assert_uint_eq(n->n_rets, 1);
    ck_assert(n->rets[0].dtype == DP_FLOAT32 && n->rets[0].ndim == 1 && n->dims[0] == 2);
    ck_assert_ptr_eq(above->edges[0].to, n);
    ck_assert_uint_gt(above->topo, n->topo);
    ck_assert_uint_gt(above->created, n->created);
    ck_assert_uint_eq(n->n_slots, 2);
    ck_assert_int_eq(n->slots[0].kind, DPI_SLOT_TENSOR); /* self, for the gradient of x */
    ck_assert_int_eq(n->slots[1].kind, DPI_SLOT_NONE);   /* other: w needs no gradient */
    dpi_edge_unref(e);
    dpi_edge_unref(f);
    DROP(x, w, y, z);
}
END_TEST

START_TEST(saved_inputs_have_the_version_from_before_the_call)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = floats(FLOATS(5)), *y, *one = floats(FLOATS(1));

    y = call2("aten::mul.Tensor", x, w);
    write2("aten::add_.Tensor", w, one);
    refused(try_backward(y, NULL, 0), DP_ERUNTIME,
            "one of the variables needed for gradient computation has been modified by an inplace "
            "operation: [float32 [1]], which aten::mul.Tensor saved as 'other', is at version");
    ck_assert_ptr_null(dp_tensor_grad(x));
    DROP(x, w, y, one);
}
END_TEST

START_TEST(what_is_overwritten_and_needed_is_cloned)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = leaf(FLOATS(5)), *y;

    y = call1("aten::clone", x);
    write2("aten::mul_.Tensor", y, w);
    ck_assert_str_eq(dp_tensor_grad_fn(y), "aten::mul_.Tensor");
    backward(y);
    has_grad(x, FLOATS(5));
    has_grad(w, FLOATS(3)); /* y as it was */
    DROP(x, w, y);
}
END_TEST

START_TEST(a_tensor_that_is_its_own_factor)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("aten::clone", x);

    write2("aten::mul_.Tensor", y, y); /* the second argument is saved, and written */
    refused(try_backward(y, NULL, 0), DP_ERUNTIME, "aten::mul_.Tensor saved as 'other'");
    DROP(x, y);
}
END_TEST

START_TEST(leaves_are_not_written)
{
    dp_tensor *x = leaf(FLOATS(1, 2, 3, 4)), *w = floats(FLOATS(5)), *same, *h;
    dp_mode plain = {.size = sizeof(plain)}, no_grad = plain;

    refused(try_call2("aten::mul_.Tensor", x, w, &same), DP_ERUNTIME,
            "aten::mul_.Tensor: a leaf Variable that requires grad is being used in an in-place");
    h = call1("t::half", x);
    refused(try_call2("aten::mul_.Tensor", h, w, &same), DP_ERUNTIME,
            "a view of a leaf Variable that requires grad is being used in an in-place");
    is_floats(x, FLOATS(1, 2, 3, 4));
    no_grad.no_grad = true; /* as an optimizer does */
    int depth = dp_guard_mode(ctx, &no_grad);
    write2("aten::mul_.Tensor", x, w);
    dp_guard_leave(ctx, depth);
    is_floats(x, FLOATS(5, 10, 15, 20));
    ck_assert(dpi_is_grad_leaf(x));
    DROP(x, w, h);
}
END_TEST

START_TEST(a_tensor_that_is_written_joins_the_graph)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = floats(FLOATS(5));

    write2("aten::mul_.Tensor", w, x);
    ck_assert(!dp_tensor_is_leaf(w) && dp_tensor_requires_grad(w));
    backward(w);
    has_grad(x, FLOATS(5));
    DROP(x, w);
}
END_TEST

START_TEST(out_is_not_differentiable)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = floats(FLOATS(5)), *out = floats(FLOATS(0)), *same;
    const dp_value args[3] = {dp_tensor_value(x), dp_tensor_value(w), dp_tensor_value(out)};

    refused(try_call("aten::add.out", args, 3, &same), DP_ERUNTIME,
            "aten::add.out: functions with out=... arguments don't support automatic");
    is_floats(out, FLOATS(0));
    const dp_value plain[3] = {dp_tensor_value(w), dp_tensor_value(w), dp_tensor_value(out)};
    ck_assert_int_eq(try_call("aten::add.out", plain, 3, &same), 0);
    is_floats(out, FLOATS(10));
    DROP(x, w, out, same);
}
END_TEST

START_TEST(some_returns_are_not_differentiable)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = floats(FLOATS(5));
    const dp_value args[2] = {dp_tensor_value(x), dp_tensor_value(w)};
    dp_value rets[2];

    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "t::product_only"), args, 2, rets, 2), 0);
    ck_assert(dp_tensor_requires_grad(rets[0].u.t));
    ck_assert(!dp_tensor_requires_grad(rets[1].u.t));
    dp_values_release(rets, 2);
    DROP(x, w);
}
END_TEST

START_TEST(each_item_of_a_list_is_a_return)
{
    dp_tensor *x = leaf(FLOATS(3)), *one = floats(FLOATS(1));
    dp_value arg = dp_tensor_value(x), ret;

    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "t::many"), &arg, 1, &ret, 1), 0);
    ck_assert_uint_eq(ret.len, 20);
    for (uint32_t i = 0; i < 20; i++) {
        dpi_edge e;
        ck_assert_int_eq(dpi_edge_of(ctx, ret.u.tensors[i], &e), 0);
        ck_assert_uint_eq(e.nr, i);
        dpi_edge_unref(e);
    }
    ck_assert_int_eq(try_backward(ret.u.tensors[19], one, DP_BACKWARD_RETAIN), 0);
    ck_assert_int_eq(try_backward(ret.u.tensors[2], one, 0), 0);
    has_grad(x, FLOATS(2)); /* the gradients of the others are zeros */
    dp_values_release(&ret, 1);
    DROP(x, one);
}
END_TEST

START_TEST(each_tensor_of_a_list_has_an_edge)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = leaf(FLOATS(4)), *list[2] = {x, w}, *y, *again;
    dp_value arg = dp_tensors(list, 2);

    ck_assert_int_eq(try_call("t::total", &arg, 1, &y), 0);
    backward(y);
    has_grad(x, FLOATS(1));
    has_grad(w, FLOATS(1));
    dp_tensor_unref(y);
    list[1] = x;
    ck_assert_int_eq(try_call("t::total", &arg, 1, &again), 0);
    backward(again);
    has_grad(x, FLOATS(3));
    DROP(x, w, again);
}
END_TEST

static int record_lists_and_clones(void)
{
    float three[1] = {3};
    int64_t n = 1;
    dp_error err = DP_ERROR_INIT;
    dp_tensor *x = NULL, *y = NULL, *z = NULL, *same = NULL, *list[2];
    int rc = dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &n, NULL, &x, &err);

    if (rc == 0)
        rc = dp_tensor_write(x, three, &err);
    if (rc == 0)
        rc = dp_tensor_set_requires_grad(ctx, x, true);
    if (rc == 0)
        rc = try_call("t::square", &(dp_value){DP_TAG_TENSOR, 0, {.t = x}}, 1, &y);
    if (rc == 0)
        rc = try_call2("aten::mul_.Tensor", y, x, &same);
    list[0] = x, list[1] = y;
    dp_value arg = dp_tensors(list, 2), many = {0};
    if (rc == 0)
        rc = try_call("t::total", &arg, 1, &z);
    if (rc == 0)
        rc = dp_call_boxed(ctx, dp_op_find(ctx, "t::many"), &(dp_value){DP_TAG_TENSOR, 0, {.t = z}},
                           1, &many, 1);
    dp_values_release(&many, 1);
    if (rc == 0)
        rc = try_backward(z, NULL, 0);
    if (rc == 0)
        has_grad(x, FLOATS(28));
    DROP(x, y, z, same);
    return rc;
}

START_TEST(calls_of_a_kernel_are_recorded_instead)
{
    dp_tensor *x = leaf(FLOATS(2)), *plain = floats(FLOATS(3)), *y = call1("t::cube", x);

    ck_assert_str_eq(dp_tensor_grad_fn(y), "aten::mul.Tensor");
    ck_assert_uint_eq(dp_grad_nodes(), 2);
    backward(y);
    has_grad(x, FLOATS(12));
    dp_tensor *z = call1("t::cube", plain);
    is_floats(z, FLOATS(27));
    ck_assert(!dp_tensor_requires_grad(z));
    DROP(x, y, z, plain);
}
END_TEST

START_TEST(no_allocation_leaks)
{
    ck_assert_uint_gt(each_allocation(record_lists_and_clones), 20);
}
END_TEST

UNIT_SUITE(autograd_record)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, nothing_is_recorded_without_need);
    tcase_add_test(tc, a_node_describes_its_call);
    tcase_add_test(tc, saved_inputs_have_the_version_from_before_the_call);
    tcase_add_test(tc, what_is_overwritten_and_needed_is_cloned);
    tcase_add_test(tc, a_tensor_that_is_its_own_factor);
    tcase_add_test(tc, leaves_are_not_written);
    tcase_add_test(tc, a_tensor_that_is_written_joins_the_graph);
    tcase_add_test(tc, out_is_not_differentiable);
    tcase_add_test(tc, some_returns_are_not_differentiable);
    tcase_add_test(tc, each_item_of_a_list_is_a_return);
    tcase_add_test(tc, each_tensor_of_a_list_has_an_edge);
    tcase_add_test(tc, calls_of_a_kernel_are_recorded_instead);
    tcase_add_test(tc, no_allocation_leaks);
}
