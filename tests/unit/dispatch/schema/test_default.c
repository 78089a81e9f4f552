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
    tcase_add_test(tc, schema_numbers_do_not_follow_the_locale);
}
