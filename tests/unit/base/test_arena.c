/* test_arena.c -- arenas. */
#include "base/backend.h"
#include "unit.h"
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

START_TEST(arena_blocks_are_aligned_and_apart)
{
    dp_arena *a = dp_arena_new();
    unsigned char *p[300];

    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < DPI_COUNT(p); i++) {
            p[i] = dp_arena_alloc(a, i * 7);
            ck_assert_ptr_nonnull(p[i]);
            ck_assert_uint_eq((uintptr_t)p[i] % 16, 0);
            memset(p[i], (int)i, i * 7);
        }
        void *huge = dp_arena_alloc(a, 1 << 20);
        ck_assert_ptr_nonnull(huge);
        memset(huge, 0xff, 1 << 20);
        for (size_t i = 0; i < DPI_COUNT(p); i++)
            for (size_t j = 0; j < i * 7; j++)
                unit_each(p[i][j] == (i & 0xff), "block %zu byte %zu is %d", i, j, p[i][j]);
        dp_arena_reset(a);
    }
    ck_assert_str_eq(dp_arena_printf(a, "%d of %s", 3, "many"), "3 of many");
    ck_assert_str_eq(dp_arena_dup(a, "ab", 3), "ab");
    ck_assert_ptr_null(dp_arena_alloc(a, SIZE_MAX));
    ck_assert_ptr_null(dp_arena_alloc(a, SIZE_MAX / 2));
    ck_assert_ptr_null(dp_arena_free(a));
    ck_assert_ptr_null(dp_arena_free(NULL));
}
END_TEST

START_TEST(arena_survives_any_failed_allocation)
{
    for (uint64_t n = 1;; n++) {
        dp_fault_arm(n);
        dp_arena *a = dp_arena_new();
        for (int i = 0; a && i < 100; i++) {
            char *p = dp_arena_alloc(a, 1000);
            if (p)
                memset(p, 1, 1000);
        }
        dp_arena_free(a);
        if (!dp_fault_hit())
            break;
    }
    dp_fault_arm(0);
}
END_TEST

UNIT_SUITE(arena)
{
    tcase_add_test(tc, arena_blocks_are_aligned_and_apart);
    tcase_add_test(tc, arena_survives_any_failed_allocation);
}
