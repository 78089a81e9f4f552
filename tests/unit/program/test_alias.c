/* test_alias.c -- which values of a program share memory, and which inputs are written. */
#include "programs.h"

static const dp_item view_defs[] = {
    REC_DEF("view(Tensor(a) x) -> Tensor(a)"),
    REC_DEF("split(Tensor(a -> *) x) -> Tensor(a)[]"),
    REC_DEF("each_(Tensor(a!)[] x) -> ()"),
    REC_DEF("len(Tensor x) -> int"),
};
static const dp_block view_blocks[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 1, "v", "", view_defs)};

static dp_program *inner; /* in x, y; view of x, y, a new tensor, a view of that; writes y */

static void setup_views(void)
{
    setup();
    rec_attach(reg, "views", view_blocks, 1);
    inner = read_program("in x Tensor; in y Tensor; v = v::view(x); w = t::same_(y);"
                         "n = t::fresh(x); m = v::view(n); out v v; out w w; out m m; out n n");
}

static void teardown_views(void)
{
    inner = dp_program_unref(inner);
    teardown();
}

/* The aliases of the outputs and the written inputs as text: for each output '-', "i0" (a view of
 * input 0), "=i0" (the input itself), "o0" or '?'; then '!' and the names of the written inputs. */
static const char *told(const dp_program *p)
{
    static char text[200];
    dp_program_info info = {.size = sizeof(info)};
    size_t n = 0;

    dp_program_info_get(p, &info);
    for (uint32_t i = 0; i < info.n_outputs; i++) {
        dp_alias a = {.size = sizeof(a)};
        dp_program_output_alias(p, i, &a);
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s%c", i > 0 ? " " : "",
                              a.same ? "=" : "", "-io?"[a.kind]);
        if (a.kind == DP_ALIAS_INPUT || a.kind == DP_ALIAS_OUTPUT)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%u", a.index);
    }
    for (uint32_t i = 0, none = 1; i < info.n_inputs; i++)
        if (dp_program_input_written(p, i)) {
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", none ? "!" : "",
                                  dp_program_input_name(p, i));
            none = 0;
        }
    return text;
}

START_TEST(outputs_and_inputs_share_memory_by_schemas)
{
    static const struct {
        const char *steps, *wants;
    } cases[] = {
        {"a = t::fresh(x); out a a", "-"},
        {"out x x; out y y; out x2 x", "=i0 =i1 =i0"},
        {"a = v::view(x); b = v::view(a); out b b", "i0"},
        {"a = t::same_(x); out a a", "=i0!x"},
        {"a = v::view(x); b = v::view(a); c = t::same_(b); out c c; out y y", "i0 =i1!x"},
        {"a = t::fresh(x); b = v::view(a); out b b; out a a; out a2 a", "o1 - =o1"},
        {"a = t::fresh(x); b = v::view(a); c = v::view(b); out b b; out c c", "- o0"},
        {"a = t::fresh(x); b = t::same_(a); out b b; out a a", "- =o0"},
        {"l = v::split(y); a = l[0]; b = t::same_(a); out l l; out b b", "i1 i1!y"},
        {"l = [x, y]; a = l[1]; out l l; out a a", "? ?"},
        {"l = [x, x]; a = l[1]; b = t::same_(a); out l l; out b b", "i0 i0!x"},
        {"l = [x, y]; a = l[1]; b = t::same_(a); out b b", "?!xy"},
        {"n = v::len(x); l = [x, n]; out l l; out n n", "i0 -"},
        {"n = v::len(x); c = select(n, x, y); d = t::same_(c); out c c", "?!xy"},
        {"n = v::len(x); c = select(n, x, x); out c c", "=i0"},
        {"n = v::len(x); c = select(n, x, 2.0); out c c; m = select(n, n, 1); out m m", "=i0 -"},
        {"n = v::len(x); a = when n: t::same_(x); out a a", "=i0!x"},
        {"a = t::over(x, z); out a a", "?!xz"}, /* which overload runs is not known yet */
        {"a = t::over(x, z); b = v::view(y); c = v::view(a); out c c; out b b", "? i1!xz"},
        {"a = t::counts(x, y); out a a", "-!y"}, /* written by its tag */
        {"a = v::view(x); l = [a, y]; _ = get len(l); out y y", "=i1"},
        {"out k 2.0; a = v::view(x); out a a", "- i0"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[300];
        snprintf(text, sizeof(text), "in x Tensor; in y Tensor; in z any; %s", cases[i].steps);
        dp_program *p = read_program(text);
        ck_assert_msg(strcmp(told(p), cases[i].wants) == 0, "%s: '%s', want '%s'", cases[i].steps,
                      told(p), cases[i].wants);
        dp_program_unref(p);
    }
}
END_TEST

START_TEST(lists_of_written_tensors_are_written)
{
    dp_ref t, y, list;
    dp_builder *b = begin(&t);
    dp_step s = {.size = sizeof(s), .kind = DP_STEP_LIST, .n_args = 2, .n_rets = 1};

    ck_assert_int_eq(dp_builder_input(b, "y", "Tensor", &y), 0);
    s.args = (dp_ref[]){t, y};
    ck_assert_int_eq(dp_builder_add(b, &s, &list, NULL), 0);
    ck_assert_int_eq(add(b, 1, "v::each_", &list, 1, NULL), 0);
    dp_program *p = end(b, t);
    ck_assert_str_eq(told(p), "=i0!xy");
    dp_program_unref(p);
}
END_TEST

/* Run the inner program on the two inputs, and then `op` on its output number `written`. */
static dp_program *outer(const dp_ref_kwarg *inputs, dp_builder *b, int written)
{
    static const char *const names[] = {"v", "w", "m", "n"};
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_SUB,
                 .program = inner,
                 .n_rets = 4,
                 .kwargs = inputs,
                 .n_kwargs = 2};
    dp_ref first;

    ck_assert_msg(dp_builder_add(b, &s, &first, NULL) == 0, "%s", dp_ctx_error(ctx)->message);
    if (written >= 0) {
        dp_ref r = first + (dp_ref)written;
        ck_assert_int_eq(add(b, 1, "t::same_", &r, 1, NULL), 0);
    }
    for (dp_ref i = 0; i < 3; i++)
        ck_assert_int_eq(dp_builder_output(b, names[i], first + i), 0);
    return end(b, first + 3);
}

START_TEST(programs_that_steps_run_share_memory)
{
    dp_ref t, made;

    ck_assert_str_eq(told(inner), "i0 =i1 o3 -!y");
    for (int written = -1; written < 4; written++) {
        dp_builder *b = begin(&t);
        ck_assert_int_eq(add(b, 0, "t::fresh", &t, 1, &made), 0);
        dp_program *p = outer((dp_ref_kwarg[]){{"y", made}, {"x", t}}, b, written);
        ck_assert_str_eq(told(p), written == 0 ? "i0 - o3 -!x" : "i0 - o3 -");
        dp_program_unref(p);
    }
    dp_builder *b = begin(&t);
    ck_assert_int_eq(dp_builder_input(b, "any", NULL, &made), 0);
    dp_program *p = outer((dp_ref_kwarg[]){{"x", made}, {"y", t}}, b, -1);
    ck_assert_str_eq(told(p), "i1 =i0 o3 -!x");
    p = dp_program_unref(p);
    dp_program *late = read_program("in x Tensor; in z any; a = t::over(x, z); out a a");
    dp_program_unref(inner);
    inner = late;
    b = begin(&t);
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_SUB,
                 .program = late,
                 .n_rets = 1,
                 .kwargs = (dp_ref_kwarg[]){{"x", t}, {"z", t}},
                 .n_kwargs = 2};
    ck_assert_int_eq(dp_builder_add(b, &s, &made, NULL), 0);
    p = end(b, made);
    ck_assert_str_eq(told(p), "?!x");
    dp_program_unref(p);
}
END_TEST

/* A run copies outputs that share memory with a constant.  A program that may return one of several
 * constants must not hand one out for writing. */
START_TEST(constants_share_memory_with_no_output)
{
    dp_ref t, k, picked;
    dp_value v = dp_tensor_value(x);
    dp_builder *b = begin(&t);

    ck_assert_int_eq(dp_builder_constant(b, "k", &v, &k), 0);
    ck_assert_int_eq(add(b, 0, "v::view", &k, 1, &picked), 0);
    ck_assert_int_eq(dp_builder_output(b, "k", k), 0);
    dp_program *p = end(b, picked);
    ck_assert_str_eq(told(p), "- -");
    dp_program_unref(p);
    dp_program_unref(inner);
    inner = read_program("in c bool; in x Tensor; in y Tensor; a = select(c, x, y); out a a");
    ck_assert_str_eq(told(inner), "?");
    b = begin(&t);
    ck_assert_int_eq(dp_builder_constant(b, "k", &v, &k), 0);
    v = dp_bool(true);
    dp_step s = {.size = sizeof(s), .kind = DP_STEP_SUB, .program = inner, .n_rets = 1};
    dp_ref yes;
    ck_assert_int_eq(dp_builder_constant(b, "yes", &v, &yes), 0);
    s.kwargs = (dp_ref_kwarg[]){{"c", yes}, {"x", t}, {"y", k}};
    s.n_kwargs = 3;
    ck_assert_int_eq(dp_builder_add(b, &s, &picked, NULL), 0);
    expect(add(b, 1, "t::same_", &picked, 1, NULL), DP_EVALUE, "which is a constant");
    dp_builder_free(b);
}
END_TEST

START_TEST(text_tells_what_shares_memory)
{
    dp_program *p = read_program("in x Tensor; a = t::same_(x); b = v::view(a); c = t::fresh(a);"
                                 "l = [x, c]; out a a; out b b; out c c; out d c; out l l");
    const char *lines = strstr(dp_program_text(p, dp_ctx_arena(ctx)), "  writes");

    ck_assert_str_eq(lines, "  writes to x\n"
                            "  output a is input x\n"
                            "  output b is a view of input x\n"
                            "  output d is output c\n"
                            "  output l may share memory with several values\n");
    dp_program_unref(p);
}
END_TEST

UNIT_SUITE(alias)
{
    tcase_add_checked_fixture(tc, setup_views, teardown_views);
    tcase_add_test(tc, outputs_and_inputs_share_memory_by_schemas);
    tcase_add_test(tc, lists_of_written_tensors_are_written);
    tcase_add_test(tc, programs_that_steps_run_share_memory);
    tcase_add_test(tc, constants_share_memory_with_no_output);
    tcase_add_test(tc, text_tells_what_shares_memory);
}
