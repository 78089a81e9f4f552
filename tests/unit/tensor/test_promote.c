/* test_promote.c -- dtypes that come out when several go in, against PyTorch's answers. */
#include "tensor_cases.h"

START_TEST(promote_types_is_pytorchs_table)
{
    cases c = cases_open();
    int n = 0;

    for (; cases_next(&c, "promote"); n++) {
        dp_dtype got = dp_promote_types(dp_dtype_parse(c.fields[1]), dp_dtype_parse(c.fields[2]));
        ck_assert_msg(strcmp(dp_dtype_name(got), c.fields[3]) == 0, "line %d: %s, PyTorch has %s",
                      c.line, dp_dtype_name(got), c.fields[3]);
    }
    ck_assert_int_eq(n, 144);
}
END_TEST

START_TEST(can_cast_is_pytorchs_table)
{
    cases c = cases_open();
    int n = 0;

    for (; cases_next(&c, "can_cast"); n++) {
        int got = dp_can_cast(dp_dtype_parse(c.fields[1]), dp_dtype_parse(c.fields[2]));
        ck_assert_msg(got == atoi(c.fields[3]), "line %d: %d, PyTorch has %s", c.line, got,
                      c.fields[3]);
    }
    ck_assert_int_eq(n, 144);
}
END_TEST

/* "dint8", "zbool", "wfloat64" */
static dp_tensor *operand(const char *field)
{
    numbers none = {0}, two = {1, {2}}, one = {1, {1}};
    dp_tensor *t = field[0] == 'd' ? tensor_of(dp_dtype_parse(field + 1), two, one)
                                   : tensor_of(dp_dtype_parse(field + 1), none, none);
    dp_tensor_set_wrapped(t, field[0] == 'w');
    return t;
}

START_TEST(result_type_ranks_dimensions_over_zero_dim_over_numbers)
{
    cases c = cases_open();
    int n = 0;

    for (; cases_next(&c, "result"); n++) {
        dp_tensor *t[4] = {NULL}; /* the last is NULL and skipped */
        size_t k = (size_t)c.n - 2;
        for (size_t i = 0; i < k; i++)
            t[i] = operand(c.fields[i + 1]);
        dp_dtype got = dp_result_type(t, k + 1);
        ck_assert_msg(strcmp(dp_dtype_name(got), c.fields[k + 1]) == 0,
                      "line %d: %s, PyTorch has %s", c.line, dp_dtype_name(got), c.fields[k + 1]);
        for (size_t i = 0; i < k; i++)
            dp_tensor_unref(t[i]);
    }
    ck_assert_int_gt(n, 300);
}
END_TEST

START_TEST(no_dtype_promotes_to_none)
{
    ck_assert_int_eq(dp_promote_types(DP_DTYPE_NONE, DP_INT8), DP_DTYPE_NONE);
    ck_assert_int_eq(dp_promote_types(DP_INT8, 8), DP_DTYPE_NONE);
    ck_assert_int_eq(dp_result_type(NULL, 0), DP_DTYPE_NONE);
    ck_assert(!dp_can_cast(DP_INT8, 99));
}
END_TEST

/* complex32 is not among our dtypes. */
START_TEST(float16_and_a_complex_number_is_complex64)
{
    dp_tensor *t[2] = {operand("dfloat16"), operand("wcomplex128")};

    ck_assert_int_eq(dp_result_type(t, 2), DP_COMPLEX64);
    dp_tensor_unref(t[0]);
    dp_tensor_unref(t[1]);
}
END_TEST

/* torch.promote_types(qint8, float32) is an error, torch.can_cast(qint8, float32) is true. */
START_TEST(quantized_dtypes_go_with_themselves_alone)
{
    numbers two = {1, {2}}, one = {1, {1}};
    dp_tensor *q[] = {tensor_of(DP_QINT8, two, one), tensor_of(DP_QINT8, two, one)};
    dp_tensor *mixed[] = {tensor_of(DP_FLOAT32, two, one), q[0]};

    ck_assert_int_eq(dp_promote_types(DP_QINT8, DP_QINT8), DP_QINT8);
    ck_assert_int_eq(dp_promote_types(DP_QINT8, DP_QUINT8), DP_DTYPE_NONE);
    ck_assert_int_eq(dp_promote_types(DP_FLOAT32, DP_QINT32), DP_DTYPE_NONE);
    ck_assert(dp_can_cast(DP_QINT8, DP_FLOAT32) && dp_can_cast(DP_INT64, DP_QINT8));
    ck_assert(!dp_can_cast(DP_COMPLEX64, DP_QINT8) && !dp_can_cast(DP_QINT8, DP_BOOL));
    ck_assert_int_eq(dp_result_type(q, 2), DP_QINT8);
    ck_assert_int_eq(dp_result_type(mixed, 2), DP_DTYPE_NONE);
    for (int i = 0; i < 2; i++)
        dp_tensor_unref(q[i]);
    dp_tensor_unref(mixed[0]);
}
END_TEST

UNIT_SUITE(promote)
{
    tcase_add_test(tc, promote_types_is_pytorchs_table);
    tcase_add_test(tc, can_cast_is_pytorchs_table);
    tcase_add_test(tc, result_type_ranks_dimensions_over_zero_dim_over_numbers);
    tcase_add_test(tc, no_dtype_promotes_to_none);
    tcase_add_test(tc, quantized_dtypes_go_with_themselves_alone);
    tcase_add_test(tc, float16_and_a_complex_number_is_complex64);
}
