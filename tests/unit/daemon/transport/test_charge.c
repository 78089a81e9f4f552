/* test_charge.c -- what a connection reads is charged to its session, refunded, and refused when it
 * is too much. */
#include "server.h"
#include "transport/parts.h"
#include "unit.h"
#include <string.h>

enum { LIMIT_BYTES = 1 << 20 };

static server s;
static struct connection c;
static dp_error err;

static void setup(void)
{
    int64_t limits[LIMITS];

    memcpy(limits, limit_defaults, sizeof(limits));
    limits[LIMIT_AT_SESSION_INTERMEDIATE_BYTES] = LIMIT_BYTES;
    memset(&s, 0, sizeof(s));
    sessions_init(&s.sessions, limits);
    c = (struct connection){.server = &s, .refs = 1};
    c.session = session_new(&s.sessions, &err);
    frame_init(&c.frame, 8 << 20);
    dp_error_clear(&err);
}

static void teardown(void)
{
    frame_fini(&c.frame);
    connection_discharge(&c);
    session_leave(c.session);
    sessions_fini(&s.sessions);
}

static uint64_t charged(void)
{
    dp_usage held[DP_HOLDERS];

    dp_account_usage(session_account(c.session), held);
    return held[DP_HOLDER_INTERMEDIATES].bytes;
}

/* Receive `n` bytes without LF. */
static void receive(size_t n)
{
    char *p, *line;
    size_t bytes;

    while (n > 0) {
        size_t space = frame_space(&c.frame, &p), part = n < space ? n : space;
        memset(p, 'x', part);
        frame_filled(&c.frame, part);
        ck_assert_int_eq(frame_next(&c.frame, &line, &bytes), FRAME_MORE);
        n -= part;
    }
}

START_TEST(short_requests_are_free)
{
    c.outstanding_bytes = 100 << 10;
    ck_assert_int_eq(connection_charge(&c, 0, false, &err), 0);
    ck_assert_uint_eq(charged(), 0);
    ck_assert_ptr_null(c.paid_by);
}
END_TEST

START_TEST(what_is_read_is_charged_until_it_is_answered)
{
    c.outstanding_bytes = 200 << 10;
    ck_assert_int_eq(connection_charge(&c, 300 << 10, false, &err), 0);
    ck_assert_uint_eq(charged(), 500 << 10);
    ck_assert_int_eq(connection_charge(&c, 0, false, &err), 0);
    ck_assert_uint_eq(charged(), 200 << 10);
    c.outstanding_bytes = 0;
    ck_assert_int_eq(connection_charge(&c, 0, false, &err), 0);
    ck_assert_uint_eq(charged(), 0);
    ck_assert_ptr_null(c.paid_by);
}
END_TEST

START_TEST(too_much_is_refused_before_it_is_stored)
{
    ck_assert_int_eq(connection_charge(&c, LIMIT_BYTES + 1, false, &err), DP_ERESOURCE);
    ck_assert_ptr_nonnull(strstr(err.message, "(session_intermediate_bytes)"));
    ck_assert_uint_eq(charged(), 0);
    ck_assert_ptr_null(c.paid_by);
    c.outstanding_bytes = 2 * LIMIT_BYTES; /* is here already */
    ck_assert_int_eq(connection_charge(&c, 0, true, &err), 0);
    ck_assert_uint_eq(charged(), 2 * LIMIT_BYTES);
}
END_TEST

START_TEST(a_line_that_has_not_ended_can_be_given_up)
{
    char *p, *line;
    size_t bytes;

    receive(500 << 10);
    ck_assert(frame_in_line(&c.frame));
    ck_assert_int_eq(connection_charge(&c, 0, false, &err), 0);
    ck_assert_uint_eq(charged(), c.frame.cap);
    frame_give_up(&c.frame);
    ck_assert(!c.frame.announces);
    ck_assert(!frame_in_line(&c.frame));
    ck_assert_int_eq(connection_charge(&c, 0, false, &err), 0);
    ck_assert_uint_eq(charged(), 0);
    receive(100 << 10); /* more of the line is skipped, and the next line is taken */
    frame_space(&c.frame, &p);
    memcpy(p, "x\nnext\n", 7);
    frame_filled(&c.frame, 7);
    ck_assert_int_eq(frame_next(&c.frame, &line, &bytes), FRAME_LINE);
    ck_assert_str_eq(line, "next");
    dp_free(line);
}
END_TEST

/* A word that announces a body may begin before the cut and end behind it. */
START_TEST(a_line_that_was_given_up_may_announce)
{
    char *p, *line;
    size_t bytes;

    receive(500 << 10);
    frame_space(&c.frame, &p);
    memcpy(p, "\"attach", 7);
    frame_filled(&c.frame, 7);
    ck_assert_int_eq(frame_next(&c.frame, &line, &bytes), FRAME_MORE);
    frame_give_up(&c.frame);
    frame_space(&c.frame, &p);
    memcpy(p, "ments\"", 6);
    frame_filled(&c.frame, 6);
    ck_assert_int_eq(frame_next(&c.frame, &line, &bytes), FRAME_LOST);
}
END_TEST

UNIT_SUITE(connection_charge)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, short_requests_are_free);
    tcase_add_test(tc, what_is_read_is_charged_until_it_is_answered);
    tcase_add_test(tc, too_much_is_refused_before_it_is_stored);
    tcase_add_test(tc, a_line_that_has_not_ended_can_be_given_up);
    tcase_add_test(tc, a_line_that_was_given_up_may_announce);
}
