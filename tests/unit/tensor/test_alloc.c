/* test_alloc.c -- tensor memory: alignment, warm blocks and their limit, what a sanitizer sees. */
#include "unit.h"
#include "tensor/room.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

/* Every size around every class boundary is usable to its last byte and aligned. */
START_TEST(blocks_hold_what_was_asked_for)
{
    for (size_t step = 1; step <= 4 * MIB; step *= 2)
        for (size_t i = 3; i <= 9; i++) {
            size_t bytes = step * i / 4 + (i & 1);
            if (bytes == 0)
                continue;
            unsigned char *p = dpi_memory_alloc(bytes);
            ck_assert_ptr_nonnull(p);
            ck_assert_uint_eq((uintptr_t)p % 64, 0);
            p[0] = 1;
            p[bytes - 1] = 2;
            dpi_memory_free(p, bytes);
        }
}
END_TEST

START_TEST(impossible_sizes_are_refused)
{
    ck_assert_ptr_null(dpi_memory_alloc(0));
    ck_assert_ptr_null(dpi_memory_alloc(SIZE_MAX));
    ck_assert_ptr_null(dpi_memory_alloc((size_t)1 << 40));
    dpi_memory_free(NULL, 0);
    dp_fault_arm(1);
    ck_assert_ptr_null(dpi_memory_alloc(64));
    ck_assert(dp_fault_hit());
}
END_TEST

#ifdef __SANITIZE_ADDRESS__

#include <sanitizer/asan_interface.h>

/* Red zones begin at the byte after the last, and freed bytes are off limits. */
START_TEST(the_sanitizer_sees_every_byte)
{
    static const size_t sizes[] = {1, 4, 63, 64, 65, 100, 1000, 65536, 70001};

    for (size_t i = 0; i < DPI_COUNT(sizes); i++) {
        char *p = dpi_memory_alloc(sizes[i]);
        ck_assert(!__asan_address_is_poisoned(p + sizes[i] - 1));
        ck_assert(__asan_address_is_poisoned(p + sizes[i]));
        dpi_memory_free(p, sizes[i]);
        ck_assert(__asan_address_is_poisoned(p));
        ck_assert_uint_eq(dpi_memory_warm(), 0);
    }
}
END_TEST

#else

START_TEST(freed_blocks_are_reused_warm)
{
    size_t before = dpi_memory_warm();
    char *p = dpi_memory_alloc(MIB), *q;

    dpi_memory_free(p, MIB);
    ck_assert_uint_eq(dpi_memory_warm(), before + MIB);
    q = dpi_memory_alloc(MIB - 5000); /* same class */
    ck_assert_ptr_eq(p, q);
    ck_assert_uint_eq(dpi_memory_warm(), before);
    dpi_memory_free(q, MIB - 5000);
    dp_memory_trim(0);
    ck_assert_uint_eq(dpi_memory_warm(), 0);
}
END_TEST

static void *alloc_one(void *arg)
{
    (void)arg;
    return dpi_memory_alloc(MIB);
}

START_TEST(a_thread_finds_what_another_freed)
{
    void *p = dpi_memory_alloc(MIB), *q = NULL;
    pthread_t t;

    dpi_memory_free(p, MIB);
    pthread_create(&t, NULL, alloc_one, NULL);
    pthread_join(t, &q);
    ck_assert_ptr_eq(p, q);
    dpi_memory_free(q, MIB);
    dp_memory_trim(0);
}
END_TEST

static size_t resident(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    ck_assert_int_eq(fscanf(f, "%*s %ld", &pages), 1);
    fclose(f);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* 40 blocks of 16 MiB, 640 in all, in two sizes: what is kept stays under the 256 of the limit, and
 * the rest goes back to the system. */
START_TEST(warm_memory_has_a_limit)
{
    void *p[40];
    size_t start = resident();

    for (int i = 0; i < 40; i++) {
        p[i] = dpi_memory_alloc((16 + (size_t)(i & 1)) * MIB);
        memset(p[i], 1, 2 * MIB);
    }
    for (int i = 0; i < 40; i++) {
        dpi_memory_free(p[i], (16 + (size_t)(i & 1)) * MIB);
        ck_assert_uint_le(dpi_memory_warm(), 256 * MIB);
    }
    ck_assert_uint_gt(dpi_memory_warm(), 0);
    dp_memory_trim(0);
    ck_assert_uint_eq(dpi_memory_warm(), 0);
    ck_assert_uint_lt(resident(), start + 16 * MIB);
    void *big = dpi_memory_alloc(200 * MIB); /* more than half the limit: never kept */
    dpi_memory_free(big, 200 * MIB);
    ck_assert_uint_eq(dpi_memory_warm(), 0);
}
END_TEST

#endif

/* Blocks are stamped: two threads never hold the same one. */
static void *churn(void *arg)
{
    size_t *held[64] = {NULL}, sizes[64] = {0}, stamp = (size_t)arg;
    unsigned seed = (unsigned)stamp;

    for (int i = 0; i < 20000; i++) {
        unsigned k = (unsigned)rand_r(&seed) % 64;
        if (held[k] && held[k][0] != stamp + k)
            return (void *)1;
        dpi_memory_free(held[k], sizes[k]);
        sizes[k] = 8 + (size_t)rand_r(&seed) % (i % 50 ? 5000 : 200000);
        held[k] = dpi_memory_alloc(sizes[k]);
        held[k][0] = stamp + k;
    }
    for (int k = 0; k < 64; k++)
        dpi_memory_free(held[k], sizes[k]);
    return NULL;
}

START_TEST(threads_do_not_meet_in_a_block)
{
    pthread_t threads[4];
    void *bad;

    for (size_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, churn, (void *)((i + 1) << 32));
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &bad);
        ck_assert_ptr_null(bad);
    }
    dp_memory_trim(0);
    ck_assert_uint_eq(dpi_memory_warm(), 0);
}
END_TEST

UNIT_SUITE(alloc)
{
    tcase_add_test(tc, blocks_hold_what_was_asked_for);
    tcase_add_test(tc, impossible_sizes_are_refused);
#ifdef __SANITIZE_ADDRESS__
    tcase_add_test(tc, the_sanitizer_sees_every_byte);
#else
    tcase_add_test(tc, freed_blocks_are_reused_warm);
    tcase_add_test(tc, a_thread_finds_what_another_freed);
    tcase_add_test(tc, warm_memory_has_a_limit);
#endif
    tcase_add_test(tc, threads_do_not_meet_in_a_block);
}
