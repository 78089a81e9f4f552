/* test_run.c -- runs: values, inner programs, failures, stops. */
#include "programs.h"

START_TEST(program_frees_values_at_their_last_use)
{
    dp_program *p = chain("t::fresh", 1000);
    dp_value out;
    dp_run r;

    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(run1(p, &out, &r), 0);
        dp_values_release(&out, 1);
        dp_ctx_reset(ctx);
    }
    ck_assert_int_eq(runs, 3000);
    ck_assert_uint_eq(most_tensors, 3); /* the input, a step's argument and its return */
    dp_program_unref(p);
}
END_TEST

START_TEST(program_fits_what_it_knows_later)
{
    dp_ref t, k, any, y, z, w, sizes, dtype, args[3];
    dp_builder *b = begin(&t);
    dp_value out[4], in[3] = {dp_tensor_value(x), dp_int(3), dp_double(1.5)};
    bool written[4];
    dp_run r = {.size = sizeof(r), .inputs = in, .outputs = out, .written = written};
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_GET,
                 .name = "sizes",
                 .args = &t,
                 .n_args = 1,
                 .n_rets = 1};

    ck_assert_int_eq(dp_builder_input(b, "k", "int", &k), 0);
    ck_assert_int_eq(dp_builder_input(b, "any", NULL, &any), 0);
    args[0] = t, args[1] = k; /* an int where a float is taken */
    ck_assert_int_eq(add(b, 0, "t::scaled", args, 2, &y), 0);
    args[1] = any; /* the value says which overload */
    ck_assert_int_eq(add(b, 1, "t::over", args, 2, NULL), 0);
    s.n_rets = 1;
    ck_assert_int_eq(dp_builder_add(b, &s, &sizes, NULL), 0);
    s.name = "dtype";
    ck_assert_int_eq(dp_builder_add(b, &s, &dtype, NULL), 0);
    args[1] = sizes, args[2] = dtype;
    ck_assert_int_eq(add(b, 2, "t::shaped", args, 3, &z), 0);
    ck_assert_int_eq(add(b, 3, "t::same_", &t, 1, &w), 0);
    ck_assert_int_eq(dp_builder_output(b, "y", y), 0);
    ck_assert_int_eq(dp_builder_output(b, "w", w), 0);
    ck_assert_int_eq(dp_builder_output(b, "dtype", dtype), 0);
    dp_program *p = end(b, sizes);
    ck_assert_msg(dp_program_run(ctx, p, &r) == 0, "%s", dp_ctx_error(ctx)->message);
    ck_assert_uint_eq(out[1].tag, DP_TAG_TENSOR);
    ck_assert_ptr_eq(out[1].u.t, x);
    ck_assert(!written[0] && written[1] && !written[2]);
    ck_assert_str_eq(out[2].u.s, "float32");
    ck_assert_uint_eq(out[3].tag, DP_TAG_INTS);
    ck_assert_int_eq(out[3].u.ints[0], 1);
    dp_values_release(out, 4);
    in[2] = (dp_value){DP_TAG_STR, 1, {.s = "s"}};
    expect(dp_program_run(ctx, p, &r), DP_ETYPE, "step 1: t::over: no overload takes");
    ck_assert_int_eq(r.step, 1);
    in[0] = dp_none();
    expect(dp_program_run(ctx, p, &r), DP_ETYPE, "input 'x' must be Tensor, not None");
    ck_assert_int_eq(r.step, -1);
    dp_program_unref(p);
}
END_TEST

START_TEST(program_that_fails_names_its_step_and_gives_all_back)
{
    dp_ref t, y;
    dp_builder *b = begin(&t);
    dp_value out;
    dp_run r;

    ck_assert_int_eq(add(b, 0, "t::fresh", &t, 1, &y), 0);
    ck_assert_int_eq(add(b, 1, "t::fails", &t, 1, NULL), 0);
    dp_program *p = end(b, y);
    expect(run1(p, &out, &r), DP_ERUNTIME, "step 1: it fails");
    ck_assert_int_eq(r.step, 1);
    ck_assert_str_eq(dp_ctx_error(ctx)->op, "t::fails");
    ck_assert_uint_eq(r.n_unspecified, 1);
    ck_assert_ptr_eq(r.unspecified[0], x);
    dp_program_unref(p);
}
END_TEST

START_TEST(program_stops_between_steps)
{
    dp_ref t, y;
    dp_builder *b = begin(&t);
    dp_value out;
    dp_run r;

    ck_assert_int_eq(add(b, 0, "t::cancels", &t, 1, &y), 0);
    ck_assert_int_eq(add(b, 1, "t::fresh", &y, 1, &y), 0);
    dp_program *p = end(b, y);
    dp_ctx_set_cancel(ctx, &cancel);
    expect(run1(p, &out, &r), DP_ECANCELLED, "step 1: cancelled");
    ck_assert_int_eq(r.step, 1);
    ck_assert_int_eq(runs, 1);
    dp_ctx_reset(ctx); /* forgets both */
    atomic_store(&cancel, 0);
    dp_ctx_set_deadline(ctx, 1);
    expect(run1(p, &out, &r), DP_EDEADLINE, "step 0: ");
    ck_assert_int_eq(runs, 1);
    dp_ctx_reset(ctx);
    ck_assert_int_eq(run1(p, &out, &r), 0);
    dp_values_release(&out, 1);
    dp_program_unref(p);
}
END_TEST

START_TEST(program_runs_programs_to_a_depth)
{
    dp_program *p = chain("t::fresh", 2);
    dp_program_info info = {.size = sizeof(info)};
    dp_value out;
    dp_run r;

    for (int i = 1; i < DP_LIMIT_PROGRAM_DEPTH; i++)
        ck_assert_ptr_nonnull(p = around(p, 1));
    dp_program_info_get(p, &info);
    ck_assert_uint_eq(info.depth, 64);
    ck_assert_uint_eq(info.expanded, 2 + 63);
    ck_assert_msg(run1(p, &out, &r) == 0, "%s", dp_ctx_error(ctx)->message);
    ck_assert_int_eq(runs, 2);
    dp_values_release(&out, 1);
    ck_assert_ptr_null(around(p, 1));
    expect(dp_ctx_error(ctx)->code, DP_ERESOURCE, "more than 64 deep (program_depth)");

    p = around(around(chain("t::fails", 1), 1), 1);
    expect(run1(p, &out, &r), DP_ERUNTIME, "step 4: step 4: step 0: it fails");
    ck_assert_int_eq(r.step, 4);
    dp_program_unref(p);
}
END_TEST

START_TEST(program_that_would_never_end_is_refused)
{
    dp_program *p = chain("t::fresh", 1), *next;
    int made = 0;

    while (made < 40 && (next = around(p, 2)) != NULL) {
        p = next;
        made++;
    }
    ck_assert_int_eq(made, 18); /* 2^18 calls and the steps that lead to them are under 10^6 */
    expect(dp_ctx_error(ctx)->code, DP_ERESOURCE,
           "1000000 steps, those it runs counted each time (program_expanded)");
}
END_TEST

UNIT_SUITE(run)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, program_frees_values_at_their_last_use);
    tcase_add_test(tc, program_fits_what_it_knows_later);
    tcase_add_test(tc, program_that_fails_names_its_step_and_gives_all_back);
    tcase_add_test(tc, program_stops_between_steps);
    tcase_add_test(tc, program_runs_programs_to_a_depth);
    tcase_add_test(tc, program_that_would_never_end_is_refused);
}
