/* test_held.c -- bytes of storages are counted, also across threads that counted by themselves. */
#include "tensors.h"
#include <pthread.h>

static void *make_one(void *out)
{
    int64_t n = 1 << 20;
    dp_error local = DP_ERROR_INIT;

    ck_assert_int_eq(dp_tensor_new(DP_UINT8, 0, 1, &n, NULL, out, &local), DP_OK);
    return NULL;
}

START_TEST(bytes_go_up_and_down)
{
    uint64_t before, now, after, peak;
    dp_tensor *t = NULL;
    pthread_t thread;

    dpi_storage_stats(&before, &peak);
    ck_assert_int_eq(pthread_create(&thread, NULL, make_one, &t), 0);
    pthread_join(thread, NULL);
    dpi_storage_stats(&now, &peak);
    ck_assert_uint_eq(now, before + (1 << 20));
    ck_assert_uint_ge(peak, now);
    dp_tensor_unref(t);
    dpi_storage_stats(&after, &peak);
    ck_assert_uint_eq(after, before);
}
END_TEST

static void *release(void *tensors)
{
    for (dp_tensor **t = tensors; *t != NULL; t++)
        *t = dp_tensor_unref(*t);
    return NULL;
}

/* Each thread's own count passes a piece in another direction: together they are below 0 for a
 * while. */
START_TEST(the_peak_is_never_below_what_is_held)
{
    dp_tensor *small[513] = {NULL};
    uint64_t before, bytes, peak;
    pthread_t thread;
    int64_t n = 250;

    dpi_storage_stats(&before, &peak);
    for (int times = 0; times < 3; times++) {
        for (int i = 0; i < 512; i++)
            ck_assert_int_eq(dp_tensor_new(DP_UINT8, 0, 1, &n, NULL, &small[i], &err), DP_OK);
        dpi_storage_stats(&bytes, &peak);
        ck_assert_uint_ge(bytes, before + 512 * 250);
        ck_assert_uint_ge(peak, bytes);
        ck_assert_uint_lt(peak, UINT64_MAX / 2);
        ck_assert_int_eq(pthread_create(&thread, NULL, release, small), 0);
        pthread_join(thread, NULL);
        dpi_storage_stats(&bytes, &peak);
        ck_assert_uint_eq(bytes, before);
        ck_assert_uint_lt(peak, UINT64_MAX / 2);
    }
}
END_TEST

UNIT_SUITE(held)
{
    tcase_add_test(tc, the_peak_is_never_below_what_is_held);
    tcase_add_test(tc, bytes_go_up_and_down);
}
