/* test_mem.c -- memory that fails when told to. */
#include "base/backend.h"
#include "unit.h"
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

START_TEST(memory_fails_the_nth_time_once)
{
    void *p[4];

    dp_fault_arm(3);
    for (int i = 0; i < 4; i++)
        p[i] = dp_malloc(0);
    ck_assert_ptr_nonnull(p[0]);
    ck_assert_ptr_nonnull(p[1]);
    ck_assert_ptr_null(p[2]);
    ck_assert_ptr_nonnull(p[3]);
    ck_assert(dp_fault_hit());
    for (int i = 0; i < 4; i++)
        dp_free(p[i]);
    dp_fault_arm(1);
    dp_fault_arm(0);
    char *s = dp_strdup("kept");
    ck_assert_str_eq(s, "kept");
    ck_assert(!dp_fault_hit());
    dp_free(s);
}
END_TEST

UNIT_SUITE(mem)
{
    tcase_add_test(tc, memory_fails_the_nth_time_once);
}
