/* test_thread.c -- drains: units go when nobody runs their kernels. */
#include "../calls.h"

static void *call_in_thread(void *arg)
{
    dp_ctx *c = NULL;
    dp_value args[2] = {dp_tensor_value(a), dp_tensor_value(b)}, ret;
    dp_error e = DP_ERROR_INIT;

    (void)arg;
    if (dp_ctx_new(reg, &c, &e) < 0)
        return NULL;
    dp_ctx_set_label(c, "session 12");
    int rc = dp_call_boxed(c, dp_op_find(c, "t::first"), args, 2, &ret, 1);
    if (rc == 0)
        dp_values_release(&ret, 1);
    dp_ctx_free(c);
    return (void *)(intptr_t)(rc == 0);
}

START_TEST(call_in_flight_keeps_its_unit)
{
    pthread_t thread;
    void *ok;
    dp_running running[4];
    dp_unit *u = attach_as("slow", "CPU", waits, NULL, 0);

    pthread_create(&thread, NULL, call_in_thread, NULL);
    while (atomic_load(&entered) == 0)
        usleep(200);
    ck_assert_uint_eq(dp_registry_running(reg, running, 4), 1);
    ck_assert_str_eq(running[0].label, "session 12");
    ck_assert_str_eq(running[0].op, "t::first");
    ck_assert_str_eq(running[0].plugin, "slow");
    ck_assert_int_eq(dp_registry_detach(reg, u, 20, &err), DP_EBUSY);
    ck_assert_msg(strstr(err.message, "session 12 in t::first") != NULL, "%s", err.message);
    atomic_store(&may_leave, 1);
    pthread_join(thread, &ok);
    ck_assert_ptr_nonnull(ok);
    expect_tensor(a); /* it is attached again */
    detach(u);
    expect_fail(DP_ENOTIMPL, "no kernel");
    ck_assert_str_eq(running[0].plugin, "slow"); /* what was answered outlives the unit */
}
END_TEST

static atomic_int stop;
static atomic_uint calls_ok, calls_failed;

static void *call_without_pause(void *arg)
{
    dp_ctx *c = NULL;
    dp_value args[2] = {dp_tensor_value(a), dp_tensor_value(b)}, ret;
    dp_error e = DP_ERROR_INIT;

    (void)arg;
    if (dp_ctx_new(reg, &c, &e) < 0)
        return NULL;
    const dp_op *op = dp_op_find(c, "t::first");
    while (atomic_load(&stop) == 0) {
        if (dp_call_boxed(c, op, args, 2, &ret, 1) == 0) {
            dp_values_release(&ret, 1);
            atomic_fetch_add(&calls_ok, 1);
        } else {
            atomic_fetch_add(&calls_failed, 1);
        }
    }
    dp_ctx_free(c);
    return NULL;
}

START_TEST(call_never_fails_while_kernels_come_and_go)
{
    enum { THREADS = 2, ROUNDS = 300 };
    pthread_t thread[THREADS];

    atomic_store(&stop, 0);
    attach_as("base", "CPU", first, NULL, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, call_without_pause, NULL);
    while (atomic_load(&calls_ok) == 0 && atomic_load(&calls_failed) == 0)
        usleep(200);
    for (int i = 0; i < ROUNDS; i++) {
        dp_unit *u = attach_as("top", "CPU", second, NULL, 0);
        ck_assert_ptr_nonnull(u);
        detach(u);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    unsigned failed = atomic_load(&calls_failed);
    ck_assert_uint_eq(failed, 0);
}
END_TEST

UNIT_SUITE(thread)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, call_in_flight_keeps_its_unit);
    tcase_add_test(tc, call_never_fails_while_kernels_come_and_go);
}
