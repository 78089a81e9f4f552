/* test_systemd.c -- the variables of the service manager: messages go to $NOTIFY_SOCKET, a socket
 * is taken only from variables that are for this process, and no variable is left for children. */
#define _GNU_SOURCE
#include "systemd.h"
#include "unit.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static dp_error err;

static void setup(void)
{
    dp_error_clear(&err);
}

static void set(const char *notify, const char *pid, const char *fds)
{
    const char *const names[] = {"NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS"};
    const char *const values[] = {notify, pid, fds};

    for (int i = 0; i < 3; i++)
        if (values[i] != NULL)
            setenv(names[i], values[i], 1);
        else
            unsetenv(names[i]);
}

static const char *own_pid(void)
{
    static char text[32];

    snprintf(text, sizeof(text), "%ld", (long)getpid());
    return text;
}

START_TEST(without_variables_nothing_is_sent_or_taken)
{
    set(NULL, NULL, NULL);
    ck_assert_int_eq(systemd_init(&err), 0);
    ck_assert_int_eq(systemd_listener(), -1);
    systemd_notify("READY=%d", 1);
}
END_TEST

START_TEST(a_socket_is_taken_by_the_process_that_is_named)
{
    set(NULL, own_pid(), "1");
    ck_assert_int_eq(systemd_init(&err), 0);
    ck_assert_int_eq(systemd_listener(), 3);
    ck_assert_ptr_null(getenv("LISTEN_PID"));
    ck_assert_ptr_null(getenv("LISTEN_FDS"));
    set(NULL, "1", "1");
    ck_assert_int_eq(systemd_init(&err), 0);
    ck_assert_int_eq(systemd_listener(), -1);
    set(NULL, NULL, "1");
    ck_assert_int_eq(systemd_init(&err), 0);
    ck_assert_int_eq(systemd_listener(), -1);
}
END_TEST

static char long_path[110];
static const struct {
    const char *notify, *fds, *message;
} wrong[] = {
    {NULL, "2", "LISTEN_FDS is '2'; the daemon serves 1 socket"},
    {NULL, "1x", "LISTEN_FDS is '1x'; the daemon serves 1 socket"},
    {NULL, "", "LISTEN_FDS is ''; the daemon serves 1 socket"},
    {"relative", NULL, "NOTIFY_SOCKET is 'relative'; expected a path or '@' and a name"},
    {"/", NULL, "NOTIFY_SOCKET is '/'; expected"},
    {long_path, NULL, "of 2 to 107 bytes"},
};

START_TEST(wrong_values_are_named)
{
    memset(long_path, '/', 108);
    set(wrong[_i].notify, own_pid(), wrong[_i].fds);
    ck_assert_int_eq(systemd_init(&err), DP_EVALUE);
    ck_assert_msg(strstr(err.message, wrong[_i].message) != NULL, "%s", err.message);
    ck_assert_int_eq(systemd_listener(), -1);
}
END_TEST

/* Bind a datagram socket: to `path`, or to an abstract name if the path starts with '@'. */
static int bound(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    memcpy(a.sun_path, path, strlen(path));
    if (path[0] == '@')
        a.sun_path[0] = '\0';
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path))),
                     0);
    return fd;
}

START_TEST(messages_arrive_whole)
{
    char path[64], got[256] = "";

    snprintf(path, sizeof(path), "%sdispatchd-notify-%ld", _i == 0 ? "/tmp/" : "@", (long)getpid());
    int fd = bound(path);
    set(path, NULL, NULL);
    ck_assert_int_eq(systemd_init(&err), 0);
    ck_assert_ptr_null(getenv("NOTIFY_SOCKET"));
    systemd_notify("READY=1\nSTATUS=serves %s", "/run/d.sock");
    ck_assert_int_eq(recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT), 33);
    ck_assert_str_eq(got, "READY=1\nSTATUS=serves /run/d.sock");
    if (_i == 0)
        unlink(path);
    close(fd);
    systemd_notify("STOPPING=1"); /* nobody listens any more: only the log says so */
}
END_TEST

UNIT_SUITE(systemd)
{
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, without_variables_nothing_is_sent_or_taken);
    tcase_add_test(tc, a_socket_is_taken_by_the_process_that_is_named);
    tcase_add_loop_test(tc, wrong_values_are_named, 0, sizeof(wrong) / sizeof(wrong[0]));
    tcase_add_loop_test(tc, messages_arrive_whole, 0, 2);
}
