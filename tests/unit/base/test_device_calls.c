/* test_device_calls.c -- what devices say of themselves is checked, and who queued what fails later
 * is named. */
#include "base/stream.h"
#include "unit.h"

static dp_error err;
static int bit;
static size_t free_said, trimmed;
static int least_said, greatest_said, count_said;

static int count(void)
{
    return count_said;
}

static int allocate(int index, size_t bytes, void *stream, void **out, dp_error *e)
{
    (void)index, (void)bytes, (void)stream, (void)out;
    return dp_error_set(e, DP_ERESOURCE, "none");
}

static void release(int index, void *p, size_t bytes, void *stream)
{
    (void)index, (void)p, (void)bytes, (void)stream;
}

static int copy(int index, void *dst, const void *src, size_t bytes, int direction, dp_error *e)
{
    (void)index, (void)dst, (void)src, (void)bytes, (void)direction, (void)e;
    return 0;
}

static int memory_info(int index, size_t *free_bytes, size_t *total, dp_error *e)
{
    (void)index, (void)e;
    *free_bytes = free_said;
    *total = 100;
    return 0;
}

static int stream_priorities(int index, int *least, int *greatest, dp_error *e)
{
    (void)index, (void)e;
    *least = least_said;
    *greatest = greatest_said;
    return 0;
}

static int trim(int index, size_t bytes, dp_error *e)
{
    (void)index, (void)e;
    trimmed = bytes;
    return 0;
}

static int synchronize(int index, dp_error *e)
{
    return index == 0 ? 0 : dp_error_set(e, DP_ERUNTIME, "broken");
}

static const dp_device_ops ops = {.size = sizeof(ops),
                                  .count = count,
                                  .allocate = allocate,
                                  .release = release,
                                  .copy = copy,
                                  .memory_info = memory_info,
                                  .stream_priorities = stream_priorities,
                                  .trim = trim,
                                  .synchronize = synchronize};

static void setup(void)
{
    count_said = 2;
    ck_assert_int_eq(dpi_backend_register("asked", "test", &ops, &bit, &err), 0);
}

static void teardown(void)
{
    dpi_backend_unregister(bit);
}

START_TEST(what_cannot_be_is_refused_with_what_was_said)
{
    size_t have = 0, all = 0;
    int least, greatest;

    free_said = 101;
    ck_assert_int_eq(dpi_device_memory(DP_DEVICE(bit, 0), &have, &all, &err), DP_EPLUGIN);
    ck_assert_str_eq(err.message, "backend asked: memory_info says that 101 bytes of 100 are free");
    free_said = 100;
    ck_assert_int_eq(dpi_device_memory(DP_DEVICE(bit, 0), &have, &all, &err), 0);
    ck_assert_uint_eq(have, 100);
    least_said = -1;
    greatest_said = 0;
    ck_assert_int_eq(dpi_stream_priorities(DP_DEVICE(bit, 0), &least, &greatest, &err), DP_EPLUGIN);
    least_said = 0;
    greatest_said = -1;
    ck_assert_int_eq(dpi_stream_priorities(DP_DEVICE(bit, 0), &least, &greatest, &err), 0);
    ck_assert_int_eq(greatest, -1);
    count_said = -5;
    ck_assert_int_eq(dpi_device_trim(DP_DEVICE(bit, 0), 0, &err), DP_ERUNTIME);
    ck_assert_str_eq(err.message, "no device asked:0: its backend has 0");
    count_said = 2;
    ck_assert_int_eq(dpi_device_trim(DP_DEVICE(bit, 0), 0, &err), 0);
    ck_assert_uint_eq(trimmed, SIZE_MAX);
}
END_TEST

/* The error of a wait names the newest eight operators that were noted for that device, the oldest
 * of them first. */
START_TEST(a_later_failure_names_the_operators)
{
    dp_device one = DP_DEVICE(bit, 1);
    char stream;
    dpi_device *d;

    ck_assert_int_eq(dpi_device_enter(bit, &d, &err), 0);
    dpi_queued_note(d, DP_DEVICE(bit, 0), NULL, "t::other");
    for (int i = 0; i < 6; i++)
        dpi_queued_note(d, one, i % 2 ? &stream : NULL, i == 5 ? "t::last" : "t::op");
    ck_assert_int_eq(dpi_device_synchronize(DP_DEVICE(bit, 0), &err), 0);
    dp_error theirs = {.message = "late"};
    ck_assert_int_eq(dpi_device_waited(d, "stream_query", DP_ERUNTIME, &theirs, one, &stream, &err),
                     DP_ERUNTIME);
    ck_assert_str_eq(err.message, "backend asked: stream_query failed: late; queued since the last "
                                  "synchronisation: t::op, t::op, t::last");
    ck_assert_int_eq(dpi_device_synchronize(one, &err), DP_ERUNTIME);
    ck_assert_str_eq(err.message,
                     "backend asked: synchronize failed: broken; queued since the last "
                     "synchronisation: t::op, t::op, t::op");
    ck_assert_int_eq(dpi_device_synchronize(one, &err), DP_ERUNTIME);
    ck_assert_str_eq(err.message, "backend asked: synchronize failed: broken");
    dpi_device_leave(d);
}
END_TEST

UNIT_SUITE(device_calls)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_cannot_be_is_refused_with_what_was_said);
    tcase_add_test(tc, a_later_failure_names_the_operators);
}
