/* test_plugins.c -- which file a plugin's name or path on the command line stands for. */
#include "server.h"
#include "unit.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static dp_arena *a;
static dp_error err;
static const char *found;

static void setup(void)
{
    a = dp_arena_new();
    ck_assert_ptr_nonnull(a);
    ck_assert_int_eq(chdir("/tmp"), 0);
}

static void teardown(void)
{
    dp_arena_free(a);
}

START_TEST(a_relative_path_becomes_an_absolute_one)
{
    char name[] = "dispatchd-plugin-XXXXXX", relative[64];
    int fd = mkstemp(name);

    ck_assert_int_ge(fd, 0);
    close(fd);
    snprintf(relative, sizeof(relative), "./%s", name);
    ck_assert_int_eq(plugin_file(relative, NULL, a, &found, &err), 0);
    ck_assert_int_eq(strncmp(found, "/tmp/dispatchd-plugin-", 22), 0);
    dp_error_clear(&err);
    ck_assert_int_eq(plugin_file(name, NULL, a, &found, &err), DP_ENOTFOUND);
    ck_assert_msg(strstr(err.message, "a path needs a '/': './dispatchd-plugin-") != NULL, "%s",
                  err.message);
    unlink(name);
}
END_TEST

START_TEST(a_name_that_is_nowhere_is_not_found)
{
    ck_assert_int_eq(plugin_file("no_such_plugin", "/nowhere", a, &found, &err), DP_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(err.message, "no_such_plugin"));
}
END_TEST

UNIT_SUITE(plugins)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_relative_path_becomes_an_absolute_one);
    tcase_add_test(tc, a_name_that_is_nowhere_is_not_found);
}
