/* test_type.c -- types of schemas. */
#include "schemas.h"

START_TEST(schema_same_types_ignores_names_defaults_and_aliases)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"a::f(Tensor(a!) x, SymInt[2] y=1) -> Tensor(a!)", "a::g(Tensor p, int[] q) -> Tensor r",
         true},
        {"a::f(Tensor x) -> ()", "a::f(Tensor? x) -> ()", false},
        {"a::f(Tensor x) -> ()", "a::f(Tensor x, int y) -> ()", false},
        {"a::f(Tensor x) -> Tensor", "a::f(Tensor x) -> ()", false},
        {"a::f((int, str) x) -> ()", "a::f((int, str, str) x) -> ()", false},
        {"a::f(Storage x) -> ()", "a::f(Stream x) -> ()", false},
        {"a::f(...) -> ()", "a::f() -> ()", false},
    };

    for (size_t i = 0; i < DPI_COUNT(cases); i++) {
        dp_schema *a = parse(cases[i].a), *b = parse(cases[i].b);
        ck_assert_msg(dpi_schema_same_types(a, b) == cases[i].same, "%s / %s", a->text, b->text);
        dp_schema_free(a);
        dp_schema_free(b);
    }
}
END_TEST

START_TEST(schema_type_fits_deep)
{
    dp_schema *s =
        parse("a::f(Tensor[] a, Tensor?[] b, str[] c, (int, bool) d, t e, int[]? f) -> ()");
    dp_tensor *const holes[] = {NULL};
    const dp_value items[] = {dp_int(1), dp_bool(true)};
    dp_value tensors = dp_tensors(holes, 1), list = {DP_TAG_LIST, 2, {0}}, ints = dp_ints(NULL, 0),
             none = dp_none();

    list.u.values = items;
    ck_assert(!dpi_type_fits(s->args[0].type, &tensors));
    ck_assert(dpi_type_fits(s->args[1].type, &tensors));
    ck_assert(!dpi_type_fits(s->args[2].type, &list));
    ck_assert(dpi_type_fits(s->args[3].type, &list));
    list.len = 1;
    ck_assert(!dpi_type_fits(s->args[3].type, &list));
    ck_assert(dpi_type_fits(s->args[4].type, &tensors));
    ck_assert(dpi_type_fits(s->args[5].type, &ints));
    ck_assert(dpi_type_fits(s->args[5].type, &none));
    ck_assert(!dpi_type_fits(s->args[0].type, &ints));
    ck_assert_str_eq(dpi_value_kind(&ints), "int[]");
    ck_assert_str_eq(dpi_value_kind(&none), "None");
    dp_schema_free(s);
}
END_TEST

UNIT_SUITE(type)
{
    tcase_add_test(tc, schema_same_types_ignores_names_defaults_and_aliases);
    tcase_add_test(tc, schema_type_fits_deep);
}
