/* test_tally.c -- numbers that every thread counts: the sum has what each counted, ended or not. */
#include "base/base.h"
#include "unit.h"
#include <pthread.h>

enum { THREADS = 300, EACH = 100 }; /* more threads than rows, a few at a time */

static void *count(void *arg)
{
    for (int i = 0; i < EACH; i++)
        dpi_tally_add(DPI_TALLY_TENSORS, 2);
    dpi_tally_add(DPI_TALLY_TENSORS, -EACH);
    dpi_tally_add(DPI_TALLY_STORAGES, 1);
    return arg;
}

START_TEST(tally_sums_what_all_threads_counted)
{
    int64_t tensors = dpi_tally_sum(DPI_TALLY_TENSORS);
    int64_t storages = dpi_tally_sum(DPI_TALLY_STORAGES);
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, count, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(dpi_tally_sum(DPI_TALLY_TENSORS) - tensors, THREADS * EACH);
    ck_assert_int_eq(dpi_tally_sum(DPI_TALLY_STORAGES) - storages, THREADS);
}
END_TEST

UNIT_SUITE(tally)
{
    tcase_add_test(tc, tally_sums_what_all_threads_counted);
}
