/* test_captured.c -- the program that is made of a capture. */
#include "captures.h"

START_TEST(keyword_arguments_and_numbers)
{
    dp_value args[3] = {dp_tensor_value(x), dp_double(3), dp_tensor_value(x)}, a;

    ck_assert_int_eq(start(x), 0);
    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "t::scaled"), args, 3, &a, 1), 0);
    gives(&a, "program(Tensor x) -> (y: %1)\n     0  %1 = t::scaled(x, 3, x)\n");
    dp_values_release(&a, 1);
}
END_TEST

START_TEST(the_overload_is_the_recorded_one)
{
    dp_value args[2] = {dp_tensor_value(x), dp_int(3)}, a;

    ck_assert_int_eq(start(x), 0);
    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "t::over.Scalar"), args, 2, &a, 1), 0);
    gives(&a, "program(Tensor x) -> (y: x)\n     0  %1 = t::over.Scalar(x, 3)  # ends: %1\n"
              "  output y is input x\n");
    dp_values_release(&a, 1);
}
END_TEST

START_TEST(the_capture_goes_on_afterwards)
{
    dp_program *p = NULL, *q = NULL;
    dp_value a;

    ck_assert_int_eq(start(x), 0);
    ck_assert_int_eq(dp_capture_finish(ctx, cap, &p), 0);
    ck_assert_int_eq(call_of("t::fresh", x, &a), 0);
    dp_ctx_set_capture(ctx, NULL);
    ck_assert_int_eq(dp_capture_finish(ctx, cap, &q), 0);
    ck_assert_uint_eq(p->n_steps, 0);
    ck_assert_uint_eq(q->n_steps, 1);
    dp_program_unref(p);
    dp_program_unref(q);
    dp_values_release(&a, 1);
}
END_TEST

START_TEST(an_operator_that_is_gone_is_an_error)
{
    static const dp_item gone_defs[] = {REC_DEF("gone(Tensor x, float by) -> Tensor")};
    static const dp_item gone_kernels[] = {REC_IMPL("gone", rec_kernel)};
    static const dp_block gone[] = {
        REC_BLOCK(DP_BLOCK_LIBRARY, 20, "gone", "", gone_defs),
        REC_BLOCK(DP_BLOCK_IMPL, 21, "gone", "CPU", gone_kernels),
    };
    dp_unit *u = rec_attach(reg, "gone", gone, 2);
    dp_value args[2] = {dp_tensor_value(x), dp_double(1)}, a;
    dp_program *p = NULL;

    dp_ctx_reset(ctx);
    ck_assert_int_eq(start(x), 0);
    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "gone::gone"), args, 2, &a, 1), 0);
    dp_values_release(&a, 1);
    dp_ctx_set_capture(ctx, NULL);
    dp_ctx_reset(ctx);
    rec_detach(reg, u);
    expect(dp_capture_finish(ctx, cap, &p), DP_ENOTFOUND, "step 0: gone::gone: no plugin defines");
}
END_TEST

UNIT_SUITE(captured)
{
    tcase_add_checked_fixture(tc, capture_setup, capture_teardown);
    tcase_add_test(tc, keyword_arguments_and_numbers);
    tcase_add_test(tc, the_overload_is_the_recorded_one);
    tcase_add_test(tc, the_capture_goes_on_afterwards);
    tcase_add_test(tc, an_operator_that_is_gone_is_an_error);
}
