/* test_device.c -- devices: records that are checked, names. */
#include "base/backend.h"
#include "unit.h"
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static int group_allocate(int index, size_t bytes, void *stream, void **out, dp_error *e)
{
    (void)stream, (void)index, (void)bytes, (void)out;
    return dp_error_set(e, DP_ERESOURCE, "none");
}
static void group_release(int index, void *p, size_t bytes, void *stream)
{
    (void)stream, (void)index, (void)p, (void)bytes;
}
static int group_copy(int index, void *dst, const void *src, size_t bytes, int direction,
                      dp_error *e)
{
    (void)index, (void)dst, (void)src, (void)bytes, (void)direction, (void)e;
    return 0;
}
static int group_pin(void *p, size_t bytes, dp_error *e)
{
    (void)p, (void)bytes, (void)e;
    return 0;
}
static const dp_device_ops half_a_group = {.size = sizeof(half_a_group),
                                           .allocate = group_allocate,
                                           .release = group_release,
                                           .copy = group_copy,
                                           .pin = group_pin};

START_TEST(backend_names_are_checked)
{
    static const char *const bad[] = {"",
                                      "CPU",
                                      "9p",
                                      "n-p",
                                      "nPu",
                                      "a b",
                                      "a23456789012345678901234567890123456789012345678901234"};
    static const char *const taken[] = {"cpu", "meta"};
    dp_error err = DP_ERROR_INIT;
    int bit = -1;

    for (size_t i = 0; i < DPI_COUNT(bad); i++)
        ck_assert_int_eq(dpi_backend_register(bad[i], "t", NULL, &bit, &err), DP_EVALUE);
    for (size_t i = 0; i < DPI_COUNT(taken); i++)
        ck_assert_int_eq(dpi_backend_register(taken[i], "t", NULL, &bit, &err), DP_EEXISTS);
    dp_device_ops empty = {.size = sizeof(empty)};
    ck_assert_int_eq(dpi_backend_register("npu", "t", &empty, &bit, &err), DP_EPLUGIN);
    empty = half_a_group;
    ck_assert_int_eq(dpi_backend_register("npu", "t", &empty, &bit, &err), DP_EPLUGIN);
    ck_assert_str_eq(err.message, "device record of backend 'npu' has no 'unpin'");
    ck_assert_int_eq(bit, -1);
}
END_TEST

START_TEST(device_names)
{
    dp_error err = DP_ERROR_INIT;
    char name[DP_KEY_NAME_MAX];
    dp_device d = -1;
    dpi_device *on;
    int bit;

    ck_assert_int_eq(dp_device_parse("cpu", &d, &err), DP_OK);
    ck_assert_int_eq(d, DP_DEVICE_CPU);
    ck_assert_str_eq(dp_device_name(d, name), "cpu");
    ck_assert_int_eq(dp_device_parse("meta", &d, &err), DP_OK);
    ck_assert_str_eq(dp_device_name(d, name), "meta");
    ck_assert_int_eq(dpi_device_enter(dp_device_backend(d), &on, &err), DP_OK);
    ck_assert(!on->host);
    ck_assert(on->ops.allocate == NULL);
    ck_assert_int_eq(dp_device_parse("npu", &d, &err), DP_ERUNTIME);
    ck_assert_ptr_nonnull(strstr(err.message, "'npu'"));
    ck_assert_int_eq(dpi_backend_register("npu", "t", NULL, &bit, &err), DP_OK);
    ck_assert_int_eq(dp_device_parse("npu:12", &d, &err), DP_OK);
    ck_assert_int_eq(d, DP_DEVICE(bit, 12));
    ck_assert_str_eq(dp_device_name(d, name), "npu:12");
    ck_assert_str_eq(dp_device_name(DP_DEVICE(bit, 0), name), "npu:0");
    ck_assert_int_eq(dp_device_parse("npu:", &d, &err), DP_ERUNTIME);
    ck_assert_int_eq(dp_device_parse("npu:65536", &d, &err), DP_ERUNTIME);
    ck_assert_int_eq(dp_device_parse("npu:-1", &d, &err), DP_ERUNTIME);
    ck_assert_int_eq(dpi_device_enter(DP_B_CUDA, &on, &err), DP_ERUNTIME);
    ck_assert_str_eq(err.message, "backend CUDA has no device in this process");
    dpi_backend_unregister(bit);
}
END_TEST

UNIT_SUITE(base_device)
{
    tcase_add_test(tc, backend_names_are_checked);
    tcase_add_test(tc, device_names);
}
