/* test_stack.c -- where the calling thread's stack ends. */
#include "base/base.h"
#include "unit.h"
#include <pthread.h>

static int elsewhere;

static void *look(void *arg)
{
    char here = 0;
    uintptr_t floor = dpi_stack_floor(), at = (uintptr_t)&here;

    ck_assert_uint_gt(floor, 0);
    ck_assert_uint_lt(floor, at);
    ck_assert_uint_lt(at - floor, *(size_t *)arg);
    return NULL;
}

START_TEST(stack_floor_lies_within_each_threads_stack)
{
    size_t bytes = 8 << 20, most = 1 << 30; /* a sanitizer takes nearly one MiB of each stack */
    pthread_attr_t attr;
    pthread_t thread;

    pthread_attr_init(&attr);
    ck_assert_int_eq(pthread_attr_setstacksize(&attr, bytes), 0);
    ck_assert_int_eq(pthread_create(&thread, &attr, look, &bytes), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    look(&most);
}
END_TEST

START_TEST(stack_left_is_below_the_frame_alone)
{
    char memory[64] = {0};
    const char *frame = memory + 32;

    ck_assert(dpi_stack_left(frame - 1, frame));
    ck_assert(!dpi_stack_left(frame, frame));
    ck_assert(!dpi_stack_left(frame + 1, frame));
    ck_assert(!dpi_stack_left(&elsewhere, frame));
    ck_assert(!dpi_stack_left(NULL, frame));
}
END_TEST

UNIT_SUITE(stack)
{
    tcase_add_test(tc, stack_floor_lies_within_each_threads_stack);
    tcase_add_test(tc, stack_left_is_below_the_frame_alone);
}
