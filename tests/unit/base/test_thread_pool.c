/* test_thread_pool.c -- the threads behind dp_parallel_for. */
#include "base/backend.h"
#include "unit.h"
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct tally {
    unsigned char seen[10000];
    int64_t smallest;
    pthread_mutex_t lock;
} tally;

static void mark(int64_t begin, int64_t end, void *user)
{
    tally *t = user;

    for (int64_t i = begin; i < end; i++)
        t->seen[i]++;
    pthread_mutex_lock(&t->lock);
    if (end - begin < t->smallest)
        t->smallest = end - begin;
    pthread_mutex_unlock(&t->lock);
}

static void check_run(int max_threads, int64_t begin, int64_t end, int64_t grain)
{
    tally t = {.smallest = INT64_MAX};

    pthread_mutex_init(&t.lock, NULL);
    dpi_thread_pool_run(max_threads, begin, end, grain, mark, &t, NULL);
    for (int64_t i = 0; i < (int64_t)sizeof(t.seen); i++)
        unit_each(t.seen[i] == (i >= begin && i < end), "element %d of [%d, %d) ran %d times",
                  (int)i, (int)begin, (int)end, t.seen[i]);
    if (end - begin >= grain)
        ck_assert_int_ge(t.smallest, grain);
    pthread_mutex_destroy(&t.lock);
}

static void nested(int64_t begin, int64_t end, void *user)
{
    (void)user;
    for (int64_t i = begin; i < end; i++)
        check_run(0, 0, 1000, 10);
}

static void *caller(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++)
        check_run(i % 4, i, 10000 - i, 1 + i * 7);
    return NULL;
}

typedef struct stopping {
    dp_cancel_flag cancel;
    atomic_int pieces;
} stopping;

static void stop_after_two(int64_t begin, int64_t end, void *user)
{
    stopping *s = user;

    (void)begin, (void)end;
    int before = atomic_fetch_add(&s->pieces, 1);
    if (before == 1)
        atomic_store(&s->cancel, 1);
    while (before > 1 && atomic_load(&s->cancel) == 0) /* a thread begins one piece more at most */
        sched_yield();
}

START_TEST(pool_stops_between_pieces)
{
    stopping s = {0};
    dpi_stop stop = {.cancel = &s.cancel}, never = {0}, late = {.deadline = 1};

    if (_i > 0)
        ck_assert_int_eq(dp_thread_pool_start(_i, NULL), DP_OK);
    ck_assert_int_eq(dpi_thread_pool_run(0, 0, 1000, 1, stop_after_two, &s, &stop), DP_ECANCELLED);
    ck_assert_int_ge(atomic_load(&s.pieces), 2);
    ck_assert_int_le(atomic_load(&s.pieces), 2 + _i); /* those that had begun */
    atomic_store(&s.pieces, 10);
    ck_assert_int_eq(dpi_thread_pool_run(0, 0, 1000, 1, stop_after_two, &s, &late), DP_EDEADLINE);
    ck_assert_int_eq(atomic_load(&s.pieces), 10);
    ck_assert_int_eq(dpi_thread_pool_run(0, 0, 1000, 1, stop_after_two, &s, &never), 0);
    ck_assert_int_gt(atomic_load(&s.pieces), 10);
    dp_thread_pool_stop();
}
END_TEST

static void count_slices(int64_t begin, int64_t end, void *user)
{
    stopping *s = user;

    if (atomic_fetch_add(&s->pieces, 1) == 0)
        ck_assert_int_eq(end - begin, 8); /* as long as the grain */
    if (atomic_load(&s->pieces) == 40)
        atomic_store(&s->cancel, 1);
}

/* 2^62 steps are at most a few pieces, of 2^59 steps: a body is called for parts of them. */
START_TEST(pool_stops_within_a_piece)
{
    stopping s = {0};
    dpi_stop stop = {.cancel = &s.cancel};

    ck_assert_int_eq(dpi_thread_pool_run(1, 0, (int64_t)1 << 62, 8, count_slices, &s, &stop),
                     DP_ECANCELLED);
    ck_assert_int_eq(atomic_load(&s.pieces), 40);
    /* a body that saw the flag returned early, in the only piece too */
    ck_assert_int_eq(dpi_thread_pool_run(1, 0, 1, 8, count_slices, &s, &stop), DP_ECANCELLED);
}
END_TEST

typedef struct leaving {
    pthread_t caller;
    atomic_bool left;
} leaving;

/* The caller waits until a helper has come, however busy all are. */
static void leave_the_thread(int64_t begin, int64_t end, void *user)
{
    leaving *l = user;

    (void)begin, (void)end;
    if (!pthread_equal(l->caller, pthread_self())) {
        atomic_store(&l->left, true);
        pthread_exit(NULL);
    }
    while (!atomic_load(&l->left))
        sched_yield();
}

START_TEST(pool_has_its_threads_after_a_body_that_ends_them)
{
    ck_assert_int_eq(dp_thread_pool_start(_i, NULL), DP_OK);
    for (int i = 0; i < 100; i++) {
        leaving l = {.caller = pthread_self()};
        ck_assert_int_eq(dpi_thread_pool_run(0, 0, 1000, 1, leave_the_thread, &l, NULL),
                         DPI_THREAD_LEFT);
    }
    check_run(0, 0, 10000, 1);
    dp_thread_pool_stop();
}
END_TEST

START_TEST(pool_runs_every_element_once)
{
    pthread_t threads[3];

    check_run(0, 0, 10000, 1); /* not started: all on the caller */
    ck_assert_int_eq(dp_thread_pool_start(_i, NULL), DP_OK);
    if (_i > 0)
        ck_assert_int_eq(dp_thread_pool_start(_i, NULL), DP_EEXISTS);
    check_run(0, 5, 5, 1);
    check_run(0, 9, 3, 1);
    check_run(1, 0, 10000, 1);
    check_run(0, 0, 10000, 0);
    check_run(0, 0, 10000, 100000);
    dpi_thread_pool_run(0, 0, 20, 1, nested, NULL, NULL);
    for (size_t i = 0; i < DPI_COUNT(threads); i++)
        pthread_create(&threads[i], NULL, caller, NULL);
    for (size_t i = 0; i < DPI_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    dp_thread_pool_stop();
    dp_thread_pool_stop();
    check_run(0, 0, 10000, 1);
}
END_TEST

UNIT_SUITE(thread_pool)
{
    tcase_add_loop_test(tc, pool_runs_every_element_once, 0, 4);
    tcase_add_loop_test(tc, pool_stops_between_pieces, 0, 4);
    tcase_add_test(tc, pool_stops_within_a_piece);
    tcase_add_loop_test(tc, pool_has_its_threads_after_a_body_that_ends_them, 1, 4);
}
