/* test_records.c -- records of a mapped file. */
#define _GNU_SOURCE /* pthread_tryjoin_np */
#include "loaded.h"

START_TEST(plugin_of_other_record_sizes_works)
{
    dp_value arg = dp_tensor_value(self), ret;

    OK(load(built("other_sizes")));
    ck_assert_uint_eq(report.defs, 2);
    ck_assert_uint_eq(report.impls, 2);
    OK(call(ctx, "other_sizes::g", &arg, 1, &ret, 1));
    ck_assert_ptr_eq(ret.u.t, self);
    dp_values_release(&ret, 1);
    OK(unload("other_sizes"));
    ck_assert(gone.unmapped);
}
END_TEST

UNIT_SUITE(records)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, plugin_of_other_record_sizes_works);
}
