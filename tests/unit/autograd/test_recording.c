/* test_recording.c -- the numbers of calls that are recorded while a program with recompute
 * runs. */
#include "checkpoints.h"

START_TEST(calls_that_save_tensors_are_numbered)
{
    /* sum saves sizes only */
    dp_program *p = steps_of(program("in x Tensor\na = t::square(x)\nb = aten::sum(a)\n"
                                     "c = aten::mul.Tensor(b, b)\nout c c\n"),
                             1, DP_STEP_FLAG_RECOMPUTE);
    dp_tensor *x = leaf(FLOATS(1, 2)), *y = run2(p, x, NULL);
    dpi_node *mul = node_of(y), *sum = mul->edges[0].to, *square = sum->edges[0].to;

    ck_assert_uint_eq(mul->checkpoint_nr, 2);
    ck_assert(sum->checkpoint_nr == 0 && sum->checkpoint == NULL);
    ck_assert_uint_eq(square->checkpoint_nr, 1);
    ck_assert_ptr_eq(square->checkpoint, mul->checkpoint);
    ck_assert_uint_eq(mul->checkpoint->n_calls, 2);
    ck_assert_uint_eq(mul->checkpoint->min_topo, square->topo);
    ck_assert_ptr_null(square->slots[0].tensor.geometry);
    ck_assert_ptr_null(ctx->recording);
    DROP(x, y);
    dp_program_unref(p);
}
END_TEST

START_TEST(inner_programs_have_numbers_of_the_outer_one)
{
    dp_program *inner =
        steps_of(program("in x Tensor\na = t::square(x)\nout a a\n"), 2, DP_STEP_FLAG_RECOMPUTE);
    dp_program *p = steps_of(inner, 1, DP_STEP_FLAG_RECOMPUTE);
    dp_tensor *x = leaf(FLOATS(2)), *y = run2(p, x, NULL);
    dpi_node *second = node_of(y), *first = second->edges[0].to;

    ck_assert_ptr_ne(first->checkpoint, second->checkpoint);
    ck_assert_ptr_nonnull(first->checkpoint->outer);
    ck_assert_ptr_eq(first->checkpoint->outer, second->checkpoint->outer);
    ck_assert_uint_eq(first->checkpoint->outer_nr, 1);
    ck_assert_uint_eq(second->checkpoint->outer_nr, 2);
    ck_assert_ptr_null(first->checkpoint->inputs); /* the outer program makes them again */
    ck_assert_ptr_nonnull(first->checkpoint->outer->inputs);
    DROP(x, y);
    dp_program_unref(p);
}
END_TEST

START_TEST(nothing_to_record)
{
    dp_program *p =
        steps_of(program("in x Tensor\na = t::square(x)\nout a a\n"), 1, DP_STEP_FLAG_RECOMPUTE);
    dp_tensor *x = floats(FLOATS(2)), *y = run2(p, x, NULL);
    dp_mode off = *dp_ctx_mode(ctx);

    ck_assert_uint_eq(dp_grad_nodes(), 0);
    dp_tensor_unref(y);
    ck_assert_int_eq(dp_tensor_set_requires_grad(ctx, x, true), 0);
    off.no_grad = true;
    int depth = dp_guard_mode(ctx, &off);
    y = run2(p, x, NULL);
    dp_guard_leave(ctx, depth);
    ck_assert(!dp_tensor_requires_grad(y));
    DROP(x, y);
    dp_program_unref(p);
}
END_TEST

START_TEST(a_program_that_fails_leaves_nothing)
{
    dp_program *p = steps_of(program("in x Tensor\na = t::square(x)\nb = t::cancel(a)\n"
                                     "c = t::square(b)\nout c c\n"),
                             1, DP_STEP_FLAG_RECOMPUTE);
    dp_tensor *x = leaf(FLOATS(2)), *y;
    const dp_value input = dp_tensor_value(x);

    dp_ctx_set_cancel(ctx, &cancel);
    ck_assert_int_eq(try_run(p, &input, &y), DP_ECANCELLED);
    ck_assert_ptr_null(ctx->recording);
    ck_assert_uint_eq(dp_grad_nodes(), 0);
    dp_tensor_unref(x);
    dp_program_unref(p);
}
END_TEST

UNIT_SUITE(autograd_recording)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, calls_that_save_tensors_are_numbered);
    tcase_add_test(tc, inner_programs_have_numbers_of_the_outer_one);
    tcase_add_test(tc, nothing_to_record);
    tcase_add_test(tc, a_program_that_fails_leaves_nothing);
}
