/* test_permission.c -- what this user may not read or trust is refused as PermissionError. */
#include "unit.h"
#include <dispatchd/dispatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static char directory[] = "/tmp/dispatchd-test-XXXXXX";
static char path[128];
static dp_error err;
static uid_t before;

/* Root may read everything and needs no directory of its own: root becomes nobody. */
static void setup(void)
{
    memcpy(directory + strlen(directory) - 6, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    ck_assert_int_eq(chmod(directory, 0777), 0);
    before = geteuid();
    if (before == 0)
        ck_assert_int_eq(seteuid(NOBODY), 0);
}

static void teardown(void)
{
    ck_assert_int_eq(seteuid(before), 0);
    ck_assert_int_eq(remove(path), 0);
    ck_assert_int_eq(rmdir(directory), 0);
}

START_TEST(permission_unreadable_plugin)
{
    dp_arena *a = dp_arena_new();
    dp_manifest m;

    snprintf(path, sizeof(path), "%s/plugin.so", directory);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fclose(f);
    ck_assert_int_eq(chmod(path, 0), 0);
    ck_assert_int_eq(dp_manifest_read(path, a, &m, &err), DP_EPERM);
    ck_assert_msg(strstr(err.message, path) != NULL, "no '%s' in '%s'", path, err.message);
    dp_arena_free(a);
}
END_TEST

UNIT_SUITE(permission)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, permission_unreadable_plugin);
}
