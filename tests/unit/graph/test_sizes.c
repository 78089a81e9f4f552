/* test_sizes.c -- the memory of the values of a program. */
#include "gradients_fixture.h"

START_TEST(values_are_measured_by_a_run_over_fakes)
{
    dp_program *p = read_program("in x Tensor\nin n int\nh = aten::exp(x)\nv = aten::t(h)\n"
                                 "u = aten::t(x)\ns = aten::split(h, 1)\nk = get ndim(h)\nout v v");
    dp_tensor *x = square(1), *fake;
    dpi_value_size sizes[8];

    ck_assert_uint_eq(p->n_values, 7);
    ck_assert_int_eq(dp_fake(ctx, x, &fake), 0);
    const dp_value inputs[2] = {dp_tensor_value(fake), dp_int(1)};
    ck_assert_msg(dpi_value_sizes(ctx, p, inputs, sizes) == 0, "%s", dp_ctx_error(ctx)->message);
    for (int i = 0; i < 7; i++)
        ck_assert_uint_eq(sizes[i].bytes, i == 1 || i == 6 ? 0 : 9 * sizeof(double));
    ck_assert_uint_eq(sizes[2].storage, sizes[3].storage); /* h and its view */
    ck_assert(sizes[0].of_input && sizes[1].of_input && sizes[4].of_input && sizes[6].of_input);
    ck_assert(!sizes[2].of_input && !sizes[3].of_input && !sizes[5].of_input);
    dp_tensor_unref(fake);
    dp_tensor_unref(x);
    dp_program_unref(p);
}
END_TEST

UNIT_SUITE(value_sizes)
{
    tcase_add_checked_fixture(tc, setup_gradients, teardown_gradients);
    tcase_add_test(tc, values_are_measured_by_a_run_over_fakes);
}
