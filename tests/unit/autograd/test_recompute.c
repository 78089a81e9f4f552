/* test_recompute.c -- programs that backward runs again. */
#include "checkpoints.h"

/* c = count(k), which requires no gradient; y = (x * c)^2 */
#define COUNTED                                                                                    \
    "in x Tensor\nin k Tensor\nc = t::count(k)\nm = aten::mul.Tensor(x, c)\ny = t::square(m)\n"    \
    "out y y\n"

START_TEST(runs_once_for_each_backward)
{
    dp_program *p = steps_of(program(COUNTED), 1, DP_STEP_FLAG_RECOMPUTE);
    dp_tensor *x = leaf(FLOATS(2, 3)), *k = floats(FLOATS(5, 7)), *y = run2(p, x, k);
    dp_tensor *s = call1("aten::sum", y);

    ck_assert_int_eq(runs, 1);
    ck_assert_int_eq(try_backward(s, NULL, DP_BACKWARD_RETAIN), 0);
    ck_assert_int_eq(runs, 2);
    has_grad(x, FLOATS(2 * 25 * 2, 2 * 49 * 3));
    backward(s);
    ck_assert_int_eq(runs, 3);
    has_grad(x, FLOATS(4 * 25 * 2, 4 * 49 * 3));
    refused(try_backward(s, NULL, 0), DP_ERUNTIME, "a second time");
    ck_assert_int_eq(runs, 3);
    DROP(x, k, y, s);
    dp_program_unref(p);
}
END_TEST

static dp_program *nested_programs;
static dp_tensor *of_x;

static int forward_and_backward(void)
{
    dp_tensor *k = NULL, *y = NULL, *s = NULL;
    dp_error err = DP_ERROR_INIT;
    int64_t n = 1;
    const float two = 2;
    int rc = dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &n, NULL, &k, &err);

    if (rc == 0)
        rc = dp_tensor_write(k, &two, &err);
    if (rc == 0) {
        const dp_value inputs[2] = {dp_tensor_value(of_x), dp_tensor_value(k)};
        rc = try_run(nested_programs, inputs, &y);
    }
    if (rc == 0)
        rc = try_call("aten::sum", (dp_value[]){dp_tensor_value(y)}, 1, &s);
    if (rc == 0)
        rc = try_backward(s, NULL, 0);
    dp_tensor *grad = dp_tensor_grad(of_x);
    unit_each((grad != NULL) == (rc == 0), "%d: gradient %p", rc, (void *)grad);
    if (grad != NULL) /* y = 16^2 * 16^2 ... of x = 3: ((3 * 2)^2 * 2)^2 = 4 * 36^2 */
        is_floats(grad, FLOATS(4 * 2 * 36 * 12 * 2));
    DROP(k, y, s, grad);
    ck_assert_int_eq(dp_tensor_set_grad(ctx, of_x, NULL), 0);
    return rc;
}

START_TEST(each_allocation_fails_once)
{
    dp_program *inner = steps_of(program(COUNTED), 2, DP_STEP_FLAG_RECOMPUTE);

    nested_programs = steps_of(inner, 1, DP_STEP_FLAG_RECOMPUTE);
    of_x = leaf(FLOATS(3));
    ck_assert_uint_gt(each_allocation(forward_and_backward), 60);
    dp_tensor_unref(of_x);
    dp_program_unref(nested_programs);
}
END_TEST

START_TEST(inner_programs_run_again_when_they_are_needed)
{
    dp_program *inner = steps_of(program(COUNTED), 2, DP_STEP_FLAG_RECOMPUTE);
    dp_program *p = steps_of(inner, 1, DP_STEP_FLAG_RECOMPUTE);
    dp_tensor *x = leaf(FLOATS(3)), *k = floats(FLOATS(2)), *y = run2(p, x, k);

    ck_assert_int_eq(runs, 2);
    backward(y);
    ck_assert_int_eq(runs, 2 + 2 + 2); /* the outer program, then each of the inner ones */
    has_grad(x, FLOATS(4 * 2 * 36 * 12 * 2));
    DROP(x, k, y);
    dp_program_unref(p);
}
END_TEST

/* Two outputs: the one is not differentiated. */
START_TEST(what_is_not_needed_is_released)
{
    dp_program *p = steps_of(program("in x Tensor\na = t::square(x)\nb = t::square(a)\n"
                                     "c = t::square(a)\nout a a\nout b b\nout c c\n"),
                             1, DP_STEP_FLAG_RECOMPUTE);
    dp_tensor *x = leaf(FLOATS(2)), *seen[3];
    dp_value outputs[3] = {{0}}, input = dp_tensor_value(x);
    dp_run run = {.size = sizeof(run), .inputs = &input, .outputs = outputs};

    ck_assert_int_eq(dp_program_run(ctx, p, &run), 0);
    for (int i = 0; i < 3; i++)
        seen[i] = outputs[i].u.t;
    dp_tensor_stats before = alive();
    backward(seen[1]);
    has_grad(x, FLOATS(4 * 8));
    ck_assert_uint_eq(alive().tensors, before.tensors + 1);        /* x's gradient */
    ck_assert_int_eq(try_backward(seen[2], NULL, 0), DP_ERUNTIME); /* a's node has been released */
    DROP(x, seen[0], seen[1], seen[2]);
    dp_program_unref(p);
}
END_TEST

START_TEST(a_graph_that_is_dropped)
{
    dp_program *p = steps_of(program(COUNTED), 3, DP_STEP_FLAG_RECOMPUTE);
    dp_tensor *x = leaf(FLOATS(2)), *k = floats(FLOATS(1)), *y = run2(p, x, k);

    dp_program_unref(p); /* the checkpoints keep it */
    ck_assert_uint_gt(dp_grad_nodes(), 0);
    dp_tensor_unref(y);
    ck_assert_uint_eq(dp_grad_nodes(), 0);
    ck_assert_int_eq(runs, 3);
    DROP(x, k);
}
END_TEST

START_TEST(written_inputs_run_again_from_copies)
{
    dp_program *p =
        steps_of(program("in x Tensor\nin w Tensor\na = t::square(x)\n"
                         "b = aten::add_.Tensor(w, a)\ny = aten::mul.Tensor(x, b)\nout y y\n"),
                 1, DP_STEP_FLAG_RECOMPUTE);
    dp_tensor *x = leaf(FLOATS(3)), *w = floats(FLOATS(1)), *y = run2(p, x, w);

    is_floats(w, FLOATS(10));
    backward(y); /* y = x * (w + x^2) = x + x^3 */
    has_grad(x, FLOATS(1 + 3 * 9));
    is_floats(w, FLOATS(10));
    DROP(x, w, y);
    dp_program_unref(p);
}
END_TEST

UNIT_SUITE(autograd_recompute)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, runs_once_for_each_backward);
    tcase_add_test(tc, each_allocation_fails_once);
    tcase_add_test(tc, inner_programs_run_again_when_they_are_needed);
    tcase_add_test(tc, what_is_not_needed_is_released);
    tcase_add_test(tc, a_graph_that_is_dropped);
    tcase_add_test(tc, written_inputs_run_again_from_copies);
}
