/* test_spin.c -- polling is for clients that call again soon: what follows when it pays and when it
 * does not. */
#include "server.h"
#include "transport/parts.h"
#include "unit.h"

enum { LIMIT_NS = 50000 };

static spin sp;

static void setup(void)
{
    sp = (spin){.limit_ns = LIMIT_NS};
}

START_TEST(success_needs_no_rest)
{
    spin_note(&sp, 1000, 1000 + LIMIT_NS, true);
    ck_assert_uint_eq(sp.failures, 0);
    ck_assert_uint_eq(sp.rests_until, 0);
}
END_TEST

START_TEST(rests_grow_with_failures_and_have_an_end)
{
    uint64_t before = 0, rest = 0;

    for (int i = 0; i < 100; i++) {
        spin_note(&sp, 0, LIMIT_NS, false);
        rest = sp.rests_until - LIMIT_NS;
        ck_assert_uint_ge(rest, before);
        before = rest;
    }
    ck_assert_uint_gt(rest, UINT64_C(500000000));
    ck_assert_uint_lt(rest, UINT64_C(2000000000));
}
END_TEST

START_TEST(successes_shorten_later_rests)
{
    spin_note(&sp, 0, LIMIT_NS, false);
    spin_note(&sp, 0, LIMIT_NS, false);
    uint64_t long_rest = sp.rests_until;
    for (int i = 0; i < 5; i++)
        spin_note(&sp, 0, 10, true);
    spin_note(&sp, 0, LIMIT_NS, false);
    ck_assert_uint_lt(sp.rests_until, long_rest);
}
END_TEST

START_TEST(late_request_counts_as_failures)
{
    spin_note(&sp, 0, LIMIT_NS, false);
    uint64_t failed = sp.failures;
    setup();
    spin_note(&sp, 0, 10 * LIMIT_NS, true);
    ck_assert_uint_gt(sp.failures, failed);
    ck_assert_uint_gt(sp.rests_until, 10 * LIMIT_NS);
}
END_TEST

START_TEST(without_time_nothing_is_polled)
{
    static server s;
    static struct connection c; /* without a socket: reading would close it */

    s.spin.newest = &c;
    ck_assert_int_eq(uv_loop_init(&s.loop), 0);
    uv_idle_init(&s.loop, &s.spin.awake);
    spin_run(&s);
    ck_assert_ptr_null(s.spin.newest);
    ck_assert(!c.closed && !uv_is_active((uv_handle_t *)&s.spin.awake));
    uv_close((uv_handle_t *)&s.spin.awake, NULL);
    uv_run(&s.loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&s.loop), 0);
}
END_TEST

START_TEST(only_a_lone_client_is_polled)
{
    static server s;
    static struct connection a, b;

    spin_wake(&s, &a);
    spin_wake(&s, &a);
    ck_assert(!s.spin.several);
    spin_wake(&s, &b);
    spin_wake(&s, &b);
    ck_assert(s.spin.several);
    ck_assert_ptr_eq(s.spin.newest, &b);
}
END_TEST

UNIT_SUITE(spin)
{
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, success_needs_no_rest);
    tcase_add_test(tc, rests_grow_with_failures_and_have_an_end);
    tcase_add_test(tc, successes_shorten_later_rests);
    tcase_add_test(tc, late_request_counts_as_failures);
    tcase_add_test(tc, only_a_lone_client_is_polled);
    tcase_add_test(tc, without_time_nothing_is_polled);
}
