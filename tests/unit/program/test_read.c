/* test_read.c -- programs that are written as text. */
#include "programs.h"

/* The program of `text`; NULL: the context's error says why. */
static dp_program *read_text(const char *text)
{
    dp_builder *b;
    dp_program *p = NULL;

    ck_assert_int_eq(dp_builder_new(ctx, &b), 0);
    if (dp_builder_text(b, text) == 0)
        ck_assert_int_eq(dp_builder_finish(b, &p), 0);
    dp_builder_free(b);
    return p;
}

START_TEST(text_with_every_statement)
{
    static const char text[] = "in x Tensor\n"
                               "in k int?\n"
                               "n = scalar is_none(k) # a test\n"
                               "a = t::scaled(x, 2.5, other=none); p, q = t::two(x)\n"
                               "s = get sizes(a); l = [a, x]; i = l[1]\n"
                               "j = t::join(l)\n"
                               "m = when n: t::shaped(i, [1], 'float32')\n"
                               "z = t::shaped(i, s)\n"
                               "y = select(n, m, z)\n"
                               "t::quiet(x); t::quiet(x=y)\n"
                               "out y y; out j j\n"
                               "out none none; out half -0.5";
    static const char *const parts[] = {
        "program(Tensor x, int? k)",
        "n = scalar is_none(k)",
        "t::scaled(x, 2.5, None)",
        "t::two(x)",
        "get sizes(a)",
        "l = [a, x]",
        "when n: t::shaped(i, [1], 'float32')",
        "y = select(n, m, z)",
        "t::quiet(x)",
        "t::quiet(y)",
    };
    dp_program *p = read_text(text);

    ck_assert_msg(p == NULL, "t::two is not defined, and the text was taken");
    ck_assert_ptr_nonnull(strstr(dp_ctx_error(ctx)->message, "t::two"));
    char *good = strdup(text), *two = strstr(good, "p, q = t::two(x)");
    memset(two, ' ', strlen("p, q = t::two(x)"));
    p = read_text(good);
    ck_assert_msg(p != NULL, "%s", dp_ctx_error(ctx)->message);
    const char *shown = dp_program_text(p, dp_ctx_arena(ctx));
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (i != 3)
            ck_assert_msg(strstr(shown, parts[i]) != NULL, "no '%s' in\n%s", parts[i], shown);
    dp_value in[2] = {dp_tensor_value(x), {0}}, out[4];
    dp_run r = {.size = sizeof(r), .inputs = in, .outputs = out};
    ck_assert_msg(dp_program_run(ctx, p, &r) == 0, "%s", dp_ctx_error(ctx)->message);
    ck_assert_uint_eq(out[0].tag, DP_TAG_TENSOR);
    ck_assert_uint_eq(out[2].tag, DP_TAG_NONE);
    ck_assert_double_eq(out[3].u.d, -0.5);
    dp_values_release(out, 4);
    dp_program_unref(p);
    free(good);
}
END_TEST

START_TEST(wrong_text_is_named_by_its_line)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"in x Tensor\ny = t::fresh(x", "line 2 of the program: no comma"},
        {"in x", "line 1 of the program: no type of an input"},
        {"in x Tensor\n\ny t::fresh(x)", "line 3 of the program: no '='"},
        {"in x Tensor\ny = t::fresh(z)", "'z'"},
        {"in x Tensor\ny = t::fresh(x) x", "line 2 of the program: something after"},
        {"in x Tensor\ny = t::scaled(x, 'a)", "a string without its end"},
        {"in x Tensor\ny = t::shaped(x, [1, 2.5])", "a list of ints with something else"},
        {"in x Tensor\ny = when x t::fresh(x)", "line 2 of the program: no condition"},
        {"in x Tensor\ny = x[0.5]", "line 2 of the program: no index"},
        {"in x Tensor\nout y", "no argument"},
        {"= 3", "line 1 of the program: no statement"},
        {"in x Tensor\nx = t::fresh(x)", "'x'"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        dp_program *p = read_text(cases[i].text);
        ck_assert_msg(p == NULL, "'%s' was taken", cases[i].text);
        ck_assert_msg(strstr(dp_ctx_error(ctx)->message, cases[i].message) != NULL,
                      "'%s': got '%s', want '%s'", cases[i].text, dp_ctx_error(ctx)->message,
                      cases[i].message);
    }
}
END_TEST

START_TEST(a_step_that_fails_is_named_by_its_line)
{
    dp_program *p = read_text("in x Tensor\n\ny = t::fails(x)\nout y y");
    dp_value in[1] = {dp_tensor_value(x)}, out[1];
    dp_run r = {.size = sizeof(r), .inputs = in, .outputs = out};

    ck_assert_msg(p != NULL, "%s", dp_ctx_error(ctx)->message);
    expect(dp_program_run(ctx, p, &r), DP_ERUNTIME, "line 3: it fails");
    ck_assert_int_eq(r.step, 3);
    dp_program_unref(p);
    ck_assert_ptr_null(read_text("in x Tensor\ny = t::fresh(x)\ny = t::fresh(x)\nout y y"));
    expect(DP_EEXISTS, DP_EEXISTS, "name 'y' is made by line 2 already");
}
END_TEST

UNIT_SUITE(read)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, text_with_every_statement);
    tcase_add_test(tc, wrong_text_is_named_by_its_line);
    tcase_add_test(tc, a_step_that_fails_is_named_by_its_line);
}
