/* test_symbol.c -- captures for any size: the fakes' layout, and sizes that cannot be dynamic.
 * tests/integration/programs/test_symbols.py captures programs. */
#include "../program/programs.h"
#include "autograd/symbol.h"

START_TEST(a_fake_is_dense_and_ordered_as_the_input)
{
    static const int64_t sizes[3] = {2, 3, 4}, strides[3] = {12, 1, 3};
    const dp_input_place places[2] = {{0, -1, 0}, {0, -1, 2}};
    const int64_t given[2] = {7, 5};
    const dpi_dynamic d = {places, given, 2};
    int64_t n[DP_DIM_MAX], s[DP_DIM_MAX];
    dp_error err = DP_ERROR_INIT;
    dp_tensor *t = NULL;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 3, sizes, strides, &t, &err), 0);
    ck_assert(dpi_dynamic_layout(&d, t, (dp_input_place){0, -1, 0}, n, s));
    ck_assert_mem_eq(n, ((int64_t[]){7, 3, 5}), 3 * sizeof(*n));
    ck_assert_mem_eq(s, ((int64_t[]){15, 1, 3}), 3 * sizeof(*s));
    ck_assert(!dpi_dynamic_layout(&d, t, (dp_input_place){1, -1, 0}, n, s));
    dp_tensor_unref(t);
}
END_TEST

START_TEST(sizes_that_cannot_be_dynamic)
{
    static const int64_t two = 2;
    const dp_capture_options fakes = {.size = sizeof(fakes), .fakes = true}, reals = {0};
    const dp_input_place twice[2] = {{0, -1, 0}, {0, -1, 0}}, other = {1, -1, 0},
                         outside = {0, -1, 1}, many[DP_LIMIT_PROGRAM_SYMBOLS + 1] = {{0}};
    dp_program *p = read_program("in x Tensor; in n int; a = t::fresh(x); out y a\n"), *q = NULL;
    dp_error err = DP_ERROR_INIT;
    dp_tensor *wide = NULL;
    dp_value in[2] = {dp_tensor_value(x), dp_int(1)};

    ck_assert_int_eq(
        dp_tensor_new_storage(DP_FLOAT32, DP_DEVICE_CPU, 4, 1, &two, &two, 0, &wide, &err), 0);
    expect(dp_program_capture_dynamic(ctx, p, in, &reals, twice, 1, &q), DP_EVALUE, "over fakes");
    expect(dp_program_capture_dynamic(ctx, p, in, &fakes, twice, 2, &q), DP_EVALUE,
           "dimension 0 of input 'x' is named twice");
    expect(dp_program_capture_dynamic(ctx, p, in, &fakes, &other, 1, &q), DP_EVALUE,
           "input 'n' has dynamic sizes, but is no tensor");
    expect(dp_program_capture_dynamic(ctx, p, in, &fakes, &outside, 1, &q), DP_EVALUE,
           "dimension 1 of input 'x' is to be dynamic, but it has 1 dimensions");
    expect(dp_program_capture_dynamic(ctx, p, in, &fakes, many, DP_LIMIT_PROGRAM_SYMBOLS + 1, &q),
           DP_ERESOURCE, "program_symbols");
    in[0] = dp_tensor_value(wide);
    expect(dp_program_capture_dynamic(ctx, p, in, &fakes, twice, 1, &q), DP_EVALUE,
           "its stride in dimension 0 is 2 instead of 1");
    dp_tensor_unref(wide);
    dp_program_unref(p);
}
END_TEST

UNIT_SUITE(symbol)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_fake_is_dense_and_ordered_as_the_input);
    tcase_add_test(tc, sizes_that_cannot_be_dynamic);
}
