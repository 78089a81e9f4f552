/* test_write_back.c -- inputs that are written, and the outputs that are views of them. */
#include "passes_fixture.h"

/* Programs, and the number of inputs that are written back. */
static const struct {
    const char *text;
    uint32_t n;
} cases[] = {
    {"in x Tensor\nin y Tensor\nt = aten::clone(x)\na = aten::copy_(x, y)\nb = aten::copy_(y, "
     "t)\nout a a",
     2},
    {"in x Tensor\nin y Tensor\na = aten::copy_(y, x)\nb = aten::mul_(x, 2)\nout y y", 2},
    {"in x Tensor\na = aten::t(x)\nb = aten::mul_(x, 2)\nout a a\nout b b\nout x x\nout a2 a", 1},
    {"in l Tensor[]\na = l[0]\nb = l[2]\nu = aten::mul_(a, 2)\nw = aten::add_(b, a)\nout b b\nout "
     "u u",
     2},
    {"in x Tensor\nr = aten::reshape(x, [12])\nout r r\nout x x", 0},
    {"in x Tensor\nw = aten::mul_(x, 2)\nr = aten::view_as(x, x)\nc = aten::contiguous(r)\nout c c",
     1},
};

START_TEST(inputs_get_their_values_at_the_end)
{
    for (size_t i = 0; i < DPI_COUNT(cases); i++) {
        dp_program *p = read_program(cases[i].text), *q = pass(dp_program_ref(p), "functionalize");
        ck_assert_msg(count(q, "aten::copy_") == cases[i].n, "%s", text_of(q));
        check_same(p, q);
        for (uint32_t k = 0; k < p->n_inputs; k++)
            ck_assert_int_eq(dp_program_input_written(p, k), dp_program_input_written(q, k));
        outcome a, b;
        run_program(p, 0, &a);
        run_program(q, 0, &b);
        for (uint32_t k = 0; k < p->n_outputs; k++)
            if (b.outputs[k].u.t == b.inputs[0].u.t)
                ck_assert_msg(a.written[k] == b.written[k], "output %u\n%s", k, text_of(q));
        release(p, &a);
        release(q, &b);
        dp_program_unref(p);
        dp_program_unref(q);
    }
}
END_TEST

/* A write-back that fails names the step that wrote: here the input is expanded. */
START_TEST(an_expanded_input_is_an_error)
{
    dp_program *p = read_program("in x Tensor\nz = aten::neg(x)\nw = aten::mul_(x, 2)\nout z z");
    dp_program *q = pass(p, "functionalize");
    int64_t sizes[] = {4, 3}, strides[] = {0, 1};
    dp_tensor *t = tensor_of(0), *wide = NULL;
    ck_assert_int_eq(dp_as_strided(ctx, t, 2, sizes, strides, 0, &wide), 0);
    dp_value in = dp_tensor_value(wide), out = {0};
    dp_run run = {.size = sizeof(run), .inputs = &in, .outputs = &out};

    ck_assert_int_lt(dp_program_run(ctx, q, &run), 0);
    ck_assert_msg(strncmp(dp_ctx_error(ctx)->message, "line 3: ", 8) == 0, "%s",
                  dp_ctx_error(ctx)->message);
    dp_tensor_unref(wide);
    dp_tensor_unref(t);
    dp_program_unref(q);
}
END_TEST

UNIT_SUITE(write_back)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, inputs_get_their_values_at_the_end);
    tcase_add_test(tc, an_expanded_input_is_an_error);
}
