/* test_draft.c -- limits of a program that is made. */
#include "programs.h"

START_TEST(program_has_limits)
{
    dp_ref t, y, k;
    dp_builder *b = begin(&t);
    dp_error err = DP_ERROR_INIT;
    dp_tensor *large = NULL;
    int64_t n = DP_LIMIT_PROGRAM_CONSTANT_BYTES + 4;

    for (uint32_t i = 0; i < DP_LIMIT_PROGRAM_LOWERED_STEPS; i++)
        unit_each(add(b, i, "t::fresh", &t, 1, &y) == 0, "%s", dp_ctx_error(ctx)->message);
    expect(add(b, 1, "t::fresh", &t, 1, &y), DP_ERESOURCE,
           "more than 100000 steps (program_lowered_steps)");
    ck_assert_int_eq(dp_tensor_new(DP_UINT8, DP_DEVICE_CPU, 1, &n, NULL, &large, &err), 0);
    dp_value v = dp_tensor_value(large);
    expect(dp_builder_constant(b, NULL, &v, &k), DP_ERESOURCE, "(program_constant_bytes)");
    dp_tensor_unref(large);
    dp_builder_free(b);
}
END_TEST

START_TEST(program_has_limits_of_values_and_arguments)
{
    enum { MOST = DP_LIMIT_PROGRAM_VALUES };
    _Static_assert((int)MOST == (int)DP_LIMIT_PROGRAM_ARGUMENTS, "one array serves both");
    dp_ref *refs = calloc(MOST + 1, sizeof(*refs)), t;
    dp_step s = {.size = sizeof(s), .kind = DP_STEP_LIST, .n_rets = 1, .args = refs};
    dp_builder *b;

    ck_assert_int_eq(dp_builder_new(ctx, &b), 0);
    ck_assert_int_eq(dp_builder_input(b, NULL, "Tensor", &t), 0);
    for (int i = 0; i <= MOST; i++)
        refs[i] = t;
    s.n_args = MOST + 1;
    expect(dp_builder_add(b, &s, &t, NULL), DP_ERESOURCE,
           "more than 1048576 arguments (program_arguments)");
    for (int i = 1; i < MOST; i++)
        unit_each(dp_builder_input(b, NULL, "Tensor", &t) == 0, "%s", dp_ctx_error(ctx)->message);
    expect(dp_builder_input(b, NULL, "Tensor", &t), DP_ERESOURCE,
           "more than 1048576 values (program_values)");
    expect(add(b, 0, "t::fresh", refs, 1, &t), DP_ERESOURCE,
           "more than 1048576 values (program_values)");
    dp_builder_free(b);
    free(refs);
}
END_TEST

/* Every way through the builder and a run; a code. */
static int build_and_run(void)
{
    dp_builder *b = NULL;
    dp_program *p = NULL;
    dp_ref t, k, any, y, z, l;
    int64_t ints[2] = {1, 2};
    dp_value list = dp_ints(ints, 2), in[2] = {dp_tensor_value(x), dp_double(1)}, out[2];
    dp_run r = {.size = sizeof(r), .inputs = in, .outputs = out};
    dp_step s = {.size = sizeof(s), .kind = DP_STEP_LIST, .n_rets = 1, .n_args = 2};
    int rc = dp_builder_new(ctx, &b);

    if (rc < 0)
        return rc;
    if ((rc = dp_builder_input(b, "x", "Tensor", &t)) < 0 ||
        (rc = dp_builder_input(b, "any", NULL, &any)) < 0 ||
        (rc = dp_builder_constant(b, "k", &list, &k)) < 0 ||
        (rc = add(b, 0, "t::over", (dp_ref[]){t, any}, 2, NULL)) < 0 ||
        (rc = add(b, 1, "t::shaped", (dp_ref[]){t, k}, 2, &y)) < 0 ||
        (rc = dp_builder_name(b, "y", y, 1)) < 0)
        goto done;
    s.args = (dp_ref[]){t, y};
    s.origins = (uint32_t[]){1, 2};
    s.n_origins = 2;
    s.mode = &(dp_step_mode){.size = sizeof(dp_step_mode),
                             .sets = DP_STEP_MODE_GRAD,
                             .mode = {.size = sizeof(dp_mode), .no_grad = true}};
    if ((rc = dp_builder_add(b, &s, &l, NULL)) < 0 || (rc = add(b, 2, "t::join", &l, 1, &z)) < 0 ||
        (rc = dp_builder_output(b, "z", z)) < 0 || (rc = dp_builder_output(b, NULL, l)) < 0 ||
        (rc = dp_builder_finish(b, &p)) < 0)
        goto done;
    rc = dp_program_run(ctx, p, &r);
    if (rc == 0)
        dp_values_release(out, 2);
    if (rc == 0 && (dp_program_text(p, dp_ctx_arena(ctx)) == NULL ||
                    dp_program_dot(p, dp_ctx_arena(ctx)) == NULL))
        rc = DP_ERESOURCE;
done:
    dp_program_unref(p);
    dp_builder_free(b);
    return rc;
}

START_TEST(program_survives_every_failed_allocation)
{
    dp_tensor_stats before, after;
    uint64_t n = 0;

    ck_assert_int_eq(build_and_run(), 0);
    dp_tensor_stats_get(&before);
    do {
        dp_ctx_reset(ctx);
        dp_ctx_free(ctx); /* so that its arena is cold */
        dp_error err = DP_ERROR_INIT;
        ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
        dp_fault_arm(++n);
        int rc = build_and_run();
        bool hit = dp_fault_hit();
        dp_fault_arm(0);
        dp_tensor_stats_get(&after);
        unit_each(rc == DP_ERESOURCE || (rc == 0 && (!hit || n > 0)), "fault %lu: %d %s",
                  (unsigned long)n, rc, dp_ctx_error(ctx)->message);
        unit_each(after.tensors == before.tensors, "fault %lu: %lu tensors, want %lu",
                  (unsigned long)n, (unsigned long)after.tensors, (unsigned long)before.tensors);
        if (!hit)
            break;
    } while (n < 1000);
    ck_assert_uint_gt(n, 30);
    ck_assert_uint_lt(n, 1000);
}
END_TEST

UNIT_SUITE(draft)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, program_has_limits);
    tcase_add_test(tc, program_has_limits_of_values_and_arguments);
    tcase_add_test(tc, program_survives_every_failed_allocation);
}
