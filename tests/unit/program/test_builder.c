/* test_builder.c -- names in a builder. */
#include "programs.h"

START_TEST(program_names_are_unique_and_known)
{
    dp_ref in, r, other;
    dp_builder *b = begin(&in);
    dp_value two = dp_int(2);

    expect(dp_builder_input(b, "x", "Tensor", &r), DP_EEXISTS, "'x' is an input already");
    expect(dp_builder_input(b, "z", "Tenser q, int", &r), DP_EVALUE, "but got 'Tenser q, int'");
    ck_assert_int_eq(dp_builder_constant(b, "k", &two, &r), 0);
    expect(dp_builder_constant(b, "k", &two, &r), DP_EEXISTS, "'k' is a constant already");
    ck_assert_int_eq(add(b, 3, "t::fresh", &in, 1, &r), 0);
    ck_assert_int_eq(dp_builder_name(b, "y", r, 3), 0);
    expect(dp_builder_name(b, "y", r, 4), DP_EEXISTS, "'y' is made by step 3 already");
    expect(dp_builder_find(b, "yy", &other), DP_ENOTFOUND, "is called 'yy'");
    for (int i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        ck_assert_int_eq(dp_builder_name(b, name, r, 3), 0);
    }
    ck_assert_int_eq(dp_builder_find(b, "y", &other), 0);
    ck_assert_uint_eq(other, r);
    expect(dp_builder_input(b, "late", NULL, &r), DP_EVALUE, "after the first step");
    dp_builder_free(b);
}
END_TEST

/* A program of one step that stands for `n` steps of its author. */
static dp_program *merged(const char *op, const uint32_t *origins, size_t n)
{
    dp_ref t;
    dp_builder *b = begin(&t);
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_CALL,
                 .name = op,
                 .args = &t,
                 .n_args = 1,
                 .n_rets = 1,
                 .origin = 99,
                 .origins = origins,
                 .n_origins = n};

    ck_assert_int_eq(add(b, 1, "t::fresh", &t, 1, NULL), 0);
    if (dp_builder_add(b, &s, &t, NULL) == 0)
        return end(b, t);
    dp_builder_free(b);
    return NULL;
}

START_TEST(errors_name_all_the_steps_that_one_step_replaces)
{
    static const uint32_t origins[] = {3, 5, 7, 8, 9, 11, 4000000000, 13};
    static const struct {
        size_t n;
        const char *starts;
    } cases[] = {{0, "step 99: "},
                 {1, "step 3: "},
                 {2, "steps 3 and 5: "},
                 {6, "steps 3, 5, 7, 8, 9 and 11: "},
                 {7, "steps 3, 5, 7, 8, 9, 11 and 1 more: "}};
    dp_step_info s = {.size = sizeof(s)};
    dp_value out;
    dp_run r;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_ptr_null(merged("t::nothing", origins, cases[i].n));
        expect(DP_ENOTFOUND, DP_ENOTFOUND, cases[i].starts);
        dp_program *p = merged("t::fails", origins, cases[i].n);
        expect(run1(p, &out, &r), DP_ERUNTIME, cases[i].starts);
        ck_assert_int_eq(r.step, cases[i].n > 0 ? 3 : 99);
        dp_program_step(p, 1, &s);
        ck_assert_uint_eq(s.n_origins, cases[i].n > 0 ? cases[i].n : 1);
        for (size_t k = 0; k < cases[i].n; k++)
            ck_assert_uint_eq(s.origins[k], origins[k]);
        ck_assert_uint_eq(s.origin, s.origins[0]);
        dp_program_step(p, 0, &s);
        ck_assert_uint_eq(s.n_origins, 1);
        ck_assert_uint_eq(s.origins[0], 1);
        dp_program_unref(p);
    }
    ck_assert_ptr_null(merged("t::fresh", origins, DP_LIMIT_PROGRAM_ARGUMENTS));
    expect(DP_ERESOURCE, DP_ERESOURCE, "more than 1048576 origins of steps (program_arguments)");
}
END_TEST

UNIT_SUITE(builder)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, program_names_are_unique_and_known);
    tcase_add_test(tc, errors_name_all_the_steps_that_one_step_replaces);
}
