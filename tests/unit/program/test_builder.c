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

UNIT_SUITE(builder)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, program_names_are_unique_and_known);
}
