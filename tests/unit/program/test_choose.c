/* test_choose.c -- SELECT steps, conditions of steps, and outputs that nobody wants. */
#include "programs.h"

/* y = k > 1 ? fresh(t) : t; only the step that is chosen runs. */
static dp_program *choosing(void)
{
    dp_ref t, k, one, more, y, args[3];
    dp_value v = dp_int(1);
    dp_builder *b = begin(&t);
    dp_step s = {
        .size = sizeof(s), .kind = DP_STEP_SCALAR, .name = "gt", .args = args, .n_rets = 1};

    ck_assert_int_eq(dp_builder_input(b, "k", "int", &k), 0);
    ck_assert_int_eq(dp_builder_constant(b, NULL, &v, &one), 0);
    args[0] = k, args[1] = one;
    s.n_args = 2;
    ck_assert_int_eq(dp_builder_add(b, &s, &more, NULL), 0);
    s = (dp_step){.size = sizeof(s),
                  .kind = DP_STEP_CALL,
                  .name = "t::fresh",
                  .args = &t,
                  .n_args = 1,
                  .n_rets = 1,
                  .when = &more};
    ck_assert_int_eq(dp_builder_add(b, &s, &y, NULL), 0);
    args[0] = more, args[1] = y, args[2] = t;
    s = (dp_step){
        .size = sizeof(s), .kind = DP_STEP_SELECT, .args = args, .n_args = 3, .n_rets = 1};
    ck_assert_int_eq(dp_builder_add(b, &s, &y, NULL), 0);
    return end(b, y);
}

START_TEST(only_the_chosen_side_runs)
{
    dp_program *p = choosing();
    dp_value in[2] = {dp_tensor_value(x), dp_int(1)}, out;
    dp_run r = {.size = sizeof(r), .inputs = in, .outputs = &out};

    ck_assert_ptr_nonnull(strstr(dp_program_text(p, dp_ctx_arena(ctx)), "when %2: t::fresh(x)"));
    ck_assert_int_eq(dp_program_run(ctx, p, &r), 0);
    ck_assert_int_eq(runs, 0);
    ck_assert_ptr_eq(out.u.t, x);
    dp_values_release(&out, 1);
    in[1] = dp_int(2);
    ck_assert_int_eq(dp_program_run(ctx, p, &r), 0);
    ck_assert_int_eq(runs, 1);
    ck_assert_ptr_ne(out.u.t, x);
    dp_values_release(&out, 1);
    dp_program_unref(p);
}
END_TEST

START_TEST(steps_of_unwanted_outputs_do_not_run)
{
    dp_ref t, a, c, w;
    dp_builder *b = begin(&t);

    ck_assert_int_eq(add(b, 0, "t::fresh", &t, 1, &a), 0);
    ck_assert_int_eq(add(b, 1, "t::fresh", &a, 1, &c), 0);
    ck_assert_int_eq(add(b, 2, "t::same_", &t, 1, &w), 0); /* writes: runs always */
    ck_assert_int_eq(dp_builder_output(b, "a", a), 0);
    dp_program *p = end(b, c);
    dp_value in = dp_tensor_value(x), out[2];
    dp_run r = {.size = sizeof(r), .inputs = &in, .outputs = out};
    static const struct {
        uint64_t unwanted;
        int runs;
    } wants[] = {{0, 3}, {2, 2}, {1, 3}, {3, 1}};
    for (size_t i = 0; i < sizeof(wants) / sizeof(wants[0]); i++) {
        runs = 0;
        r.unwanted = wants[i].unwanted;
        ck_assert_int_eq(dp_program_run(ctx, p, &r), 0);
        ck_assert_msg(runs == wants[i].runs, "unwanted %d: %d steps ran, want %d",
                      (int)wants[i].unwanted, runs, wants[i].runs);
        for (int k = 0; k < 2; k++)
            ck_assert_int_eq(out[k].tag == DP_TAG_NONE, (int)(wants[i].unwanted >> k & 1));
        dp_values_release(out, 2);
        dp_ctx_reset(ctx);
    }
    dp_program_unref(p);
}
END_TEST

/* An operator that only its tag marks as writing runs although no output uses the step; a program
 * without effects does not. */
START_TEST(steps_with_effects_run_for_no_output)
{
    dp_ref t, a;
    dp_program *inner = chain("t::fresh", 2), *counts = NULL, *p = NULL;
    dp_builder *b = begin(&t);

    ck_assert_int_eq(add(b, 0, "t::counts", (dp_ref[]){t, t}, 2, &a), 0);
    counts = end(b, a);
    for (int effect = 0; effect < 2; effect++) {
        dp_value in = dp_tensor_value(x), out;
        dp_run r = {.size = sizeof(r), .inputs = &in, .outputs = &out, .unwanted = 1};
        b = begin(&t);
        ck_assert_int_eq(add_sub(b, effect ? counts : inner, t, &a), 0);
        p = end(b, a);
        runs = 0;
        ck_assert_int_eq(dp_program_run(ctx, p, &r), 0);
        ck_assert_int_eq(runs, effect);
        dp_program_unref(p);
    }
    dp_program_unref(inner);
    dp_program_unref(counts);
}
END_TEST

UNIT_SUITE(choose)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, only_the_chosen_side_runs);
    tcase_add_test(tc, steps_of_unwanted_outputs_do_not_run);
    tcase_add_test(tc, steps_with_effects_run_for_no_output);
}
