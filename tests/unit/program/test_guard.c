/* test_guard.c -- guards of a program: added, described, copied. */
#include "programs.h"

static dp_input_guard size_guard(uint32_t input, int64_t least)
{
    return (dp_input_guard){.size = sizeof(dp_input_guard),
                            .kind = DP_GUARD_SIZE,
                            .of = {input, -1, 0},
                            .number = least};
}

static const int64_t sizes[2] = {-1, 3}, strides[2] = {3, 1};

/* Return a program with a guard of each form that has pointers; NULL: no memory. */
static dp_program *guarded(void)
{
    const dp_value v = {DP_TAG_STR, 4, {.s = "mean"}};
    const dp_input_guard tensor = {.size = sizeof(tensor),
                                   .kind = DP_GUARD_TENSOR,
                                   .of = {0, -1, 0},
                                   .dtype = DP_FLOAT32,
                                   .device = DP_DEVICE_CPU,
                                   .ndim = 2,
                                   .sizes = sizes,
                                   .strides = strides,
                                   .offset = -1};
    const dp_input_guard value = {
        .size = sizeof(value), .kind = DP_GUARD_VALUE, .of = {1, -1, 0}, .value = &v};
    dp_builder *b = NULL;
    dp_program *p = NULL;
    dp_ref in[2];
    dp_input_guard least = size_guard(0, 2);

    int rc = dp_builder_new(ctx, &b);
    if (rc == 0)
        rc = dp_builder_input(b, "x", "Tensor", &in[0]);
    if (rc == 0)
        rc = dp_builder_input(b, "how", "str", &in[1]);
    if (rc == 0)
        rc = dp_builder_guard(b, &tensor);
    if (rc == 0)
        rc = dp_builder_guard(b, &value);
    if (rc == 0)
        rc = dp_builder_guard(b, &least);
    if (rc == 0)
        rc = dp_builder_output(b, "y", in[0]);
    if (rc == 0)
        rc = dp_builder_finish(b, &p);
    ck_assert_int_eq(rc, p != NULL ? 0 : DP_ERESOURCE);
    dp_builder_free(b);
    return p;
}

START_TEST(guards_are_kept_and_printed)
{
    dp_program *p = guarded();
    dp_input_guard g = {.size = sizeof(g)};
    dp_arena *a = dp_arena_new();

    ck_assert_uint_eq(dp_program_guards(p), 3);
    dp_program_guard(p, 0, &g);
    ck_assert_uint_eq(g.kind, DP_GUARD_TENSOR);
    ck_assert_ptr_ne(g.sizes, sizes);
    ck_assert_mem_eq(g.sizes, sizes, sizeof(sizes));
    ck_assert_mem_eq(g.strides, strides, sizeof(strides));
    dp_program_guard(p, 1, &g);
    ck_assert_str_eq(g.value->u.s, "mean");
    ck_assert_str_eq(dp_program_guard_text(p, 0, a),
                     "x is float32 on cpu, sizes [s0, 3] dense, ordered as strides [3, 1]");
    ck_assert_str_eq(dp_program_guard_text(p, 1, a), "how == 'mean'");
    ck_assert_str_eq(dp_program_guard_text(p, 2, a), "x.size(0) >= 2");
    dp_arena_free(a);
    dp_program_unref(p);
}
END_TEST

START_TEST(guards_are_copied_by_the_names_of_inputs)
{
    dp_program *p = guarded(), *q = NULL;
    dp_input_guard g = {.size = sizeof(g)};
    dp_builder *b;
    dp_ref in[2];

    ck_assert_int_eq(dp_builder_new(ctx, &b), 0);
    ck_assert_int_eq(dp_builder_input(b, "how", "str", &in[0]), 0);
    expect(dp_builder_guards_of(b, p), DP_EVALUE, "a guard of input 'x'");
    ck_assert_int_eq(dp_builder_input(b, "x", "Tensor", &in[1]), 0);
    ck_assert_int_eq(dp_builder_guards_of(b, p), 0);
    ck_assert_int_eq(dp_builder_finish(b, &q), 0);
    dp_builder_free(b);
    ck_assert_uint_eq(dp_program_guards(q), 3);
    dp_program_guard(q, 2, &g);
    ck_assert_uint_eq(g.of.input, 1);
    dp_program_unref(p);
    dp_program_unref(q);
}
END_TEST

START_TEST(guards_that_are_not_valid)
{
    dp_ref r;
    dp_builder *b = begin(&r);
    const dp_value t = dp_tensor_value(x);
    dp_input_guard g = size_guard(1, 2);

    expect(dp_builder_guard(b, &g), DP_EVALUE, "guard of kind 4 of input 1 is not valid");
    g = size_guard(0, 2);
    g.kind = DP_GUARD_END;
    expect(dp_builder_guard(b, &g), DP_EVALUE, "guard of kind 8");
    g = (dp_input_guard){.size = sizeof(g), .kind = DP_GUARD_VALUE, .value = &t};
    expect(dp_builder_guard(b, &g), DP_EVALUE, "guard of kind 2");
    g = (dp_input_guard){.size = sizeof(g), .kind = DP_GUARD_TENSOR, .ndim = DP_DIM_MAX + 1};
    expect(dp_builder_guard(b, &g), DP_EVALUE, "guard of kind 1");
    dp_builder_free(b);
}
END_TEST

START_TEST(guards_at_the_nth_allocation_that_fails)
{
    dp_program *p = NULL;

    for (uint64_t n = 1; p == NULL; n++) {
        dp_fault_arm(n);
        p = guarded();
        dp_fault_arm(0);
        ck_assert_uint_lt(n, 100);
    }
    dp_program_unref(p);
}
END_TEST

UNIT_SUITE(guard)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, guards_are_kept_and_printed);
    tcase_add_test(tc, guards_are_copied_by_the_names_of_inputs);
    tcase_add_test(tc, guards_that_are_not_valid);
    tcase_add_test(tc, guards_at_the_nth_allocation_that_fails);
}
