/* test_device.c -- functions of api.h on streams and events. */
#include "../calls.h"

START_TEST(null_for_a_stream_or_an_event_is_an_error)
{
    dp_tensor *x = dp_tensor_ref(a);
    dp_stream *s = NULL;
    dp_event *e = NULL;
    double ms;

    ck_assert_int_eq(dp_stream_current(ctx, DP_DEVICE_CPU, &s), 0);
    ck_assert_int_eq(dp_event_new(ctx, DP_DEVICE_CPU, 0, &e), 0);
    ck_assert_int_eq(dp_event_elapsed(ctx, e, NULL, &ms), DP_EPLUGIN);
    ck_assert_str_eq(dp_ctx_error(ctx)->message, "dp_event_elapsed: end is NULL");
    ck_assert_int_eq(dp_event_elapsed(ctx, NULL, e, &ms), DP_EPLUGIN);
    ck_assert_int_eq(dp_event_elapsed(ctx, e, e, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_event_new(ctx, DP_DEVICE_CPU, 0, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_event_record(ctx, NULL, s), DP_EPLUGIN);
    ck_assert_int_eq(dp_event_record(ctx, e, NULL), 0);
    ck_assert_int_eq(dp_event_wait(ctx, NULL, s), DP_EPLUGIN);
    ck_assert_int_eq(dp_event_wait(ctx, e, NULL), 0);
    ck_assert_int_eq(dp_event_query(ctx, NULL, &(bool){0}), DP_EPLUGIN);
    ck_assert_int_eq(dp_event_query(ctx, e, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_event_synchronize(ctx, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_stream_new(ctx, DP_DEVICE_CPU, NULL, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_stream_current(ctx, DP_DEVICE_CPU, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_stream_set_current(ctx, NULL), 0);
    ck_assert_int_eq(dp_stream_query(ctx, NULL, &(bool){0}), 0);
    ck_assert_int_eq(dp_stream_query(ctx, s, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_stream_synchronize(ctx, NULL), 0);
    ck_assert_int_eq(dp_copy_async(ctx, x, x, NULL), 0);
    ck_assert_int_eq(dp_copy_async(ctx, x, NULL, s), DP_EPLUGIN);
    ck_assert_int_eq(dp_fill_bytes(ctx, x, 0, NULL), 0);
    ck_assert_int_eq(dp_record_stream(ctx, x, NULL), 0);
    ck_assert_int_eq(dp_record_stream(ctx, NULL, s), DP_EPLUGIN);
    ck_assert_str_eq(dp_ctx_error(ctx)->message, "dp_record_stream: t is NULL");
    ck_assert_int_eq(dp_device_memory(ctx, DP_DEVICE_CPU, NULL, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_empty_pinned(ctx, DP_INT8, DP_DEVICE_CPU, 0, NULL, NULL), DP_EPLUGIN);
    ck_assert_ptr_null(dp_stream_ref(NULL));
    ck_assert_ptr_null(dp_event_ref(NULL));
    ck_assert_ptr_null(dp_stream_handle(NULL));
    ck_assert_int_eq(dp_stream_device(NULL), DP_DEVICE_CPU);
    dp_stream_unref(s);
    dp_event_unref(e);
    dp_tensor_unref(x);
}
END_TEST

UNIT_SUITE(device)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, null_for_a_stream_or_an_event_is_an_error);
}
