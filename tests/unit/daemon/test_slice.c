/* test_slice.c -- the time slice of the thread that asks, of a thread that it creates, and the
 * cases in which nothing changes. */
#define _GNU_SOURCE
#include "slice.h"
#include "unit.h"
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static slice_attr attributes(void)
{
    slice_attr a = {.size = sizeof(a)};

    ck_assert_int_eq(syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0), 0);
    return a;
}

static void *in_thread(void *out)
{
    *(slice_attr *)out = attributes();
    return NULL;
}

START_TEST(a_slice_is_not_inherited)
{
    slice_attr before = attributes(), after, child;
    pthread_t thread;

    ck_assert(slice_shorten());
    after = attributes();
    if (before.sched_runtime != 0) /* since 6.12, Linux tells */
        ck_assert_uint_lt(after.sched_runtime, before.sched_runtime);
    ck_assert_uint_eq(after.sched_policy, SCHED_OTHER);
    ck_assert_int_eq(after.sched_nice, before.sched_nice);
    ck_assert_int_eq(pthread_create(&thread, NULL, in_thread, &child), 0);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(child.sched_runtime, before.sched_runtime);
    ck_assert_int_eq(child.sched_nice, before.sched_nice);
}
END_TEST

START_TEST(a_nice_value_stays)
{
    ck_assert_int_eq(setpriority(PRIO_PROCESS, 0, 7), 0);
    ck_assert(slice_shorten());
    ck_assert_int_eq(attributes().sched_nice, 7);
}
END_TEST

START_TEST(other_policies_stay)
{
    struct sched_param none = {0};

    ck_assert_int_eq(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    ck_assert(!slice_shorten());
    ck_assert_int_eq(sched_getscheduler(0), SCHED_BATCH);
}
END_TEST

START_TEST(a_negative_nice_value_stays)
{
    if (setpriority(PRIO_PROCESS, 0, -5) < 0)
        return; /* only root may have one */
    ck_assert(!slice_shorten());
    ck_assert_int_eq(getpriority(PRIO_PROCESS, 0), -5);
}
END_TEST

UNIT_SUITE(slice)
{
    tcase_add_test(tc, a_slice_is_not_inherited);
    tcase_add_test(tc, a_nice_value_stays);
    tcase_add_test(tc, other_policies_stay);
    tcase_add_test(tc, a_negative_nice_value_stays);
}
