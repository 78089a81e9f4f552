/* test_async.c -- streams and tensors. */
#include "tensors.h"

/* A record with the three slots that must be there: what the others do when they are not. */
START_TEST(a_device_without_streams_has_nothing_to_wait_for)
{
    dp_device device = open_device(0);
    int64_t sizes[] = {2, 3};
    dp_tensor *host = floats(2, sizes), *there = make(DP_FLOAT32, device, 2, sizes), *pinned = NULL;
    dp_stream *s = NULL, *other = NULL;
    dp_event *begin = NULL, *end = NULL;
    size_t have, all;
    double ms = -1;
    bool done = false;

    OK(dpi_stream_new(NULL, device, NULL, &s, &err));
    ck_assert_ptr_null(dp_stream_handle(s));
    OK(dpi_event_new(device, 0, &begin, &err));
    OK(dpi_event_new(device, 0, &end, &err));
    FAILS(dpi_event_elapsed(begin, end, &ms, &err), DP_ERUNTIME, "never recorded");
    OK(dpi_event_record(begin, s, &err));
    OK(dpi_copy_async(there, host, s, 1, &err));
    OK(dpi_event_record(end, s, &err));
    OK(dpi_event_wait(end, s, &err));
    OK(dpi_event_query(end, &done, &err));
    ck_assert(done);
    OK(dpi_event_elapsed(begin, end, &ms, &err));
    ck_assert_double_ge(ms, 0);
    OK(dpi_stream_query(s, &done, &err));
    ck_assert(done);
    assert_floats(there, 6, (float[]){0, 1, 2, 3, 4, 5});
    OK(dpi_fill_bytes(there, 0, s, &err));
    assert_floats(there, 6, (float[]){0, 0, 0, 0, 0, 0});
    OK(dpi_empty_pinned(DP_FLOAT32, (dpi_target){device, 0, NULL}, 2, sizes, &pinned, &err));
    ck_assert(!dpi_tensor_is_pinned(pinned));
    OK(dpi_record_stream(there, s, &err));
    FAILS(dpi_device_memory(device, &have, &all, &err), DP_ENOTIMPL, "faultdev:0 has is not known");
    FAILS(dpi_stream_new(NULL, DP_DEVICE(device_bit, 2), NULL, &other, &err), DP_ERUNTIME,
          "faultdev:2");
    dp_tensor_unref(host);
    dp_tensor_unref(there);
    dp_tensor_unref(pinned);
    dp_stream_unref(s);
    dp_event_unref(begin);
    dp_event_unref(end);
    close_device();
}
END_TEST

UNIT_SUITE(async)
{
    tcase_add_checked_fixture(tc, alive_begin, alive_end);
    tcase_add_test(tc, a_device_without_streams_has_nothing_to_wait_for);
}
