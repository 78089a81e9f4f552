/* test_find.c -- plugins by bare name. */
#define _GNU_SOURCE /* pthread_tryjoin_np */
#include "loaded.h"

START_TEST(plugin_is_found_by_its_bare_name)
{
    char dirs[4300], *slash;

    snprintf(dirs, sizeof(dirs), "/nowhere::%s", built("plugins/template"));
    slash = strrchr(dirs, '/');
    *slash = '\0';
    options.search_path = dirs;
    OK(load("template"));
    OK(unload("template"));
    OK(load("template.so"));
    OK(unload("template"));
    ck_assert_int_eq(load("templates"), DP_ENOTFOUND);
    says(err.message, "no file 'templates.so' in the plugin path '/nowhere:");
    ck_assert_int_eq(load("../plugins/template.so"), DP_EVALUE);
    ck_assert_int_eq(load(""), DP_EVALUE);
}
END_TEST

UNIT_SUITE(find_plugin)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, plugin_is_found_by_its_bare_name);
}
