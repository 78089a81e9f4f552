/* test_checked.c -- the function that dp_grad_check() checks: its copies and its outputs. */
#include "wide.h"
#include "autograd/gradcheck.h"

START_TEST(copies_of_the_arguments)
{
    dp_tensor *x = doubles(2, (double[]){3, -2}), *k = doubles(2, (double[]){0.5, 7});
    const dp_value args[2] = {dp_tensor_value(x), dp_tensor_value(k)};
    dp_grad_check_options o = {.size = sizeof(o),
                               .op = dp_op_find(ctx, "t::times"),
                               .args = args,
                               .n_args = 2,
                               .max_elements = 100};
    dpi_function f;

    ck_assert_int_eq(dp_ctx_begin(ctx), 0);
    ck_assert_msg(dpi_function_init(ctx, &o, &f) == 0, "%s", said());
    ck_assert(!f.any && f.n_checked == 2); /* none requires a gradient: both are checked */
    ck_assert_ptr_ne(f.checked[0].t, x);
    ck_assert_double_eq(f.checked[0].data[1], -2);
    ck_assert_uint_eq(dpi_function_elements(&f), 4);
    f.checked[0].data[1] = 5;
    ck_assert_int_eq(dpi_function_evaluate(&f), 0);
    ck_assert_uint_eq(f.n_outputs, 1);
    dp_view out = view_of_tensor(f.outputs[0].t), given = view_of_tensor(x);
    ck_assert_double_eq(((double *)out.data)[1], 35);
    ck_assert_double_eq(((double *)given.data)[1], -2);
    ck_assert_str_eq(dpi_function_input_name(&f, &f.checked[1]), "k");
    ck_assert_str_eq(dpi_function_output_name(&f, &f.outputs[0]), "result");
    dpi_function_fini(&f);

    ck_assert_int_eq(dp_tensor_set_requires_grad(ctx, k, true), 0);
    ck_assert_int_eq(dpi_function_init(ctx, &o, &f), 0);
    ck_assert(f.any && f.n_checked == 1 && f.checked[0].given == k);
    dpi_function_fini(&f);
    o.max_elements = 1;
    refused(dpi_function_init(ctx, &o, &f), DP_ERESOURCE, "check_elements");
    dpi_function_fini(&f);
    dp_ctx_end(ctx);
    DROP(x, k);
}
END_TEST

START_TEST(functions_that_cannot_be_checked)
{
    dp_tensor *x = floats(FLOATS(1));
    const dp_value args[2] = {dp_tensor_value(x), dp_tensor_value(x)}, number = dp_int(1);
    dp_grad_check_options o = {.size = sizeof(o), .args = args, .n_args = 2, .max_elements = 100};
    dpi_function f;

    ck_assert_int_eq(dp_ctx_begin(ctx), 0);
    o.op = dp_op_find(ctx, "aten::mul_.Tensor");
    refused(dpi_function_init(ctx, &o, &f), DP_ERUNTIME, "writes");
    dpi_function_fini(&f);
    o.op = dp_op_find(ctx, "t::square");
    o.args = &number, o.n_args = 1;
    refused(dpi_function_init(ctx, &o, &f), DP_ERUNTIME, "");
    dpi_function_fini(&f);
    dp_ctx_end(ctx);
    dp_tensor_unref(x);
}
END_TEST

UNIT_SUITE(autograd_checked)
{
    tcase_add_checked_fixture(tc, wide_setup, graphs_teardown);
    tcase_add_test(tc, copies_of_the_arguments);
    tcase_add_test(tc, functions_that_cannot_be_checked);
}
