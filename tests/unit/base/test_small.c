/* test_small.c -- blocks of one size that a thread keeps: each is given out once, none is lost when
 * its thread ends, and an allocation that is to fail does so with and without a kept block. */
#include "base/base.h"
#include "unit.h"
#include <dispatchd/dispatch.h>
#include <pthread.h>
#include <stdlib.h>

enum { BLOCKS = 100, THREADS = 300, ROUNDS = 50 };

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (void *const *)a, y = (uintptr_t) * (void *const *)b;
    return x < y ? -1 : x > y;
}

static void fill(void **blocks)
{
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = dpi_small_alloc();
        ck_assert_ptr_nonnull(blocks[i]);
        memset(blocks[i], i, DPI_SMALL_BYTES);
    }
}

/* All blocks are alive at once, so none may overlap another. */
START_TEST(small_blocks_do_not_overlap)
{
    void *blocks[BLOCKS];

    for (int round = 0; round < 3; round++) {
        fill(blocks);
        for (int i = 0; i < BLOCKS; i++)
            for (int k = 0; k < DPI_SMALL_BYTES; k++)
                ck_assert_uint_eq(((unsigned char *)blocks[i])[k], (unsigned char)i);
        qsort(blocks, BLOCKS, sizeof(void *), by_address);
        for (int i = 1; i < BLOCKS; i++)
            ck_assert_uint_ge((uintptr_t)blocks[i] - (uintptr_t)blocks[i - 1], DPI_SMALL_BYTES);
        for (int i = 0; i < BLOCKS; i++)
            dpi_small_free(blocks[i]);
    }
}
END_TEST

static void *use(void *arg)
{
    void *blocks[BLOCKS];

    for (int round = 0; round < ROUNDS; round++) {
        fill(blocks);
        for (int i = 0; i < BLOCKS; i++)
            dpi_small_free(blocks[i]);
    }
    dpi_tally_add(DPI_TALLY_TENSORS, 0); /* the thread has a row, and keeps blocks in it */
    dpi_small_free(dpi_small_alloc());
    return arg;
}

START_TEST(small_blocks_of_ended_threads_are_used_again)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, use, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}
END_TEST

START_TEST(small_allocations_fail_when_they_are_to)
{
    for (int kept = 0; kept < 2; kept++) {
        dp_fault_arm(1);
        ck_assert_ptr_null(dpi_small_alloc());
        ck_assert(dp_fault_hit());
        dp_fault_arm(0);
        dpi_tally_add(DPI_TALLY_TENSORS, 0);
        dpi_small_free(dpi_small_alloc());
    }
}
END_TEST

UNIT_SUITE(small)
{
    tcase_add_test(tc, small_blocks_do_not_overlap);
    tcase_add_test(tc, small_blocks_of_ended_threads_are_used_again);
    tcase_add_test(tc, small_allocations_fail_when_they_are_to);
}
