/* test_joint.c -- the joint program of a program, and its derivative in a direction. */
#include "gradients_fixture.h"

START_TEST(a_joint_program_computes_outputs_and_gradients)
{
    dp_program *p = read_program(two_inputs);
    dp_tensor *x = square(-0.5), *w = square(0.25), *one = NULL, *de = square(1), *wants[2], *l;
    const dp_value inputs[2] = {dp_tensor_value(x), dp_tensor_value(w)};
    const uint32_t wrt[2] = {1, 0};
    const dp_grad_options o = {.size = sizeof(o), .wrt = wrt, .n_wrt = 2};
    dp_value eager[2], outs[4];
    dpi_joint j;

    ck_assert_msg(dpi_joint_make(ctx, p, inputs, &o, &j) == 0, "%s", dp_ctx_error(ctx)->message);
    ck_assert_str_eq(dp_program_input_name(j.p, 2), "grad_l");
    ck_assert_str_eq(dp_program_input_name(j.p, 3), "grad_e");
    ck_assert_str_eq(dp_program_output_name(j.p, 2), "grad_w");
    ck_assert_str_eq(dp_program_output_name(j.p, 3), "grad_x");
    ck_assert_int_eq(dp_tensor_set_requires_grad(ctx, x, true), 0);
    ck_assert_int_eq(dp_tensor_set_requires_grad(ctx, w, true), 0);
    dp_run run = {.size = sizeof(run), .inputs = inputs, .outputs = eager, .step = -1};
    ck_assert_int_eq(dp_program_run(ctx, p, &run), 0);
    l = eager[0].u.t;
    ck_assert_int_eq(dp_invoke(ctx, "aten::ones_like", "T>T", l, &one), 0);
    dp_tensor *roots[2] = {l, eager[1].u.t}, *seeds[2] = {one, de}, *of[2] = {w, x};
    ck_assert_int_eq(dp_gradients(ctx, roots, seeds, 2, of, 2, 0, wants), 0);
    const dp_value all[4] = {inputs[0], inputs[1], dp_tensor_value(one), dp_tensor_value(de)};
    run_plain(j.p, all, outs);
    for (int i = 0; i < 2; i++) {
        ck_assert(same_elements(outs[i].u.t, eager[i].u.t));
        ck_assert(same_elements(outs[2 + i].u.t, wants[i]));
        dp_tensor_unref(wants[i]);
    }
    dp_values_release(outs, 4);
    dp_values_release(eager, 2);
    dpi_joint_drop(&j);
    dp_tensor_unref(one);
    dp_tensor_unref(de);
    dp_tensor_unref(x);
    dp_tensor_unref(w);
    dp_program_unref(p);
}
END_TEST

START_TEST(what_has_no_gradient_is_told)
{
    dp_program *p = read_program("in x Tensor\nin n int\ny = aten::mul(x, n)\nz = aten::ne(x, x)\n"
                                 "out z z");
    dp_tensor *x = square(1);
    const dp_value inputs[2] = {dp_tensor_value(x), dp_int(2)};
    uint32_t wrt[2] = {0, 0};
    dp_grad_options o = {.size = sizeof(o), .wrt = wrt, .n_wrt = 1};
    dp_grad_programs made = {.size = sizeof(made)};

    ck_assert_int_eq(dp_program_grad(ctx, p, inputs, &o, &made), DP_ERUNTIME);
    ck_assert_ptr_nonnull(strstr(dp_ctx_error(ctx)->message, "no output of the program depends"));
    o.n_wrt = 2;
    ck_assert_int_eq(dp_program_grad(ctx, p, inputs, &o, &made), DP_EVALUE);
    ck_assert_ptr_nonnull(strstr(dp_ctx_error(ctx)->message, "input 'x' is named twice"));
    o.n_wrt = 1;
    wrt[0] = 1;
    ck_assert_int_eq(dp_program_grad(ctx, p, inputs, &o, &made), DP_ETYPE);
    ck_assert_ptr_nonnull(strstr(dp_ctx_error(ctx)->message, "input 'n' is a int, not a tensor"));
    wrt[0] = 2;
    ck_assert_int_eq(dp_program_grad(ctx, p, inputs, &o, &made), DP_EVALUE);
    o.n_wrt = 0;
    ck_assert_int_eq(dp_program_grad(ctx, p, inputs, &o, &made), DP_EVALUE);
    ck_assert_ptr_null(made.joint);
    dp_tensor_unref(x);
    dp_program_unref(p);
}
END_TEST

START_TEST(a_derivative_in_a_direction_is_that_of_the_formula)
{
    dp_program *p =
        read_program("in x Tensor\ny = aten::mul(x, x)\nz = aten::t(x)\nout y y\nout z z");
    dp_tensor *x = square(-1), *v = square(0.5), *want = NULL;
    const dp_value inputs[2] = {dp_tensor_value(x), dp_tensor_value(v)};
    const uint32_t wrt[1] = {0};
    dp_program *jvp = NULL;
    dp_value outs[4];

    ck_assert_msg(dp_program_jvp(ctx, p, inputs, wrt, 1, &jvp) == 0, "%s",
                  dp_ctx_error(ctx)->message);
    ck_assert_str_eq(dp_program_input_name(jvp, 1), "tangent_x");
    ck_assert_str_eq(dp_program_output_name(jvp, 2), "tangent_y");
    run_plain(jvp, inputs, outs);
    ck_assert_int_eq(dp_invoke(ctx, "aten::mul.Tensor", "TT>T", x, v, &want), 0);
    ck_assert_int_eq(dp_invoke(ctx, "aten::mul_.Scalar", "Ts>", want, dp_int(2)), 0);
    ck_assert(same_elements(outs[2].u.t, want)); /* 2 x v */
    want = dp_tensor_unref(want);
    ck_assert_int_eq(dp_invoke(ctx, "aten::t", "T>T", v, &want), 0);
    ck_assert(same_elements(outs[3].u.t, want));
    dp_values_release(outs, 4);
    dp_tensor_unref(want);
    dp_tensor_unref(x);
    dp_tensor_unref(v);
    dp_program_unref(jvp);
    dp_program_unref(p);
}
END_TEST

START_TEST(each_allocation_may_fail)
{
    dp_program *p = read_program(two_inputs);
    dp_tensor *x = square(1), *w = square(2);
    const dp_value inputs[2] = {dp_tensor_value(x), dp_tensor_value(w)};
    const uint32_t wrt[1] = {1};
    const dp_grad_options o = {
        .size = sizeof(o), .partition = DP_PARTITION_MIN_CUT, .wrt = wrt, .n_wrt = 1};
    dp_grad_programs made = {.size = sizeof(made)};
    dp_program *jvp = NULL;
    int rc = -1;

    for (uint64_t n = 1; rc < 0; n++) {
        dp_fault_arm(n);
        rc = dp_program_grad(ctx, p, inputs, &o, &made);
        ck_assert_msg(rc == 0 || rc == DP_ERESOURCE, "allocation %d: %s", (int)n,
                      dp_ctx_error(ctx)->message);
        if (!dp_fault_hit())
            ck_assert_int_eq(rc, 0);
        dp_fault_arm(0);
        ck_assert_int_lt((int)n, 5000);
        dp_arena_reset(dp_ctx_arena(ctx));
    }
    rc = -1;
    for (uint64_t n = 1; rc < 0; n++) {
        dp_fault_arm(n);
        rc = dp_program_jvp(ctx, p, inputs, wrt, 1, &jvp);
        ck_assert(rc == 0 || rc == DP_ERESOURCE);
        dp_fault_arm(0);
        dp_arena_reset(dp_ctx_arena(ctx));
    }
    dp_program_unref(jvp);
    dp_program_unref(made.joint);
    dp_program_unref(made.forward);
    dp_program_unref(made.backward);
    dp_tensor_unref(x);
    dp_tensor_unref(w);
    dp_program_unref(p);
}
END_TEST

UNIT_SUITE(joint)
{
    tcase_add_checked_fixture(tc, setup_gradients, teardown_gradients);
    tcase_add_test(tc, a_joint_program_computes_outputs_and_gradients);
    tcase_add_test(tc, what_has_no_gradient_is_told);
    tcase_add_test(tc, a_derivative_in_a_direction_is_that_of_the_formula);
    tcase_add_test(tc, each_allocation_may_fail);
}
