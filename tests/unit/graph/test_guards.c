/* test_guards.c -- guards of inner programs become those of the program in which they are inlined,
 * where that is the same; else the step stays. */
#include "passes_fixture.h"

static const int64_t sizes[2] = {4, 3}, plain[2] = {3, 1}, turned[2] = {1, 4};

static dp_input_guard geometry(uint32_t input, const int64_t *strides)
{
    return (dp_input_guard){.size = sizeof(dp_input_guard),
                            .kind = DP_GUARD_TENSOR,
                            .of = {input, -1, 0},
                            .dtype = DP_FLOAT32,
                            .device = DP_DEVICE_CPU,
                            .ndim = 2,
                            .sizes = sizes,
                            .strides = strides,
                            .offset = -1};
}

/* Return the program of `text` with `n` guards. */
static dp_program *guarded(const char *text, const dp_input_guard *guards, uint32_t n)
{
    dp_builder *b;
    dp_program *p = NULL;

    ck_assert_int_eq(dp_builder_new(ctx, &b), 0);
    int rc = dp_builder_text(b, text);
    for (uint32_t i = 0; i < n && rc == 0; i++)
        rc = dp_builder_guard(b, &guards[i]);
    if (rc == 0)
        rc = dp_builder_finish(b, &p);
    ck_assert_msg(rc == 0, "%s", dp_ctx_error(ctx)->message);
    dp_builder_free(b);
    return p;
}

/* Return the program of `text` with one more step, which runs `inner` on the values that args [n]
 * name; NULL: on a constant.  `inner` is released. */
static dp_program *around(const char *text, dp_program *inner, const char *const *args, uint32_t n)
{
    dp_builder *b;
    dp_program *p = NULL;
    dp_ref_kwarg kwargs[4];
    dp_ref out;
    int rc = dp_builder_new(ctx, &b);

    if (rc == 0)
        rc = dp_builder_text(b, text);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        kwargs[i].name = dp_program_input_name(inner, i);
        if (args[i] != NULL) {
            rc = dp_builder_find(b, args[i], &kwargs[i].value);
            continue;
        }
        dp_tensor *t = tensor_of(0);
        dp_value v = dp_tensor_value(t);
        rc = dp_builder_constant(b, "k", &v, &kwargs[i].value);
        dp_tensor_unref(t);
    }
    const dp_step s = {.size = sizeof(s),
                       .kind = DP_STEP_SUB,
                       .program = inner,
                       .n_rets = 1,
                       .kwargs = kwargs,
                       .n_kwargs = n};
    if (rc == 0)
        rc = dp_builder_add(b, &s, &out, NULL);
    if (rc == 0)
        rc = dp_builder_output(b, "out", out);
    if (rc == 0)
        rc = dp_builder_finish(b, &p);
    ck_assert_msg(rc == 0, "%s", dp_ctx_error(ctx)->message);
    dp_builder_free(b);
    dp_program_unref(inner);
    return p;
}

static const char *const adds = "in x Tensor\nin y Tensor\na = aten::add(x, y)\nout a a";
static const char *const writes = "in x Tensor\nin y Tensor\na = aten::add_(x, y)\nout a a";

static dp_program *inner_of(const char *text, const int64_t *x, const int64_t *y)
{
    const dp_input_guard guards[3] = {
        geometry(0, x), geometry(1, y), {.size = sizeof(guards[0]), .kind = DP_GUARD_APART}};

    return guarded(text, guards, 3);
}

/* Inline `p`, and check the result's depth and number of guards, and that it does the same. */
static void check_inlined(dp_program *p, uint32_t depth, uint32_t n_guards)
{
    dp_program *q = pass(dp_program_ref(p), "inline");

    ck_assert_msg(q->depth == depth, "%s", text_of(q));
    ck_assert_msg(dp_program_guards(q) == n_guards, "%s", text_of(q));
    check_same(p, q);
    dp_program_unref(q);
    dp_program_unref(p);
}

static const char *const two = "in a Tensor\nin b Tensor\n";

START_TEST(guards_of_inputs_rise)
{
    static const char *const args[] = {"b", "a"}, *const same[] = {"a", "a"};
    dp_program *p = around(two, inner_of(adds, turned, plain), args, 2);
    dp_program *q = pass(dp_program_ref(p), "inline");

    ck_assert_str_eq(dp_program_guard_text(q, 0, arena),
                     "b is float32 on cpu, sizes [4, 3] strides [1, 4]");
    dp_program_unref(q);
    check_inlined(p, 1, 2);
    check_inlined(around(two, inner_of(writes, turned, plain), args, 2), 1, 3);
    check_inlined(around(two, inner_of(adds, plain, plain), same, 2), 1, 2);
    /* a run fails before and after, with the message of another input */
    p = around(two, inner_of(adds, plain, plain), args, 2);
    q = pass(dp_program_ref(p), "inline");
    outcome o;
    run_program(q, 0, &o);
    ck_assert_int_eq(o.rc, DP_EVALUE);
    ck_assert_msg(strstr(o.message, "input 'b' has stride 1") != NULL, "%s", o.message);
    release(q, &o);
    dp_program_unref(q);
    dp_program_unref(p);
}
END_TEST

START_TEST(guards_of_constants_are_checked_at_once)
{
    static const char *const args[] = {"a", NULL};

    check_inlined(around(two, inner_of(adds, plain, plain), args, 2), 1, 1);
    dp_program *p = around(two, inner_of(adds, plain, turned), args, 2), *q;
    q = pass(dp_program_ref(p), "inline"); /* a run fails: as the step does */
    ck_assert_uint_eq(q->depth, 2);
    ck_assert_str_eq(dp_ctx_error(ctx)->message, "");
    dp_program_unref(q);
    dp_program_unref(p);
}
END_TEST

START_TEST(a_step_whose_guards_cannot_rise_stays)
{
    static const char *const args[] = {"a", "b"}, *const made[] = {"a", "c"},
                             *const same[] = {"a", "a"}, *const constant[] = {"a", NULL};
    static const char *const makes = "in a Tensor\nin b Tensor\nc = aten::clone(b)\n";
    static const char *const turns = "in a Tensor\nin b Tensor\nc = aten::t_(b)\nd = aten::t_(c)\n";
    static const char *const resizes = "in a Tensor\nin b Tensor\nc = aten::add.out(b, 1, out=a)\n";

    check_inlined(around(makes, inner_of(adds, plain, turned), made, 2), 2, 0);
    check_inlined(around(turns, inner_of(adds, plain, turned), args, 2), 2, 0);
    check_inlined(around(resizes, inner_of(adds, plain, turned), args, 2), 2, 0);
    dp_program *p = around(two, inner_of(writes, plain, plain), same, 2), *q;
    q = pass(dp_program_ref(p), "inline"); /* x is y, which the guard of written inputs refuses */
    ck_assert_uint_eq(q->depth, 2);
    dp_program_unref(q);
    dp_program_unref(p);
    check_inlined(around(two, inner_of(writes, plain, plain), constant, 2), 2, 0);
}
END_TEST

START_TEST(inlining_at_the_nth_allocation_that_fails)
{
    static const char *const args[] = {"b", "a"};
    dp_program *p = around(two, inner_of(writes, turned, plain), args, 2), *q = NULL;
    int rc = DP_ERESOURCE;

    for (uint64_t n = 1; rc == DP_ERESOURCE; n++) {
        dp_fault_arm(n);
        rc = dp_program_inline(ctx, p, &q);
        dp_fault_arm(0);
        ck_assert_uint_lt(n, 300);
    }
    ck_assert_int_eq(rc, 0);
    dp_program_unref(q);
    dp_program_unref(p);
}
END_TEST

UNIT_SUITE(guards)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, guards_of_inputs_rise);
    tcase_add_test(tc, guards_of_constants_are_checked_at_once);
    tcase_add_test(tc, a_step_whose_guards_cannot_rise_stays);
    tcase_add_test(tc, inlining_at_the_nth_allocation_that_fails);
}
