/* test_sync.c -- failures of notifications: the first ones are stored, the others are counted. */
#include "values.h"

static conn_state state;

static void begin(void)
{
    values_begin();
    state = (conn_state){.num_threads = 0};
    rq.state = &state;
}

static void end(void)
{
    sync_drop(&state.failures);
    values_end();
}

static const char *answer(void)
{
    rq.out.len = 0;
    rq.out.comma = 0;
    ck_assert_int_eq(session_sync(&rq, &rq.out, &err), 0);
    return written();
}

static void note(const char *message)
{
    const cJSON *msg = json(message);
    dp_error e = DP_ERROR_INIT;

    dp_error_set(&e, DP_EINDEX, "out");
    sync_note(&rq,
              &(failed_request){method_find(param_str(msg, "method")), param(msg, "params"), NULL},
              &e);
}

START_TEST(a_failure_is_answered_once)
{
    note("{\"method\":\"op.call\",\"params\":{\"op\":\"a::b\",\"into\":[-1,[-2,null]]}}");
    ck_assert_str_eq(answer(), "{\"failed\":[{\"type\":\"IndexError\",\"message\":\"out\","
                               "\"op\":\"a::b\",\"into\":[-1,[-2,null]]}],\"dropped\":0}");
    ck_assert_str_eq(answer(), "{\"failed\":[],\"dropped\":0}");
    note("{\"method\":\"call.cancel\",\"params\":{}}"); /* runs beside other requests */
    ck_assert_str_eq(answer(), "{\"failed\":[],\"dropped\":0}");
}
END_TEST

START_TEST(more_failures_are_counted)
{
    for (int i = 0; i < LIMIT_SYNC_FAILED + 3; i++)
        note("{\"method\":\"tensor.create\"}");
    ck_assert_uint_eq(state.failures.n, LIMIT_SYNC_FAILED);
    ck_assert_ptr_nonnull(strstr(answer(), "],\"dropped\":3}"));
    dp_fault_arm(1);
    sync_note(&rq, &(failed_request){NULL, NULL, NULL}, &err);
    ck_assert(dp_fault_hit());
    ck_assert_str_eq(answer(), "{\"failed\":[],\"dropped\":1}");
}
END_TEST

UNIT_SUITE(sync)
{
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, a_failure_is_answered_once);
    tcase_add_test(tc, more_failures_are_counted);
}
