/* test_scalar.c -- the operations of SCALAR steps. */
#include "programs.h"
#include <math.h>

/* Run operation `name` on `args` as a program of one step; the context's error where it fails. */
static int compute(const char *name, const dp_value *args, size_t n, dp_value *out)
{
    dp_builder *b;
    dp_program *p;
    dp_ref refs[2], y;
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_SCALAR,
                 .name = name,
                 .args = refs,
                 .n_args = n,
                 .n_rets = 1};

    ck_assert_int_eq(dp_builder_new(ctx, &b), 0);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(dp_builder_input(b, NULL, NULL, &refs[i]), 0);
    int rc = dp_builder_add(b, &s, &y, NULL);
    if (rc == 0)
        rc = dp_builder_output(b, "y", y);
    if (rc == 0)
        rc = dp_builder_finish(b, &p);
    dp_builder_free(b);
    if (rc < 0)
        return rc;
    dp_run r = {.size = sizeof(r), .inputs = args, .outputs = out};
    rc = dp_program_run(ctx, p, &r);
    dp_program_unref(p);
    return rc;
}

static const struct {
    const char *name;
    dp_value a, b, want;
} cases[] = {
#define I(x)                                                                                       \
    {                                                                                              \
        DP_TAG_INT, 0,                                                                             \
        {                                                                                          \
            .i = (x)                                                                               \
        }                                                                                          \
    }
#define D(x)                                                                                       \
    {                                                                                              \
        DP_TAG_DOUBLE, 0,                                                                          \
        {                                                                                          \
            .d = (x)                                                                               \
        }                                                                                          \
    }
#define B(x)                                                                                       \
    {                                                                                              \
        DP_TAG_BOOL, 0,                                                                            \
        {                                                                                          \
            .b = (x)                                                                               \
        }                                                                                          \
    }
#define S(x)                                                                                       \
    {                                                                                              \
        DP_TAG_STR, sizeof(x) - 1,                                                                 \
        {                                                                                          \
            .s = (x)                                                                               \
        }                                                                                          \
    }
    {"add", I(2), I(3), I(5)},
    {"add", I(2), D(0.5), D(2.5)},
    {"add", B(true), I(3), I(4)},
    {"sub", I(2), I(3), I(-1)},
    {"mul", D(2), D(-3), D(-6)},
    {"div", I(1), I(2), D(0.5)},
    {"div", I(1), I(0), D(INFINITY)},
    {"pow", I(2), I(10), D(1024)},
    {"floordiv", I(-7), I(2), I(-4)},
    {"floordiv", D(-7), I(2), D(-4)},
    {"mod", I(-7), I(2), I(1)},
    {"mod", D(-7.5), I(2), D(0.5)},
    {"max", I(2), I(3), I(3)},
    {"min", D(2), I(3), D(2)},
    {"eq", I(2), D(2), B(true)},
    {"eq", S("mean"), S("mean"), B(true)},
    {"eq", S("mean"), S("sum"), B(false)},
    {"ne", S("mean"), I(1), B(true)},
    {"lt", I(2), I(3), B(true)},
    {"le", I(3), I(3), B(true)},
    {"gt", D(2.5), I(2), B(true)},
    {"ge", D(1.5), I(2), B(false)},
    {"and", B(true), I(0), B(false)},
    {"or", B(false), I(7), B(true)},
};

static void check_value(const char *name, const dp_value *got, const dp_value *want)
{
    ck_assert_msg(got->tag == want->tag, "%s: tag %u, want %u", name, got->tag, want->tag);
    if (want->tag == DP_TAG_DOUBLE)
        ck_assert_msg(got->u.d == want->u.d, "%s: %g, want %g", name, got->u.d, want->u.d);
    else if (want->tag == DP_TAG_BOOL)
        ck_assert_msg(got->u.b == want->u.b, "%s: %d, want %d", name, got->u.b, want->u.b);
    else
        ck_assert_msg(got->u.i == want->u.i, "%s: %lld, want %lld", name, (long long)got->u.i,
                      (long long)want->u.i);
}

START_TEST(operations_have_pythons_results)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        dp_value args[2] = {cases[i].a, cases[i].b}, got;
        ck_assert_msg(compute(cases[i].name, args, 2, &got) == 0, "%s: %s", cases[i].name,
                      dp_ctx_error(ctx)->message);
        check_value(cases[i].name, &got, &cases[i].want);
    }
}
END_TEST

START_TEST(operations_of_one_number)
{
    dp_value got, none = {0}, two = dp_int(2), complex = {DP_TAG_COMPLEX, 0, {0}};
    double parts[2] = {1, -2};

    ck_assert_int_eq(compute("neg", &two, 1, &got), 0);
    check_value("neg", &got, &(dp_value){DP_TAG_INT, 0, {.i = -2}});
    ck_assert_int_eq(compute("not", &two, 1, &got), 0);
    check_value("not", &got, &(dp_value){DP_TAG_BOOL, 0, {.b = false}});
    ck_assert_int_eq(compute("is_none", &none, 1, &got), 0);
    check_value("is_none", &got, &(dp_value){DP_TAG_BOOL, 0, {.b = true}});
    complex.u.doubles = parts;
    ck_assert_int_eq(compute("conj", &complex, 1, &got), 0);
    ck_assert_uint_eq(got.tag, DP_TAG_COMPLEX);
    ck_assert_double_eq(got.u.doubles[1], 2);
}
END_TEST

START_TEST(what_has_no_result_is_an_error)
{
    dp_value got, zero[2] = {dp_int(1), dp_int(0)}, most[2] = {dp_int(INT64_MAX), dp_int(1)};
    dp_value lowest[2] = {dp_int(INT64_MIN), dp_int(-1)};
    dp_value text[2] = {{DP_TAG_STR, 1, {.s = "x"}}, dp_int(1)};

    ck_assert_int_eq(compute("floordiv", zero, 2, &got), DP_EVALUE);
    ck_assert_int_eq(compute("mod", zero, 2, &got), DP_EVALUE);
    ck_assert_int_eq(compute("add", most, 2, &got), DP_EVALUE);
    ck_assert_int_eq(compute("floordiv", lowest, 2, &got), DP_EVALUE);
    ck_assert_int_eq(compute("neg", lowest, 1, &got), DP_EVALUE);
    ck_assert_int_eq(compute("add", text, 2, &got), DP_ETYPE);
    ck_assert_int_eq(compute("add", most, 1, &got), DP_ETYPE);
    ck_assert_int_eq(compute("adds", most, 2, &got), DP_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(dp_ctx_error(ctx)->message, "nearest: "));
}
END_TEST

UNIT_SUITE(scalar)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, operations_have_pythons_results);
    tcase_add_test(tc, operations_of_one_number);
    tcase_add_test(tc, what_has_no_result_is_an_error);
}
