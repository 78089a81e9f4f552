/* test_derive.c -- what follows from a signature. */
#include "schemas.h"

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

UNIT_SUITE(derive)
{
    tcase_add_loop_test(tc, schema_prints_canonically, 0, DPI_COUNT(canonical));
    tcase_add_test(tc, schema_fields_of_an_operator);
    tcase_add_test(tc, schema_codes_are_those_of_plugin_h);
}
