/* test_text.c -- growable text. */
#include "base/backend.h"
#include "unit.h"
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

START_TEST(text_grows_and_stays_failed)
{
    dpi_text t = {0};

    for (int i = 0; i < 100; i++)
        dpi_text_printf(&t, "%d,", i);
    dpi_text_addn(&t, "xyz", 2);
    ck_assert_uint_eq(t.len, 10 * 2 + 90 * 3 + 2);
    ck_assert_str_eq(t.s + t.len - 5, "99,xy");
    dp_fault_arm(1);
    for (int i = 0; i < 100; i++)
        dpi_text_add(&t, "more than there was room for");
    dp_fault_arm(0);
    ck_assert(t.failed);
    dpi_text_fini(&t);
    ck_assert_ptr_null(t.s);
}
END_TEST

UNIT_SUITE(text)
{
    tcase_add_test(tc, text_grows_and_stays_failed);
}
