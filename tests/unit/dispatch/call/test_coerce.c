/* test_coerce.c -- values are fitted to types. */
#include "bound.h"

#define CASE(text, given, result)                                                                  \
    {                                                                                              \
        .type = text, .value = given, .want = result                                               \
    }
static const struct {
    const char *type;
    dp_value value;
    const char *want; /* "" before the colon: not of that type */
} fits[] = {
    CASE("int", INT(3), "3"),
    CASE("int", FLOAT(2.5), "!int, not float"),
    CASE("int", BOOL(true), "!int, not bool"),
    CASE("int", NONE, "!int, not None"),
    CASE("SymInt", INT(-1), "-1"),
    CASE("float", INT(3), "3.0"),
    CASE("float", FLOAT(2.5), "2.5"),
    CASE("float", BOOL(true), "!float, not bool"),
    CASE("bool", BOOL(true), "true"),
    CASE("bool", INT(1), "!bool, not int"),
    CASE("str", STR("sum"), "'sum'"),
    CASE("str", INT(1), "!str, not int"),
    CASE("Scalar", INT(3), "3"),
    CASE("Scalar", FLOAT(2.5), "2.5"),
    CASE("Scalar", BOOL(true), "true"),
    CASE("Scalar", STR("3"), "!Scalar, not str '3'"),
    CASE("complex", INT(3), "3.0+0.0j"),
    CASE("ScalarType", STR("float32"), "6"),
    CASE("ScalarType", INT(DP_BOOL), "11"),
    CASE("ScalarType", STR("float33"),
         "!ScalarType, not str 'float33'"
         ": no dtype 'float33'; nearest: 'float32', 'float16', 'float64'"),
    CASE("ScalarType", INT(8), "!ScalarType, not int"),
    CASE("ScalarType?", NONE, "None"),
    CASE("Layout", STR("strided"), "0"),
    CASE("Layout", STR("channels_last"),
         "!Layout, not str 'channels_last'"
         ": no layout 'channels_last'; nearest: 'sparse_csr', 'sparse_csc', 'sparse_bsr'"),
    CASE("MemoryFormat", STR("contiguous_format"), "0"),
    CASE("MemoryFormat", STR("preserve_format"), "1"),
    CASE("MemoryFormat", STR("channels_last"), "2"),
    CASE("MemoryFormat?", STR("channels_last_3d"), "3"),
    CASE("Device", STR("cpu"), "0"),
    CASE(
        "Device", STR("nowhere:1"),
        "!Device, not str 'nowhere:1': no device 'nowhere:1'; there are cpu, cuda, hip, xla, mps, "
        "ipu, xpu, hpu, ve, lazy, mtia, maia, privateuseone, privateusetwo, privateusethree, meta"),
    CASE("Device?", STR("cpu:-1"), "!Device?, not str 'cpu:-1': invalid device string: 'cpu:-1'"),
    CASE("Device", INT(-5), "!Device, not int"),
    CASE("int[]", LIST(INT(1), INT(2)), "int[][1, 2]"),
    CASE("int[]", LIST(INT(1), FLOAT(2)), "!int[], not list with float at index 1"),
    CASE("int[]", INT(1), "int[][1]"), /* as torch.zeros(1) */
    CASE("int[2]", INT(1), "int[][1, 1]"),
    CASE("int[2]", LIST(INT(1)), "int[][1]"),
    CASE("int[2]?", INT(1), "int[][1, 1]"),
    CASE("int[0]", INT(1), "!int[0], not int"),
    CASE("int[0]", LIST(INT(1)), "int[][1]"),
    CASE("int[65536]", LIST(INT(1)), "int[][1]"),
    CASE("float[0]", LIST(INT(1)), "float[][1.0]"),
    CASE("SymInt[3]", INT(4), "int[][4, 4, 4]"),
    CASE("float[]", LIST(INT(1), FLOAT(2.5)), "float[][1.0, 2.5]"),
    CASE("bool[2]", LIST(BOOL(true), BOOL(false)), "bool[][true, false]"),
    CASE("bool[2]", BOOL(true), "!bool[2], not bool"),
    CASE("Scalar[]", LIST(INT(1), BOOL(true)), "list[1, true]"),
    CASE("str[]", LIST(STR("a"), STR("b")), "list['a', 'b']"),
    CASE("str[]", LIST(STR("a"), INT(1)), "!str[], not list with int at index 1"),
    CASE("int[][]", LIST(LIST(INT(1)), LIST(INT(2))), "list[int[][1], int[][2]]"),
    CASE("ScalarType[]", LIST(STR("bool")), "int[][11]"),
    CASE("Tensor", NONE, "!Tensor, not None"),
    CASE("Tensor", STR("x"), "!Tensor, not str 'x'"),
    CASE("Tensor", INT(3), "wrapped int64"),
    CASE("Tensor", FLOAT(3), "wrapped float64"),
    CASE("Tensor", BOOL(true), "wrapped bool"),
    CASE("Tensor?", NONE, "None"),
    CASE("Tensor(a!)", INT(3), "!Tensor, not int"), /* a number cannot be written */
    CASE("Tensor?[]", LIST(NONE, NONE), "Tensor[][None, None]"),
    CASE("Tensor[]", LIST(NONE), "!Tensor[], not list with None at index 0"),
    CASE("Generator?", NONE, "None"),
    CASE("Generator?", INT(1), "!Generator?, not int"),
};

START_TEST(a_value_fits_a_type)
{
    char schema[100], want[400];
    const char *w = fits[_i].want;

    snprintf(schema, sizeof(schema), "f(%s x) -> ()", fits[_i].type);
    snprintf(want, sizeof(want),
             w[0] == '!' ? "TypeError: t::f: argument 'x' (position 1) must be %s" : "t::f(%s)",
             w + (w[0] == '!'));
    DEFINE("d", schema);
    expect_call("t::f", &fits[_i].value, 1, NULL, 0, want);
}
END_TEST

START_TEST(empty_and_typed_lists)
{
    const int64_t ints[] = {4, 5};
    dp_tensor *const tensors[] = {two, point};
    dp_value empty = {.tag = DP_TAG_LIST};

    DEFINE("d", "i(int[] x) -> ()", "f(float[] x) -> ()", "t(Tensor[] x) -> ()",
           "o(Tensor?[] x) -> ()");
    EXPECT("t::i(int[][])", "t::i", empty);
    EXPECT("t::t(Tensor[][])", "t::t", empty);
    EXPECT("t::i(int[][4, 5])", "t::i", dp_ints(ints, 2));
    EXPECT("t::f(float[][4.0, 5.0])", "t::f", dp_ints(ints, 2));
    EXPECT("t::t(Tensor[][two, tensor int64])", "t::t", dp_tensors(tensors, 2));
    EXPECT("t::o(Tensor[][two, None])", "t::o", LIST(dp_tensor_value(two), NONE));
}
END_TEST

/* As Tensor.item(): only when nothing fits without it. */
START_TEST(a_point_is_a_number)
{
    DEFINE("d", "s(Scalar x) -> ()", "i(int x) -> ()", "f(float x) -> ()", "b(bool x) -> ()",
           "l(int[] x) -> ()");
    EXPECT("t::s(7)", "t::s", dp_tensor_value(point));
    EXPECT("t::i(7)", "t::i", dp_tensor_value(point));
    EXPECT("t::f(7.0)", "t::f", dp_tensor_value(point));
    EXPECT("t::l(int[][7])", "t::l", LIST(dp_tensor_value(point)));
    EXPECT("TypeError: t::b: argument 'x' (position 1) must be bool, not Tensor", "t::b",
           dp_tensor_value(point));
    EXPECT("TypeError: t::i: argument 'x' (position 1) must be int, not Tensor", "t::i",
           dp_tensor_value(two));
}
END_TEST

UNIT_SUITE(coerce)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_value_fits_a_type, 0, DPI_COUNT(fits));
    tcase_add_test(tc, empty_and_typed_lists);
    tcase_add_test(tc, a_point_is_a_number);
}
