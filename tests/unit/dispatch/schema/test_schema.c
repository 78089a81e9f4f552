/* test_schema.c -- schemas: what parses, what it prints as, what is derived, what is refused. */
#include "dispatch/schema/schema.h"
#include "unit.h"
#include <locale.h>
#include <stdio.h>

static dp_schema *parse(const char *text)
{
    dp_error err = DP_ERROR_INIT;
    dp_schema *s = NULL;

    ck_assert_msg(dp_schema_parse(text, &s, &err) == DP_OK, "%s", err.message);
    return s;
}

/* Print of the first: PyTorch 1.13.1's where that parses it. */
static const char *const canonical[][2] = {
    {" a::b ( Tensor  x )  ->  ( )", "a::b(Tensor x) -> ()"},
    {"a::b(Tensor x) -> (Tensor a)", "a::b(Tensor x) -> Tensor a"},
    {"a::b(MemoryFormat? x=contiguous_format, int r=Mean, ScalarType d=long) -> ()",
     "a::b(MemoryFormat? x=0, int r=1, ScalarType d=4) -> ()"},
    {"a::b(float x=1e-5, float y=1, float z=1e20, float w=-1.5) -> ()",
     "a::b(float x=1.0000000000000001e-05, float y=1., float z=1e+20, float w=-1.5) -> ()"},
    {"a::b(float x=-0.) -> ()", "a::b(float x=-0.) -> ()"},
    {"a::b(int[2] x=1, SymInt[2] y=1, int[] z=[-1,-2]) -> ()",
     "a::b(int[2] x=1, SymInt[2] y=[1, 1], int[] z=[-1, -2]) -> ()"},
    {"a::b(complex x=1j) -> ()", "a::b(complex x=0.+1.j) -> ()"},
    {"a::b(Dimname[]? names, number n) -> number", "a::b(str[]? names, Scalar n) -> Scalar"},
    {"a::b(Tensor(a -> a) x) -> ()", "a::b(Tensor(a) x) -> ()"},
    {"a::b(Tensor(a|*) x) -> ()", "a::b(Tensor(*) x) -> ()"},
    {"a::b(str x='it\\'s \\x41\\102\\n\\001') -> ()", "a::b(str x=\"it\\'s AB\\n\\001\") -> ()"},
    {"a::b(bool[3] x=[True,False,True], str[] y=['a'], Scalar[] z=[1, 2.5]) -> ()",
     "a::b(bool[3] x=[True, False, True], str[] y=[\"a\"], Scalar[] z=[1, 2.5]) -> ()"},
    {"a::b((Tensor, int)[] x) -> ((Tensor, int)[])",
     "a::b((Tensor, int)[] x) -> ((Tensor, int)[])"},
};

START_TEST(schema_prints_canonically)
{
    dp_schema *s = parse(canonical[_i][0]);
    char *text = dp_schema_print(s);
    dp_schema *again = parse(text);

    ck_assert_str_eq(text, canonical[_i][1]);
    ck_assert_str_eq(again->text, text);
    dp_free(text);
    dp_schema_free(s);
    dp_schema_free(again);
}
END_TEST

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

START_TEST(schema_fields_of_an_operator)
{
    dp_schema *s =
        parse("aten::add.out(Tensor self, Tensor? other=None, Tensor?[] ts=[], *, "
              "Scalar alpha=1, int[2] k=3, Generator? g=None, Tensor(a!) out) -> Tensor(a!)");

    ck_assert_str_eq(s->name, "aten::add.out");
    ck_assert_str_eq(s->ns, "aten");
    ck_assert_str_eq(s->base, "add");
    ck_assert_str_eq(s->overload, "out");
    ck_assert_str_eq(s->code, "ToTloTsliogT>");
    ck_assert_uint_eq(s->n_args, 7);
    ck_assert_uint_eq(s->tensor_args, 0x67);
    ck_assert_uint_eq(s->written, 0x40);
    ck_assert_int_eq(s->ret_alias[0], 6);
    ck_assert_int_eq(s->ret_alias[1], -1);
    ck_assert(!s->args[2].kwarg_only);
    ck_assert(s->args[3].kwarg_only);
    ck_assert(!s->args[0].has_default);
    ck_assert_int_eq(s->args[1].def.tag, DP_TAG_NONE);
    ck_assert_int_eq(s->args[2].def.tag, DP_TAG_TENSORS);
    ck_assert_int_eq(s->args[3].def.tag, DP_TAG_INT);
    ck_assert_int_eq(s->args[4].def.tag, DP_TAG_INTS);
    ck_assert_int_eq(s->args[4].def.len, 2);
    ck_assert_int_eq(s->args[4].def.u.ints[1], 3);
    ck_assert_str_eq(s->args[4].default_text, "3");
    ck_assert_uint_eq(s->args[0].tags, 1u << DP_TAG_TENSOR);
    ck_assert_uint_eq(s->args[1].tags, 1u << DP_TAG_TENSOR | 1u << DP_TAG_NONE);
    ck_assert_uint_eq(s->args[2].tags, 1u << DP_TAG_TENSORS);
    ck_assert_uint_eq(s->args[3].tags, 1u << DP_TAG_INT | 1u << DP_TAG_DOUBLE | 1u << DP_TAG_BOOL |
                                           1u << DP_TAG_COMPLEX);
    dp_schema_free(s);
}
END_TEST

START_TEST(schema_codes_are_those_of_plugin_h)
{
    static const char *const cases[][2] = {
        {"(Tensor a, int b, float c, bool d, str e, Scalar f, SymInt g) -> ()", "TifbSsi>"},
        {"(Tensor? a, int? b, float? c, bool? d, str? e, Scalar? f) -> ()", "oToiofoboSos>"},
        {"(Tensor[] a, int[] b, float[] c, bool[] d, str[] e, Scalar[] f) -> ()", "lTlilflblSls>"},
        {"(Tensor[]? a, SymInt[]? b, float[]? c, str[]? e) -> ()", "olToliolfolS>"},
        {"(int[][] a, ScalarType b, Layout? c, Device? d) -> (Tensor, int)", "lliioioi>Ti"},
        {"(complex a) -> ()", ""},
        {"(Tensor a, ...) -> ()", ""},
        {"(t a) -> ()", ""},
        {"(Tensor?[]? a) -> ()", ""},
        {"(Dict(str, int) a) -> ()", ""},
        {"() -> Storage", ""},
    };
    char text[256];

    for (size_t i = 0; i < DPI_COUNT(cases); i++) {
        snprintf(text, sizeof(text), "a::b%s", cases[i][0]);
        dp_schema *s = parse(text);
        ck_assert_str_eq(s->code, cases[i][1]);
        dp_schema_free(s);
    }
}
END_TEST

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

/* head, then n times each, then tail */
static int parse_repeated(const char *head, const char *each, int n, const char *tail)
{
    dpi_text t = {0};
    dp_schema *s = NULL;

    dpi_text_add(&t, head);
    for (int i = 0; i < n; i++)
        dpi_text_printf(&t, each, i);
    dpi_text_add(&t, tail);
    int rc = dp_schema_parse(t.s, &s, NULL);
    dp_schema_free(s);
    dpi_text_fini(&t);
    return rc;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-extra-args"
START_TEST(schema_limits_hold)
{
    ck_assert_int_eq(parse_repeated("a::b(", "int x%d, ", 63, "int y) -> ()"), DP_OK);
    ck_assert_int_eq(parse_repeated("a::b(", "int x%d, ", 64, "int y) -> ()"), DP_ERESOURCE);
    ck_assert_int_eq(parse_repeated("a::b() -> (", "int, ", 64, "int)"), DP_ERESOURCE);
    ck_assert_int_eq(parse_repeated("a::b(int", "[]", 15, " x) -> ()"), DP_OK);
    ck_assert_int_eq(parse_repeated("a::b(int", "[]", 16, " x) -> ()"), DP_ERESOURCE);
    ck_assert_int_eq(parse_repeated("a::b(int", "?", 7000, " x) -> ()"), DP_ERESOURCE);
    ck_assert_int_eq(parse_repeated("a::b(", "Future(", 2000, "t) x) -> ()"), DP_ERESOURCE);
    ck_assert_int_eq(parse_repeated("a::b(", "(", 16000, "t) x) -> ()"), DP_ERESOURCE);
    ck_assert_int_eq(parse_repeated("a::b() ", " ", 17000, "-> ()"), DP_ERESOURCE);
    ck_assert_int_eq(parse_repeated("a::b", "b", 130, "() -> ()"), DP_ERESOURCE);
    ck_assert_int_eq(parse_repeated("a::b(int[] x=[0", ",%d", 300, "]) -> ()"), DP_ERESOURCE);
    ck_assert_int_eq(parse_repeated("a::b(int[60000] x=0", "", 0, ") -> ()"), DP_ERESOURCE);
}
END_TEST
#pragma GCC diagnostic pop

START_TEST(schema_takes_its_librarys_namespace)
{
    dp_error err = DP_ERROR_INIT;
    dp_schema *s = NULL;

    ck_assert_int_eq(dpi_schema_parse("f.x(Tensor a) -> ()", "my", &s, &err), DP_OK);
    ck_assert_str_eq(s->name, "my::f.x");
    ck_assert_str_eq(s->text, "my::f.x(Tensor a) -> ()");
    dp_schema_free(s);
    ck_assert_int_eq(dpi_schema_parse("my::f(Tensor a) -> ()", "my", &s, &err), DP_OK);
    dp_schema *second = dpi_schema_ref(s);
    ck_assert_ptr_null(dp_schema_free(s));
    ck_assert_str_eq(second->ns, "my");
    dp_schema_free(second);
    ck_assert_int_eq(dpi_schema_parse("other::f(Tensor a) -> ()", "my", &s, &err), DP_EVALUE);
    ck_assert_ptr_nonnull(strstr(err.message, "'my'"));
    ck_assert_ptr_nonnull(strstr(err.message, "other::f"));
}
END_TEST

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

START_TEST(schema_parse_survives_any_failed_allocation)
{
    static const char text[] =
        "a::b.c(Tensor(a! -> a|b)[] x, Dict(str, (int, t)) y, int[2] z=1, str s=\"a\\n\", *, "
        "__torch__.torch.classes.n.C c, complex[] w=[1j], Scalar v=2.5) -> (Tensor(a!)[] p, int)";

    for (uint64_t n = 1;; n++) {
        dp_error err = DP_ERROR_INIT;
        dp_schema *s = NULL;
        dp_fault_arm(n);
        int rc = dp_schema_parse(text, &s, &err);
        if (!dp_fault_hit()) {
            ck_assert_msg(rc == DP_OK, "%s", err.message);
            dp_schema_free(s);
            ck_assert_uint_gt(n, 5);
            break;
        }
        ck_assert_int_eq(rc, DP_ERESOURCE);
        ck_assert_ptr_null(s);
        ck_assert_str_ne(err.message, "");
    }
    dp_fault_arm(0);
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

UNIT_SUITE(schema)
{
    tcase_add_loop_test(tc, schema_prints_canonically, 0, DPI_COUNT(canonical));
    tcase_add_loop_test(tc, schema_prints_as_it_stands, 0, DPI_COUNT(verbatim));
    tcase_add_test(tc, schema_fields_of_an_operator);
    tcase_add_test(tc, schema_codes_are_those_of_plugin_h);
    tcase_add_test(tc, schema_faults_name_column_and_what_was_expected);
    tcase_add_test(tc, schema_limits_hold);
    tcase_add_test(tc, schema_takes_its_librarys_namespace);
    tcase_add_test(tc, schema_same_types_ignores_names_defaults_and_aliases);
    tcase_add_test(tc, schema_type_fits_deep);
    tcase_add_test(tc, schema_parse_survives_any_failed_allocation);
    tcase_add_test(tc, schema_numbers_do_not_follow_the_locale);
}
