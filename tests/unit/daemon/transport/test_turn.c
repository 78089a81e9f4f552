/* test_turn.c -- how connections share the turns of the loop, and which wait for a later one. */
#include "server.h"
#include "transport/parts.h"
#include "unit.h"

enum { MOST = 64 };
static server s; /* static, because it is large */
static user users[2];
static struct connection all[MOST];

static void setup(void)
{
    s = (server){.iteration = 10};
    for (int i = 0; i < 2; i++)
        users[i] = (user){.uid = (uid_t)i};
    for (int i = 0; i < MOST; i++)
        all[i] = (struct connection){.server = &s, .user = &users[0]};
}

/* Begin the next loop iteration, as connections_turn() does, and a turn of the first `n`. */
static void iterate(int n)
{
    s.iteration++;
    s.last_turns = s.n_turns;
    s.n_turns = 0;
    for (int i = 0; i < n; i++)
        connection_begin_turn(&all[i]);
}

START_TEST(a_connection_has_one_turn_an_iteration)
{
    iterate(1);
    ck_assert_int_eq(all[0].budget, TURN_NS);
    all[0].budget -= 100;
    connection_begin_turn(&all[0]); /* goes on */
    ck_assert_int_eq(all[0].budget, TURN_NS - 100);
    iterate(1);
    ck_assert_int_eq(all[0].budget, TURN_NS);
}
END_TEST

START_TEST(uids_share_first)
{
    for (int i = 0; i < 9; i++)
        all[i].user = &users[i > 0];
    for (int i = 0; i < 2; i++) /* the first iteration learns how many there are */
        iterate(9);
    ck_assert_int_eq(all[0].budget, TURN_NS / 2);
    for (int i = 1; i < 9; i++)
        ck_assert_int_eq(all[i].budget, TURN_NS / 2 / 8);
    iterate(1); /* the others want nothing now, which the iteration after this one knows */
    ck_assert_int_eq(all[0].budget, TURN_NS / 2);
    iterate(1);
    ck_assert_int_eq(all[0].budget, TURN_NS);
}
END_TEST

START_TEST(each_has_the_least)
{
    for (int i = 0; i < 2; i++)
        iterate(MOST);
    for (int i = 0; i < MOST; i++)
        ck_assert_int_eq(all[i].budget, TURN_LEAST_NS);
}
END_TEST

START_TEST(those_that_wait_keep_their_order)
{
    for (int i = 0; i < 3; i++)
        connection_defer(&all[i]);
    connection_defer(&all[0]); /* it is there already */
    connection_undefer(&all[1]);
    connection_undefer(&all[1]);
    ck_assert_ptr_eq(s.deferred, &all[0]);
    ck_assert_ptr_eq(all[0].next_deferred, &all[2]);
    connection_undefer(&all[2]);
    connection_defer(&all[1]);
    ck_assert_ptr_eq(all[0].next_deferred, &all[1]);
    connection_undefer(&all[0]);
    connection_undefer(&all[1]);
    ck_assert_ptr_null(s.deferred);
}
END_TEST

UNIT_SUITE(turn)
{
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, a_connection_has_one_turn_an_iteration);
    tcase_add_test(tc, uids_share_first);
    tcase_add_test(tc, each_has_the_least);
    tcase_add_test(tc, those_that_wait_keep_their_order);
}
