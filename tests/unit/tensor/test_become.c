/* test_become.c -- tensors that are given another shape. */
#include "shapes.h"

START_TEST(shapes_of_one_tensor_are_limited)
{
    int64_t wide[] = {0, 2}, narrow[] = {0, 1};
    dp_tensor *t = make(2, wide), *in[] = {make(2, narrow), make(2, wide)};
    dp_error err = DP_ERROR_INIT;
    int n = 0;

    while (n < 1000 && give_shape(t, in[n % 2], &err) == DP_OK)
        n++;
    ck_assert_int_eq(n, DP_LIMIT_RESIZES);
    ck_assert_int_eq(err.code, DP_ERUNTIME);
    ck_assert_str_eq(err.message, "output with shape [0, 2] was given another one 64 times, which "
                                  "is the limit (DP_LIMIT_RESIZES)");
    ck_assert_int_eq(give_shape(t, in[1], &err), DP_OK); /* it has that shape */
    dp_tensor_unref(t);
    dp_tensor_unref(in[0]);
    dp_tensor_unref(in[1]);
    ck_assert_uint_eq(alive().tensors, 0);
}
END_TEST

START_TEST(all_outputs_change_or_none)
{
    int64_t none[] = {0}, sizes[] = {3, COLUMNS};
    dp_tensor *in = make(2, sizes), *outs[] = {make(1, none), make(1, none)};
    dp_tensor *ts[] = {outs[1], in}, *fresh[] = {make(2, sizes), make(2, sizes)};
    dp_error err = DP_ERROR_INIT;

    call_begins();
    in_another_thread(look_in_a_call_begun_before, ts);
    ck_assert_int_eq(dpi_tensors_become(2, outs, fresh, &err), DP_ERUNTIME);
    expect_shape(outs[0], 1, 0);
    call_ends();
    for (int i = 0; i < 2; i++) {
        dp_tensor_unref(outs[i]);
        dp_tensor_unref(fresh[i]);
    }
    dp_tensor_unref(in);
    ck_assert_uint_eq(alive().tensors, 0);
}
END_TEST

UNIT_SUITE(become)
{
    tcase_add_test(tc, shapes_of_one_tensor_are_limited);
    tcase_add_test(tc, all_outputs_change_or_none);
}
