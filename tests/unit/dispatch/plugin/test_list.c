/* test_list.c -- what can be asked of loaded plugins. */
#define _GNU_SOURCE /* pthread_tryjoin_np */
#include "loaded.h"

START_TEST(plugin_list_describes_what_is_loaded)
{
    const dp_plugin_info *info;
    size_t n;

    OK(load(built("plugins/template")));
    OK(load(built("resident")));
    OK(dp_plugin_list(reg, arena, &info, &n, &err));
    ck_assert_uint_eq(n, 2);
    ck_assert_str_eq(info[0].plugin, "template");
    ck_assert_str_eq(info[0].path, built("plugins/template"));
    ck_assert_int_eq(access(info[0].mapped_file, R_OK), 0);
    ck_assert(!info[0].resident);
    ck_assert_str_eq(info[1].plugin, "resident");
    ck_assert(info[1].resident);
    says(info[1].kept_because, "declares itself resident");
    ck_assert_uint_lt(info[0].generation, info[1].generation);
}
END_TEST

UNIT_SUITE(list)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, plugin_list_describes_what_is_loaded);
}
