/* test_cache.c -- the directory of plugins' copies: made, locked, removed; a dead daemon's is swept
 * away. */
#include "cache.h"
#include "unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[] = "/tmp/dispatchd-cache-XXXXXX";
static char *dir;
static int lock_fd;
static dp_error err;

static void setup(void)
{
    memcpy(base + strlen(base) - 6, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(base));
    ck_assert_int_eq(cache_open(base, &dir, &lock_fd, &err), 0);
}

static void teardown(void)
{
    ck_assert_int_eq(rmdir(base), 0); /* nothing was left in it */
}

static bool is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static void touch(const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fclose(f);
}

START_TEST(a_directory_is_removed_with_what_is_in_it)
{
    ck_assert_int_eq(strncmp(dir, base, strlen(base)), 0);
    touch("copy.so");
    char *name = strdup(dir);
    cache_close(dir, lock_fd);
    ck_assert(!is_there(name));
    free(name);
}
END_TEST

START_TEST(a_living_daemons_directory_stays)
{
    char *second = NULL;
    int second_fd;

    ck_assert_int_eq(cache_open(base, &second, &second_fd, &err), 0);
    ck_assert_str_ne(second, dir);
    ck_assert(is_there(dir));
    cache_close(second, second_fd);
    cache_close(dir, lock_fd);
}
END_TEST

START_TEST(a_dead_daemons_directory_is_swept_away)
{
    char *second = NULL;
    int second_fd;

    touch("copy.so");
    close(lock_fd); /* as if its process had died */
    log_level_set(LOG_ERROR);
    ck_assert_int_eq(cache_open(base, &second, &second_fd, &err), 0);
    ck_assert(!is_there(dir));
    cache_close(second, second_fd);
    dp_free(dir);
}
END_TEST

START_TEST(a_base_that_cannot_be_made_is_an_error)
{
    char *none = NULL;
    int none_fd;

    ck_assert_int_eq(cache_open("/nowhere/at/all", &none, &none_fd, &err), DP_ERUNTIME);
    ck_assert_ptr_nonnull(strstr(err.message, "--cache-dir '/nowhere/at/all'"));
    ck_assert_ptr_null(none);
    cache_close(NULL, -1);
    cache_close(dir, lock_fd);
}
END_TEST

UNIT_SUITE(cache)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_directory_is_removed_with_what_is_in_it);
    tcase_add_test(tc, a_living_daemons_directory_stays);
    tcase_add_test(tc, a_dead_daemons_directory_is_swept_away);
    tcase_add_test(tc, a_base_that_cannot_be_made_is_an_error);
}
