/* test_nearest.c -- names near a mistyped one. */
#include "base/backend.h"
#include "unit.h"
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

START_TEST(nearest_names_come_first)
{
    static const char *const names[] = {"aten::mul.Tensor", "aten::add.Tensor", "aten::addmm",
                                        "aten::add_.Tensor", "prim::x"};
    char buf[64], small[8];

    dpi_nearest("aten::ad.Tensor", names, DPI_COUNT(names), 2, buf, sizeof(buf));
    ck_assert_str_eq(buf, "'aten::add.Tensor', 'aten::add_.Tensor'");
    dpi_nearest("anything", names, DPI_COUNT(names), 9, small, sizeof(small));
    ck_assert_uint_lt(strlen(small), sizeof(small));
    dpi_nearest("anything", names, 0, 3, buf, sizeof(buf));
    ck_assert_str_eq(buf, "");
}
END_TEST

UNIT_SUITE(nearest)
{
    tcase_add_test(tc, nearest_names_come_first);
}
