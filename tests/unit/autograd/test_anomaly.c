/* test_anomaly.c -- DP_BACKWARD_CHECK_NAN: the first step whose gradient is not finite. */
#include "graphs.h"
#include <float.h>
#include <math.h>

static int finite_kernel(dp_call *call)
{
    const dp_tensor *t = call->args[0].u.t;
    dp_tensor *out;
    int rc = dp_empty_like(call->ctx, t, DP_BOOL, DP_CONTIGUOUS, &out);

    if (rc < 0)
        return rc;
    dp_view v = view_of_tensor(t), o = view_of_tensor(out);
    for (int64_t i = 0; i < v.numel; i++)
        ((bool *)o.data)[i] = isfinite(*element(&v, i));
    return give(call, 0, out);
}
static int all_kernel(dp_call *call)
{
    dp_tensor *out;
    int rc = dp_empty(call->ctx, DP_BOOL, DP_DEVICE_CPU, 0, NULL, DP_CONTIGUOUS, &out);

    if (rc < 0)
        return rc;
    dp_view v = view_of_tensor(call->args[0].u.t), o = view_of_tensor(out);
    *(bool *)o.data = true;
    for (int64_t i = 0; i < v.numel; i++)
        *(bool *)o.data &= ((const bool *)v.data)[i];
    return give(call, 0, out);
}
static int item_kernel(dp_call *call)
{
    dp_view v = view_of_tensor(call->args[0].u.t);

    call->rets[0] = dp_bool(*(const bool *)v.data);
    return 0;
}
static const dp_item check_defs[] = {
    REC_DEF("isfinite(Tensor self) -> Tensor"),
    REC_DEF("all(Tensor self) -> Tensor"),
    REC_DEF("item(Tensor self) -> Scalar"),
};
static const dp_item check_kernels[] = {
    REC_IMPL("isfinite", finite_kernel),
    REC_IMPL("all", all_kernel),
    REC_IMPL("item", item_kernel),
};
static const dp_block check_blocks[] = {
    REC_BLOCK(DP_BLOCK_FRAGMENT, 1, "aten", "", check_defs),
    REC_BLOCK(DP_BLOCK_IMPL, 2, "aten", "CPU", check_kernels),
};

static void checks_setup(void)
{
    graphs_setup();
    rec_attach(reg, "checks", check_blocks, DPI_COUNT(check_blocks));
}

START_TEST(the_first_step_is_named)
{
    dp_tensor *x = leaf(FLOATS(1, INFINITY, 2)), *y = call1("t::square", x);
    dp_tensor *s = call1("aten::sum", y);

    refused(try_backward(s, NULL, DP_BACKWARD_CHECK_NAN | DP_BACKWARD_RETAIN), DP_ERUNTIME,
            "t::square returned a gradient of its argument 'self' that is not finite, at [1]");
    ck_assert_ptr_null(dp_tensor_grad(x));
    backward(s);
    DROP(x, y, s);
}
END_TEST

START_TEST(what_was_not_finite_before_is_no_failure)
{
    dp_tensor *x = leaf(FLOATS(1, 2)), *y = call1("t::square", x), *z = call1("t::square", y);
    dp_tensor *nan = floats(FLOATS(NAN, 1)), *empty = leaf(0, NULL), *of_empty, *none;

    ck_assert_int_eq(try_backward(z, nan, DP_BACKWARD_CHECK_NAN), 0);
    of_empty = call1("t::square", empty);
    none = floats(0, NULL);
    ck_assert_int_eq(try_backward(of_empty, none, DP_BACKWARD_CHECK_NAN), 0);
    DROP(x, y, z, nan, empty, of_empty, none);
}
END_TEST

START_TEST(a_sum_that_overflows)
{
    dp_tensor *x = leaf(FLOATS(1)), *big = floats(FLOATS(FLT_MAX));
    dp_tensor *a = call2("aten::mul.Tensor", x, big), *b = call2("aten::mul.Tensor", x, big);
    dp_tensor *y = call2("aten::add.Tensor", a, b);

    refused(try_backward(y, NULL, DP_BACKWARD_CHECK_NAN | DP_BACKWARD_RETAIN), DP_ERUNTIME, "sum");
    ck_assert_ptr_null(dp_tensor_grad(x));
    DROP(x, big, a, b, y);
}
END_TEST

static dp_tensor *of_x;

static int checked_backward(void)
{
    dp_tensor *y = NULL, *z = NULL;
    int rc = try_call("t::square", (dp_value[]){dp_tensor_value(of_x)}, 1, &y);

    if (rc == 0)
        rc = try_call2("aten::mul.Tensor", y, of_x, &z);
    if (rc == 0)
        rc = try_backward(z, NULL, DP_BACKWARD_CHECK_NAN);
    if (rc == 0)
        has_grad(of_x, FLOATS(27));
    DROP(y, z);
    ck_assert_int_eq(dp_tensor_set_grad(ctx, of_x, NULL), 0);
    return rc;
}

START_TEST(each_allocation_fails_once)
{
    of_x = leaf(FLOATS(3));
    ck_assert_uint_gt(each_allocation(checked_backward), 15);
    dp_tensor_unref(of_x);
}
END_TEST

UNIT_SUITE(autograd_anomaly)
{
    tcase_add_checked_fixture(tc, checks_setup, graphs_teardown);
    tcase_add_test(tc, the_first_step_is_named);
    tcase_add_test(tc, what_was_not_finite_before_is_no_failure);
    tcase_add_test(tc, a_sum_that_overflows);
    tcase_add_test(tc, each_allocation_fails_once);
}
