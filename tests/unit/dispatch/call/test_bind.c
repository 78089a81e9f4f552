/* test_bind.c -- overloads are chosen and arguments fitted as python_arg_parser.cpp does. */
#include "dispatch/records.h"

#define INT(n)                                                                                     \
    {                                                                                              \
        .tag = DP_TAG_INT, .u.i = n                                                                \
    }
#define FLOAT(x)                                                                                   \
    {                                                                                              \
        .tag = DP_TAG_DOUBLE, .u.d = x                                                             \
    }
#define BOOL(x)                                                                                    \
    {                                                                                              \
        .tag = DP_TAG_BOOL, .u.b = x                                                               \
    }
#define STR(x)                                                                                     \
    {                                                                                              \
        .tag = DP_TAG_STR, .len = sizeof(x) - 1, .u.s = x                                          \
    }
#define LIST(...)                                                                                  \
    {                                                                                              \
        .tag = DP_TAG_LIST, .len = sizeof((dp_value[]){__VA_ARGS__}) / sizeof(dp_value),           \
        .u.values = (dp_value[])                                                                   \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define NONE                                                                                       \
    {                                                                                              \
        .tag = DP_TAG_NONE                                                                         \
    }

static dp_registry *reg;
static dp_ctx *ctx;
static dp_tensor *two;   /* [2] float32 */
static dp_tensor *point; /* [] int64, 7 */

static void setup(void)
{
    dp_error err = DP_ERROR_INIT;
    const int64_t sizes[] = {2}, seven = 7;

    reg = rec_registry();
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, sizes, NULL, &two, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_INT64, DP_DEVICE_CPU, 0, NULL, NULL, &point, &err), 0);
    ck_assert_int_eq(dp_tensor_write(point, &seven, &err), 0);
}

static void teardown(void)
{
    dp_tensor_unref(two);
    dp_tensor_unref(point);
    dp_ctx_free(ctx);
    dp_registry_free(reg);
}

/* One unit that defines the schemas given, at lines of its own. */
static dp_unit *define(const char *name, const char *const *schemas, size_t n)
{
    dp_item *items = calloc(n, sizeof(*items)); /* the unit copies them */

    for (size_t i = 0; i < n; i++)
        items[i] = (dp_item)REC_DEF(schemas[i]);
    dp_block block = REC_PLAIN(DP_BLOCK_FRAGMENT, 0, 1, "t", "", NULL);
    block.items = items;
    block.n_items = (uint32_t)n;
    dp_unit *u = rec_attach(reg, name, &block, 1);
    free(items);
    return u;
}
#define DEFINE(name, ...)                                                                          \
    define(name, (const char *const[]){__VA_ARGS__},                                               \
           DPI_COUNT(((const char *const[]){__VA_ARGS__})))

/* -- values as text -- */

static void show(dpi_text *t, const dp_value *v)
{
    switch (v->tag) {
    case DP_TAG_NONE:
        dpi_text_add(t, "None");
        return;
    case DP_TAG_TENSOR:
        dpi_text_add(t, v->u.t == two                  ? "two"
                        : dp_tensor_is_wrapped(v->u.t) ? "wrapped "
                                                       : "tensor ");
        if (v->u.t != two)
            dpi_text_add(t, dp_dtype_name(v->u.t->dtype));
        return;
    case DP_TAG_INT:
        dpi_text_printf(t, "%lld", (long long)v->u.i);
        return;
    case DP_TAG_DOUBLE:
        dpi_text_printf(t, "%.1f", v->u.d);
        return;
    case DP_TAG_BOOL:
        dpi_text_add(t, v->u.b ? "true" : "false");
        return;
    case DP_TAG_COMPLEX:
        dpi_text_printf(t, "%.1f%+.1fj", v->u.doubles[0], v->u.doubles[1]);
        return;
    case DP_TAG_STR:
        dpi_text_printf(t, "'%s'", v->u.s);
        return;
    default:
        break;
    }
    ck_assert_ptr_ne(v->u.values, NULL); /* empty lists, too */
    dpi_text_printf(t, "%s[", v->tag == DP_TAG_LIST ? "list" : dpi_value_kind(v));
    for (uint32_t i = 0; i < v->len; i++) {
        dp_value e = v->tag == DP_TAG_TENSORS   ? dp_tensor_value(v->u.tensors[i])
                     : v->tag == DP_TAG_INTS    ? dp_int(v->u.ints[i])
                     : v->tag == DP_TAG_DOUBLES ? dp_double(v->u.doubles[i])
                     : v->tag == DP_TAG_BOOLS   ? dp_bool(v->u.bools[i])
                                                : v->u.values[i];
        dpi_text_add(t, i ? ", " : "");
        show(t, &e);
    }
    dpi_text_add(t, "]");
}

/* "t::op(values)", or the error's text. */
static void expect_call(const char *name, const dp_value *args, size_t n, const dp_kwarg *kwargs,
                        size_t n_kwargs, const char *want)
{
    dpi_text t = {0};
    dp_bound b;
    int rc = dp_bind(ctx, name, args, n, kwargs, n_kwargs, &b);

    if (rc < 0) {
        ck_assert_int_eq(rc, dp_ctx_error(ctx)->code);
        dpi_text_printf(&t, "%s: %s", dp_error_name(rc), dp_ctx_error(ctx)->message);
    } else {
        dpi_text_printf(&t, "%s(", dp_op_name(b.op));
        for (uint32_t i = 0; i < b.n_args; i++) {
            dpi_text_add(&t, i ? ", " : "");
            show(&t, &b.args[i]);
        }
        dpi_text_add(&t, ")");
    }
    ck_assert_str_eq(t.s, want);
    dpi_text_fini(&t);
    dp_ctx_reset(ctx);
}
#define EXPECT(want, name, ...)                                                                    \
    expect_call(name, (const dp_value[]){__VA_ARGS__},                                             \
                sizeof((const dp_value[]){__VA_ARGS__}) / sizeof(dp_value), NULL, 0, want)

/* -- one value, one type ------------------------------------------------------------------------
 */

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
    CASE("ScalarType", STR("float33"), "!ScalarType, not str 'float33'"),
    CASE("ScalarType", INT(8), "!ScalarType, not int"),
    CASE("ScalarType?", NONE, "None"),
    CASE("Layout", STR("strided"), "0"),
    CASE("Layout", STR("channels_last"), "!Layout, not str 'channels_last'"),
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
    CASE("int[]", INT(1), "!int[], not int"),
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

/* -- positions, names, defaults ------------------------------------------------------------------
 */

static void expect_kwargs(const char *want, const dp_kwarg *kwargs, size_t n_kwargs)
{
    dp_value self = dp_tensor_value(two);
    expect_call("t::f", &self, 1, kwargs, n_kwargs, want);
}

START_TEST(names_and_defaults)
{
    const dp_kwarg all[] = {{"s", STR("z")}, {"n", INT(5)}, {"k", INT(9)}};
    const dp_kwarg unknown[] = {{"nn", INT(5)}};
    const dp_kwarg again[] = {{"self", INT(5)}};
    const dp_kwarg doubled[] = {{"n", INT(5)}, {"n", INT(6)}};
    const dp_kwarg none[] = {{"n", NONE}};

    DEFINE("d",
           "f(Tensor self, int n=2, int[2] k=3, float[] g=[], *, str s=\"a\", Scalar v=1.5) -> ()");
    expect_kwargs("t::f(two, 2, int[][3, 3], float[][], 'a', 1.5)", NULL, 0);
    expect_kwargs("t::f(two, 5, int[][9, 9], float[][], 'z', 1.5)", all, 3);
    expect_kwargs("TypeError: t::f: has no argument named 'nn'; nearest: 'n', 'k', 'g'", unknown,
                  1);
    expect_kwargs("TypeError: t::f: argument 'self' has more than one value", again, 1);
    expect_kwargs("TypeError: t::f: argument 'n' has more than one value", doubled, 2);
    expect_kwargs("TypeError: t::f: argument 'n' must be int, not None", none, 1);
    EXPECT("TypeError: t::f: takes from 1 to 4 positional arguments, but 5 were given", "t::f",
           dp_tensor_value(two), INT(1), INT(1), LIST(FLOAT(1)), STR("x"));
    expect_call("t::f", NULL, 0, all, 2, "TypeError: t::f: missing 1 required argument: 'self'");
}
END_TEST

START_TEST(what_cannot_be_called)
{
    DEFINE("d", "f(Tensor x, ...) -> ()", "g(Tensor x, int n) -> ()", "h() -> ()",
           "i(int[2147483647] x) -> ()", "m(bool[3] x) -> ()");
    EXPECT("ResourceExhausted: t::i: a number for int[2147483647] stands for more than 65535",
           "t::i", INT(1));
    EXPECT("RuntimeError: t::m: bool[3] is given a list of 1", "t::m", LIST(BOOL(true)));
    EXPECT("TypeError: t::f: takes any number of arguments ('...'), which a call cannot give",
           "t::f", dp_tensor_value(two));
    expect_call("t::g", NULL, 0, NULL, 0,
                "TypeError: t::g: missing 2 required arguments: 'x', 'n'");
    EXPECT("TypeError: t::h: takes 0 positional arguments, but 1 was given", "t::h", INT(1));
    expect_call("t::h", NULL, 0, NULL, 0, "t::h()");
}
END_TEST

/* The default outlives the schema that it came from. */
START_TEST(defaults_are_copies)
{
    dp_unit *u = DEFINE("d", "f(int[2] k=3, str s=\"abc\", float[] g=[0.5, 2]) -> ()");
    dpi_text t = {0};
    dp_bound b;

    ck_assert_int_eq(dp_bind(ctx, "t::f", NULL, 0, NULL, 0, &b), 0);
    rec_detach(reg, u);
    for (uint32_t i = 0; i < b.n_args; i++)
        show(&t, &b.args[i]);
    ck_assert_str_eq(t.s, "int[][3, 3]'abc'float[][0.5, 2.0]");
    dpi_text_fini(&t);
}
END_TEST

/* -- overloads ------------------------------------------------------------------------------------
 */

#define ADD_TENSOR "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
#define ADD_SCALAR "add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"
#define ADD_OUT                                                                                    \
    "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)"

START_TEST(exact_kinds_come_before_numbers_for_tensors)
{
    const dp_value args[] = {dp_tensor_value(two), dp_tensor_value(two)};
    const dp_kwarg out = {"out", dp_tensor_value(two)};

    DEFINE("d", ADD_TENSOR, ADD_SCALAR, ADD_OUT);
    EXPECT("t::add.Tensor(two, two, 1)", "t::add", dp_tensor_value(two), dp_tensor_value(two));
    EXPECT("t::add.Scalar(two, 2, 1)", "t::add", dp_tensor_value(two), INT(2));
    EXPECT("t::add.Tensor(two, wrapped int64, 1)", "t::add.Tensor", dp_tensor_value(two), INT(2));
    EXPECT("t::add.Scalar(two, 2.5, 3)", "t::add", dp_tensor_value(two), FLOAT(2.5), INT(3));
    EXPECT("t::add.Tensor(wrapped float64, two, 1)", "t::add", FLOAT(1), dp_tensor_value(two));
    expect_call("t::add", args, 2, &out, 1, "t::add.out(two, two, 1, two)");
}
END_TEST

/* A 0-dim tensor is a tensor first, whatever comes first. */
START_TEST(a_point_prefers_the_tensor_overload)
{
    DEFINE("d", "eq.Scalar(Tensor self, Scalar other) -> Tensor",
           "eq.Tensor(Tensor self, Tensor other) -> Tensor");
    EXPECT("t::eq.Tensor(two, tensor int64)", "t::eq", dp_tensor_value(two),
           dp_tensor_value(point));
    EXPECT("t::eq.Scalar(two, 2)", "t::eq", dp_tensor_value(two), INT(2));
}
END_TEST

/* The order is that of definition, though kernels named the operators in another one before. */
START_TEST(overloads_go_in_the_order_of_definition)
{
    static const dp_item kernels[] = {REC_IMPL("g.b", rec_kernel), REC_IMPL("g.a", rec_kernel)};
    static const dp_block block[] = {REC_BLOCK(DP_BLOCK_IMPL, 5, "t", "CPU", kernels)};

    rec_attach(reg, "kernels", block, 1);
    EXPECT(
        "NotFound: operator 't::g.b' is implemented (plugin 'kernels', t.c:5) but not defined: no "
        "plugin that is loaded has its schema",
        "t::g", INT(1));
    DEFINE("d", "g.a(Scalar x) -> ()", "g.b(float x) -> ()");
    EXPECT("t::g.a(1)", "t::g", INT(1));
    EXPECT("t::g.b(1.0)", "t::g.b", INT(1));
}
END_TEST

START_TEST(nothing_fits)
{
    DEFINE("d", ADD_TENSOR, ADD_SCALAR, ADD_OUT);
    EXPECT(
        "TypeError: t::add: no overload takes (Tensor, str 'x'); it has:\n"
        "  t::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
        "  t::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor\n"
        "  t::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
        "t::add", dp_tensor_value(two), STR("x"));
    /* only one of them takes three positional arguments */
    EXPECT("TypeError: t::add.Scalar: argument 'alpha' (position 3) must be Scalar, not str 'x'",
           "t::add", dp_tensor_value(two), INT(1), STR("x"));
}
END_TEST

START_TEST(nothing_of_that_name)
{
    DEFINE("d", ADD_TENSOR, ADD_SCALAR, "mul.Tensor(Tensor self, Tensor other) -> Tensor",
           "relu(Tensor self) -> Tensor");
    EXPECT("NotFound: no operator 't::rely'; nearest: 't::relu', 't::mul', 't::add'", "t::rely",
           INT(1));
    EXPECT("NotFound: operator 't::add' has no overload 'Tenser'; it has 't::add.Tensor', "
           "'t::add.Scalar'",
           "t::add.Tenser", INT(1));
    EXPECT("NotFound: operator 't::relu' has no overload 'out'; it has 't::relu'", "t::relu.out",
           INT(1));
    ck_assert_int_eq(dp_bind(ctx, "", NULL, 0, NULL, 0, &(dp_bound){0}), DP_ENOTFOUND);
    ck_assert_int_eq(dp_bind(ctx, "::.", NULL, 0, NULL, 0, &(dp_bound){0}), DP_ENOTFOUND);
}
END_TEST

START_TEST(what_is_written)
{
    const dp_value args[] = {dp_tensor_value(two), dp_tensor_value(two)};
    const dp_kwarg out = {"out", dp_tensor_value(two)};
    dp_bound b;

    DEFINE("d", ADD_TENSOR, ADD_OUT);
    ck_assert_int_eq(dp_bind(ctx, "t::add.out", args, 2, &out, 1, &b), 0);
    ck_assert_uint_eq(b.written, 1u << 3);
    ck_assert_uint_eq(b.ret_written, 1);
    ck_assert_int_eq(b.ret_alias[0], 3);
    ck_assert_int_eq(dp_bind(ctx, "t::add.Tensor", args, 2, NULL, 0, &b), 0);
    ck_assert_uint_eq(b.written, 0);
    ck_assert_uint_eq(b.ret_written, 0);
    ck_assert_int_eq(b.ret_alias[0], -1);
}
END_TEST

/* -- the kernel that would run
 * --------------------------------------------------------------------- */

START_TEST(bound_kernel)
{
    static const dp_item kernel[] = {REC_IMPL("f", rec_kernel)};
    static const dp_block block[] = {REC_BLOCK(DP_BLOCK_IMPL, 7, "t", "CPU", kernel)};
    static const dp_block above[] = {
        REC_PLAIN(DP_BLOCK_FALLBACK, DP_FLAG_BELOW, 8, "_", "AutogradCPU", rec_kernel)};
    const dp_value self = dp_tensor_value(two);
    dp_value ret;
    dp_bound b;

    dp_unit *def = DEFINE("d", "f(Tensor x) -> Tensor");
    ck_assert_int_eq(dp_bind(ctx, "t::f", &self, 1, NULL, 0, &b), 0);
    ck_assert_uint_eq(dp_bound_kernel(ctx, &b), 0);
    dp_unit *u = rec_attach(reg, "kernels", block, 1);
    uint64_t id = dp_bound_kernel(ctx, &b);
    ck_assert_uint_ne(id, 0);
    dp_ctx_set_label(ctx, "session 12");
    ck_assert_int_eq(dp_call_boxed(ctx, b.op, b.args, b.n_args, &ret, 1), 0);
    dp_values_release(&ret, 1);
    ck_assert_uint_eq(dp_ctx_facts(ctx).kernel_id, id);
    rec_detach(reg, u);
    u = rec_attach(reg, "kernels", block, 1); /* another generation */
    ck_assert_uint_ne(dp_bound_kernel(ctx, &b), 0);
    ck_assert_uint_ne(dp_bound_kernel(ctx, &b), id);
    id = dp_bound_kernel(ctx, &b);
    dp_unit *layer = rec_attach(reg, "layer", above, 1);
    uint64_t under = dp_bound_kernel(ctx, &b);
    ck_assert_uint_ne(under, id); /* what is proven without it is not with it */
    ck_assert_uint_eq(DP_KERNEL_BELOW(under), id);
    ck_assert_uint_eq(under >> DP_KERNEL_BITS & 1, 0);
    rec_detach(reg, layer);
    ck_assert_uint_eq(dp_bound_kernel(ctx, &b), id);
    rec_detach(reg, def);
    ck_assert_uint_eq(dp_bound_kernel(ctx, &b), 0);
}
END_TEST

/* -- without memory
 * ---------------------------------------------------------------------------------- */

/* Every allocation fails in turn; a bind that was not hurt returns `want`. */
static void starve_bind(const char *name, const dp_value *args, size_t n_args, int want)
{
    char *before = rec_dump(reg);
    bool hit = true;

    for (uint64_t n = 1; hit; n++) {
        dp_tensor_stats had, has;
        dp_bound b;
        dp_ctx *cold = NULL; /* a context whose arena has no memory yet */
        ck_assert_int_eq(dp_ctx_new(reg, &cold, NULL), 0);
        dp_tensor_stats_get(&had);
        dp_fault_arm(n);
        int rc = dp_bind(cold, name, args, n_args, NULL, 0, &b);
        hit = dp_fault_hit();
        dp_fault_arm(0);
        ck_assert_msg(rc == (hit ? DP_ERESOURCE : want), "allocation %llu: %d, %s",
                      (unsigned long long)n, rc, dp_ctx_error(cold)->message);
        dp_ctx_free(cold);
        dp_tensor_stats_get(&has);
        ck_assert_uint_eq(has.tensors, had.tensors);
        rec_same(reg, strdup(before));
    }
    free(before);
}

START_TEST(bind_without_memory)
{
    const dp_value good[] = {dp_tensor_value(two), FLOAT(2), LIST(INT(1), INT(2))};
    const dp_value none[] = {dp_tensor_value(two), STR("x"), INT(1)};

    DEFINE("d", "f.a(Tensor x, Tensor y, int[] z, int[2] k=1, str s=\"q\") -> ()",
           "f.b(Tensor x, int y, int z) -> ()", "f.c(Tensor x, bool y, int z) -> ()");
    starve_bind("t::f", good, 3, 0);
    starve_bind("t::f", none, 3, DP_ETYPE);
    starve_bind("t::f.b", none, 3, DP_ETYPE);
    starve_bind("t::f.b", none, 1, DP_ETYPE);
    starve_bind("t::f.none", none, 3, DP_ENOTFOUND);
    starve_bind("t::none", none, 3, DP_ENOTFOUND);
}
END_TEST

UNIT_SUITE(bind)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_value_fits_a_type, 0, DPI_COUNT(fits));
    tcase_add_test(tc, empty_and_typed_lists);
    tcase_add_test(tc, a_point_is_a_number);
    tcase_add_test(tc, names_and_defaults);
    tcase_add_test(tc, what_cannot_be_called);
    tcase_add_test(tc, defaults_are_copies);
    tcase_add_test(tc, exact_kinds_come_before_numbers_for_tensors);
    tcase_add_test(tc, a_point_prefers_the_tensor_overload);
    tcase_add_test(tc, overloads_go_in_the_order_of_definition);
    tcase_add_test(tc, nothing_fits);
    tcase_add_test(tc, nothing_of_that_name);
    tcase_add_test(tc, what_is_written);
    tcase_add_test(tc, bound_kernel);
    tcase_add_test(tc, bind_without_memory);
}
