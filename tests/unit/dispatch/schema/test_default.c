/* test_default.c -- default values. */
#include "schemas.h"

/* These print as they stand. */
static const char *const verbatim[] = {
    "a::b",
    "b.c",
    "a::b(Tensor! x) -> ()",
    "a::b(Tensor(a!)[] x, Tensor(b)[](c) y, Tensor[](d -> *) z) -> Tensor(a!)[]",
    "a::b(Tensor(a! -> a|b) x, *, Tensor(c!)? out=None) -> (Tensor(a!), Tensor(*) y)",
    "a::b(Dict(str, Tensor)(a!) x, (int, Tensor[]) y, Future(t) f, RRef(t) r, ...) -> ...",
    "a::b(int[2]? x=None, int[1]? y=[1], Tensor?[] z=[], t[] w=[]) -> t",
    "a::b(__torch__.torch.classes.ns.C x, Any a, Storage s, AnyEnumType e) -> QScheme",
    "a::b(int x=-9223372036854775808, int y=9223372036854775807) -> int[][]",
    "a::b(Scalar x=1, Scalar y=1., Scalar z=True, Scalar w=0.+2.j) -> ()",
    "a::b(float[] x=[1.5, 2.], float y=0.33333333333333331, float z=1e-300) -> ()",
    "a::b(str x=\" \\n\\t\\f\\v\\\"\\'\\\\\", str y=\"\") -> ()",
    "a::b(...) -> bool",
    "a::b() -> (Tensor values, Tensor indices)",
    "a::b.x__(float[0] x, int[0] y=[], int[65536] z, Tensor[2147483647] w) -> int[0]",
    "a::__b__.defaults(int[0]? x=None) -> ()",
};

START_TEST(schema_prints_as_it_stands)
{
    dp_schema *s = parse(verbatim[_i]);

    ck_assert_str_eq(s->text, verbatim[_i]);
    dp_schema_free(s);
}
END_TEST

/* Defaults that print otherwise, and whose print parses to the same values. */
static const struct {
    const char *text, *print; /* between "a::b(" and ") -> ()" */
} printed[] = {
    {"Tensor?[50] x=None", NULL},
    {"Scalar x=1e10, float y=-1e16", "Scalar x=10000000000., float y=-10000000000000000."},
    {"SymFloat[] x=[1, 2.5], SymBool y=True", "SymFloat[] x=[1., 2.5], SymBool y=True"},
    {"Tensor?[] x=[None,None]", "Tensor?[] x=[None, None]"},
};

START_TEST(schema_prints_defaults_that_parse_again)
{
    char text[1200], want[1200] = "a::b(Tensor?[50] x=[None";

    snprintf(text, sizeof(text), "a::b(%s) -> ()", printed[_i].text);
    dp_schema *s = parse(text);
    for (uint32_t n = s->args[0].def.len; printed[_i].print == NULL && n > 1; n--)
        strcat(want, ", None");
    strcat(want, "]) -> ()");
    if (printed[_i].print != NULL)
        snprintf(want, sizeof(want), "a::b(%s) -> ()", printed[_i].print);
    ck_assert_str_eq(s->text, want);
    dp_schema *again = parse(s->text);
    ck_assert_str_eq(again->text, want);
    ck_assert_uint_eq(again->args[0].def.tag, s->args[0].def.tag);
    ck_assert_uint_eq(again->args[0].def.len, s->args[0].def.len);
    dp_schema_free(s);
    dp_schema_free(again);
}
END_TEST

static const struct {
    const char *text, *says; /* `text` as above */
} refused[] = {
    {"Tensor[2] x=None", "expected '['"},
    {"int[2][2] x=1", "expected '['"},
    {"int[2]?[2] x=None", "expected '['"},
    {"SymFloat[] x=[None]", "expected a number"},
    {"float x=1e999", "expected a number that a double can hold"},
    {"Scalar x=1.-1e999j", "expected a number that a double can hold"},
    {"SymBool x=None", "expected True or False"},
};

START_TEST(schema_defaults_that_are_refused)
{
    dp_error err = DP_ERROR_INIT;
    dp_schema *s = NULL;
    char text[200];

    snprintf(text, sizeof(text), "a::b(%s) -> ()", refused[_i].text);
    ck_assert_int_eq(dp_schema_parse(text, &s, &err), DP_EVALUE);
    ck_assert_msg(strstr(err.message, refused[_i].says) != NULL, "%s", err.message);
}
END_TEST

/* Such a text could not be parsed again. */
START_TEST(schema_defaults_that_are_too_long)
{
    dp_error err = DP_ERROR_INIT;
    dp_schema *s = NULL;
    char text[400], value[100];

    memset(value, 'v', sizeof(value));
    for (int i = 0; i < 2; i++) {
        value[i == 0 ? 40 : 80] = '\0';
        snprintf(text, sizeof(text), "a::b(str[%d] x=\"%s\") -> ()", i == 0 ? 200 : 256, value);
        value[40] = 'v';
        int rc = dp_schema_parse(text, &s, &err);
        ck_assert_int_eq(rc, i == 0 ? DP_OK : DP_ERESOURCE);
        s = dp_schema_free(s);
    }
    ck_assert_msg(strstr(err.message, "with its lists written out, more than 16384") != NULL, "%s",
                  err.message);
}
END_TEST

START_TEST(schema_numbers_do_not_follow_the_locale)
{
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL && setlocale(LC_ALL, "fr_FR.UTF-8") == NULL)
        return; /* no such locale installed */
    dp_schema *s = parse("a::b(float x=0.5) -> ()");
    ck_assert_str_eq(s->text, "a::b(float x=0.5) -> ()");
    dp_schema_free(s);
    setlocale(LC_ALL, "C");
}
END_TEST

UNIT_SUITE(default_value)
{
    tcase_add_loop_test(tc, schema_prints_as_it_stands, 0, DPI_COUNT(verbatim));
    tcase_add_loop_test(tc, schema_prints_defaults_that_parse_again, 0, DPI_COUNT(printed));
    tcase_add_loop_test(tc, schema_defaults_that_are_refused, 0, DPI_COUNT(refused));
    tcase_add_test(tc, schema_defaults_that_are_too_long);
    tcase_add_test(tc, schema_numbers_do_not_follow_the_locale);
}
