/* test_run.c -- what a running method keeps: arguments by handle, fresh handles, deadlines. */
#include "values.h"

static const json_path at = {NULL, "args", 0};

static uint64_t put(void)
{
    int64_t sizes[] = {2};
    dp_tensor *t = NULL;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, sizes, NULL, &t, &err), 0);
    uint64_t id = session_put(rq.session, t, &err);
    dp_tensor_unref(t);
    return id;
}

START_TEST(an_argument_lives_until_the_method_ends)
{
    uint64_t id = put();
    dp_tensor *t = NULL;

    ck_assert_int_eq(run_pin(&rq, id, &at, &t, &err), 0);
    session_release(rq.session, id);
    ck_assert_uint_eq(tensor_bytes(t), 8);
    ck_assert_uint_eq(run_handle(rq.run, t), id);
    ck_assert_int_eq(run_pin(&rq, id, &at, &t, &err), DP_ENOTFOUND);
}
END_TEST

START_TEST(written_handles_are_listed)
{
    uint64_t id = put();
    dp_tensor *t = NULL;

    run_pin(&rq, id, &at, &t, &err);
    run_written(rq.run, t);
    run_written(rq.run, NULL);
    ck_assert_uint_eq(rq.run->n_written, 1);
    ck_assert_uint_eq(rq.run->written[0], id);
}
END_TEST

START_TEST(a_deadline_passes)
{
    ck_assert_int_eq(run_check_deadline(&rq, 1000, &err), 0); /* there is none */
    rq.deadline = 7000000;
    ck_assert_int_eq(run_check_deadline(&rq, 6999999, &err), 0);
    ck_assert_int_eq(run_check_deadline(&rq, 9000000, &err), DP_EDEADLINE);
    ck_assert_str_eq(err.message, "queued for 9.000 ms, deadline_ms is 7");
}
END_TEST

UNIT_SUITE(run)
{
    tcase_add_checked_fixture(tc, values_begin, values_end);
    tcase_add_test(tc, an_argument_lives_until_the_method_ends);
    tcase_add_test(tc, written_handles_are_listed);
    tcase_add_test(tc, a_deadline_passes);
}
