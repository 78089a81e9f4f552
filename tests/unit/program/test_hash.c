/* test_hash.c -- the content hash: equal for one program built in several ways, else different. */
#include "programs.h"

static bool same_hash(const dp_program *a, const dp_program *b)
{
    uint64_t x1[2], x2[2];

    dp_program_hash(a, x1);
    dp_program_hash(b, x2);
    return x1[0] == x2[0] && x1[1] == x2[1];
}

static bool equal(const char *a, const char *b)
{
    dp_program *p = read_program(a), *q = read_program(b);
    bool same = same_hash(p, q);

    dp_program_unref(p);
    dp_program_unref(q);
    return same;
}

START_TEST(the_way_of_building_does_not_count)
{
    static const char *const pairs[][2] = {
        {"in x Tensor; a = t::fresh(x); out a a", "in y Tensor; b = t::fresh(y); out c b"},
        {"in x Tensor; a = t::scaled(x); out a a", "in x Tensor; a = t::scaled(x, 2.0); out a a"},
        {"in x Tensor; a = t::scaled(x, by=2, other=x); out a a",
         "in x Tensor; a = t::scaled(x=x, other=x, by=2.0); out a a"},
        {"in x Tensor; in n any; a = t::over(x=x, y=n); out a a",
         "in x Tensor; in n any; a = t::over(y=n, x=x); out a a"},
        {"in x Tensor; l = [x, x]; m = [x]; a = t::join(l); out a a; out m m",
         "in x Tensor; m = [x]; l = [x, x]; a = t::join(l); out a a; out m m"},
        {"in x Tensor; n = get ndim(x); k = scalar add(n, 1); a = t::fresh(x); out a a; out k k",
         "in x Tensor; n = get ndim(x); a = t::fresh(x); k = scalar add(n, 1); out a a; out k k"},
        {"in x Tensor; a = t::shaped(x, [1, 2]); b = t::shaped(a, [3]); out b b",
         "in x Tensor; a = t::shaped(x, [1, 2], dtype=none); b = t::shaped(a, [3]); out b b"},
    };

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        ck_assert_msg(equal(pairs[i][0], pairs[i][1]), "'%s' and '%s'", pairs[i][0], pairs[i][1]);
}
END_TEST

/* All of these differ from each other. */
static const char *const different[] = {
    "in x Tensor; a = t::fresh(x); out a a",
    "in x Tensor; a = t::fresh(x); out x x",
    "in x Tensor; a = t::fresh(x); out a a; out a2 a",
    "in x Tensor; a = t::fresh(x); b = t::fresh(x); out a a",
    "in x Tensor; a = t::fresh(x); b = t::fresh(x); out b b",
    "in x Tensor; a = t::fresh(x); b = t::fresh(a); out b b",
    "in x Tensor?; a = t::fresh(x); out a a",
    "in x any; a = t::fresh(x); out a a",
    "in x Tensor; a = t::draws(x); out a a",
    "in x Tensor; in y Tensor; a = t::fresh(x); out a a",
    "in x Tensor; in y Tensor; a = t::fresh(y); out a a",
    "in x Tensor; a = t::scaled(x, 2); out a a",
    "in x Tensor; a = t::scaled(x, 3); out a a",
    "in x Tensor; a = t::scaled(x, 2, other=x); out a a",
    "in x Tensor; a = t::over(x, 2); out a a",
    "in x Tensor; a = t::over(x, 2.0); out a a",
    "in x Tensor; a = t::over(x, true); out a a",
    "in x Tensor; a = t::over(x, x); out a a",
    "in x Tensor; in n any; a = t::over(x, n); out a a",
    "in x Tensor; in n any; a = t::over(x, y=n); out a a",
    "in x Tensor; a = t::shaped(x, [1, 2]); out a a",
    "in x Tensor; a = t::shaped(x, [1]); out a a",
    "in x Tensor; a = t::shaped(x, [1], dtype='float32'); out a a",
    "in x Tensor; a = t::shaped(x, [1], dtype='float64'); out a a",
    "in x Tensor; a = get sizes(x); out a a",
    "in x Tensor; a = get strides(x); out a a",
    "in x Tensor; a = get size(x, 0); out a a",
    "in x Tensor; a = get size(x, 1); out a a",
    "in x Tensor; l = t::parts(x); a = l[0]; out a a",
    "in x Tensor; l = t::parts(x); a = l[1]; out a a",
    "in x Tensor; l = t::parts(x); a = l[1]; b = l[7]; out a a",
    "in x Tensor; in c bool; a = t::fresh(x); out a a",
    "in x Tensor; in c bool; a = when c: t::fresh(x); out a a",
    "in x Tensor; in c bool; a = select(c, x, 1); out a a",
    "in x Tensor; in c bool; a = select(c, 1, x); out a a",
    "in n int; in m int; a = scalar add(n, m); out a a",
    "in n int; in m int; a = scalar sub(n, m); out a a",
    "in n int; in m int; a = scalar sub(m, n); out a a",
    "in x Tensor; n = get ndim(x); a = t::same_(x); out a a; out n n",
    "in x Tensor; a = t::same_(x); n = get ndim(x); out a a; out n n",
    "out a 1",
    "out a 2",
    "out a [1]",
    "out a 'a'",
    "out a 'b'",
    "out a none",
};

START_TEST(all_else_counts)
{
    for (size_t i = 0; i < sizeof(different) / sizeof(different[0]); i++)
        for (size_t k = 0; k < i; k++)
            unit_each(!equal(different[i], different[k]), "'%s' and '%s'", different[i],
                      different[k]);
}
END_TEST

/* t::over(c, d) for two constants: 'x', 'y' of the same layout, 'l' longer; '=': c again. */
static dp_program *of_constants(const char *how)
{
    dp_error err = DP_ERROR_INIT;
    dp_ref r[2], t;
    int64_t one = 1, two = 2;
    dp_tensor *y = NULL, *longer = NULL;
    dp_builder *b = begin(&t);

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &one, NULL, &y, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &two, NULL, &longer, &err), 0);
    for (int i = 0; i < 2; i++) {
        dp_value v = dp_tensor_value(how[i] == 'x' ? x : how[i] == 'y' ? y : longer);
        if (how[i] == '=')
            r[i] = r[0];
        else
            ck_assert_int_eq(dp_builder_constant(b, i == 0 ? "a" : NULL, &v, &r[i]), 0);
    }
    ck_assert_int_eq(add(b, 0, "t::over", r, 2, &t), 0);
    dp_tensor_unref(y);
    dp_tensor_unref(longer);
    return end(b, t);
}

START_TEST(tensors_count_by_layout)
{
    static const struct {
        const char *how;
        int class; /* programs of one class have one hash */
    } ways[] = {{"xy", 0}, {"yx", 0}, {"x=", 1}, {"xx", 1}, {"y=", 1},
                {"xl", 2}, {"yl", 2}, {"lx", 3}, {"l=", 4}};
    enum { N = sizeof(ways) / sizeof(ways[0]) };

    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            dp_program *p = of_constants(ways[i].how), *q = of_constants(ways[k].how);
            ck_assert_msg(same_hash(p, q) == (ways[i].class == ways[k].class), "%s and %s",
                          ways[i].how, ways[k].how);
            dp_program_unref(p);
            dp_program_unref(q);
        }
}
END_TEST

static dp_program *in_mode(const dp_step_mode *mode)
{
    dp_ref t;
    dp_builder *b = begin(&t);
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_CALL,
                 .name = "t::fresh",
                 .args = &t,
                 .n_args = 1,
                 .n_rets = 1,
                 .origin = 7,
                 .mode = mode};

    ck_assert_int_eq(dp_builder_add(b, &s, &t, NULL), 0);
    return end(b, t);
}

START_TEST(modes_and_inner_programs_count)
{
    dp_step_mode off = {.size = sizeof(off),
                        .sets = DP_STEP_MODE_GRAD,
                        .mode = {.size = sizeof(dp_mode), .no_grad = true}},
                 on = off;
    on.mode.no_grad = false;
    dp_program *all[] = {in_mode(NULL),
                         in_mode(&off),
                         in_mode(&on),
                         around(in_mode(NULL), 1),
                         around(in_mode(&off), 1),
                         around(in_mode(&off), 2),
                         around(around(in_mode(NULL), 1), 1)};
    dp_program *again = around(in_mode(&off), 1);

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        for (size_t k = 0; k < i; k++)
            ck_assert_msg(!same_hash(all[i], all[k]), "%zu and %zu", i, k);
    ck_assert(same_hash(again, all[4]));
    dp_program_unref(again);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        dp_program_unref(all[i]);
}
END_TEST

UNIT_SUITE(program_hash)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_way_of_building_does_not_count);
    tcase_add_test(tc, all_else_counts);
    tcase_add_test(tc, tensors_count_by_layout);
    tcase_add_test(tc, modes_and_inner_programs_count);
}
