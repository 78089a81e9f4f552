/* test_scalar.c -- tensors of scalars. */
#include "tensors.h"

START_TEST(scalars_take_their_kinds_dtype)
{
    double pair[] = {1, 2};
    dp_value complex = {DP_TAG_COMPLEX, 0, {.doubles = pair}};
    const struct {
        dp_value v;
        dp_dtype dtype, expected;
        double value;
    } rows[] = {
        {dp_int(7), DP_DTYPE_NONE, DP_INT64, 7},
        {dp_double(1.5), DP_DTYPE_NONE, DP_FLOAT64, 1.5},
        {dp_bool(true), DP_DTYPE_NONE, DP_BOOL, 1},
        {complex, DP_DTYPE_NONE, DP_COMPLEX128, 1},
        {dp_int(-5), DP_UINT8, DP_UINT8, 251},
        {dp_double(2.9), DP_INT32, DP_INT32, 2},
        {dp_int(5), DP_BOOL, DP_BOOL, 1},
        {dp_int(65504), DP_FLOAT16, DP_FLOAT16, 65504},
    };

    for (size_t i = 0; i < DPI_COUNT(rows); i++) {
        dp_tensor *t = NULL;
        double x;
        OK(dpi_scalar_tensor(NULL, rows[i].v, rows[i].dtype, &t, &err));
        ck_assert_int_eq(t->dtype, rows[i].expected);
        ck_assert_int_eq(t->geometry->ndim, 0);
        dp_convert(DP_FLOAT64, &x, t->dtype, t->geometry->storage->data, 1);
        ck_assert_double_eq(x, rows[i].value);
        dp_tensor_unref(t);
    }
}
END_TEST

START_TEST(scalars_that_do_not_fit_are_refused)
{
    double pair[] = {1, 2};
    dp_value complex = {DP_TAG_COMPLEX, 0, {.doubles = pair}};
    const struct {
        dp_value v;
        dp_dtype dtype;
    } rows[] = {{dp_int(300), DP_UINT8},        {dp_int(-129), DP_INT8},
                {dp_double(1e300), DP_FLOAT32}, {dp_double(0x1p63), DP_INT64},
                {complex, DP_FLOAT32},          {dp_double(__builtin_nan("")), DP_INT32},
                {dp_int(65536), DP_FLOAT16}};
    dp_tensor *t = NULL;

    for (size_t i = 0; i < DPI_COUNT(rows); i++)
        FAILS(dpi_scalar_tensor(NULL, rows[i].v, rows[i].dtype, &t, &err), DP_ERUNTIME,
              "value cannot be converted to type");
    FAILS(dpi_scalar_tensor(NULL, dp_none(), DP_INT8, &t, &err), DP_ETYPE, "a number or a bool");
    FAILS(dpi_scalar_tensor(NULL, dp_int(1), 77, &t, &err), DP_ETYPE, "no dtype has number 77");
}
END_TEST

UNIT_SUITE(scalar)
{
    tcase_add_checked_fixture(tc, alive_begin, alive_end);
    tcase_add_test(tc, scalars_take_their_kinds_dtype);
    tcase_add_test(tc, scalars_that_do_not_fit_are_refused);
}
