/* test_gradcheck.c -- gradients compared with finite differences: what is found, and failures. */
#include "wide.h"

static dp_value args[2];

static int try_check(const char *op, dp_grad_check_report *out)
{
    const dp_grad_check_options o = {.size = sizeof(o),
                                     .op = dp_op_find(ctx, op),
                                     .args = args,
                                     .n_args = 2,
                                     .max_elements = 100};

    *out = (dp_grad_check_report){.size = sizeof(*out)};
    return o.op != NULL ? dp_grad_check(ctx, &o, out) : dp_ctx_error(ctx)->code;
}

static dp_tensor *x, *k;

static void tensors_setup(void)
{
    wide_setup();
    x = doubles(2, (double[]){3, -2}), k = doubles(2, (double[]){0.5, 7});
    ck_assert_int_eq(dp_tensor_set_requires_grad(ctx, x, true), 0);
    args[0] = dp_tensor_value(x), args[1] = dp_tensor_value(k);
}

static void tensors_teardown(void)
{
    DROP(x, k);
    graphs_teardown();
}

START_TEST(a_right_and_a_wrong_formula)
{
    dp_grad_check_report r;

    ck_assert_msg(try_check("t::times", &r) == 0, "%s", said());
    ck_assert(r.passes && r.called && r.finite);
    ck_assert_uint_eq(r.compared, 4);
    ck_assert_int_eq(try_check("t::mistaken", &r), 0);
    ck_assert(!r.passes);
    ck_assert_str_eq(r.input, "self");
    ck_assert_int_eq(r.input_at[0], 0);
    ck_assert_int_eq(r.output_at[0], 0);
    ck_assert_double_eq_tol(r.numerical[0], 0.5, 1e-6);
    ck_assert_double_eq(r.analytical[0], 1);
    ck_assert_ptr_null(dp_tensor_grad(x));
}
END_TEST

static int check_once(void)
{
    dp_grad_check_report r;
    int rc = try_check("t::times", &r);

    unit_each(rc < 0 || r.passes, "it does not pass");
    return rc;
}

START_TEST(each_allocation_fails_once)
{
    ck_assert_uint_gt(each_allocation(check_once), 20);
    ck_assert_ptr_null(dp_tensor_grad(x));
}
END_TEST

UNIT_SUITE(autograd_gradcheck)
{
    tcase_add_checked_fixture(tc, tensors_setup, tensors_teardown);
    tcase_add_test(tc, a_right_and_a_wrong_formula);
    tcase_add_test(tc, each_allocation_fails_once);
}
