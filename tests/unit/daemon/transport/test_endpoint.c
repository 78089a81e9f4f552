/* test_endpoint.c -- the socket's path, its lock, and that no file of another is removed. */
#include "transport/endpoint.h"
#include "unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char directory[] = "/tmp/dispatchd-end-XXXXXX";
static char path[64];
static options o;
static endpoint e;
static dp_error err;

static void setup(void)
{
    memcpy(directory + strlen(directory) - 6, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/d.sock", directory);
    o = (options){.socket = path, .serve_fd = -1};
    dp_error_clear(&err);
    log_level_set(LOG_ERROR);
}

static void teardown(void)
{
    ck_assert_int_eq(rmdir(directory), 0); /* nothing is left */
}

static bool is_there(const char *name)
{
    struct stat st;

    return lstat(name, &st) == 0;
}

START_TEST(a_path_is_served_by_one)
{
    endpoint second;

    ck_assert_int_eq(endpoint_open(&e, &o, &err), 0);
    ck_assert_int_eq(endpoint_listen(&e, 0600, &err), 0);
    ck_assert_int_eq(endpoint_open(&second, &o, &err), DP_EBUSY);
    ck_assert_ptr_nonnull(strstr(err.message, "is served by process "));
    endpoint_close(&second);
    ck_assert(is_there(path));
    endpoint_close(&e);
    ck_assert(!is_there(path));
}
END_TEST

START_TEST(a_dead_daemons_socket_is_replaced)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    memcpy(a.sun_path, path, strlen(path) + 1);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    close(fd); /* it stays, and nobody listens */
    ck_assert_int_eq(endpoint_open(&e, &o, &err), 0);
    ck_assert_int_eq(endpoint_listen(&e, 0600, &err), 0);
    endpoint_close(&e);
}
END_TEST

START_TEST(a_file_that_is_no_socket_stays)
{
    FILE *f = fopen(path, "w");

    fclose(f);
    ck_assert_int_eq(endpoint_open(&e, &o, &err), 0);
    ck_assert_int_eq(endpoint_listen(&e, 0600, &err), DP_EEXISTS);
    endpoint_close(&e);
    ck_assert(is_there(path));
    unlink(path);
}
END_TEST

START_TEST(a_path_that_is_too_long_is_refused)
{
    char *out = NULL, name[200];

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    o.socket = name;
    ck_assert_int_eq(endpoint_path(&o, &out, &err), DP_EVALUE);
    ck_assert_ptr_null(out);
}
END_TEST

/* Root needs no directory of its own: root becomes nobody. */
START_TEST(a_directory_that_others_can_enter_is_refused)
{
    enum { NOBODY = 65534 };
    char own[128], *out = NULL;
    uid_t before = geteuid();

    ck_assert_int_eq(chmod(directory, 0777), 0);
    if (before == 0)
        ck_assert_int_eq(seteuid(NOBODY), 0);
    unsetenv("DISPATCHD_SOCKET");
    unsetenv("XDG_RUNTIME_DIR");
    setenv("TMPDIR", directory, 1);
    snprintf(own, sizeof(own), "%s/dispatchd-%ld", directory, (long)geteuid());
    ck_assert_int_eq(mkdir(own, 0700), 0);
    o.socket = NULL;
    ck_assert_int_eq(endpoint_path(&o, &out, &err), 0);
    ck_assert_int_eq(strncmp(out, own, strlen(own)), 0);
    dp_free(out);
    out = NULL;
    ck_assert_int_eq(chmod(own, 0755), 0);
    ck_assert_int_eq(endpoint_path(&o, &out, &err), DP_EPERM);
    ck_assert_ptr_null(out);
    ck_assert_msg(strstr(err.message, "mode 0700") != NULL, "%s", err.message);
    unsetenv("TMPDIR");
    ck_assert_int_eq(seteuid(before), 0);
    ck_assert_int_eq(rmdir(own), 0);
}
END_TEST

UNIT_SUITE(endpoint)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_path_is_served_by_one);
    tcase_add_test(tc, a_dead_daemons_socket_is_replaced);
    tcase_add_test(tc, a_file_that_is_no_socket_stays);
    tcase_add_test(tc, a_path_that_is_too_long_is_refused);
    tcase_add_test(tc, a_directory_that_others_can_enter_is_refused);
}
