/* test_bind.c -- overloads are chosen as python_arg_parser.cpp does. */
#include "bound.h"

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
    EXPECT("RuntimeError: t::m: expected a list of 3 bools but got one of 1", "t::m",
           LIST(BOOL(true)));
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

START_TEST(numbers_one_by_one_for_a_last_list)
{
    const dp_value good[] = {dp_tensor_value(two), INT(1), INT(2)};

    DEFINE("d", "view(Tensor x, int[] size) -> ()", "view.type(Tensor x, ScalarType type) -> ()",
           "sized(Tensor x, int[2] k) -> ()", "more(Tensor x, int[] size, bool b=False) -> ()",
           "named(SymInt[] size, *, bool b=False) -> ()");
    EXPECT("t::view(two, int[][1, 2])", "t::view", dp_tensor_value(two), INT(1), INT(2));
    EXPECT("t::view.type(two, 1)", "t::view", dp_tensor_value(two), INT(1));
    EXPECT("t::named(int[][7], false)", "t::named", INT(7));
    EXPECT("t::view(two, int[][4, 5])", "t::view", dp_tensor_value(two), LIST(INT(4), INT(5)));
    EXPECT("t::named(int[][1, 2, 3], false)", "t::named", INT(1), INT(2), INT(3));
    EXPECT("TypeError: t::view.type: takes 2 positional arguments, but 3 were given",
           "t::view.type", dp_tensor_value(two), INT(1), INT(2));
    EXPECT("TypeError: t::sized: takes 2 positional arguments, but 3 were given", "t::sized",
           dp_tensor_value(two), INT(1), INT(2));
    EXPECT("TypeError: t::more: argument 'size' (position 2) must be int[], not int", "t::more",
           dp_tensor_value(two), INT(1));
    EXPECT("TypeError: t::named: takes 1 positional argument, but 2 were given", "t::named", INT(1),
           FLOAT(2));
    EXPECT("TypeError: t::named: argument 'size' (position 1) must be SymInt[], not bool",
           "t::named", BOOL(true));
    starve_bind("t::view", good, 3, 0);
}
END_TEST

UNIT_SUITE(bind)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, names_and_defaults);
    tcase_add_test(tc, what_cannot_be_called);
    tcase_add_test(tc, defaults_are_copies);
    tcase_add_test(tc, exact_kinds_come_before_numbers_for_tensors);
    tcase_add_test(tc, a_point_prefers_the_tensor_overload);
    tcase_add_test(tc, overloads_go_in_the_order_of_definition);
    tcase_add_test(tc, nothing_fits);
    tcase_add_test(tc, nothing_of_that_name);
    tcase_add_test(tc, what_is_written);
    tcase_add_test(tc, bind_without_memory);
    tcase_add_test(tc, numbers_one_by_one_for_a_last_list);
}
