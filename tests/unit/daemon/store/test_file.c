/* test_file.c -- files beneath a directory: no path leads out of it, a file is replaced in one
 * step, and files of killed processes are removed. */
#define _GNU_SOURCE
#include "store/store.h"
#include "unit.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];
static store s;
static dp_error err;

static void put(const char *path, const char *text)
{
    int fd = openat(s.dir, path, O_WRONLY | O_CREAT | O_TRUNC, 0640);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* Does the file have this text?  NULL: is there no such file? */
static bool has(const char *path, const char *text)
{
    char got[64] = "";
    int fd = openat(s.dir, path, O_RDONLY);

    if (fd < 0 || text == NULL)
        return fd < 0 && text == NULL;
    bool is = read(fd, got, sizeof(got) - 1) >= 0 && strcmp(got, text) == 0;
    close(fd);
    return is;
}

/* Number of entries of the directory whose names begin with ".dispatchd-". */
static int temporaries(void)
{
    DIR *d = opendir(folder);
    int n = 0;

    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        n += strncmp(e->d_name, ".dispatchd-", 11) == 0;
    closedir(d);
    return n;
}

static void setup(void)
{
    snprintf(folder, sizeof(folder), "/tmp/dispatchd-store-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(store_open(&s, folder, &err), 0);
    ck_assert_int_eq(mkdirat(s.dir, "in", 0700), 0);
    put("old", "old");
}

static void teardown(void)
{
    char command[128];

    store_close(&s);
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static const struct {
    const char *path;
    int code;
} paths[] = {
    {"/etc/passwd", DP_EPERM}, {"../x", DP_EPERM},        {"in/../old", DP_EPERM},
    {"in/..", DP_EPERM},       {"link", DP_EPERM},        {"up/passwd", DP_EPERM},
    {"", DP_ENOTFOUND},        {"no/file", DP_ENOTFOUND},
};

START_TEST(no_path_leads_out)
{
    store_replacement r;
    int fd = -1, code = paths[_i].code;

    ck_assert_int_eq(symlinkat("old", s.dir, "link"), 0);
    ck_assert_int_eq(symlinkat("/etc", s.dir, "up"), 0);
    ck_assert_int_eq(store_file_open(&s, paths[_i].path, &fd, &err), code);
    int rc = store_replace_begin(&s, paths[_i].path, 0, &r, &err);
    ck_assert_int_eq(rc, *paths[_i].path == '\0' ? DP_EVALUE : code);
    store_replace_end(&r);
    ck_assert_int_eq(temporaries(), 0);
    ck_assert(has("old", "old"));
}
END_TEST

START_TEST(a_directory_is_no_file)
{
    store_replacement r;
    uint64_t bytes;
    int fd = -1;

    ck_assert_int_eq(store_file_open(&s, "in", &fd, &err), 0);
    ck_assert_int_eq(store_file_bytes(fd, "in", &bytes, &err), DP_EVALUE);
    ck_assert_str_eq(err.message, "'in' is no regular file");
    close(fd);
    ck_assert_int_eq(store_replace_begin(&s, "in", 0, &r, &err), DP_EVALUE);
    store_replace_end(&r);
    ck_assert_int_eq(store_replace_begin(&s, "in/", 0, &r, &err), DP_EVALUE);
    ck_assert_str_eq(err.message, "path 'in/': expected the name of a file at its end");
    store_replace_end(&r);
    store none = {.dir = -1};
    ck_assert_int_eq(store_file_open(&none, "old", &fd, &err), DP_EPERM);
    ck_assert_ptr_nonnull(strstr(err.message, "without --data-path"));
}
END_TEST

START_TEST(a_file_is_replaced_in_one_step)
{
    store_replacement r;
    struct stat st;

    ck_assert_int_eq(store_replace_begin(&s, "old", 3, &r, &err), 0);
    ck_assert_int_eq(store_write(r.fd, "old", "new", 3, 0, &err), 0);
    ck_assert(has("old", "old"));
    ck_assert_int_eq(store_replace_commit(&r, &err), 0);
    store_replace_end(&r);
    ck_assert(has("old", "new"));
    ck_assert_int_eq(fstatat(s.dir, "old", &st, 0), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0640); /* as before */
    ck_assert_int_eq(store_replace_begin(&s, "in/fresh", 3, &r, &err), 0);
    store_replace_end(&r); /* without a commit */
    ck_assert(has("in/fresh", NULL));
    ck_assert_int_eq(temporaries(), 0);
}
END_TEST

/* A temporary file that a killed process left is removed when the next replacement begins.  The
 * temporary file of a process that still runs stays. */
START_TEST(leftovers_are_removed)
{
    store_replacement mine, next;
    pid_t child = fork();

    if (child == 0) {
        store_replacement r;
        _exit(store_replace_begin(&s, "old", 0, &r, &err) < 0); /* as if killed: no end */
    }
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_int_eq(temporaries(), 1);
    ck_assert_int_eq(store_replace_begin(&s, "old", 0, &mine, &err), 0);
    ck_assert_int_eq(temporaries(), 1);
    ck_assert_int_eq(store_replace_begin(&s, "old", 0, &next, &err), 0);
    ck_assert_int_eq(temporaries(), 2);
    ck_assert_int_eq(store_replace_commit(&mine, &err), 0);
    store_replace_end(&mine);
    store_replace_end(&next);
    ck_assert_int_eq(temporaries(), 0);
    ck_assert(has("old", ""));
}
END_TEST

START_TEST(a_name_of_a_temporary_file_is_refused)
{
    store_replacement r;

    ck_assert_int_eq(store_replace_begin(&s, ".dispatchd-1-1.tmp", 0, &r, &err), DP_EVALUE);
    ck_assert_ptr_nonnull(strstr(err.message, "'.dispatchd-*.tmp' are those of temporary files"));
    store_replace_end(&r);
    ck_assert_int_eq(store_replace_begin(&s, ".dispatchd-1-1", 0, &r, &err), 0);
    store_replace_end(&r);
}
END_TEST

START_TEST(a_file_that_shrinks_is_an_error)
{
    char bytes[8];
    int fd = -1;

    ck_assert_int_eq(store_file_open(&s, "old", &fd, &err), 0);
    ck_assert_int_eq(store_read(fd, "old", bytes, 3, 0, &err), 0);
    ck_assert_int_eq(store_read(fd, "old", bytes, 8, 0, &err), DP_EVALUE);
    ck_assert_str_eq(err.message, "'old' ends at byte 3, but 5 more were there when it was opened");
    close(fd);
}
END_TEST

UNIT_SUITE(store_file)
{
    tcase_set_tags(tc, "not_valgrind"); /* which lacks openat2() */
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, no_path_leads_out, 0, sizeof(paths) / sizeof(paths[0]));
    tcase_add_test(tc, a_directory_is_no_file);
    tcase_add_test(tc, a_file_is_replaced_in_one_step);
    tcase_add_test(tc, leftovers_are_removed);
    tcase_add_test(tc, a_name_of_a_temporary_file_is_refused);
    tcase_add_test(tc, a_file_that_shrinks_is_an_error);
}
