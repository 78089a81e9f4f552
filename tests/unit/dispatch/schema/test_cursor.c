/* test_cursor.c -- faults of a schema's text. */
#include "schemas.h"

START_TEST(schema_faults_name_column_and_what_was_expected)
{
    static const struct {
        const char *text;
        int code, column;
        const char *expected;
    } cases[] = {
        {"", DP_EVALUE, 1, "an operator name"},
        {"a::", DP_EVALUE, 4, "an operator name"},
        {"a::b.", DP_EVALUE, 6, "an overload name"},
        {"a::b(Tensor x", DP_EVALUE, 14, "')'"},
        {"a::b(Tensor) -> ()", DP_EVALUE, 12, "an argument name"},
        {"a::b(Tensr x) -> ()", DP_EVALUE, 6, "a type"},
        {"a::b(Tensor x) ->", DP_EVALUE, 18, "a type"},
        {"a::b(Tensor x)", DP_EVALUE, 15, "'->'"},
        {"a::b(Tensor x) -> () y", DP_EVALUE, 22, "the end"},
        {"a::b(Tensor x, Tensor x) -> ()", DP_EVALUE, 24, "two arguments named 'x'"},
        {"a::b() -> (int x, int x)", DP_EVALUE, 24, "two returns named 'x'"},
        {"a::b(int x=1.5) -> ()", DP_EVALUE, 12, "an integer"},
        {"a::b(int x=9223372036854775808) -> ()", DP_EVALUE, 12, "an integer of 64 bits"},
        {"a::b(int x=None) -> ()", DP_EVALUE, 12, "an integer"},
        {"a::b(bool x=1) -> ()", DP_EVALUE, 13, "True or False"},
        {"a::b(str x=\"abc) -> ()", DP_EVALUE, 23, "closing quote"},
        {"a::b(str x=\"\\xg\") -> ()", DP_EVALUE, 15, "two hex digits"},
        {"a::b(str x=\"\\777\") -> ()", DP_EVALUE, 17, "a byte"},
        {"a::b(Tensor() x) -> ()", DP_EVALUE, 13, "an alias set"},
        {"a::b(Tensor(a x) -> ()", DP_EVALUE, 15, "')'"},
        {"a::b(int[2147483648] x) -> ()", DP_EVALUE, 10, "a list size"},
        {"a::b(int[-1] x) -> ()", DP_EVALUE, 10, "']'"},
        {"a::b.default(int x) -> ()", DP_EVALUE, 13, "'default'"},
        {"a::b.__b__", DP_EVALUE, 11, "'__b__'"},
        {"a::b(*, *, int x) -> ()", DP_EVALUE, 10, "one '*'"},
        {"a::b(..., int x) -> ()", DP_EVALUE, 9, "')'"},
        {"a::b(int[] x=1) -> ()", DP_EVALUE, 14, "'['"},
        {"a::b(Tensor[] x=[1]) -> ()", DP_EVALUE, 18, "']'"},
        {"a::b(__torch__.foo x) -> ()", DP_EVALUE, 15, "'.torch.classes'"},
    };
    char column[32];

    for (size_t i = 0; i < DPI_COUNT(cases); i++) {
        dp_error err = DP_ERROR_INIT;
        dp_schema *s = NULL;
        ck_assert_int_eq(dp_schema_parse(cases[i].text, &s, &err), cases[i].code);
        ck_assert_ptr_null(s);
        snprintf(column, sizeof(column), "column %d: ", cases[i].column);
        ck_assert_msg(strncmp(err.message, column, strlen(column)) == 0 &&
                          strstr(err.message, cases[i].expected),
                      "want %s%s, got %s", column, cases[i].expected, err.message);
    }
}
END_TEST

UNIT_SUITE(cursor)
{
    tcase_add_test(tc, schema_faults_name_column_and_what_was_expected);
}
