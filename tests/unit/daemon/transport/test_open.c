/* test_open.c -- server.open makes a connection in the session of its request, within the limits,
 * or changes nothing. */
#include "server.h"
#include "transport/parts.h"
#include "unit.h"
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static server s;
static struct connection from;
static request rq;
static dp_error err;

static void start(uid_t uid)
{
    memset(&s, 0, sizeof(s));
    ck_assert_int_eq(uv_loop_init(&s.loop), 0);
    ck_assert_int_eq(uv_async_init(&s.loop, &s.async, NULL), 0);
    pthread_mutex_init(&s.connections_lock, NULL);
    limits_apply(limit_defaults);
    sessions_init(&s.sessions, limit_defaults);
    rq = (request){.conn = &from, .session = session_new_for(&s.sessions, uid, &err)};
    ck_assert_ptr_nonnull(rq.session);
    from = (struct connection){.server = &s, .user = session_user(rq.session)};
    dp_error_clear(&err);
}

/* Free what connection_open() has made; returns how many connections that were. */
static int drop_opened(void)
{
    int n = 0;

    for (struct connection *c; (c = s.opened) != NULL; n++) {
        s.opened = c->next;
        close(c->fd);
        connection_discard(c);
    }
    return n;
}

static void stop(void)
{
    drop_opened();
    session_leave(rq.session);
    sessions_fini(&s.sessions);
    uv_close((uv_handle_t *)&s.async, NULL);
    uv_run(&s.loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&s.loop), 0);
    limits_apply(limit_defaults);
}

static void setup(void)
{
    start(geteuid());
}

START_TEST(both_ends_are_connected_and_the_session_is_the_same)
{
    char got = 0;
    int fd = -1;

    ck_assert_int_eq(connection_open(&rq, &fd, &err), 0);
    struct connection *c = s.opened;
    ck_assert_ptr_nonnull(c);
    ck_assert_ptr_eq(c->session, rq.session);
    ck_assert_uint_eq(c->user->uid, geteuid());
    ck_assert_uint_eq(atomic_load(&s.n_connections), 1);
    ck_assert_int_eq(recv(c->fd, &got, 1, 0), -1); /* the daemon's end does not block */
    ck_assert_int_eq(write(fd, "x", 1), 1);
    ck_assert_int_eq(recv(c->fd, &got, 1, 0), 1);
    ck_assert_int_eq(got, 'x');
    close(fd);
    ck_assert_int_eq(recv(c->fd, &got, 1, 0), 0);
    ck_assert_int_eq(drop_opened(), 1);
}
END_TEST

START_TEST(the_limits_on_connections_hold)
{
    int fds[2], fd = -1;

    limits_in_force[LIMIT_AT_CONNECTIONS] = 2;
    ck_assert_int_eq(connection_open(&rq, &fds[0], &err), 0);
    ck_assert_int_eq(connection_open(&rq, &fds[1], &err), 0);
    ck_assert_int_eq(connection_open(&rq, &fd, &err), DP_ERESOURCE);
    ck_assert_ptr_nonnull(strstr(err.message, "2 connections are open (connections)"));
    ck_assert_int_eq(fd, -1);
    ck_assert_uint_eq(atomic_load(&s.n_connections), 2);
    ck_assert_int_eq(drop_opened(), 2);
    close(fds[0]);
    close(fds[1]);
}
END_TEST

START_TEST(another_uid_has_a_limit_of_its_own)
{
    int fds[2], fd = -1;

    stop();
    start(geteuid() + 1);
    limits_in_force[LIMIT_AT_UID_CONNECTIONS] = 2;
    from.next = NULL;
    s.connections = &from; /* the first one */
    ck_assert_int_eq(connection_open(&rq, &fds[0], &err), 0);
    ck_assert_uint_eq(s.opened->user->uid, geteuid() + 1);
    ck_assert_int_eq(connection_open(&rq, &fd, &err), DP_ERESOURCE);
    ck_assert_ptr_nonnull(strstr(err.message, "has 2 connections (uid_connections)"));
    ck_assert_int_eq(fd, -1);
    close(fds[0]);
    s.connections = NULL;
}
END_TEST

START_TEST(a_session_that_has_ended_gets_none)
{
    struct session *asker = session_new(&s.sessions, &err);
    unsigned connections;
    int fd = -1;

    ck_assert_int_eq(sessions_end(&s.sessions, asker, session_id(rq.session), &connections, &err),
                     0);
    ck_assert_int_eq(connection_open(&rq, &fd, &err), DP_ECANCELLED);
    ck_assert_ptr_nonnull(strstr(err.message, "ended by session.end"));
    ck_assert_ptr_null(s.opened);
    ck_assert_uint_eq(atomic_load(&s.n_connections), 0);
    session_leave(asker);
}
END_TEST

UNIT_SUITE(connection_open)
{
    tcase_add_checked_fixture(tc, setup, stop);
    tcase_add_test(tc, both_ends_are_connected_and_the_session_is_the_same);
    tcase_add_test(tc, the_limits_on_connections_hold);
    tcase_add_test(tc, another_uid_has_a_limit_of_its_own);
    tcase_add_test(tc, a_session_that_has_ended_gets_none);
}
