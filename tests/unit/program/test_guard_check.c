/* test_guard_check.c -- a run whose inputs break a guard of the program fails. */
#include "programs.h"

static dp_tensor *shaped_as(int64_t rows, int64_t columns, const int64_t *strides)
{
    dp_error err = DP_ERROR_INIT;
    const int64_t sizes[2] = {rows, columns};
    dp_tensor *t = NULL;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 2, sizes, strides, &t, &err), 0);
    return t;
}

/* Return a program of input x with guard `g`, which writes x if `writes`. */
static dp_program *with(dp_input_guard g, bool writes)
{
    dp_ref r, y;
    dp_builder *b = begin(&r);
    dp_input_guard apart = {.size = sizeof(g), .kind = DP_GUARD_APART};

    ck_assert_int_eq(dp_builder_input(b, "z", NULL, &y), 0);
    g.size = sizeof(g);
    ck_assert_int_eq(dp_builder_guard(b, &g), 0);
    g.of.input = 1;
    if (g.kind == DP_GUARD_TENSOR && writes) {
        ck_assert_int_eq(dp_builder_guard(b, &g), 0);
        ck_assert_int_eq(dp_builder_guard(b, &apart), 0);
    }
    if (writes)
        ck_assert_int_eq(add(b, 0, "t::same_", &r, 1, &r), 0);
    return end(b, r);
}

static int run2(const dp_program *p, dp_value first, dp_value second)
{
    const dp_value in[2] = {first, second};
    dp_value out;
    dp_run r = {.size = sizeof(r), .inputs = in, .outputs = &out};
    int rc = dp_program_run(ctx, p, &r);

    if (rc == 0)
        dp_values_release(&out, 1);
    return rc;
}

START_TEST(tensors_are_checked)
{
    static const int64_t want[2] = {-1, 3}, dense[2] = {3, 1}, turned[2] = {1, 4};
    dp_program *p = with((dp_input_guard){.kind = DP_GUARD_TENSOR,
                                          .of = {0, -1, 0},
                                          .dtype = DP_FLOAT32,
                                          .device = DP_DEVICE_CPU,
                                          .ndim = 2,
                                          .sizes = want,
                                          .strides = dense,
                                          .offset = 0},
                         false);
    dp_tensor *good = shaped_as(7, 3, NULL), *wide = shaped_as(7, 4, NULL),
              *other = shaped_as(4, 3, turned), *one = shaped_as(1, 3, NULL);

    ck_assert_int_eq(run2(p, dp_tensor_value(good), dp_none()), 0);
    ck_assert_int_eq(run2(p, dp_tensor_value(one), dp_none()), 0);
    expect(run2(p, dp_tensor_value(wide), dp_none()), DP_EVALUE,
           "input 'x' has size 4 in dimension 1, but the program was captured for size 3");
    expect(run2(p, dp_tensor_value(other), dp_none()), DP_EVALUE, "has stride 1 in dimension 0");
    expect(run2(p, dp_tensor_value(x), dp_none()), DP_EVALUE, "has 1 dimensions");
    expect(run2(p, dp_int(3), dp_none()), DP_EVALUE, "input 'x' is int");
    dp_tensor_unref(good);
    dp_tensor_unref(wide);
    dp_tensor_unref(other);
    dp_tensor_unref(one);
    dp_program_unref(p);
}
END_TEST

START_TEST(values_and_lengths_are_checked)
{
    const dp_value four = dp_int(4);
    int64_t two[2] = {1, 2};
    dp_program *p =
        with((dp_input_guard){.kind = DP_GUARD_VALUE, .of = {1, -1, 0}, .value = &four}, false);
    dp_program *q =
        with((dp_input_guard){.kind = DP_GUARD_LENGTH, .of = {1, -1, 0}, .number = 2}, false);

    ck_assert_int_eq(run2(p, dp_tensor_value(x), dp_int(4)), 0);
    expect(run2(p, dp_tensor_value(x), dp_int(5)), DP_EVALUE,
           "input 'z' is 5, but the program was");
    expect(run2(p, dp_tensor_value(x), dp_double(4)), DP_EVALUE, "input 'z' is 4");
    ck_assert_int_eq(run2(q, dp_tensor_value(x), dp_ints(two, 2)), 0);
    expect(run2(q, dp_tensor_value(x), dp_ints(two, 1)), DP_EVALUE, "has 1 items");
    expect(run2(q, dp_tensor_value(x), dp_int(1)), DP_EVALUE, "captured for a list");
    dp_program_unref(p);
    dp_program_unref(q);
}
END_TEST

START_TEST(sizes_and_storages_are_checked)
{
    dp_program *least =
        with((dp_input_guard){.kind = DP_GUARD_SIZE, .number = 2, .of = {0, -1, 0}}, false);
    dp_program *equal = with(
        (dp_input_guard){.kind = DP_GUARD_EQUAL, .of = {0, -1, 0}, .other = {1, -1, 1}}, false);
    dp_program *share = with(
        (dp_input_guard){
            .kind = DP_GUARD_SHARE, .of = {1, -1, 0}, .other = {0, -1, 0}, .number = 4},
        false);
    dp_tensor *a = shaped_as(2, 3, NULL), *b = NULL;
    const int64_t n = 1;

    ck_assert_int_eq(dp_as_strided(ctx, a, 1, &n, &n, 1, &b), 0);
    ck_assert_int_eq(run2(least, dp_tensor_value(a), dp_none()), 0);
    expect(run2(least, dp_tensor_value(x), dp_none()), DP_EVALUE, "sizes of at least 2");
    ck_assert_int_eq(run2(equal, dp_tensor_value(a), dp_tensor_value(a)) == 0, false);
    expect(run2(equal, dp_tensor_value(a), dp_tensor_value(a)), DP_EVALUE,
           "input 'x' has size 2 in dimension 0, but the program holds where it is that of input "
           "'z' in dimension 1, which is 3");
    expect(run2(equal, dp_tensor_value(a), dp_tensor_value(x)), DP_EVALUE, "no dimension 1");
    ck_assert_int_eq(run2(share, dp_tensor_value(a), dp_tensor_value(b)), 0);
    expect(run2(share, dp_tensor_value(a), dp_tensor_value(a)), DP_EVALUE, "begins 0 bytes after");
    expect(run2(share, dp_tensor_value(a), dp_tensor_value(x)), DP_EVALUE, "another storage");
    dp_tensor_unref(a);
    dp_tensor_unref(b);
    dp_program_unref(least);
    dp_program_unref(equal);
    dp_program_unref(share);
}
END_TEST

START_TEST(an_input_that_is_written_is_apart_from_others)
{
    static const int64_t n = 1;
    dp_program *p = with((dp_input_guard){.kind = DP_GUARD_TENSOR,
                                          .of = {0, -1, 0},
                                          .dtype = DP_FLOAT32,
                                          .device = DP_DEVICE_CPU,
                                          .ndim = 1,
                                          .sizes = &n,
                                          .strides = &n,
                                          .offset = -1},
                         true);
    dp_tensor *all = shaped_as(2, 3, NULL), *a = NULL, *b = NULL;

    ck_assert_int_eq(dp_as_strided(ctx, all, 1, &n, &n, 1, &a), 0);
    ck_assert_int_eq(dp_as_strided(ctx, all, 1, &n, &n, 2, &b), 0);
    ck_assert_int_eq(run2(p, dp_tensor_value(a), dp_tensor_value(b)), 0);
    expect(run2(p, dp_tensor_value(a), dp_tensor_value(a)), DP_EVALUE,
           "input 'x' is written and overlaps with input 'z'");
    dp_tensor_unref(all);
    dp_tensor_unref(a);
    dp_tensor_unref(b);
    dp_program_unref(p);
}
END_TEST

UNIT_SUITE(guard_check)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, tensors_are_checked);
    tcase_add_test(tc, values_and_lengths_are_checked);
    tcase_add_test(tc, sizes_and_storages_are_checked);
    tcase_add_test(tc, an_input_that_is_written_is_apart_from_others);
}
