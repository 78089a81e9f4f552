/* test_unload.c -- plugins go: drained, refused, forced, with the registry. */
#define _GNU_SOURCE /* pthread_tryjoin_np */
#include "loaded.h"

static void *sleep_in_kernel(void *arg)
{
    dp_ctx *mine;
    dp_error e = DP_ERROR_INIT;
    dp_value args[] = {dp_tensor_value(self), dp_int(*(int *)arg)}, ret;

    if (dp_ctx_new(reg, &mine, &e))
        return arg;
    int rc = call(mine, "sleeps::sleep", args, 2, &ret, 1);
    if (rc == 0)
        dp_values_release(&ret, 1);
    dp_ctx_free(mine);
    return rc ? arg : NULL;
}

/* A thread inside the kernel, which is the n-th call running. */
static pthread_t sleeper(int *ms, size_t nth)
{
    static dp_running running[DP_LIMIT_DRAINING + 1];
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, sleep_in_kernel, ms), 0);
    while (dp_registry_running(reg, running, DP_LIMIT_DRAINING + 1) != nth)
        usleep(1000);
    return thread;
}

static void nothing(int number)
{
    (void)number;
}

/* End a kernel's sleep, however long it is: a signal cuts nanosleep() short. */
static void woken(pthread_t thread)
{
    struct sigaction action = {.sa_handler = nothing};
    void *failed;
    int rc;

    sigaction(SIGUSR1, &action, NULL);
    while ((rc = pthread_tryjoin_np(thread, &failed)) == EBUSY) {
        pthread_kill(thread, SIGUSR1); /* again, if it was not asleep yet */
        usleep(1000);
    }
    ck_assert_int_eq(rc, 0);
    ck_assert_ptr_null(failed);
}

/* Wake the sleeper *`thread` a moment from now. */
static void *wake_later(void *thread)
{
    usleep(20000);
    woken(*(pthread_t *)thread);
    return NULL;
}

START_TEST(plugin_unload_waits_and_says_for_whom)
{
    int ms = 600000;
    pthread_t waker;

    OK(load(built("sleeps")));
    pthread_t thread = sleeper(&ms, 1);
    state before = now();
    ck_assert_int_eq(dp_plugin_unload(reg, "sleeps", 100, false, &gone, &err), DP_EBUSY);
    says(err.message, "session 12");
    says(err.message, "sleeps::sleep");
    state after = now();
    ck_assert_str_eq(before.dump, after.dump);
    const dp_plugin_info *info;
    size_t n;
    OK(dp_plugin_list(reg, arena, &info, &n, &err));
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(info[0].calls_running, 1);
    ck_assert_int_eq(pthread_create(&waker, NULL, wake_later, &thread), 0);
    OK(dp_plugin_unload(reg, "sleeps", -1, false, &gone, &err));
    ck_assert(gone.unmapped);
    ck_assert_double_gt(gone.drained_ms, 0);
    joined(waker);
}
END_TEST

START_TEST(plugin_old_generation_drains_behind_a_reload)
{
    int ms = 600000;
    const dp_plugin_info *info;
    size_t n;

    OK(load(built("sleeps")));
    pthread_t thread = sleeper(&ms, 1);
    OK(reload("sleeps"));
    ck_assert(!gone.drained);
    says(gone.kept_because, "session 12");
    OK(dp_plugin_list(reg, arena, &info, &n, &err));
    ck_assert_uint_eq(n, 2);
    ck_assert(info[0].draining);
    ck_assert(!info[1].draining);
    ck_assert_uint_eq(dp_plugin_reap(reg), 2); /* and the snapshot that its call holds */
    woken(thread);
    ck_assert_uint_eq(dp_plugin_reap(reg), 0);
    ck_assert_uint_eq(entries(cache), 3);
    OK(unload("sleeps"));
    ck_assert(gone.unmapped);
}
END_TEST

START_TEST(plugin_old_generations_are_bounded)
{
    int ms = 600000;

    OK(load(built("sleeps")));
    pthread_t threads[DP_LIMIT_DRAINING];
    int n = 0;
    for (; n < DP_LIMIT_DRAINING; n++) {
        threads[n] = sleeper(&ms, (size_t)n + 1);
        OK(reload("sleeps"));
    }
    ck_assert_int_eq(reload("sleeps"), DP_EBUSY);
    says(err.message, "64 old generations are still in use");
    says(err.message, "session 12");
    while (n-- > 0)
        woken(threads[n]);
    OK(reload("sleeps"));
    ck_assert_uint_eq(dp_plugin_reap(reg), 0);
}
END_TEST

static void *call_thread_exit(void *arg)
{
    atomic_int *step = arg;
    dp_ctx *mine;
    dp_error e = DP_ERROR_INIT;
    dp_value args[] = {dp_tensor_value(self)}, ret;

    if (dp_ctx_new(reg, &mine, &e) == 0) {
        if (call(mine, "thread_exit::f", args, 1, &ret, 1) == 0)
            dp_values_release(&ret, 1);
        dp_ctx_free(mine);
    }
    atomic_store(step, 1);
    while (atomic_load(step) != 2)
        usleep(1000);
    return NULL;
}

START_TEST(plugin_with_thread_objects_goes_when_the_threads_do)
{
    atomic_int step = 0;
    pthread_t thread;

    OK(load(built("thread_exit")));
    pthread_create(&thread, NULL, call_thread_exit, &step);
    while (atomic_load(&step) != 1)
        usleep(1000);
    OK(unload("thread_exit"));
    ck_assert(!gone.unmapped);
    says(gone.kept_because, "imports '__cxa_thread_atexit_impl'");
    atomic_store(&step, 2);
    pthread_join(thread, NULL);
    OK(load(built("plugins/template")));
    OK(unload("template")); /* the dynamic linker collects at the next dlclose */
    dp_plugin_reap(reg);
    ck_assert_uint_eq(entries(cache), 2);
    ck_assert_uint_eq(mappings(cache), 0);
}
END_TEST

START_TEST(plugin_failing_on_unload_stays_loaded)
{
    OK(load(built("failing_on_unload")));
    state before = now();
    ck_assert_int_eq(unload("failing_on_unload"), DP_EPLUGIN);
    says(err.message, "its on_unload (");
    says(err.message, "failed with 77: it did not say why");
    state after = now();
    same(&before, &after);
    ck_assert_int_eq(call_int("failing_on_unload::asked"), 1);
    check_invariants();
    OK(unload("failing_on_unload"));
    ck_assert(gone.unmapped);
}
END_TEST

START_TEST(plugin_with_live_storages_is_busy_unless_forced)
{
    dp_value arg = dp_tensor_value(self), on_toy, where;

    OK(load(built("toy_backend")));
    ck_assert_uint_eq(report.n_backends, 1);
    ck_assert_str_eq(report.backends[0], "toy");
    OK(call(ctx, "toy::to_toy", &arg, 1, &on_toy, 1));
    OK(call(ctx, "toy::where", &on_toy, 1, &where, 1));
    ck_assert_int_eq(where.u.i, DP_F_Dense);
    ck_assert_int_eq(unload("toy_backend"), DP_EBUSY);
    says(err.message, "1 storage of its backend 'toy' is alive");
    OK(call(ctx, "toy::where", &on_toy, 1, &where, 1));
    OK(reload("toy_backend")); /* keeps its bit */
    ck_assert(gone.drained);
    OK(call(ctx, "toy::where", &on_toy, 1, &where, 1));
    OK(dp_plugin_unload(reg, "toy_backend", 1000, true, &gone, &err));
    ck_assert(gone.unmapped);
    dp_values_release(&on_toy, 1);
    OK(load(built("toy_backend")));
    OK(unload("toy_backend"));
}
END_TEST

START_TEST(plugin_unload_of_nothing_offers_the_nearest)
{
    ck_assert_int_eq(unload("anything"), DP_ENOTFOUND);
    OK(load(built("plugins/template")));
    ck_assert_int_eq(unload("templat"), DP_ENOTFOUND);
    says(err.message, "no plugin 'templat' is loaded; nearest: 'template'");
}
END_TEST

/* The registry takes down what is still loaded, residents' copies too. */
START_TEST(plugin_registry_free_unloads_everything)
{
    OK(load(built("plugins/template")));
    OK(load(built("toy_backend")));
    OK(load(built("failing_on_unload")));
    OK(load(built("unique_symbol")));
    OK(unload("unique_symbol"));
}
END_TEST

UNIT_SUITE(unload)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, plugin_unload_waits_and_says_for_whom);
    tcase_add_test(tc, plugin_old_generation_drains_behind_a_reload);
    tcase_add_test(tc, plugin_old_generations_are_bounded);
    tcase_add_test(tc, plugin_with_thread_objects_goes_when_the_threads_do);
    tcase_add_test(tc, plugin_failing_on_unload_stays_loaded);
    tcase_add_test(tc, plugin_with_live_storages_is_busy_unless_forced);
    tcase_add_test(tc, plugin_unload_of_nothing_offers_the_nearest);
    tcase_add_test(tc, plugin_registry_free_unloads_everything);
}
