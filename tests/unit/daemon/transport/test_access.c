/* test_access.c -- who may connect: this process is its own client, as its uid and as another. */
#include "transport/access.h"
#include "unit.h"
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { OTHER = 65534 };

static int fds[2];
static dp_error err;

static void connect_both(void)
{
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
}

START_TEST(the_own_uid_may_connect)
{
    options o = {0};
    uid_t uid = 0;

    connect_both();
    ck_assert_int_eq(access_check(&o, fds[0], &uid, &err), 0);
    ck_assert_uint_eq(uid, geteuid());
}
END_TEST

START_TEST(an_unknown_client_may_not)
{
    options o = {0};
    uid_t uid = 0;
    int pipes[2];

    ck_assert_int_eq(pipe(pipes), 0);
    ck_assert_int_eq(access_check(&o, pipes[0], &uid, &err), DP_EPERM);
    ck_assert_uint_eq(uid, (uid_t)-1);
}
END_TEST

/* The socket keeps the uid with which it was made. */
START_TEST(other_uids_may_if_they_are_allowed)
{
    int64_t uids[] = {7, OTHER}, gids[] = {9};
    options o = {0};
    uid_t uid = 0;

    if (geteuid() != 0)
        return;
    ck_assert_int_eq(seteuid(OTHER), 0);
    connect_both();
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(access_check(&o, fds[0], &uid, &err), DP_EPERM);
    ck_assert_ptr_nonnull(strstr(err.message, "uid 65534 is not the daemon's 0"));
    o.allow_uids = (id_list){uids, 1};
    ck_assert_int_eq(access_check(&o, fds[0], &uid, &err), DP_EPERM);
    o.allow_uids.n = 2;
    ck_assert_int_eq(access_check(&o, fds[0], &uid, &err), 0);
    ck_assert_uint_eq(uid, OTHER);
    o.allow_uids.n = 0;
    o.allow_gids = (id_list){gids, 1};
    ck_assert_int_eq(access_check(&o, fds[0], &uid, &err), DP_EPERM);
    gids[0] = getegid();
    ck_assert_int_eq(access_check(&o, fds[0], &uid, &err), 0);
}
END_TEST

UNIT_SUITE(access)
{
    tcase_add_test(tc, the_own_uid_may_connect);
    tcase_add_test(tc, an_unknown_client_may_not);
    tcase_add_test(tc, other_uids_may_if_they_are_allowed);
}
